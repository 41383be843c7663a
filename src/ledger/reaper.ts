import type { LedgerStore } from './store.ts'
import type { Reaped } from './types.ts'

/** Holds that one transaction settles, so that their wallets are not locked for long. */
const AT_ONCE = 200

/**
 * Settles the holds that nobody answers for any more (their process is dead by the clock of the database, or their
 * deadline has passed) at their last checkpoint. Any process may do so at any time, several at once.
 */
export async function reap(store: LedgerStore, deadAfterMs: number): Promise<Reaped[]> {
  const all: Reaped[] = []
  for (;;) {
    const reaped = await store.reap(deadAfterMs, AT_ONCE)
    all.push(...reaped)
    if (reaped.length < AT_ONCE) return all
  }
}
