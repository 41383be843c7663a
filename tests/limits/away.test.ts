import { describe, expect, test } from 'bun:test'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import type { OnRedisDown } from '@/config/schema.ts'
import { LEASE_TTL_US } from '@/limits/buckets/bucket.ts'
import { type LimiterOptions, openLimiter } from '@/limits/limiter.ts'
import { type RedisConnection, RedisTimeout } from '@/redis/redis.ts'
import { ask, granted, refused } from './limited.ts'
import { type SaidStep, saidSteps } from './said-steps.ts'

const SILENT = { info: () => {}, warn: () => {} }

type Behaviour = 'works' | 'fails' | 'silent' | 'late'

/** A Redis that does what it is told, and lets everything in as long as it works. */
class ScriptedRedis implements RedisConnection {
  behaviour: Behaviour = 'works'
  levelUs = 0
  readonly calls: string[] = []
  /** What it was told of the time when it was away: keys, then words, of each step. */
  readonly caughtUp: unknown[][] = []

  async run(_: unknown, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const steps = saidSteps(keys, args)
    for (const { operation, keys } of steps) this.calls.push(`${operation} ${keys.join(' ')}`)
    if (this.behaviour === 'fails') throw new Error('Connection is closed.')
    if (this.behaviour === 'silent') throw new RedisTimeout('silent')
    for (const { operation, keys, words } of steps)
      if (operation === 'catch_up') this.caughtUp.push([...keys.slice(1), ...words.slice(1)])
    return steps.flatMap(step => this.answer(step))
  }

  answer({ operation, keys, words }: SaidStep): unknown[] {
    if (operation !== 'take') return [1]
    return [1, 0, 0, ...keys.map((_, index) => (index < Number(words[1]) ? this.levelUs : 1))]
  }

  ping = async () => this.behaviour === 'works'
  whenReady = async () => this.behaviour === 'works'
  failure = () => undefined
  close = async () => {}

  count(operation: string): number {
    return this.calls.filter(call => call.startsWith(operation)).length
  }
}

async function rig(options: Partial<LimiterOptions> = {}) {
  const clock: ManualClock = manualClock()
  const redis = new ScriptedRedis()
  const limiter = await openLimiter({
    redis,
    clock,
    log: SILENT,
    processes: () => 4,
    namespace: '',
    ...options,
  })
  redis.calls.length = 0
  /** As many turns of the event loop as calls make that follow one another. */
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>(resolve => setImmediate(resolve))
  }
  return { clock, redis, limiter, settle }
}

const HUNDRED = { accountLimits: { requestsPerMinute: 100 } }

