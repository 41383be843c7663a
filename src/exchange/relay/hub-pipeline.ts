import type { GatewayError } from '@/errors/gateway-error.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import { answerLoss, type ReplyFormat } from '@/formats/answer-losses.ts'
import type { Codec } from '@/formats/codec.ts'
import type { Raiser } from '@/formats/lowering/lowering.ts'
import { FastPath, type PlainSink } from '@/formats/plain/fast-path.ts'
import {
  type Ending,
  isPlainDelta,
  type PlainDelta,
  type StreamDecoder,
  type StreamEncoder,
} from '@/formats/plain/plain-text.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { Usage } from '@/generation/usage.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser, endOfEvent, readEvent } from '@/sse/parser.ts'
import { eventTooLong, MAX_EVENT_BYTES } from '@/sse/splitter.ts'
import { isComplete } from './complete-event.ts'
import type { EmitBytes, Pipeline } from './pipeline.ts'

/** The machines of one answer, in the order in which its events pass them. */
interface HubMachines {
  decoder: StreamDecoder
  /** Undoes on the answer what was done to the request. */
  raiser: Raiser | undefined
  encoder: StreamEncoder
  /** Turns events into another framing of the same format (Gemini's JSON array). */
  framer: StreamMachine<string, string> | undefined
  /** Notes what the caller's format cannot say. */
  caller: HubCaller
  /** Counts the usage of an answer that reports none. */
  count: Count
}

/** What of the caller's format is asked here. */
type HubCaller = ReplyFormat & Pick<Codec, 'alwaysTellsUsage'>

/** The usage of an answer by our own count; undefined: none, or it is not known. */
export type Count = (meter: Meter) => Usage | undefined

const utf8 = new TextEncoder()
/** For whole events. A BOM is none of theirs, and stays. */
const fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const BOM = '\uFEFF'
const NOTHING = new Uint8Array(0)

/** Converts a stream: upstream bytes to events, to the neutral model, to the caller's text. One output per read. */
export class HubPipeline implements Pipeline, PlainSink {
  readonly meter = new Meter(
    () => this.#fastPath?.catchUp(this.#raise),
    () => this.#wholeTier ?? this.#decoder.servedTier(),
  )
  /** Made at the first event in an unusual spelling; from then on it parses whatever is not on the fast path. */
  #parser: StreamMachine<Uint8Array, SseEvent> | undefined
  #hasRead = false
  /** Bytes that the parser was given since its last event. */
  #unended = 0
  readonly #decoder: StreamDecoder
  readonly #raiser: Raiser | undefined
  readonly #writer: StreamMachine<GenerationEvent, string>
  readonly #framer: StreamMachine<string, string> | undefined
  readonly #count: Count
  readonly #caller: HubCaller
  /** Converts plain events without decoding them; undefined where every event must be decoded. */
  #fastPath: FastPath | undefined
  /** True when all that the parser was given are whole events. */
  #isBetween = true
  /** The beginning of an event that is not given to the parser yet. */
  #waiting = NOTHING
  /** Of the event that was decoded last: its text, whether it gave anything else, and whether it was raised as it is. */
  #delta: PlainDelta | undefined
  #gaveMore = false
  #isAsDecoded = false
  /** The service tier of an answer that came whole. */
  #wholeTier: string | undefined
  /** What is to be written, and to whom. */
  #text = ''
  #emit: EmitBytes = () => {}

  constructor({ decoder, raiser, encoder, framer, count, caller }: HubMachines) {
    this.#decoder = decoder
    this.#raiser = raiser
    this.#writer = framer === undefined ? encoder : compose(encoder, framer)
    this.#framer = framer
    this.#count = count
    this.#caller = caller
    const { plain } = decoder
    if (plain !== undefined && raiser?.readsText !== true) this.#fastPath = new FastPath(plain, encoder)
  }

  get done(): boolean {
    return this.#raiser?.done ?? false
  }

