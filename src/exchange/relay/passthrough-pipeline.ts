import type { GatewayError } from '@/errors/gateway-error.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { Codec, PassthroughListening } from '@/formats/codec.ts'
import { blankNullUsage, isUsageChunk } from '@/formats/openai-chat-completions/answer/unasked-usage.ts'
import { PlainListener } from '@/formats/plain/listener.ts'
import { type Ending, isPlainDelta, type PlainDelta, type StreamDecoder } from '@/formats/plain/plain-text.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine, type StreamMachine } from '@/generation/machine.ts'
import { indexOfMark } from '@/json/mark.ts'
import { hasOtherLines, onlyDataLines } from '@/sse/data-lines.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser, readEvent } from '@/sse/parser.ts'
import { Borders, EventSplitter, endsEvent, MAX_EVENT_BYTES } from '@/sse/splitter.ts'
import { isComplete } from './complete-event.ts'
import { EventTrail } from './event-trail.ts'
import type { EmitBytes, Pipeline } from './pipeline.ts'
import { TextSample } from './text-sample.ts'

const LF = 0x0a
const CR = 0x0d

const EMPTY_LINE = Buffer.from('\n\n')
const NOTHING = Buffer.alloc(0)

/** For whole events, each run by itself. A BOM is none of theirs, and stays. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** How a stream is decoded on the side, and what of it is hidden from the caller. */
interface PassthroughOptions extends PassthroughListening {
  codec: Codec
  decoder: StreamDecoder
  requestId: string
  framer: StreamMachine<string, string> | undefined
}

/**
 * Hands on a stream whose format is the caller's own: the upstream's bytes, whole events at a time, with the decoder
 * listening on the side.
 *
 * Until the first text every event is decoded. After it an event is decoded only if it begins differently from the last
 * one with text, or may hold usage, the end or an error, or if that last one is long ago; how much text the others hold is
 * known from their length. Most reads hold whole events of the latter kind: they are searched, and handed on as they are.
 * Where every event holds usage (Gemini), plain text events are listened to without being parsed.
 */
export class PassthroughPipeline implements Pipeline {
  readonly meter = new Meter(
    () => this.#listener?.tellUsage(event => this.meter.observe(event)),
    () => this.#decoder.servedTier(),
  )
  // Each by itself: an object of options would be one more place that is cold when the stream's next event comes.
  readonly #codec: Codec
  readonly #decoder: StreamDecoder
  readonly #requestId: string
  readonly #framer: StreamMachine<string, string> | undefined
  readonly #hidesUsage: boolean
  readonly #readsAll: boolean
  readonly #chunksOnly: boolean
  /** While an event has not ended. */
  #splitter: EventSplitter | undefined
  /** Made at the first event in an unusual spelling. */
  #parser: StreamMachine<Uint8Array, SseEvent> | undefined
  #hasParsed = false
  /** Where the stream stands, in formats that number their events. */
  readonly #trail: EventTrail | undefined
  readonly #listener: PlainListener | undefined
  /** Of the event that was decoded last: its text, and whether it gave anything else. */
  #delta: PlainDelta | undefined
  #gaveMore = false
  /** How many bytes of it are text; undefined: it gave none. */
  #textBytes: number | undefined
  #emit: EmitBytes = () => {}
  /** The last event with text, while those like it are counted by their length. */
  readonly #sample = new TextSample()
  /** What the upstream left out at the end of its answer. */
  #missingEnd = ''

  constructor(options: PassthroughOptions) {
    this.#codec = options.codec
    this.#decoder = options.decoder
    this.#requestId = options.requestId
    this.#framer = options.framer
    this.#hidesUsage = options.hidesUsage
    this.#readsAll = options.readsAll
    this.#chunksOnly = options.chunksOnly
    this.#trail = options.codec.numbersEvents ? new EventTrail() : undefined
    const { plain } = options.decoder
    if (plain !== undefined) this.#listener = new PlainListener(plain)
  }

  get ending(): Ending | undefined {
    return this.#decoder.ending
  }