describe('when Redis fails', () => {
  test('nobody notices: each failed call is decided here', async () => {
    const { limiter, redis } = await rig()
    redis.behaviour = 'fails'
    for (let count = 0; count < 10; count++) {
      expect(granted(await limiter.take(ask(HUNDRED))).degraded).toBe(true)
    }
  })

  test('it is not asked after three errors in a row', async () => {
    const { limiter, redis } = await rig()
    redis.behaviour = 'fails'
    for (let count = 0; count < 10; count++) await limiter.take(ask(HUNDRED))
    expect(redis.count('take')).toBe(3)
    expect(limiter.isDegraded).toBe(true)
  })

  test('two errors and an answer are no outage', async () => {
    const { limiter, redis } = await rig()
    for (const behaviour of ['fails', 'fails', 'works', 'fails', 'fails'] as const) {
      redis.behaviour = behaviour
      await limiter.take(ask(HUNDRED))
    }
    expect(limiter.isDegraded).toBe(false)
  })

  test('one command without any answer is enough', async () => {
    const { limiter, redis } = await rig()
    redis.behaviour = 'silent'
    granted(await limiter.take(ask(HUNDRED)))
    expect(limiter.isDegraded).toBe(true)
  })

  test('it is asked again as soon as it works', async () => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'silent'
    await limiter.take(ask(HUNDRED))
    clock.advance(250)
    await settle()
    expect(limiter.isDegraded).toBe(true)
    redis.behaviour = 'works'
    clock.advance(250)
    await settle()
    expect(limiter.isDegraded).toBe(false)
    expect(granted(await limiter.take(ask(HUNDRED))).degraded).toBe(false)
  })

  test('a Redis that is away from the start does not keep the gateway from starting', async () => {
    const redis = new ScriptedRedis()
    redis.behaviour = 'fails'
    const { limiter } = await rig({ redis })
    expect(limiter.isDegraded).toBe(true)
    granted(await limiter.take(ask(HUNDRED)))
  })

  test('one that takes no writes, or none of ours, is away from the start, and the log says why', async () => {
    const redis = new ScriptedRedis()
    redis.whenReady = async () => true
    redis.behaviour = 'fails'
    const warned: unknown[] = []
    const log = { ...SILENT, warn: (line: object) => warned.push(line) }
    const { limiter } = await rig({ redis, log })
    expect(limiter.isDegraded).toBe(true)
    expect(warned).toMatchObject([{ err: { message: 'Connection is closed.' } }])
  })

  test('one whose first connection takes its time is waited for', async () => {
    const redis = new ScriptedRedis()
    redis.behaviour = 'fails'
    redis.whenReady = async () => {
      redis.behaviour = 'works'
      return true
    }
    const { limiter } = await rig({ redis })
    expect(limiter.isDegraded).toBe(false)
  })

  test('one whose first answer is late is asked all the same', async () => {
    const redis = new ScriptedRedis()
    redis.whenReady = async () => true
    redis.behaviour = 'silent'
    const { limiter } = await rig({ redis })
    redis.behaviour = 'works'
    expect(granted(await limiter.take(ask(HUNDRED))).degraded).toBe(false)
    expect(redis.count('take')).toBe(1)
  })
})

