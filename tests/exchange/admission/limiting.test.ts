import { describe, expect, test } from 'bun:test'
import { callerBy, NO_LIMITS } from '#tests/support/caller.ts'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { least } from '#tests/support/least.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import type { LimitChanges } from '@/accounts/account.ts'
import { systemClock } from '@/clock/clock.ts'
import { takeLimits } from '@/exchange/admission/limiting.ts'
import { openRecord } from '@/exchange/record.ts'
import { openLimiter } from '@/limits/limiter.ts'
import { openRedis } from '@/redis/redis.ts'

const gateway = await fileGateway()

/** A key of an account of its own, with limits of the account and of the key. */
async function limited(limits: LimitChanges, keyLimits: LimitChanges = {}): Promise<string> {
  return (await limitedKey(limits, keyLimits)).key
}

async function limitedKey(limits: LimitChanges, keyLimits: LimitChanges) {
  const { accountId } = await openPayer(gateway.database)
  await gateway.accounts.changeLimits(accountId, limits)
  return gateway.keys.createKey({ accountId, name: '', limits: keyLimits })
}

const CALLS = {
  chat: {
    path: '/v1/chat/completions',
    body: '{"model":"chat/MODEL","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}',
  },
  responses: {
    path: '/v1/responses',
    body: '{"model":"responses/MODEL","max_output_tokens":20,"input":"hi"}',
  },
  messages: {
    path: '/v1/messages',
    body: '{"model":"messages/MODEL","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}',
  },
  gemini: {
    path: '/v1beta/models/gemini/MODEL:generateContent',
    body: '{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":10}}',
  },
} as const
type Surface = keyof typeof CALLS
const surfaces = Object.keys(CALLS) as Surface[]

function call(surface: Surface, key: string, model = 'echo', signal?: AbortSignal): Promise<Response> {
  return gateway.post(
    CALLS[surface].path.replace('MODEL', model),
    CALLS[surface].body.replace('MODEL', model),
    { key, signal },
  )
}

const RATE_ERRORS = {
  chat: { error: { type: 'rate_limit_error', code: 'rate_limited' } },
  responses: { error: { type: 'rate_limit_error', code: 'rate_limited' } },
  messages: { type: 'error', error: { type: 'rate_limit_error', code: 'rate_limited' } },
  gemini: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
} as const

describe.each(surfaces)('on the %s surface', surface => {
  test('more requests than the account may make are 429 with Retry-After, in the shape of the surface', async () => {
    const key = await limited({ requestsPerMinute: 2 })
    const statuses: number[] = []
    for (let n = 0; n < 2; n += 1) statuses.push((await call(surface, key)).status)
    const refused = await call(surface, key)
    expect([...statuses, refused.status]).toEqual([200, 200, 429])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await refused.json()).toMatchObject(RATE_ERRORS[surface])
  })

  test('every answer tells how the limits stand, in the names of the vendor', async () => {
    const response = await call(surface, await limited({ requestsPerMinute: 50 }))
    const names = [...response.headers.keys()]
    const own = {
      chat: 'x-ratelimit-limit-requests',
      responses: 'x-ratelimit-limit-requests',
      messages: 'anthropic-ratelimit-requests-limit',
      gemini: 'ratelimit',
    }[surface]
    expect(names).toContain(own)
    expect(names).toContain('ratelimit')
    if (surface !== 'gemini') expect(response.headers.get(own)).toBe('50')
  })

  test('a request that can never fit is a 400', async () => {
    const response = await call(surface, await limited({ tokensPerMinute: 5 }))
    expect(response.status).toBe(400)
  })
})

describe('places for requests at once', () => {
  test('are refused with 429 when all are taken, and free again when callers leave', async () => {
    const key = await limited({ concurrentRequests: 1 })
    const abort = new AbortController()
    const held = call('chat', key, 'hang', abort.signal).catch(() => undefined)
    await until(() => gateway.simulator.simulator.stats().active === 1)
    const refused = await call('chat', key)
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_concurrent' } })
    abort.abort()
    await held
    await until(async () => (await call('chat', key)).status === 200)
  })

  test('are given back by requests that the upstream refuses', async () => {
    const key = await limited({ concurrentRequests: 1, requestsPerMinute: 1000 })
    for (let n = 0; n < 5; n += 1) expect((await call('chat', key, 'error-400')).status).toBe(400)
    expect((await call('chat', key)).status).toBe(200)
  })
})

test('a request that is refused for want of money counts against no limit', async () => {
  const { accountId } = await openPayer(gateway.database, { creditNano: 0n })
  await gateway.accounts.changeLimits(accountId, { concurrentRequests: 1, requestsPerMinute: 2 })
  const { key } = await gateway.keys.createKey({ accountId, name: '' })
  for (let n = 0; n < 5; n += 1) expect((await call('chat', key)).status).toBe(402)
})

