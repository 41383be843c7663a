import { afterAll, describe, expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { connectRedis, openTestRedis } from '#tests/support/stores/redis.ts'
import { type Limiter, type LimiterOptions, openLimiter } from '@/limits/limiter.ts'
import type { RedisConnection } from '@/redis/redis.ts'
import { ask, granted, refused } from './limited.ts'
import { saidSteps } from './said-steps.ts'

const SILENT = { info: () => {}, warn: () => {} }

const server = await openTestRedis()
const redis = server && timeless(await connectRedis(server.url))

afterAll(async () => {
  await redis?.close()
  await server?.close()
})

/** Time stands still in Redis too: a script is told what time it is before anything else, or nothing to ask there. */
function timeless(connection: RedisConnection): RedisConnection {
  const nowUs = 1_700_000_000_000_000
  return {
    ...connection,
    run(script, keys, [asked, ...words]) {
      if (asked !== '') throw new Error(`the first word is no time but ${asked}`)
      return connection.run(script, keys, [nowUs, ...words])
    },
  }
}

if (server === undefined) {
  test('LOUD: the limiter was NOT tested on Redis, there is no REDIS_URL and no redis-server', () => {
    console.error('\n*** limits: no REDIS_URL and no redis-server: the limiter ran in-process only ***\n')
  })
}

let opened = 0
const modes = redis === undefined ? ['in this process'] : ['in this process', 'on Redis']

describe.each(modes)('limits counted %s', mode => {
  const open = (options: Partial<LimiterOptions> = {}): Promise<Limiter> =>
    openLimiter({
      redis: mode === 'on Redis' ? redis : undefined,
      clock: manualClock(),
      log: SILENT,
      namespace: `${server?.namespace}${mode}-${opened++}:`,
      ...options,
    })

  test('takes from key and account, and tells how each stands', async () => {
    const limiter = await open()
    const { limits } = granted(
      await limiter.take(
        ask({
          tokens: 100,
          accountLimits: { requestsPerMinute: 60, tokensPerMinute: 6_000, concurrentRequests: 10 },
          keyLimits: { requestsPerMinute: 30 },
        }),
      ),
    )
    expect(limits).toEqual([
      { scope: 'key', kind: 'requests', limit: 30, remaining: 29, resetMs: 2_000 },
      { scope: 'account', kind: 'requests', limit: 60, remaining: 59, resetMs: 1_000 },
      { scope: 'account', kind: 'tokens', limit: 6_000, remaining: 5_900, resetMs: 1_000 },
      { scope: 'account', kind: 'concurrent', limit: 10, remaining: 9, resetMs: 0 },
    ])
    await limiter.close()
  })

  test('an own limit goes before the default, and what is not said is the default, also where that has changed', async () => {
    const limiter = await open()
    const request = ask({ keyLimits: { requestsPerMinute: 5 } })
    const defaults = {
      account: { requestsPerMinute: 7, tokensPerMinute: undefined, concurrentRequests: undefined },
      key: { requestsPerMinute: 9, tokensPerMinute: 700, concurrentRequests: undefined },
    }
    const { limits } = granted(await limiter.take({ ...request, defaults }))
    expect(limits.map(({ scope, kind, limit }) => [scope, kind, limit])).toEqual([
      ['key', 'requests', 5],
      ['key', 'tokens', 700],
      ['account', 'requests', 7],
    ])
    const changed = { ...defaults, account: { ...defaults.account, requestsPerMinute: 8 } }
    const after = granted(await limiter.take({ ...request, defaults: changed, id: crypto.randomUUID() }))
    expect(after.limits.find(({ scope }) => scope === 'account')?.limit).toBe(8)
    await limiter.close()
  })

  test('names the limit that refused and when it will not', async () => {
    const limiter = await open()
    const options = { keyLimits: { requestsPerMinute: 2 } }
    await limiter.take(ask(options))
    await limiter.take(ask(options))
    const answer = refused(await limiter.take(ask(options)))
    expect(answer).toMatchObject({ bucket: { scope: 'key', kind: 'requests' }, never: false })
    expect(answer.retryAfterMs).toBe(30_000)
    expect(answer.limits).toMatchObject([{ scope: 'key', remaining: 0 }])
    await limiter.close()
  })

  test('a request larger than the whole minute will never fit, and takes nothing', async () => {
    const limiter = await open()
    const options = { accountLimits: { tokensPerMinute: 1_000, requestsPerMinute: 60 } }
    expect(await limiter.take(ask({ ...options, tokens: 1_001 }))).toMatchObject({
      allowed: false,
      never: true,
      bucket: { scope: 'account', kind: 'tokens' },
      degraded: false,
    })
    const { limits } = granted(await limiter.take(ask({ ...options, tokens: 1_000 })))
    expect(limits).toMatchObject([{ remaining: 59 }, { remaining: 0 }])
    await limiter.close()
  })

  test('a guess makes no request too large, and leaves others their room; what was used counts in full', async () => {
    const limiter = await open()
    const options = { accountLimits: { tokensPerMinute: 1_000 } }
    const { lease, limits } = granted(
      await limiter.take(ask({ ...options, tokens: 10 + 2_048, guessedTokens: 2_048 })),
    )
    expect(limits).toMatchObject([{ remaining: 740 }])
    await limiter.end(lease, 1_010)
    refused(await limiter.take(ask({ ...options, tokens: 1 })))
    expect(
      await limiter.take(ask({ ...options, tokens: 1_001 + 2_048, guessedTokens: 2_048 })),
    ).toMatchObject({ allowed: false, never: true })
    await limiter.close()
  })

  test('keys of one account share its limits, accounts do not', async () => {
    const limiter = await open()
    const options = { accountLimits: { requestsPerMinute: 1 } }
    granted(await limiter.take(ask({ ...options, key: 1 })))
    refused(await limiter.take(ask({ ...options, key: 2 })))
    granted(await limiter.take(ask({ ...options, account: 2, key: 3 })))
    await limiter.close()
  })

  test('an account has a limit on each model', async () => {
    const limiter = await open()
    const options = { accountModelLimits: { requestsPerMinute: 1 } }
    granted(await limiter.take(ask({ ...options, model: 'a' })))
    expect(refused(await limiter.take(ask({ ...options, model: 'a' }))).bucket?.scope).toBe('account-model')
    granted(await limiter.take(ask({ ...options, model: 'b' })))
    await limiter.close()
  })

  // What is worked out for a caller is remembered with the caller, who is the same object in each of its requests.
  test.each(['accountModelLimits', 'modelLimits'])(
    'a caller who comes again has %s of each model, as they are now',
    async which => {
      const limiter = await open()
      const limited = (requestsPerMinute: number) => ask({ [which]: { requestsPerMinute } })
      const { caller, defaults } = limited(1)
      const changed = limited(2).defaults
      const take = (model: string, now = defaults) =>
        limiter.take({ ...ask({ model }), caller, defaults: now })
      granted(await take('a'))
      granted(await take('b'))
      refused(await take('a'))
      granted(await take('c', changed))
      granted(await take('c', changed))
      refused(await take('c', changed))
      await limiter.close()
    },
  )

  test("a model's limit holds for all accounts, and its refusal gives back what the account gave", async () => {
    const limiter = await open()
    const options = {
      modelLimits: { requestsPerMinute: 1 },
      accountLimits: { requestsPerMinute: 60, concurrentRequests: 1 },
    }
    const first = granted(await limiter.take(ask({ ...options, account: 1, model: 'x}{y' })))
    await limiter.end(first.lease, 1)
    for (let count = 0; count < 5; count++) {
      const answer = refused(await limiter.take(ask({ ...options, account: 2, model: 'x}{y' })))
      expect(answer.bucket).toEqual({ scope: 'model', kind: 'requests' })
    }
    const other = granted(await limiter.take(ask({ ...options, account: 2, model: 'z' })))
    expect(other.limits).toMatchObject([{ scope: 'account', remaining: 59 }, { remaining: 0 }, {}])
    await limiter.close()
  })

  test("what a model's refusal gives back can be had at once, also by who was refused for want of it", async () => {
    const limiter = await open()
    const take = async (account: number, model: string) => {
      const limits = { requestsPerMinute: 1, concurrentRequests: 1 }
      return limiter.take(ask({ account, model, modelLimits: limits, accountLimits: limits }))
    }
    granted(await take(1, 'full'))
    const [, second] = await Promise.all([take(2, 'full'), take(2, 'free')])
    // Where this process counts, the first has given back by then.
    if (second.allowed) await limiter.refund(second.lease)
    granted(await take(2, 'free'))
    await limiter.close()
  })

  test("of an account's limit and a model's the one that is longer to wait for is told, and again", async () => {
    const limiter = await open()
    const request = (model: string, tokens: number) =>
      ask({
        account: 1,
        model,
        tokens,
        accountLimits: { requestsPerMinute: 60, tokensPerMinute: 600 },
        modelLimits: { tokensPerMinute: 120 },
      })
    granted(await limiter.take(request('full', 120)))
    for (const model of ['second', 'third', 'fourth']) granted(await limiter.take(request(model, 120)))
    granted(await limiter.take(request('fifth', 60)))
    const told = async (model: string, tokens: number) => {
      const { bucket, retryAfterMs, limits } = refused(await limiter.take(request(model, tokens)))
      return `${bucket?.scope}: ${retryAfterMs} ms, ${limits.length} limits`
    }
    // 80 more of the account's 600 are 20 too many; of the model's 120 all are taken.
    const ofModel = 'model: 40000 ms, 3 limits'
    expect([await told('full', 80), await told('full', 80)]).toEqual([ofModel, ofModel])
    const ofAccount = 'account: 2000 ms, 3 limits'
    expect([await told('free', 80), await told('free', 80)]).toEqual([ofAccount, ofAccount])
    // What refused took nothing of either.
    const { limits } = granted(await limiter.take(request('free', 60)))
    expect(limits.map(({ remaining }) => remaining)).toEqual([54, 0, 60])
    await limiter.close()
  })

  test('slots are free again once a request ended, and a second end frees no more', async () => {
    const limiter = await open()
    const options = { keyLimits: { concurrentRequests: 2 } }
    const first = granted(await limiter.take(ask(options)))
    granted(await limiter.take(ask(options)))
    expect(refused(await limiter.take(ask(options)))).toMatchObject({
      bucket: { scope: 'key', kind: 'concurrent' },
      retryAfterMs: 1_000,
    })
    await limiter.end(first.lease, 1)
    await limiter.end(first.lease, 1)
    granted(await limiter.take(ask(options)))
    refused(await limiter.take(ask(options)))
    await limiter.close()
  })

  test('what is open when a process ends is free for the others', async () => {
    const namespace = `${server?.namespace}${mode}-ending:`
    const [ending, other] = [await open({ namespace }), await open({ namespace })]
    const options = { keyLimits: { concurrentRequests: 1 } }
    granted(await ending.take(ask(options)))
    await ending.close()
    granted(await other.take(ask(options)))
    await other.close()
  })

  test('corrects an estimate, once', async () => {
    const limiter = await open()
    const options = { accountLimits: { tokensPerMinute: 1_000 } }
    const { lease } = granted(await limiter.take(ask({ ...options, tokens: 1_000 })))
    refused(await limiter.take(ask({ ...options, tokens: 400 })))
    await limiter.end(lease, 500)
    await limiter.end(lease, 500)
    const next = granted(await limiter.take(ask({ ...options, tokens: 400 })))
    expect(next.limits[0]?.remaining).toBe(100)
    await limiter.close()
  })

  test('the end of a request corrects and frees, once', async () => {
    const limiter = await open()
    const options = {
      accountLimits: { requestsPerMinute: 100, tokensPerMinute: 1_000, concurrentRequests: 1 },
      modelLimits: { tokensPerMinute: 10_000, concurrentRequests: 1 },
    }
    const { lease } = granted(await limiter.take(ask({ ...options, tokens: 1_000 })))
    for (let time = 0; time < 2; time++) await limiter.end(lease, 600)
    const next = granted(await limiter.take(ask({ ...options, tokens: 100 })))
    const left = (scope: string, kind: string) =>
      next.limits.find(limit => limit.scope === scope && limit.kind === kind)?.remaining
    expect(left('account', 'requests')).toBe(98)
    expect(left('account', 'tokens')).toBe(300)
    expect(left('account', 'concurrent')).toBe(0)
    expect(left('model', 'tokens')).toBe(9_300)
    await limiter.close()
  })

  test('an underestimate is paid by who comes next', async () => {
    const limiter = await open()
    const options = { accountLimits: { tokensPerMinute: 1_000 } }
    const { lease } = granted(await limiter.take(ask({ ...options, tokens: 10 })))
    await limiter.end(lease, 1_500)
    const { retryAfterMs } = refused(await limiter.take(ask({ ...options, tokens: 10 })))
    expect(retryAfterMs).toBeGreaterThan(30_000)
    await limiter.close()
  })

  test('gives everything back to who was turned away for another reason', async () => {
    const limiter = await open()
    const options = {
      tokens: 900,
      accountLimits: { requestsPerMinute: 1, tokensPerMinute: 1_000, concurrentRequests: 1 },
    }
    const { lease } = granted(await limiter.take(ask(options)))
    await limiter.refund(lease)
    granted(await limiter.take(ask(options)))
    await limiter.close()
  })

  test('10,000 requests at once get exactly the tightest limit, and no refusal took anything', async () => {
    const limiter = await open({ maxInFlight: 20_000 })
    const options = {
      tokens: 10,
      keyLimits: { requestsPerMinute: 2, tokensPerMinute: 20 },
      accountLimits: { requestsPerMinute: 600, tokensPerMinute: 6_000_000, concurrentRequests: 250 },
    }
    const answers = await Promise.all(
      Array.from({ length: 10_000 }, (_, key) => limiter.take(ask({ ...options, key: key % 5_000 }))),
    )
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(250)
    const grants = answers.flatMap(answer => (answer.allowed ? [answer.lease] : []))
    await Promise.all(grants.map(lease => limiter.end(lease, 10)))
    const after = granted(await limiter.take(ask({ ...options, key: 9_999 })))
    const remaining = after.limits.find(({ scope, kind }) => scope === 'account' && kind === 'requests')
    expect(remaining?.remaining).toBe(600 - 251)
    await limiter.close()
  }, 60_000)

  test('slots do not leak: after 10,000 aborted requests all are free', async () => {
    const limiter = await open()
    const options = { accountLimits: { concurrentRequests: 100 } }
    for (let round = 0; round < 100; round++) {
      const grants = await Promise.all(Array.from({ length: 100 }, () => limiter.take(ask(options))))
      await Promise.all(grants.map(answer => limiter.end(granted(answer).lease, 1)))
    }
    const again = await Promise.all(Array.from({ length: 101 }, () => limiter.take(ask(options))))
    expect(again.filter(({ allowed }) => allowed)).toHaveLength(100)
    await limiter.close()
  }, 60_000)
})

test.skipIf(redis === undefined)('a request asks Redis twice: when it begins and when it ends', async () => {
  if (redis === undefined) return
  const asked: string[] = []
  const counting: RedisConnection = {
    ...redis,
    run(script, keys, args) {
      asked.push(...saidSteps(keys, args).map(({ operation }) => operation))
      return redis.run(script, keys, args)
    },
  }
  const limiter = await openLimiter({
    redis: counting,
    clock: manualClock(),
    log: SILENT,
    namespace: `${server?.namespace}counted:`,
  })
  // What is asked when a limiter is opened is no request's.
  asked.length = 0
  const all = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrentRequests: 5 }
  const request = ask({ tokens: 100, accountLimits: all, keyLimits: all, accountModelLimits: all })
  const { lease } = granted(await limiter.take(request))
  await limiter.end(lease, 30)
  expect(asked).toEqual(['take', 'finish'])
  const { lease: refunded } = granted(await limiter.take({ ...request, id: 'b' }))
  await limiter.refund(refunded)
  expect(asked).toEqual(['take', 'finish', 'take', 'finish'])
  const { limits } = granted(await limiter.take({ ...request, id: 'c' }))
  expect(limits.find(({ kind }) => kind === 'requests')?.remaining).toBe(8)
  await limiter.close()
})

test("a bucket of this process fills with time, and not because the machine's clock is set", async () => {
  const clock = manualClock()
  const limiter = await openLimiter({ redis: undefined, clock, log: SILENT })
  const request = () => ask({ accountLimits: { requestsPerMinute: 1 } })
  granted(await limiter.take(request()))
  clock.set(3_600_000)
  refused(await limiter.take(request()))
  clock.advance(60_000)
  granted(await limiter.take(request()))
  await limiter.close()
})

test('a request that runs for long keeps its place where this process counts, and no longer than it runs', async () => {
  const clock = manualClock()
  const limiter = await openLimiter({ redis: undefined, clock, log: SILENT })
  const options = { keyLimits: { concurrentRequests: 1 } }
  const { lease } = granted(await limiter.take(ask(options)))
  for (let seconds = 0; seconds < 600; seconds += 10) clock.advance(10_000)
  refused(await limiter.take(ask(options)))
  await limiter.end(lease, 1)
  granted(await limiter.take(ask(options)))
  await limiter.close()
})
