import type { ConsoleOutput } from '../../../api/contract/api.ts'
import type { Statement } from '../../../api/contract/billing.ts'
import type { Query } from '../../api/query.ts'
import { monthName } from '../../format/time.ts'
import { Money } from '../../parts/money.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { actionColumn, type Column, moneyColumn, Table } from '../../parts/table.tsx'

/** Where the page and the file of a month are. */
interface StatementAddresses {
  pageOf(month: string): string
  fileOf(month: string): string
}

/** The months of an account, each to be printed and to be kept. */
export function StatementList({
  query,
  ...addresses
}: StatementAddresses & { query: Query<ConsoleOutput<'GET /api/billing/statements'>> }) {
  return (
    <section class="stack" aria-labelledby="statements-title">
      <h2 id="statements-title">Statements</h2>
      <Answer query={query} what="statements">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No statements yet">Each month with a movement gets one, ready to be printed.</Empty>
          ) : (
            <Table label="Statements" columns={columnsOf(addresses)} rows={items} keyOf={row => row.month} />
          )
        }
      </Answer>
    </section>
  )
}

function columnsOf({ pageOf, fileOf }: StatementAddresses): Column<Statement>[] {
  return [
    {
      label: 'Month',
      kind: 'primary-cell',
      cell: row => (
        <>
          {monthName(row.month)}
          <small class="narrow soft">
            from <Money amount={row.opening} />
          </small>
        </>
      ),
    },
    { ...moneyColumn<Statement>('Opening', row => row.opening), kind: 'number wide' },
    moneyColumn('In', row => row.credits),
    moneyColumn('Out', row => row.debits),
    moneyColumn('Closing', row => row.closing),
    actionColumn(row => (
      <>
        <a class="button small quiet" href={pageOf(row.month)} target="_blank" rel="noreferrer">
          Print<span class="unseen"> the statement of {monthName(row.month)}</span>
        </a>
        <a class="button small quiet" href={fileOf(row.month)} download>
          CSV<span class="unseen"> of {monthName(row.month)}</span>
        </a>
      </>
    )),
  ]
}
