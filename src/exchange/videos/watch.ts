import type { Clock } from '@/clock/clock.ts'
import { regularly } from '@/clock/regularly.ts'
import { completeLateResults, lookAt } from './look.ts'
import { LIFETIME_DAYS, type VideoGateway } from './store.ts'

/** How often a process asks which jobs are due. */
const TICK_MS = 1000

/** How often results are completed that came late, sooner than the audit asks: of jobs of so many days, as the audit looks back one. */
const LATE_RESULTS_MS = 60 * 1000
const LATE_RESULTS_DAYS = 2

/** How often jobs that ended long ago are deleted, and the late results of all others completed. */
const SWEEP_MS = 60 * 60 * 1000

/** Jobs that a process looks at together. */
const AT_ONCE = 16

/**
 * Sees every job to its end, whether or not its owner asks and whatever became of the process that took the order: each
 * process looks at those that are due, and the database gives each of them to one.
 */
export class VideoWatch {
  readonly #gateway: VideoGateway
  readonly #stops: readonly (() => void)[]
  #running: Promise<void> | undefined

  constructor(gateway: VideoGateway, clock: Clock) {
    this.#gateway = gateway
    const begin = (ms: number, act: () => Promise<unknown>, failure: string) =>
      regularly(ms, act, { clock, onFailure: err => gateway.log.warn({ err }, failure) })
    const complete = (ms: number, days: number) =>
      begin(ms, () => completeLateResults(gateway, days), 'results of videos could not be completed')
    this.#stops = [
      clock.every(TICK_MS, () => {
        this.#running ??= this.look().finally(() => {
          this.#running = undefined
        })
      }),
      complete(LATE_RESULTS_MS, LATE_RESULTS_DAYS),
      complete(SWEEP_MS, LIFETIME_DAYS),
      begin(SWEEP_MS, () => gateway.videos.sweep(), 'videos could not be swept'),
    ]
  }

  /** Looks at what is due. Called by the clock; a test calls it itself. */
  async look(): Promise<void> {
    const { videos, log } = this.#gateway
    try {
      const due = await videos.leaseDue(AT_ONCE)
      await Promise.all(due.map(leased => lookAt(this.#gateway, leased)))
    } catch (error) {
      log.warn({ err: error }, 'videos could not be looked at')
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.#running
  }
}
