import type { Clock } from '@/clock/clock.ts'

/**
 * A circuit breaker for one channel or one key of a channel's pool; ARCHITECTURE.md says why it is our own. Holds a fixed
 * number of counters, whatever happens. Time is an argument (`now` is what the clock's `elapsed` says); randomness is
 * injected.
 */

/** Why a breaker is open. */
export type Cause = 'failing' | 'rate-limited' | 'refused'

/** Whether an attempt may be made now. */
export type Standing =
  | { kind: 'ready' }
  /** Half-open: one attempt may find out whether it works again. */
  | { kind: 'probe' }
  /** `until` is when to ask again, as the clock's `elapsed` says it. */
  | { kind: 'paused'; until: number }

/** Every attempt may go. One object, since every candidate of every request has a standing. */
export const READY: Standing = Object.freeze({ kind: 'ready' })

/** What an attempt told about the subject of a breaker. */
export type Signal =
  | { kind: 'ok' }
  /** Says nothing about it; only ends a probe. */
  | { kind: 'neutral' }
  /** Counts: enough of them open it. */
  | { kind: 'failure'; retryAfterMs: number | undefined; reason: string }
  /** Opens it at once. */
  | { kind: 'pause'; cause: 'rate-limited' | 'refused'; retryAfterMs: number | undefined; reason: string }

/** An attempt as the breaker saw it begin. */
export interface Ticket {
  readonly startedAt: number
  readonly isProbe: boolean
}

/** A breaker that opened, or stays open for longer. */
export interface Opened {
  cause: Cause
  pauseMs: number
  /** The vendor's words, or ours of it. */
  reason: string
}

/** A breaker as the console and /metrics show it. */
export interface BreakerView {
  state: 'closed' | 'open' | 'half-open'
  /** Of the last opening; undefined if it is closed. */
  cause: Cause | undefined
  reason: string | undefined
  /** When the next probe may go, in ms since 1970; undefined if it is closed. */
  until: number | undefined
  /** Of the window. */
  succeeded: number
  failed: number
}

interface Pauses {
  /** The first pause; each that follows without a recovery in between is twice as long. */
  firstMs: number
  maxMs: number
  /** An opening this soon after a recovery goes on growing: the recovery was none. */
  memoryMs: number
}

/**
 * How long a breaker stays open, by why. A vendor that names a time is given at least that, up to MAX_RETRY_AFTER_MS.
 */
export const PAUSES: Record<Cause, Pauses> = {
  failing: { firstMs: 5_000, maxMs: 60_000, memoryMs: 60_000 },
  'rate-limited': { firstMs: 1_000, maxMs: 60_000, memoryMs: 0 },
  refused: { firstMs: 60_000, maxMs: 3_600_000, memoryMs: 0 },
}

/** So many failures one after the other open it. */
export const MAX_STREAK = 5
/** So large a share of failures in the window opens it, once there were this many attempts. */
export const MAX_FAILURE_RATE = 0.5
/** Fewer attempts than this in the window open nothing by their rate. */
export const MIN_ATTEMPTS = 20
/** How far back attempts count. */
export const WINDOW_MS = 30_000
/** A vendor's wish is honoured up to here; then one probe asks again. */
export const MAX_RETRY_AFTER_MS = 3_600_000
/** A probe that told nothing by then is taken for lost, and another may go. */
export const PROBE_MS = 30_000
/** How soon to look again while a probe is under way. */
const PROBE_WAIT_MS = 1_000
/** Pauses are up to this much longer by chance, so that processes do not probe together. */
const JITTER = 0.2

/** The breaker of one subject: told of attempts, asked before them. */
export class Breaker {
  readonly #random: () => number
  readonly #window = new Window()
  /** Undefined: closed. */
  #open: { cause: Cause; reason: string; at: number; until: number } | undefined
  /** The end of the running probe's time. */
  #probeUntil = 0
  #streak = 0
  /** The latest moment that a failure of this streak asked to wait for. */
  #retryAt = 0
  /** Openings of one cause without a recovery in between. */
  #level = 0
  #lastCause: Cause | undefined
  #closedAt = Number.NEGATIVE_INFINITY

  constructor(random: () => number) {
    this.#random = random
  }

  /** Whether every attempt may go, and none of them is a probe. */
  get isClosed(): boolean {
    return this.#open === undefined
  }

  /** Whether it is open, and not because it is time to ask again. */
  isPaused(now: number): boolean {
    return this.#open !== undefined && now < this.#open.until
  }

