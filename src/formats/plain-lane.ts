import type { GenerationEvent } from '@/generation/event.ts'
import { asString, parseJson, parseObject } from '@/json/json.ts'
import { onePiece } from './one-piece.ts'
import { PlainFrame } from './plain-frame.ts'
import type { PlainDelta, PlainReader, PlainText, PlainWriter, StreamEncoder } from './plain-text.ts'

/** Frames that may be learned for nothing before it is given up: in such a stream no two events are alike. */
const MAX_FRUITLESS = 4

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
  readonly #encoder: Pick<StreamEncoder, 'plainText'>
  #frame: PlainFrame | undefined
  #writer: PlainWriter | undefined
  /** The event that opened the lane, until its frame is asked for: the last of a stream need not be learned. */
  #sample: { event: string; text: string } | undefined
  #fruitless = 0
  /** What was taken since the last `settle`. */
  readonly #said = new Said()
  /** The usage that the last plain event told, as JSON, until somebody wants to know. */
  #usage: string | undefined

  constructor(reader: PlainReader, encoder: Pick<StreamEncoder, 'plainText'>) {
    this.#reader = reader
    this.#encoder = encoder
  }

  /** True when nothing of this stream will ever be plain. */
  get isHopeless(): boolean {
    return this.#fruitless > MAX_FRUITLESS
  }

  /** Opens the lane if an event was plain that went the general way: as it came, and the delta that it gave. */
  open(event: string, { block, text }: PlainDelta): void {
    if (this.isHopeless || !this.#reader.isPlain()) return
    this.#writer = this.#encoder.plainText(block)
    if (this.#writer !== undefined && this.#frame?.match(event, 0) !== event.length) {
      this.#sample = { event, text }
    }
  }

  close(): void {
    this.#writer = undefined
    this.#sample = undefined
  }

  /** Takes the plain events that stand there, and says where they end. */
  take(text: string, start: number, write: (event: string) => void): number {
    const frame = this.#openFrame()
    const writer = this.#writer
    if (frame === undefined || writer === undefined) return start
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
    this.#fruitless = 0
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
    return !text.endsWith('\r') && this.#openFrame()?.begins(text, at) === true
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

  /** The frame of this lane while it is open. */
  #openFrame(): PlainFrame | undefined {
    const sample = this.#sample
    if (sample !== undefined) {
      this.#sample = undefined
      this.#frame = PlainFrame.of(sample.event, sample.text, this.#reader.shape)
      this.#fruitless += 1
      if (this.#frame === undefined) this.close()
    }
    return this.#frame
  }
}

/** The text of plain events since it was last cleared. */
class Said implements PlainText {
  /** As JSON.stringify writes it. */
  #escaped = ''
  /** True when nothing of it is escaped, and all of it ASCII. */
  #isAscii = true
  #text: string | undefined

  get isEmpty(): boolean {
    return this.#escaped === ''
  }

  get length(): number {
    return this.#isAscii ? this.#escaped.length : this.text.length
  }

  get bytes(): number {
    return this.#isAscii ? this.#escaped.length : Buffer.byteLength(this.text)
  }

  get text(): string {
    this.#text ??= asString(parseJson(`"${this.#escaped}"`)) ?? ''
    return this.#text
  }

  add(escaped: string, isAscii: boolean): void {
    this.#escaped += escaped
    if (!isAscii) this.#isAscii = false
  }

  clear(): void {
    this.#escaped = ''
    this.#isAscii = true
    this.#text = undefined
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
