import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import type { Channel, ChannelKey } from '@/upstream/channel.ts'
import { Breaker, type BreakerView, READY, type Signal, type Standing, type Ticket } from './breaker.ts'
import { type Outcome, signalsOf } from './outcome.ts'
import type { BreakerOpening, HealthSharing } from './sharing.ts'

/** An attempt that was let through. */
export interface HealthTicket {
  /**
   * Takes in how it went: once when the first output came or the attempt failed, and again if it failed after its
   * first output. An attempt that never tells counts for nothing; a lost probe is given up after a while.
   * @param firstByteMs from sending until the first output
   */
  report: (outcome: Outcome, firstByteMs?: number) => void
}

/** The health of a channel and its keys, for the console and /metrics. Holds no secret. */
export interface ChannelHealth {
  channelId: number
  channel: string
  breaker: BreakerView
  /** A moving average of successful attempts; undefined until there was one. */
  firstByteMs: number | undefined
  /** In the order of the pool; one without an id where the upstream wants no key. */
  keys: readonly {
    keyId: number | undefined
    position: number
    breaker: BreakerView
    /** Models, by the upstream's names, that the key was refused for, or at whose limit it is. */
    pausedModels: readonly { model: string; breaker: BreakerView }[]
  }[]
}

/** What the health of channels is judged with. */
interface HealthOptions {
  clock: Pick<Clock, 'now' | 'elapsed'>
  /** Numbers in [0, 1). */
  random: () => number
  /** What other processes see, where there are any. */
  sharing?: HealthSharing | undefined
  /**
   * Told of every opening that this process saw itself, for the log. Not of attempts that only lengthen one: where all
   * channels of a model are down, each of its requests makes such attempts.
   */
  onOpening?: (opening: BreakerOpening) => void
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

/** Whose breaker it is: a channel's, one of its keys', or that of a model at one of its keys. */
type Subject = Pick<BreakerOpening, 'channelId'> & Partial<Pick<BreakerOpening, 'key' | 'model'>>

/**
 * The breakers of all channels and keys, as this process knows them. Ids are those of the database, so that processes
 * mean the same ones; a key that is entered anew has a new id, and so a new start.
 */
export class Health {
  readonly #options: HealthOptions
  /** By `channelSubject` and `keySubject`. */
  readonly #entries = new Map<number, Entry>()
  /** Models that keys are paused for; there are few, so that mostly no request looks here. */
  readonly #models = new Map<string, Entry & { ofKey: number; model: string }>()
  /** Where channels and their keys are by now, as the catalog last said. */
  #addresses: ReadonlyMap<number, string> = new Map()

