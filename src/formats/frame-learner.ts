import { fits, learnFrame, type PlainFrame } from './plain-frame.ts'
import type { PlainDelta, PlainShape } from './plain-text.ts'

/** Frames that may be learned for nothing before it is given up: in such a stream no two events are alike. */
const MAX_FRUITLESS = 4

/** Keeps the frame of the plain events that a stream has at the moment, and learns another when they change. */
export class FrameLearner {
  #frame: PlainFrame | undefined
  /** A plain event that no frame fits, until one is wanted: the last event of a stream need not be learned. */
  #sample: { event: string; text: string; shape: PlainShape } | undefined
  #fruitless = 0

  /** True when nothing of this stream will ever be plain. */
  get isHopeless(): boolean {
    return this.#fruitless > MAX_FRUITLESS
  }

  /** Gives a plain event as it came, and the delta that it gave. */
  offer(event: string, { text }: PlainDelta, shape: PlainShape): void {
    if (this.#frame !== undefined && fits(this.#frame, event)) return
    this.#frame = undefined
    this.#sample = { event, text, shape }
  }

  /** The frame of the event that was offered last, if it is known. */
  get frame(): PlainFrame | undefined {
    return this.#frame
  }

  /** Learns that frame; false when it is known, or there is none. */
  learn(): boolean {
    const sample = this.#sample
    if (sample === undefined) return false
    this.#sample = undefined
    this.#fruitless += 1
    this.#frame = learnFrame(sample.event, sample.text, sample.shape)
    return this.#frame !== undefined
  }

  /** The frame was of use. */
  praise(): void {
    this.#fruitless = 0
  }
}
