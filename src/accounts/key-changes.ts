import { sql } from 'drizzle-orm'
import type { Transaction } from '@/db/connect.ts'

/** The NOTIFY channel on which every process hears that something about keys changed (key-cache.ts). */
export const KEYS_CHANNEL = 'tollgate_keys'

/** Lets every process forget, once the transaction is committed, what it knew of a key (its hash, in hexadecimal) or of an account's keys. */
export async function forgetKeys(
  tx: Transaction,
  those: `key:${string}` | `account:${number}`,
): Promise<void> {
  await tx.execute(sql`select pg_notify(${KEYS_CHANNEL}, ${those})`)
}
