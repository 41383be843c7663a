import type { Database } from '@/db/connect.ts'
import { isDataError } from '@/db/sql-error.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { storable } from '@/json/well-formed.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { columnsOf, USUAL } from './columns.ts'
import type { ExchangeNotes, NotedRow } from './notes.ts'

/** Rows in one statement. */
const MAX_BATCH = 500

/** Rows that may wait while the database is away; beyond it the oldest are given up and counted. */
const MAX_WAITING = 20_000

/** How long the first row of a batch waits for others: a statement costs as much as many rows. */
const GATHER_MS = 50

/** Pause after a failed write, so that a database in trouble is not asked without end. */
const RETRY_MS = 1000

/**
 * Writes results in batches: whatever gathered for a moment, or while the last batch was on its way, becomes the next
 * one, so there is one statement in flight.
 */
export class ExchangeWriter {
  readonly #database: Database
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #notes: ExchangeNotes | undefined
  readonly #waiting: NotedRow[] = []
  #running: Promise<void> | undefined
  #closing = false
  /** How many wait for the rows to be written. */
  #awaited = 0
  /** Ends the gathering. */
  #hurry: () => void = () => {}

  /** @param notes where results are until they are stored; undefined: those of a process that is killed are lost */
  constructor(database: Database, log: Log, metrics: Metrics, notes?: ExchangeNotes) {
    this.#database = database
    this.#log = log
    this.#metrics = metrics
    this.#notes = notes
  }

  /** Notes a result at once, so that it outlives this process; what this returns has it stored, behind. */
  take(record: ExchangeRecord, totalMs: number): () => void {
    const noted = { id: record.id, text: storable(JSON.stringify(columnsOf(record, totalMs))) }
    this.#notes?.add(noted)
    return () => this.#enqueue(noted)
  }

  /**
   * Stores what processes that are gone have left, once the ledger has taken their charges, until it is to stop. Beside
   * the queue, which may not be empty for long.
   */
  async adopt(signal: AbortSignal): Promise<void> {
    await this.#notes?.adopt(async rows => {
      for (let start = 0; start < rows.length; start += MAX_BATCH) {
        await this.#store(rows.slice(start, start + MAX_BATCH))
      }
    }, signal)
  }

  #enqueue(row: NotedRow): void {
    this.#waiting.push(row)
    if (this.#waiting.length > MAX_WAITING) this.#giveUp(this.#waiting.splice(0, MAX_BATCH))
    this.#running ??= this.#run()
  }

  /** Resolves when everything added so far is written, or was given up. */
  async flush(): Promise<void> {
    this.#awaited += 1
    this.#hurry()
    while (this.#running !== undefined) await this.#running
    this.#awaited -= 1
  }

  /** Flushes, trying a database that is away only once more. What was noted and is not stored then, the next process finds. */
  async close(): Promise<void> {
    this.#closing = true
    await this.flush()
    this.#notes?.close()
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather()
      await this.#writeBatch(this.#waiting.splice(0, MAX_BATCH))
    }
    this.#notes?.tidy()
    this.#running = undefined
  }

  #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const isDue = this.#awaited > 0 || this.#waiting.length >= MAX_BATCH
    const timer = setTimeout(resolve, isDue ? 0 : GATHER_MS)
    this.#hurry = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }

  async #writeBatch(batch: NotedRow[]): Promise<void> {
    try {
      await this.#store(batch)
    } catch (error) {
      this.#log.error({ err: error, rows: batch.length }, 'results of exchanges could not be written')
      if (this.#closing) return this.#notes === undefined ? this.#giveUp(batch) : undefined
      this.#waiting.unshift(...batch)
      await Bun.sleep(RETRY_MS)
    }
  }

  /** @throws what is no fault of the rows */
  async #store(batch: readonly NotedRow[]): Promise<void> {
    try {
      await insert(this.#database, batch)
      for (const { id } of batch) this.#notes?.done(id)
    } catch (error) {
      if (!isDataError(error)) throw error
      await this.#storeHalves(batch, error)
    }
  }

  /** One row that the database cannot take must not keep the others from being written. */
  async #storeHalves(batch: readonly NotedRow[], error: unknown): Promise<void> {
    const [only] = batch
    if (only !== undefined && batch.length === 1) {
      this.#log.error({ err: error, request_id: only.id }, 'the result of an exchange was refused')
      return this.#giveUp(batch)
    }
    const half = Math.ceil(batch.length / 2)
    await this.#store(batch.slice(0, half))
    await this.#store(batch.slice(half))
  }

  #giveUp(rows: readonly NotedRow[]): void {
    for (const { id } of rows) this.#notes?.done(id)
    this.#metrics.unrecordedExchanges.inc(rows.length)
  }
}

/**
 * One parameter however many rows there are. The query builder would make one for each value, which costs more than
 * all the rest that the gateway does for an exchange (docs/performance.md).
 */
async function insert({ sql }: Database, rows: readonly NotedRow[]): Promise<void> {
  const json = `[${rows.map(({ text }) => text).join(',')}]`
  await sql`insert into exchange select * from json_populate_recordset(
    jsonb_populate_record(null::exchange, ${USUAL}::text::jsonb || jsonb_build_object('stored_at', clock_timestamp())),
    ${json}::text::json)
    on conflict do nothing`
}