  push(chunk: Uint8Array, emit: EmitBytes): void {
    this.#emit = emit
    if (this.#splitter === undefined && endsEvent(chunk)) this.#onRun(chunk)
    else this.#split(chunk)
  }

  end(emit: EmitBytes, broken?: boolean): void {
    this.#emit = emit
    if (this.meter.error === undefined) this.#endAnswer(broken)
    this.#framer?.end(this.#onFramed)
  }

  fail(error: GatewayError, emit: EmitBytes): void {
    this.#emit = emit
    this.meter.observe({ type: 'error', error })
    this.#writeError()
    this.#framer?.end(this.#onFramed)
  }

  #split(chunk: Uint8Array): void {
    const splitter = this.#splitter ?? new EventSplitter(MAX_EVENT_BYTES)
    splitter.push(chunk, this.#onRun)
    this.#splitter = splitter.isBetween ? undefined : splitter
  }

  /** Looks at whole events, a stretch at a time, and hands on those that the caller gets in as few runs as there can be. */
  readonly #onRun = (run: Uint8Array): void => {
    if (this.meter.error !== undefined) return
    let kept = 0 // where the run of kept events begins
    for (let start = 0, end = 0; start < run.length; start = end) {
      end = endOfStretch(run, start)
      const stretch = viewOf(run, start, end)
      if (!this.#skips(stretch)) kept = this.#lookThrough(run, kept, stretch, start)
    }
    if (kept === 0) this.#pass(run)
    else if (kept < run.length) this.#pass(run.subarray(kept))
    this.#writeMissingEnd()
    this.#writeError()
  }

  /** Looks at each event of the stretch that begins there, and says where the run of kept events begins then. */
  #lookThrough(run: Uint8Array, keptBefore: number, stretch: Uint8Array, offset: number): number {
    let kept = keptBefore
    const text = usualText(stretch)
    const borders = new Borders(stretch)
    for (let start = 0, end = 0; start < stretch.length; start = end) {
      const border = borders.next()
      end = border < 0 ? stretch.length : border // a CR at the very end is one, too
      if (this.#keep(stretch, start, end, text)) continue
      if (offset + start > kept) this.#pass(run.subarray(kept, offset + start))
      kept = offset + end
    }
    return kept
  }

  /** Whether these bytes have lines that the caller does not get. */
  #hides(bytes: Uint8Array): boolean {
    return this.#chunksOnly && hasOtherLines(bytes)
  }

  /** Whether the caller does not get an event, since it is no chunk: an empty one, or the end of another format's streams. */
  #isNoChunk({ data }: SseEvent): boolean {
    if (!this.#chunksOnly) return false
    const text = data.trim()
    return text === '' || text === '[DONE]'
  }

