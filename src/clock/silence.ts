import type { Clock } from './clock.ts'

/**
 * When other processes may be taken for dead since the database has not heard of them for so long. Not before they have had
 * the time to be heard: after the database could not be reached, which they could not either, and after its clock was set
 * forward, by which they have been silent for as long. What was before this process began is not known to it.
 */
export class Silence {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #deadAfterMs: number
  #countsFrom = 0
  #reachedAt: number
  /** By how much the clock of the database was ahead of `elapsed` when it was last reached. */
  #aheadMs = Number.POSITIVE_INFINITY

  /** @param deadAfterMs who was silent for so long is dead; the database is to be reached several times in this time */
  constructor(clock: Pick<Clock, 'elapsed'>, deadAfterMs: number) {
    this.#clock = clock
    this.#deadAfterMs = deadAfterMs
    this.#reachedAt = clock.elapsed()
    this.#beginAnew()
  }

  /** Whether silence says something now. */
  get counts(): boolean {
    return this.#clock.elapsed() >= this.#countsFrom && !this.#isLost
  }

  /**
   * Until when silence says something, in ms: the time by the clock of the database as this process knows it, which does not
   * know yet if that was set forward a moment ago. -Infinity while silence says nothing.
   */
  get knownTo(): number {
    return this.counts ? this.#clock.elapsed() + this.#aheadMs : Number.NEGATIVE_INFINITY
  }

  /** The database was reached. `nowMs` is what the time is there. */
  reached(nowMs: number): void {
    const aheadMs = nowMs - this.#clock.elapsed()
    if (this.#isLost || aheadMs - this.#aheadMs > this.#deadAfterMs / 2) this.#beginAnew()
    this.#aheadMs = aheadMs
    this.#reachedAt = this.#clock.elapsed()
  }

  /** The database could not be reached. */
  missed(): void {
    this.#beginAnew()
  }

  /** Whether the database was not reached for long, though nothing may have failed: what waits for it may still wait. */
  get #isLost(): boolean {
    return this.#clock.elapsed() - this.#reachedAt > this.#deadAfterMs / 2
  }

  #beginAnew(): void {
    this.#countsFrom = this.#clock.elapsed() + this.#deadAfterMs
  }
}
