/** How long the ledger's parts wait, and how often they act, in ms. */
export interface LedgerTimings {
  /** Between two signs of life of a process. Each brings the exchanges that must end. */
  heartbeatMs: number
  /** Without a heartbeat for so long, a process is dead. By the clock of the database. */
  deadAfterMs: number
  maintenanceMs: number
  /** How long a start waits until what dead processes left is taken in. The rest follows beside its work. */
  adoptionPatienceMs: number
  /** Between two audits, whichever processes make them. */
  auditMs: number
  /** How long a hold waits for a database that does not answer. */
  holdPatienceMs: number
  /** The least time between two batches of settlements: each locks its wallets until it is on disk, and holds wait for that. */
  settleGatherMs: number
  /** How long a charge is on its way to the database, at most as a rule: one of another process is not seen here. */
  settleTravelMs: number
  /** After so long a settlement goes to the journal. */
  settlePatienceMs: number
  /** Postgres gives up on a statement of the ledger that takes longer. */
  statementTimeoutMs: number
  /** A statement without any answer for so long is on a connection that is dead. */
  connectionTimeoutMs: number
}

/** What holds unless a test says otherwise. */
export const TIMINGS: LedgerTimings = {
  heartbeatMs: 2_000,
  deadAfterMs: 10_000,
  maintenanceMs: 60_000,
  adoptionPatienceMs: 500,
  auditMs: 300_000,
  holdPatienceMs: 2_000,
  settleGatherMs: 5,
  settleTravelMs: 50,
  settlePatienceMs: 2_000,
  statementTimeoutMs: 2_000,
  connectionTimeoutMs: 6_000,
}
