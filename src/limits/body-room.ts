import type { Clock } from '@/clock/clock.ts'

/** What memory for bodies is measured by. */
export interface BodyRoomOptions {
  clock: Pick<Clock, 'elapsed'>
  /** Bytes that this process has touched. */
  usedBytes: () => number
  /** Bytes that it can have before the system ends it. */
  mostBytes: number
  /** Told of every body that is turned away. */
  onRefused: () => void
}

/** Of the memory that there can be, what bodies leave alone: it is the database's beside us, and what streams grow by. */
const SPARE_SHARE = 1 / 4
/** A body is in memory as it came, and as it is sent on. */
const COPIES = 2
/** By then what was read is touched, and counts as used. */
const TOUCHED_MS = 1_000

/**
 * Memory for large bodies: a process that takes in more than it has is killed with all its streams. What they will touch is
 * counted until it can be seen. One at a time is let in whatever there is, or a large one never would be.
 */
export class BodyRoom {
  readonly #options: BodyRoomOptions
  /** What bodies that are being read will have touched. */
  #expected = 0
  /** What those touched that were read lately, oldest first. */
  #read: { bytes: number; at: number }[] = []

  constructor(options: BodyRoomOptions) {
    this.#options = options
  }

  /** Whether there is room for so many bytes of a body; then they are to be given back once they were read. */
  take(bytes: number): boolean {
    const { usedBytes, mostBytes, onRefused } = this.#options
    this.#forgetTouched()
    const more = COPIES * bytes
    const room = mostBytes * (1 - SPARE_SHARE) - this.#expected
    if (this.#expected > 0 && usedBytes() + more > room) {
      onRefused()
      return false
    }
    this.#expected += more
    return true
  }

  /** They were read, or will not be. */
  giveBack(bytes: number): void {
    this.#read.push({ bytes: COPIES * bytes, at: this.#options.clock.elapsed() })
  }

  #forgetTouched(): void {
    const before = this.#options.clock.elapsed() - TOUCHED_MS
    const touched = this.#read.filter(({ at }) => at <= before)
    this.#read = this.#read.slice(touched.length)
    for (const { bytes } of touched) this.#expected -= bytes
  }
}
