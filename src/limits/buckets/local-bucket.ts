import {
  type BucketStore,
  LEASE_TTL_US,
  MOST_DEBT_US,
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

  /** `nowUs`: time that passed, in whole microseconds. */
  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  take({ id, buckets, leases }: Take): TakeResult {
    const now = this.#nowUs()
    const levelsUs: number[] = []
    const held: number[] = []
    let retryAfterUs = 0
    let refusedBy = 0
    let repeated = false
    for (const { key, costUs, burstUs } of buckets) {
      const levelUs = this.#read(key, now) - now
      const waitUs = levelUs + costUs - burstUs
      if (waitUs > retryAfterUs) {
        retryAfterUs = waitUs
        refusedBy = levelsUs.length
      }
      levelsUs.push(levelUs)
    }
    for (const { key, limit } of leases) {
      const members = this.#standing(key, now)
      const standing = members?.size ?? 0
      if (held.length === 0 && members?.has(id) === true) repeated = true
      if (standing >= limit && SLOT_WAIT_US > retryAfterUs) {
        retryAfterUs = SLOT_WAIT_US
        refusedBy = buckets.length + held.length
      }
      held.push(standing)
    }
    if (!repeated && retryAfterUs > 0) return { allowed: false, refusedBy, retryAfterUs, levelsUs, held }
    if (!repeated) this.#debit(buckets, levelsUs, now)
    this.#holdAll(leases, id, held, now)
    return { allowed: true, refusedBy: undefined, retryAfterUs: 0, levelsUs, held }
  }

  /** A debt (positive) or refund (negative) after the fact. A refund never makes a bucket more than full. */
  move(key: string, deltaUs: number): void {
    const now = this.#nowUs()
    const fullAt = Math.min(this.#read(key, now) + deltaUs, now + MOST_DEBT_US)
    if (fullAt > now) this.#fullAt.set(key, fullAt)
    else this.#fullAt.delete(key)
  }

  renew(key: string, ids: readonly string[]): void {
    const now = this.#nowUs()
    for (const id of ids) this.#hold(key, id, now)
  }

  /** A set that has become empty stays until `sweep`: its next member mostly comes at once. */
  release(keys: readonly string[], id: string): void {
    for (const key of keys) this.#leases.get(key)?.delete(id)
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
    for (const key of this.#leases.keys()) if (!this.#standing(key, now)?.size) this.#leases.delete(key)
  }

  #read(key: string, now: number): number {
    return Math.max(this.#fullAt.get(key) ?? now, now)
  }

  /** What a take costs; `levelsUs` are then those after it. */
  #debit(buckets: Take['buckets'], levelsUs: number[], now: number): void {
    let index = 0
    for (const { key, costUs } of buckets) {
      const levelUs = (levelsUs[index] ?? 0) + costUs
      if (costUs !== 0) this.#fullAt.set(key, now + levelUs)
      levelsUs[index] = levelUs
      index += 1
    }
  }

  /** A place in each; `held` are then those who stand with it. */
  #holdAll(leases: Take['leases'], id: string, held: number[], now: number): void {
    let index = 0
    for (const { key } of leases) {
      const members = this.#hold(key, id, now)
      held[index] = members.size
      index += 1
    }
  }

  /**
   * Those whose lease has not ended. Leases are in the order in which they end, since all last equally long: only the
   * first ones can be over.
   */
  #standing(key: string, now: number): ReadonlyMap<string, number> | undefined {
    const members = this.#leases.get(key)
    if (members === undefined) return undefined
    for (const [id, ends] of members) {
      if (ends > now) break
      members.delete(id)
    }
    return members
  }

  #hold(key: string, id: string, now: number): Map<string, number> {
    let members = this.#leases.get(key)
    if (members === undefined) {
      members = new Map()
      this.#leases.set(key, members)
    }
    members.delete(id)
    return members.set(id, now + LEASE_TTL_US)
  }
}
