import type { Emit } from '@/generation/event.ts'
import { FrameLearner } from './frame-learner.ts'
import { type Held, heldOf, NOTHING_HELD, type PlainTemplate, takePlain, writingTemplate } from './kernel.ts'
import { PassedUsage } from './passed-usage.ts'
import {
  NO_NOTE,
  type PlainDelta,
  type PlainNote,
  type PlainReader,
  type PlainWriter,
  type StreamEncoder,
} from './plain-text.ts'
import { SaidText } from './said-text.ts'

/** An event that is longer before its end is seen is left to the parser, which need not look at it again with every read. */
const MAX_WAITING = 4096

const CR = 0x0d

/** Receives finished events for the caller, and how many bytes of text they hold. */
export interface PlainSink {
  takePlain(events: Uint8Array, textBytes: number): void
}

/**
 * Converts plain events from an upstream's bytes to a caller's (see plain-text.ts). It opens when an event that was decoded
 * turns out to be plain, and closes before the next one is decoded. Decoder and encoder learn what went past them at that
 * moment and not with each event: memory that a stream has not used since its last event is cold in the processor's
 * caches, so an event that comes alone should touch nothing but this.
 */
export class FastPath {
  readonly #reader: PlainReader
  readonly #encoder: StreamEncoder
  readonly #learner = new FrameLearner()
  readonly #usage = new PassedUsage()
  /** Text that decoder and encoder have not learned of: its length in UTF-16 units, and itself if one of them wants it. */
  #length = 0
  #said: SaidText | undefined
  #readerNote: PlainNote = NO_NOTE
  #writer: PlainWriter | undefined
  /** Made of the frame and the writer, for as long as both stay. */
  #template: PlainTemplate | undefined
  /** The next event's number, and what its text begins with. */
  #number = 0
  #held: Held = NOTHING_HELD

  constructor(reader: PlainReader, encoder: StreamEncoder) {
    this.#reader = reader
    this.#encoder = encoder
  }

  /** True when nothing of this stream will ever be plain. False while the fast path is open. */
  get isHopeless(): boolean {
    return this.#writer === undefined && this.#learner.isHopeless
  }

  /** Opens the fast path if a decoded event was plain. @param event as it came @param delta what it was decoded to */
  open(event: string, delta: PlainDelta): void {
    const shape = this.isHopeless ? undefined : this.#reader.plainShape()
    const writer = shape && this.#encoder.plainText(delta.block)
    if (shape === undefined || writer === undefined) return
    this.#writer = writer
    this.#template = undefined
    this.#number = writer.numbered?.counter.next ?? 0
    this.#held = writer.held === undefined ? NOTHING_HELD : heldOf(writer.held)
    this.#readerNote = this.#reader.plainNote()
    const isTextWanted = writer.note.of === 'text' || this.#readerNote.of === 'text'
    this.#said = isTextWanted ? (this.#said ?? new SaidText()) : undefined
    this.#learner.offer(event, delta, shape)
  }

  /** Closes the fast path. Decoder and encoder learn what went past them, as they are given an event next. */
  close(emit: Emit): void {
    this.catchUp(emit)
    this.#writer = undefined
  }

  /** The same while the fast path stays open. */
  catchUp(emit: Emit): void {
    this.#tellSaid()
    const counter = this.#writer?.numbered?.counter
    if (counter !== undefined) counter.next = this.#number
    const usage = this.#usage.take()
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }

  /** Converts the plain events that begin at `start`, and returns where they end. */
  take(bytes: Uint8Array, start: number, sink: PlainSink): number {
    const writer = this.#writer
    if (writer === undefined) return start
    const end = this.#takeFitting(writer, bytes, start, sink)
    if (end > start || !this.#learner.learn()) return end
    this.#template = undefined
    return this.#takeFitting(writer, bytes, start, sink)
  }

  /** Whether the bytes at `at` may be the beginning of a plain event whose rest is worth waiting for. */
  mayBegin(bytes: Uint8Array, at: number): boolean {
    if (this.#writer === undefined || bytes.length - at > MAX_WAITING) return false
    // A CR at the end may be the end of the event already.
    const first = this.#learner.frame?.pieces[0]
    if (first === undefined || bytes.at(-1) === CR) return false
    const length = Math.min(first.length, bytes.length - at)
    return Buffer.compare(first.subarray(0, length), bytes.subarray(at, at + length)) === 0
  }

  /** Converts the events that fit the known frame. */
  #takeFitting(writer: PlainWriter, bytes: Uint8Array, start: number, sink: PlainSink): number {
    const template = this.#template ?? this.#makeTemplate(writer)
    if (template === undefined) return start
    let at = start
    while (at < bytes.length) {
      const run = takePlain(template, bytes, at, this.#number, this.#held)
      if (run.end === at) break
      at = run.end
      this.#number += run.events
      this.#held = run.held
      this.#length += run.length
      this.#said?.add(run)
      if (run.usageStart >= 0) this.#usage.note(bytes, run.usageStart, run.usageEnd)
      sink.takePlain(run.output(), run.bytes)
      if (this.#said?.isMuch === true) this.#tellSaid()
    }
    return at
  }

  #tellSaid(): void {
    const writer = this.#writer
    if (writer === undefined || this.#length === 0) return
    const length = this.#length
    const text = this.#said?.take() ?? ''
    this.#length = 0
    for (const note of [this.#readerNote, writer.note]) {
      if (note.of === 'text') note.add(text)
      else if (note.of === 'length') note.add(length)
    }
    this.#learner.praise()
  }

  #makeTemplate({ before, numbered, after, held }: PlainWriter): PlainTemplate | undefined {
    const { frame } = this.#learner
    if (frame === undefined) return undefined
    const surroundings = { before, between: numbered?.between, after, holdsBack: held !== undefined }
    this.#template = writingTemplate(frame.listening, surroundings)
    return this.#template
  }
}
