import type { Clock } from '@/clock/clock.ts'
import { pause } from '@/clock/wait.ts'
import type { FindEnd, ResponseEnd, ResponseStore } from '@/stored-responses/store.ts'
import type { StoredEvent } from '@/stored-responses/stored-response.ts'
import type { Log } from '@/telemetry/log.ts'
import { type AbruptEnd, abruptEnd } from './abrupt-end.ts'

/** How long the events of a running response gather before they are written. */
const GATHER_MS = 50

/** How often, and after which pause, the end of a response is written to a database that is away. */
const END_ATTEMPTS = 30
const END_PAUSE_MS = 1_000

/** The end of a response whose caller ended it. */
export const CANCELLED: AbruptEnd = { status: 'cancelled', error: null }

/** Where a running response is written, and told of. */
interface BackgroundRunOptions {
  store: Pick<ResponseStore, 'append' | 'finish'>
  clock: Pick<Clock, 'after'>
  log: Log
  /** Called when there is news of it in the database. */
  announce: () => void
}

/** A background response that runs in this process: its events go to the database as they come. */
export class BackgroundRun {
  readonly id: string
  /** True once it is in the database. */
  isStored = false
  readonly #abort = new AbortController()
  readonly #options: BackgroundRunOptions
  #waiting: StoredEvent[] = []
  #writing: Promise<void> | undefined
  readonly #ending = Promise.withResolvers<void>()
  #cancelled = false
  #hasEnded = false

  constructor(id: string, options: BackgroundRunOptions) {
    this.id = id
    this.#options = options
  }

  /** Resolves when its end is written, or was given up. */
  get ended(): Promise<void> {
    return this.#ending.promise
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

  /** It was refused before it was stored, as its caller is told: nobody else knows of it. */
  drop(): void {
    this.#hasEnded = true
    this.#ending.resolve()
  }

  async #finish(end: ResponseEnd | FindEnd): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { store, clock, log, announce } = this.#options
    for (let attempt = 1; attempt <= END_ATTEMPTS; attempt += 1) {
      try {
        await store.finish(this.id, end)
        break
      } catch (error) {
        log.error({ err: error, response: this.id }, 'the end of a response could not be stored')
        await pause(END_PAUSE_MS, clock)
      }
    }
    this.#ending.resolve()
    announce()
  }

  async #write(): Promise<void> {
    const { store, clock, log, announce } = this.#options
    await pause(GATHER_MS, clock)
    const batch = this.#waiting
    this.#waiting = []
    try {
      if (!(await store.append(this.id, batch))) this.abort()
      this.#writing = this.#waiting.length > 0 ? this.#write() : undefined
    } catch (error) {
      log.error({ err: error, response: this.id }, 'events of a response could not be stored')
      this.#waiting = [...batch, ...this.#waiting]
      this.#writing = undefined
    }
    announce()
  }
}
