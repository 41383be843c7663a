import type { GenerationEvent } from '@/generation/event.ts'
import { asString, parseJson, parseObject } from '@/json/json.ts'
import { PlainFrame } from './plain-frame.ts'
import type { PlainReader, PlainWriter, StreamEncoder } from './plain-text.ts'

/** Frames that may be learned for nothing before it is given up: in such a stream no two events are alike. */
const MAX_FRUITLESS = 4

/** A longer beginning of an event goes the general way, which need not look at it again with every read. */
const MAX_WAITING = 4096

/**
 * Takes plain events from an upstream's text to a caller's (see plain-text.ts). Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainLane {
  readonly #reader: PlainReader
  readonly #encoder: StreamEncoder
  #frame: PlainFrame | undefined
  #writer: PlainWriter | undefined
  #fruitless = 0
  /** What was taken since the last `settle`: its text, escaped, and the usage that the last event told, as JSON. */
  #said = ''
  #usage: string | undefined

  constructor(reader: PlainReader, encoder: StreamEncoder) {
    this.#reader = reader
    this.#encoder = encoder
  }

  /** True when nothing of this stream will ever be plain. */
  get isHopeless(): boolean {
    return this.#fruitless > MAX_FRUITLESS
  }

  /** Opens the lane if an event was plain that went the general way: as it came, and the delta that it gave. */
  open(event: string, { block, text }: Extract<GenerationEvent, { type: 'text-delta' }>): void {
    if (this.isHopeless || !this.#reader.isPlain()) return
    if (this.#frame?.match(event, 0) !== event.length) {
      this.#frame = PlainFrame.of(event, text, this.#reader.shape)
      this.#fruitless += 1
    }
    this.#writer = this.#frame === undefined ? undefined : this.#encoder.plainText(block)
  }

  close(): void {
    this.#writer = undefined
  }

  /** Takes the plain events that stand there, and says where they end. */
  take(text: string, start: number, write: (event: string) => void): number {
    const frame = this.#frame
    const writer = this.#writer
    if (frame === undefined || writer === undefined) return start
    let at = start
    let written = ''
    let said = ''
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
      said += escaped
      usageStart = frame.usageStart
      usageEnd = frame.usageEnd
      at = end
    }
    if (at === start) return at
    this.#fruitless = 0
    this.#said += said
    this.#usage = usageStart < 0 ? undefined : text.slice(usageStart, usageEnd)
    write(written)
    return at
  }

  /** Whether what stands there may be the beginning of a plain event that is worth waiting for. */
  mayBegin(text: string, at: number): boolean {
    if (this.#writer === undefined || text.length - at > MAX_WAITING) return false
    // A CR at the end may be the end of the event already.
    return !text.endsWith('\r') && this.#frame?.begins(text, at) === true
  }

  /** Tells both machines of what went past them. The result is its text. */
  settle(emit: (event: GenerationEvent) => void): string {
    if (this.#said === '') return ''
    const text = asString(parseJson(`"${this.#said}"`)) ?? ''
    const usage = this.#usage === undefined ? undefined : parseObject(this.#usage)
    this.#said = ''
    this.#writer?.said(text)
    this.#reader.skip(text, usage, emit)
    return text
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