  get ending(): Ending | undefined {
    return this.#decoder.ending
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    this.#emit = emit
    const bytes = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk])
    this.#waiting = NOTHING
    const fastPath = this.#fastPath
    if (fastPath === undefined) this.#parse(bytes)
    else this.#read(bytes, fastPath)
    this.#flush()
  }

  /** For an answer whose events are known without a parser. */
  pushEvent(event: SseEvent): void {
    this.#onEvent(event)
  }

  /** Called with what the fast path took out of a read. */
  takePlain(events: Uint8Array, textBytes: number): void {
    this.meter.addUnread(textBytes)
    if (this.#framer !== undefined) return this.#framer.push(fromUtf8.decode(events), this.#onText)
    this.#flush()
    this.#emit(events)
  }

  end(emit: EmitBytes, broken?: boolean): void {
    this.#emit = emit
    if (this.#waiting.length > 0) this.#parse(this.#waiting)
    this.#parser?.end(this.#onLastEvent)
    this.#fastPath?.close(this.#raise)
    this.#decoder.end(this.#onDecoded, broken)
    this.#endAnswer()
  }

  /** For an answer that came whole: all of its events, without bytes to read them from. */
  endWith(events: Iterable<GenerationEvent>, servedTier: string | undefined, emit: EmitBytes): void {
    this.#emit = emit
    this.#wholeTier = servedTier
    for (const event of events) this.#onDecoded(event)
    this.#endAnswer()
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#emit = emit
    this.#fastPath?.close(this.#raise)
    this.#onRaised({ type: 'error', error })
    this.#writer.end(this.#onText)
    this.#flush()
  }

  #endAnswer(): void {
    this.#raiser?.end(this.#onRaised)
    this.#tellCounted()
    this.#writer.end(this.#onText)
    this.#flush()
  }

  /**
   * Only to the caller: by the meter the upstream reported nothing. Where the answer was ended here, the upstream never
   * came to it; and what it told at the beginning and no more is too little.
   */
  #tellCounted(): void {
    const { meter } = this
    const isTold = this.done || this.#caller.alwaysTellsUsage || meter.usage !== undefined
    if (!isTold || meter.error !== undefined || meter.wholeUsage !== undefined) return
    const usage = this.#count(meter)
    if (usage !== undefined) this.#writer.push({ type: 'usage', usage }, this.#onText)
  }

  /** Plain events go past the parser; all others go there one by one. */
  #read(bytes: Uint8Array, fastPath: FastPath): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#isBetween) at = fastPath.take(bytes, at, this)
      if (at === bytes.length) return
      const end = endOfEvent(bytes, at)
      if (end >= 0) {
        this.#takeEvent(bytes.subarray(at, end), fastPath)
        if (fastPath.isHopeless) this.#fastPath = undefined
        at = end
      } else if (this.#isBetween && fastPath.mayBegin(bytes, at)) {
        // A copy: a view would hold all of the read.
        this.#waiting = new Uint8Array(bytes.subarray(at))
        return
      } else {
        this.#isBetween = false
        this.#parse(bytes.subarray(at))
        return
      }
    }
  }

  /** Takes the end of an event the general way, or all of it. */
  #takeEvent(bytes: Uint8Array, fastPath: FastPath): void {
    const isWhole = this.#isBetween
    this.#isBetween = true
    this.#delta = undefined
    this.#gaveMore = false
    this.#isAsDecoded = false
    if (!isWhole) return this.#parse(bytes)
    const text = fromUtf8.decode(bytes)
    const usual = this.#parser === undefined ? readEvent(text) : undefined
    if (usual === undefined) this.#parse(bytes)
    else {
      this.#hasRead = true
      this.#onEvent(usual)
    }
    const isAlone = !this.#gaveMore && this.#isAsDecoded
    if (isAlone && this.#delta !== undefined && !text.startsWith(BOM)) fastPath.open(text, this.#delta)
    this.#delta = undefined
  }

  #parse(bytes: Uint8Array): void {
    this.#parser ??= createSseParser(!this.#hasRead)
    this.#unended += bytes.length
    this.#parser.push(bytes, this.#onEvent)
    if (this.#unended > MAX_EVENT_BYTES) throw eventTooLong(MAX_EVENT_BYTES)
  }

  readonly #onEvent = (event: SseEvent): void => {
    this.#unended = 0
    this.#fastPath?.close(this.#raise)
    if (this.meter.error === undefined) this.#decoder.push(event, this.#onDecoded)
  }

  /** Half an event is no event: the decoder tells that the answer was cut. */
  readonly #onLastEvent = (event: SseEvent): void => {
    if (isComplete(event)) this.#onEvent(event)
  }

  readonly #onDecoded = (event: GenerationEvent): void => {
    if (this.#delta === undefined && isPlainDelta(event)) this.#delta = event
    else if (event.type !== 'usage') this.#gaveMore = true
    this.#raise(event)
  }

  readonly #raise = (event: GenerationEvent): void => {
    if (this.#raiser === undefined) this.#onRaised(event)
    else this.#raiser.push(event, this.#onRaised)
  }

  readonly #onRaised = (event: GenerationEvent): void => {
    if (this.meter.error !== undefined) return
    if (event === this.#delta) this.#isAsDecoded = true
    this.meter.observe(event)
    if (event.type === 'withheld') return
    this.#noteLoss(event)
    this.#writer.push(event, this.#onText)
  }

  #noteLoss(event: GenerationEvent): void {
    const name = answerLoss(event, this.#caller)
    if (name === undefined) return
    this.meter.losses ??= new Set()
    this.meter.losses.add(name)
  }

  readonly #onText = (text: string): void => {
    this.#text += text
  }

  #flush(): void {
    if (this.#text === '') return
    this.#emit(utf8.encode(this.#text))
    this.#text = ''
  }
}
