import type { Emit } from '@/generation/event.ts'
import { FrameLearner } from './frame-learner.ts'
import { NOTHING_HELD, takePlain } from './kernel.ts'
import { PassedUsage } from './passed-usage.ts'
import type { PlainDelta, PlainReader } from './plain-text.ts'

/**
 * Listens to plain events (see plain-text.ts) of a stream that passes as it is, where each of them tells a usage: what
 * they say is counted, and only the last usage is read, when somebody wants to know. Open after an event that went the
 * general way and was plain, until the next one goes there.
 */
export class PlainListener {
  readonly #reader: PlainReader
  readonly #learner = new FrameLearner()
  readonly #usage = new PassedUsage()
  #isOpen = false

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
  tellUsage(emit: Emit): void {
    const usage = this.#usage.take()
    if (usage !== undefined) this.#reader.skipUsage(usage, emit)
  }

  #hearFitting(events: Uint8Array): number | undefined {
    const { frame } = this.#learner
    if (frame === undefined) return undefined
    let [start, end] = [-1, 0]
    let said = 0
    for (let at = 0; at < events.length; ) {
      const run = takePlain(frame.listening, events, at, 0, NOTHING_HELD)
      if (run.end === at) return undefined
      at = run.end
      said += run.bytes
      if (run.usageStart >= 0) {
        start = run.usageStart
        end = run.usageEnd
      }
    }
    this.#learner.praise()
    if (start >= 0) this.#usage.note(events, start, end)
    return said
  }
}