  standing(now: number): Standing {
    if (this.#open === undefined) return READY
    if (now < this.#open.until) return { kind: 'paused', until: this.#open.until }
    if (now >= this.#probeUntil) return { kind: 'probe' }
    return { kind: 'paused', until: Math.min(this.#probeUntil, now + PROBE_WAIT_MS) }
  }

  /** Begins an attempt. Where a probe may go this is the probe; on a paused breaker it is a last resort. */
  begin(now: number): Ticket {
    const isProbe = this.standing(now).kind === 'probe'
    if (isProbe) this.#probeUntil = now + PROBE_MS
    return { startedAt: now, isProbe }
  }

  /** Takes in what an attempt told. The opening is for others to know; undefined if nothing opened. */
  report(ticket: Ticket, signal: Signal, now: number): Opened | undefined {
    if (ticket.isProbe) this.#probeUntil = 0
    switch (signal.kind) {
      case 'ok':
        this.#succeed(ticket, now)
        return undefined
      case 'neutral':
        return undefined
      case 'failure':
        return this.#fail(ticket, signal, now)
      case 'pause':
        return this.#pause(ticket, signal, now)
    }
  }

  /** Another process saw it open. */
  openFor({ cause, pauseMs, reason }: Opened, now: number): void {
    const until = now + Math.min(Math.max(pauseMs, 0), MAX_RETRY_AFTER_MS * (1 + JITTER))
    if (this.#open !== undefined && this.#open.until >= until) return
    this.#open = { cause, reason, at: this.#open?.at ?? now, until }
  }

  /** How it stands, for people: they are told the time of day. */
  view(clock: Pick<Clock, 'now' | 'elapsed'>): BreakerView {
    const now = clock.elapsed()
    const { succeeded, failed } = this.#window.counts(now)
    const open = this.#open
    if (open === undefined) {
      return { state: 'closed', cause: undefined, reason: undefined, until: undefined, succeeded, failed }
    }
    const { cause, reason } = open
    const state = now < open.until ? 'open' : 'half-open'
    return { state, cause, reason, until: clock.now() + open.until - now, succeeded, failed }
  }

  /** A success that began before the opening is old news. */
  #succeed(ticket: Ticket, now: number): void {
    this.#window.add(now, true)
    if (this.#open === undefined) {
      this.#streak = 0
      this.#retryAt = 0
      return
    }
    if (isStale(ticket, this.#open)) return
    this.#open = undefined
    this.#closedAt = now
    this.#streak = 0
    this.#retryAt = 0
    this.#window.clear()
  }

  #fail(ticket: Ticket, signal: Signal & { kind: 'failure' }, now: number): Opened | undefined {
    this.#window.add(now, false)
    this.#streak += 1
    this.#retryAt = Math.max(this.#retryAt, now + (signal.retryAfterMs ?? 0))
    if (this.#open !== undefined) {
      if (!ticket.isProbe || isStale(ticket, this.#open)) return undefined
    } else if (this.#streak < MAX_STREAK && !this.#failsOften(now)) return undefined
    return this.#openNow('failing', this.#retryAt - now, signal.reason, now)
  }

  #failsOften(now: number): boolean {
    const { succeeded, failed } = this.#window.counts(now)
    const attempts = succeeded + failed
    return attempts >= MIN_ATTEMPTS && failed / attempts >= MAX_FAILURE_RATE
  }

  #pause(ticket: Ticket, signal: Signal & { kind: 'pause' }, now: number): Opened | undefined {
    const { cause, reason, retryAfterMs = 0 } = signal
    if (this.#open === undefined || !isStale(ticket, this.#open)) {
      return this.#openNow(cause, retryAfterMs, reason, now)
    }
    // One of many that were under way when it opened: it may lengthen the pause, but shows no new failure.
    const pauseMs = pauseOf(cause, 0, retryAfterMs, 0)
    if (now + pauseMs <= this.#open.until) return undefined
    this.#open = { ...this.#open, cause, reason, until: now + pauseMs }
    return { cause, reason, pauseMs }
  }

  #openNow(cause: Cause, retryAfterMs: number, reason: string, now: number): Opened {
    const recovered = this.#open === undefined && now - this.#closedAt >= PAUSES[cause].memoryMs
    this.#level = recovered || this.#lastCause !== cause ? 0 : this.#level + 1
    this.#lastCause = cause
    const pauseMs = pauseOf(cause, this.#level, retryAfterMs, this.#random())
    this.#open = { cause, reason, at: now, until: now + pauseMs }
    this.#probeUntil = 0
    return { cause, reason, pauseMs }
  }
}

function isStale(ticket: Ticket, open: { at: number }): boolean {
  return !ticket.isProbe && ticket.startedAt <= open.at
}

/** Never shorter than what the vendor asked for, as far as that is honoured. */
function pauseOf(cause: Cause, level: number, retryAfterMs: number, random: number): number {
  const { firstMs, maxMs } = PAUSES[cause]
  const grown = Math.min(firstMs * 2 ** Math.min(level, 30), maxMs)
  const least = Math.min(Math.max(retryAfterMs, 0), MAX_RETRY_AFTER_MS)
  return Math.ceil(Math.max(grown, least) * (1 + JITTER * random))
}

const SLOTS = 10
const SLOT_MS = WINDOW_MS / SLOTS

/** Successes and failures of the last WINDOW_MS, in slots of a tenth of it. */
class Window {
  readonly #succeeded = new Uint32Array(SLOTS)
  readonly #failed = new Uint32Array(SLOTS)
  /** Which stretch of time a slot counts. */
  readonly #stretches = new Float64Array(SLOTS).fill(Number.NEGATIVE_INFINITY)

  add(now: number, ok: boolean): void {
    const stretch = Math.floor(now / SLOT_MS)
    const slot = stretch % SLOTS
    if (this.#stretches[slot] !== stretch) {
      this.#stretches[slot] = stretch
      this.#succeeded[slot] = 0
      this.#failed[slot] = 0
    }
    const counts = ok ? this.#succeeded : this.#failed
    counts[slot] = (counts[slot] ?? 0) + 1
  }

  counts(now: number): { succeeded: number; failed: number } {
    const oldest = Math.floor(now / SLOT_MS) - SLOTS
    let succeeded = 0
    let failed = 0
    for (let slot = 0; slot < SLOTS; slot += 1) {
      if ((this.#stretches[slot] ?? 0) <= oldest) continue
      succeeded += this.#succeeded[slot] ?? 0
      failed += this.#failed[slot] ?? 0
    }
    return { succeeded, failed }
  }

  clear(): void {
    this.#stretches.fill(Number.NEGATIVE_INFINITY)
  }
}
