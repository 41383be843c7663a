import { useEffect } from 'preact/hooks'
import type { SystemHealth } from '../../../api/contract/admin-ledger.ts'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { byteCount, wholeNumber } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { Fact, Figure, MoneyFigure } from '../../parts/facts.tsx'
import { Badge, type BadgeKind } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'

const AGAIN_MS = 10_000

/** How the database, Redis, the ledger and the processes do. */
export function SystemPage() {
  const health = useQuery('system', signal => call('GET /api/admin/system', {}, signal))
  const { reload } = health
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, AGAIN_MS)
    return () => clearInterval(timer)
  }, [reload])
  return (
    <Page
      title="System"
      lead="How this deployment is, as the process that answers you sees it. Looked at every ten seconds."
    >
      <Answer query={health} what="the system">
        {found => (
          <>
            <div class="columns wide">
              <Parts health={found} />
              <Ledger health={found} />
            </div>
            <Sums health={found} />
            <section class="stack" aria-labelledby="processes-title">
              <h2 id="processes-title">Processes</h2>
              <Table
                label="Gateway processes"
                columns={PROCESS_COLUMNS}
                rows={found.processes}
                keyOf={process => process.id}
              />
            </section>
          </>
        )}
      </Answer>
    </Page>
  )
}

const REDIS: Record<SystemHealth['redis'], { kind: BadgeKind; name: string }> = {
  off: { kind: 'plain', name: 'Not used' },
  ok: { kind: 'good', name: 'Answers' },
  away: { kind: 'bad', name: 'Away' },
}

function Parts({ health }: { health: SystemHealth }) {
  const { database, redis, last_audit: audited } = health
  return (
    <section class="card" aria-labelledby="parts-title">
      <h2 id="parts-title">Parts</h2>
      <dl class="facts">
        <Fact name="Tollgate">
          {health.version} <span class="soft">on {health.runtime}</span>
        </Fact>
        <Fact name="Running since">
          <When iso={health.started_at} />
        </Fact>
        <Fact name="Memory">{byteCount(health.memory_bytes)}</Fact>
        <Fact name="Database">
          <Badge kind={database.ok ? 'good' : 'bad'}>{database.ok ? 'Answers' : 'Away'}</Badge>{' '}
          <span class="soft">
            {[
              database.version,
              database.ms === null ? undefined : `in ${duration(database.ms)}`,
              database.bytes === null ? undefined : byteCount(database.bytes),
            ]
              .filter(Boolean)
              .join(', ')}
          </span>
        </Fact>
        <Fact name="Redis">
          <Badge kind={REDIS[redis].kind}>{REDIS[redis].name}</Badge>
        </Fact>
        <Fact name="Books">
          {audited === null ? (
            <span class="soft">not audited yet</span>
          ) : (
            <>
              <Badge kind={audited.ok ? 'good' : 'bad'}>{audited.ok ? 'Agree' : 'Do not agree'}</Badge>{' '}
              <a href="/admin/audit">
                audited <When iso={audited.at} />
              </a>
            </>
          )}
        </Fact>
      </dl>
    </section>
  )
}

const JOURNALS: Record<NonNullable<SystemHealth['ledger']>['journal'], string> = {
  off: 'off',
  empty: 'empty, as it should be',
  'in use': 'in use: the database is away',
  full: 'full: requests are refused',
}

function Ledger({ health: { ledger } }: { health: SystemHealth }) {
  // Several workers: the process that shows this serves no requests itself.
  if (ledger === null) return null
  return (
    <section class="card" aria-labelledby="ledger-title">
      <div class="card-head">
        <h2 id="ledger-title">Ledger</h2>
        <Badge kind={ledger.healthy ? 'good' : 'bad'}>{ledger.healthy ? 'Healthy' : 'Unwell'}</Badge>
      </div>
      <dl class="facts">
        <Fact name="Open holds">{wholeNumber(ledger.open_holds)}</Fact>
        <Fact name="Wait for a hold">{duration(ledger.hold_wait_ms)}</Fact>
        <Fact name="Last failed hold">
          {ledger.hold_failure_ago_ms === null ? 'none' : `${duration(ledger.hold_failure_ago_ms)} ago`}
        </Fact>
        <Fact name="Settlements waiting">{wholeNumber(ledger.settlements_waiting)}</Fact>
        <Fact name="Journal">{JOURNALS[ledger.journal]}</Fact>
      </dl>
    </section>
  )
}

function Sums({ health }: { health: SystemHealth }) {
  return (
    <dl class="columns figures">
      <Figure name="Accounts" isCard>
        {wholeNumber(health.accounts)}
      </Figure>
      <MoneyFigure name="Balances in all" amount={health.balances} isCard />
      <MoneyFigure name="Held in all" amount={health.held} isCard />
    </dl>
  )
}

const PROCESS_COLUMNS: readonly Column<SystemHealth['processes'][number]>[] = [
  { label: 'Address', kind: 'primary-cell', cell: process => process.address },
  { label: 'Id', cell: process => <code>{process.id}</code> },
  { label: 'Last heard of', kind: 'nowrap', cell: process => <When iso={process.seen_at} /> },
]
