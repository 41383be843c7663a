import { afterAll, expect, test } from 'bun:test'
import { openPayer, type PayerOptions } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import type { Ledger, LedgerState } from '@/ledger/ledger.ts'
import type { HoldResult } from '@/ledger/types.ts'

const ANSWER =
  'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]\n\n'
const WHOLE =
  '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'

/** What an answer is; undefined: all there is of it at once. */
let flowing: ReadableStream<Uint8Array> | undefined

const { gateway, upstream } = await scriptedGateway()
upstream.answer = ({ body }) =>
  new TextDecoder().decode(body).includes('"stream":true')
    ? eventStream(flowing ?? ANSWER)
    : new Response(flowing ?? WHOLE)
const real = gateway.server.gateway.ledger
afterAll(() => {
  gateway.server.gateway.ledger = real
})

function ask(stream: boolean, key = gateway.key): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    { model: 'chat/echo', stream, messages: [{ role: 'user', content: 'hi' }] },
    { key },
  )
}

/** An account of which nothing bad is known. */
const payer = () => openPayer(gateway.database)

/** The ledger with an answer to holds that the test gives, after what the real one said. */
function slowHolds(answer: (result: HoldResult) => Promise<HoldResult>): void {
  gateway.server.gateway.ledger = { ...real, hold: async request => answer(await real.hold(request)) }
}

test.each([true, false])(
  'an account with ample credit has its upstream called at once, and gets no byte before the hold is durable (streamed: %p)',
  async stream => {
    gateway.server.gateway.ledger = real
    await (await ask(stream)).text()
    await until(() => real.state().openHolds === 0)
    const durable = Promise.withResolvers<void>()
    slowHolds(async result => {
      await durable.promise
      return result
    })
    const before = upstream.seen.length
    let answered = false
    const call = ask(stream).then(response => {
      answered = true
      return response
    })
    await until(() => upstream.seen.length > before)
    // The upstream has answered by the time that another call through the same process has come and gone.
    await (await fetch(`${gateway.opsUrl}/healthz`)).text()
    await (await fetch(`${gateway.opsUrl}/metrics`)).text()
    expect(answered).toBe(false)
    durable.resolve()
    const response = await call
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('hi')
  },
)

test.each<[string, PayerOptions, Partial<LedgerState>]>([
  ['an account on trial', { onTrial: true }, {}],
  ['a ledger that failed a moment ago', {}, { holdFailureAgoMs: 2_000 }],
  ['a ledger in which holds wait', {}, { holdWaitMs: 50 }],
])('with %s no upstream is called before the hold is durable', async (_, options, state) => {
  gateway.server.gateway.ledger = real
  const { key, accountId } = await openPayer(gateway.database, options)
  const pending = async () => (await gateway.ledger.balance(accountId))?.pendingNano
  await (await ask(true, key)).text()
  await until(async () => (await pending()) === 0n)
  const durable = Promise.withResolvers<void>()
  slowHolds(async result => {
    await durable.promise
    return result
  })
  gateway.server.gateway.ledger.state = () => ({ ...real.state(), ...state })
  const before = upstream.seen.length
  const call = ask(true, key)
  await until(async () => (await pending()) !== 0n)
  await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  expect(upstream.seen.length).toBe(before)
  durable.resolve()
  expect((await call).status).toBe(200)
})

test('a ledger that is not well is asked for nothing: a 503 at once', async () => {
  const asked: unknown[] = []
  const hold: Ledger['hold'] = request => {
    asked.push(request)
    return real.hold(request)
  }
  gateway.server.gateway.ledger = { ...real, hold, state: () => ({ ...real.state(), healthy: false }) }
  const response = await ask(true)
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toMatch(/^[12]$/)
  expect(await response.json()).toMatchObject({ error: { code: 'billing_unavailable' } })
  expect(asked).toEqual([])
})

