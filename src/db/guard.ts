import type { Clock } from '@/clock/clock.ts'
import type { Database } from './connect.ts'
import { sqlErrorOf } from './sql-error.ts'

/** Does some work with a pool and watches how its server takes it. */
type Guard = <Result>(work: () => Promise<Result>) => Promise<Result>

/** When the connections of a pool are given up. */
export interface GuardOptions {
  clock: Pick<Clock, 'after' | 'elapsed'>
  /** Work without any answer for so long, in ms, is on a connection whose network or server is gone. */
  silenceMs: number
  /**
   * The connections were given up: those of other pools lead to the same server.
   * @param isAgain no work was done since the last time
   */
  onLost?: ((isAgain: boolean) => void) | undefined
  /** Work is done again, for the first time since then. */
  onBack?: (() => void) | undefined
}

/** SQLSTATE of a server that takes no writes: it has become a copy of another, which its address may lead to by now. */
const READ_ONLY = '25006'

/** The least time between two times, where the address leads to such a server for longer. */
const PAUSE_MS = 1_000

/** Renews a pool whose connections are of no use any more although none of them was closed. */
export function guardOf(
  database: Pick<Database, 'renew'>,
  { clock, silenceMs, onLost, onBack }: GuardOptions,
): Guard {
  let renewals = 0
  let renewedAt = Number.NEGATIVE_INFINITY
  let isAway = false

  /** Once for all that ran on the same connections. */
  function renewSince(seen: number): void {
    if (seen !== renewals || clock.elapsed() - renewedAt < PAUSE_MS) return
    renewals += 1
    renewedAt = clock.elapsed()
    database.renew()
    onLost?.(isAway)
    isAway = true
  }

  return async work => {
    const seen = renewals
    const cancel = clock.after(silenceMs, () => renewSince(seen))
    try {
      const result = await work()
      if (isAway && seen === renewals) {
        isAway = false
        onBack?.()
      }
      return result
    } catch (error) {
      if (sqlErrorOf(error)?.code === READ_ONLY) renewSince(seen)
      throw error
    } finally {
      cancel()
    }
  }
}
