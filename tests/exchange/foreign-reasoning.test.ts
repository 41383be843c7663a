import { beforeEach, describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import type { SeenRequest } from '#tests/support/upstreams/upstream.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'

/** Where bytes are handed on, and where every request is written anew. */
const handedOn = await scriptedGateway()
const writtenAnew = await scriptedGateway({ channelOptions: 'function_tools_only: true' })
const { upstream } = handedOn

/** Another one for each test, since what was refused once is remembered. */
let foreign = ''

beforeEach(() => {
  foreign = Buffer.from(crypto.randomUUID()).toString('base64')
  upstream.seen.length = 0
  writtenAnew.upstream.seen.length = 0
})

function post(
  path: string,
  body: object,
  headers: Record<string, string> = {},
  to: { url: string; key: string } = handedOn.gateway,
): Promise<Response> {
  return fetch(to.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** A body with the reasoning of this test. */
const withForeign = (body: object): object => JSON.parse(JSON.stringify(body).replaceAll(FOREIGN, foreign))

const textOf = ({ body }: SeenRequest) => new TextDecoder().decode(body)

/** Conversations whose reasoning the upstream did not make, and how its vendor says so. Long, so that one of them is outlined. */
const LONG = 'x'.repeat(40_000)
const FOREIGN = 'Zm9yZWlnbg=='
const call = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' }
const MESSAGES = {
  name: 'messages',
  loss: 'messages.content.thinking',
  path: () => '/v1/messages',
  body: {
    model: 'messages/echo',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: FOREIGN },
          { type: 'text', text: 'yes' },
        ],
      },
      { role: 'user', content: 'and?' },
    ],
  },
  status: 400,
  complaint: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    },
  },
} as const

