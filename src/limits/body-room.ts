import type { Clock } from '@/clock/clock.ts'

/** What memory for bodies is measured by. */
interface BodyRoomOptions {
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
/** Of the room that others leave, what one account's bodies may take: senders that stall, or crawl, hold theirs for as long. */
const HOLDER_SHARE = 3 / 4
/** By then what was read is touched, and counts as used. */
const TOUCHED_MS = 1_000

/**
 * Memory for large bodies: a process that takes in more than it has is killed with all its streams. What a body will touch
 * is counted from when it is let in until it shows in the memory of the process. A body that comes alone may have the spare
 * memory as well, since a large one would else never be let in; any other leaves room for the next account's.
 */
export class BodyRoom {
  readonly #options: BodyRoomOptions
  /** What bodies that are being read will have touched, of all accounts and of each. */
  #expected = 0
  readonly #expectedOf = new Map<number, number>()
  /** What those touched that were read lately, oldest first. */
  #read: { bytes: number; account: number; at: number }[] = []

  constructor(options: BodyRoomOptions) {
    this.#options = options
  }

  /**
   * Whether there is room for so many bytes of an account's body; then they are to be given back once they were read.
   * @param before what the same body has taken already
   */
  take(bytes: number, account: number, before = 0): boolean {
    const { usedBytes, mostBytes, onRefused } = this.#options
    this.#forgetTouched()
    const [more, own] = [COPIES * bytes, COPIES * before]
    const theirs = this.#expectedOf.get(account) ?? 0
    const left = mostBytes - usedBytes() - (this.#expected - theirs)
    const isAlone = this.#expected === own
    if (theirs + more > (isAlone ? left : (left - mostBytes * SPARE_SHARE) * HOLDER_SHARE)) {
      onRefused()
      return false
    }
    this.#expected += more
    this.#expectedOf.set(account, theirs + more)
    return true
  }

  /** Whether less than the spare memory is left: what nobody could count here has taken it. */
  get isShort(): boolean {
    const { usedBytes, mostBytes } = this.#options
    return usedBytes() > mostBytes * (1 - SPARE_SHARE)
  }

  /**
   * They were read, or will not be.
   * @param isTouched they show already: so few are in memory before anybody counts again
   */
  giveBack(bytes: number, account: number, isTouched = false): void {
    if (isTouched) this.#forget(COPIES * bytes, account)
    else this.#read.push({ bytes: COPIES * bytes, account, at: this.#options.clock.elapsed() })
  }

  #forgetTouched(): void {
    const before = this.#options.clock.elapsed() - TOUCHED_MS
    const touched = this.#read.filter(({ at }) => at <= before)
    this.#read = this.#read.slice(touched.length)
    for (const { bytes, account } of touched) this.#forget(bytes, account)
  }

  #forget(bytes: number, account: number): void {
    this.#expected -= bytes
    const theirs = (this.#expectedOf.get(account) ?? 0) - bytes
    if (theirs > 0) this.#expectedOf.set(account, theirs)
    else this.#expectedOf.delete(account)
  }
}
