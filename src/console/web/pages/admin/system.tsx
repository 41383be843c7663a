import { useEffect } from 'preact/hooks'
import type { SystemHealth } from '../../../api/contract/admin-ledger.ts'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { byteCount, wholeNumber } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { Money } from '../../parts/money.tsx'
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
  const { database, redis } = health
  return (
    <section class="card" aria-labelledby="parts-title">
      <h2 id="parts-title">Parts</h2>
      <dl class="facts">
        <dt>Tollgate</dt>
        <dd>
          {health.version} <span class="soft">on {health.runtime}</span>
        </dd>
        <dt>Running since</dt>
        <dd>
          <When iso={health.started_at} />
        </dd>
        <dt>Memory</dt>
        <dd>{byteCount(health.memory_bytes)}</dd>
        <dt>Database</dt>
        <dd class="stack tight">
          <span>
            <Badge kind={database.ok ? 'good' : 'bad'}>{database.ok ? 'Answers' : 'Away'}</Badge>
          </span>
          <span class="soft">
            {[
              database.version,
              database.ms === null ? undefined : `in ${duration(database.ms)}`,
              database.bytes === null ? undefined : byteCount(database.bytes),
            ]
              .filter(Boolean)
              .join(', ')}
          </span>
        </dd>
        <dt>Redis</dt>
        <dd>
          <Badge kind={REDIS[redis].kind}>{REDIS[redis].name}</Badge>
        </dd>
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
        <dt>Open holds</dt>
        <dd>{wholeNumber(ledger.open_holds)}</dd>
        <dt>Wait for a hold</dt>
        <dd>{duration(ledger.hold_wait_ms)}</dd>
        <dt>Last failed hold</dt>
        <dd>
          {ledger.hold_failure_ago_ms === null ? 'none' : `${duration(ledger.hold_failure_ago_ms)} ago`}
        </dd>
        <dt>Settlements waiting</dt>
        <dd>{wholeNumber(ledger.settlements_waiting)}</dd>
        <dt>Journal</dt>
        <dd>{JOURNALS[ledger.journal]}</dd>
      </dl>
    </section>
  )
}

function Sums({ health }: { health: SystemHealth }) {
  return (
    <dl class="columns figures">
      <div class="card figure">
        <dt>Accounts</dt>
        <dd>{wholeNumber(health.accounts)}</dd>
      </div>
      <div class="card figure">
        <dt>Balances in all</dt>
        <dd>
          <Money amount={health.balances} style="short" />
        </dd>
      </div>
      <div class="card figure">
        <dt>Held in all</dt>
        <dd>
          <Money amount={health.held} style="short" />
        </dd>
      </div>
    </dl>
  )
}

const PROCESS_COLUMNS: readonly Column<SystemHealth['processes'][number]>[] = [
  { label: 'Address', kind: 'primary-cell', cell: process => process.address },
  { label: 'Id', cell: process => <code>{process.id}</code> },
  { label: 'Last heard of', kind: 'nowrap', cell: process => <When iso={process.seen_at} /> },
]
