import type { Clock } from '@/clock/clock.ts'

/** Something that has to be looked at while it is open. */
export interface Watched {
  tick(now: number): void
}

const TICK_MS = 250

/** One timer for all open streams, so that none of them needs its own. */
export class Watchdog {
  readonly #open = new Set<Watched>()
  readonly #stop: () => void

  constructor(clock: Clock) {
    this.#stop = clock.every(TICK_MS, () => {
      const now = clock.now()
      for (const watched of this.#open) watched.tick(now)
    })
  }

  add(watched: Watched): void {
    this.#open.add(watched)
  }

  remove(watched: Watched): void {
    this.#open.delete(watched)
  }

  stop(): void {
    this.#stop()
  }
}
