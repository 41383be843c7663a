import type { AuditRun } from '../../../../api/contract/admin-ledger.ts'
import { useAction } from '../../../api/action.ts'
import { call } from '../../../api/client.ts'
import { useCursorList, useQuery } from '../../../api/query.ts'
import { isZero } from '../../../format/money.ts'
import { counted, wholeNumber } from '../../../format/number.ts'
import { duration } from '../../../format/time.ts'
import { Button } from '../../../parts/button.tsx'
import { Money } from '../../../parts/money.tsx'
import { Badge, Empty, FailureNotice, Notice } from '../../../parts/notice.tsx'
import { Answer, Page } from '../../../parts/page.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister } from '../../../session.tsx'
import { RefusedCharges } from './refused-charges.tsx'

type Check = AuditRun['checks'][number]

const idOf = (run: AuditRun) => run.at

/** The audits of the ledger, and a button for the next one. */
export function AuditPage() {
  const mayAdminister = useMayAdminister()
  const toast = useToast()
  const runs = useCursorList('audits', idOf, (cursor, signal) =>
    call('GET /api/admin/audits', { query: { cursor } }, signal),
  )
  const lastFull = useQuery('last full audit', signal =>
    call('GET /api/admin/audits', { query: { full: true, limit: 1 } }, signal),
  )
  const run = useAction(async (full: boolean) => {
    const { ok } = await call('POST /api/admin/audits', { body: { full } })
    toast(ok ? 'The books agree' : 'The books do not agree')
    runs.reload()
    lastFull.reload()
  })
  const last = runs.data?.[0]
  return (
    <Page
      title="Ledger audit"
      lead="Whether the books agree: every entry, every balance, every receipt, worked out again from the ground up."
      actions={
        mayAdminister ? (
          <>
            <Button kind="primary" busy={run.busy} onClick={() => run.run(false)}>
              Audit now
            </Button>
            <Button busy={run.busy} onClick={() => run.run(true)}>
              Audit everything
            </Button>
          </>
        ) : undefined
      }
    >
      <FailureNotice failure={run.failure} />
      <RefusedCharges />
      <Answer query={runs} what="audits">
        {items =>
          last === undefined ? (
            <Empty title="No audit yet">
              Run one now; later ones look only at what came since the last good one.
            </Empty>
          ) : (
            <>
              <Answer query={lastFull} what="the last full audit">
                {full => <Verdict last={last} lastFull={full.items[0]} />}
              </Answer>
              <section class="stack" aria-labelledby="history-title">
                <h2 id="history-title">History</h2>
                <Table label="Audits" columns={RUN_COLUMNS} rows={items} keyOf={idOf} more={runs.more} />
              </section>
            </>
          )
        }
      </Answer>
    </Page>
  )
}

/** An audit of what is new may find nothing wrong where the rest does not hold. */
function Verdict({ last, lastFull }: { last: AuditRun; lastFull: AuditRun | undefined }) {
  const telling = last.ok && lastFull?.ok === false ? lastFull : last
  return (
    <>
      {telling.ok ? (
        <Notice kind="good">The last audit found nothing wrong.</Notice>
      ) : (
        <Notice kind="bad">
          <span>
            {telling === last ? 'The last audit found' : 'The last audit of everything found'} something
            wrong. See below what, and where it begins.
            {telling.checks.some(({ ok, suspends }) => suspends && !ok) ? (
              <>
                {' '}
                An account whose balance is not what its entries say is suspended:{' '}
                <a href="/admin/log?action=account.suspend&by=ledger+audit">which ones were</a>
              </>
            ) : null}
          </span>
        </Notice>
      )}
      <section class="stack" aria-labelledby="checks-title">
        <h2 id="checks-title">
          Checks of <When iso={telling.at} />
        </h2>
        <Table
          label="Checks"
          columns={CHECK_COLUMNS}
          // What is broken is in front.
          rows={telling.checks.toSorted((one, other) => Number(one.ok) - Number(other.ok))}
          keyOf={check => check.name}
        />
      </section>
    </>
  )
}

const CHECK_COLUMNS: readonly Column<Check>[] = [
  { label: 'Check', kind: 'primary-cell', cell: check => sentence(check.title) },
  {
    label: 'Result',
    kind: 'nowrap',
    cell: check =>
      check.informational ? (
        <Badge kind="info">For information</Badge>
      ) : (
        <Badge kind={check.ok ? 'good' : 'bad'}>{check.ok ? 'Holds' : 'Broken'}</Badge>
      ),
  },
  { label: 'Found', kind: 'number', cell: check => wholeNumber(check.count) },
  {
    label: 'Difference',
    kind: 'number',
    cell: check =>
      isZero(check.difference) ? <span class="soft">none</span> : <Money amount={check.difference} />,
  },
  {
    label: 'First',
    cell: check =>
      check.first.length === 0 ? (
        <span class="soft">none</span>
      ) : (
        <ul class="stack tight">
          {check.first.map(text => (
            <li key={text}>
              <code>{text}</code>
            </li>
          ))}
        </ul>
      ),
  },
]

const RUN_COLUMNS: readonly Column<AuditRun>[] = [
  { label: 'Time', kind: 'primary-cell', cell: run => <When iso={run.at} /> },
  {
    label: 'Result',
    cell: run => <Badge kind={run.ok ? 'good' : 'bad'}>{run.ok ? 'Agrees' : 'Broken'}</Badge>,
  },
  { label: 'Scope', cell: run => (run.full ? 'Everything' : 'Since the last good one') },
  {
    label: 'Broken checks',
    kind: 'number',
    cell: run => counted(run.checks.filter(check => !check.ok && !check.informational).length, 'check'),
  },
  { label: 'Took', kind: 'number', cell: run => duration(run.ms) },
  { label: 'By', cell: run => run.by ?? <span class="soft">the clock</span> },
]

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
