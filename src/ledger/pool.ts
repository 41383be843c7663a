import type { Clock } from '@/clock/clock.ts'
import { connect } from '@/db/connect.ts'
import { type GuardOptions, guardOf } from '@/db/guard.ts'
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

/** Connects when somebody asks. */
export function openPool(
  url: string,
  timings: LedgerTimings,
  clock: Clock,
  watch: Pick<GuardOptions, 'onLost' | 'onBack'> = {},
): LedgerPool {
  const database = connect(url, {
    max: CONNECTIONS,
    applicationName: 'tollgate ledger',
    statementTimeoutMs: timings.statementTimeoutMs,
  })
  const store = ledgerStore(database)
  const guard = guardOf(database, { clock, silenceMs: timings.connectionTimeoutMs, ...watch })
  return { store, guard: act => guard(() => act(store)), close: () => database.close() }
}
