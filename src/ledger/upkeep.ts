import { regularly } from '@/clock/regularly.ts'
import { Silence } from '@/clock/silence.ts'
import type { Adoption } from './adoption.ts'
import { auditInTurn, type LastAudit } from './audit.ts'
import { type LedgerBatches, type LedgerParts, releaseOf } from './batches.ts'
import { reap } from './reaper.ts'
import type { RunningHolds } from './running.ts'
import type { Stop } from './types.ts'

const ACCOUNTS_AT_ONCE = 1_000

/** What the ledger's regular work is done with. */
interface UpkeepOptions
  extends LedgerParts,
    Pick<LedgerBatches, 'settles' | 'settle' | 'settleAll' | 'settleRefused'> {
  databaseUrl: string
  running: RunningHolds
  adoption: Adoption
  onStop: (stop: Stop) => void
}

/** What a process does for the ledger whether or not anybody asks: each part on its own timer, one at a time. */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #stops: (() => void)[] = []
  #beatAt: number
  readonly #silence: Silence
  #lastAudit: LastAudit | undefined

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#beatAt = options.clock.elapsed()
    this.#silence = new Silence(options.clock, options.timings.deadAfterMs)
  }

  /** When the last heartbeat reached the database, as the clock's `elapsed` says it; before the first, when this began. */
  get beatAt(): number {
    return this.#beatAt
  }

  /** Undefined: none was made yet, or this process has not asked. */
  get lastAudit(): LastAudit | undefined {
    return this.#lastAudit
  }

  start(): void {
    const { clock, log, timings } = this.#options
    const begin = (what: string, ms: number, act: () => Promise<void>) =>
      regularly(ms, act, {
        clock,
        onFailure: err => log.error({ err }, `the ledger's ${what} failed`),
      })
    this.#stops.push(
      begin('heartbeat', timings.heartbeatMs, () => this.beat()),
      begin('maintenance', timings.maintenanceMs, () => this.maintain()),
      begin('audit', timings.auditMs, () => this.inspect()),
    )
  }

  async stop(): Promise<void> {
    const { adoption, log } = this.#options
    for (const stop of this.#stops) stop()
    await adoption.stop().catch(err => log.warn({ err }, 'what dead processes left waits for the next one'))
  }

  /** Heartbeat, checkpoints, reaper, journal. Without a heartbeat there is none of the rest. */
  async beat(): Promise<void> {
    const { spill, presence, pool, clock, settleAll } = this.#options
    await spill?.journal.probe()
    await pool
      .guard(() => presence.beat())
      .then(
        nowMs => this.#silence.reached(nowMs),
        error => {
          this.#silence.missed()
          throw error
        },
      )
    this.#beatAt = clock.elapsed()
    spill?.notes.tidy()
    await eachByItself([
      () => this.#checkpoint(),
      () => this.#reap(),
      async () => {
        if (spill !== undefined && !spill.journal.isEmpty()) await spill.journal.replay(settleAll)
      },
    ])
  }

  async #checkpoint(): Promise<void> {
    const { presence, pool, running, onStop } = this.#options
    const stops = await running.checkpoint(costs =>
      pool.guard(store => store.progress(presence.owner(), costs)),
    )
    for (const stop of stops) onStop(stop)
  }

  /** Not while the charges of the dead are being posted: their holds are kept for them. */
  async #reap(): Promise<void> {
    const { pool, adoption, timings, log } = this.#options
    if (adoption.isUnderway || !this.#silence.counts) return
    const reaped = await reap(pool.store, timings.deadAfterMs)
    if (reaped.length > 0) log.warn({ holds: reaped.length }, 'settled holds without an owner')
  }

  /** Partitions, expiry of credit, daily totals, periods of budgets, what processes that are gone have left, what was refused, forgotten holds. */
  async maintain(): Promise<void> {
    const { pool, adoption, settleRefused } = this.#options
    const store = pool.store
    await eachByItself([
      () => store.makePartitions(),
      () => this.#expireCredit(),
      () => store.rollUp(),
      () => store.returnBudgets(),
      () => adoption.run(),
      settleRefused,
      () => this.#freeForgotten(),
    ])
  }

  /**
   * Frees what this process has set aside for no exchange that runs: the statement was given up, and committed all the
   * same when it reached the database. One whose charge waits, in the queue or in the journal, is left to that: of two
   * records in one journal whoever adopts it would believe the later.
   */
  async #freeForgotten(): Promise<void> {
    const { pool, presence, spill, running, settles, settle, log } = this.#options
    const known = running.ids()
    const held = await pool.store.heldBy(presence.owner())
    if (spill?.journal.isEmpty() === false) return
    const forgotten = held.filter(({ id }) => !known.has(id) && !settles.has(id))
    await Promise.all(forgotten.map(exchange => settle(releaseOf(exchange))))
    if (forgotten.length > 0) log.warn({ holds: forgotten.length }, 'freed holds of no exchange')
  }

  async #expireCredit(): Promise<void> {
    const { pool } = this.#options
    const store = pool.store
    const accounts = await store.accountsWithExpiredCredit(ACCOUNTS_AT_ONCE)
    await eachByItself(accounts.map(account => () => store.expireCredit(account)))
  }

  /** The audit of what is new, if it is this process's turn. */
  async inspect(): Promise<void> {
    const { databaseUrl, timings, log } = this.#options
    // A little less than the interval, or a process could come a moment too early each time.
    const { report, last } = await auditInTurn(databaseUrl, timings.auditMs * 0.9)
    this.#lastAudit = last
    if (report === undefined) return
    const failures = report.checks.filter(({ count, informational }) => count > 0 && !informational)
    const findings = failures.map(({ name, count, first }) => ({ check: name, count, first }))
    if (report.ok) log.info({ checks: report.checks.length }, 'audit: the ledger holds')
    else {
      const suspended = report.suspendedAccounts
      log.error({ findings, broken: report.brokenAccounts, suspended }, 'audit: THE LEDGER DOES NOT HOLD')
    }
  }
}

/**
 * Does one thing after the other, whatever becomes of those before it.
 * @throws what failed
 */
async function eachByItself(acts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const act of acts) await act().catch(error => failures.push(error))
  if (failures.length > 1) throw new AggregateError(failures, 'several parts failed')
  if (failures.length === 1) throw failures[0]
}
