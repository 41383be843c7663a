import type { GenerationEvent } from '@/generation/event.ts'
import { parseObject } from '@/json/json.ts'
import { FrameLearner } from './frame-learner.ts'
import { takePlain } from './plain-kernel.ts'
import type { PlainDelta, PlainReader } from './plain-text.ts'

/**
 * Listens to plain events (see plain-text.ts) of a stream that passes as it is, where each of them tells a usage: what
 * they say is counted, and only the last usage is read, when somebody wants to know. Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainListener {
  readonly #reader: PlainReader
  readonly #learner = new FrameLearner()
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
    const shape = this.#learner.isHopeless ? undefined : this.#reader.plainShape()
    if (shape === undefined) return
    this.#isOpen = true
    this.#learner.offer(event, delta, shape)
  }

  close(): void {
    this.#isOpen = false
  }

  /** How many bytes of text these events say; undefined when they are not all of them plain, and not listened to. */
  hear(events: Uint8Array): number | undefined {
    const said = this.#hearFitting(events)
    return said === undefined && this.#learner.learn() ? this.#hearFitting(events) : said
  }

  /** Tells the usage that was heard, if there is one. */
  tellUsage(emit: (event: GenerationEvent) => void): void {
    const usage = this.#usage === undefined ? undefined : parseObject(this.#usage)
    this.#usage = undefined
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }

  #hearFitting(events: Uint8Array): number | undefined {
    const { frame } = this.#learner
    if (frame === undefined) return undefined
    let usage: string | undefined
    let said = 0
    for (let at = 0; at < events.length; ) {
      const run = takePlain(frame.listening, events, at, 0, undefined)
      if (run.end === at) return undefined
      at = run.end
      usage = run.usage() ?? usage
      said += run.bytes
    }
    this.#learner.praise()
    this.#usage = usage ?? this.#usage
    return said
  }
}
