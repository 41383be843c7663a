import type { Dial } from './address-guard.ts'

/** Bun 1.4.5 keeps this many idle connections of one TLS configuration, all origins together, and closes the rest. */
const KEPT_CONNECTIONS = 64

/** More requests at once than this many pools hold share the last one. */
const MAX_POOLS = 64

/**
 * Spreads TLS requests over several of Bun's connection pools. With more requests at once than one pool keeps connections,
 * many would open a new connection each (500 at once, in a loop: 0 in place of 0.14 handshakes for each, 40 in place of
 * 90 us CPU). The lowest pool with room is taken, so that few requests at once stay on few connections.
 */
export class ConnectionPools {
  /** For each pool, the attempts under way, which end with their answers. */
  readonly #taken: number[] = [0]

  /** The number of a pool, to be given back to `free` when the answer has ended. */
  take(): number {
    const free = this.#taken.findIndex(taken => taken < KEPT_CONNECTIONS)
    const pool = free >= 0 ? free : Math.min(this.#taken.length, MAX_POOLS - 1)
    this.#taken[pool] = (this.#taken[pool] ?? 0) + 1
    return pool
  }

  free(pool: number): void {
    this.#taken[pool] = (this.#taken[pool] ?? 1) - 1
  }
}

/** What of Bun's TLS options an attempt uses. */
export interface PoolTls {
  serverName?: string
  sessionTimeout?: number
}

/**
 * The TLS options that put a request into a pool. Bun has one pool for each different TLS configuration, and one for all of
 * plain HTTP. `sessionTimeout`, for how long a server lets sessions be resumed, means nothing on a client, so it can tell
 * the pools apart.
 */
export function poolTls({ url, tls }: Pick<Dial, 'url' | 'tls'>, pool: number): PoolTls | undefined {
  if (pool === 0 || !url.startsWith('https:')) return tls
  return { ...tls, sessionTimeout: FIRST_TIMEOUT_S + pool }
}

const FIRST_TIMEOUT_S = 300
