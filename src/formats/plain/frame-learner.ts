import { fits, learnFrame, type PlainFrame, says } from './frame.ts'
import type { PlainDelta, PlainShape } from './plain-text.ts'

/** Frames that may be learned for nothing before it is given up: in such a stream no two events are alike. */
const MAX_FRUITLESS = 4

/** How many frames of a shape are remembered: one for each upstream and model that answers at the moment will do. */
const MAX_KNOWN = 8

/**
 * The frames that streams of this process learned last, newest first: the streams of a model are alike, so that most
 * find theirs here. A frame is the whole of what an event may be, to the letter, hence as good for another stream.
 */
const known = new WeakMap<PlainShape, PlainFrame[]>()

/** A plain event as it came, and what it is known to say. */
interface Sample {
  event: string
  text: string
  shape: PlainShape
}

function frameOf({ event, text, shape }: Sample): PlainFrame | undefined {
  const frames = known.get(shape) ?? []
  const bytes = Buffer.from(event)
  const place = frames.findIndex(frame => says(frame, bytes, text))
  const frame = frames[place] ?? learnFrame(event, text, shape)
  if (frame === undefined || place === 0) return frame
  if (place > 0) frames.splice(place, 1)
  known.set(shape, [frame, ...frames].slice(0, MAX_KNOWN))
  return frame
}

/** Keeps the frame of the plain events that a stream has at the moment, and learns another when they change. */
export class FrameLearner {
  #frame: PlainFrame | undefined
  /** A plain event that no frame fits, until one is wanted: the last event of a stream need not be learned. */
  #sample: Sample | undefined
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
    this.#frame = frameOf(sample)
    return this.#frame !== undefined
  }

  /** The frame was of use. */
  praise(): void {
    this.#fruitless = 0
  }
}
