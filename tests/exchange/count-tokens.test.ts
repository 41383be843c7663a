import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import {
  endlessBody,
  type Script,
  type ScriptedUpstream,
  scriptedUpstream,
  until,
} from '#tests/support/upstreams/upstream.ts'

/** The first gateway of a run waits for a database server. */
const START_MS = 60_000

const SAID = 'How many tokens is this? '.repeat(20)
const TOKENS = SAID.length / 4

/** The ways to ask, by surface. */
const ASK = {
  responses: {
    path: () => '/v1/responses/input_tokens',
    body: (model: string) => ({ model, input: SAID }),
    read: (answer: Record<string, unknown>) => answer['input_tokens'],
  },
  messages: {
    path: () => '/v1/messages/count_tokens',
    body: (model: string) => ({ model, messages: [{ role: 'user', content: SAID }] }),
    read: (answer: Record<string, unknown>) => answer['input_tokens'],
  },
  gemini: {
    path: (model: string) => `/v1beta/models/${model}:countTokens`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: SAID }] }] }),
    read: (answer: Record<string, unknown>) => answer['totalTokens'],
  },
} as const
type Surface = keyof typeof ASK
const SURFACES = Object.keys(ASK) as Surface[]
const COUNTING = ['responses', 'messages', 'gemini'] as const

function ask(gateway: TestGateway, surface: Surface, model: string, body?: object): Promise<Response> {
  return gateway.post(ASK[surface].path(model), body ?? ASK[surface].body(model))
}

async function tokensOf(surface: Surface, response: Response): Promise<unknown> {
  return ASK[surface].read((await response.json()) as Record<string, unknown>)
}

const gateway = await fileGateway()

