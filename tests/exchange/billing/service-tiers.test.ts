import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyRates, anyUsage } from '#tests/pricing/samples.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream, type SeenRequest, until } from '#tests/support/upstreams/upstream.ts'
import { askedTier, chargedTier, ratesInReach } from '@/exchange/billing/service-tier.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { ratesIn, tokenRatesFor } from '@/generation/rates.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'
import { audit } from '@/ledger/audit.ts'
import { boundOf } from '@/pricing/bound.ts'
import { costOf, dearest } from '@/pricing/cost.ts'

const NAMES = ['chat', 'responses', 'messages', 'gemini'] as const
type Name = (typeof NAMES)[number]

const PRICES = `{ input: 1, output: 2, service_tiers: { priority: { input: 10, output: 20 }, flex: { output: 1 }, fast: { input: 30, output: 60 } } }`
const FAST_PRICES = `{ input: 1, output: 2, service_tiers: { fast: { input: 30, output: 60 } } }`
const { gateway, upstream } = await scriptedGateway({
  models: NAMES.map(
    name => `
  - { id: "tiered-${name}", channels: [{ channel: ${name} }], prices: ${PRICES} }
  - { id: "fast-${name}", channels: [{ channel: ${name} }], prices: ${FAST_PRICES} }`,
  ).join(''),
})

/** Of 100 tokens in and 50 out, by the prices above. */
const COST = { ordinary: 200_000n, priority: 2_000_000n, flex: 150_000n, fast: 6_000_000n } as const
type Tier = keyof typeof COST

/** What the vendors say of the tier that served an answer; what is not here they do not have. */
const WORDS: Record<Name, Partial<Record<Tier, object>>> = {
  chat: {
    ordinary: { service_tier: 'default' },
    priority: { service_tier: 'priority' },
    flex: { service_tier: 'flex' },
  },
  responses: {
    ordinary: { service_tier: 'default' },
    priority: { service_tier: 'priority' },
    flex: { service_tier: 'flex' },
  },
  messages: {
    ordinary: { service_tier: 'standard', speed: 'standard' },
    priority: { service_tier: 'priority' },
    fast: { service_tier: 'standard', speed: 'fast' },
  },
  gemini: {
    ordinary: { serviceTier: 'standard' },
    priority: { serviceTier: 'priority' },
    flex: { trafficType: 'ON_DEMAND_FLEX' },
  },
}

/** How the callers ask for it. */
const ASKED: Record<Name, Partial<Record<Tier, object>>> = {
  chat: WORDS.chat,
  responses: WORDS.responses,
  messages: {
    ordinary: { service_tier: 'standard_only' },
    priority: { service_tier: 'auto' },
    fast: { speed: 'fast' },
  },
  gemini: {
    ordinary: { serviceTier: 'standard' },
    priority: { serviceTier: 'priority' },
    flex: { serviceTier: 'flex' },
  },
}

const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
const named = (event: { type: string } & Record<string, unknown>) => `event: ${event.type}\n${data(event)}`

const events = (...all: string[]) => eventStream(all.join(''))