describe('while Redis is away', () => {
  async function away(mode: OnRedisDown = 'share') {
    const opened = await rig({ onRedisDown: () => mode })
    opened.redis.behaviour = 'silent'
    await opened.limiter.take(ask({ account: 99 }))
    return opened
  }

  test('each process holds its share of a limit', async () => {
    const { limiter, clock } = await away()
    const admitted = async () => {
      let count = 0
      while ((await limiter.take(ask(HUNDRED))).allowed) count++
      return count
    }
    expect(await admitted()).toBe(25)
    clock.advance(12_000)
    expect(await admitted()).toBe(5)
  })

  test('it holds at least one slot, and its share of more', async () => {
    const { limiter } = await away()
    const few = { account: 1, accountLimits: { concurrentRequests: 3 } }
    granted(await limiter.take(ask(few)))
    refused(await limiter.take(ask(few)))
    const many = { account: 2, accountLimits: { concurrentRequests: 8 } }
    granted(await limiter.take(ask(many)))
    granted(await limiter.take(ask(many)))
    refused(await limiter.take(ask(many)))
  })

  test('what is larger than the share waits for a full share, and is paid off', async () => {
    const { limiter, clock } = await away()
    const large = { tokens: 900, accountLimits: { tokensPerMinute: 1_000 } }
    granted(await limiter.take(ask(large)))
    const { retryAfterMs, never } = refused(await limiter.take(ask(large)))
    expect({ retryAfterMs, never }).toEqual({ retryAfterMs: 216_000, never: false })
    clock.advance(216_000)
    granted(await limiter.take(ask(large)))
  })

  test('what a request did not use is given back to the share, as much as it took there', async () => {
    const { limiter } = await away()
    const share = { tokens: 250, accountLimits: { tokensPerMinute: 1_000 } }
    const { lease } = granted(await limiter.take(ask(share)))
    refused(await limiter.take(ask(share)))
    await limiter.end(lease, 0)
    granted(await limiter.take(ask(share)))
  })

  test('nobody gets a fresh burst: the share goes on from the last known level', async () => {
    const { limiter, redis } = await rig()
    redis.levelUs = 60_000_000
    granted(await limiter.take(ask(HUNDRED)))
    redis.behaviour = 'silent'
    expect(refused(await limiter.take(ask(HUNDRED))).retryAfterMs).toBe(2_400)
  })

  test('the share goes on from the level at which Redis refused as well', async () => {
    const { limiter, redis, clock } = await rig()
    // By its first bucket, which is empty: an interval to wait, and the one slot of key and account each.
    redis.answer = () => [0, 1, 600_000, 60_000_000, 1, 1]
    expect(refused(await limiter.take(ask(HUNDRED))).retryAfterMs).toBe(600)
    redis.behaviour = 'silent'
    clock.advance(600)
    expect(refused(await limiter.take(ask(HUNDRED))).retryAfterMs).toBe(1_800)
  })

  test('slots that Redis counted are counted on here', async () => {
    const { limiter, redis } = await rig()
    const options = { accountLimits: { concurrentRequests: 8 } }
    const first = granted(await limiter.take(ask(options)))
    granted(await limiter.take(ask(options)))
    redis.behaviour = 'silent'
    refused(await limiter.take(ask(options)))
    await limiter.end(first.lease, 1)
    granted(await limiter.take(ask(options)))
  })

  test('`open` lets everybody in', async () => {
    const { limiter } = await away('open')
    for (let count = 0; count < 200; count++) granted(await limiter.take(ask(HUNDRED)))
  })

  test('what `open` let in uncounted is not told to Redis afterwards, nor what of it was given back', async () => {
    const { limiter, redis, clock, settle } = await away('open')
    const request = ask({ tokens: 100, accountLimits: { tokensPerMinute: 6_000 } })
    const { lease } = granted(await limiter.take(request))
    await limiter.end(lease, 50)
    redis.behaviour = 'works'
    clock.advance(1_000)
    await settle()
    expect([redis.count('renew probe'), redis.count('catch_up')]).toEqual([1, 0])
  })

  test('what Redis counted and what ended without it is corrected there once it is back', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const request = ask({ tokens: 100, accountLimits: { tokensPerMinute: 6_000 } })
    const { lease } = granted(await limiter.take(request))
    redis.behaviour = 'silent'
    await limiter.take(ask({ account: 99 }))
    await limiter.end(lease, 40)
    redis.behaviour = 'works'
    clock.advance(250)
    await settle()
    expect(redis.caughtUp).toEqual([['rl:{a1}:tpm', -600_000, 60_000_000]])
  })

  test('what a request took that is refused after Redis went away is given back there once it is back', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const run = redis.run.bind(redis)
    const refusal = Promise.withResolvers<unknown>()
    let runs = 0
    // The first slot is taken, the model's is refused later.
    redis.run = (...call) => (++runs === 2 ? refusal.promise : run(...call))
    const account = { tokens: 100, accountLimits: { tokensPerMinute: 6_000 } }
    const asked = limiter.take(ask({ ...account, modelLimits: { requestsPerMinute: 1 } }))
    await settle()
    redis.behaviour = 'silent'
    await limiter.take(ask({ account: 99 }))
    refusal.resolve([0, 1, 1_000_000, 0, 0])
    refused(await asked)
    redis.behaviour = 'works'
    clock.advance(250)
    await settle()
    expect(redis.caughtUp).toEqual([['rl:{a1}:tpm', -1_000_000, 60_000_000]])
  })

  test.each([
    // What Redis took and what is told of it afterwards is in all what was let in: 100 of the account, 1 of the model.
    [
      'fails, the request counts once',
      'share',
      'fails',
      { 'rl:{a1}:tpm': 0, 'rl:{m:gpt-5.1}:rpm': 1_000_000 },
    ],
    ['times out, the request counts once', 'share', 'silent', { 'rl:{a1}:tpm': 0 }],
    ['fails, what was let in uncounted is not counted', 'open', 'fails', { 'rl:{a1}:tpm': -1_000_000 }],
    ['fails, what was refused is not counted', 'closed', 'fails', { 'rl:{a1}:tpm': -1_000_000 }],
  ] as const)('where the second slot %s', async (_, mode, behaviour, expected) => {
    const { limiter, redis, clock, settle } = await rig({ onRedisDown: () => mode })
    const told: Record<string, unknown> = {}
    const answer = redis.answer.bind(redis)
    redis.answer = step => {
      const [, ...keys] = step.keys
      if (step.operation === 'catch_up')
        for (const [index, key] of keys.entries()) told[key] = step.words[1 + index * 2]
      if (step.operation === 'take') redis.behaviour = behaviour
      return answer(step)
    }
    const account = { tokens: 100, accountLimits: { tokensPerMinute: 6_000 } }
    await limiter.take(ask({ ...account, modelLimits: { requestsPerMinute: 60 } }))
    redis.behaviour = 'works'
    clock.advance(1_000)
    await settle()
    clock.advance(1_000)
    await settle()
    expect(told).toEqual(expected)
  })

  test('the model is told of what was let in where the slot before it timed out', async () => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'silent'
    granted(await limiter.take(ask({ ...HUNDRED, modelLimits: { requestsPerMinute: 60 } })))
    redis.behaviour = 'works'
    redis.calls.length = 0
    clock.advance(1_000)
    await settle()
    expect(redis.calls.filter(call => call.startsWith('catch_up'))).toEqual([
      expect.stringContaining('rl:{m:gpt-5.1}:rpm'),
    ])
  })

  test('what the second slot refused, or failed, does not count against the share of the first', async () => {
    for (const behaviour of ['refuses', 'fails'] as const) {
      const { limiter, redis } = await rig({ onRedisDown: () => 'share' })
      redis.levelUs = 30_000_000
      redis.answer = ({ keys, words: [, buckets, costUs] }) => {
        if (keys[0]?.includes('{m:') === true) return [0, 1, 1_000_000, 0, 0]
        if (behaviour === 'fails') redis.behaviour = 'fails'
        return [1, 0, 0, Number(costUs), ...keys.slice(Number(buckets)).map(() => 1)]
      }
      const large = { tokens: 1_500, accountLimits: { tokensPerMinute: 6_000 } }
      const first = await limiter.take(ask({ ...large, modelLimits: { requestsPerMinute: 1 } }))
      if (first.allowed) await limiter.refund(first.lease)
      redis.behaviour = 'silent'
      granted(await limiter.take(ask(large)))
    }
  })

  test('`closed` lets nobody in, and says that it is not the caller', async () => {
    const { limiter } = await away('closed')
    expect(await limiter.take(ask(HUNDRED))).toMatchObject({
      allowed: false,
      bucket: undefined,
      never: false,
      retryAfterMs: 1_000,
    })
  })

  test('what ended meanwhile is freed in Redis, and what began is held there, once it is back', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const ended = granted(await limiter.take(ask({ id: 'ended', account: 1 })))
    redis.behaviour = 'silent'
    granted(await limiter.take(ask({ id: 'began', account: 2 })))
    await limiter.end(ended.lease, 1)
    redis.behaviour = 'works'
    redis.calls.length = 0
    clock.advance(250)
    await settle()
    expect(redis.calls).toEqual([
      'renew probe{a2}',
      'release cc:{a1}:k1 cc:{a1}',
      'renew cc:{a2}:k1',
      'renew cc:{a2}',
    ])
  })
})

