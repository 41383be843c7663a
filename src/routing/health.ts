import type { Clock } from '@/clock/clock.ts'
import type { ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import type { Channel, ChannelKey } from '@/upstream/channel.ts'
import { Breaker, type BreakerView, type Opened, type Signal, type Standing, type Ticket } from './breaker.ts'
import type { HealthSharing } from './health-sharing.ts'

/** How an attempt ended, as far as the upstream's health is concerned. */
export type Outcome =
  /** It gave output, or answered as a whole. */
  | { kind: 'ok' }
  /** The request was wrong, the caller left, or the failure was ours: nothing is known of the upstream. */
  | { kind: 'ignored' }
  | { kind: FailureKind; retryAfterMs: number | undefined; reason: string }

const FAILURE_KINDS = [
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'upstream_auth',
] as const satisfies readonly ErrorKind[]

export type FailureKind = (typeof FAILURE_KINDS)[number]

/** What an attempt took. */
export interface Timings {
  /** From sending until the first output. */
  firstByteMs?: number | undefined
}

/** An attempt that was let through. */
export interface HealthTicket {
  /**
   * Takes in how it went: once when the first output came or the attempt failed, and again if it failed after its
   * first output. An attempt that never tells counts for nothing; a lost probe is given up after a while.
   */
  report(outcome: Outcome, timings?: Timings): void
}

/** The health of a channel and its keys, for the console and /metrics. Holds no secret. */
export interface ChannelHealth {
  channelId: number
  channel: string
  breaker: BreakerView
  /** A moving average of successful attempts; undefined until there was one. */
  firstByteMs: number | undefined
  /** In the order of the pool; one without an id where the upstream wants no key. */
  keys: readonly { keyId: number | undefined; position: number; breaker: BreakerView }[]
}

/** A breaker that opened, and whose it is. */
export interface Opening extends Opened {
  channelId: number
  /** Undefined: the channel as a whole. */
  key: { id: number | undefined } | undefined
}

export interface HealthOptions {
  clock: Pick<Clock, 'now'>
  /** Numbers in [0, 1). */
  random: () => number
  /** What other processes see, where there are any. */
  sharing?: HealthSharing
  /** Told of every opening that this process saw itself, for the log. */
  onOpening?: (opening: Opening) => void
}

/** More breakers than any catalog has channels and keys; what is beyond is forgotten, oldest first. */
const MAX_ENTRIES = 20_000

/** How much the newest attempt counts in the average. */
const NEWEST_SHARE = 0.1

interface Entry {
  breaker: Breaker
  /** The address that it was seen at: another one starts anew. */
  address: string
  firstByteMs: number | undefined
}

/**
 * The breakers of all channels and keys, as this process knows them. Ids are those of the database, so that processes
 * mean the same ones; a key that is entered anew has a new id, and so a new start.
 */
export class Health {
  readonly #options: HealthOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: HealthOptions) {
    this.#options = options
    options.sharing?.subscribe(opening => this.#takeIn(opening))
  }

  /** Whether an attempt may be made now: the worse of what its channel and its key allow. Takes nothing. */
  standing(channel: Channel, key: ChannelKey | undefined): Standing {
    const now = this.#options.clock.now()
    return worse(
      this.#entries.get(channelName(channel.id))?.breaker.standing(now) ?? READY,
      this.#entries.get(keyName(channel.id, key?.id))?.breaker.standing(now) ?? READY,
    )
  }

  /** Begins an attempt; undefined if it may not be made, since another took the probe in the meantime. */
  begin(channel: Channel, key: ChannelKey | undefined): HealthTicket | undefined {
    return this.standing(channel, key).kind === 'paused' ? undefined : this.beginAnyway(channel, key)
  }

  /** Begins an attempt on what is paused: the last resort where nothing else is left. */
  beginAnyway(channel: Channel, key: ChannelKey | undefined): HealthTicket {
    const now = this.#options.clock.now()
    let channelTicket = this.#begin(channelName(channel.id), now)
    let keyTicket = this.#begin(keyName(channel.id, key?.id), now)
    return {
      report: (outcome, timings = {}) => {
        const signals = signalsOf(outcome)
        this.#report(channel, undefined, channelTicket, signals.channel)
        this.#report(channel, { id: key?.id }, keyTicket, signals.key)
        // A probe has told what it was for; what comes after is news of an attempt like any other.
        channelTicket = { ...channelTicket, isProbe: false }
        keyTicket = { ...keyTicket, isProbe: false }
        if (outcome.kind === 'ok') this.#observe(channel, timings.firstByteMs)
      },
    }
  }

  state(channels: Iterable<Channel>): ChannelHealth[] {
    return [...channels].map(channel => ({
      channelId: channel.id,
      channel: channel.name,
      breaker: this.#view(channelName(channel.id)),
      firstByteMs: this.#entries.get(channelName(channel.id))?.firstByteMs,
      keys: pool(channel).map((key, position) => ({
        keyId: key?.id,
        position,
        breaker: this.#view(keyName(channel.id, key?.id)),
      })),
    }))
  }

  /** Forgets what the catalog no longer has, and what was learnt of a channel at another address. */
  retain(channels: Iterable<Channel>): void {
    const addresses = new Map<string, string>()
    for (const channel of channels) {
      addresses.set(channelName(channel.id), channel.baseUrl)
      for (const key of pool(channel)) addresses.set(keyName(channel.id, key?.id), channel.baseUrl)
    }
    for (const [name, entry] of this.#entries) {
      const address = addresses.get(name)
      if (address === undefined || (entry.address !== UNKNOWN && entry.address !== address)) {
        this.#entries.delete(name)
      }
    }
  }

  /** How many breakers are in memory. */
  get size(): number {
    return this.#entries.size
  }

  /** A breaker that nobody reported on is closed, and needs no place in memory. */
  #begin(name: string, now: number): Ticket {
    return this.#entries.get(name)?.breaker.begin(now) ?? { startedAt: now, isProbe: false }
  }

  #report(channel: Channel, key: Opening['key'], ticket: Ticket, signal: Signal): void {
    const name = key === undefined ? channelName(channel.id) : keyName(channel.id, key.id)
    const { breaker } = this.#entry(name, channel.baseUrl)
    const opened = breaker.report(ticket, signal, this.#options.clock.now())
    if (opened === undefined) return
    const opening = { ...opened, channelId: channel.id, key }
    this.#options.onOpening?.(opening)
    this.#options.sharing?.publish(opening)
  }

  #observe(channel: Channel, firstByteMs: number | undefined): void {
    if (firstByteMs === undefined) return
    const entry = this.#entry(channelName(channel.id), channel.baseUrl)
    const before = entry.firstByteMs ?? firstByteMs
    entry.firstByteMs = before + (firstByteMs - before) * NEWEST_SHARE
  }

  #takeIn(opening: Opening): void {
    const { channelId, key } = opening
    const name = key === undefined ? channelName(channelId) : keyName(channelId, key.id)
    this.#entry(name, UNKNOWN).breaker.openFor(opening, this.#options.clock.now())
  }

  #entry(name: string, address: string): Entry {
    const found = this.#entries.get(name)
    if (found !== undefined) {
      if (found.address === UNKNOWN) found.address = address
      return found
    }
    const entry = { breaker: new Breaker(this.#options.random), address, firstByteMs: undefined }
    this.#entries.set(name, entry)
    if (this.#entries.size > MAX_ENTRIES) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest)
        break
      }
    }
    return entry
  }

  #view(name: string): BreakerView {
    return (this.#entries.get(name)?.breaker ?? UNTOUCHED).view(this.#options.clock.now())
  }
}

