import type { Clock } from '@/clock/clock.ts'
import { type Place, Roll } from '@/clock/roll.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'

/** An answer that flows: it has to be looked at while it is open, and can be ended from outside. */
export interface Watched {
  /** Of its exchange. */
  readonly id: string
  tick(now: number): void
  /** Ends it in an error of ours: its key was revoked, its account suspended. */
  stop(error: GatewayError): void
}

const TICK_MS = 250

/** One timer for all open streams, so that none of them needs its own. */
export class Watchdog {
  readonly #open = new Roll<Watched>()
  readonly #stop: () => void

  constructor(clock: Clock) {
    this.#stop = clock.every(TICK_MS, () => {
      const now = clock.now()
      for (const { item } of this.#open) item?.tick(now)
    })
  }

  /** The result is to be given back to `remove`. */
  add(watched: Watched): Place<Watched> {
    return this.#open.add(watched)
  }

  remove(place: Place<Watched>): void {
    this.#open.remove(place)
  }

  /** Ends the answer of an exchange, if it flows here. That is so rare that it is looked for. */
  end(id: string, error: GatewayError): void {
    for (const { item } of this.#open) if (item?.id === id) item.stop(error)
  }

  stop(): void {
    this.#stop()
  }
}