test('slots that Redis may have given to who was turned away without its answer are freed once it is back', async () => {
  const { limiter, redis, clock, settle } = await rig({ onRedisDown: () => 'closed' })
  redis.behaviour = 'silent'
  expect(await limiter.take(ask({ account: 1 }))).toMatchObject({ allowed: false })
  redis.behaviour = 'works'
  clock.advance(250)
  await settle()
  expect(redis.calls).toContain('release cc:{a1}:k1 cc:{a1}')
})

test('slots that Redis did not free when it was told to are freed with the next renewal, and then it is settled', async () => {
  const { limiter, redis, clock, settle } = await rig()
  const { lease } = granted(await limiter.take(ask({ id: 'ended' })))
  redis.behaviour = 'fails'
  await limiter.end(lease, 1)
  redis.behaviour = 'works'
  expect(limiter.isDegraded).toBe(false)
  const before = redis.count('release')
  for (const expected of [before + 1, before + 1]) {
    clock.advance(10_000)
    await settle()
    expect(redis.count('release')).toBe(expected)
  }
})

test('so are those of an account that it did not free, where it freed the one of the model', async () => {
  const { limiter, redis, clock, settle } = await rig()
  const answer = redis.answer.bind(redis)
  const { lease } = granted(await limiter.take(ask({ modelLimits: { concurrentRequests: 9 } })))
  let failures = 1
  redis.answer = step => (step.keys.includes('cc:{a1}') && failures-- > 0 ? ['WRONGTYPE'] : answer(step))
  await limiter.end(lease, 1)
  redis.calls.length = 0
  clock.advance(10_000)
  await settle()
  expect(redis.calls).toContain('release cc:{a1}:k1 cc:{a1}')
})

