import type { ComponentChildren } from 'preact'
import type { ConsoleInput } from '../../../api/contract/api.ts'
import type { Entry } from '../../../api/contract/billing.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import type { Page } from '../../api/page.ts'
import { useCursorList } from '../../api/query.ts'
import { serverNow } from '../../api/server-time.ts'
import { type Option, Segments } from '../../parts/field.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Empty } from '../../parts/notice.tsx'
import { timeOf } from '../../stream/line-filter.ts'
import { TimeFields } from '../requests/day-fields.tsx'
import { ReceiptDrawer } from '../requests/receipt.tsx'
import { entryColumns } from './entry-columns.tsx'

/** As the API is asked for entries. */
type EntryQuery = ConsoleInput<'GET /api/billing/entries'>['query']

const SHOW: readonly Option<NonNullable<EntryQuery['show']>>[] = [
  { value: 'other', label: 'Credit' },
  { value: 'usage', label: 'Usage' },
  { value: 'all', label: 'Everything' },
]

/** In the address, beside what else is on the page. */
const PRESETS = { entries: 'all', since: '', first: '', last: '', receipt: '' }
const idOf = (entry: Entry) => `${entry.id} ${entry.kind}`

interface EntryListProps {
  /** Whose they are. */
  about: string
  /** How much was done here that may have posted some. */
  changes: number
  ask(query: EntryQuery, signal: AbortSignal): Promise<Page<Entry>>
  /** For those who see everybody's receipts, and may refund there. */
  onRefunded?: () => void
  /** What stands where nothing was ever posted. */
  empty: ComponentChildren
}

/** What moved in an account, by kind and time, each with the receipt of its request over it. */
export function EntryList({ about, changes, ask, onRefunded, empty }: EntryListProps) {
  const { state, change, addressWith } = useAddressState(PRESETS)
  const { receipt, entries, ...time } = state
  const show = SHOW.find(({ value }) => value === entries)?.value ?? 'all'
  const filter = useSettled({ show, ...time })
  const key = timeOf(filter, 0) && `${about} ${JSON.stringify(filter)}`
  const list = useCursorList(
    key,
    idOf,
    (cursor, signal) => ask({ show: filter.show, ...timeOf(filter, serverNow()), cursor }, signal),
    changes,
  )
  return (
    <section class="stack" aria-labelledby="entries-title">
      <div class="card-head">
        <h2 id="entries-title">Entries</h2>
        <Segments label="Show" value={show} options={SHOW} onValue={chosen => change({ entries: chosen })} />
      </div>
      <search class="filters" aria-label="Filter entries">
        <TimeFields {...time} change={change} />
      </search>
      {timeOf(time, 0) === undefined ? null : (
        <ListTable
          label="Entries"
          list={list}
          columns={entryColumns(id => addressWith({ receipt: id }))}
          empty={
            show === 'all' && time.since === '' ? (
              empty
            ) : (
              <Empty title="No such entry">Show everything, or widen the time.</Empty>
            )
          }
        />
      )}
      {receipt === '' ? null : (
        <ReceiptDrawer
          id={receipt}
          isForAll={onRefunded !== undefined}
          onRefunded={onRefunded}
          onClose={() => change({ receipt: '' })}
        />
      )}
    </section>
  )
}
