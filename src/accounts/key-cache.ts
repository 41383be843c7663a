import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import type { KeyRecord } from './account.ts'

/** What is known about presented keys, for a short while, in this process. */
export interface KeyCache {
  /** The record of a key; undefined if there is no such key. `hash` is SHA-256 in hexadecimal. */
  find(hash: string): Promise<KeyRecord | undefined>
  /** The same where it is in memory and may still be believed; undefined says nothing. */
  known(hash: string): KeyRecord | undefined
  /** Whether this hash was asked for lately, whatever came of it. */
  has(hash: string): boolean
  /** Forgets what a message of the channel `tollgate_keys` names: `key:HASH` or `account:ID`. */
  onMessage(message: string): void
  /** The listener stands (again): messages may have been missed, so everything is forgotten. */
  onConnect(): void
  /** The listener was lost: until it stands again, nothing is believed for longer than 2 s. */
  onLost(): void
}

/** Where the keys come from, and how many of them are kept. */
interface KeyCacheOptions {
  load(hash: string): Promise<KeyRecord | undefined>
  clock: Pick<Clock, 'elapsed'>
  /** From 0 up to 1; spreads expiry, so that keys loaded together do not all come back together. */
  random(): number
}

const KNOWN_MS = 30_000
const KNOWN_CAPACITY = 100_000
const SPREAD = 0.2
/** Unknown keys have a store of their own: somebody who tries random ones must not push good ones out. */
const UNKNOWN_MS = 5_000
const UNKNOWN_CAPACITY = 10_000
const DEAF_MS = 2_000

interface Entry<Value> {
  value: Value
  loadedAt: number
  expiresAt: number
}

interface Flight {
  record: Promise<KeyRecord | undefined>
  /** What it reads may be older than a change that was announced meanwhile. */
  overtaken: boolean
}

/** A cache that is told about changes, and looks again after a while in case it was not. */
export function keyCache(options: KeyCacheOptions): KeyCache {
  const known = new Map<string, Entry<KeyRecord>>()
  // No message is about these: nobody makes a key that was tried before.
  const unknown = new Map<string, Entry<undefined>>()
  const flights = new Map<string, Flight>()
  let deaf = false

  function isFresh(entry: Entry<unknown>): boolean {
    const until = deaf ? entry.loadedAt + DEAF_MS : entry.expiresAt
    return options.clock.elapsed() < until
  }

  function keep(hash: string, record: KeyRecord | undefined): void {
    const loadedAt = options.clock.elapsed()
    if (record === undefined) {
      put(unknown, hash, { value: record, loadedAt, expiresAt: loadedAt + UNKNOWN_MS }, UNKNOWN_CAPACITY)
      return
    }
    const lifetime = KNOWN_MS * (1 - SPREAD + 2 * SPREAD * options.random())
    put(known, hash, { value: record, loadedAt, expiresAt: loadedAt + lifetime }, KNOWN_CAPACITY)
  }

  /** One query per key, however many requests wait for it. */
  function load(hash: string): Promise<KeyRecord | undefined> {
    const flying = flights.get(hash)
    if (flying !== undefined && !flying.overtaken) return flying.record
    const flight: Flight = { record: options.load(hash), overtaken: false }
    flights.set(hash, flight)
    const landed = () => {
      if (flights.get(hash) === flight) flights.delete(hash)
    }
    flight.record.then(record => {
      if (!flight.overtaken) keep(hash, record)
      landed()
    }, landed)
    return flight.record
  }

  function forget(hash: string): void {
    known.delete(hash)
    const flight = flights.get(hash)
    if (flight !== undefined) flight.overtaken = true
  }

  function forgetAccount(id: number): void {
    for (const [hash, entry] of known) if (entry.value.caller.accountId === id) known.delete(hash)
    // Whose keys these are is not known before they land.
    for (const flight of flights.values()) flight.overtaken = true
  }

  function forgetAll(): void {
    known.clear()
    for (const flight of flights.values()) flight.overtaken = true
  }

  return {
    async find(hash) {
      const entry = touch(known, hash) ?? touch(unknown, hash)
      return entry !== undefined && isFresh(entry) ? entry.value : load(hash)
    },
    known(hash) {
      const entry = touch(known, hash)
      return entry !== undefined && isFresh(entry) ? entry.value : undefined
    },
    has: hash => known.has(hash) || unknown.has(hash),
    onMessage(message) {
      const [subject, id = ''] = message.split(':')
      if (subject === 'key') forget(id)
      else if (subject === 'account') forgetAccount(Number(id))
      else forgetAll()
    },
    onConnect() {
      deaf = false
      forgetAll()
    },
    onLost() {
      deaf = true
    },
  }
}

/** The entry, which becomes the one used last. */
function touch<Value>(entries: Map<string, Entry<Value>>, hash: string): Entry<Value> | undefined {
  const entry = entries.get(hash)
  if (entry === undefined) return undefined
  entries.delete(hash)
  entries.set(hash, entry)
  return entry
}

/** Adds an entry at the expense of the one that was not used for longest. */
function put<Value>(
  entries: Map<string, Entry<Value>>,
  hash: string,
  entry: Entry<Value>,
  capacity: number,
): void {
  entries.delete(hash)
  entries.set(hash, entry)
  dropOldest(entries, capacity)
}