test('what a request did not use is given back with the next renewal where the call that ends it failed', async () => {
  const { limiter, redis, clock, settle } = await rig()
  const finished: unknown[][] = []
  const run = redis.run.bind(redis)
  redis.run = (script, keys, args) => {
    for (const { operation, keys: named, words } of saidSteps(keys, args))
      if (operation === 'finish') finished.push([...named, ...words])
    return run(script, keys, args)
  }
  const request = ask({ id: 'ended', tokens: 100, accountLimits: { tokensPerMinute: 6_000 } })
  const { lease } = granted(await limiter.take(request))
  redis.behaviour = 'fails'
  await limiter.end(lease, 40)
  redis.behaviour = 'works'
  const end = ['adj:{a1}:ended', 'rl:{a1}:tpm', 'cc:{a1}:k1', 'cc:{a1}', 'ended', 1, -600_000]
  expect(finished).toEqual([end])
  for (const expected of [2, 2]) {
    clock.advance(10_000)
    await settle()
    // The same marker: Redis does it once, also if only its answer was lost.
    expect(finished).toEqual(Array.from({ length: expected }, () => end))
  }
})

test('slots that Redis never frees are left to it once their lease has ended there', async () => {
  const { limiter, redis, clock, settle } = await rig()
  const { lease } = granted(await limiter.take(ask()))
  const answer = redis.answer.bind(redis)
  redis.answer = step => (step.operation === 'release' ? ['WRONGTYPE'] : answer(step))
  await limiter.end(lease, 1)
  const tenSeconds = async () => {
    clock.advance(10_000)
    await settle()
  }
  for (let told = 1; told < LEASE_TTL_US / 10_000_000; told++) await tenSeconds()
  const untilThen = redis.count('release')
  expect(untilThen).toBeGreaterThan(1)
  await tenSeconds()
  await tenSeconds()
  expect(redis.count('release')).toBe(untilThen)
})

