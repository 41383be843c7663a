import type { Clock } from '@/clock/clock.ts'
import type { Compactions } from '@/stored-responses/compaction.ts'
import { type AbruptEnd, abruptEvent, abruptResponse } from '@/stored-responses/ended.ts'
import type { FindEnd, ResponseEnd, ResponseStore } from '@/stored-responses/store.ts'
import type { StoredEvent } from '@/stored-responses/stored-response.ts'
import type { Log } from '@/telemetry/log.ts'

/** How often a process says that its background responses run, and looks for those of processes that died. */
const BEAT_MS = 2_000

/** Without a word for so long, the process that ran a response is dead; as long as the ledger waits (ledger/timings.ts). */
const SILENT_MS = 10_000

const SWEEP_MS = 60_000

/** How long the events of a running response gather before they are written. */
const GATHER_MS = 50

/** How often, and after which pause, the end of a response is written to a database that is away. */
const END_ATTEMPTS = 30
const END_PAUSE_MS = 1_000

const DIED: AbruptEnd = {
  status: 'failed',
  error: {
    code: 'server_error',
    message: 'The gateway process that ran this response ended before it was complete',
  },
}

const CANCELLED: AbruptEnd = { status: 'cancelled', error: null }

export interface KeptResponsesOptions {
  store: ResponseStore
  compactions: Compactions
  clock: Clock
  log: Log
}

/** The stored responses of the deployment, and the background ones that run in this process. */
export class KeptResponses {
  readonly store: ResponseStore
  /** Summaries that callers carry themselves. */
  readonly compactions: Compactions
  readonly #log: Log
  readonly #clock: Clock
  readonly #running = new Map<string, BackgroundRun>()
  /** Who waits for news of a response. */
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #stops: (() => void)[]

