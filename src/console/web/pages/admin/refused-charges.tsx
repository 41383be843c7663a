import type { RefusedCharge } from '../../../api/contract/admin-ledger.ts'
import { call } from '../../api/client.ts'
import { useCursorList } from '../../api/query.ts'
import { Money } from '../../parts/money.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'

const idOf = (charge: RefusedCharge) => charge.request_id

/** What the database refuses to charge, and why. */
export function RefusedCharges() {
  const charges = useCursorList('refused', idOf, (cursor, signal) =>
    call('GET /api/admin/refused-charges', { query: { cursor } }, signal),
  )
  return (
    <section class="stack" aria-labelledby="refused-title">
      <h2 id="refused-title">Refused charges</h2>
      <Answer query={charges} what="refused charges">
        {items =>
          items.length === 0 ? (
            <p class="soft">None: every charge could be posted.</p>
          ) : (
            <>
              <Notice kind="bad">
                The database refuses these for the reason beside each. Nothing is lost: what was set aside
                stays so, and each is tried again every minute until it is posted.
              </Notice>
              <Table
                label="Refused charges"
                columns={COLUMNS}
                rows={items}
                keyOf={idOf}
                more={charges.more}
              />
            </>
          )
        }
      </Answer>
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
  { label: 'Amount', kind: 'number', cell: ({ amount }) => <Money amount={amount} /> },
  { label: 'Reason', cell: ({ reason }) => reason },
  { label: 'First tried', kind: 'nowrap', cell: ({ refused_at }) => <When iso={refused_at} /> },
  { label: 'Last tried', kind: 'nowrap', cell: ({ tried_at }) => <When iso={tried_at} style="since" /> },
]
