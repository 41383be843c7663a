import type { Clock } from '@/clock/clock.ts'

const KEPT_MS = 600_000

interface Order {
  /** What whoever asks calls it, however often it is sent; undefined: each is one of its own. */
  once?: string | undefined
}

/**
 * What is told once, when it is made: asked for again with the same `once`, since the answer was lost on its way, it is the
 * same. Of each asker the last is kept, in memory and for as long as somebody tries again: what is stored cannot tell it.
 */
export class MadeOnce<Made> {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #last = new Map<number, { order: string; made: Promise<Made>; until: number }>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  of(asker: number, order: Order, make: () => Promise<Made>): Promise<Made> {
    if (order.once === undefined) return make()
    const now = this.#clock.elapsed()
    for (const [who, { until }] of this.#last) if (until <= now) this.#last.delete(who)
    const text = JSON.stringify(order)
    const last = this.#last.get(asker)
    if (last?.order === text) return last.made
    const made = make()
    this.#last.set(asker, { order: text, made, until: now + KEPT_MS })
    made.catch(() => {
      if (this.#last.get(asker)?.made === made) this.#last.delete(asker)
    })
    return made
  }
}
