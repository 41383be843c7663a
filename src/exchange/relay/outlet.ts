import type { Clock } from '@/clock/clock.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { LAST_WORDS_MS, stalled, turnAfter } from '@/exchange/attempt/answer-body.ts'
import { clientClosed } from '@/exchange/interruption.ts'
import { type CallerOutput, CallerStream, hasRoom, writeTo } from './caller-stream.ts'
import { drain } from './drain.ts'
import type { EmitBytes, Pipeline } from './pipeline.ts'

/** After this long without a byte to the caller the head is sent, and then a keepalive. */
export const KEEPALIVE_MS = 15_000

/** How much of an answer may be held back while its first output is waited for; more than this is let through. */
const MAX_HELD_BYTES = 4 * 1024 * 1024

/** A caller who reads nothing for this long is taken to have left. */
const READER_STALL_MS = 600_000

/** Less than any answer has said, so that the first tick after an answer's end takes note of when that was. */
const NOTHING_SAID = -1

/** What an outlet may write beside the bytes of answers. */
export interface OutletOptions {
  clock: Clock
  /**
   * Bytes that mean nothing between two events of the caller's format. Undefined where there are no such bytes; then the
   * head waits for the first output, however long that takes.
   */
  keepalive: Uint8Array | undefined
  /** An error as the only event of a stream, in the caller's format; undefined: the format cannot say one. */
  encodeError: (error: GatewayError) => Uint8Array | undefined
  /** True where an error must end in a broken connection, since not all clients read the event (Gemini). */
  breakAfterError: boolean
  /** True where usage comes at the end of an answer. It is then waited for a moment when the caller leaves. */
  tellsAtEnd: boolean
}

/** What an outlet reports to the attempt whose answer it relays. */
export interface AnswerEvents {
  /** The first output was let through. */
  onFirstOutput(): void
  /** All that the answer costs is known. Its last bytes are written by the end of this turn of the event loop. */
  onConclusion(): void
}

/**
 * The caller's side of a streamed answer: one TransformStream that outlives attempts. An attempt's bytes are held
 * until its first real output, so that another may still take over; after that they flow, and nothing is ever
 * spliced. Backpressure goes from the caller's socket through the TransformStream to the upstream's.
 */
export class Outlet {
  /**
   * Resolves when it is decided whether a head is sent: at the first output, when the caller has waited long enough, or
   * when every attempt has failed. `isDue` says which.
   */
  readonly opened: Promise<void>

  readonly #options: OutletOptions
  readonly #caller: CallerStream
  readonly #output: CallerOutput
  readonly #startedAt: number
  #announce: () => void = () => {}
  #events: AnswerEvents | undefined
  /** When all that the answer costs was known. */
  #concludedAt: number | undefined
  /** Of an answer that is over: how much it had said by the last tick, and when the last of that came. */
  #said = NOTHING_SAID
  #endedAt = 0
  #isOpen = false
  /** When output of an attempt was let through; undefined: none was. */
  #firstOutputAt: number | undefined
  #closed = false
  #abandoned = false
  /** Why nothing more may be sent to the caller. */
  #stopped: GatewayError | undefined
  #leftEarly = false
  #held: Uint8Array[] = []
  #heldBytes = 0
  #pipeline: Pipeline | undefined
  /** Ends the upstream's answer, and its way to the caller. */
  #attempt: AbortController | undefined
  /** Of the upstream's answer, while it flows. */
  #reader: { releaseLock(): void } | undefined
  #idleMs = Number.POSITIVE_INFINITY
  #lastRead: number
  #lastWrite: number

