import { seededRandom } from '#tests/support/random.ts'
import {
  type BucketStore,
  type Delta,
  requestSize,
  type Take,
  type TakeResult,
  tokenSize,
} from '@/limits/buckets/bucket.ts'
import { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import { RedisBuckets } from '@/limits/buckets/token-bucket.ts'
import type { RedisConnection } from '@/redis/redis.ts'

/** One step of a random trace. */
type Step = { afterUs: number; id: string } & (
  | {
      kind: 'take'
      requestsPerMinute: number
      tokensPerMinute: number
      tokens: number
      concurrent: number
    }
  | { kind: 'move'; deltaUs: number }
  | { kind: 'renew' }
  | { kind: 'release' }
)

/** A trace that is the same for the same seed: few ids, so that they meet again; limits that change on the way. */
function randomSteps(seed: number, length: number): Step[] {
  const random = seededRandom(seed)
  const whole = (below: number) => Math.floor(random() * below)
  const requestLimits = [1 + whole(20), 1 + whole(2_000)]
  const tokenLimits = [100 + whole(5_000), 1 + whole(10_000_000)]
  return Array.from({ length }, () => {
    const common = { afterUs: random() < 0.4 ? 0 : whole(10 ** (1 + whole(8))), id: `r${whole(12)}` }
    const kind = whole(10)
    if (kind < 6) {
      return {
        ...common,
        kind: 'take',
        requestsPerMinute: pick(requestLimits, random()),
        tokensPerMinute: pick(tokenLimits, random()),
        tokens: whole(2_000),
        concurrent: 1 + whole(6),
      }
    }
    if (kind < 8) return { ...common, kind: 'move', deltaUs: whole(40_000_000) - 20_000_000 }
    return { ...common, kind: kind === 8 ? 'renew' : 'release' }
  })
}

function pick(values: readonly number[], random: number): number {
  return values[Math.floor(random * values.length)] ?? 1
}

/**
 * What Redis and this process answer to the same trace, at the same times. Steps of one instant come in the same turn
 * of the event loop, so that Redis gets them in one call.
 */
export async function playOnBoth(redis: RedisConnection, seed: number, length: number, prefix: string) {
  const steps = randomSteps(seed, length)
  let now = 0
  const played = (store: BucketStore, move: Move) => {
    now = 1_700_000_000_000_000
    return play({ store, move }, steps, prefix, us => {
      now += us
    })
  }
  const inRedis = new RedisBuckets(redis, undefined, () => now)
  const here = new LocalBuckets(() => now)
  const shared = await played(inRedis, delta =>
    inRedis.finish({ markerKey: `${prefix}moved:${crypto.randomUUID()}`, buckets: [delta] }, [], ''),
  )
  const local = await played(here, ({ key, deltaUs }) => here.move(key, deltaUs))
  return { shared, local }
}

/** How a store is told of a debt or a refund after the fact. */
type Move = (delta: Delta) => void | Promise<void>

async function play(
  rig: { store: BucketStore; move: Move },
  steps: readonly Step[],
  prefix: string,
  advanceUs: (us: number) => void,
): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const step of steps) {
    // The time of a call is that of when it is made.
    if (step.afterUs > 0) await Promise.all(answers)
    advanceUs(step.afterUs)
    answers.push(answer(rig, step, prefix))
  }
  return Promise.all(answers)
}

function answer({ store, move }: { store: BucketStore; move: Move }, step: Step, prefix: string) {
  const leases = [`${prefix}cc`, `${prefix}k1:cc`]
  switch (step.kind) {
    case 'take':
      return store.take(traceTake(step, prefix, leases)) satisfies TakeResult | Promise<TakeResult>
    case 'move':
      return move({ key: `${prefix}tpm`, deltaUs: step.deltaUs })
    case 'renew':
      return store.renew(`${prefix}cc`, [step.id])
    case 'release':
      return store.release(leases, step.id)
  }
}

function traceTake(step: Extract<Step, { kind: 'take' }>, prefix: string, leases: readonly string[]): Take {
  return {
    id: step.id,
    buckets: [
      { key: `${prefix}rpm`, ...requestSize(step.requestsPerMinute) },
      { key: `${prefix}tpm`, ...tokenSize(step.tokensPerMinute, step.tokens) },
    ],
    leases: leases.map(key => ({ key, limit: step.concurrent })),
  }
}
