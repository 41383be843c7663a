import type { Clock } from '@/clock/clock.ts'
import type { Database } from '@/db/connect.ts'
import type { Log } from '@/telemetry/log.ts'
import { ConsoleError } from '../failure.ts'
import { readNewest, type StoredExchange } from './request-log.ts'

type TailListener = (rows: readonly StoredExchange[]) => void | Promise<void>

interface TailOptions {
  database: Database
  clock: Clock
  log: Log
}

const POLL_MS = 1_000
/** A batch that was written earlier can be committed later: how far back is looked again. */
const OVERLAP_MS = 5_000
/** Of a flood the newest are told. */
const MOST_AT_ONCE = 2_000
/** Of one account: each looks at its session in the database whenever it has something to tell. */
const MOST_LISTENERS = 20

/**
 * Tells of every request that ends, on whichever process: while anybody listens, the log is asked once a second, for
 * all listeners together, for what was stored since.
 */
export class LiveTail {
  readonly #options: TailOptions
  /** With the account of who listens. */
  readonly #listeners = new Map<TailListener, number>()
  /** What was told of the overlap, with the moment that it was stored. */
  readonly #told = new Map<string, number>()
  /** When the first listener came; what was stored before is no news. */
  #startedAt: Date | undefined
  #newest = new Date(0)
  #stop: (() => void) | undefined
  #busy = false

  constructor(options: TailOptions) {
    this.#options = options
  }

  /**
   * Returns what ends it.
   * @throws ConsoleError `unavailable` where as many listen for the account already as may
   */
  listen(account: number, listener: TailListener): () => void {
    const own = this.#listeners.values().filter(whose => whose === account)
    if (own.toArray().length >= MOST_LISTENERS) {
      throw new ConsoleError(
        'unavailable',
        `${MOST_LISTENERS} live logs are open for this account: close one`,
      )
    }
    this.#listeners.set(listener, account)
    if (this.#stop === undefined) {
      this.#startedAt = undefined
      void this.poll()
      this.#stop = this.#options.clock.every(POLL_MS, () => void this.poll())
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  /** Looks now. Called by the clock; a test calls it itself. */
  async poll(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      await this.#look()
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the live log could not be read')
    } finally {
      this.#busy = false
    }
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#told.clear()
  }

  async #look(): Promise<void> {
    const { orm, sql } = this.#options.database
    if (this.#startedAt === undefined) {
      const [row] = await sql<
        { now: bigint }[]
      >`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`
      this.#startedAt = new Date(Number(row?.now ?? 0n))
      this.#newest = this.#startedAt
      return
    }
    const startedAt = this.#startedAt
    const rows = await readNewest(orm, new Date(this.#newest.getTime() - OVERLAP_MS), MOST_AT_ONCE)
    const fresh = rows.filter(({ id, storedAt }) => storedAt >= startedAt && !this.#told.has(id)).reverse()
    for (const { id, storedAt } of fresh) this.#told.set(id, storedAt.getTime())
    const [newest] = rows
    if (newest !== undefined && newest.storedAt > this.#newest) this.#newest = newest.storedAt
    const forgotten = this.#newest.getTime() - 2 * OVERLAP_MS
    for (const [id, at] of this.#told) if (at < forgotten) this.#told.delete(id)
    if (fresh.length > 0) for (const listener of this.#listeners.keys()) void listener(fresh)
  }
}