const CASES = [
  {
    name: 'responses',
    loss: 'reasoning.encrypted_content',
    path: () => '/v1/responses',
    body: {
      model: 'responses/echo',
      store: false,
      input: [
        { role: 'user', content: LONG },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: FOREIGN },
        call,
        { type: 'function_call_output', call_id: 'c', output: 'ok' },
      ],
    },
    status: 400,
    complaint: {
      error: {
        message: 'The encrypted content for item rs_1 could not be verified.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_encrypted_content',
      },
    },
  },
  {
    name: 'chat',
    loss: 'messages.reasoning_content',
    path: () => '/v1/chat/completions',
    body: {
      model: 'chat/echo',
      messages: [
        { role: 'user', content: LONG },
        {
          role: 'assistant',
          content: null,
          reasoning_content: FOREIGN,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'ok' },
      ],
    },
    status: 400,
    complaint: {
      error: {
        message:
          "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
        type: 'invalid_request_error',
      },
    },
  },
  MESSAGES,
  {
    name: 'gemini',
    loss: 'contents.parts.thoughtSignature',
    path: (stream: boolean) =>
      `/v1beta/models/gemini/echo:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: [{ text: 'yes', thoughtSignature: FOREIGN }] },
        { role: 'user', parts: [{ text: 'and?' }] },
      ],
    },
    status: 400,
    complaint: {
      error: { code: 400, message: 'Thought signature is not valid.', status: 'INVALID_ARGUMENT' },
    },
  },
] as const

describe.each(CASES)(
  'reasoning that a $name upstream did not make',
  ({ name, path, body, status, complaint, loss }) => {
    const asked = (stream: boolean) => withForeign(name === 'gemini' ? body : { ...body, stream })

    test.each([true, false])(
      'is left out once it says so, and the answer comes (stream: %p)',
      async stream => {
        upstream.answer = (request, signal) =>
          textOf(request).includes(foreign)
            ? Response.json(complaint, { status })
            : simulated(request, signal)
        const response = await post(path(stream), asked(stream))
        expect(response.status).toBe(200)
        await response.text()
        expect(upstream.seen).toHaveLength(2)
        expect(response.headers.get('x-tollgate-losses')).toBe(loss)
        const [first, second] = upstream.seen.map(textOf)
        expect(first).toContain(foreign)
        expect(second).not.toContain(foreign)
      },
    )

    test('is left out of a request that is written anew, too', async () => {
      const { gateway: to, upstream: other } = writtenAnew
      other.answer = (request, signal) =>
        textOf(request).includes(foreign) ? Response.json(complaint, { status }) : simulated(request, signal)
      const response = await post(path(false), asked(false), {}, to)
      expect(response.status).toBe(200)
      await response.text()
      expect(other.seen.map(request => textOf(request).includes(foreign))).toEqual([true, false])
    })

    test('is not left out of a request that is to lose nothing', async () => {
      upstream.answer = () => Response.json(complaint, { status })
      const response = await post(path(false), asked(false), { 'x-tollgate-strict': 'true' })
      expect(response.status).toBe(400)
      await response.text()
      expect(upstream.seen).toHaveLength(1)
    })

    test('is left out once only: what the upstream says then is the answer', async () => {
      upstream.answer = () => Response.json(complaint, { status })
      const response = await post(path(false), asked(false))
      expect(response.status).toBe(400)
      await response.text()
      expect(upstream.seen).toHaveLength(2)
    })

    test('is left out of the next turn at once, and of no other conversation', async () => {
      const refuses = (request: SeenRequest) => textOf(request).includes(foreign)
      upstream.answer = (request, signal) =>
        refuses(request) ? Response.json(complaint, { status }) : simulated(request, signal)
      await (await post(path(false), asked(false))).text()
      const next = await post(path(true), asked(true))
      expect(next.status).toBe(200)
      await next.text()
      expect(next.headers.get('x-tollgate-losses')).toBe(loss)
      expect(upstream.seen.map(refuses)).toEqual([true, false, false])
      const own = Buffer.from(crypto.randomUUID()).toString('base64')
      const other = JSON.parse(JSON.stringify(asked(false)).replaceAll(foreign, own))
      await (await post(path(false), other)).text()
      expect(upstream.seen.slice(3, 4).map(textOf)).toEqual([expect.stringContaining(own)])
    })

    test('that was left out before is not left out of a request that is to lose nothing', async () => {
      upstream.answer = () => Response.json(complaint, { status })
      await (await post(path(false), asked(false))).text()
      const strict = await post(path(false), asked(false), { 'x-tollgate-strict': 'true' })
      expect(strict.status).toBe(400)
      await strict.text()
      expect(upstream.seen.map(request => textOf(request).includes(foreign))).toEqual([true, false, true])
    })
  },
)

describe('of two channels', () => {
  const { body, complaint } = MESSAGES
  /** In a session of its own for each test, which stays where it was served. */
  const ask = (headers: Record<string, string> = {}) =>
    post('/v1/messages', withForeign({ ...body, model: 'two' }), { 'session-id': foreign, ...headers })
  const isSigned = (request: SeenRequest) => textOf(request).includes(foreign)
  const isFirst = ({ path }: SeenRequest) => path.startsWith('/first/')
  const refused = () => Response.json(complaint, { status: 400 })
  const answered = () =>
    Response.json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'echo',
      content: [],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    })
  const seen = () => upstream.seen.map(request => [isFirst(request), isSigned(request)])

  beforeEach(async () => {
    await handedOn.gateway.apply(`
channels:
  - { name: first, format: anthropic-messages, base_url: "${upstream.url}/first", api_keys: [k], allow_private: true }
  - { name: second, format: anthropic-messages, priority: 1, base_url: "${upstream.url}/second", api_keys: [k], allow_private: true }
models:
  - { id: two, channels: [{ channel: first, model: echo }, { channel: second, model: echo }], prices: { input: 1, output: 1 } }
`)
  })

  test('what one refused before is left out for that one alone', async () => {
    upstream.answer = request => (isFirst(request) && isSigned(request) ? refused() : answered())
    expect((await ask()).status).toBe(200)
    upstream.answer = request => (isFirst(request) ? new Response(null, { status: 503 }) : answered())
    const next = await ask()
    expect([next.status, next.headers.get('x-tollgate-losses')]).toEqual([200, null])
    expect(seen()).toEqual([
      [true, true],
      [true, false],
      [true, false],
      [false, true],
    ])
  })

  test('the other is asked where nothing may be lost', async () => {
    const strict = { 'x-tollgate-strict': 'true' }
    upstream.answer = request => (isFirst(request) ? refused() : answered())
    expect((await ask(strict)).status).toBe(200)
    upstream.answer = refused
    expect((await ask(strict)).status).toBe(400)
    expect(seen()).toEqual([
      [true, true],
      [false, true],
      [false, true],
      [true, true],
    ])
  })
})

test('a complaint about anything else is not asked again', async () => {
  upstream.answer = () =>
    Response.json({ error: { message: 'max_tokens is too large', code: 'invalid_value' } }, { status: 400 })
  expect((await post('/v1/responses', CASES[0].body)).status).toBe(400)
  expect(upstream.seen).toHaveLength(1)
})

test('a request that is written anew has no halves of surrogate pairs, which Anthropic refuses', async () => {
  upstream.answer = simulated
  const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"\\ud83d"}' } }]
  const messages = [
    { role: 'user', content: 'half \ud83d of 😀' },
    { role: 'assistant', tool_calls },
    { role: 'tool', tool_call_id: 'c', content: 'ok' },
  ]
  const response = await post('/v1/chat/completions', { model: 'messages/echo', messages })
  expect(response.status).toBe(200)
  await response.text()
  const seen = upstream.seen.at(-1)
  const sent = seen === undefined ? '' : textOf(seen)
  expect(sent).toContain('half \ufffd of 😀')
  expect(sent).not.toContain('\\ud')
})

describe('a Messages request that is written anew, since another upstream thought before', () => {
  test('has the betas that its own fields rely on', async () => {
    upstream.answer = simulated
    const signature = wrapSignature(
      { format: 'openai-responses', vendor: 'openai', value: FOREIGN },
      'anthropic-messages',
    )
    const messages = [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature },
          { type: 'text', text: 'yes' },
        ],
      },
      { role: 'user', content: 'and?' },
    ]
    const body = { model: 'messages/echo', max_tokens: 100, messages, context_management: { edits: [] } }
    const response = await post('/v1/messages', body, { 'anthropic-beta': 'context-management-2025-06-27' })
    await response.text()
    const seen = upstream.seen.at(-1)
    expect(JSON.parse(seen === undefined ? '{}' : textOf(seen))).toHaveProperty('context_management')
    expect(seen?.headers.get('anthropic-beta')).toBe('context-management-2025-06-27')
    expect(seen?.headers.get('anthropic-version')).toBe('2023-06-01')
  })
})