  /**
   * Whether the answer's last event has come: what stands behind it is no part of it. Gemini has no event that is known to
   * be the last, and tells usage behind its finish reason.
   */
  get #isOver(): boolean {
    return this.meter.finished && this.#decoder.missingEnd !== undefined
  }

  /** Whether these whole events are passed without being looked at one by one. */
  #skips(events: Uint8Array): boolean {
    if (this.#isOver) return false
    const unread = this.#unreadIn(events)
    if (unread === undefined) return this.#hears(events)
    this.#count(unread)
    return true
  }

  /** Bytes of text in whole events that may pass unread; undefined: they may not. */
  #unreadIn(run: Uint8Array): number | undefined {
    const { output, error } = this.meter
    const isPassed = output && error === undefined && !this.#chunksOnly && !this.#readsAll
    if (!isPassed || this.#framer !== undefined || !this.#sample.isTaken) return undefined
    // Events whose lines end otherwise are looked at one by one.
    if (this.#codec.isTelling(run) || run.includes(CR)) return undefined
    return this.#sample.countAll(run)
  }

  /** Counts text that passes unread, and tells of it where a later event says the whole text again: that is no more of it. */
  #count(textBytes: number): void {
    this.meter.addUnread(textBytes)
    this.#decoder.plain?.skipUnread?.(textBytes)
  }

  /** Whether these whole events are plain text that was listened to. */
  #hears(run: Uint8Array): boolean {
    const listener = this.#listener
    if (listener?.isOpen !== true || this.meter.error !== undefined) return false
    const bytes = listener.hear(run)
    if (bytes === undefined) return false
    this.#count(bytes)
    return true
  }

  /** Looks at the event that stands there and says whether the caller gets it. `text`: that of all bytes, if it is known. */
  #keep(bytes: Uint8Array, start: number, end: number, text: string | undefined): boolean {
    if (this.meter.error !== undefined || this.#isOver) return false
    const isTelling = this.#codec.isTelling(viewOf(bytes, start, end))
    const isRead = !this.meter.output || this.#readsAll || isTelling
    const unread = isRead ? undefined : this.#sample.count(bytes, start, end)
    if (unread !== undefined) {
      this.#count(unread)
      return true
    }
    const listener = this.#listener
    if (listener?.isOpen === true) {
      if (this.#hears(viewOf(bytes, start, end))) return true
      listener.tellUsage(this.#onGeneration)
      listener.close()
    }
    this.#delta = undefined
    this.#gaveMore = false
    this.#textBytes = undefined
    const event = text === undefined ? utf8.decode(viewOf(bytes, start, end)) : text.slice(start, end)
    const usual = this.#parser === undefined ? readEvent(event) : undefined
    const parsed = usual === undefined ? this.#parse(viewOf(bytes, start, end)) : [usual]
    this.#hasParsed = true
    for (const one of parsed) {
      this.#decode(one)
      if (this.#missingEnd !== '' || (this.#hidesUsage && isUsageChunk(one)) || this.#isNoChunk(one))
        return false
    }
    if (this.#gaveMore) this.#sample.drop()
    else if (this.#textBytes !== undefined) this.#sample.take(bytes, start, end, this.#textBytes)
    if (this.#delta !== undefined && !this.#gaveMore && isTelling) listener?.open(event, this.#delta)
    return !this.#fails
  }

  /** Whether the answer fails: what told so does not pass, the error is written in its place. */
  get #fails(): boolean {
    return this.meter.error !== undefined || this.#decoder.isFailing === true
  }

  /** Has an event decoded that may be the last of the answer, whose end may lack something. */
  #decode(event: SseEvent): void {
    const decoder = this.#decoder
    const wasFinished = this.meter.finished
    decoder.push(event, this.#onGeneration)
    if (this.meter.finished && !wasFinished) this.#missingEnd = decoder.missingEnd?.() ?? ''
  }

  readonly #onGeneration = (event: GenerationEvent): void => {
    if (this.meter.error !== undefined) return
    if (this.#delta === undefined && isPlainDelta(event)) this.#delta = event
    else if (event.type !== 'usage') this.#gaveMore = true
    if ('text' in event) {
      this.#textBytes = (this.#textBytes ?? 0) + Buffer.byteLength(JSON.stringify(event.text)) - 2
    }
    this.meter.observe(event)
    // The caller gets it as it is.
    if (event.type === 'withheld') this.meter.output = true
  }

  readonly #onFramed = (text: string): void => {
    this.#emit(Buffer.from(text))
  }

  /** The general way, for an event in an unusual spelling and all that follow it. */
  #parse(event: Uint8Array): SseEvent[] {
    const events: SseEvent[] = []
    this.#parser ??= createSseParser(!this.#hasParsed)
    this.#parser.push(event, parsed => events.push(parsed))
    return events
  }

  #pass(whole: Uint8Array): void {
    // A name is hidden only here, where the decoder has seen it.
    const run = this.#hides(whole) ? onlyDataLines(Buffer.from(whole)) : whole
    if (run.length === 0) return
    this.#trail?.follow(run)
    if (this.#hidesUsage) blankNullUsage(run)
    if (this.#framer === undefined) this.#emit(run)
    else this.#framer.push(utf8.decode(run), this.#onFramed)
  }

  #endAnswer(broken: boolean | undefined): void {
    const decoder = this.#decoder
    this.#listener?.tellUsage(this.#onGeneration)
    this.#passRest()
    if (this.meter.error === undefined) {
      const wasFinished = this.meter.finished
      decoder.end(this.#onGeneration, broken)
      if (this.meter.error === undefined && !wasFinished) this.#missingEnd = decoder.missingEnd?.() ?? ''
    }
    this.#writeMissingEnd()
    this.#writeError()
  }

  /** A last event without its empty line counts if it is whole; half an event is no use to anybody. */
  #passRest(): void {
    const rest = this.#splitter?.rest() ?? NOTHING
    if (rest.length === 0 || this.#isOver) return
    const events = runMachine(createSseParser(), [rest])
    // A name alone is none: the SDKs that are given one read its data, and throw what is no JSON.
    if (events.length === 0 || !events.every(isComplete)) return
    for (const event of events) this.#decode(event)
    if (this.#fails || this.#missingEnd !== '') return
    if (events.some(event => this.#isNoChunk(event))) return
    // Without its empty line a client would not take it for an event, and for some it is the one that ends the answer.
    this.#pass(Buffer.concat([rest, missingLineEnds(rest)]))
  }

  #writeMissingEnd(): void {
    if (this.#missingEnd === '') return
    this.#write(this.#missingEnd)
    this.#missingEnd = ''
  }

  /** Writes events of ours behind those of the upstream. */
  #write(events: string): void {
    if (this.#framer === undefined) this.#emit(Buffer.from(events))
    else this.#framer.push(events, this.#onFramed)
  }

  /** Writes the error that the meter has come to hold, in place of whatever told of it. */
  #writeError(): void {
    const { error } = this.meter
    if (error === undefined) return
    this.#write(this.#codec.encodeErrorEvent(error, this.#requestId, this.#trail?.lastData()))
  }
}

/** What a last event's end lacks: its empty line, or the end of the line before that, too. */
function missingLineEnds(rest: Buffer): Buffer {
  if (rest.at(-1) === CR) return Buffer.from('\r')
  if (rest.at(-1) !== LF) return EMPTY_LINE
  return Buffer.from(rest.at(-2) === CR ? '\r\n' : '\n')
}

/**
 * About so many bytes of a long read are looked at together: one event that has to be read shall not have hundreds read,
 * nor what is told last be looked for in all of them.
 */
const STRETCH_BYTES = 4096

/** The first end of an event that is so far behind `start`, or that of all. An empty line may end otherwise, too; two LF always are one. */
function endOfStretch(run: Uint8Array, start: number): number {
  if (run.length - start <= STRETCH_BYTES) return run.length
  const mark = indexOfMark(run, EMPTY_LINE, start + STRETCH_BYTES)
  return mark < 0 ? run.length : mark + EMPTY_LINE.length
}

/**
 * The text of a stretch whose lines end in LF, where each byte is one UTF-16 unit, so that places in one are places in
 * the other. Undefined for any other.
 */
function usualText(stretch: Uint8Array): string | undefined {
  if (stretch.length > 2 * STRETCH_BYTES) return undefined
  const text = utf8.decode(stretch)
  return text.length === stretch.length && !text.includes('\r') ? text : undefined
}

/** Some of the bytes, or all. */
function viewOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}
