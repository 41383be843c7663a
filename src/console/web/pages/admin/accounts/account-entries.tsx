import { addressOf, call } from '../../../api/client.ts'
import { useQuery } from '../../../api/query.ts'
import { Empty } from '../../../parts/notice.tsx'
import { EntryList } from '../../billing/entry-list.tsx'
import { StatementList } from '../../billing/statement-list.tsx'

/** What moved in an account; `changes` counts those that were made here. */
export function AccountEntries({
  id,
  changes,
  onRefunded,
}: {
  id: number
  changes: number
  onRefunded(): void
}) {
  return (
    <EntryList
      about={`${id}`}
      changes={changes}
      ask={(query, signal) => call('GET /api/admin/accounts/:id/entries', { params: { id }, query }, signal)}
      onRefunded={onRefunded}
      empty={<Empty title="No entries">Nothing was put in or taken out yet.</Empty>}
    />
  )
}

/** The months of an account, as its holder has them. */
export function AccountStatements({ id, changes }: { id: number; changes: number }) {
  const statements = useQuery(
    `statements ${id}`,
    signal => call('GET /api/admin/accounts/:id/statements', { params: { id } }, signal),
    changes,
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