test('a request that states no output limit fits a small bucket, until its tokens are used', async () => {
  const ask = (key: string, model: string) =>
    gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }] }, { key })
  const key = await limited({ tokensPerMinute: 100 })
  for (let n = 0; n < 5; n += 1) expect((await ask(key, 'chat/echo')).status).toBe(200)
  expect((await ask(key, 'chat/long-200')).status).toBe(200)
  const refused = await ask(key, 'chat/echo')
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } })
})

test('tokens that were not used are given back', async () => {
  const key = await limited({ tokensPerMinute: 400 })
  for (let n = 0; n < 6; n += 1) expect((await call('chat', key)).status).toBe(200)
})

describe("a key's own limits", () => {
  test('hold beside those of its account, whichever is tighter', async () => {
    const key = await limited({ requestsPerMinute: 100 }, { requestsPerMinute: 1 })
    const first = await call('chat', key)
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('1')
    const refused = await call('chat', key)
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain('of this key')
  })

  test('are in force within two seconds of a change', async () => {
    const change = async () => {
      const { id, key } = await limitedKey({}, { requestsPerMinute: 1 })
      expect((await call('chat', key)).status).toBe(200)
      expect((await call('chat', key)).status).toBe(429)
      await gateway.keys.changeKeyLimits(id, { requestsPerMinute: 50 })
      return until(async () => (await call('chat', key)).status === 200)
    }
    expect(await least(2_000, change)).toBeLessThan(2_000)
  })
})

test('a limit of an account on each single model refuses no other model, and says what it is', async () => {
  const key = await limited({})
  await gateway.apply('limits: { account_model: { requests_per_minute: 1 } }')
  try {
    expect((await call('chat', key)).status).toBe(200)
    const refused = await call('chat', key)
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain(
      'The limit of requests per minute of this account on this model is reached',
    )
    expect((await call('messages', key)).status).toBe(200)
  } finally {
    await gateway.apply('limits: { account_model: {} }')
  }
})

describe('while Redis is away', () => {
  test('nobody is let in where the operator wants that, and callers are told to come back', async () => {
    const wired = gateway.server.gateway
    const { limiter } = wired
    const redis = openRedis('redis://127.0.0.1:1')
    const log = { info: () => {}, warn: () => {} }
    wired.limiter = await openLimiter({ redis, clock: systemClock, log, onRedisDown: () => 'closed' })
    try {
      const refused = await call('chat', await limited({ requestsPerMinute: 50 }))
      expect(refused.status).toBe(503)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await refused.text()).toContain('Limits cannot be counted at the moment')
    } finally {
      await wired.limiter.close()
      wired.limiter = limiter
      await redis.close()
    }
  })

  test('answers say so only where the operator wants it, and the metrics always do', async () => {
    const wired = gateway.server.gateway
    const { limiter } = wired
    const redis = openRedis('redis://127.0.0.1:1')
    const log = { info: () => {}, warn: () => {} }
    const away = await openLimiter({ redis, clock: systemClock, log })
    const key = await limited({ requestsPerMinute: 50 })
    wired.limiter = away
    try {
      const told = async () => (await call('chat', key)).headers.get('x-gateway-limits')
      expect(await told()).toBeNull()
      await gateway.apply('operator_headers: true')
      expect(await told()).toBe('degraded')
      const refused = await call('chat', await limited({ tokensPerMinute: 5 }))
      expect(refused.status).toBe(400)
      wired.limiter = limiter
      const normal = await call('chat', key)
      expect(normal.headers.get('x-gateway-limits')).toBeNull()
      expect(normal.headers.get('x-tollgate-channel')).toBe('chat')
    } finally {
      wired.limiter = limiter
      await gateway.apply('operator_headers: false')
      await away.close()
      await redis.close()
    }
    expect((await call('chat', key)).headers.get('x-tollgate-channel')).toBeNull()
    expect(await (await fetch(`${gateway.opsUrl}/metrics`)).text()).toContain('tollgate_limits_degraded 0')
  })
})

test('who is refused is told the whole seconds until there is room, and by chance a tenth more', async () => {
  const clock = manualClock()
  const log = { info: () => {}, warn: () => {} }
  const limiter = await openLimiter({ redis: undefined, clock, log })
  const perMinute = { ...NO_LIMITS, requestsPerMinute: 2 }
  const limits = () => ({ account: perMinute, key: NO_LIMITS })
  const take = (id: string, chance: number) => {
    const record = { ...openRecord(id, 'chat', clock), caller: callerBy(1, 2), model: 'm' }
    const dependencies = { limiter, limits, random: () => chance, log: gateway.server.gateway.log }
    return takeLimits(dependencies, record, { tokens: 1, guessedTokens: 0 })
  }
  for (const id of ['one', 'two']) expect(take(id, 0)).toBeUndefined()
  clock.advance(500)
  expect(() => take('three', 0)).toThrow(expect.objectContaining({ retryAfterMs: 30_000 }))
  expect(() => take('four', 0.999)).toThrow(expect.objectContaining({ retryAfterMs: 33_000 }))
  await limiter.close()
})
