import type { Clock } from './clock.ts'

/** The most by which a task comes late, in ms. */
const TICK_MS = 100

/** A task that waits for its time; to be given back to `cancel`. */
export interface Deadline {
  readonly dueAt: number
  readonly task: () => void
}

/**
 * Ends of patience, of which each exchange has some and nearly all are cancelled: one timer for all of them. A task comes
 * up to TICK_MS late, never early.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #open = new Set<Deadline>()
  #stopTicking: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Has `task` done once `ms` from now, unless it is cancelled. */
  after(ms: number, task: () => void): Deadline {
    const deadline = { dueAt: this.#clock.now() + ms, task }
    this.#open.add(deadline)
    this.#stopTicking ??= this.#clock.every(TICK_MS, () => this.#tick())
    return deadline
  }

  cancel(deadline: Deadline): void {
    this.#open.delete(deadline)
  }

  #tick(): void {
    const now = this.#clock.now()
    for (const deadline of this.#open) {
      if (deadline.dueAt > now) continue
      this.#open.delete(deadline)
      deadline.task()
    }
    if (this.#open.size > 0) return
    this.#stopTicking?.()
    this.#stopTicking = undefined
  }
}
