import { and, asc, desc, eq, gte, inArray, lt, notInArray } from 'drizzle-orm'
import type { Database, Rows } from '@/db/connect.ts'
import { type EntryKind, entry } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Entry, Statement } from './api/contract/billing.ts'
import { invalid } from './failure.ts'
import { limitOf, type Page, pageOf } from './paging.ts'

export type StoredEntry = typeof entry.$inferSelect

/** What requests cost, and what was corrected of it. */
const USAGE: EntryKind[] = ['usage', 'usage_trueup', 'usage_refund']

/** The entries of an account, newest first. */
export async function entryPage(
  rows: Rows,
  accountId: number,
  query: { cursor?: string; limit?: number; show?: 'all' | 'usage' | 'other' },
): Promise<Page<Entry>> {
  const limit = limitOf(query)
  if (query.cursor !== undefined && !/^\d{1,18}$/.test(query.cursor)) {
    throw invalid('cursor', 'This cursor is not one of ours')
  }
  const kinds = { all: undefined, usage: inArray(entry.kind, USAGE), other: notInArray(entry.kind, USAGE) }
  const found = await rows
    .select()
    .from(entry)
    .where(
      and(
        eq(entry.accountId, accountId),
        query.cursor === undefined ? undefined : lt(entry.seq, BigInt(query.cursor)),
        kinds[query.show ?? 'all'],
      ),
    )
    .orderBy(desc(entry.seq))
    .limit(limit + 1)
  return pageOf(found, limit, entryRow, ({ seq }) => seq.toString())
}

/** An entry of the ledger as the API shows it. */
export function entryRow(row: StoredEntry): Entry {
  return {
    id: row.id,
    seq: row.seq.toString(),
    kind: row.kind,
    amount: formatMoney(row.amount),
    balance_after: formatMoney(row.balanceAfter),
    ref: row.ref,
    reason: row.reason,
    created_at: row.createdAt.toISOString(),
  }
}

/** The entries of a month of UTC, oldest first. */
export function entriesOfMonth(rows: Rows, accountId: number, month: string): Promise<StoredEntry[]> {
  const { from, to } = boundsOf(month)
  return rows
    .select()
    .from(entry)
    .where(and(eq(entry.accountId, accountId), gte(entry.createdAt, from), lt(entry.createdAt, to)))
    .orderBy(asc(entry.seq))
}

/** @throws ConsoleError for what is no month */
export function boundsOf(month: string): { from: Date; to: Date } {
  const from = new Date(`${month}-01T00:00:00Z`)
  if (Number.isNaN(from.getTime())) throw invalid('month', 'This is no month, as in 2026-11')
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1)) }
}

/** What moved in each month, newest first. */
export async function readStatements({ sql }: Database, accountId: number): Promise<Statement[]> {
  const rows = await sql<{ month: string; credits: bigint; debits: bigint; entries: bigint }[]>`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM') as month,
      coalesce(sum(amount) filter (where amount > 0), 0)::bigint as credits,
      coalesce(sum(amount) filter (where amount < 0), 0)::bigint as debits, count(*) as entries
    from entry where account_id = ${accountId} group by 1 order by 1`
  let opening = 0n
  const statements = rows.map(({ month, credits, debits, entries }) => {
    const closing = opening + credits + debits
    const statement = {
      month,
      opening: formatMoney(opening),
      credits: formatMoney(credits),
      debits: formatMoney(debits),
      closing: formatMoney(closing),
      entries: Number(entries),
    }
    opening = closing
    return statement
  })
  return statements.reverse()
}
