import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import type { SeenRequest } from '#tests/support/upstreams/upstream.ts'
import { asObject, parseObject } from '@/json/json.ts'

const { upstream, gateway } = await scriptedGateway()

/** What OpenAI answers to an organization that is not verified. */
const complaint = {
  error: {
    message:
      'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.',
    type: 'invalid_request_error',
    param: 'reasoning.summary',
    code: 'unsupported_value',
  },
}

const summaryAsked = ({ body }: SeenRequest) =>
  asObject(parseObject(new TextDecoder().decode(body))?.['reasoning'])?.['summary']

/** A destination of its own for each test, since what was refused once is remembered. */
let model = ''
let channels = 0

beforeEach(async () => {
  channels += 1
  model = `thinks-${channels}`
  await gateway.apply(`
channels:
  - { name: unverified-${channels}, format: openai-responses, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
models:
  - { id: ${model}, channels: [{ channel: unverified-${channels}, model: gpt-5.1/echo }], prices: { input: 1, output: 1 } }
`)
  upstream.seen.length = 0
  upstream.answer = (request, signal) =>
    summaryAsked(request) === undefined
      ? simulated(request, signal)
      : Response.json(complaint, { status: 400 })
})

afterEach(() => {
  upstream.answer = simulated
})

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

const messages = [{ role: 'user', content: 'hi' }]
const thinking = { type: 'enabled', budget_tokens: 2000 }

const CALLERS: readonly (readonly [string, string, () => [string, object]])[] = [
  ['messages', 'thinking.summary', () => ['/v1/messages', { model, max_tokens: 9000, messages, thinking }]],
  [
    'gemini',
    'generationConfig.thinkingConfig.summary',
    () => [
      `/v1beta/models/${model}:generateContent`,
      {
        contents: [{ parts: [{ text: 'hi' }] }],
        generationConfig: { thinkingConfig: { includeThoughts: true } },
      },
    ],
  ],
]

test.each(CALLERS)(
  'an upstream that gives no summaries is asked once more without, and not for them again (%s)',
  async (_, loss, request) => {
    for (const tries of [2, 3]) {
      const response = await post(...request())
      expect(response.status).toBe(200)
      expect(response.headers.get('x-tollgate-losses')).toBe(loss)
      await response.text()
      expect(upstream.seen).toHaveLength(tries)
    }
    expect(upstream.seen.map(summaryAsked)).toEqual(['auto', undefined, undefined])
  },
)

test('another is asked where that one fails otherwise then', async () => {
  const common = `format: openai-responses, base_url: "${upstream.url}", api_keys: [k], allow_private: true`
  await gateway.apply(`
channels:
  - { name: first-${channels}, ${common} }
  - { name: other-${channels}, ${common}, priority: 1 }
models:
  - { id: ${model}, channels: [{ channel: first-${channels}, model: gpt-5.1/echo }, { channel: other-${channels}, model: other/echo }], prices: { input: 1, output: 1 } }
`)
  const { answer } = upstream
  upstream.answer = (request, signal) => {
    const isOther = new TextDecoder().decode(request.body).includes('other/echo')
    if (isOther) return simulated(request, signal)
    return summaryAsked(request) === undefined ? new Response(null, { status: 503 }) : answer(request, signal)
  }
  const response = await post('/v1/messages', { model, max_tokens: 9000, messages, thinking })
  expect(response.status).toBe(200)
  await response.text()
  expect(upstream.seen).toHaveLength(3)
})

test('a request that is to lose nothing is refused', async () => {
  const body = { model, max_tokens: 9000, messages, thinking }
  const response = await post('/v1/messages', body, { 'x-tollgate-strict': 'true' })
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('organization must be verified')
  expect(upstream.seen).toHaveLength(1)
})

test('a caller of the same format, who asked for them itself, is told', async () => {
  const response = await post('/v1/responses', { model, input: 'hi', reasoning: { summary: 'auto' } })
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('organization must be verified')
  expect(upstream.seen).toHaveLength(1)
})

describe('a model that does not think', () => {
  const effortAsked = ({ body }: SeenRequest) =>
    parseObject(new TextDecoder().decode(body))?.['reasoning_effort']

  beforeEach(async () => {
    const common = `base_url: "${upstream.url}", api_keys: [k], allow_private: true`
    await gateway.apply(`
channels:
  - { name: thoughtless-${channels}, format: openai-chat-completions, ${common} }
models:
  - { id: ${model}, channels: [{ channel: thoughtless-${channels}, model: gemma3/echo }], prices: { input: 1, output: 1 } }
`)
    const message = '"gemma3/echo" does not support thinking'
    upstream.answer = (request, signal) =>
      effortAsked(request) === undefined
        ? simulated(request, signal)
        : Response.json({ error: { message, type: 'invalid_request_error' } }, { status: 400 })
  })

  const gemini = (thinkingConfig: object): [string, object] => [
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { thinkingConfig } },
  ]

  test.each<[string, string, () => [string, object]]>([
    ['messages', 'thinking', () => ['/v1/messages', { model, max_tokens: 9000, messages, thinking }]],
    [
      'responses',
      'reasoning',
      () => ['/v1/responses', { model, input: 'hi', reasoning: { effort: 'medium' } }],
    ],
    ['gemini', 'generationConfig.thinkingConfig', () => gemini({ thinkingBudget: 2000 })],
  ])('is asked once more without, and not to think again (%s)', async (_, loss, request) => {
    for (const tries of [2, 3]) {
      const response = await post(...request())
      expect(response.status).toBe(200)
      expect(response.headers.get('x-tollgate-losses')).toBe(loss)
      await response.text()
      expect(upstream.seen).toHaveLength(tries)
    }
    expect(upstream.seen.map(effortAsked)).toEqual([expect.any(String), undefined, undefined])
    // Not to think is no loss then.
    const response = await post(...gemini({ thinkingBudget: 0 }))
    expect(response.status).toBe(200)
    expect(response.headers.get('x-tollgate-losses')).toBeNull()
    await response.text()
  })

  test('is told of to a caller of the same format, who asked for it itself', async () => {
    const response = await post('/v1/chat/completions', { model, messages, reasoning_effort: 'high' })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('does not support thinking')
    expect(upstream.seen).toHaveLength(1)
  })
})
