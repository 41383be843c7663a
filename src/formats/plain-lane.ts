import type { GenerationEvent } from '@/generation/event.ts'
import { parseObject } from '@/json/json.ts'
import { FrameLearner } from './frame-learner.ts'
import { onePiece } from './one-piece.ts'
import { PlainSaid } from './plain-said.ts'
import type { PlainDelta, PlainReader, PlainWriter, StreamEncoder } from './plain-text.ts'

/** A longer beginning of an event goes the general way, which need not look at it again with every read. */
const MAX_WAITING = 4096

/** Up to here a read may be held for the piece of it that is wanted; out of a longer one that is copied. */
const MAX_HELD = 1024

/**
 * Takes plain events from an upstream's text to a caller's (see plain-text.ts). Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainLane {
  readonly #reader: PlainReader
  readonly #encoder: StreamEncoder
  readonly #learner = new FrameLearner()
  #writer: PlainWriter | undefined
  /** What was taken since the last `settle`. */
  readonly #said = new PlainSaid()
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
    if (this.isHopeless || !this.#reader.isPlain()) return
    this.#writer = this.#encoder.plainText(delta.block)
    if (this.#writer !== undefined) this.#learner.offer(event, delta, this.#reader.shape)
  }

  close(): void {
    this.#writer = undefined
  }

  /** Takes the plain events that stand there, and says where they end. */
  take(text: string, start: number, write: (event: string) => void): number {
    const writer = this.#writer
    if (writer === undefined) return start
    const frame = this.#learner.frame()
    if (frame === undefined) return start
    const said = this.#said
    let at = start
    let written = ''
    let usageStart = -1
    let usageEnd = -1
    for (let end = frame.match(text, at); end >= 0; end = frame.match(text, at)) {
      let escaped = text.slice(frame.textStart, frame.textEnd)
      if (frame.isOdd) {
        const usual = spellUsually(escaped)
        if (usual === undefined) break
        escaped = usual
      }
      written += writer.delta(escaped)
      said.add(escaped, frame.isAscii)
      usageStart = frame.usageStart
      usageEnd = frame.usageEnd
      at = end
    }
    if (at === start) return at
    this.#learner.praise()
    if (usageStart >= 0) {
      const usage = text.slice(usageStart, usageEnd)
      this.#usage = text.length > MAX_HELD ? onePiece(usage) : usage
    }
    write(written)
    return at
  }

  /** Whether what stands there may be the beginning of a plain event that is worth waiting for. */
  mayBegin(text: string, at: number): boolean {
    if (this.#writer === undefined || text.length - at > MAX_WAITING) return false
    // A CR at the end may be the end of the event already.
    return !text.endsWith('\r') && this.#learner.frame()?.begins(text, at) === true
  }

  /** Tells both machines of the text that went past them. The result is its length in bytes. */
  settle(): number {
    const said = this.#said
    if (said.isEmpty) return 0
    this.#writer?.said(said)
    this.#reader.skip(said)
    const { bytes } = said
    said.clear()
    return bytes
  }

  /** Tells the usage that went past, if there is one. */
  tellUsage(emit: (event: GenerationEvent) => void): void {
    const usage = this.#usage === undefined ? undefined : parseObject(this.#usage)
    this.#usage = undefined
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }
}

/** Escaped text as JSON.stringify would write it; undefined when it is no JSON, or not well-formed. */
function spellUsually(escaped: string): string | undefined {
  try {
    const text: unknown = JSON.parse(`"${escaped}"`)
    if (typeof text !== 'string' || !text.isWellFormed()) return undefined
    return JSON.stringify(text).slice(1, -1)
  } catch {
    return undefined
  }
}
