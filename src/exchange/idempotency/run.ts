import { within } from '@/clock/wait.ts'
import type { ObservedRun } from '@/exchange/gateway.ts'
import { clientClosed } from '@/exchange/interruption.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { type BodyRead, pulledBody } from '@/exchange/relay/pulled-body.ts'
import { type AnswerEnd, Recording, type RecordingOptions } from './recording.ts'
import type { AnswerHead } from './store.ts'

/** How long an answer is fetched on for a caller who left, so that a retry finds it. */
export const LINGER_MS = 600_000

/** An exchange says how it ended before or right after its last byte; one that does not is not kept. */
const END_REPORT_MS = 5000

/** What of a body's reader is used; Bun's own type and the DOM's differ in the rest. */
interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
}

/** A recording, and who waits for its end. */
interface IdempotentRunOptions extends RecordingOptions {
  /** Called once when the run is over and the database knows. */
  onEnd: () => void
}

/**
 * The one run of a request that has an Idempotency-Key. It goes on when its caller leaves, and the answer is kept as
 * it passes to the caller, one reader on both: no faster than the caller reads, and as fast as it comes once the
 * caller is gone.
 */
export class IdempotentRun implements ObservedRun {
  readonly id: string
  readonly #options: IdempotentRunOptions
  readonly #recording: Recording
  readonly #abort = new AbortController()
  #reported = Promise.withResolvers<void>()
  #record: ExchangeRecord | undefined
  #reader: Reader | undefined
  #isReported = false
  #hasLeft = false
  #isOver = false
  #cancelLinger: (() => void) | undefined

  constructor(options: IdempotentRunOptions) {
    this.id = options.id
    this.#options = options
    this.#recording = new Recording(options)
  }

  /** Stands for the caller's connection: it aborts only when nobody can be given the answer any more. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** True while the answer is fetched for nobody but a retry. */
  get isLingering(): boolean {
    return this.#hasLeft && !this.#isOver
  }

  /** The run's own, so that what a dead run was charged is found; undefined once it has an exchange. */
  exchangeId(): string | undefined {
    return this.#record === undefined ? this.id : undefined
  }

  /** The exchange that the run turned out to be; of several, which follow one another, the last. */
  observe(record: ExchangeRecord): void {
    const reported = Promise.withResolvers<void>()
    this.#record = record
    this.#isReported = false
    this.#reported = reported
    record.releases.push(() => {
      if (this.#record === record) this.#isReported = true
      reported.resolve()
    })
  }

  /** What the caller gets of the exchange's answer. */
  async answer(response: Response): Promise<Response> {
    const head = headOf(response)
    const record = this.#record
    const flows = record !== undefined && !record.isDetached && (record.streamed || !this.#isReported)
    if (flows && response.ok && response.body !== null) return this.#stream(response, response.body, head)
    const bytes = new Uint8Array(await response.arrayBuffer())
    void this.#recording.add(bytes)
    const isGiven = record === undefined || record.isDetached || record.endState === 'complete'
    const complete = response.ok && isGiven
    await this.#end({ complete, ending: 'closed', head })
    return new Response(bytes, { status: response.status, headers: response.headers })
  }

  /** The caller left: the answer is fetched to its end all the same, within bounds. */
  leave(): void {
    if (this.#hasLeft || this.#isOver) return
    this.#hasLeft = true
    this.#cancelLinger = this.#options.clock.after(LINGER_MS, () => this.stop())
    if (this.#reader !== undefined) void this.#drain(this.#reader)
  }

  /** Ends the exchange. */
  stop(): void {
    this.#abort.abort(clientClosed())
  }

  /** Ends a run that has no answer. */
  async fail(): Promise<void> {
    await this.#end({ complete: false, ending: 'broken' })
  }

  async #stream(response: Response, body: ReadableStream<Uint8Array>, head: AnswerHead): Promise<Response> {
    await this.#recording.begin(head)
    const reader = body.getReader()
    this.#reader = reader
    if (this.#hasLeft) void this.#drain(reader)
    const passed = pulledBody(
      () => this.#read(reader),
      () => this.leave(),
    )
    return new Response(passed, { status: response.status, headers: response.headers })
  }

  /** The next bytes, noted; or how it ended, once that is kept. */
  async #read(reader: Reader): Promise<BodyRead> {
    const next = await reader.read().catch(() => undefined)
    if (next?.value !== undefined) {
      await this.#recording.add(next.value)
      return next.value
    }
    const ending = next === undefined ? 'broken' : 'closed'
    const complete = ending === 'closed' && (await this.#wasComplete())
    await this.#end({ complete, ending })
    return ending
  }

  async #drain(reader: Reader): Promise<void> {
    while (!this.#isOver) {
      const bytes = await this.#read(reader)
      if (typeof bytes === 'string') return
      // Nobody is there, and nobody who comes can be given it.
      if (this.#recording.isTooLarge) this.stop()
    }
  }

  async #wasComplete(): Promise<boolean> {
    const reported = this.#reported.promise.then(() => true)
    const inTime = await within(END_REPORT_MS, reported, this.#options.clock)
    return inTime === true && this.#record?.endState === 'complete'
  }

  async #end(result: AnswerEnd): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelLinger?.()
    const { kept } = await this.#recording.end(result)
    void kept.finally(this.#options.onEnd)
  }
}

/** What of an answer's head is given again. How limits stood, and when it was, belongs to the first time. */
function headOf({ status, headers }: Response): AnswerHead {
  const kept = [...headers].filter(([name]) => !/ratelimit|^(date|content-length|retry-after)/.test(name))
  return { status, headers: Object.fromEntries(kept) }
}
