import type { Clock } from '@/clock/clock.ts'
import type { Place } from '@/clock/roll.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Stop } from '@/ledger/types.ts'

/** An answer that flows: it has to be looked at while it is open, and can be ended from outside. */
export interface Watched {
  /** Of its exchange. */
  readonly id: string
  /** @param now as the clock's `elapsed` says it */
  tick(now: number): void
  /** Ends it in an error of ours: its key was revoked, its account suspended. */
  stop(error: GatewayError): void
}

const TICK_MS = 250

/** One timer for all open streams, so that none of them needs its own. */
export class Watchdog {
  /** By id; a place is emptied when it is given back, for the reason that clock/roll.ts has. */
  readonly #open = new Map<string, Place<Watched>>()
  readonly #stop: () => void

  constructor(clock: Clock) {
    this.#stop = clock.every(TICK_MS, () => {
      const now = clock.elapsed()
      for (const { item } of this.#open.values()) item?.tick(now)
    })
  }

  add(watched: Watched): void {
    this.#open.set(watched.id, { item: watched })
  }

  remove(id: string): void {
    const place = this.#open.get(id)
    if (place === undefined) return
    place.item = undefined
    this.#open.delete(id)
  }

  /** Ends the answer of an exchange that the ledger stops, if it flows here. */
  end(id: string, reason: GatewayError): void {
    this.#open.get(id)?.item?.stop(reason)
  }

  /** Ends all that flows here in one error. */
  endAll(error: GatewayError): void {
    for (const { item } of [...this.#open.values()]) item?.stop(error)
  }

  stop(): void {
    this.#stop()
  }
}

/** The error that a running answer ends in although nobody asked for its end. */
export function stoppedBy(reason: Stop['reason']): GatewayError {
  switch (reason) {
    case 'key_revoked':
      return new GatewayError('invalid_api_key', 'This API key was revoked')
    case 'account_suspended':
      return new GatewayError('account_suspended', 'This account is suspended')
    case 'hold_expired':
      return new GatewayError('billing_unavailable', 'This request ran for longer than it was paid for')
  }
}