test('a hold that is refused after the upstream was called is a 402, and the next call waits for its hold', async () => {
  gateway.server.gateway.ledger = real
  await (await ask(true)).text()
  await until(() => real.state().openHolds === 0)
  const wasted = upstream.seen.length
  slowHolds(async ({ availableNano, keyAvailableNano, resetsAt }) => {
    await until(() => upstream.seen.length > wasted)
    return { granted: false, reason: 'credit_reserved', availableNano, keyAvailableNano, resetsAt }
  })
  const response = await ask(true)
  expect(response.status).toBe(402)
  expect(await response.json()).toMatchObject({ error: { code: 'credit_reserved' } })
  expect(upstream.seen.length).toBe(wasted + 1)
  expect((await ask(true)).status).toBe(402)
  expect(upstream.seen.length).toBe(wasted + 1)
  const counted = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  expect(counted).toContain('\ntollgate_wasted_starts_total 1\n')
  // No answer is in it: the prompt alone, held as 71 tokens of 1 per million.
  expect(counted).toContain('\ntollgate_wasted_nano_total 71000\n')
})

test.each<[string, boolean, boolean]>([
  ['flows', true, true],
  ['is yet to come whole', false, true],
  ['has flowed', true, false],
  ['has come whole', false, false],
])(
  'an answer that %s when its hold is refused costs nothing, is read no further, and its receipt says so',
  async (...it) => {
    const [, stream, isOpen] = it
    gateway.server.gateway.ledger = real
    const { accountId, key } = await payer()
    await (await ask(true, key)).text()
    await until(async () => (await gateway.ledger.balance(accountId))?.pendingNano === 0n)
    const refused = Promise.withResolvers<void>()
    gateway.server.gateway.ledger = {
      ...real,
      hold: async () => {
        await refused.promise
        return {
          granted: false,
          reason: 'key_revoked',
          availableNano: 0n,
          keyAvailableNano: undefined,
          resetsAt: undefined,
        }
      },
    }
    const fed = fedStream()
    flowing = isOpen ? fed.stream : undefined
    const before = upstream.seen.length
    const call = ask(stream, key)
    await until(() => upstream.seen.length > before)
    for (let events = 0; events < 20; events += 1) {
      if (isOpen) fed.write('data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n')
      await (await fetch(`${gateway.opsUrl}/healthz`)).text()
    }
    refused.resolve()
    expect((await call).status).toBe(401)
    if (isOpen) await fed.left
    flowing = undefined
    gateway.server.gateway.ledger = real

    await until(async () => (await gateway.lastExchange())['status'] === 401)
    expect(await gateway.lastExchange()).toMatchObject({
      account_id: BigInt(accountId),
      cost_nano: null,
      usage_source: 'missing',
      output_text: 0n,
    })
  },
)

test.each([true, false])(
  'a call that failed before its hold was made sets nothing aside in the end (streamed: %p)',
  async stream => {
    gateway.server.gateway.ledger = real
    const { accountId, key } = await payer()
    const pending = async () => (await gateway.ledger.balance(accountId))?.pendingNano
    await (await ask(true, key)).text()
    await until(async () => (await pending()) === 0n)
    const due = Promise.withResolvers<void>()
    const made = Promise.withResolvers<void>()
    const given = Promise.withResolvers<void>()
    gateway.server.gateway.ledger = {
      ...real,
      hold: async request => {
        await due.promise
        const result = await real.hold(request)
        made.resolve()
        return result
      },
      release: async request => {
        const result = await real.release(request)
        given.resolve()
        return result
      },
    }
    const { answer } = upstream
    upstream.answer = () => new Response('{"error":{"message":"no"}}', { status: 400 })
    try {
      expect((await ask(stream, key)).status).toBe(400)
    } finally {
      upstream.answer = answer
    }
    due.resolve()
    await Promise.all([made.promise, given.promise])
    gateway.server.gateway.ledger = real
    expect(await pending()).toBe(0n)
  },
)
