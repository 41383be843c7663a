import { type RedisConnection, redisScript } from '@/redis/redis.ts'
import {
  type Adjustment,
  type BucketStore,
  type Delta,
  LEASE_TTL_US,
  MARKER_TTL_US,
  SLOT_WAIT_US,
  type Take,
  type TakeResult,
} from './bucket.ts'
import source from './token-bucket.lua' with { type: 'text' }

const SCRIPT = redisScript(source)

/** What a bucket moved by without Redis, and where it is empty. */
export interface Move extends Delta {
  readonly burstUs: number
}

/** What a sorted set can be asked to hold, for a limit that never refuses. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

/** Members per call, well below what Lua can unpack. */
const RENEW_CHUNK = 1_000

/**
 * Buckets in Redis, for all processes together, by the clock of Redis. Whatever goes wrong is thrown as `redis` threw
 * it; the step may then have happened all the same, and may be repeated.
 */
export class RedisBuckets implements BucketStore {
  readonly #redis: RedisConnection
  readonly #nowUs: () => number | ''

  /** `nowUs` takes the place of the clock of Redis; for tests that set the time. */
  constructor(redis: RedisConnection, nowUs: () => number | '' = () => '') {
    this.#redis = redis
    this.#nowUs = nowUs
  }

  async take({ id, buckets, leases }: Take): Promise<TakeResult> {
    const keys = [...buckets, ...leases].map(({ key }) => key)
    const reply = await this.#run('take', keys, [
      id,
      LEASE_TTL_US,
      SLOT_WAIT_US,
      buckets.length,
      ...buckets.flatMap(({ costUs, burstUs }) => [costUs, burstUs]),
      ...leases.map(({ limit }) => Math.min(limit, UNLIMITED)),
    ])
    const [allowed, refusedBy = 0, retryAfterUs = 0, ...rest] = integers(reply)
    return {
      allowed: allowed === 1,
      refusedBy: allowed === 1 ? undefined : refusedBy - 1,
      retryAfterUs,
      levelsUs: rest.slice(0, buckets.length),
      held: rest.slice(buckets.length),
    }
  }

  async adjust({ markerKey, buckets }: Adjustment): Promise<boolean> {
    const keys = [markerKey, ...buckets.map(({ key }) => key)]
    const deltas = buckets.map(({ deltaUs }) => deltaUs)
    return (await this.#run('adjust', keys, [MARKER_TTL_US, ...deltas])) === 1
  }

  /**
   * Makes up for what was counted elsewhere, the first of it `sinceUs` ago: a bucket that was not told of it has
   * filled up meanwhile. At most to where the bucket is empty. Once for each marker.
   */
  async catchUp(markerKey: string, sinceUs: number, moves: readonly Move[]): Promise<void> {
    const keys = [markerKey, ...moves.map(({ key }) => key)]
    const sizes = moves.flatMap(({ deltaUs, burstUs }) => [deltaUs, burstUs])
    await this.#run('catch_up', keys, [MARKER_TTL_US, sinceUs, ...sizes])
  }

  async renew(key: string, ids: readonly string[]): Promise<void> {
    const chunks: (readonly string[])[] = []
    for (let at = 0; at < ids.length; at += RENEW_CHUNK) chunks.push(ids.slice(at, at + RENEW_CHUNK))
    await Promise.all(chunks.map(chunk => this.#run('renew', [key], [LEASE_TTL_US, ...chunk])))
  }

  async release(keys: readonly string[], id: string): Promise<void> {
    await this.#run('release', keys, [id])
  }

  /** `adjust` and `release` in one step. The keys share one hash tag with the adjustment's. */
  async finish({ markerKey, buckets }: Adjustment, leaseKeys: readonly string[], id: string): Promise<void> {
    const keys = [markerKey, ...buckets.map(({ key }) => key), ...leaseKeys]
    const deltas = buckets.map(({ deltaUs }) => deltaUs)
    await this.#run('finish', keys, [MARKER_TTL_US, id, ...deltas])
  }

  #run(operation: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#redis.run(SCRIPT, keys, [operation, this.#nowUs(), ...args])
  }
}

function integers(reply: unknown): number[] {
  if (Array.isArray(reply) && reply.every(item => typeof item === 'number')) return reply
  throw new TypeError(`the limit script answered ${JSON.stringify(reply)}`)
}
