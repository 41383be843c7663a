import type { Clock } from '@/clock/clock.ts'
import { sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import { OWNER_GONE } from './store.ts'

export interface WriterOptions<Item, Result> {
  clock: Clock
  /**
   * Writes a batch in one statement and answers in its order; an Error is the answer for one item. Must be safe to
   * repeat: a lost answer is asked for again with the same ids.
   */
  write(batch: readonly Item[]): Promise<readonly (Result | Error)[]>
  /** What tells items apart; of two with one id the second waits until the first has its answer. */
  idOf(item: Item): string
  /** How long an item waits for its answer before `onLate` decides. */
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

/**
 * Collects what many callers want written into one statement at a time. Whatever queued while the last batch was in
 * flight is the next one: the batch grows with the load and an idle writer adds no wait.
 */
export interface BatchWriter<Item, Result> {
  submit(item: Item): Promise<Result>
  /** How many wait or are in flight. */
  size(): number
  /** How long the oldest of them has waited, in ms. */
  waitMs(): number
  /** When a batch last failed, in ms since 1970; undefined: never. */
  failedAt(): number | undefined
  /** Resolves when everything submitted so far has its answer. */
  drain(): Promise<void>
}

const MAX_BATCH = 512
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
const NOTHING = (): void => {}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly since: number
  resolve(result: Result): void
  reject(error: unknown): void
  /** When its patience ends. */
  dueAt: number
  /** Its patience ended, and what becomes of it is not decided yet: a slow disk outlasts patience. */
  isLate: boolean
  /** It has its answer, and counts no more. */
  done: boolean
}

/** A writer that is idle until the first item. */
export function batchWriter<Item, Result>(options: WriterOptions<Item, Result>): BatchWriter<Item, Result> {
  type Entry = Waiting<Item, Result>
  const { clock, gatherMs = 0 } = options
  /** Who waits, the oldest first. Those that are done leave it after each batch. */
  let queue: Entry[] = []
  /** How many of the queue are not done. */
  let open = 0
  const answered = new Set<() => void>()
  let running = false
  let pauseMs = 0
  let failedAt: number | undefined
  let startedAt = Number.NEGATIVE_INFINITY
  let stopTimer = NOTHING

  function resolve(entry: Entry, result: Result): void {
    if (entry.done) return
    entry.resolve(result)
    close(entry)
  }

  function reject(entry: Entry, error: unknown): void {
    if (entry.done) return
    entry.reject(error)
    close(entry)
  }

  function close(entry: Entry): void {
    entry.done = true
    open -= 1
    if (open > 0) return
    queue = []
    stopTimer()
    stopTimer = NOTHING
    for (const tell of answered) tell()
    answered.clear()
  }

  /** One timer for all who wait: a timer for each would cost as much as the rest of its way. */
  function watch(): void {
    let soonest = Number.POSITIVE_INFINITY
    for (const { dueAt, done } of queue) if (!done && dueAt < soonest) soonest = dueAt
    stopTimer = clock.after(Math.max(0, soonest - clock.now()), () => {
      stopTimer = NOTHING
      const now = clock.now()
      for (const entry of queue) if (!entry.done && entry.dueAt <= now) tellLate(entry, now)
      if (open > 0) watch()
    })
  }

  /** What is to wait on has its patience once more. It is asked about once at a time, or a journal would get it twice. */
  function tellLate(entry: Entry, now: number): void {
    entry.dueAt = now + options.patienceMs
    if (entry.isLate) return
    entry.isLate = true
    options.onLate(entry.item).then(
      result => {
        entry.isLate = false
        if (result !== undefined) resolve(entry, result)
      },
      error => reject(entry, error),
    )
  }

  async function run(): Promise<void> {
    // Whoever else submits in this turn of the loop joins.
    await Promise.resolve()
    while (open > 0) {
      if (gatherMs > 0) await gather()
      if (open > 0) await write(nextBatch())
      if (open > 0) queue = queue.filter(({ done }) => !done)
      if (pauseMs > 0) await new Promise<void>(resume => clock.after(pauseMs, resume))
    }
    running = false
  }

  /** Not while somebody waits for the queue to be empty. */
  async function gather(): Promise<void> {
    const waitMs = startedAt + gatherMs - clock.now()
    if (waitMs > 0 && answered.size === 0) await new Promise<void>(resume => clock.after(waitMs, resume))
    startedAt = clock.now()
  }

  /** The oldest, no id twice: the second of an id sees what became of the first. */
  function nextBatch(): Entry[] {
    const batch: Entry[] = []
    const ids = new Set<string>()
    for (const entry of queue) {
      if (batch.length === MAX_BATCH) break
      const id = options.idOf(entry.item)
      if (entry.done || ids.has(id)) continue
      ids.add(id)
      batch.push(entry)
    }
    return batch
  }

  /** Tries a batch once. What was not answered stays in the queue, at its place. */
  async function write(batch: readonly Entry[]): Promise<void> {
    try {
      const results = await options.write(batch.map(({ item }) => item))
      pauseMs = 0
      for (const [index, entry] of batch.entries()) answer(entry, results[index])
    } catch (error) {
      if (isTheDatas(error)) await bisect(batch, error)
      else fail(error)
    }
  }

  function answer(entry: Entry, result: Result | Error | undefined): void {
    if (result === undefined) reject(entry, new Error('the batch was written without an answer'))
    else if (result instanceof Error) reject(entry, result)
    else resolve(entry, result)
  }

  /** One row that the database cannot take must not keep the others from being written. */
  async function bisect(batch: readonly Entry[], error: unknown): Promise<void> {
    const [only] = batch
    if (only !== undefined && batch.length === 1) return reject(only, error)
    pauseMs = 0
    const half = Math.ceil(batch.length / 2)
    await write(batch.slice(0, half))
    // Not while the database is away: the rest waits for its turn.
    if (pauseMs === 0) await write(batch.slice(half))
  }

  function fail(error: unknown): void {
    failedAt = clock.now()
    pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    options.onFailure?.(error)
  }

  return {
    submit(item) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      const since = clock.now()
      queue.push({
        item,
        since,
        resolve,
        reject,
        dueAt: since + options.patienceMs,
        isLate: false,
        done: false,
      })
      open += 1
      if (stopTimer === NOTHING) watch()
      if (!running) {
        running = true
        run()
      }
      return promise
    },
    size: () => open,
    waitMs() {
      for (const { done, since } of queue) if (!done) return clock.now() - since
      return 0
    },
    failedAt: () => failedAt,
    drain: () => (open === 0 ? Promise.resolve() : new Promise(resolve => answered.add(resolve))),
  }
}

/**
 * Whether the rows are at fault, so that trying again would fail again. Everything else (the connection, a lock, a
 * timeout, a server that starts or is read-only, a schema that is being migrated) is tried again until somebody's
 * patience ends. So is a hold that another connection opened meanwhile: the next try finds it.
 */
function isTheDatas(error: unknown): boolean {
  const sql = sqlErrorOf(error)
  if (sql === undefined || (sql.code === UNIQUE_VIOLATION && sql.constraint === 'hold_pkey')) return false
  return /^(22|23|TG)/.test(sql.code) && sql.code !== OWNER_GONE
}