  constructor(options: OutletOptions) {
    this.#options = options
    this.#startedAt = options.clock.elapsed()
    this.#lastRead = this.#startedAt
    this.#lastWrite = this.#startedAt
    this.opened = new Promise(resolve => {
      this.#announce = resolve
    })
    this.#caller = new CallerStream(
      chunk => this.#take(chunk),
      () => this.#abandon(),
    )
    this.#output = this.#caller.output
  }

  /** The body of the answer. */
  get readable(): ReadableStream<Uint8Array> {
    return this.#caller.readable
  }

  /** True once output of an attempt reached the caller: no other attempt may follow. */
  get #committed(): boolean {
    return this.#firstOutputAt !== undefined
  }

  /** Whether a head is to be sent now; true as well when the caller has left, and it no longer matters. */
  get isDue(): boolean {
    return this.#isOpen || this.#abandoned
  }

  /** Every attempt has ended: whoever still waits for the head waits no longer. */
  giveUp(): void {
    this.#announce()
  }

  /** The controller of the next attempt: aborted when the caller leaves, the upstream stalls, or the answer has ended. */
  beginAttempt(): AbortController {
    this.#attempt = new AbortController()
    const reason = this.#abandoned ? clientClosed() : this.#stopped
    if (reason !== undefined) this.#cancel(reason)
    return this.#attempt
  }

  /**
   * Runs an attempt's answer through its pipeline to the caller.
   * @throws GatewayError when the answer failed before any output; nothing of it was written then
   */
  async pipe(
    body: ReadableStream<Uint8Array>,
    pipeline: Pipeline,
    idleMs: number,
    events: AnswerEvents,
  ): Promise<void> {
    this.#events = events
    this.#concludedAt = undefined
    this.#said = NOTHING_SAID
    this.#pipeline = pipeline
    this.#idleMs = idleMs
    this.#lastRead = this.#options.clock.elapsed()
    let cause: unknown
    try {
      this.#attempt?.signal.throwIfAborted()
      // Released only where `drain` is to read on: behind a clean end the engine would make an Error for nothing.
      const reader = body.getReader()
      this.#reader = reader
      while (true) {
        const { done, value } = await reader.read()
        if (done) break
        if (hasRoom(this.#output)) this.#take(value)
        else await this.#caller.whenRoom(value)
        const turn = turnAfter(value)
        if (turn !== undefined) await turn
      }
    } catch (error) {
      cause = this.#causeOf(error)
    }
    this.#pipeline = undefined
    if (this.#abandoned) return this.#drain(body, pipeline)
    this.#conclude(pipeline, cause)
    const { error } = pipeline.meter
    if (error !== undefined && !this.#committed) {
      this.#held = []
      this.#heldBytes = 0
      throw error
    }
    this.#commit()
    const closed = this.#close(error !== undefined)
    if (closed !== undefined) await closed
  }

  /**
   * Ends a stream whose head is out, but of which no attempt could write anything.
   * @throws what `encodeError` does; the connection is broken then, which nobody takes for a clean end
   */
  async fail(error: GatewayError): Promise<void> {
    if (this.#closed) return
    const told = this.#encoded(error)
    if (told !== undefined) this.#write(told)
    await this.#close(true)
  }

  #encoded(error: GatewayError): Uint8Array | undefined {
    try {
      return this.#options.encodeError(error)
    } catch (bug) {
      this.#closed = true
      this.#caller.break()
      throw bug
    }
  }

  /**
   * The caller left, or there is no money for the answer: nothing more is written. Of an answer that had begun, only the
   * usage is still wanted.
   */
  abandon(): void {
    if (this.#closed) return
    this.#abandon()
    // Wakes a read that waits for room, which nobody may ever make.
    this.#caller.break()
  }

  #abandon(): void {
    if (this.#closed) return
    this.#abandoned = true
    this.#closed = true
    this.#leftEarly = this.#pipeline?.meter.finished !== true
    this.#held = []
    // `drain` reads the rest.
    if (this.#mayTellUsage) this.#reader?.releaseLock()
    else this.#cancel(clientClosed())
    this.#announce()
  }

  get #mayTellUsage(): boolean {
    return this.#options.tellsAtEnd && this.#pipeline?.meter.hasWorked === true
  }

  /** Ends the answer in an error of ours, also one whose attempt has yet to begin. */
  stop(error: GatewayError): void {
    this.#stopped ??= error
    this.#cancel(error)
  }

  /** True when the caller left before the answer had come to its end. */
  get leftEarly(): boolean {
    return this.#leftEarly
  }

  /** From the outlet's start to the first output of an attempt, in ms. */
  get firstOutputMs(): number | undefined {
    return this.#firstOutputAt === undefined ? undefined : this.#firstOutputAt - this.#startedAt
  }

  /** Called by the watchdog: sends the head, writes keepalives, ends what stalls. */
  tick(now: number): void {
    if (this.#closed) return
    const { keepalive } = this.#options
    if (keepalive !== undefined && !this.#isOpen && now - this.#startedAt >= KEEPALIVE_MS) this.#open()
    if (!hasRoom(this.#output)) {
      // The caller reads slowly, so the upstream is not being read, and its silence means nothing.
      this.#lastRead = now
      this.#endedAt = now
      if (now - this.#lastWrite >= READER_STALL_MS) this.abandon()
      return
    }
    if (keepalive !== undefined && this.#isOpen && now - this.#lastWrite >= KEEPALIVE_MS)
      this.#write(keepalive)
    const pipeline = this.#pipeline
    if (pipeline === undefined) return
    if (pipeline.meter.finished || pipeline.ending !== undefined) this.#endOver(pipeline, now)
    else if (now - this.#lastRead >= this.#idleMs) this.#cancel(stalled())
  }

  /**
   * Ends an answer that has come to its end, or said why it ends, but whose connection stays open. Whatever still comes
   * over it buys no time, unless it is more of the answer.
   */
  #endOver({ meter, ending }: Pipeline, now: number): void {
    const said = meter.finished ? meter.endings : meter.said
    if (said !== this.#said) {
      this.#said = said
      this.#endedAt = this.#lastRead
    }
    const isAll = ending === 'all' || (meter.isConclusive && ending !== 'some')
    const patienceMs = isAll ? this.#lastWordsMs : this.#idleMs
    if (now - Math.max(this.#endedAt, this.#concludedAt ?? 0) >= patienceMs) this.#cancel()
  }

  get #lastWordsMs(): number {
    return Math.min(this.#idleMs, LAST_WORDS_MS)
  }

  /** Takes what a pipeline writes. */
  readonly #emit: EmitBytes = bytes => {
    // Counts as written when it was read, so that the clock is looked at once for each read.
    if (this.#committed) return this.#write(bytes, this.#lastRead)
    this.#held.push(bytes)
    this.#heldBytes += bytes.byteLength
  }

  /** One read of the upstream's answer. */
  #take(chunk: Uint8Array): void {
    const pipeline = this.#pipeline
    if (pipeline === undefined || this.#closed) return
    this.#lastRead = this.#options.clock.elapsed()
    try {
      pipeline.push(chunk, this.#emit)
    } catch (error) {
      this.#cancel(asGatewayError(error))
      return
    }
    const { meter } = pipeline
    if (meter.error !== undefined || pipeline.done) this.#cancel()
    else if (!this.#committed && (meter.output || this.#heldBytes > MAX_HELD_BYTES)) this.#commit()
    if (this.#concludedAt !== undefined || !meter.isConclusive || pipeline.ending === 'some') return
    this.#concludedAt = this.#lastRead
    this.#events?.onConclusion()
  }

  /** Why the body was not read to its end. */
  #causeOf(error: unknown): unknown {
    const signal = this.#attempt?.signal
    return signal?.aborted ? signal.reason : error
  }

  #cancel(reason?: GatewayError): void {
    this.#attempt?.abort(reason)
    this.#reader?.releaseLock()
  }

  async #drain(body: ReadableStream<Uint8Array>, pipeline: Pipeline): Promise<void> {
    if (this.#attempt?.signal.aborted !== false) return
    const stop = () => this.#cancel(clientClosed())
    await drain(body, pipeline, this.#attempt.signal, this.#options.clock, stop)
  }

  /** Writes the end of the answer, unless the pipeline wrote it already. */
  #conclude(pipeline: Pipeline, cause: unknown): void {
    if (pipeline.meter.error !== undefined) return
    if (cause instanceof GatewayError) pipeline.fail(cause, this.#emit)
    // An answer that has come to its end, whose connection we closed, is not broken.
    else this.#guard(pipeline, cause !== undefined && this.#attempt?.signal.aborted !== true)
  }

  /** A pipeline must not throw at its end; if it does, the caller still gets an error and not a clean end. */
  #guard(pipeline: Pipeline, broken: boolean): void {
    try {
      pipeline.end(this.#emit, broken)
    } catch (error) {
      pipeline.fail(asGatewayError(error), this.#emit)
    }
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#announce()
  }

  #commit(): void {
    if (this.#committed) return
    this.#firstOutputAt = this.#options.clock.elapsed()
    this.#pipeline = this.#pipeline?.chosen ?? this.#pipeline
    this.#events?.onFirstOutput()
    this.#open()
    for (const bytes of this.#held) this.#write(bytes)
    this.#held = []
  }

  #write(bytes: Uint8Array, now = this.#options.clock.elapsed()): void {
    if (this.#closed) return
    this.#lastWrite = now
    if (!writeTo(this.#output, bytes)) this.abandon()
  }

  /** A promise only where closing takes time. */
  #close(afterError: boolean): Promise<void> | undefined {
    if (this.#closed) return undefined
    this.#closed = true
    this.#open()
    if (afterError && this.#options.breakAfterError) return this.#breakOff()
    this.#caller.end()
    return undefined
  }

  async #breakOff(): Promise<void> {
    await this.#caller.untilTaken()
    this.#caller.break()
  }
}
