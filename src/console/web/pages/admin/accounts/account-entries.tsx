import type { Entry } from '../../../../api/contract/billing.ts'
import { addressOf, call } from '../../../api/client.ts'
import { useCursorList, useQuery } from '../../../api/query.ts'
import { ListTable } from '../../../parts/list-table.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { entryColumns } from '../../billing/entry-columns.tsx'
import { StatementList } from '../../billing/statement-list.tsx'

const entryId = (entry: Entry) => `${entry.id} ${entry.kind}`

/** An administrator is sent to everybody's receipts, not to the own account's. */
const COLUMNS = entryColumns('/admin/traffic')

/** What moved in an account; `changes` counts those that were made here. */
export function AccountEntries({ id, changes }: { id: number; changes: number }) {
  const entries = useCursorList(`entries ${id} ${changes}`, entryId, (cursor, signal) =>
    call('GET /api/admin/accounts/:id/entries', { params: { id }, query: { cursor } }, signal),
  )
  return (
    <section class="stack" aria-labelledby="entries-title">
      <h2 id="entries-title">Entries</h2>
      <ListTable
        label="Entries"
        list={entries}
        columns={COLUMNS}
        empty={<Empty title="No entries">Nothing was put in or taken out yet.</Empty>}
      />
    </section>
  )
}

/** The months of an account, as its holder has them. */
export function AccountStatements({ id, changes }: { id: number; changes: number }) {
  const statements = useQuery(`statements ${id} ${changes}`, signal =>
    call('GET /api/admin/accounts/:id/statements', { params: { id } }, signal),
  )
  return (
    <StatementList
      query={statements}
      pageOf={month => addressOf('GET /api/admin/accounts/:id/statements/:month', { params: { id, month } })}
      fileOf={month =>
        addressOf('GET /api/admin/accounts/:id/entries.csv', { params: { id }, query: { month } })
      }
    />
  )
}
