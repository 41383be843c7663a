import { describe, expect, spyOn, test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { least, msOf } from '#tests/support/least.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { readError } from '#tests/surfaces/calls.ts'
import { audit } from '@/ledger/audit.ts'

/** Prices of the test gateway: 1 and 2 per million tokens, which is 1000 and 2000 nano each. */
const INPUT = 1000n
const OUTPUT = 2000n

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "unpriced", channels: [{ channel: chat, model: "echo" }], prices: {} }
  - { id: "flat", channels: [{ channel: chat, model: "echo" }], prices: { input: 1, per_request: 0.01 } }
  - { id: "dear", max_output_tokens: 100000, channels: [{ channel: chat, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "unknown", channels: [{ channel: chat, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "dear-responses", max_output_tokens: 100000, channels: [{ channel: responses, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "dear-gemini", max_output_tokens: 100000, channels: [{ channel: gemini, model: "echo" }], prices: { input: 1, output: 1000 } }
  - { id: "dearest", max_output_tokens: 2147483647, channels: [{ channel: chat, model: "echo" }], prices: { input: 100000000, output: 100000000 } }`,
})

const TEXT = 'x'.repeat(400)
const CHAT_USAGE =
  '"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":40}}'
const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${TEXT}"}}]}\n\n`
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const USAGE = `data: {"choices":[],${CHAT_USAGE}}\n\n`
const DONE = 'data: [DONE]\n\n'

function body(model: string, stream: boolean, extra = ''): string {
  return `{"model":"${model}","stream":${stream}${extra},"messages":[{"role":"user","content":"hi"}]}`
}

function post(text: string, key = gateway.key, signal?: AbortSignal): Promise<Response> {
  return gateway.post('/v1/chat/completions', text, { key, signal })
}

/** A stream, by two of the surfaces. */
const chatCall = (model: string) => post(body(model, true))
const geminiCall = (model: string) =>
  gateway.post(
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}',
  )

interface Settled {
  end_state: string
  usage_source: string
  cost_nano: bigint | null
  input_uncached: bigint
  cache_read: bigint
  output_text: bigint
}

/** Runs a call to its end; the result is the stored row and what the wallet lost. */
async function settled(call: () => Promise<unknown>): Promise<Settled & { chargedNano: bigint }> {
  const before = await balance()
  const count = (await gateway.exchanges()).length
  await call()
  await until(async () => (await gateway.exchanges()).length > count)
  await until(async () => (await gateway.ledger.balance(gateway.accountId))?.pendingNano === 0n)
  const row = (await gateway.lastExchange()) as unknown as Settled
  return { ...row, chargedNano: before - (await balance()) }
}

async function balance(): Promise<bigint> {
  return (await gateway.ledger.balance(gateway.accountId))?.balanceNano ?? 0n
}

describe('every way a request can end has one rule of what it costs', () => {
  const reported = 60n * INPUT + 40n * INPUT + 50n * OUTPUT

  test.each([
    ['chat', true],
    ['messages', true],
    ['chat', false],
    ['messages', false],
  ] as const)(
    'complete on a %s upstream, streamed %p: what the upstream reported',
    async (format, stream) => {
      const messagesUsage = '"usage":{"input_tokens":60,"cache_read_input_tokens":40,"output_tokens":50}'
      upstream.answer = () => {
        if (format === 'chat') {
          return stream
            ? eventStream(DELTA + FINISH + USAGE + DONE)
            : new Response(
                `{"choices":[{"index":0,"message":{"role":"assistant","content":"${TEXT}"},"finish_reason":"stop"}],${CHAT_USAGE}}`,
              )
        }
        return stream
          ? eventStream(
              `event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":60,"cache_read_input_tokens":40,"output_tokens":1}}}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${TEXT}"}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":50}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
            )
          : new Response(
              `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"${TEXT}"}],"stop_reason":"end_turn",${messagesUsage}}`,
            )
      }
      const costs: (string | null)[] = []
      const result = await settled(async () => {
        const response = await post(body(`${format}/echo`, stream))
        costs.push(response.headers.get('x-tollgate-cost'))
        await response.text()
      })
      expect(result).toMatchObject({ end_state: 'complete', usage_source: 'reported', cost_nano: reported })
      expect(result.chargedNano).toBe(reported)
      expect(costs).toEqual([stream ? null : '0.000200000'])
    },
  )

  // Anthropic's first event counts one token of output, and some upstreams of that format leave it at that.
  test.each(['{}', 'null'])(
    'a Messages answer whose end says %s of its usage is counted here',
    async usage => {
      upstream.answer = () =>
        eventStream(
          [
            'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"model":"m","usage":{"input_tokens":7,"output_tokens":1}}}\n\n',
            'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
            `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${TEXT}"}}\n\n`,
            'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
            `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":${usage}}\n\n`,
            'event: message_stop\ndata: {"type":"message_stop"}\n\n',
          ].join(''),
        )
      const result = await settled(async () => (await post(body('messages/echo', true))).text())
      expect(result).toMatchObject({
        end_state: 'complete',
        usage_source: 'estimated',
        input_uncached: 7n,
        output_text: 100n,
      })
      // Also where nobody asked for a stream: it is collected, and has no word for a usage of a part.
      const whole = await settled(async () => (await post(body('messages/echo', false))).text())
      expect(whole).toMatchObject({ end_state: 'complete', usage_source: 'estimated', output_text: 100n })
    },
  )

  test('no usage reported: what was counted here, marked estimated', async () => {
    upstream.answer = () => eventStream(DELTA + DELTA + FINISH + DONE)
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ end_state: 'complete', usage_source: 'estimated', output_text: 200n })
    expect(result.chargedNano).toBe(result.input_uncached * INPUT + 200n * OUTPUT)
  })

  test('an answer that says nothing and comes to its end: the prompt, estimated', async () => {
    upstream.answer = () => eventStream(FINISH + DONE)
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ end_state: 'complete', usage_source: 'estimated', output_text: 0n })
    expect(result.chargedNano).toBe(result.input_uncached * INPUT)
    expect(result.chargedNano).toBeGreaterThan(0n)
  })

  test.each([
    ['empty', '{}'],
    ['of nulls', '{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null}'],
    ['of the prompt alone', '{"prompt_tokens":100}'],
    ['of the answer alone', '{"prompt_tokens":null,"completion_tokens":50}'],
    ['of texts', '{"prompt_tokens":"100","completion_tokens":"50"}'],
    ['below zero', '{"prompt_tokens":100,"completion_tokens":-50}'],
    ['below zero throughout', '{"prompt_tokens":-100,"completion_tokens":-50,"total_tokens":-150}'],
    ['beyond all models', '{"prompt_tokens":1e15,"completion_tokens":50}'],
    ['beyond all numbers', '{"prompt_tokens":100,"completion_tokens":1e300}'],
    [
      'beyond all models in its details',
      '{"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":1e15}}',
    ],
  ])('a usage that is %s is none: what was counted here', async (_name, usage) => {
    for (const stream of [true, false]) {
      upstream.answer = () =>
        stream
          ? eventStream(`${DELTA}${FINISH}data: {"choices":[],"usage":${usage}}\n\n${DONE}`)
          : new Response(
              `{"choices":[{"index":0,"message":{"role":"assistant","content":"${TEXT}"},"finish_reason":"stop"}],"usage":${usage}}`,
            )
      const result = await settled(async () => (await post(body('chat/echo', stream))).text())
      expect(result).toMatchObject({ end_state: 'complete', usage_source: 'estimated', output_text: 100n })
      expect(result.chargedNano).toBe(result.input_uncached * INPUT + 100n * OUTPUT)
    }
    expect(await gateway.database.sql`select id from hold`).toHaveLength(0)
  })

  test.each([
    ['below zero', { input: 60, output: -1 }],
    ['beyond all numbers', { input: 60, output: 1e300 }],
    ['a text', { input: '60', output: 50 }],
  ])(
    'a stream whose last usage is %s is counted here, but for the prompt that an earlier one told',
    async (_name, { input, output }) => {
      const chunk = (usage: object, more = {}) => `data: ${JSON.stringify({ ...more, usage })}\n\n`
      const delta = { choices: [{ index: 0, delta: { content: TEXT } }] }
      const part = { content: { role: 'model', parts: [{ text: TEXT }] } }
      const answers = {
        chat:
          chunk({ prompt_tokens: 60, completion_tokens: 0, total_tokens: 60 }, delta) +
          FINISH +
          chunk({ prompt_tokens: input, completion_tokens: output }, { choices: [] }) +
          DONE,
        gemini: [
          { candidates: [part], usageMetadata: { promptTokenCount: 60, totalTokenCount: 60 } },
          {
            candidates: [{ content: { parts: [] }, finishReason: 'STOP' }],
            usageMetadata: { promptTokenCount: input, candidatesTokenCount: output },
          },
        ]
          .map(each => `data: ${JSON.stringify(each)}\n\n`)
          .join(''),
      }
      for (const format of ['chat', 'gemini'] as const) {
        upstream.answer = () => eventStream(answers[format])
        const told = {
          end_state: 'complete',
          usage_source: 'estimated',
          input_uncached: 60n,
          output_text: 100n,
        }
        for (const surface of [chatCall, geminiCall])
          expect(await settled(async () => (await surface(`${format}/echo`)).text())).toMatchObject(told)
      }
    },
  )

  test.each([true, false])(
    'a price per request is charged once beside the tokens, streamed %p',
    async stream => {
      upstream.answer = () =>
        stream
          ? eventStream(DELTA + FINISH + USAGE + DONE)
          : new Response(
              `{"choices":[{"index":0,"message":{"role":"assistant","content":"${TEXT}"},"finish_reason":"stop"}],${CHAT_USAGE}}`,
            )
      const result = await settled(async () => (await post(body('flat', stream))).text())
      expect(result.chargedNano).toBe(10_000_000n + 100n * INPUT)
      expect(result.cost_nano).toBe(result.chargedNano)
    },
  )

  test('a price per request is not charged for an answer that never came', async () => {
    upstream.answer = () => new Response('{"error":{"message":"no"}}', { status: 400 })
    const result = await settled(async () => (await post(body('flat', true))).text())
    expect(result).toMatchObject({ cost_nano: null, chargedNano: 0n })
  })

  test('a fraction of a token is neither on the bill nor on the receipt', async () => {
    const usage = '"usage":{"prompt_tokens":3,"completion_tokens":1.5,"total_tokens":4.5}'
    upstream.answer = () => eventStream(`${DELTA}${FINISH}data: {"choices":[],${usage}}\n\n${DONE}`)
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ usage_source: 'reported', input_uncached: 3n, output_text: 1n })
    expect(result.chargedNano).toBe(3n * INPUT + OUTPUT)
  })

  test('an explicit zero is no missing usage', async () => {
    const zero = '"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}'
    upstream.answer = () => eventStream(`${DELTA}${FINISH}data: {"choices":[],${zero}}\n\n${DONE}`)
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ usage_source: 'reported', cost_nano: 0n, chargedNano: 0n })
  })

  test('the caller leaves in the middle: the prompt and what was delivered, estimated', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const abort = new AbortController()
    const result = await settled(async () => {
      const response = await post(body('chat/echo', true), gateway.key, abort.signal)
      await response.body?.getReader().read()
      abort.abort()
    })
    expect(result).toMatchObject({ end_state: 'client_gone', usage_source: 'estimated', output_text: 100n })
    expect(result.chargedNano).toBe(result.input_uncached * INPUT + 100n * OUTPUT)
  })

  test('the caller leaves while the end is on its way: what the upstream reported', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const abort = new AbortController()
    const result = await settled(async () => {
      const response = await post(body('chat/echo', true), gateway.key, abort.signal)
      await response.body?.getReader().read()
      fed.write(DELTA + FINISH + USAGE + DONE)
      abort.abort()
    })
    expect(result).toMatchObject({ usage_source: 'reported', output_text: 50n, chargedNano: reported })
  })

  test('its end reaches the caller: by then its charge is noted, for whoever goes on if this process dies', async () => {
    const noted = spyOn(gateway.server.gateway.ledger, 'note')
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    await settled(async () => {
      await (await post(body('chat/echo', true))).text()
      expect(noted.mock.calls).toMatchObject([[{ costNano: reported }]])
    })
    noted.mockRestore()
  })

  test('the caller leaves before any output: nothing', async () => {
    upstream.answer = () => new Promise<Response>(() => {})
    const abort = new AbortController()
    const before = upstream.seen.length
    const result = await settled(async () => {
      const call = post(body('chat/echo', true), gateway.key, abort.signal).catch(() => undefined)
      await until(() => upstream.seen.length > before)
      abort.abort()
      await call
    })
    expect(result).toMatchObject({ end_state: 'client_gone', cost_nano: null, chargedNano: 0n })
  })

  test.each([400, 401, 429, 500, 529])('the upstream refuses with %d: nothing', async status => {
    upstream.answer = () => new Response('{"error":{"message":"no"}}', { status })
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ cost_nano: null, chargedNano: 0n })
  })

  test('the stream is cut after output: the prompt and what was delivered, estimated', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const result = await settled(async () => {
      const response = await post(body('chat/echo', true))
      fed.close()
      await response.text()
    })
    expect(result).toMatchObject({ end_state: 'upstream_cut', usage_source: 'estimated', output_text: 100n })
    expect(result.chargedNano).toBeGreaterThan(100n * OUTPUT)
  })

  test('an error in the middle of the stream: the prompt and what was delivered, estimated', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const result = await settled(async () => {
      const response = await post(body('chat/echo', true))
      fed.write('data: {"error":{"message":"broken","type":"server_error"}}\n\n')
      fed.close()
      await response.text()
    })
    expect(result).toMatchObject({ end_state: 'upstream_error', usage_source: 'estimated' })
    expect(result.chargedNano).toBeGreaterThan(100n * OUTPUT)
  })

  test('a tool call alone costs its tokens', async () => {
    upstream.answer = () =>
      eventStream(
        `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"${'1'.repeat(40)}"}}]}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n${DONE}`,
      )
    const result = await settled(async () => (await post(body('chat/echo', true))).text())
    expect(result).toMatchObject({ usage_source: 'estimated', output_text: 10n })
  })

  test('a model without prices is refused, not free', async () => {
    const response = await post(body('unpriced', false))
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'no_channel' } })
  })
})

