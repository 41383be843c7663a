import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import type { Candidate } from './order.ts'

/** Organizations can be verified and models replaced at any time; until it is looked again, one request an hour is refused. */
const KNOWN_FOR_MS = 3_600_000
const MAX_KNOWN = 1_000

const REFUSABLE = ['thought-summary', 'thinking'] as const

/**
 * What an answer can do without, where an upstream refuses to be asked for it: summaries of thoughts, which OpenAI gives no
 * organization that is not verified, and thought, of a model that does not think.
 */
export type RefusableWish = (typeof REFUSABLE)[number]

const NONE: readonly RefusableWish[] = []

/** Who refused which of these wishes, so that it is not asked again. */
export class RefusedWishes {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** When each was last refused. */
  readonly #known = new Map<string, number>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  refused(wish: RefusableWish, by: Asked): void {
    const key = keyOf(wish, by)
    this.#known.delete(key)
    this.#known.set(key, this.#clock.elapsed())
    dropOldest(this.#known, MAX_KNOWN)
  }

  /** What one who is to be asked is known to refuse. */
  refusedBy(asked: Asked): readonly RefusableWish[] {
    return this.#known.size === 0 ? NONE : REFUSABLE.filter(wish => this.#isKnown(wish, asked))
  }

  #isKnown(wish: RefusableWish, by: Asked): boolean {
    const refusedAt = this.#known.get(keyOf(wish, by))
    return refusedAt !== undefined && this.#clock.elapsed() - refusedAt < KNOWN_FOR_MS
  }
}

/** Who is asked. */
type Asked = Pick<Candidate, 'route' | 'key'>

/** The key's organization refuses summaries, the model thought. */
function keyOf(wish: RefusableWish, { route: { channel, upstreamModel }, key }: Asked): string {
  const who = wish === 'thought-summary' ? (key?.id ?? '') : upstreamModel
  return `${wish}/${channel.id}/${who}`
}
