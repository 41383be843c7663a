import { connect } from 'node:net'
import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import { codeOf } from '@/errors/code.ts'

/**
 * Whether a bare TCP connection to an address comes to stand within so many ms; it is closed at once.
 * @throws what the system says of a connection that is refused, and the reason of an abort
 */
export type Reach = (url: string, withinMs: number, signal: AbortSignal) => Promise<boolean>

/** A connection is not kept for longer than this without an answer on it; what comes then is a new one. */
const WARM_MS = 60_000

/** Addresses that are remembered; more than any deployment has upstreams. */
const MAX_ADDRESSES = 1_000

/**
 * What fetch does not tell: whether there may be a pooled connection to an upstream, and whether a new one comes to
 * stand. By the base address of a channel.
 */
export class Connections {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #heardAt = new Map<string, number>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** The head of an answer came. */
  heard(address: string): void {
    this.#heardAt.set(address, this.#clock.elapsed())
    dropOldest(this.#heardAt, MAX_ADDRESSES)
  }

  /** Whether a request may go over a connection that has served another. */
  wasHeard(address: string): boolean {
    return this.#heardAt.has(address)
  }

  /** Whether a request most likely goes over such a connection, so that none has to be made. */
  isWarm(address: string): boolean {
    const heardAt = this.#heardAt.get(address)
    return heardAt !== undefined && this.#clock.elapsed() - heardAt < WARM_MS
  }
}

/** Codes of a connection that was closed by its other end. */
const CLOSED_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ConnectionClosed'])

/** Whether a fetch failed since its connection was closed before any head of an answer. */
export function isClosedConnection(error: unknown): boolean {
  return CLOSED_CODES.has(codeOf(error))
}

/** A Reach by the system's sockets. */
export function tcpReach(url: string, withinMs: number, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
    })
    const end = (settle: () => void) => {
      clearTimeout(timer)
      socket.destroy()
      settle()
    }
    // After a pause of this process timers come first: a connection that stands by now is seen before time is up.
    const timer = setTimeout(() => setImmediate(() => end(() => resolve(false))), withinMs)
    signal.addEventListener('abort', () => end(() => reject(signal.reason)), { once: true })
    socket.on('connect', () => end(() => resolve(true)))
    socket.on('error', error => end(() => reject(error)))
  })
}
