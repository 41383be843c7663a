import type { Clock } from '@/clock/clock.ts'
import { pause } from '@/clock/wait.ts'
import { sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import { OWNER_GONE } from './store.ts'

/** How items are written together. */
export interface WriterOptions<Item, Result> {
  clock: Clock
  /**
   * Writes a batch in one statement and answers in its order; an Error is the answer for one item. Must be safe to
   * repeat: a lost answer is asked for again with the same ids.
   */
  write(batch: readonly Item[]): Promise<readonly (Result | Error)[]>
  /** What tells items apart; of two with one id the second waits until the first has its answer. */
  idOf(item: Item): string
  /**
   * How long an item waits for its answer before `onLate` decides. Time in which this process did not run is not
   * counted: an answer that has arrived meanwhile could not be read.
   */
  patienceMs: number
  /**
   * The least time from the start of one batch to that of the next, for what nobody waits for: a busy writer's batches
   * gather that much more, and an idle one's begin at once all the same. None unless said.
   */
  gatherMs?: number
  /** The answer for an item that waited too long; undefined lets it wait as long again. What it throws, its submitter gets. */
  onLate(item: Item): Promise<Result | undefined>
  /** A batch could not be written and will be tried again. */
  onFailure?(error: unknown): void
}

const MAX_BATCH = 512
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
/** While somebody waits, how late the event loop is shows in steps of this. */
const TICK_MS = 250
const NOTHING = (): void => {}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly since: number
  readonly promise: Promise<Result>
  resolve(result: Result): void
  reject(error: unknown): void
  /** When its patience ends. */
  dueAt: number
  /** Its patience ended, and what becomes of it is not decided yet: a slow disk outlasts patience. */
  isLate: boolean
  /** It has its answer, and counts no more. */
  done: boolean
}

/**
 * Collects what many callers want written into one statement at a time. Whatever queued while the last batch was in
 * flight is the next one: the batch grows with the load and an idle writer adds no wait.
 */
export class BatchWriter<Item, Result> {
  readonly #options: WriterOptions<Item, Result>
  readonly #clock: Clock
  readonly #gatherMs: number
  /** Who waits, the oldest first. Those that are done leave it after each batch. */
  #queue: Waiting<Item, Result>[] = []
  /** How many of the queue are not done. */
  #open = 0
  /** Those who wait for the queue to be empty. */
  readonly #drained = new Set<() => void>()
  #running = false
  #pauseMs = 0
  #failedAt: number | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #stopTimer = NOTHING
  /** When the timer is to ring, as the clock's `elapsed` says it; without end while there is none. */
  #ringsAt = Number.POSITIVE_INFINITY
  /** For how long in all it rang too late. */
  #stalledMs = 0

  constructor(options: WriterOptions<Item, Result>) {
    this.#options = options
    this.#clock = options.clock
    this.#gatherMs = options.gatherMs ?? 0
  }

  submit(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const since = this.#attended()
    const dueAt = since + this.#options.patienceMs
    this.#queue.push({ item, since, promise, resolve, reject, dueAt, isLate: false, done: false })
    this.#open += 1
    if (this.#stopTimer === NOTHING) this.#watch()
    if (!this.#running) {
      this.#running = true
      void this.#run()
    }
    return promise
  }

  /** Resolves when those who wait and are asked for have their answers, whatever these are. */
  async answered(isAsked: (item: Item) => boolean): Promise<void> {
    const asked = this.#queue.filter(({ item, done }) => !done && isAsked(item))
    await Promise.allSettled(asked.map(({ promise }) => promise))
  }

  /** Whether one of this id waits or is in flight. */
  has(id: string): boolean {
    return this.#queue.some(({ item, done }) => !done && this.#options.idOf(item) === id)
  }

  /** How many wait or are in flight. */
  size(): number {
    return this.#open
  }

  /** How long the oldest of them has waited, in ms, while this process ran. */
  waitMs(): number {
    for (const { done, since } of this.#queue) if (!done) return this.#attended() - since
    return 0
  }

  /** When a batch last failed, as the clock's `elapsed` says it; undefined: never. */
  failedAt(): number | undefined {
    return this.#failedAt
  }

  /** Resolves when everything submitted so far has its answer. */
  drain(): Promise<void> {
    return this.#open === 0 ? Promise.resolve() : new Promise(resolve => this.#drained.add(resolve))
  }

  /** The clock's `elapsed` without the time in which the event loop stood still while somebody waited. */
  #attended(): number {
    const now = this.#clock.elapsed()
    return now - this.#stalledMs - Math.max(0, now - this.#ringsAt)
  }

  /** One timer for all who wait: a timer for each would cost as much as the rest of its way. */
  #watch(): void {
    let soonest = Number.POSITIVE_INFINITY
    for (const { dueAt, done } of this.#queue) if (!done && dueAt < soonest) soonest = dueAt
    const waitMs = Math.min(TICK_MS, Math.max(0, soonest - this.#attended()))
    this.#ringsAt = this.#clock.elapsed() + waitMs
    this.#stopTimer = this.#clock.after(waitMs, () => {
      const now = this.#attended()
      this.#unwatch()
      for (const entry of this.#queue) if (!entry.done && entry.dueAt <= now) this.#tellLate(entry, now)
      if (this.#open > 0) this.#watch()
    })
  }

  #unwatch(): void {
    this.#stalledMs += Math.max(0, this.#clock.elapsed() - this.#ringsAt)
    this.#ringsAt = Number.POSITIVE_INFINITY
    this.#stopTimer()
    this.#stopTimer = NOTHING
  }

  /** One that is to wait on gets its patience anew. `onLate` is asked once at a time, or a journal would get it twice. */
  #tellLate(entry: Waiting<Item, Result>, now: number): void {
    entry.dueAt = now + this.#options.patienceMs
    if (entry.isLate) return
    entry.isLate = true
    this.#options.onLate(entry.item).then(
      result => {
        entry.isLate = false
        if (result !== undefined) this.#resolve(entry, result)
      },
      error => this.#reject(entry, error),
    )
  }

