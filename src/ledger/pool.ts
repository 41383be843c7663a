import type { Clock } from '@/clock/clock.ts'
import { connect, type Database } from '@/db/connect.ts'
import { type LedgerStore, ledgerStore } from './store.ts'
import type { LedgerTimings } from './timings.ts'

const CONNECTIONS = 4

/** The connections of one process's ledger. */
export interface LedgerPool {
  store(): LedgerStore
  /** A statement without an answer condemns all connections: its network is gone, and it would wait for long. */
  guard<Result>(act: (store: LedgerStore) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** Connects when somebody asks. */
export function openPool(url: string, timings: LedgerTimings, clock: Clock): LedgerPool {
  const open = () =>
    connect(url, {
      max: CONNECTIONS,
      applicationName: 'tollgate ledger',
      statementTimeoutMs: timings.statementTimeoutMs,
    })
  let database: Database = open()
  let store = ledgerStore(database)
  return {
    store: () => store,
    async guard(act) {
      const used = database
      const cancel = clock.after(timings.connectionTimeoutMs, () => {
        if (used !== database) return
        database = open()
        store = ledgerStore(database)
        void used.sql.end({ timeout: 0 })
      })
      return act(store).finally(cancel)
    },
    close: () => database.close(),
  }
}