  constructor(options: HealthOptions) {
    this.#options = options
    options.sharing?.subscribe(opening => this.#takeIn(opening))
  }

  /** Whether an attempt may be made now: the worse of what its channel and its key allow. Takes nothing. */
  standing(
    channel: Channel,
    key: ChannelKey | undefined,
    model: string,
    now = this.#options.clock.elapsed(),
  ): Standing {
    const ofKey = keySubject(channel.id, key?.id)
    const standing = worse(
      this.#standingOf(this.#entries.get(channelSubject(channel.id)), now),
      this.#standingOf(this.#entries.get(ofKey), now),
    )
    if (this.#models.size === 0) return standing
    return worse(standing, this.#standingOf(this.#models.get(modelName(ofKey, model)), now))
  }

  /** Begins an attempt; undefined if it may not be made, since another took the probe in the meantime. */
  begin(channel: Channel, key: ChannelKey | undefined, model: string): HealthTicket | undefined {
    const now = this.#options.clock.elapsed()
    const isPaused = this.standing(channel, key, model, now).kind === 'paused'
    return isPaused ? undefined : this.beginAnyway(channel, key, model, now)
  }

  /** Begins an attempt on what is paused: the last resort where nothing else is left. */
  beginAnyway(
    channel: Channel,
    key: ChannelKey | undefined,
    model: string,
    now = this.#options.clock.elapsed(),
  ): HealthTicket {
    const keyId = key?.id
    const ofKey = keySubject(channel.id, keyId)
    const plain: Ticket = { startedAt: now, isProbe: false }
    const ofModel = this.#models.size === 0 ? undefined : this.#models.get(modelName(ofKey, model))
    const modelTicket = ticketOf(ofModel, plain)
    let channelTicket = ticketOf(this.#entries.get(channelSubject(channel.id)), plain)
    let keyTicket = ticketOf(this.#entries.get(ofKey), plain)
    return {
      report: (outcome, firstByteMs) => {
        // How the address of before does is no news of the one that the channel has by now.
        if ((this.#addresses.get(channelSubject(channel.id)) ?? channel.baseUrl) !== channel.baseUrl) return
        const toldAt = this.#options.clock.elapsed()
        const signals = signalsOf(outcome)
        const entry = this.#entry(channelSubject(channel.id), channel.baseUrl)
        this.#report(entry.breaker, channelTicket, signals.channel, toldAt, { channelId: channel.id })
        const key = { id: keyId }
        const keyEntry = this.#entry(ofKey, channel.baseUrl)
        this.#report(keyEntry.breaker, keyTicket, signals.key, toldAt, { channelId: channel.id, key })
        this.#reportModel(channel, { id: keyId, model }, modelTicket, signals.model)
        // A probe has told what it was for; what comes after is news of an attempt like any other.
        channelTicket = plain
        keyTicket = plain
        if (outcome.kind === 'ok' && firstByteMs !== undefined) observe(entry, firstByteMs)
      },
    }
  }

  state(channels: Iterable<Channel>): ChannelHealth[] {
    return [...channels].map(channel => ({
      channelId: channel.id,
      channel: channel.name,
      breaker: this.#view(channelSubject(channel.id)),
      firstByteMs: this.#entries.get(channelSubject(channel.id))?.firstByteMs,
      keys: keysOf(channel).map((key, position) => ({
        keyId: key?.id,
        position,
        breaker: this.#view(keySubject(channel.id, key?.id)),
        pausedModels: this.#pausedModels(keySubject(channel.id, key?.id)),
      })),
    }))
  }

  /** Forgets what the catalog no longer has, and what was learnt of a channel at another address. */
  retain(channels: Iterable<Channel>): void {
    const addresses = new Map<number, string>()
    for (const channel of channels) {
      addresses.set(channelSubject(channel.id), channel.baseUrl)
      for (const key of keysOf(channel)) addresses.set(keySubject(channel.id, key?.id), channel.baseUrl)
    }
    this.#addresses = addresses
    for (const [subject, entry] of this.#entries) {
      const address = addresses.get(subject)
      if (address === undefined || (entry.address !== UNKNOWN && entry.address !== address)) {
        this.#entries.delete(subject)
      }
    }
    for (const [name, { ofKey, address }] of this.#models) {
      const current = addresses.get(ofKey)
      if (current === undefined || (address !== UNKNOWN && address !== current)) this.#models.delete(name)
    }
  }

  /** A breaker that nobody reported on is closed, and needs no place in memory. */
  #standingOf(entry: Entry | undefined, now: number): Standing {
    return entry === undefined ? READY : entry.breaker.standing(now)
  }

  /** Only a pause is remembered: how models do in general is what the breakers of channel and key count. */
  #reportModel(
    channel: Channel,
    { id, model }: { id: number | undefined; model: string },
    ticket: Ticket,
    signal: Signal,
  ): void {
    const name = modelName(keySubject(channel.id, id), model)
    if (signal.kind !== 'pause' && !this.#models.has(name)) return
    const { breaker } = this.#modelEntry(channel.id, id, model, channel.baseUrl)
    const subject = { channelId: channel.id, key: { id }, model }
    this.#report(breaker, ticket, signal, this.#options.clock.elapsed(), subject)
    if (breaker.isClosed) this.#models.delete(name)
  }

  /** Tells its breaker, and everybody else if that opened or stays open for longer. */
  #report(breaker: Breaker, ticket: Ticket, signal: Signal, now: number, subject: Subject): void {
    const wasPaused = breaker.isPaused(now)
    const opened = breaker.report(ticket, signal, now)
    if (opened === undefined) return
    const { channelId, key, model } = subject
    const opening: BreakerOpening = { ...opened, channelId, key, model }
    if (!wasPaused) this.#options.onOpening?.(opening)
    this.#options.sharing?.publish(opening)
  }

  #takeIn(opening: BreakerOpening): void {
    const { channelId, key, model } = opening
    const subject = key === undefined ? channelSubject(channelId) : keySubject(channelId, key.id)
    const entry =
      model === undefined
        ? this.#entry(subject, UNKNOWN)
        : this.#modelEntry(channelId, key?.id, model, UNKNOWN)
    entry.breaker.openFor(opening, this.#options.clock.elapsed())
  }

  #entry(subject: number, address: string): Entry {
    return (
      seenAt(address, this.#entries.get(subject)) ?? kept(this.#entries, subject, this.#newEntry(address))
    )
  }

  #modelEntry(channelId: number, keyId: number | undefined, model: string, address: string) {
    const ofKey = keySubject(channelId, keyId)
    const name = modelName(ofKey, model)
    return (
      seenAt(address, this.#models.get(name)) ??
      kept(this.#models, name, { ...this.#newEntry(address), ofKey, model })
    )
  }

  #newEntry(address: string): Entry {
    return { breaker: new Breaker(this.#options.random), address, firstByteMs: undefined }
  }

  #pausedModels(key: number): { model: string; breaker: BreakerView }[] {
    return [...this.#models.values()]
      .filter(({ ofKey }) => ofKey === key)
      .map(({ model, breaker }) => ({ model, breaker: breaker.view(this.#options.clock) }))
  }

  #view(subject: number): BreakerView {
    return (this.#entries.get(subject)?.breaker ?? UNTOUCHED).view(this.#options.clock)
  }
}

/** The address of a breaker that is only known from another process. */
const UNKNOWN = ''
const UNTOUCHED = new Breaker(() => 0)

function seenAt<Seen extends Entry>(address: string, entry: Seen | undefined): Seen | undefined {
  if (entry?.address === UNKNOWN) entry.address = address
  return entry
}

function kept<Name, Kept extends Entry>(entries: Map<Name, Kept>, name: Name, entry: Kept): Kept {
  entries.set(name, entry)
  dropOldest(entries, MAX_ENTRIES)
  return entry
}

function worse(one: Standing, other: Standing): Standing {
  if (one.kind === 'paused' && other.kind === 'paused') return one.until >= other.until ? one : other
  return one.kind === 'paused' || other.kind === 'ready' ? one : other
}

const NO_KEY: readonly undefined[] = [undefined]

/** The keys of a channel, each of which has a breaker; an upstream that wants none has that one. */
export function keysOf(channel: Channel): readonly (ChannelKey | undefined)[] {
  return channel.keys.length === 0 ? NO_KEY : channel.keys
}

/** A number for each that has a breaker: channels, keys, and the missing keys of channels that want none. */
function channelSubject(channelId: number): number {
  return channelId * 3
}

function keySubject(channelId: number, keyId: number | undefined): number {
  return keyId === undefined ? channelId * 3 + 1 : keyId * 3 + 2
}

function modelName(ofKey: number, model: string): string {
  return `${ofKey}/${model}`
}

/** What an attempt begins with: on a closed breaker none is a probe. */
function ticketOf(entry: Entry | undefined, plain: Ticket): Ticket {
  return entry === undefined || entry.breaker.isClosed ? plain : entry.breaker.begin(plain.startedAt)
}

function observe(entry: Entry, firstByteMs: number): void {
  const before = entry.firstByteMs ?? firstByteMs
  entry.firstByteMs = before + (firstByteMs - before) * NEWEST_SHARE
}
