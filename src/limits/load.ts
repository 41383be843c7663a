import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { Clock } from '@/clock/clock.ts'

/** What a process measures itself by. */
interface LoadOptions {
  clock: Pick<Clock, 'elapsed' | 'every'>
  /** Numbers in [0, 1). */
  random: () => number
  /** Sockets of requests that are running now, of callers and to upstreams. */
  openSockets: () => number
  /** The same when every request has opened the one to its upstream: those who come in a burst are let in before any has. */
  neededSockets: () => number
  /** Files of any kind that this process has open now, connections at rest among them. */
  openFiles: () => number
  /** Most of them that it can have; see `fileLimit`. */
  maxFiles: number
}

/** Why new work is turned away: the event loop is late, or there are no sockets left for it. */
export type Overload = 'event-loop' | 'sockets'

/** How the load stands, for /metrics. */
interface LoadReading {
  /** Median of the last samples, in ms. */
  lagMs: number
  /** Of new work, from 0 to 1. */
  refusedShare: number
  /** Of the files that this process can have open, how many are, from 0 to 1. */
  filesShare: number
}

/** How often the event loop is asked how late it is. */
const SAMPLE_MS = 250
/** Of so many samples the median counts: a pause of the whole process, however long, is one of them. */
const SAMPLES = 10
/** A process this late is past what it can do: every step of every stream waits so long. */
export const HIGH_LAG_MS = 1_000
/** Below this it has room again; in between the share stays as it is. */
export const LOW_LAG_MS = 500
/** Of the files that there can be, those that are left for what is open for a moment only, and for callers who come all at once. */
const SPARE_SHARE = 1 / 8
const MOST_SPARE = 64
/** From this share on connections are not kept for a next request. */
const CROWDED_SHARE = 3 / 4
/**
 * Where a process may open fewer files than this, they are counted at every question, since one burst between two samples
 * could take all that are left. A request that runs has two of them, a connection at rest one.
 */
export const FEW_FILES = 4096
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
  readonly #fullAt: number
  /** Files beside the sockets of requests: connections at rest, the database, Redis, logs, listeners. */
  #otherFiles = 0
  #filesShare = 0

  constructor(options: LoadOptions) {
    this.#options = options
    this.#sampledAt = options.clock.elapsed()
    this.#fullAt = options.maxFiles - Math.min(MOST_SPARE, options.maxFiles * SPARE_SHARE)
    this.#countFiles()
    this.#stop = options.clock.every(SAMPLE_MS, () => this.#sample())
  }

  /** Why a new request is to be turned away; undefined: it may come in. */
  overload(): Overload | undefined {
    const { neededSockets, random } = this.#options
    // Those of the one that asks are among them.
    if (neededSockets() + this.#otherFiles >= this.#fullAt) return 'sockets'
    return this.#refusedShare > 0 && random() < this.#refusedShare ? 'event-loop' : undefined
  }

  /** Whether connections are to be closed after their answer, so that others can have theirs. */
  get isCrowded(): boolean {
    if (this.#options.maxFiles < FEW_FILES) this.#countFiles()
    return this.#filesShare > CROWDED_SHARE
  }

  reading(): LoadReading {
    return { lagMs: this.#medianLag(), refusedShare: this.#refusedShare, filesShare: this.#filesShare }
  }

  stop(): void {
    this.#stop()
  }

  #countFiles(): void {
    const { openFiles, openSockets, maxFiles } = this.#options
    const files = openFiles()
    this.#otherFiles = Math.max(0, files - openSockets())
    this.#filesShare = files / maxFiles
  }

  #sample(): void {
    this.#countFiles()
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

/** How many files the system lets this process open; without end where it does not say. */
export function fileLimit(read: () => string = () => readFileSync('/proc/self/limits', 'utf8')): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(read())?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** How many files this process has open; 0 where the system does not say. */
export function openFiles(directory = '/proc/self/fd'): number {
  try {
    // Linux tells it as the directory's size from 6.2 on.
    return statSync(directory).size || readdirSync(directory).length
  } catch {
    return 0
  }
}