describe('at the dearest prices that there can be', () => {
  const units = 10n ** 9n
  const cap = { period: 'total', amountNano: 9_000_000_000n * units } as const

  test('the largest usage that there can be is charged, whatever it costs', async () => {
    const payer = await openPayer(gateway.database, { creditNano: 8_000_000_000n * units, cap })
    const usage = '"usage":{"prompt_tokens":33554432,"completion_tokens":33554432}'
    upstream.answer = () => eventStream(`${DELTA}${FINISH}data: {"choices":[],${usage}}\n\n${DONE}`)
    const response = await post(body('dearest', true), payer.key)
    expect(await response.text()).toContain('[DONE]')
    const wallet = () => gateway.ledger.balance(payer.accountId)
    await until(async () => (await wallet())?.pendingNano === 0n)
    expect((await wallet())?.balanceNano).toBe((8_000_000_000n - 2n * 33_554_432n * 100n) * units)
  })

  test.each([undefined, cap])(
    'a request that costs more than any wallet holds is a 402 (cap: %p)',
    async cap => {
      const payer = await openPayer(gateway.database, { creditNano: 8_000_000_000n * units, cap })
      upstream.answer = () => Promise.reject(new Error('nobody may ask'))
      for (const stream of [false, true]) {
        const response = await post(body('dearest', stream, ',"max_tokens":900000000'), payer.key)
        expect(response.status).toBe(402)
      }
    },
  )
})

