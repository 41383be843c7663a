import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'

/** How long what is known of an account's credit is believed. */
const FRESH_MS = 5_000

/** After a start that turned out not to be paid for, the account waits for its holds this long. */
const SERIAL_MS = 60_000

/** How many times what it may cost an account must have, for work to begin before the hold is durable. */
const MARGIN = 4n

const CAPACITY = 10_000

interface Standing {
  availableNano: bigint
  knownAt: number
  /** Set aside by this process, and not yet answered. */
  unansweredNano: bigint
  serialUntil: number
}

/** What this process last heard of accounts' credit: good enough to begin early, never to admit. */
export class CreditWatch {
  readonly #accounts = new Map<number, Standing>()
  readonly #clock: Pick<Clock, 'elapsed'>

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Whether the credit is so ample and so fresh that the upstream may be called while the hold is on its way. */
  isAmple(accountId: number, amountNano: bigint): boolean {
    const standing = this.#accounts.get(accountId)
    if (standing === undefined) return false
    const now = this.#clock.elapsed()
    const isKnown = now - standing.knownAt < FRESH_MS && now >= standing.serialUntil
    return isKnown && standing.availableNano >= MARGIN * (amountNano + standing.unansweredNano)
  }

  asked(accountId: number, amountNano: bigint): void {
    this.#of(accountId).unansweredNano += amountNano
  }

  answered(accountId: number, amountNano: bigint, availableNano: bigint | undefined): void {
    const standing = this.#of(accountId)
    // The account may have been forgotten since it asked: no more is taken off than is counted now.
    standing.unansweredNano = standing.unansweredNano > amountNano ? standing.unansweredNano - amountNano : 0n
    if (availableNano === undefined) return
    standing.availableNano = availableNano
    standing.knownAt = this.#clock.elapsed()
  }

  /** The account's credit did not last for what was begun early. */
  distrust(accountId: number): void {
    this.#of(accountId).serialUntil = this.#clock.elapsed() + SERIAL_MS
  }

  #of(accountId: number): Standing {
    const known = this.#accounts.get(accountId)
    if (known !== undefined) return known
    const standing: Standing = {
      availableNano: 0n,
      knownAt: Number.NEGATIVE_INFINITY,
      unansweredNano: 0n,
      serialUntil: 0,
    }
    this.#accounts.set(accountId, standing)
    dropOldest(this.#accounts, CAPACITY)
    return standing
  }
}