/** An answer of 100 tokens in and 50 out, with what it says of its tier. */
function answerOf(name: Name, streamed: boolean, said: object): Response {
  switch (name) {
    case 'chat': {
      const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }
      const message = { role: 'assistant', content: 'hello' }
      if (!streamed)
        return Response.json({
          id: 'c',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage,
          ...said,
        })
      return events(
        data({ id: 'c', choices: [{ index: 0, delta: message }] }),
        data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        data({ id: 'c', choices: [], usage, ...said }),
        'data: [DONE]\n\n',
      )
    }
    case 'responses': {
      const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 }
      const item = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      }
      const response = {
        id: 'r',
        object: 'response',
        status: 'completed',
        model: 'm',
        output: [item],
        usage,
        ...said,
      }
      if (!streamed) return Response.json(response)
      return events(
        named({
          type: 'response.created',
          response: { ...response, status: 'in_progress', output: [], usage: null, service_tier: 'auto' },
        }),
        named({
          type: 'response.output_item.added',
          output_index: 0,
          item: { ...item, content: [], status: 'in_progress' },
        }),
        named({
          type: 'response.output_text.delta',
          output_index: 0,
          content_index: 0,
          item_id: 'm',
          delta: 'hello',
        }),
        named({ type: 'response.output_item.done', output_index: 0, item }),
        named({ type: 'response.completed', response }),
      )
    }
    case 'messages': {
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [] as object[],
        stop_reason: null,
        usage: { input_tokens: 100, output_tokens: 1, ...said },
      }
      const usage = { input_tokens: 100, output_tokens: 50, ...said }
      if (!streamed)
        return Response.json({
          ...message,
          content: [{ type: 'text', text: 'hello' }],
          stop_reason: 'end_turn',
          usage,
        })
      return events(
        named({ type: 'message_start', message }),
        named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as {
          type: string
        }),
        named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } } as {
          type: string
        }),
        named({ type: 'content_block_stop', index: 0 }),
        named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 50 } } as {
          type: string
        }),
        named({ type: 'message_stop' }),
      )
    }
    case 'gemini': {
      const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 50, totalTokenCount: 150, ...said }
      const content = { role: 'model', parts: [{ text: 'hello' }] }
      const first = {
        candidates: [{ index: 0, content }],
        usageMetadata: { promptTokenCount: 100, totalTokenCount: 100 },
      }
      const whole = { candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata }
      return streamed ? events(data(first), data(first), data(whole)) : Response.json(whole)
    }
    default:
      return name satisfies never
  }
}

