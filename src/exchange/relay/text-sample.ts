import { indexOfMark } from '@/json/mark.ts'

/** Seldom enough to cost nothing that counts. */
const MAX_LIFE = 127

/** As long as it takes to tell what kind of event it is, in formats that say so at its beginning. */
const BEGINNING_BYTES = 40

/** An event that is so much longer than its text could be expected to make it may hold something else: an image, a signature. */
const MOST_GROWTH_BYTES = 64

const EMPTY_LINE = Buffer.from('\n\n')

/**
 * An event with text, by which the text of others is counted that are not read: one that begins in the same way is as much
 * longer or shorter as its text is. Good for some events only, since what surrounds a text may grow, or be longer for some.
 */
export class TextSample {
  /** A hash of how it begins: the bytes themselves would be two more places that are cold when the next event comes. */
  #beginning: number | undefined
  /** Bytes of it that were text. */
  #textBytes = 0
  /** Bytes of it that were neither text nor padding. */
  #envelope = 0
  /** Whether it was padded, as OpenAI's events are so that their length says nothing. */
  #isPadded = false
  /** For how many events a sample is good, and still is. */
  #life = 15
  #left = 0

  get isTaken(): boolean {
    return this.#beginning !== undefined
  }

  /** Takes the event that stands there, so many bytes of which are text. */
  take(bytes: Uint8Array, start: number, end: number, textBytes: number): void {
    const padding = paddingIn(bytes, start, end)
    this.#textBytes = textBytes
    this.#envelope = end - start - textBytes - (padding ?? 0)
    this.#isPadded = padding !== undefined
    this.#beginning = hashOfBeginning(bytes, start, end)
    this.#left = this.#life
    this.#life = Math.min(2 * this.#life + 1, MAX_LIFE)
  }

  /** Lets go of it: events of its kind are to be read. */
  drop(): void {
    this.#beginning = undefined
  }

  /** Bytes of text in the event that stands there; undefined: it has to be read. */
  count(bytes: Uint8Array, start: number, end: number): number | undefined {
    const textBytes = this.#left === 0 ? undefined : this.#textBytesIn(bytes, start, end)
    if (textBytes !== undefined) this.#left -= 1
    return textBytes
  }

  /** The same of all of these events, whose lines end in LF; undefined: one of them has to be read. */
  countAll(run: Uint8Array): number | undefined {
    let textBytes = 0
    let left = this.#left
    for (let start = 0, end = 0; start < run.length; start = end) {
      const mark = indexOfMark(run, EMPTY_LINE, start)
      end = mark + EMPTY_LINE.length
      const bytes = mark < 0 ? undefined : this.#textBytesIn(run, start, end)
      if (bytes === undefined || left === 0) return undefined
      textBytes += bytes
      left -= 1
    }
    this.#left = left
    return textBytes
  }

  /** The padding that the sample has must be there, as it would be looked for in all that follows. */
  #textBytesIn(bytes: Uint8Array, start: number, end: number): number | undefined {
    if (!this.#isLike(bytes, start, end)) return undefined
    const padding = this.#isPadded ? paddingIn(bytes, start, end) : 0
    if (padding === undefined) return undefined
    const textBytes = Math.max(0, end - start - this.#envelope - padding)
    return textBytes > 2 * this.#textBytes + MOST_GROWTH_BYTES ? undefined : textBytes
  }

  /** Whether what stands there begins as the sample did, and is as long. */
  #isLike(bytes: Uint8Array, start: number, end: number): boolean {
    return end - start >= this.#envelope && hashOfBeginning(bytes, start, end) === this.#beginning
  }
}

/** FNV-1a of the event's beginning. Never undefined, so that it equals no sample that was dropped. */
function hashOfBeginning(bytes: Uint8Array, start: number, end: number): number {
  const stop = Math.min(end, start + BEGINNING_BYTES)
  let hash = 0x811c9dc5
  for (let at = start; at < stop; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return hash
}

const PADDING = Buffer.from('"obfuscation":')
const QUOTE = Buffer.from('"')

/** The length of an event's padding; undefined if it has none. Within a text the mark's quotes would be escaped. */
function paddingIn(bytes: Uint8Array, start: number, end: number): number | undefined {
  const mark = indexOfMark(bytes, PADDING, start)
  if (mark < 0 || mark >= end) return undefined
  const opening = indexOfMark(bytes, QUOTE, mark + PADDING.length)
  const closing = opening < 0 ? -1 : indexOfMark(bytes, QUOTE, opening + 1)
  return closing < 0 || closing >= end ? undefined : closing - opening - 1
}