  async #run(): Promise<void> {
    while (this.#open > 0) {
      // Whoever else submits in this turn of the loop joins: each request arrives on its own, with microtasks in between.
      await new Promise(resolve => setImmediate(resolve))
      if (this.#gatherMs > 0) await this.#gather()
      if (this.#open > 0) await this.#write(this.#nextBatch())
      if (this.#open > 0) this.#queue = this.#queue.filter(({ done }) => !done)
      if (this.#pauseMs > 0) await pause(this.#pauseMs, this.#clock)
    }
    this.#running = false
  }

  /** Not while somebody waits for the queue to be empty. */
  async #gather(): Promise<void> {
    const waitMs = this.#startedAt + this.#gatherMs - this.#clock.elapsed()
    if (waitMs > 0 && this.#drained.size === 0) await pause(waitMs, this.#clock)
    this.#startedAt = this.#clock.elapsed()
  }

  /** The oldest, no id twice: the second of an id sees what became of the first. */
  #nextBatch(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = []
    const ids = new Set<string>()
    for (const entry of this.#queue) {
      if (batch.length === MAX_BATCH) break
      const id = this.#options.idOf(entry.item)
      if (entry.done || ids.has(id)) continue
      ids.add(id)
      batch.push(entry)
    }
    return batch
  }

  /** Tries a batch once. What was not answered stays in the queue, at its place. */
  async #write(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map(({ item }) => item))
      this.#pauseMs = 0
      for (const [index, entry] of batch.entries()) this.#answer(entry, results[index])
    } catch (error) {
      if (areRowsAtFault(error)) await this.#bisect(batch, error)
      else this.#fail(error)
    }
  }

  /** One row that the database cannot take must not keep the others from being written. */
  async #bisect(batch: readonly Waiting<Item, Result>[], error: unknown): Promise<void> {
    const [only] = batch
    if (only !== undefined && batch.length === 1) return this.#reject(only, error)
    this.#pauseMs = 0
    const half = Math.ceil(batch.length / 2)
    await this.#write(batch.slice(0, half))
    // Not while the database is away: the rest waits for its turn.
    if (this.#pauseMs === 0) await this.#write(batch.slice(half))
  }

  #fail(error: unknown): void {
    this.#failedAt = this.#clock.elapsed()
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    this.#options.onFailure?.(error)
  }

  #answer(entry: Waiting<Item, Result>, result: Result | Error | undefined): void {
    if (result === undefined) this.#reject(entry, new Error('the batch was written without an answer'))
    else if (result instanceof Error) this.#reject(entry, result)
    else this.#resolve(entry, result)
  }

  #resolve(entry: Waiting<Item, Result>, result: Result): void {
    if (entry.done) return
    entry.resolve(result)
    this.#close(entry)
  }

  #reject(entry: Waiting<Item, Result>, error: unknown): void {
    if (entry.done) return
    entry.reject(error)
    this.#close(entry)
  }

  #close(entry: Waiting<Item, Result>): void {
    entry.done = true
    this.#open -= 1
    if (this.#open > 0) return
    this.#queue = []
    this.#unwatch()
    for (const tell of this.#drained) tell()
    this.#drained.clear()
  }
}

/**
 * Whether the rows are at fault, so that trying again would fail again: values, constraints, what a trigger raises, a page
 * that cannot be read. Everything else (the connection, a lock, a timeout, a server that starts or is read-only, a schema
 * that is being migrated) is tried again until somebody's patience ends. So is a hold that another connection opened
 * meanwhile: the next try finds it.
 */
function areRowsAtFault(error: unknown): boolean {
  const sql = sqlErrorOf(error)
  if (sql === undefined || (sql.code === UNIQUE_VIOLATION && sql.constraint === 'hold_pkey')) return false
  return /^(2[123]|44|54|P0|TG|XX00[12])/.test(sql.code) && sql.code !== OWNER_GONE
}
