import { readFileSync } from 'node:fs'
import type { Clock } from '@/clock/clock.ts'

/** What a process measures itself by. */
export interface LoadOptions {
  clock: Pick<Clock, 'elapsed' | 'every'>
  /** Numbers in [0, 1). */
  random: () => number
  /** Sockets of callers and to upstreams that are open now. */
  openSockets: () => number
  /** Most of them that this process can have; see `socketLimit`. */
  maxSockets: number
}

/** Why new work is turned away: the event loop is late, or there are no sockets left for it. */
export type Overload = 'event-loop' | 'sockets'

/** How the load stands, for /metrics. */
export interface LoadReading {
  /** Median of the last samples, in ms. */
  lagMs: number
  /** Of new work, from 0 to 1. */
  refusedShare: number
}

/** How often the event loop is asked how late it is. */
const SAMPLE_MS = 250
/** Of so many samples the median counts: a pause of the whole process, however long, is one of them. */
const SAMPLES = 10
/** A process this late is past what it can do: every step of every stream waits so long. */
export const HIGH_LAG_MS = 1_000
/** Below this it has room again; in between the share stays as it is. */
export const LOW_LAG_MS = 500
/** How much of new work each sample adds to what is turned away, and takes from it. */
const STEP = 0.1

/**
 * Whether this process can take on more. What it measures is how late its own event loop is: where that is more than a
 * second for seconds on end, a growing share of new work is turned away, and a shrinking one when it is below half a
 * second again. What runs goes on.
 */
export class Load {
  readonly #options: LoadOptions
  readonly #lags: number[] = []
  readonly #stop: () => void
  #sampledAt: number
  #refusedShare = 0

  constructor(options: LoadOptions) {
    this.#options = options
    this.#sampledAt = options.clock.elapsed()
    this.#stop = options.clock.every(SAMPLE_MS, () => this.#sample())
  }

  /** Why a new request is to be turned away; undefined: it may come in. */
  overload(): Overload | undefined {
    const { openSockets, maxSockets, random } = this.#options
    // The one that asks has a socket already, and needs another.
    if (openSockets() >= maxSockets) return 'sockets'
    return this.#refusedShare > 0 && random() < this.#refusedShare ? 'event-loop' : undefined
  }

  reading(): LoadReading {
    return { lagMs: this.#medianLag(), refusedShare: this.#refusedShare }
  }

  stop(): void {
    this.#stop()
  }

  #sample(): void {
    const now = this.#options.clock.elapsed()
    this.#lags.push(Math.max(0, now - this.#sampledAt - SAMPLE_MS))
    this.#sampledAt = now
    if (this.#lags.length > SAMPLES) this.#lags.shift()
    const lagMs = this.#medianLag()
    if (lagMs > HIGH_LAG_MS) this.#refuse(STEP)
    else if (lagMs < LOW_LAG_MS) this.#refuse(-STEP)
  }

  #refuse(more: number): void {
    // Whole tenths, whatever floats make of adding them.
    const share = Math.round((this.#refusedShare + more) * 10) / 10
    this.#refusedShare = Math.min(1, Math.max(0, share))
  }

  /** 0 until there are as many samples as it takes. */
  #medianLag(): number {
    if (this.#lags.length < SAMPLES) return 0
    return this.#lags.toSorted((one, other) => one - other)[SAMPLES / 2] ?? 0
  }
}

/** Files that the process has open beside sockets of requests: the database, Redis, logs, listeners. */
const OTHER_FILES = 256

/** How many sockets the limit of open files leaves room for; without end where the system does not say. */
export function socketLimit(read: () => string = () => readFileSync('/proc/self/limits', 'utf8')): number {
  const files = Number(/^Max open files +(\d+)/m.exec(quietly(read))?.[1] ?? Number.POSITIVE_INFINITY)
  return files - Math.min(OTHER_FILES, files / 2)
}

function quietly(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
