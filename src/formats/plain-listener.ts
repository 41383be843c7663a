import type { GenerationEvent } from '@/generation/event.ts'
import { parseObject } from '@/json/json.ts'
import { FrameLearner } from './frame-learner.ts'
import { onePiece } from './one-piece.ts'
import { PlainSaid } from './plain-said.ts'
import type { PlainDelta, PlainReader } from './plain-text.ts'

/**
 * Listens to plain events (see plain-text.ts) of a stream that passes as it is, where each of them tells a usage: what
 * they say is counted, and only the last usage is read, when somebody wants to know. Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainListener {
  readonly #reader: PlainReader
  readonly #learner = new FrameLearner()
  readonly #said = new PlainSaid()
  #isOpen = false
  /** The usage that the last plain event told, as JSON. */
  #usage: string | undefined

  constructor(reader: PlainReader) {
    this.#reader = reader
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Opens the listener if an event was plain that went the general way: as it came, and the delta that it gave. */
  open(event: string, delta: PlainDelta): void {
    if (this.#learner.isHopeless || !this.#reader.isPlain()) return
    this.#isOpen = true
    this.#learner.offer(event, delta, this.#reader.shape)
  }

  close(): void {
    this.#isOpen = false
  }

  /** How many bytes of text these events say; undefined when they are not all of them plain, and not listened to. */
  hear(events: string): number | undefined {
    const frame = this.#learner.frame()
    if (frame === undefined) return undefined
    const said = this.#said
    said.clear()
    let at = 0
    while (at < events.length) {
      at = frame.match(events, at)
      if (at < 0 || frame.isOdd) return undefined
      said.add(events.slice(frame.textStart, frame.textEnd), frame.isAscii)
    }
    this.#learner.praise()
    if (frame.usageStart >= 0) this.#usage = onePiece(events.slice(frame.usageStart, frame.usageEnd))
    const { bytes } = said
    said.clear()
    return bytes
  }

  /** Tells the usage that was heard, if there is one. */
  tellUsage(emit: (event: GenerationEvent) => void): void {
    const usage = this.#usage === undefined ? undefined : parseObject(this.#usage)
    this.#usage = undefined
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }
}
