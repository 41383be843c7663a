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

/** Of the memory that there can be, what large bodies leave alone: it is the database's beside us, and what streams grow by. */
const SPARE_SHARE = 1 / 4
/** A body is in memory as it came, and as it is sent on. */
const COPIES = 2
/** Of the room that others leave, what one account's bodies may take: senders that stall, or crawl, hold theirs for as long. */
const HOLDER_SHARE = 3 / 4
/**
 * Of the room that others leave, what one account's small bodies may take: many come before any shows, and those that show
 * count twice, as expected and as used.
 */
const SMALL_HOLDER_SHARE = 1 / 2
/** The same of what is made of one account's bodies: what that took on the way stays beside it until it is collected. */
const MADE_SHARE = 1 / 2
/** Bodies of up to this size are small: what every caller sends. */
const SMALL_BYTES = 1024 * 1024
/** By then what was read is touched, and counts as used. */
const TOUCHED_MS = 1_000

/**
 * Memory for bodies: a process that takes in more than it has is killed with all its streams. What a body will touch is
 * counted from when it is let in until it shows in the memory of the process. A large body that comes beside no other large
 * one may have the spare memory as well, since it would else never be let in; any other leaves room for the next account's.
 * Small ones may have the spare memory too, and an account's first SMALL_BYTES always have room, whatever others hold.
 */
export class BodyRoom {
  readonly #options: BodyRoomOptions
  readonly #large = new Expected()
  readonly #small = new Expected()
  /** What was made of bodies, which shows as used. */
  readonly #made = new Expected()
  /** What large ones touched that were read lately, oldest first. */
  #read: { bytes: number; account: number; at: number }[] = []

  constructor(options: BodyRoomOptions) {
    this.#options = options
  }

  /**
   * Whether there is room for so many bytes of an account's body; then they are to be given back once they were read.
   * @param before what the same body has taken already
   */
  take(bytes: number, account: number, before = 0): boolean {
    this.#forgetTouched()
    const size = before + bytes
    this.#expect(before, account, -1)
    const isLetIn = COPIES * size <= this.#roomFor(size, account)
    this.#expect(isLetIn ? size : before, account, 1)
    if (!isLetIn) this.#options.onRefused()
    return isLetIn
  }

  /**
   * Whether there is room for what is made of so many bytes of an account's body that was read: it is parsed, and written
   * anew. That is touched at once, and so shows as used, but is the account's until it is forgotten.
   */
  takeMade(bytes: number, account: number): boolean {
    this.#forgetTouched()
    const theirs = this.#made.of(account)
    const ofTheirs = this.#read.filter(one => one.account === account)
    const read = ofTheirs.reduce((sum, one) => sum + COPIES * one.bytes, 0)
    const most = Math.max((this.#left + read + theirs) * MADE_SHARE, COPIES * SMALL_BYTES)
    const isLetIn = theirs + COPIES * bytes <= most
    if (isLetIn) this.#made.add(COPIES * bytes, account)
    else this.#options.onRefused()
    return isLetIn
  }

  /** What was made of so many bytes is forgotten. */
  giveBackMade(bytes: number, account: number): void {
    this.#made.add(-COPIES * bytes, account)
  }

  /** What neither shows as used nor is expected to. */
  get #left(): number {
    const { usedBytes, mostBytes } = this.#options
    return mostBytes - usedBytes() - this.#large.total - this.#small.total
  }

  /** What a body of this size may touch. */
  #roomFor(size: number, account: number): number {
    const left = this.#left
    if (size <= SMALL_BYTES) {
      const theirs = this.#small.of(account)
      return Math.max((left + theirs) * SMALL_HOLDER_SHARE, COPIES * SMALL_BYTES) - theirs
    }
    if (this.#large.total === 0) return left
    const theirs = this.#large.of(account)
    return (left + theirs - this.#options.mostBytes * SPARE_SHARE) * HOLDER_SHARE - theirs
  }

  /** Whether less than the spare memory is left: what nobody could count here has taken it. */
  get isShort(): boolean {
    const { usedBytes, mostBytes } = this.#options
    return usedBytes() > mostBytes * (1 - SPARE_SHARE)
  }

  /**
   * A body of so many bytes was read, or will not be. A small one shows already: few of that size are in memory before
   * anybody counts again.
   */
  giveBack(bytes: number, account: number): void {
    if (bytes <= SMALL_BYTES) this.#expect(bytes, account, -1)
    else this.#read.push({ bytes, account, at: this.#options.clock.elapsed() })
  }

  #forgetTouched(): void {
    const before = this.#options.clock.elapsed() - TOUCHED_MS
    const touched = this.#read.filter(({ at }) => at <= before)
    this.#read = this.#read.slice(touched.length)
    for (const { bytes, account } of touched) this.#expect(bytes, account, -1)
  }

  /** One body of this size more, or less. */
  #expect(size: number, account: number, sign: 1 | -1): void {
    const expected = size <= SMALL_BYTES ? this.#small : this.#large
    expected.add(sign * COPIES * size, account)
  }
}

/** What bodies that are being read will have touched, of all accounts and of each. */
class Expected {
  total = 0
  readonly #of = new Map<number, number>()

  of(account: number): number {
    return this.#of.get(account) ?? 0
  }

  add(bytes: number, account: number): void {
    this.total += bytes
    const theirs = this.of(account) + bytes
    if (theirs > 0) this.#of.set(account, theirs)
    else this.#of.delete(account)
  }
}
