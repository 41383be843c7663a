import type { Dial } from './address-guard.ts'

/** Bun 1.4.5 keeps this many idle connections of one TLS configuration, all origins together, and closes the rest. */
const KEPT_CONNECTIONS = 64

/** More requests at once than this many lanes hold share the last one. */
const MAX_LANES = 64

/**
 * Which pool of connections an attempt goes over, where that can be chosen: over TLS. Of more requests at once than one
 * pool keeps connections, many open a new one, so they are spread over lanes, each with a pool of its own (500 at once, in
 * a loop: 0 in place of 0.14 handshakes for each, 40 in place of 90 us CPU). The lowest lane with room is taken: few
 * requests at once stay on few connections.
 */
export class Lanes {
  /** Attempts under way on each lane, to the end of their answers. */
  readonly #taken: number[] = [0]

  /** A lane, to be given back to `free` when the answer has ended. */
  take(): number {
    const free = this.#taken.findIndex(taken => taken < KEPT_CONNECTIONS)
    const lane = free >= 0 ? free : Math.min(this.#taken.length, MAX_LANES - 1)
    this.#taken[lane] = (this.#taken[lane] ?? 0) + 1
    return lane
  }

  free(lane: number): void {
    this.#taken[lane] = (this.#taken[lane] ?? 1) - 1
  }
}

/** What of Bun's TLS options an attempt uses. */
export interface LaneTls {
  serverName?: string
  sessionTimeout?: number
}

/**
 * The TLS options of a dial on a lane. Bun has a pool for each different configuration, and one for all of plain HTTP. The
 * time for which a server lets sessions be resumed means nothing on a client, so it may tell the lanes apart.
 */
export function laneTls({ url, tls }: Pick<Dial, 'url' | 'tls'>, lane: number): LaneTls | undefined {
  if (lane === 0 || !url.startsWith('https:')) return tls
  return { ...tls, sessionTimeout: FIRST_TIMEOUT_S + lane }
}

const FIRST_TIMEOUT_S = 300