describe('credit', () => {
  const poor = (creditNano: bigint, onTrial = false) => openPayer(gateway.database, { creditNano, onTrial })

  test('that is out is a 402 in the shape of the surface, and the upstream is not called', async () => {
    const { key } = await poor(1n)
    const before = upstream.seen.length
    const chat = await post(body('dear', false, ',"max_tokens":1000'), key)
    expect(chat.status).toBe(402)
    expect(chat.headers.get('x-should-retry')).toBe('false')
    expect(await chat.json()).toMatchObject({
      error: { type: 'insufficient_quota', code: 'credit_exhausted' },
    })
    const messages = await gateway.post(
      '/v1/messages',
      '{"model":"dear","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}',
      { key },
    )
    expect(await messages.json()).toMatchObject({
      type: 'error',
      error: { type: 'billing_error', code: 'credit_exhausted' },
    })
    const gemini = await fetch(`${gateway.url}/v1beta/models/dear:generateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': key },
      body: '{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":1000}}',
    })
    expect(gemini.status).toBe(402)
    expect(await gemini.json()).toMatchObject({ error: { code: 402, status: 'FAILED_PRECONDITION' } })
    expect(upstream.seen.length).toBe(before)
  })

  test('that does not pay for the stated limit names the one that it pays for', async () => {
    // 1 dollar at 1000 dollars a million pays for not quite 1000 tokens.
    const { key } = await poor(10n ** 9n)
    const response = await post(body('dear', true, ',"max_tokens":50000'), key)
    expect(response.status).toBe(402)
    const affordable = Number(/for (\d+) output tokens/.exec(await response.text())?.[1])
    expect(affordable).toBeGreaterThan(950)
    expect(affordable).toBeLessThan(1000)
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    expect((await post(body('dear', true, `,"max_tokens":${affordable}`), key)).status).toBe(200)
  })

  test.each([
    ['chat', '/v1/chat/completions', '"n":4,"max_tokens":900'],
    [
      'gemini',
      '/v1beta/models/dear:generateContent',
      '"generationConfig":{"candidateCount":4,"maxOutputTokens":900}',
    ],
  ])('must pay for all the answers that a %s request wants of one prompt', async (_surface, path, wanted) => {
    // 1 dollar at 1000 dollars a million pays for one answer of 900 tokens.
    const { key } = await poor(10n ** 9n)
    const prompt = '"contents":[{"parts":[{"text":"hi"}]}],"messages":[{"role":"user","content":"hi"}]'
    const response = await gateway.post(path, `{"model":"dear",${wanted},${prompt}}`, { key })
    expect(response.status).toBe(402)
    const affordable = Number(/for (\d+) output tokens/.exec(await response.text())?.[1])
    expect(affordable).toBeGreaterThan(235)
    expect(affordable).toBeLessThan(250)
  })

  test('on trial cannot be overdrawn by many files at once: they are held by their length', async () => {
    const { key } = await poor(9n * 10n ** 7n, true)
    const file = { type: 'file', file: { file_data: `data:application/pdf;base64,${'A'.repeat(2 ** 20)}` } }
    const ask = (model: string) => {
      const messages = [{ role: 'user', content: [file] }]
      return post(JSON.stringify({ model, max_tokens: 16, stream: true, messages }), key)
    }
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    // 49,000 tokens at 1 dollar a million: credit for one.
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask('chat/echo')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402, 402, 402])
    fed.write(FINISH + USAGE + DONE)
    fed.close()
    await Promise.all(answers.map(response => response.text()))
  })

  test('must pay for the output that the request foretells, which is charged also where it turns out otherwise', async () => {
    const { key } = await poor(10n ** 9n)
    const foretold = (content: unknown) =>
      post(
        body(
          'dear',
          false,
          `,"max_tokens":100,"prediction":{"type":"content","content":${JSON.stringify(content)}}`,
        ),
        key,
      )
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    for (const content of ['word '.repeat(4000), [{ type: 'text', text: 'word '.repeat(4000) }]]) {
      expect((await foretold(content)).status).toBe(402)
    }
  })

  test('must pay for the stated limit of a model of which nobody says how much it writes', async () => {
    const { key } = await poor(20n * 10n ** 9n)
    expect((await post(body('unknown', false, ',"max_tokens":25000'), key)).status).toBe(402)
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    const limited = await post(body('unknown', true, ',"max_tokens":15000'), key)
    expect(limited.status).toBe(200)
    await limited.text()
  })

  test.each([
    ['chat', '/v1/chat/completions', '"max_completion_tokens":1,"max_tokens":5000'],
    [
      'gemini',
      '/v1beta/models/dear:generateContent',
      '"generationConfig":{"maxOutputTokens":1},"generation_config":{"max_output_tokens":5000}',
    ],
    [
      'gemini',
      '/v1beta/models/dear:generateContent',
      '"generationConfig":{"candidate_count":9,"maxOutputTokens":900}',
    ],
  ])('must pay for the largest limit that a %s request states', async (_surface, path, wanted) => {
    const { key } = await poor(10n ** 9n)
    const prompt = '"contents":[{"parts":[{"text":"hi"}]}],"messages":[{"role":"user","content":"hi"}]'
    const response = await gateway.post(path, `{"model":"dear",${wanted},${prompt}}`, { key })
    expect(response.status).toBe(402)
  })

  test.each([
    ['max_tokens', '-1'],
    ['max_tokens', '1.5'],
    ['max_completion_tokens', '3000000000'],
    ['n', '0'],
    ['n', '2.5'],
    ['n', '100000'],
  ])('cannot be reckoned with %s: %s, which is a 400 that names it', async (field, value) => {
    const response = await post(body('chat/echo', false, `,"${field}":${value}`))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param: field } })
  })

  test('that does not pay for all that a model can write limits a request that states no limit', async () => {
    const { key } = await poor(10n ** 9n)
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    const response = await post(body('dear', true), key)
    expect(response.status).toBe(200)
    await response.text()
    const sent = JSON.parse(upstream.lastBody())
    expect(sent.max_tokens).toBeGreaterThan(950)
    expect(sent.max_tokens).toBeLessThan(1000)
  })

  const GEMINI = '/v1beta/models/dear-gemini:streamGenerateContent?alt=sse'
  const CONTENTS = '"contents":[{"role":"user","parts":[{"text":"hi"}]}]'
  test.each([
    ['/v1/responses', '{"model":"dear-responses","stream":true,"input":"hi"}', ['max_output_tokens']],
    [GEMINI, `{${CONTENTS}}`, ['generationConfig', 'maxOutputTokens']],
    [GEMINI, `{${CONTENTS},"generationConfig":null}`, ['generationConfig', 'maxOutputTokens']],
    [GEMINI, `{${CONTENTS},"generationConfig":{"topK":5}}`, ['generationConfig', 'maxOutputTokens']],
    [GEMINI, `{${CONTENTS},"generation_config":{"topK":5}}`, ['generation_config', 'maxOutputTokens']],
  ])('limits a request to %s by the name that its format has for it: %s', async (path, text, place) => {
    const { key } = await poor(10n ** 9n)
    upstream.answer = () => new Response('{"error":{"message":"no"}}', { status: 400 })
    await gateway.post(path, text, { key })
    const sent = JSON.parse(upstream.lastBody())
    const limit = place.reduce((value, name) => value?.[name], sent)
    expect(limit).toBeGreaterThan(950)
    expect(limit).toBeLessThan(1000)
    if (text.includes('topK')) expect(JSON.stringify(sent)).toContain('"topK":5')
  })

  test('that running requests have set aside is a 402 with Retry-After', async () => {
    const { key } = await poor(10n ** 9n)
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const first = await post(body('dear', true, ',"max_tokens":900'), key)
    const second = await post(body('dear', true, ',"max_tokens":900'), key)
    expect(second.status).toBe(402)
    expect(await second.json()).toMatchObject({ error: { code: 'credit_reserved' } })
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    fed.write(FINISH + USAGE + DONE)
    fed.close()
    await first.text()
  })

  test('serves one request after the other as long as it lasts', async () => {
    const { key } = await poor(10n ** 9n)
    upstream.answer = () => eventStream(DELTA + FINISH + USAGE + DONE)
    for (let turn = 0; turn < 3; turn++) {
      const response = await post(body('dear', true, ',"max_tokens":750'), key)
      expect(response.status).toBe(200)
      await response.text()
    }
  })

  test('for exactly one of two requests at once serves exactly one', async () => {
    const { key, accountId } = await poor(10n ** 9n)
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(DELTA)
    const answers = await Promise.all([0, 1].map(() => post(body('dear', true, ',"max_tokens":900'), key)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402])
    fed.write(FINISH + USAGE + DONE)
    fed.close()
    await Promise.all(answers.map(response => response.text()))
    await until(async () => (await gateway.ledger.balance(accountId))?.pendingNano === 0n)
    const left = (await gateway.ledger.balance(accountId))?.balanceNano
    expect(left).toBe(10n ** 9n - (100n * 1000n + 50n * 1_000_000n))
  })

  test('is audited green after all of this', async () => {
    await gateway.server.flush()
    const report = await audit(gateway.database.url)
    expect(report.checks.filter(({ count }) => count > 0)).toEqual([])
    expect(report.ok).toBe(true)
  })
})

describe('a revoked key', () => {
  test('ends its running streams within 2.5 s, in-band', async () => {
    const revoke = async () => {
      const { id, key } = await gateway.keys.createKey({
        accountId: gateway.accountId,
        name: 'short-lived',
      })
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      fed.write(DELTA)
      const response = await post(body('chat/echo', true), key)
      const ended = response.text()
      const ms = await msOf(async () => {
        await gateway.keys.revokeKey(id)
        expect(await ended).toContain('This API key was revoked')
      })
      expect((await post(body('chat/echo', true), key)).status).toBe(401)
      return ms
    }
    expect(await least(2500, revoke)).toBeLessThan(2500)
  })

  test('ends its answers in one piece as well, which cost nothing, and is asked nowhere else', async () => {
    const { accountId, keyId, key } = await openPayer(gateway.database, { creditNano: 10n ** 9n })
    const { aborted, seen } = upstream
    const asked = seen.length
    upstream.answer = () => new Promise(() => {})
    const answer = post(body('chat/echo', false), key)
    await until(() => seen.length > asked)
    await gateway.keys.revokeKey(keyId)
    expect(await readError(await answer, 'chat')).toMatchObject({ status: 401, code: 'invalid_api_key' })
    await until(() => upstream.aborted > aborted)
    expect(seen.length).toBe(asked + 1)
    await gateway.server.flush()
    expect(await gateway.ledger.balance(accountId)).toMatchObject({ balanceNano: 10n ** 9n, pendingNano: 0n })
  })
})