function call(
  caller: Name,
  model: string,
  streamed: boolean,
  asked: object,
  key = gateway.key,
  signal?: AbortSignal,
) {
  const messages = [{ role: 'user', content: 'hi' }]
  const [path, body] = {
    chat: ['/v1/chat/completions', { model, stream: streamed, messages, max_tokens: 60 }],
    responses: [
      '/v1/responses',
      { model, stream: streamed, input: 'hi', store: false, max_output_tokens: 60 },
    ],
    messages: ['/v1/messages', { model, stream: streamed, messages, max_tokens: 60 }],
    gemini: [
      `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 60 } },
    ],
  }[caller] as [string, object]
  const credential: Record<string, string> =
    caller === 'gemini' ? { 'x-goog-api-key': key } : { authorization: `Bearer ${key}` }
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { ...credential, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, ...asked }),
    ...(signal === undefined ? {} : { signal }),
  })
}

/** The stored row of a call, and what its account was charged. */
async function settled(run: () => Promise<unknown>) {
  const before = await gateway.ledger.balance(gateway.accountId)
  const known = (await gateway.exchanges()).length
  await run()
  await until(async () => (await gateway.exchanges()).length > known)
  await until(async () => (await gateway.ledger.balance(gateway.accountId))?.pendingNano === 0n)
  const after = await gateway.ledger.balance(gateway.accountId)
  const row = await gateway.lastExchange()
  return {
    charged: (before?.balanceNano ?? 0n) - (after?.balanceNano ?? 0n),
    cost: row['cost_nano'],
    tier: row['service_tier'],
  }
}

async function read(response: Response): Promise<string> {
  const text = await response.text()
  expect({ status: response.status, text }).toMatchObject({ status: 200 })
  return text
}

const pairs = NAMES.flatMap(caller =>
  NAMES.flatMap(maker => [true, false].map(streamed => [caller, maker, streamed] as const)),
)

describe.each(pairs)('%s over %s, streamed: %p', (caller, maker, streamed) => {
  test.each(Object.keys(WORDS[maker]) as Tier[])(
    'is charged by the tier that served it: %s',
    async served => {
      upstream.answer = () => answerOf(maker, streamed, WORDS[maker][served] ?? {})
      // Asked for is another one: what the vendor says comes first.
      const asked = served === 'priority' ? {} : (ASKED[caller].priority ?? {})
      const found = await settled(async () => read(await call(caller, `tiered-${maker}`, streamed, asked)))
      expect(found).toEqual({
        charged: COST[served],
        cost: COST[served],
        tier: served === 'ordinary' ? null : served,
      })
    },
  )
})

/** Whether the request that reached the upstream asks for the dearer tier in so many words. */
function asksPriority({ body }: SeenRequest): boolean {
  return /"(?:service_tier|serviceTier)":"priority"/.test(Buffer.from(body).toString())
}

describe.each(pairs)('%s over %s that says nothing of its tier, streamed: %p', (caller, maker, streamed) => {
  test('is charged by the tier that it was asked for', async () => {
    upstream.answer = () => answerOf(maker, streamed, {})
    const found = await settled(async () =>
      read(await call(caller, `tiered-${maker}`, streamed, ASKED[caller].priority ?? {})),
    )
    const last = upstream.seen.at(-1)
    // The tier of a response that says `auto` is as open as that of one that says nothing.
    const tier = last !== undefined && asksPriority(last) ? 'priority' : 'ordinary'
    expect(tier).toBe(caller === 'messages' || maker === 'messages' ? 'ordinary' : 'priority')
    expect(found.charged).toBe(COST[tier])
  })

  test('is charged by the plain price where no tier is asked for', async () => {
    upstream.answer = () => answerOf(maker, streamed, {})
    const found = await settled(async () => read(await call(caller, `tiered-${maker}`, streamed, {})))
    expect(found).toEqual({ charged: COST.ordinary, cost: COST.ordinary, tier: null })
  })
})

test("Anthropic's fast mode is charged as such, said or not", async () => {
  for (const said of [{}, WORDS.messages.fast ?? {}]) {
    upstream.answer = () => answerOf('messages', true, said)
    const found = await settled(async () =>
      read(await call('messages', 'tiered-messages', true, { speed: 'fast' })),
    )
    expect(found.charged).toBe(COST.fast)
  }
})

test('a tier that the model has no price for is the plain price', async () => {
  upstream.answer = () => answerOf('chat', false, { service_tier: 'scale' })
  const found = await settled(async () =>
    read(await call('chat', 'tiered-chat', false, { service_tier: 'priority' })),
  )
  expect(found).toEqual({ charged: COST.ordinary, cost: COST.ordinary, tier: null })
})

describe('a model that has prices for fast alone', () => {
  const said = { service_tier: 'priority' }
  test.each([
    ['chat', { service_tier: 'fast' }, said, COST.fast],
    ['chat', {}, said, COST.fast],
    ['responses', { service_tier: 'fast' }, said, COST.fast],
    ['responses', { service_tier: 'priority' }, {}, COST.fast],
    ['chat', { service_tier: 'fast' }, { service_tier: 'default' }, COST.ordinary],
    // Which was bought ahead, and is no fast mode.
    ['messages', {}, said, COST.ordinary],
    ['messages', { speed: 'fast' }, { speed: 'fast' }, COST.fast],
  ] as const)(
    'has them for the tier that OpenAI calls by both names: %s asked for %j and served in %j',
    async (name, asked, served, cost) => {
      upstream.answer = () => answerOf(name, false, served)
      const found = await settled(async () => read(await call(name, `fast-${name}`, false, asked)))
      expect(found).toEqual({ charged: cost, cost, tier: cost === COST.fast ? 'fast' : null })
    },
  )

  test.each([
    ['chat', 402],
    ['messages', 200],
  ] as const)('sets them aside where they may be charged: %s', async (name, status) => {
    upstream.answer = () => answerOf(name, false, {})
    const { key } = await openPayer(gateway.database, { creditNano: 300_000n })
    const response = await call(name, `fast-${name}`, false, {}, key)
    await response.text()
    expect(response.status).toBe(status)
  })
})

test('a stream that breaks off is charged by the tier that it named so far', async () => {
  const fed = fedStream()
  upstream.answer = () => eventStream(fed.stream)
  const caller = new AbortController()
  const found = await settled(async () => {
    const delta = { role: 'assistant', content: 'x'.repeat(400) }
    fed.write(data({ id: 'c', service_tier: 'priority', choices: [{ index: 0, delta }] }))
    const response = await call('chat', 'tiered-chat', true, {}, gateway.key, caller.signal)
    await response.body?.getReader().read()
    caller.abort()
  })
  expect(found.tier).toBe('priority')
  const row = await gateway.lastExchange()
  expect(found.charged).toBe(
    BigInt(String(row['input_uncached'])) * 10_000n + BigInt(String(row['output_text'])) * 20_000n,
  )
})

describe('the hold', () => {
  test.each([
    ['nothing', {}, 402],
    ['auto', { service_tier: 'auto' }, 402],
    ['priority', { service_tier: 'priority' }, 402],
    ['a word of tomorrow', { service_tier: 'warp' }, 402],
    ['the ordinary one', { service_tier: 'default' }, 200],
    ['flex', { service_tier: 'flex' }, 200],
  ])(
    'of a request that asks for %s covers the dearest tier that may serve it',
    async (_what, asked, status) => {
      upstream.answer = () => answerOf('chat', false, { service_tier: 'default' })
      // Enough for 60 tokens of the plain price, and not of the priority tier.
      const { key } = await openPayer(gateway.database, { creditNano: 300_000n })
      const response = await call('chat', 'tiered-chat', false, asked, key)
      await response.text()
      expect(response.status).toBe(status)
    },
  )

  test('covers what is charged, whatever the rates, the request and the tier that serves it', () => {
    const word = fc.constantFrom(
      undefined,
      'auto',
      'default',
      'priority',
      'flex',
      'fast',
      'ultrafast',
      'other',
    )
    const anyFormat = fc.constantFrom(...FORMATS)
    fc.assert(
      fc.property(anyRates, anyUsage, word, anyFormat, anyFormat, (rates, usage, asked, format, maker) => {
        const body =
          format === 'anthropic-messages' && asked === 'fast'
            ? { speed: 'fast' }
            : { service_tier: asked ?? null, serviceTier: asked ?? null }
        const ceiling = { inputTokens: inputTokens(usage), outputTokens: outputTokens(usage) }
        const reach = ratesInReach(rates, format, body, () => [maker])
        const most = dearest(reach.map(each => boundOf(ceiling, each)))
        // A bound has room to spare: the same usage by one of the rates in reach has none.
        const costliest = dearest(reach.map(each => costOf(usage, each).pico))
        // What the vendors may serve to who asks so; `open` requests by the operator's settings there.
        const served = {
          auto: ['default', 'priority', 'flex'],
          default: ['default'],
          priority: ['default', 'priority'],
          flex: ['default', 'flex'],
          fast: ['default', 'priority', 'fast'],
          ultrafast: ['default', 'priority', 'ultrafast'],
          other: ['scale', 'default', 'priority'],
        }[asked ?? 'auto']
        for (const said of [undefined, '', 'auto', ...served]) {
          const tier = chargedTier(rates, said, () => ({ format: maker, tier: askedTier(format, body) }))
          const { pico } = costOf(usage, ratesIn(rates, tier))
          expect(pico <= most).toBe(true)
          expect(pico <= costliest).toBe(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

test('what a tier names comes before what the model says of long prompts, and its own long prompts before that', () => {
  fc.assert(
    fc.property(anyRates, fc.bigInt({ min: 0n, max: 3_000_000n }), (rates, length) => {
      for (const [name, own] of rates.serviceTiers) {
        const at = (tiers: typeof own.tiers) => tiers.findLast(tier => length > tier.aboveInputTokens)?.tokens
        const declared = { ...rates.tokens, ...at(rates.tiers), ...own.tokens, ...at(own.tiers) }
        const found = tokenRatesFor(ratesIn(rates, name), length)
        const expected = tokenRatesFor({ ...rates, tokens: declared, tiers: [] }, length)
        expect(found).toEqual(expected)
      }
    }),
  )
})

test('the audit comes to the same charges', async () => {
  const { checks } = await audit(gateway.database.url, {})
  expect(checks.filter(({ count, informational }) => count > 0 && informational !== true)).toEqual([])
})

test.each<[Format, JsonObject, string | undefined]>([
  ['gemini-generate-content', { serviceTier: 'priority' }, 'priority'],
  ['gemini-generate-content', { service_tier: 'priority' }, 'priority'],
  ['anthropic-messages', { speed: 'fast', service_tier: 'standard_only' }, 'fast'],
  ['anthropic-messages', { speed: 'standard', service_tier: 'auto' }, 'auto'],
  ['openai-responses', { service_tier: 'flex' }, 'flex'],
  ['openai-chat-completions', { service_tier: null }, undefined],
])('%s asks by %j for the tier %p', (format, body, tier) => {
  expect(askedTier(format, body)).toBe(tier)
})
