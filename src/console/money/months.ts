import type { Database } from '@/db/connect.ts'

/** A month of UTC in which something moved. */
export interface Month {
  /** As in 2026-11. */
  month: string
  entries: number
  openingNano: bigint
  creditsNano: bigint
  debitsNano: bigint
  /** All its entries are numbered from here to there; so may be some of the months beside it. */
  firstSeq: bigint
  lastSeq: bigint
}

/** How many entries are counted at a time, which takes some 150 ms. */
const COUNTED_AT_ONCE = 100_000

/** The months of an account, oldest first. What they count is kept, so that an entry is counted once and not by each reader. */
export async function readMonths({ sql }: Database, accountId: number): Promise<Month[]> {
  let added: number | undefined
  do {
    const [counted] = await sql<{ added: number }[]>`
      select ledger_total_months(${accountId}, ${COUNTED_AT_ONCE}) as added`
    added = counted?.added
  } while (added === COUNTED_AT_ONCE)
  const rows = await sql<
    {
      month: string
      entries: bigint
      credits: bigint
      debits: bigint
      first_seq: bigint
      last_seq: bigint
    }[]
  >`
    select to_char(month, 'YYYY-MM') as month, entries, credits, debits, first_seq, last_seq
    from monthly_total where account_id = ${accountId} order by monthly_total.month`
  let balance = 0n
  return rows.map(({ month, entries, credits, debits, first_seq, last_seq }) => {
    const openingNano = balance
    balance += credits - debits
    return {
      month,
      entries: Number(entries),
      openingNano,
      creditsNano: credits,
      debitsNano: debits,
      firstSeq: first_seq,
      lastSeq: last_seq,
    }
  })
}

/** When a month begins and ends; its name is one of ours. */
export function timesOf({ month }: Month): { from: Date; to: Date } {
  const from = new Date(`${month}-01T00:00:00Z`)
  const to = new Date(from)
  to.setUTCMonth(to.getUTCMonth() + 1)
  return { from, to }
}

/** The least and the largest number that an entry of a time can have, of an account with these months; undefined: it has none. */
export function numbersOf(months: readonly Month[], from?: Date, to?: Date): [bigint, bigint] | undefined {
  const within = months.filter(month => {
    const times = timesOf(month)
    return (from === undefined || times.to > from) && (to === undefined || times.from < to)
  })
  const numbers = within
    .flatMap(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])
    .toSorted((one, other) => Number(one - other))
  const [least, largest] = [numbers[0], numbers.at(-1)]
  return least === undefined || largest === undefined ? undefined : [least, largest]
}
