import { and, between, desc, eq, gte, lt, not } from 'drizzle-orm'
import type { Database } from '@/db/connect.ts'
import { entry, isBesideUsage, ledgerGrant } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Entry } from '../api/contract/billing.ts'
import { readDate } from '../moments.ts'
import { cursorLike, type Page, readPage } from '../paging.ts'
import { numbersOf, readMonths } from './months.ts'

/** A posting on an account, as it is stored. */
export type StoredEntry = typeof entry.$inferSelect

/** The entries of an account, newest first. */
export async function entryPage(
  database: Database,
  accountId: number,
  query: { cursor?: string; limit?: number; show?: 'all' | 'usage' | 'other'; from?: string; to?: string },
): Promise<Page<Entry>> {
  const before = cursorLike(/^\d{1,18}$/, query)?.[0]
  const [from, to] = [readDate(query.from, 'from'), readDate(query.to, 'to')]
  const isOfTime = from !== undefined || to !== undefined
  // No index has the times of an account: its months tell where they are, so that nobody looks for them from the newest on.
  const numbers = isOfTime ? numbersOf(await readMonths(database, accountId), from, to) : undefined
  if (isOfTime && numbers === undefined) return { items: [], next: null }
  const isOther = isBesideUsage(entry.kind)
  const kinds = { all: undefined, usage: not(isOther), other: isOther }
  const read = (limit: number) =>
    database.orm
      .select({ entry, expiresAt: ledgerGrant.expiresAt })
      .from(entry)
      .leftJoin(ledgerGrant, and(eq(ledgerGrant.entryId, entry.id), eq(ledgerGrant.entryKind, entry.kind)))
      .where(
        and(
          eq(entry.accountId, accountId),
          before === undefined ? undefined : lt(entry.seq, BigInt(before)),
          numbers && between(entry.seq, ...numbers),
          kinds[query.show ?? 'all'],
          from && gte(entry.createdAt, from),
          to && lt(entry.createdAt, to),
        ),
      )
      .orderBy(desc(entry.seq))
      .limit(limit)
  const { rows: found, next } = await readPage(query, read, row => row.entry.seq.toString())
  const items = found.map(row => ({
    ...entryRow(row.entry),
    expires_at: row.expiresAt?.toISOString() ?? null,
  }))
  return { items, next }
}

/** An entry of the ledger as the API shows it, without its terms. */
export function entryRow(row: StoredEntry): Omit<Entry, 'expires_at'> {
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