/** What an error tells of the upstream that it came from. */
export function outcomeOf(error: GatewayError): Outcome {
  const kind = FAILURE_KINDS.find(name => name === error.kind)
  if (kind === undefined) return { kind: 'ignored' }
  return { kind, retryAfterMs: error.retryAfterMs, reason: error.message }
}

/**
 * Which of the two an outcome is about. A failing upstream counts against both, so that a pool's one bad key goes
 * before its channel does; a limit or a refusal is the key's own.
 */
function signalsOf(outcome: Outcome): { channel: Signal; key: Signal } {
  switch (outcome.kind) {
    case 'ok':
      return { channel: OK, key: OK }
    case 'ignored':
      return { channel: NEUTRAL, key: NEUTRAL }
    case 'upstream_error':
    case 'upstream_timeout': {
      const { retryAfterMs, reason } = outcome
      const failure = { kind: 'failure', retryAfterMs, reason } as const
      return { channel: failure, key: failure }
    }
    case 'upstream_rate_limited':
    case 'upstream_auth': {
      const { retryAfterMs, reason } = outcome
      const cause = outcome.kind === 'upstream_auth' ? 'refused' : 'rate-limited'
      return { channel: NEUTRAL, key: { kind: 'pause', cause, retryAfterMs, reason } }
    }
  }
}

const READY: Standing = { kind: 'ready' }
const OK: Signal = { kind: 'ok' }
const NEUTRAL: Signal = { kind: 'neutral' }
/** The address of a breaker that is only known from another process. */
const UNKNOWN = ''
const UNTOUCHED = new Breaker(() => 0)

function worse(one: Standing, other: Standing): Standing {
  if (one.kind === 'paused' && other.kind === 'paused') return one.until >= other.until ? one : other
  if (one.kind === 'paused' || other.kind === 'ready') return one
  return other.kind === 'paused' || one.kind === 'ready' ? other : one
}

/** An upstream that wants no key is a pool of one. */
export function pool(channel: Channel): readonly (ChannelKey | undefined)[] {
  return channel.keys.length === 0 ? [undefined] : channel.keys
}

function channelName(channelId: number): string {
  return `channel:${channelId}`
}

function keyName(channelId: number, keyId: number | undefined): string {
  return keyId === undefined ? `keyless:${channelId}` : `key:${keyId}`
}
