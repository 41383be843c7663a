import type { Database } from '@/db/connect.ts'
import type { ExchangeRow } from '@/db/exchange-row.ts'
import { exchange } from '@/db/schema.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'

/** Rows in one statement. */
const MAX_BATCH = 500

/** Rows that may wait while the database is away; beyond it the oldest are given up and counted. */
const MAX_WAITING = 20_000

/** Pause after a failed write, so that a database in trouble is not asked without end. */
const RETRY_MS = 1000

/**
 * Writes results in batches: whatever gathered while the last batch was on its way becomes the next one, so there
 * is one statement in flight and no timer.
 */
export class ExchangeWriter {
  readonly #database: Database
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #waiting: ExchangeRow[] = []
  #running: Promise<void> | undefined
  #closing = false

  constructor(database: Database, log: Log, metrics: Metrics) {
    this.#database = database
    this.#log = log
    this.#metrics = metrics
  }

  add(row: ExchangeRow): void {
    this.#waiting.push(row)
    if (this.#waiting.length > MAX_WAITING) this.#giveUp(this.#waiting.splice(0, MAX_BATCH).length)
    this.#running ??= this.#run()
  }

  /** Resolves when everything added so far is written, or was given up. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Flushes, trying a database that is away only once more. */
  async close(): Promise<void> {
    this.#closing = true
    await this.flush()
  }

  async #run(): Promise<void> {
    // Lets the exchange that ended just now go on before any SQL is built.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#writeBatch(this.#waiting.splice(0, MAX_BATCH))
    this.#running = undefined
  }

  async #writeBatch(batch: ExchangeRow[]): Promise<void> {
    try {
      await this.#database.orm.insert(exchange).values(batch).onConflictDoNothing()
    } catch (error) {
      this.#log.error({ err: error, rows: batch.length }, 'results of exchanges could not be written')
      if (this.#closing) return this.#giveUp(batch.length)
      this.#waiting.unshift(...batch)
      await Bun.sleep(RETRY_MS)
    }
  }

  #giveUp(rows: number): void {
    this.#metrics.unrecordedExchanges.inc(rows)
  }
}
