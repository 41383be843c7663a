import {
  type Adjustment,
  type BucketStore,
  LEASE_TTL_US,
  MARKER_TTL_US,
  SLOT_WAIT_US,
  type Take,
  type TakeResult,
} from './bucket.ts'

/** Buckets of this process alone: token-bucket.lua, line by line, on maps. */
export class LocalBuckets implements BucketStore {
  readonly #nowUs: () => number
  /** Instant at which the bucket is full, in microseconds; none is a full bucket. */
  readonly #fullAt = new Map<string, number>()
  /** Instant at which each lease ends. */
  readonly #leases = new Map<string, Map<string, number>>()
  readonly #markers = new Map<string, number>()

  /** `nowUs`: whole microseconds of a clock that nobody sets. */
  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  take({ id, buckets, leases }: Take): TakeResult {
    const now = this.#nowUs()
    const { retryAfterUs, refusedBy } = this.#longestWait(id, buckets, leases, now)
    const [first] = leases
    const repeated = first !== undefined && this.#stands(first.key, id, now)
    const allowed = repeated || retryAfterUs === 0
    if (allowed) {
      if (!repeated) for (const { key, costUs } of buckets) this.#move(key, costUs, now)
      for (const { key } of leases) this.#holdOne(key, id, now)
    }
    return {
      allowed,
      refusedBy: allowed ? undefined : refusedBy,
      retryAfterUs: allowed ? 0 : retryAfterUs,
      levelsUs: buckets.map(({ key }) => this.#read(key, now) - now),
      held: leases.map(({ key }) => this.#standing(key, now)),
    }
  }

  /** How long everything would have to wait, and which of it the longest; the first of those that are as long. */
  #longestWait(
    id: string,
    buckets: Take['buckets'],
    leases: Take['leases'],
    now: number,
  ): { retryAfterUs: number; refusedBy: number } {
    let longest = { retryAfterUs: 0, refusedBy: 0 }
    for (const [index, { key, costUs, burstUs }] of buckets.entries()) {
      const wait = this.#read(key, now) + costUs - now - burstUs
      if (wait > longest.retryAfterUs) longest = { retryAfterUs: wait, refusedBy: index }
    }
    for (const [index, { key, limit }] of leases.entries()) {
      if (limit === Number.POSITIVE_INFINITY || this.#hasSlot(key, id, limit, now)) continue
      if (SLOT_WAIT_US > longest.retryAfterUs)
        longest = { retryAfterUs: SLOT_WAIT_US, refusedBy: buckets.length + index }
    }
    return longest
  }

  adjust({ markerKey, buckets }: Adjustment): boolean {
    const now = this.#nowUs()
    if ((this.#markers.get(markerKey) ?? now) > now) return false
    this.#markers.set(markerKey, now + MARKER_TTL_US)
    for (const { key, deltaUs } of buckets) this.#move(key, deltaUs, now)
    return true
  }

  /** An adjustment of which the caller knows that it is made once. */
  adjustOnce(buckets: Adjustment['buckets']): void {
    const now = this.#nowUs()
    for (const { key, deltaUs } of buckets) this.#move(key, deltaUs, now)
  }

  renew(key: string, ids: readonly string[]): void {
    this.#hold(key, ids, this.#nowUs())
  }

  release(keys: readonly string[], id: string): void {
    for (const key of keys) {
      const members = this.#leases.get(key)
      members?.delete(id)
      if (members?.size === 0) this.#leases.delete(key)
    }
  }

  /** Takes over what Redis said of a bucket, unless more was taken here than Redis knows of. */
  mirror(key: string, levelUs: number): void {
    const now = this.#nowUs()
    if (now + levelUs > this.#read(key, now)) this.#fullAt.set(key, now + levelUs)
  }

  /** Forgets what time has made meaningless. Decisions do not depend on it. */
  sweep(): void {
    const now = this.#nowUs()
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key)
    for (const [key, until] of this.#markers) if (until <= now) this.#markers.delete(key)
    for (const key of this.#leases.keys()) if (this.#standing(key, now) === 0) this.#leases.delete(key)
  }

  /** Entries of all kinds, for tests and metrics. */
  get size(): number {
    let leases = 0
    for (const members of this.#leases.values()) leases += members.size
    return this.#fullAt.size + this.#markers.size + leases
  }

  #read(key: string, now: number): number {
    return Math.max(this.#fullAt.get(key) ?? now, now)
  }

  #move(key: string, deltaUs: number, now: number): void {
    const fullAt = this.#read(key, now) + deltaUs
    if (fullAt > now) this.#fullAt.set(key, fullAt)
    else this.#fullAt.delete(key)
  }

  #hasSlot(key: string, id: string, limit: number, now: number): boolean {
    return this.#stands(key, id, now) || this.#standing(key, now) < limit
  }

  #stands(key: string, id: string, now: number): boolean {
    return (this.#leases.get(key)?.get(id) ?? now) > now
  }

  /** Leases are in the order in which they end, since all last equally long: only the first ones can be over. */
  #standing(key: string, now: number): number {
    const members = this.#leases.get(key)
    for (const [id, ends] of members ?? []) {
      if (ends > now) break
      members?.delete(id)
    }
    return members?.size ?? 0
  }

  #hold(key: string, ids: readonly string[], now: number): void {
    const members = this.#leases.get(key) ?? new Map<string, number>()
    this.#leases.set(key, members)
    for (const id of ids) this.#holdIn(members, id, now)
  }

  #holdOne(key: string, id: string, now: number): void {
    let members = this.#leases.get(key)
    if (members === undefined) {
      members = new Map()
      this.#leases.set(key, members)
    }
    this.#holdIn(members, id, now)
  }

  #holdIn(members: Map<string, number>, id: string, now: number): void {
    members.delete(id)
    members.set(id, now + LEASE_TTL_US)
  }
}