describe('what was let in without Redis', () => {
  test('is told to it when it is back, less what was given back', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const told: unknown[][] = []
    const answer = redis.answer.bind(redis)
    redis.answer = step => {
      if (step.operation === 'catch_up') told.push([...step.keys.slice(1), ...step.words])
      return answer(step)
    }
    redis.behaviour = 'silent'
    await limiter.take(ask({ account: 99 }))
    const options = { tokens: 100, accountLimits: { requestsPerMinute: 600, tokensPerMinute: 6_000 } }
    const { lease } = granted(await limiter.take(ask(options)))
    granted(await limiter.take(ask(options)))
    clock.advance(100)
    await limiter.end(lease, 50)
    await limiter.end(lease, 50)
    redis.behaviour = 'works'
    clock.advance(150)
    await settle()
    expect(told).toEqual([
      ['rl:{a1}:rpm', 'rl:{a1}:tpm', 250_000, 200_000, 60_000_000, 1_500_000, 60_000_000],
    ])
    clock.advance(2_000)
    await settle()
    expect(told).toHaveLength(1)
  })

  test('is what was let in, and not what was refused', async () => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'fails'
    const answers = await Promise.all(Array.from({ length: 40 }, () => limiter.take(ask(HUNDRED))))
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(25)
    redis.behaviour = 'works'
    clock.advance(1_000)
    await settle()
    expect(redis.caughtUp).toEqual([['rl:{a1}:rpm', 25 * 600_000, 60_000_000]])
  })

  test('is told again until it has arrived', async () => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'fails'
    granted(await limiter.take(ask(HUNDRED)))
    clock.advance(1_000)
    await settle()
    redis.behaviour = 'works'
    clock.advance(1_000)
    await settle()
    clock.advance(1_000)
    await settle()
    expect(redis.count('catch_up')).toBe(2)
  })

  test('is told again as the same until it is a minute old, which is how long Redis knows it by', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const answer = redis.answer.bind(redis)
    redis.answer = step => (step.operation === 'catch_up' ? ['it cannot'] : answer(step))
    const other = { ...HUNDRED, account: 2 }
    redis.behaviour = 'fails'
    for (const request of [HUNDRED, other]) granted(await limiter.take(ask(request)))
    redis.behaviour = 'works'
    redis.calls.length = 0
    const told = () => redis.calls.filter(call => call.startsWith('catch_up'))
    for (let second = 1; second < 60; second++) {
      clock.advance(1_000)
      await settle()
      expect(told().length).toBeGreaterThanOrEqual(2 * second)
    }
    expect(new Set(told().map(call => call.split(' ')[1])).size).toBe(2)
    clock.advance(11_000)
    await settle()
    redis.calls.length = 0
    clock.advance(1_000)
    await settle()
    expect(told()).toEqual([])
  })

  test('is not told where the call timed out, since Redis carries it out once it goes on', async () => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'silent'
    granted(await limiter.take(ask(HUNDRED)))
    redis.behaviour = 'works'
    clock.advance(250)
    await settle()
    expect(limiter.isDegraded).toBe(false)
    clock.advance(1_000)
    await settle()
    expect(redis.count('catch_up')).toBe(0)
  })

  test('is told by a process that ends', async () => {
    const { limiter, redis } = await rig()
    redis.behaviour = 'fails'
    granted(await limiter.take(ask(HUNDRED)))
    redis.behaviour = 'works'
    await limiter.close()
    expect(redis.count('catch_up')).toBe(1)
  })

  test('has arrived when the process that tells it has ended', async () => {
    const { limiter, redis, settle } = await rig()
    redis.behaviour = 'fails'
    const { lease } = granted(await limiter.take(ask(HUNDRED)))
    await limiter.end(lease, 1)
    redis.behaviour = 'works'
    const arrived = Promise.withResolvers<void>()
    const run = redis.run.bind(redis)
    redis.run = (...call) => arrived.promise.then(() => run(...call))
    const closed = limiter.close()
    await settle()
    expect(Bun.peek.status(closed)).toBe('pending')
    arrived.resolve()
    await closed
    expect(redis.count('catch_up')).toBe(1)
  })

  test.each([
    ['is told to it after a long outage, too', [0], 50_000, 1],
    ['is not told once every bucket would be full again', [0], 80_000, 0],
    ['is told while the last of it is not that old', [0, 50_000], 80_000, 1],
  ])('%s', async (_, takenAt, awayMs, told) => {
    const { limiter, redis, clock, settle } = await rig()
    redis.behaviour = 'silent'
    await limiter.take(ask({ account: 99 }))
    let now = 0
    for (const at of takenAt) {
      clock.advance(at - now)
      now = at
      granted(await limiter.take(ask(HUNDRED)))
    }
    clock.advance(awayMs - now)
    redis.behaviour = 'works'
    clock.advance(1_000)
    await settle()
    expect(limiter.isDegraded).toBe(false)
    expect(redis.count('catch_up')).toBe(told)
  })
})

