import type { Clock } from '@/clock/clock.ts'
import { regularly } from '@/clock/regularly.ts'
import { Silence } from '@/clock/silence.ts'
import { within } from '@/clock/wait.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Compactions } from '@/stored-responses/compaction.ts'
import type { ResponseStore } from '@/stored-responses/store.ts'
import type { Log } from '@/telemetry/log.ts'
import { type AbruptEnd, abruptEnd } from './abrupt-end.ts'
import { BackgroundRun, CANCELLED } from './background-run.ts'

/** How often a process says that its background responses run, and looks for those of processes that died. */
const BEAT_MS = 2_000

/** Without a word for so long, the process that ran a response is dead; as long as the ledger waits (ledger/timings.ts). */
const SILENT_MS = 10_000

const SWEEP_MS = 60_000

const DIED: AbruptEnd = {
  status: 'failed',
  error: {
    code: 'server_error',
    message: 'The gateway process that ran this response ended before it was complete',
  },
}

/** Where responses are kept and how their conversations are opened again. */
interface KeptResponsesOptions {
  store: ResponseStore
  compactions: Compactions
  /** Whether what says nothing of `store` is kept. */
  storesUnasked: boolean
  clock: Clock
  log: Log
}

/** What an exchange needs whose responses are kept. */
export interface ResponseGateway extends Gateway {
  /** What callers of the Responses surface asked to be kept. */
  responses: KeptResponses
}

/** The stored responses of the deployment, and the background ones that run in this process. */
export class KeptResponses {
  readonly store: ResponseStore
  /** Summaries that callers carry themselves. */
  readonly compactions: Compactions
  /** Whether what says nothing of `store` is kept. */
  readonly storesUnasked: boolean
  readonly #log: Log
  readonly #clock: Clock
  readonly #running = new Map<string, BackgroundRun>()
  /** Who waits for news of a response. */
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #stops: (() => void)[]
  readonly #silence: Silence

  constructor({ store, compactions, storesUnasked, clock, log }: KeptResponsesOptions) {
    this.store = store
    this.compactions = compactions
    this.storesUnasked = storesUnasked
    this.#log = log
    this.#clock = clock
    this.#silence = new Silence(clock, SILENT_MS)
    const told = {
      clock,
      onFailure: (err: unknown) => log.warn({ err }, 'stored responses could not be looked after'),
    }
    this.#stops = [
      regularly(BEAT_MS, () => this.beat(), told),
      regularly(SWEEP_MS, () => store.sweep(), told),
    ]
  }

  /** Begins a background response; it is looked after from when it is stored. */
  begin(id: string): BackgroundRun {
    const run = new BackgroundRun(id, {
      store: this.store,
      clock: this.#clock,
      log: this.#log,
      announce: () => this.#announce(id),
    })
    this.#running.set(id, run)
    void run.ended.finally(() => this.#running.delete(id))
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
    const cancel = this.#clock.after(ms, resolve)
    return promise.finally(() => {
      cancel()
      waiting.delete(resolve)
      if (waiting.size === 0) this.#waiting.delete(id)
    })
  }

  /** Heartbeat: what runs here lives, what was ended elsewhere stops, what nobody runs any more has failed. */
  beat(): Promise<void> {
    return this.#beat().catch(error => {
      this.#silence.missed()
      throw error
    })
  }

  async #beat(): Promise<void> {
    const stored = [...this.#running.values()].filter(run => run.isStored).map(({ id }) => id)
    for (const id of await this.store.beat(stored)) this.#running.get(id)?.abort()
    const { ids, nowMs } = await this.store.abandoned(SILENT_MS)
    this.#silence.reached(nowMs)
    if (!this.#silence.counts) return
    for (const id of ids) {
      if (await this.#endAbruptly(id, DIED)) this.#log.warn({ response: id }, 'a response was abandoned')
    }
  }

  /** Waits until the background responses have ended, for so long; then ends them. */
  async close(graceMs: number): Promise<void> {
    const allEnded = () => Promise.all([...this.#running.values()].map(({ ended }) => ended))
    await within(graceMs, allEnded(), this.#clock)
    for (const run of this.#running.values()) run.abort()
    await allEnded()
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
