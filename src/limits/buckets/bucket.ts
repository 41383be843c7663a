/**
 * What a limit is to the one who counts. A bucket is a single timestamp, the instant at which it will be full again
 * (GCRA): taking moves it into the future, time passes it by. Everything is in whole microseconds, so that Lua and
 * TypeScript agree to the last digit, and in time instead of units, so that a changed limit applies at once.
 */
export interface Bucket {
  readonly key: string
  /** How far one take moves the instant. */
  readonly costUs: number
  /** How far in the future the instant may be. */
  readonly burstUs: number
}

/** Running requests: members that expire unless they are renewed. */
export interface LeaseSet {
  readonly key: string
  /** Infinity counts and never refuses. */
  readonly limit: number
}

/** Everything one request needs; it gets all of it or nothing. All keys share one hash tag. */
export interface Take {
  /** The request; it is the member of the lease sets, and what makes a repeated take harmless. */
  readonly id: string
  readonly buckets: readonly Bucket[]
  /** At least one: a take whose first lease stands has happened, and is not debited again. */
  readonly leases: readonly LeaseSet[]
}

/** What a take from several buckets came to: all of it, or nothing. */
export interface TakeResult {
  readonly allowed: boolean
  /** Which one refused: an index into the buckets and, after them, the leases. The longest wait decides. */
  readonly refusedBy: number | undefined
  readonly retryAfterUs: number
  /** Of each bucket: time until it is full. After the take, if it was allowed. */
  readonly levelsUs: readonly number[]
  /** Of each lease set: members that stand. */
  readonly held: readonly number[]
}

/** How far a bucket's instant moves; back, if below zero. */
export interface Delta {
  readonly key: string
  readonly deltaUs: number
}

/** Where buckets are kept: Redis for all processes, or this process. */
export interface BucketStore {
  take(take: Take): TakeResult | Promise<TakeResult>
  /** Puts off the expiry of leases; one that is missing stands again. */
  renew(key: string, ids: readonly string[]): void | Promise<void>
  release(keys: readonly string[], id: string): void | Promise<void>
}

/** Limits are per minute, and so is the burst: a bucket that is full holds one minute's worth. */
export const WINDOW_US = 60_000_000

/** A lease that is not renewed for this long is free again: its process is gone. */
export const LEASE_TTL_US = 30_000_000

/** What a request waits for when slots are all taken: nobody knows when one will be free. */
export const SLOT_WAIT_US = 1_000_000

/** How long an adjustment is remembered. Whoever repeats one does so at once. */
export const MARKER_TTL_US = 60_000_000

/** Who used more than was believed waits no longer than this: a small limit does not make a long answer cost days. */
export const MOST_DEBT_US = 3_600_000_000

/**
 * One request of `limit` per minute. The interval is rounded up, and the burst with it: exactly `limit` fit at once,
 * and never more than `limit` a minute follow.
 */
export function requestSize(limit: number): Omit<Bucket, 'key'> {
  const intervalUs = Math.ceil(WINDOW_US / limit)
  return { costUs: intervalUs, burstUs: intervalUs * limit }
}

/** `tokens` of `limit` per minute, rounded up to the microsecond. */
export function tokenSize(limit: number, tokens: number): Omit<Bucket, 'key'> {
  return { costUs: tokenCostUs(limit, tokens), burstUs: WINDOW_US }
}

/** What that many tokens cost of a bucket that holds `limit`. */
export function tokenCostUs(limit: number, tokens: number): number {
  return Math.ceil((tokens * WINDOW_US) / limit)
}