describe('with the simulator behind it', () => {
  test.each(SURFACES.flatMap(surface => COUNTING.map(upstream => [surface, upstream] as const)))(
    'a %s caller gets the count of a %s upstream',
    async (surface, upstream) => {
      const response = await ask(gateway, surface, `${upstream}/echo`)
      expect(response.status).toBe(200)
      expect(response.headers.get('x-tollgate-estimated')).toBeNull()
      expect(response.headers.get('x-tollgate-model')).toBe(`${upstream}/echo`)
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(response.headers.has('request-id')).toBe(surface === 'messages')
      expect(Number(await tokensOf(surface, response))).toBeWithin(TOKENS - 5, TOKENS + 20)
    },
  )

  test.each(SURFACES)('a %s caller gets an estimate for a Chat upstream', async surface => {
    const response = await ask(gateway, surface, 'chat/echo')
    expect(response.status).toBe(200)
    expect(response.headers.get('x-tollgate-estimated')).toBe('true')
    expect(Number(await tokensOf(surface, response))).toBeWithin(TOKENS - 5, TOKENS + 20)
  })

  test.each(['v1', 'v1beta', 'v1alpha'])('Gemini is asked under /%s too, in both forms', async version => {
    const contents = [{ parts: [{ text: SAID }] }]
    for (const body of [
      { contents },
      { generateContentRequest: { model: 'models/gemini/echo', contents } },
      { generate_content_request: { model: 'models/gemini/echo', contents } },
    ]) {
      for (const model of ['gemini/echo', 'messages/echo', 'chat/echo']) {
        const response = await fetch(`${gateway.url}/${version}/models/${model}:countTokens`, {
          method: 'POST',
          headers: { 'x-goog-api-key': gateway.key },
          body: JSON.stringify(body),
        })
        expect(response.status).toBe(200)
        expect(Number(await tokensOf('gemini', response))).toBeWithin(TOKENS - 5, TOKENS + 20)
      }
    }
  })

  test('tools and instructions are counted', async () => {
    const request = ASK.messages.body('gemini/echo')
    const plain = Number(await tokensOf('messages', await ask(gateway, 'messages', 'gemini/echo')))
    const more = await ask(gateway, 'messages', 'gemini/echo', {
      ...request,
      system: SAID,
      tools: [
        {
          name: 'look',
          description: SAID,
          input_schema: { type: 'object', properties: { q: { type: 'string' } } },
        },
      ],
    })
    expect(Number(await tokensOf('messages', more))).toBeGreaterThan(plain + 2 * TOKENS - 5)
  })

  test('no exchange is stored, and it is logged and counted', async () => {
    const before = (await gateway.exchanges()).length
    const response = await ask(gateway, 'messages', 'chat/echo')
    const id = response.headers.get('x-request-id')
    expect((await gateway.exchanges()).length).toBe(before)
    const line = gateway.logLines.map(text => JSON.parse(text)).find(({ request_id }) => request_id === id)
    expect(line).toMatchObject({
      msg: 'token count',
      surface: 'messages',
      model: 'chat/echo',
      account: gateway.accountId,
      key: gateway.keyId,
      status: 200,
      counted_by: 'estimate',
    })
    expect(await gateway.metrics.registry.metrics()).toContain(
      'tollgate_token_counts_total{surface="messages",model="chat/echo",counted_by="estimate",status="200"}',
    )
  })

  test.each([
    ['invalid_request', 'messages that are no list', { model: 'chat/echo', messages: 'x' }],
    ['invalid_request', 'no messages', { model: 'responses/echo' }],
    ['invalid_request', 'no model', { messages: [] }],
    ['model_not_found', 'an unknown model', { model: 'nope', messages: [] }],
  ] as const)('a 400 %s answers %s', async (code, _what, body) => {
    const response = await ask(gateway, 'messages', '', body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ type: 'error', error: { code } })
  })

  test('who brings no key is told so in the shape of the surface', async () => {
    const response = await fetch(`${gateway.url}/v1beta/models/gemini/echo:countTokens`, {
      method: 'POST',
      body: '{}',
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
  })
})

describe('with an upstream that answers as told', () => {
  let upstream: ScriptedUpstream
  let gateway: TestGateway
  let clock: ManualClock
  let answer: Script
  beforeAll(async () => {
    upstream = scriptedUpstream((request, signal) => answer(request, signal))
    clock = manualClock()
    gateway = await startTestGateway({
      clock,
      upstreams: upstream.url,
      models: `
  - { id: "named", channels: [{ channel: messages, model: "upstream-name" }] }
  - { id: "gnamed", channels: [{ channel: gemini, model: "upstream-name" }] }
  - { id: "gslash", channels: [{ channel: gemini, model: "vendor/name" }] }`,
    })
  }, START_MS)
  afterAll(async () => {
    const stopped = gateway.close()
    await until(() => {
      clock.advance(1000)
      return Bun.peek.status(stopped) !== 'pending'
    })
    await stopped
    await upstream.stop()
  })

  test('the same format: the bytes are handed on with the model patched, the answer comes back as it is', async () => {
    const body = '{ "model":"named", "messages":[], "odd": 1.0 , "thinking":{"type":"adaptive"}}'
    const said = '{"input_tokens": 14, "context_management": {"original_input_tokens": 70000}}'
    answer = () => new Response(said)
    const response = await fetch(`${gateway.url}/v1/messages/count_tokens?beta=true`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key, 'anthropic-beta': 'a-1', 'anthropic-version': '2026-10-21' },
      body,
    })
    expect(await response.text()).toBe(said)
    expect(upstream.lastBody()).toBe(body.replace('"named"', '"upstream-name"'))
    const seen = upstream.seen.at(-1)
    expect(seen?.path).toBe('/v1/messages/count_tokens')
    expect(seen?.headers.get('anthropic-beta')).toBe('a-1')
    expect(seen?.headers.get('x-api-key')).toBe('upstream-key-messages')
  })

  test.each([
    ['gnamed', 'models/upstream-name'],
    ['gslash', 'models/vendor/name'],
  ])('the long form of Gemini is renamed inside as in the path: %s', async (model, name) => {
    answer = () => new Response('{"totalTokens":3}')
    const response = await ask(gateway, 'gemini', model, {
      generateContentRequest: { model: `models/${model}`, contents: [] },
    })
    expect(await response.json()).toEqual({ totalTokens: 3 })
    expect(upstream.seen.at(-1)?.path).toBe(`/v1beta/${name}:countTokens`)
    expect(upstream.lastBody()).toBe(`{"generateContentRequest":{"model":"${name}","contents":[]}}`)
  })

  test('another format: the request is written anew, without a limit of the answer', async () => {
    answer = () => new Response('{"input_tokens":5}')
    const response = await ask(gateway, 'responses', 'named')
    expect(await response.json()).toEqual({ object: 'response.input_tokens', input_tokens: 5 })
    expect(JSON.parse(upstream.lastBody())).toEqual({
      model: 'upstream-name',
      messages: [{ role: 'user', content: expect.anything() }],
    })
    expect(upstream.seen.at(-1)?.headers.get('anthropic-version')).toBe('2023-06-01')
  })

  const failures: Record<string, Script> = {
    '404': () => new Response('{"error":{"message":"no such path"}}', { status: 404 }),
    '405': () => new Response('not allowed', { status: 405 }),
    '429': () => new Response('{"error":{"message":"slow down"}}', { status: 429 }),
    '500': () => new Response('oops', { status: 500 }),
    '501': () => new Response('', { status: 501 }),
    '529': () => new Response('', { status: 529 }),
    'an error inside a 200': () =>
      new Response('{"type":"error","error":{"type":"overloaded_error","message":"x"}}'),
    'no number': () => new Response('{}'),
    'no JSON': () => new Response('<html>'),
    'half an answer': () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(new TextEncoder().encode('{"input_'))
            controller.error(null)
          },
        }),
      ),
  }

  test.each(Object.entries(failures))('an upstream that answers %s: estimated', async (_name, script) => {
    answer = script
    for (const surface of SURFACES) {
      const response = await ask(gateway, surface, `${surface}/echo`)
      expect(response.status).toBe(200)
      expect(response.headers.get('x-tollgate-estimated')).toBe('true')
      expect(Number(await tokensOf(surface, response))).toBeWithin(TOKENS - 5, TOKENS + 20)
    }
  })

  test('an upstream whose answer has no end: estimated, and not all of it is kept', async () => {
    const body = endlessBody()
    answer = () => new Response(body.stream)
    const response = await ask(gateway, 'messages', 'messages/echo')
    expect(response.headers.get('x-tollgate-estimated')).toBe('true')
    expect(body.megabytes).toBeLessThan(400)
  })

  test('an upstream that never answers: estimated after 10 s', async () => {
    answer = () => new Promise<Response>(() => {})
    const before = upstream.seen.length
    const call = ask(gateway, 'messages', 'messages/echo')
    await until(() => upstream.seen.length > before)
    clock.advance(10_000)
    const response = await call
    expect(response.status).toBe(200)
    expect(response.headers.get('x-tollgate-estimated')).toBe('true')
  })

  test('what the upstream finds wrong with the request goes back to the caller', async () => {
    answer = () =>
      new Response(
        '{"type":"error","error":{"type":"invalid_request_error","message":"messages: too few"}}',
        { status: 400 },
      )
    const response = await ask(gateway, 'messages', 'messages/echo')
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as { error: { message: string } }
    expect(error.message).toBe(`messages: too few (request id: ${response.headers.get('request-id')})`)
  })

  test('a caller who leaves closes the upstream connection', async () => {
    answer = () => new Promise<Response>(() => {})
    const [before, aborted] = [upstream.seen.length, upstream.aborted]
    const abort = new AbortController()
    const call = fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key },
      body: '{"model":"messages/echo","messages":[]}',
      signal: abort.signal,
    }).catch(() => undefined)
    await until(() => upstream.seen.length > before)
    abort.abort()
    await call
    await until(() => upstream.aborted > aborted)
    await until(() =>
      gateway.logLines.some(line => line.includes('token count') && line.includes('"status":499')),
    )
  })

  test('a converted stream of a Messages caller begins with the estimate', async () => {
    answer = () =>
      new Response(
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        { headers: { 'content-type': 'text/event-stream' } },
      )
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key },
      body: JSON.stringify({ ...ASK.messages.body('chat/echo'), max_tokens: 5, stream: true }),
    })
    const start = /data: (.*"message_start".*)/.exec(await response.text())?.[1] ?? '{}'
    expect(JSON.parse(start).message.usage.input_tokens).toBeWithin(TOKENS - 5, TOKENS + 20)
  })
})
