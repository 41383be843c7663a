import type { Entry } from '../../../api/contract/billing.ts'
import { ENTRY_NAMES } from '../../../api/contract/entry-names.ts'
import { localTime } from '../../format/time.ts'
import { type Column, moneyColumn } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'

/** Entries as a table; `receiptAt` is the address of a request's receipt. */
export function entryColumns(receiptAt: (id: string) => string): Column<Entry>[] {
  return [
    { label: 'What', kind: 'primary-cell', cell: entry => <What entry={entry} /> },
    { label: 'Time', kind: 'nowrap', cell: entry => <When iso={entry.created_at} /> },
    { label: 'For', cell: entry => <Purpose entry={entry} receiptAt={receiptAt} /> },
    moneyColumn('Amount', entry => entry.amount, 'signed'),
    moneyColumn('Balance', entry => entry.balance_after),
  ]
}

/** What it is, and until when credit can be used that has an end. */
function What({ entry: { kind, expires_at } }: { entry: Entry }) {
  return (
    <>
      {ENTRY_NAMES[kind]}
      {expires_at === null ? null : (
        <>
          <br />
          <small class="soft">
            until <When iso={expires_at} />
          </small>
        </>
      )}
    </>
  )
}

function Purpose({ entry, receiptAt }: { entry: Entry; receiptAt(id: string): string }) {
  const request = requestOf(entry)
  const receipt =
    request === null ? null : (
      <a href={receiptAt(request)}>
        Receipt<span class="unseen"> of {localTime(entry.created_at)}</span>
      </a>
    )
  if (entry.reason !== null) {
    return (
      <>
        {entry.reason} {receipt}
      </>
    )
  }
  return receipt ?? (entry.ref === null ? <span class="soft">-</span> : <code>{entry.ref}</code>)
}

/** Which request it is about; null: none. */
function requestOf({ kind, id, ref }: Entry): string | null {
  if (kind === 'usage' || kind === 'usage_trueup') return id
  return kind === 'usage_refund' ? ref : null
}
