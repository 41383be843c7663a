import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import type { Destination } from './order.ts'

/** Organizations can be verified at any time; until it is looked again, one request an hour is refused. */
const KNOWN_FOR_MS = 3_600_000
const MAX_KNOWN = 1_000

/** Whose organization OpenAI gives no summaries of thoughts, since it is not verified, so that they are not asked for them. */
export class RefusedSummaries {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** When each was last refused. */
  readonly #known = new Map<string, number>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  refused(destination: Destination): void {
    const key = keyOf(destination)
    this.#known.delete(key)
    this.#known.set(key, this.#clock.elapsed())
    dropOldest(this.#known, MAX_KNOWN)
  }

  isKnown(destination: Destination): boolean {
    if (this.#known.size === 0) return false
    const refusedAt = this.#known.get(keyOf(destination))
    return refusedAt !== undefined && this.#clock.elapsed() - refusedAt < KNOWN_FOR_MS
  }
}

function keyOf({ channelId, keyId }: Destination): string {
  return `${channelId}/${keyId}`
}