test('what ends while many leases are renewed is not held anew', async () => {
  const { limiter, redis, clock, settle } = await rig()
  const leases = []
  for (let account = 1; account <= 600; account++)
    leases.push(granted(await limiter.take(ask({ account }))).lease)
  const [last] = leases.slice(-1)
  clock.advance(10_000)
  if (last !== undefined) await limiter.end(last, 1)
  await settle()
  expect(redis.count('renew cc:{a599}')).toBe(2)
  expect(redis.count('renew cc:{a600}')).toBe(0)
})

describe('calls that are spared', () => {
  test('nothing is told to a Redis that is away when requests end', async () => {
    const { limiter, redis } = await rig()
    const { lease } = granted(await limiter.take(ask()))
    redis.behaviour = 'silent'
    granted(await limiter.take(ask()))
    redis.calls.length = 0
    await limiter.end(lease, 1)
    expect(redis.calls).toEqual([])
  })

  test('one for each lease set renews all leases, every 10 s', async () => {
    const { limiter, redis, clock, settle } = await rig()
    for (let count = 0; count < 50; count++) await limiter.take(ask({ key: 1 + (count % 2) }))
    clock.advance(9_999)
    expect(redis.count('renew')).toBe(0)
    clock.advance(1)
    await settle()
    expect(redis.calls.filter(call => call.startsWith('renew')).toSorted()).toEqual([
      'renew cc:{a1}',
      'renew cc:{a1}:k1',
      'renew cc:{a1}:k2',
    ])
    await limiter.close()
    clock.advance(60_000)
    expect(redis.count('renew')).toBe(3)
  })

  test('beyond so many calls under way this process decides', async () => {
    const { limiter, redis } = await rig({ maxInFlight: 10 })
    const answers = await Promise.all(Array.from({ length: 30 }, () => limiter.take(ask(HUNDRED))))
    expect(redis.count('take')).toBe(10)
    expect(answers.filter(answer => answer.degraded)).toHaveLength(20)
  })

  test('an estimate that was right costs no correction', async () => {
    const { limiter, redis } = await rig()
    const options = { tokens: 10, accountLimits: { tokensPerMinute: 1_000 } }
    const { lease } = granted(await limiter.take(ask(options)))
    await limiter.end(lease, 10)
    expect([redis.count('release'), redis.count('finish')]).toEqual([1, 0])
  })
})

describe('a caller who does not stop', () => {
  test('costs one call a second, and a smaller request is still let in', async () => {
    const { limiter, redis, clock } = await rig()
    const answer = redis.answer.bind(redis)
    redis.answer = step => {
      const reply = answer(step)
      // Refuses for 30 s what needs 600 tokens.
      const isLarge = step.operation === 'take' && Number(step.words[2]) > 600_000
      return isLarge ? [0, 1, 30_000_000, 54_000_000, 1, 1] : reply
    }
    const large = { tokens: 600, keyLimits: { tokensPerMinute: 1_000 } }
    for (let count = 0; count < 100; count++) refused(await limiter.take(ask(large)))
    expect(redis.count('take')).toBe(1)
    granted(await limiter.take(ask({ ...large, tokens: 10 })))
    clock.advance(1_000)
    expect(refused(await limiter.take(ask(large))).retryAfterMs).toBe(30_000)
    expect(redis.count('take')).toBe(3)
  })

  test('costs ten calls a second where all slots are taken, and none is waited for once one is free', async () => {
    const { limiter, redis, clock, settle } = await rig()
    const answer = redis.answer.bind(redis)
    const one = { keyLimits: { concurrentRequests: 1 } }
    const { lease } = granted(await limiter.take(ask(one)))
    redis.answer = step => (step.operation === 'take' ? [0, 1, 1_000_000, 1, 1] : answer(step))
    for (const calls of [2, 3]) {
      for (let count = 0; count < 100; count++)
        expect(refused(await limiter.take(ask(one))).bucket).toEqual({ scope: 'key', kind: 'concurrent' })
      expect(redis.count('take')).toBe(calls)
      clock.advance(100)
      await settle()
    }
    refused(await limiter.take(ask(one)))
    redis.answer = answer
    await limiter.end(lease, 1)
    granted(await limiter.take(ask(one)))
  })
})
