import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Raiser } from '@/formats/lowering.ts'
import { PlainLane } from '@/formats/plain-lane.ts'
import type { StreamDecoder, StreamEncoder } from '@/formats/plain-text.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseTextParser, createUtf8Decoder, endOfEvent } from '@/sse/parser.ts'
import { Meter } from './meter.ts'
import type { Emit, Pipeline } from './pipeline.ts'

export interface HubMachines {
  decoder: StreamDecoder
  /** Undoes on the answer what was done to the request. */
  raiser: Raiser | undefined
  encoder: StreamEncoder
  /** Turns events into another framing of the same format (Gemini's JSON array). */
  framer: StreamMachine<string, string> | undefined
}

const utf8 = new TextEncoder()

/** The way of a converted stream: bytes, events, the neutral model, the caller's text; one output per read. */
export class HubPipeline implements Pipeline {
  readonly meter = new Meter(() => this.#lane?.tellUsage(this.#raise))
  readonly #utf8 = createUtf8Decoder()
  readonly #parser = createSseTextParser()
  readonly #decoder: StreamDecoder
  readonly #raiser: Raiser | undefined
  readonly #writer: StreamMachine<GenerationEvent, string>
  readonly #framer: StreamMachine<string, string> | undefined
  /** The short way of text; undefined where all of it must be looked at. */
  readonly #lane: PlainLane | undefined
  /** True when all that the parser was given are whole events. */
  #isBetween = true
  /** The beginning of an event that is not given to the parser yet. */
  #waiting = ''
  /** Of the event that was decoded last: its text, and whether it gave anything else. */
  #delta: Extract<GenerationEvent, { type: 'text-delta' }> | undefined
  #gaveMore = false
  #text = ''

  constructor({ decoder, raiser, encoder, framer }: HubMachines) {
    this.#decoder = decoder
    this.#raiser = raiser
    this.#writer = framer === undefined ? encoder : compose(encoder, framer)
    this.#framer = framer
    const { plain } = decoder
    if (plain !== undefined && raiser?.readsText !== true) this.#lane = new PlainLane(plain, encoder)
  }

  get done(): boolean {
    return this.#raiser?.done ?? false
  }

  push(chunk: Uint8Array, emit: Emit): void {
    this.#utf8.push(chunk, this.#onRead)
    this.#flush(emit)
  }

  /** For an answer whose events are known without a parser. */
  pushEvent(event: SseEvent): void {
    this.#onEvent(event)
  }

  end(emit: Emit): void {
    this.#utf8.end(this.#onRead)
    this.#parser.push(this.#waiting, this.#onEvent)
    this.#parser.end(this.#onEvent)
    this.#lane?.tellUsage(this.#raise)
    const failed = this.meter.error !== undefined
    this.#decoder.end(this.#onDecoded)
    this.meter.cut = !failed && this.meter.error !== undefined
    this.#endAnswer(emit)
  }

  /** For an answer that came whole: all of its events, without bytes to read them from. */
  endWith(events: Iterable<GenerationEvent>, emit: Emit): void {
    for (const event of events) this.#onDecoded(event)
    this.#endAnswer(emit)
  }

  fail(error: GatewayError, emit: Emit): void {
    this.#lane?.tellUsage(this.#raise)
    this.#onRaised({ type: 'error', error })
    this.#writer.end(this.#onText)
    this.#flush(emit)
  }

  #endAnswer(emit: Emit): void {
    this.#raiser?.end(this.#onRaised)
    this.#writer.end(this.#onText)
    this.#flush(emit)
  }

  readonly #onRead = (read: string): void => {
    const lane = this.#lane
    const text = this.#waiting + read
    this.#waiting = ''
    if (lane === undefined || lane.isHopeless) return this.#parser.push(text, this.#onEvent)
    let at = 0
    while (at < text.length) {
      if (this.#isBetween) at = lane.take(text, at, this.#onPlain)
      if (at === text.length) break
      const end = endOfEvent(text, at)
      if (end >= 0) {
        this.#pushEvent(text.slice(at, end), lane)
        at = end
      } else if (this.#isBetween && lane.mayBegin(text, at)) {
        this.#waiting = text.slice(at)
        break
      } else {
        this.#isBetween = false
        this.#parser.push(text.slice(at), this.#onEvent)
        break
      }
    }
    this.#settle(lane)
  }

  /** Takes the end of an event the general way, or all of it. */
  #pushEvent(text: string, lane: PlainLane): void {
    const isWhole = this.#isBetween
    this.#isBetween = true
    this.#delta = undefined
    this.#gaveMore = false
    this.#parser.push(text, this.#onEvent)
    if (isWhole && this.#delta !== undefined && !this.#gaveMore) lane.open(text, this.#delta)
  }

  readonly #onEvent = (event: SseEvent): void => {
    if (this.#lane !== undefined) {
      this.#settle(this.#lane)
      this.#lane.tellUsage(this.#raise)
      this.#lane.close()
    }
    if (this.meter.error === undefined) this.#decoder.push(event, this.#onDecoded)
  }

  readonly #onDecoded = (event: GenerationEvent): void => {
    if (event.type === 'text-delta' && this.#delta === undefined) this.#delta = event
    else if (event.type !== 'usage') this.#gaveMore = true
    this.#raise(event)
  }

  readonly #raise = (event: GenerationEvent): void => {
    if (this.#raiser === undefined) this.#onRaised(event)
    else this.#raiser.push(event, this.#onRaised)
  }

  readonly #onRaised = (event: GenerationEvent): void => {
    if (this.meter.error !== undefined) return
    this.meter.observe(event)
    this.#writer.push(event, this.#onText)
  }

  readonly #onPlain = (event: string): void => {
    if (this.#framer === undefined) this.#text += event
    else this.#framer.push(event, this.#onText)
  }

  #settle(lane: PlainLane): void {
    this.meter.addUnread(lane.settle())
  }

  readonly #onText = (text: string): void => {
    this.#text += text
  }

  #flush(emit: Emit): void {
    if (this.#text === '') return
    emit(utf8.encode(this.#text))
    this.#text = ''
  }
}
