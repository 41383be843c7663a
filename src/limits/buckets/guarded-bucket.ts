import type { Clock } from '@/clock/clock.ts'
import { type RedisConnection, RedisTimeout } from '@/redis/redis.ts'
import type { Adjustment, BucketStore, Take, TakeResult } from './bucket.ts'
import { Circuit } from './circuit.ts'
import { type Move, RedisBuckets } from './token-bucket.ts'

/** `onLost` and `onBack` take turns; both are called once Redis has been given up, or taken back. */
export interface GuardOptions {
  redis: RedisConnection
  clock: Clock
  namespace: string
  /** Calls under way beyond which no more should be made. */
  maxInFlight: number
  onLost: (reason: unknown) => void
  onBack: () => void
}

/** The buckets in Redis, and whether to ask them at all. */
export class GuardedBuckets implements BucketStore {
  readonly #buckets: RedisBuckets
  readonly #circuit: Circuit
  readonly #options: GuardOptions

  constructor(options: GuardOptions) {
    const { redis, clock, onLost, onBack } = options
    this.#options = options
    this.#buckets = new RedisBuckets(redis)
    this.#circuit = new Circuit({
      clock,
      probe: () => this.#probe(),
      onOpen: onLost,
      onClose: onBack,
    })
  }

  /** Waits for the first connection. Without one, or where nothing may be written, Redis counts as lost. */
  async start(waitMs: number): Promise<void> {
    const { redis } = this.#options
    if (!(await redis.whenReady(waitMs))) {
      return this.#circuit.open(redis.failure() ?? new Error('no connection yet'))
    }
    await this.#probe().catch(error => {
      // A first answer may take its time.
      if (!(error instanceof RedisTimeout)) this.#circuit.open(error)
    })
  }

  stop(): void {
    this.#circuit.stop()
  }

  get isAway(): boolean {
    return this.#circuit.isOpen
  }

  get isBusy(): boolean {
    return this.#circuit.underWay >= this.#options.maxInFlight
  }

  take(take: Take): Promise<TakeResult> {
    return this.#circuit.call(() => this.#buckets.take(take))
  }

  adjust(adjustment: Adjustment): Promise<boolean> {
    return this.#circuit.call(() => this.#buckets.adjust(adjustment))
  }

  catchUp(markerKey: string, sinceUs: number, moves: readonly Move[]): Promise<void> {
    return this.#circuit.call(() => this.#buckets.catchUp(markerKey, sinceUs, moves))
  }

  renew(key: string, ids: readonly string[]): Promise<void> {
    return this.#circuit.call(() => this.#buckets.renew(key, ids))
  }

  release(keys: readonly string[], id: string): Promise<void> {
    return this.#circuit.call(() => this.#buckets.release(keys, id))
  }

  /** An adjustment and a release in one call. */
  finish(adjustment: Adjustment, leaseKeys: readonly string[], id: string): Promise<void> {
    return this.#circuit.call(() => this.#buckets.finish(adjustment, leaseKeys, id))
  }

  /** Writes, since a replica or a full Redis answers a PING as well. */
  #probe(): Promise<void> {
    return this.#buckets.renew(`${this.#options.namespace}probe`, ['probe'])
  }
}
