import type { GenerationEvent } from '@/generation/event.ts'
import { parseObject } from '@/json/json.ts'
import { FrameLearner } from './frame-learner.ts'
import type { PlainFrame } from './plain-frame.ts'
import { type PlainTemplate, plainTemplate, takePlain } from './plain-kernel.ts'
import type { PlainDelta, PlainReader, PlainWriter, StreamEncoder } from './plain-text.ts'

/** A longer beginning of an event goes the general way, which need not look at it again with every read. */
const MAX_WAITING = 4096

const CR = 0x0d

/** Gets events for the caller, and how many bytes of text they say. */
type Write = (events: Uint8Array, textBytes: number) => void

/**
 * Takes plain events from an upstream's bytes to a caller's (see plain-text.ts). Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainLane {
  readonly #reader: PlainReader
  readonly #encoder: StreamEncoder
  readonly #learner = new FrameLearner()
  #writer: PlainWriter | undefined
  /** Made of a frame and a writer, for as long as both stay. */
  #template: { of: PlainFrame; around: PlainWriter; bytes: PlainTemplate | undefined } | undefined
  /** The usage that the last plain event told, as JSON, until somebody wants to know. */
  #usage: string | undefined

  constructor(reader: PlainReader, encoder: StreamEncoder) {
    this.#reader = reader
    this.#encoder = encoder
  }

  /** True when nothing of this stream will ever be plain. */
  get isHopeless(): boolean {
    return this.#learner.isHopeless
  }

  /** Opens the lane if an event was plain that went the general way: as it came, and the delta that it gave. */
  open(event: string, delta: PlainDelta): void {
    const shape = this.isHopeless ? undefined : this.#reader.plainShape()
    if (shape === undefined) return
    this.#writer = this.#encoder.plainText(delta.block)
    if (this.#writer !== undefined) this.#learner.offer(event, delta, shape)
  }

  close(): void {
    this.#writer = undefined
  }

  /** Takes the plain events that stand there, and says where they end. */
  take(bytes: Uint8Array, start: number, write: Write): number {
    const writer = this.#writer
    if (writer === undefined) return start
    const end = this.#takeFitting(writer, bytes, start, write)
    return end === start && this.#learner.learn() ? this.#takeFitting(writer, bytes, start, write) : end
  }

  /** Whether what stands there may be the beginning of a plain event that is worth waiting for. */
  mayBegin(bytes: Uint8Array, at: number): boolean {
    if (this.#writer === undefined || bytes.length - at > MAX_WAITING) return false
    // A CR at the end may be the end of the event already.
    const first = this.#learner.frame?.pieces[0]
    if (first === undefined || bytes.at(-1) === CR) return false
    const length = Math.min(first.length, bytes.length - at)
    return Buffer.compare(first.subarray(0, length), bytes.subarray(at, at + length)) === 0
  }

  /** Tells the usage that went past, if there is one. */
  tellUsage(emit: (event: GenerationEvent) => void): void {
    const usage = this.#usage === undefined ? undefined : parseObject(this.#usage)
    this.#usage = undefined
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }

  /** Takes what fits the frame that is known. */
  #takeFitting(writer: PlainWriter, bytes: Uint8Array, start: number, write: Write): number {
    const template = this.#templateFor(writer)
    if (template === undefined) return start
    const counter = writer.numbered?.counter
    let at = start
    while (at < bytes.length) {
      const run = takePlain(template, bytes, at, counter?.next ?? 0, writer.held)
      if (run.end === at) break
      at = run.end
      if (counter !== undefined) counter.next += run.events
      this.#usage = run.usage() ?? this.#usage
      writer.said(run)
      this.#reader.skip(run)
      write(run.output(), run.bytes)
    }
    if (at > start) this.#learner.praise()
    return at
  }

  #templateFor(writer: PlainWriter): PlainTemplate | undefined {
    const { frame } = this.#learner
    if (frame === undefined) return undefined
    if (this.#template?.of !== frame || this.#template.around !== writer) {
      const { before, numbered, after, held } = writer
      const surroundings = { before, between: numbered?.between, after, holdsBack: held !== undefined }
      this.#template = { of: frame, around: writer, bytes: plainTemplate(frame, surroundings) }
    }
    return this.#template.bytes
  }
}
