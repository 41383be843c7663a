import { and, desc, eq, inArray, lt, notInArray } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { type EntryKind, entry } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Entry } from './api/contract/billing.ts'
import { invalid } from './failure.ts'
import { limitOf, type Page, pageOf } from './paging.ts'

/** A posting on an account, as it is stored. */
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
