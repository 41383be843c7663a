import type { Clock } from './clock.ts'
import { type Place, Roll } from './roll.ts'

/** The most by which a task comes late, in ms. */
const TICK_MS = 100

/** A task that waits for its time. */
interface Waiting {
  readonly dueAt: number
  readonly task: () => void
}

/** To be given back to `cancel`. */
type Deadline = Place<Waiting>

/**
 * Timeouts. Each exchange sets some and nearly all are cancelled, so one timer serves all of them. A task comes up to
 * TICK_MS late, never early.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #open = new Roll<Waiting>()
  #stopTicking: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Has `task` done once `ms` from now, unless it is cancelled. */
  after(ms: number, task: () => void): Deadline {
    this.#stopTicking ??= this.#clock.every(TICK_MS, () => this.#tick())
    return this.#open.add({ dueAt: this.#clock.elapsed() + ms, task })
  }

  cancel(deadline: Deadline): void {
    this.#open.remove(deadline)
  }

  #tick(): void {
    const now = this.#clock.elapsed()
    for (const deadline of this.#open) {
      const waiting = deadline.item
      if (waiting === undefined || waiting.dueAt > now) continue
      this.#open.remove(deadline)
      waiting.task()
    }
    if (this.#open.size > 0) return
    this.#stopTicking?.()
    this.#stopTicking = undefined
  }
}
