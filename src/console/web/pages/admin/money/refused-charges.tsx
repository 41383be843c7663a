import type { RefusedCharge } from '../../../../api/contract/admin-ledger.ts'
import { call } from '../../../api/client.ts'
import { useCursorList } from '../../../api/query.ts'
import { ListTable } from '../../../parts/list-table.tsx'
import { Notice } from '../../../parts/notice.tsx'
import { type Column, moneyColumn } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'

const idOf = (charge: RefusedCharge) => charge.request_id

/** What the database refuses to charge, and why; nothing where it refuses nothing. */
export function RefusedCharges() {
  const charges = useCursorList('refused', idOf, (cursor, signal) =>
    call('GET /api/admin/refused-charges', { query: { cursor } }, signal),
  )
  if (charges.failure === undefined && (charges.data ?? []).length === 0) return null
  return (
    <section class="stack" aria-labelledby="refused-title">
      <h2 id="refused-title">Refused charges</h2>
      <Notice kind="bad">
        The database refuses these, each for the reason beside it. Nothing is lost: what was set aside stays
        so, and each is tried again every minute until it is posted.
      </Notice>
      <ListTable label="Refused charges" list={charges} columns={COLUMNS} empty={null} />
    </section>
  )
}

const COLUMNS: readonly Column<RefusedCharge>[] = [
  {
    label: 'Request',
    kind: 'primary-cell',
    cell: ({ request_id }) => (
      <a href={`/admin/traffic?receipt=${request_id}`}>
        <code>{request_id}</code>
      </a>
    ),
  },
  {
    label: 'Account',
    cell: ({ account_id }) => <a href={`/admin/accounts/${account_id}`}>{account_id}</a>,
  },
  moneyColumn('Amount', ({ amount }) => amount),
  { label: 'Reason', cell: ({ reason }) => reason },
  { label: 'First tried', kind: 'nowrap', cell: ({ refused_at }) => <When iso={refused_at} /> },
  { label: 'Last tried', kind: 'nowrap', cell: ({ tried_at }) => <When iso={tried_at} style="since" /> },
]