  constructor({ store, compactions, clock, log }: KeptResponsesOptions) {
    this.store = store
    this.compactions = compactions
    this.#log = log
    this.#clock = clock
    this.#stops = [
      clock.every(
        BEAT_MS,
        guarded(() => this.beat(), log),
      ),
      clock.every(
        SWEEP_MS,
        guarded(async () => void (await store.sweep()), log),
      ),
    ]
  }

  /** Begins a background response; it is looked after from when it is stored. */
  begin(id: string): BackgroundRun {
    const run = new BackgroundRun(id, this.store, this.#log, () => this.#announce(id))
    this.#running.set(id, run)
    run.ended.finally(() => this.#running.delete(id))
    return run
  }

  /** Cancels a running response, wherever it runs; nothing if it had ended. The caller was found to own it. */
  async cancel(id: string): Promise<void> {
    const run = this.#running.get(id)
    run?.cancel()
    await run?.ended
    await this.#endAbruptly(id, CANCELLED)
  }

  /** Resolves with the next news of a response that runs in this process, or after `ms`. */
  news(id: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting.add(resolve))
    const timer = setTimeout(resolve, ms)
    return promise.finally(() => {
      clearTimeout(timer)
      waiting.delete(resolve)
      if (waiting.size === 0) this.#waiting.delete(id)
    })
  }

  /** Heartbeat: what runs here lives, what was ended elsewhere stops, what nobody runs any more has failed. */
  async beat(): Promise<void> {
    const stored = [...this.#running.values()].filter(run => run.isStored).map(({ id }) => id)
    for (const id of await this.store.beat(stored)) this.#running.get(id)?.abort()
    for (const id of await this.store.abandoned(SILENT_MS)) {
      if (await this.#endAbruptly(id, DIED)) this.#log.warn({ response: id }, 'a response was abandoned')
    }
  }

  /** Waits until the background responses have ended, for so long; then ends them. */
  async close(graceMs: number): Promise<void> {
    const runs = [...this.#running.values()]
    const deadline = Promise.withResolvers<void>()
    const cancel = this.#clock.after(graceMs, deadline.resolve)
    await Promise.race([Promise.all(runs.map(({ ended }) => ended)), deadline.promise])
    cancel()
    for (const run of this.#running.values()) run.abort()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    for (const stop of this.#stops) stop()
  }

  async #endAbruptly(id: string, end: AbruptEnd): Promise<boolean> {
    const ended = await this.store.finish(id, (response, events) => abruptEnd(response, events, [], end))
    if (ended) this.#announce(id)
    return ended
  }

  #announce(id: string): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve()
  }
}

/** A background response that runs in this process: its events go to the database as they come. */
export class BackgroundRun {
  readonly id: string
  /** Resolves when its end is written, or was given up. */
  readonly ended: Promise<void>
  /** True once it is in the database. */
  isStored = false
  readonly #abort = new AbortController()
  readonly #store: ResponseStore
  readonly #log: Log
  readonly #announce: () => void
  #waiting: StoredEvent[] = []
  #writing: Promise<void> | undefined
  #markEnded: () => void = () => {}
  #cancelled = false
  #hasEnded = false

  constructor(id: string, store: ResponseStore, log: Log, announce: () => void) {
    this.id = id
    this.#store = store
    this.#log = log
    this.#announce = announce
    this.ended = new Promise(resolve => {
      this.#markEnded = resolve
    })
  }

  /** Aborts when nothing more is to come of it. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  abort(): void {
    this.#abort.abort()
  }

  /** Ends it because its caller said so. */
  cancel(): void {
    this.#cancelled = true
    this.abort()
  }

  event(event: StoredEvent): void {
    this.#waiting.push(event)
    this.#writing ??= this.#write()
  }

  /** Resolves when the events so far are written. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** It came to its end. */
  async end(end: Omit<ResponseEnd, 'events'>): Promise<void> {
    await this.flush()
    await this.#finish({ ...end, events: this.#waiting })
  }

  /** Nothing, or nothing more, came of it. */
  async fail(code: string, message: string): Promise<void> {
    await this.flush()
    const end: AbruptEnd = this.#cancelled ? CANCELLED : { status: 'failed', error: { code, message } }
    await this.#finish((response, events) => abruptEnd(response, events, this.#waiting, end))
  }

  async #finish(end: ResponseEnd | FindEnd): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (let attempt = 1; attempt <= END_ATTEMPTS; attempt += 1) {
      try {
        await this.#store.finish(this.id, end)
        break
      } catch (error) {
        this.#log.error({ err: error, response: this.id }, 'the end of a response could not be stored')
        await Bun.sleep(END_PAUSE_MS)
      }
    }
    this.#markEnded()
    this.#announce()
  }

  async #write(): Promise<void> {
    await Bun.sleep(GATHER_MS)
    const batch = this.#waiting
    this.#waiting = []
    try {
      if (!(await this.#store.append(this.id, batch))) this.abort()
      this.#writing = this.#waiting.length > 0 ? this.#write() : undefined
    } catch (error) {
      this.#log.error({ err: error, response: this.id }, 'events of a response could not be stored')
      this.#waiting = [...batch, ...this.#waiting]
      this.#writing = undefined
    }
    this.#announce()
  }
}

/** @param last events that are not stored yet */
function abruptEnd(
  response: string,
  stored: readonly StoredEvent[],
  last: readonly StoredEvent[],
  end: AbruptEnd,
): ResponseEnd {
  const events = [...stored, ...last]
  const ended = abruptResponse(response, events, end)
  return { status: end.status, response: ended, events: [...last, abruptEvent(ended, events, end)] }
}

/** One at a time; what fails is told and tried again the next time. */
function guarded(act: () => Promise<void>, log: Log): () => void {
  let busy = false
  return () => {
    if (busy) return
    busy = true
    act()
      .catch(error => log.warn({ err: error }, 'stored responses could not be looked after'))
      .finally(() => {
        busy = false
      })
  }
}
