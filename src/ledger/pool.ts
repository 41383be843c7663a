import type { Clock } from '@/clock/clock.ts'
import { connect } from '@/db/connect.ts'
import { guardOf } from '@/db/guard.ts'
import { type LedgerStore, ledgerStore } from './store.ts'
import type { LedgerTimings } from './timings.ts'

const CONNECTIONS = 4

/** The connections of one process's ledger. */
export interface LedgerPool {
  store: LedgerStore
  /** Gives up all connections where the statements of `act` get no answer, or a server that takes no writes. */
  guard<Result>(act: (store: LedgerStore) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/**
 * Connects when somebody asks.
 * @param onRenew called when all connections were given up
 */
export function openPool(
  url: string,
  timings: LedgerTimings,
  clock: Clock,
  onRenew?: () => void,
): LedgerPool {
  const database = connect(url, {
    max: CONNECTIONS,
    applicationName: 'tollgate ledger',
    statementTimeoutMs: timings.statementTimeoutMs,
  })
  const store = ledgerStore(database)
  const guard = guardOf(database, { clock, silenceMs: timings.connectionTimeoutMs, onRenew })
  return { store, guard: act => guard(() => act(store)), close: () => database.close() }
}
