import type { Clock } from '@/clock/clock.ts'
import type { OnRedisDown } from '@/config/schema.ts'
import type { TakeResult } from '@/limits/buckets/bucket.ts'
import { GuardedBuckets } from '@/limits/buckets/guarded-bucket.ts'
import { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import { type RedisConnection, RedisTimeout } from '@/redis/redis.ts'
import type { Log } from '@/telemetry/log.ts'
import {
  type LimitAnswer,
  type Limited,
  type LimitGrant,
  type LimitLease,
  type LimitRefusal,
  type LimitState,
  limitStates,
  longerOf,
  refusal,
} from './answer.ts'
import { Arrears } from './arrears.ts'
import { BlockList } from './block-list.ts'
import { type Correction, OpenLeases } from './open-leases.ts'
import {
  corrections,
  correctionUs,
  debits,
  type LimitedRequest,
  neverFits,
  type Plan,
  planLimits,
  type Slot,
  shareOf,
} from './plan.ts'

/** What the limits are opened with. */
export interface LimiterOptions {
  /** Undefined: one process alone, which counts by itself. Stays the caller's to close. */
  redis: RedisConnection | undefined
  clock: Clock
  log: Pick<Log, 'info' | 'warn'>
  /** Gateway processes that are alive, for the shares while Redis is away. */
  processes?: () => number
  /** `limits.on_redis_down`; `share` unless said otherwise. */
  onRedisDown?: () => OnRedisDown
  /** What every key in Redis starts with. */
  namespace?: string | undefined
  /** Calls to Redis under way beyond which this process decides by its share. */
  maxInFlight?: number
}

const NAMESPACE = 'tollgate:'
const MAX_IN_FLIGHT = 4_000
const RENEW_MS = 10_000
const TELL_MS = 1_000
const FIRST_CONNECTION_MS = 1_000
const CLOSED_RETRY_MS = 1_000

/** Opens the limits. Waits a second at most for Redis; without it they start as they go on when Redis is lost. */
export async function openLimiter(options: LimiterOptions): Promise<Limiter> {
  const limiter = new Limiter(options)
  await limiter.start()
  return limiter
}

/** Who may come in, and how often. A request begins with `take` and ends with `end` or `refund`. Nothing here throws because of Redis. */
export class Limiter {
  readonly #options: LimiterOptions
  readonly #namespace: string
  readonly #local: LocalBuckets
  readonly #shared: GuardedBuckets | undefined
  readonly #leases: OpenLeases
  readonly #blocks: BlockList
  readonly #arrears: Arrears
  readonly #timers: (() => void)[] = []

  constructor(options: LimiterOptions) {
    const nowUs = () => options.clock.elapsed() * 1_000
    this.#options = options
    this.#namespace = options.namespace ?? NAMESPACE
    this.#local = new LocalBuckets(nowUs)
    this.#blocks = new BlockList(nowUs)
    this.#arrears = new Arrears(nowUs)
    this.#shared = this.#guard()
    this.#leases = new OpenLeases(this.#local, this.#shared, options.clock)
  }

  async start(): Promise<void> {
    const { clock } = this.#options
    this.#timers.push(clock.every(RENEW_MS, () => void this.renewAll()))
    this.#timers.push(clock.every(TELL_MS, () => void this.#tellArrears()))
    await this.#shared?.start(FIRST_CONNECTION_MS)
  }

  /** True while limits are counted without the Redis that should count them. */
  get isDegraded(): boolean {
    return this.#shared?.isAway ?? false
  }

  /** Takes from every limit of the request, or from none. Where this process counts by itself, the answer is there at once. */
  take(request: LimitedRequest): LimitAnswer | Promise<LimitAnswer> {
    const plan = planLimits(request, this.#namespace)
    const tooSmall = neverFits(plan)
    if (tooSmall !== undefined) return refusedForGood(tooSmall.name)
    const shared = this.#shared
    if (shared === undefined) return this.#takeHere(plan, 1)
    if (shared.isAway) return this.#takeWithoutRedis(plan)
    if (shared.isBusy) return this.#takeShare(plan)
    const blocked = this.#blocks.find(plan)
    if (blocked !== undefined) return blocked
    return this.#takeFromRedis(shared, plan)
  }

  /**
   * The end of a request that was served: what it really used takes the place of the estimate, and its slots are free.
   * A second call does nothing. Undefined: there is nothing to wait for.
   */
  end(lease: LimitLease, tokens: number): Promise<void> | undefined {
    return this.#end(lease, tokens)
  }

  /** Gives everything back: the request was turned away for another reason. Takes the place of `end`. */
  refund(lease: LimitLease): Promise<void> | undefined {
    return this.#end(lease, undefined)
  }

  /** Puts off the expiry of every open lease. Called every 10 s, and when Redis is back. */
  async renewAll(): Promise<void> {
    this.#local.sweep()
    this.#blocks.sweep()
    this.#arrears.sweep()
    await this.#leases.renewAll()
  }

  /** Ends the timers and frees what is still open. */
  async close(): Promise<void> {
    for (const stop of this.#timers) stop()
    await Promise.all([this.#tellArrears(), ...this.#leases.all.map(lease => this.#free(lease))])
    this.#shared?.stop()
  }

  #guard(): GuardedBuckets | undefined {
    const { redis, clock, log, maxInFlight = MAX_IN_FLIGHT } = this.#options
    if (redis === undefined) return undefined
    return new GuardedBuckets({
      redis,
      clock,
      namespace: this.#namespace,
      maxInFlight,
      onLost: err => log.warn({ err, mode: this.#mode() }, 'Redis is away: limits are counted without it'),
      onBack: () => {
        log.info('Redis is back: limits are counted there again')
        void this.#tellArrears()
        void this.renewAll()
      },
    })
  }

  /** All or none over two slots: what the first gave is given back where the second refuses or fails. */
  async #takeFromRedis(shared: GuardedBuckets, plan: Plan): Promise<LimitAnswer> {
    const limits: LimitState[] = []
    const taken: SlotAnswer[] = []
    for (const [index, slot] of plan.slots.entries()) {
      let result: TakeResult
      try {
        result = await shared.buckets.take(slot)
      } catch (error) {
        return this.#takeAfterFailure(plan, taken, slot, error)
      }
      limits.push(...limitStates(slot, result, 1))
      if (!result.allowed) {
        this.#mirror({ slot, result })
        for (const one of taken) this.#mirrorWithout(one)
        // Remembered before anything else is waited for, in which what is given back meanwhile would be missed.
        const refused = this.#blocked({ slot, result }, limits)
        const held = { ...plan, slots: taken.map(({ slot }) => slot) }
        if (taken.length > 0) await this.#giveBack(held, this.#unblocking(held), !shared.isAway)
        const others = await this.#look(shared, plan.slots.slice(index + 1))
        for (const other of others) limits.push(...limitStates(other.slot, other.result, 1))
        return this.#longest(refused, others, limits)
      }
      taken.push({ slot, result })
    }
    for (const one of taken) this.#mirror(one)
    return this.#grant(plan, 'redis', 1, limits)
  }

  #takeAfterFailure(plan: Plan, taken: readonly SlotAnswer[], failed: Slot, error: unknown): LimitAnswer {
    for (const one of taken) {
      this.#mirrorWithout(one)
      this.#arrears.add(one.slot, corrections(one.slot))
    }
    // Redis carries out a command that timed out here once it goes on, so it is not told of it as arrears as well.
    const answer = this.#takeWithoutRedis(plan, error instanceof RedisTimeout ? failed : undefined)
    // Redis may have let it in, and only its answer was lost.
    if (!answer.allowed) void this.#leases.releaseInRedis(plan)
    return answer
  }

  /** `told`: the slot that Redis was asked for and may have taken all the same. */
  #takeWithoutRedis(plan: Plan, told?: Slot): LimitAnswer {
    switch (this.#mode()) {
      case 'share':
        return this.#takeShare(plan, told)
      case 'open':
        return this.#grant(plan, 'nobody', 1, [])
      case 'closed':
        return CLOSED
    }
  }

  #takeShare(plan: Plan, told?: Slot): LimitAnswer {
    const answer = this.#takeHere(plan, Math.max(1, this.#options.processes?.() ?? 1))
    if (!answer.allowed) return answer
    for (const slot of plan.slots) if (slot !== told) this.#arrears.add(slot, debits(slot))
    return answer
  }

  #takeHere(plan: Plan, share: number): LimitAnswer {
    const result = this.#local.take(shareOf(plan, share))
    const limited = limitedBy(plan)
    const limits = limitStates(limited, result, share)
    if (!result.allowed) {
      return { ...refusal(limited, result), limits, degraded: this.#shared !== undefined }
    }
    return this.#grant(plan, 'process', share, limits)
  }

  #grant(
    plan: Plan,
    countedBy: LimitLease['countedBy'],
    share: number,
    limits: readonly LimitState[],
  ): LimitGrant {
    const lease: LimitLease = { id: plan.id, plan, countedBy, share }
    this.#leases.add(lease)
    return { allowed: true, lease, limits, degraded: this.#shared !== undefined && countedBy !== 'redis' }
  }

  /** Keeps this process at the level of Redis for the moment when it is lost: nobody gets a fresh burst then. */
  #mirror({ slot, result }: SlotAnswer): void {
    for (const [index, { key }] of slot.buckets.entries()) {
      this.#local.mirror(key, result.levelsUs[index] ?? 0)
    }
  }

  /** The same where what was taken is given back: at the level without it. */
  #mirrorWithout({ slot, result }: SlotAnswer): void {
    for (const [index, { key, costUs }] of slot.buckets.entries()) {
      this.#local.mirror(key, (result.levelsUs[index] ?? 0) - costUs)
    }
  }

  /** How slots stand of which nothing is taken, as far as Redis tells. */
  async #look({ buckets }: GuardedBuckets, slots: readonly Slot[]): Promise<SlotAnswer[]> {
    const looks = await Promise.allSettled(
      slots.map(async slot => ({ slot, result: await buckets.look(slot) })),
    )
    return looks.flatMap(look => (look.status === 'fulfilled' ? [look.value] : []))
  }

  /** The refusal that makes it wait longest, of the one that came and of slots that would have refused as well. */
  #longest(refused: LimitRefusal, others: readonly SlotAnswer[], limits: LimitState[]): LimitRefusal {
    let longest = refused
    for (const other of others) {
      if (!other.result.allowed) longest = longerOf(longest, this.#blocked(other, limits))
    }
    return longest
  }

  /** The refusal of a slot, and remembers it. */
  #blocked({ slot, result }: SlotAnswer, limits: LimitState[]): LimitRefusal {
    const answer: LimitRefusal = { ...refusal(slot, result), limits, degraded: false }
    const index = result.refusedBy ?? 0
    const bucket = slot.buckets[index]
    const lease = slot.leases[index - slot.buckets.length]
    if (bucket !== undefined) this.#blocks.addBucket(bucket.key, bucket.costUs, result.retryAfterUs, answer)
    else if (lease !== undefined) this.#blocks.addLease(lease.key, answer)
    return answer
  }

  /** `tokens` undefined gives everything back. */
  #end(lease: LimitLease, tokens: number | undefined): Promise<void> | undefined {
    if (!this.#leases.remove(lease)) return undefined
    this.#correctHere(lease, tokens)
    const shared = this.#shared
    if (shared === undefined) return undefined
    const { countedBy, plan } = lease
    const correction = this.#unblocking(plan, tokens)
    if (countedBy === 'nobody') return this.#leases.releaseInRedis(plan)
    return this.#giveBack(plan, correction, countedBy === 'redis' && !shared.isAway)
  }

  /** The correction of a plan that is over; what it gives back is no longer known to be used up. */
  #unblocking(plan: Plan, tokens?: number): Correction {
    this.#blocks.forgetLeases(plan)
    return slot => {
      const deltas = corrections(slot, tokens)
      this.#blocks.forget(deltas.map(({ key }) => key))
      return deltas
    }
  }

  /** Tells Redis what a plan gives back: now, or with the arrears where Redis did not count it or is away. */
  #giveBack(plan: Plan, correction: Correction, isNow: boolean): Promise<void> {
    if (isNow) return this.#leases.releaseInRedis(plan, correction)
    for (const slot of plan.slots) this.#arrears.add(slot, correction(slot))
    return this.#leases.releaseInRedis(plan)
  }

  /** Frees the slots of a request that is still open when the process ends; its estimate stands. */
  #free(lease: LimitLease): Promise<void> {
    this.#leases.remove(lease)
    return this.#leases.releaseInRedis(lease.plan)
  }

  /** In the buckets of this process, which follow those of Redis. */
  #correctHere({ countedBy, share, plan }: LimitLease, tokens: number | undefined): void {
    if (countedBy === 'nobody') return
    for (const { buckets } of plan.slots) {
      for (const bucket of buckets) {
        const deltaUs = correctionUs(bucket, tokens) * share
        if (deltaUs !== 0) this.#local.move(bucket.key, deltaUs)
      }
    }
  }

  async #tellArrears(): Promise<void> {
    const shared = this.#shared
    if (shared === undefined || shared.isAway || this.#arrears.isEmpty) return
    await this.#arrears.tell(shared)
  }

  #mode(): OnRedisDown {
    return this.#options.onRedisDown?.() ?? 'share'
  }
}

/** What Redis answered of a slot. */
interface SlotAnswer {
  readonly slot: Slot
  readonly result: TakeResult
}

/** All that a plan takes from, in the order of its slots. */
function limitedBy({ slots }: Plan): Limited {
  const [only] = slots
  if (slots.length === 1 && only !== undefined) return only
  return {
    buckets: slots.flatMap(({ buckets }) => buckets),
    leases: slots.flatMap(({ leases }) => leases),
  }
}

const CLOSED: LimitRefusal = {
  allowed: false,
  bucket: undefined,
  retryAfterMs: CLOSED_RETRY_MS,
  never: false,
  limits: [],
  degraded: true,
}

function refusedForGood(bucket: LimitRefusal['bucket']): LimitRefusal {
  return { allowed: false, bucket, retryAfterMs: 0, never: true, limits: [], degraded: false }
}
