import { and, asc, eq, inArray, or } from 'drizzle-orm'
import type { Database } from '@/db/connect.ts'
import { type EntryKind, entry, exchange, hold } from '@/db/schema.ts'

/** All that is stored of one request: what it was, and what moved in its account's wallet for it. */
export interface StoredReceipt {
  accountId: number
  /** Undefined while it runs, and for good if its process died in the middle: then only the charge is known. */
  exchange: typeof exchange.$inferSelect | undefined
  /** What is set aside for it; undefined: nothing, or no more. */
  heldNano: bigint | undefined
  /** Charges, corrections and refunds, oldest first. */
  movements: readonly Movement[]
}

/** An entry of the wallet that belongs to the exchange. */
interface Movement {
  kind: EntryKind
  /** Below 0 out of the wallet. */
  amountNano: bigint
  at: Date
}

const CHARGES: EntryKind[] = ['usage', 'usage_trueup']

/** Undefined for an id that no request has. */
export async function readReceipt({ orm }: Database, id: string): Promise<StoredReceipt | undefined> {
  const isOfRequest = or(
    and(eq(entry.id, id), inArray(entry.kind, CHARGES)),
    and(eq(entry.kind, 'usage_refund'), eq(entry.ref, id)),
  )
  const [exchanges, holds, entries] = await Promise.all([
    orm.select().from(exchange).where(eq(exchange.id, id)),
    orm.select().from(hold).where(eq(hold.id, id)),
    orm.select().from(entry).where(isOfRequest).orderBy(asc(entry.accountId), asc(entry.seq)),
  ])
  const accountId = (exchanges[0] ?? holds[0] ?? entries[0])?.accountId
  if (accountId === undefined) return undefined
  return {
    accountId,
    exchange: exchanges[0],
    heldNano: holds[0]?.amount,
    movements: entries.map(({ kind, amount, createdAt }) => ({ kind, amountNano: amount, at: createdAt })),
  }
}
