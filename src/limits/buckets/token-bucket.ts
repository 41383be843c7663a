import { type RedisConnection, redisScript } from '@/redis/redis.ts'
import {
  type BucketStore,
  type Delta,
  LEASE_TTL_US,
  MARKER_TTL_US,
  MOST_DEBT_US,
  SLOT_WAIT_US,
  type Take,
  type TakeResult,
} from './bucket.ts'
import { type Step, StepBatches, type Word } from './step-batches.ts'
import source from './token-bucket.lua' with { type: 'text' }

const SCRIPT = redisScript(source)

/** Debts (positive) or refunds (negative) after the fact, at most once for each marker. */
interface Adjustment {
  /** Shares the hash tag of the buckets; remembers that it was done. */
  readonly markerKey: string
  readonly buckets: readonly Delta[]
}

/** What a bucket moved by without Redis, and where it is empty. */
interface Move extends Delta {
  readonly burstUs: number
}

/** Makes a call to Redis that names this key, and may look at how it goes. */
type Guard = <Answer>(key: string, call: () => Promise<Answer>) => Promise<Answer>

/** What a sorted set can be asked to hold, for a limit that never refuses. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

/** Members per call, well below what Lua can unpack. */
const RENEW_CHUNK = 1_000

/**
 * Buckets in Redis, for all processes together, by the clock of Redis. Whatever goes wrong is thrown as `redis` threw
 * it; the step may then have happened all the same, and may be repeated.
 */
export class RedisBuckets implements BucketStore {
  readonly #steps: StepBatches
  readonly #guard: Guard

  /**
   * @param guard makes each call to Redis
   * @param nowUs takes the place of the clock of Redis; for tests that set the time
   */
  constructor(
    redis: RedisConnection,
    guard: Guard = (_key, call) => call(),
    nowUs: () => number | '' = () => '',
  ) {
    this.#guard = guard
    this.#steps = new StepBatches(redis, SCRIPT, () => [
      nowUs(),
      LEASE_TTL_US,
      SLOT_WAIT_US,
      MARKER_TTL_US,
      MOST_DEBT_US,
    ])
  }

  take(take: Take): Promise<TakeResult> {
    return this.#ask('take', take)
  }

  /** What a take would come to now. It takes nothing. */
  look(take: Take): Promise<TakeResult> {
    return this.#ask('look', take)
  }

  /**
   * Makes up for what was counted elsewhere, the first of it `sinceUs` ago: a bucket that was not told of it has
   * filled up meanwhile. At most to where the bucket is empty. Once for each marker.
   */
  catchUp(markerKey: string, sinceUs: number, moves: readonly Move[]): Promise<void> {
    return this.#tell(markerKey, place => [
      'catch_up',
      place(markerKey),
      sinceUs,
      ...moves.flatMap(({ key, deltaUs, burstUs }) => [place(key), deltaUs, burstUs]),
    ])
  }

  async renew(key: string, ids: readonly string[]): Promise<void> {
    const chunks: (readonly string[])[] = []
    for (let at = 0; at < ids.length; at += RENEW_CHUNK) chunks.push(ids.slice(at, at + RENEW_CHUNK))
    await Promise.all(chunks.map(chunk => this.#tell(key, place => ['renew', place(key), ...chunk])))
  }

  release(keys: readonly string[], id: string): Promise<void> {
    return this.#tell(keys[0] ?? '', place => ['release', id, ...keys.map(place)])
  }

  /** Releases leases and moves buckets in one step; the keys share one hash tag. A refund never makes a bucket more than full. */
  finish({ markerKey, buckets }: Adjustment, leaseKeys: readonly string[], id: string): Promise<void> {
    return this.#tell(markerKey, place => {
      const words: Word[] = ['finish', id, place(markerKey), buckets.length]
      for (const { key, deltaUs } of buckets) words.push(place(key), deltaUs)
      for (const key of leaseKeys) words.push(place(key))
      return words
    })
  }

  #ask(operation: 'take' | 'look', { id, buckets, leases }: Take): Promise<TakeResult> {
    const [first] = leases
    return this.#submit({
      key: first?.key ?? '',
      width: 3 + buckets.length + leases.length,
      write(place) {
        const words: Word[] = [operation, id, buckets.length]
        for (const { key, costUs, burstUs } of buckets) words.push(place(key), costUs, burstUs)
        for (const { key, limit } of leases) words.push(place(key), Math.min(limit, UNLIMITED))
        return words
      },
      read(integers) {
        const [allowed, refusedBy = 0, retryAfterUs = 0] = integers
        const heldAt = 3 + buckets.length
        return {
          allowed: allowed === 1,
          refusedBy: allowed === 1 ? undefined : refusedBy - 1,
          retryAfterUs,
          levelsUs: integers.slice(3, heldAt),
          held: integers.slice(heldAt),
        }
      },
    })
  }

  /** A step whose answer says nothing that anybody asks. */
  #tell(key: string, write: Step<void>['write']): Promise<void> {
    return this.#submit({ key, width: 1, write, read: () => {} })
  }

  #submit<Answer>(step: Step<Answer>): Promise<Answer> {
    return this.#guard(step.key, () => this.#steps.submit(step))
  }
}
