import type { Clock } from '@/clock/clock.ts'
import { type RedisConnection, RedisTimeout } from '@/redis/redis.ts'
import { Circuit } from './circuit.ts'
import { tagIn } from './step-batches.ts'
import { RedisBuckets } from './token-bucket.ts'

/** `onLost` and `onBack` take turns; both are called once Redis has been given up, or taken back. */
interface GuardOptions {
  redis: RedisConnection
  clock: Clock
  namespace: string
  /** Calls under way beyond which no more should be made. */
  maxInFlight: number
  onLost: (reason: unknown) => void
  onBack: () => void
}

/** The buckets in Redis, and whether to ask them at all. */
export class GuardedBuckets {
  readonly buckets: RedisBuckets
  /** The same for probes, of which the circuit asks itself how they went. */
  readonly #probed: RedisBuckets
  readonly #circuit: Circuit
  readonly #options: GuardOptions

  constructor(options: GuardOptions) {
    const { redis, clock, onLost, onBack } = options
    this.#options = options
    this.#probed = new RedisBuckets(redis)
    this.buckets = new RedisBuckets(redis, (key, call) => this.#circuit.call(key, call))
    this.#circuit = new Circuit({
      clock,
      probe: failed => this.#probe(failed),
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

  /**
   * Writes, since a replica or a full Redis answers a PING as well; of a cluster to the node that has the key that failed,
   * since the others answer while it is gone.
   */
  #probe(failed = ''): Promise<void> {
    return this.#probed.renew(`${this.#options.namespace}probe${tagIn(failed)}`, ['probe'])
  }
}
