import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway()

/** A caller of Chat or Messages, over an upstream of Chat: passthrough, and a conversion. */
const CALLERS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
} as const
type Caller = keyof typeof CALLERS
const callers = Object.keys(CALLERS) as Caller[]

function ask(caller: Caller, stream: boolean, signal?: AbortSignal, model = 'chat/echo'): Promise<Response> {
  const messages = [{ role: 'user', content: 'hi' }]
  return gateway.post(CALLERS[caller], { model, max_tokens: 10, stream, messages }, { signal })
}

/** So much of an answer, and no more. */
function brokenBody(text: string): Response {
  const fed = fedStream()
  fed.write(text)
  setImmediate(fed.fail)
  return new Response(fed.stream, { headers: { 'content-type': 'application/json' } })
}

const CHUNKS = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'héllo 😀' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
]
const STREAM = `${CHUNKS.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
const message = { role: 'assistant', content: 'héllo 😀' }
const WHOLE = JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] })
const COMPLETE = {
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'héllo 😀' }] }],
}
const TERMINAL = { chat: 'data: [DONE]', messages: 'event: message_stop' } as const
const PLAIN = { 'content-type': 'text/event-stream' }

test('what callers tell their own vendor in headers goes to no other', async () => {
  upstream.answer = () => new Response(WHOLE)
  const headers = { 'anthropic-beta': 'interleaved-thinking-2025-05-14', 'anthropic-version': '2023-06-01' }
  const body = { model: 'chat/echo', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
  expect((await gateway.post('/v1/messages', body, { headers })).status).toBe(200)
  const sent = [...(upstream.seen.at(-1)?.headers.keys() ?? [])]
  expect(sent.filter(name => name.startsWith('anthropic'))).toEqual([])
})

describe.each(callers)('a %s caller', caller => {
  test('edge 11: `event: error` is an error, `event: message` the default name', async () => {
    const error = JSON.stringify({ error: { message: 'over capacity', type: 'server_error', code: 503 } })
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(`event: message\n${STREAM.split('\n\n')[0]}\n\n`)
    const response = await ask(caller, true)
    fed.write(`event: error\ndata: ${error}\n\n`)
    const text = await response.text()
    expect(text).toContain('héllo 😀')
    expect(text).toContain('over capacity')
    expect(text).not.toContain(TERMINAL[caller])
    upstream.answer = () => eventStream(`event: error\ndata: ${error}\n\n`)
    expect((await ask(caller, true)).status).toBe(503)
    upstream.answer = () => eventStream(STREAM.replaceAll('data:', 'event: message\ndata:'))
    expect(await (await ask(caller, true)).text()).toContain(TERMINAL[caller])
  })

  test.each([true, false])(
    'an array is read as Gemini writes it, with an error and an answer in it (stream: %p)',
    async stream => {
      const error = { message: 'slow down', code: 429 }
      upstream.answer = () => Response.json([{ error }])
      const response = await ask(caller, stream)
      expect(response.status).toBe(429)
      expect(await response.text()).toContain('slow down')
      const said = (text: string, end: object) => ({
        candidates: [{ content: { parts: [{ text }] }, ...end }],
      })
      upstream.answer = () => Response.json([said('héllo', {}), said(' 😀', { finishReason: 'STOP' })])
      const answered = await (await ask(caller, stream, undefined, 'gemini/echo')).text()
      expect(answered).toContain(stream ? 'héllo' : 'héllo 😀')
      upstream.answer = () => Response.json([])
      expect((await ask(caller, stream)).status).toBe(502)
    },
  )

  test.each([
    ['whose connection breaks', () => brokenBody(WHOLE.slice(0, -9))],
    ['of events without the last', () => eventStream(`${STREAM.split('\n\n')[0]}\n\n`)],
  ])('a whole answer %s was cut, as a stream is', async (_, answer) => {
    upstream.answer = answer
    expect((await ask(caller, false)).status).toBe(502)
    expect(await gateway.lastExchange()).toMatchObject({ end_state: 'upstream_cut', cost_nano: null })
  })

  test.each([true, false])('an error in a stream has its own status (stream: %p)', async stream => {
    for (const [code, status] of [
      [503, 503],
      [429, 429],
      [400, 400],
    ]) {
      upstream.answer = () =>
        eventStream(`data: ${JSON.stringify({ error: { message: 'no', type: 'x', code } })}\n\n`)
      const response = await ask(caller, stream)
      expect(response.status).toBe(status ?? 0)
      expect(await response.text()).toContain('no (request id')
    }
  })

  test.each([true, false])('an error within an answer has its own status (stream: %p)', async stream => {
    const error = { message: 'slow down', code: 'rate_limit_exceeded' }
    const choice = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'error', error }
    const failed = { id: 'r', object: 'response', status: 'failed', output: [], error, usage: null }
    upstream.answer = () => Response.json({ id: 'c', choices: [choice] })
    expect((await ask(caller, stream)).status).toBe(429)
    upstream.answer = () => Response.json(failed)
    expect((await ask(caller, stream, undefined, 'responses/echo')).status).toBe(429)
  })

  test('an error in a field of the stream, as llama.cpp wrote it, is no end', async () => {
    const error = (code: number, message: string) =>
      `error: ${JSON.stringify({ code, message, type: 'server_error' })}\n\ndata: [DONE]\n\n`
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(`${STREAM.split('\n\n')[0]}\n\n`)
    const response = await ask(caller, true)
    fed.write(error(500, 'failed to decode'))
    fed.close()
    const text = await response.text()
    expect(text).toContain('failed to decode')
    expect(text).not.toContain(TERMINAL[caller])
    upstream.answer = () => eventStream(error(400, 'the request exceeds the available context size'))
    const refused = await ask(caller, true)
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('context_length_exceeded')
  })

  test.each([
    ['gzip', { ...PLAIN, 'content-encoding': 'gzip' }, gzipSync(STREAM)],
    ['the type application/json', { 'content-type': 'application/json' }, STREAM],
    ['the type application/octet-stream', { 'content-type': 'application/octet-stream' }, STREAM],
    ['no type', {}, STREAM],
  ])('edge 12: a stream that comes with %s is a stream', async (_name, headers, body) => {
    upstream.answer = () => new Response(body, { headers: { ...headers } })
    const response = await ask(caller, true)
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const text = await response.text()
    expect(text).toContain('héllo 😀')
    expect(text).toContain(TERMINAL[caller])
  })

  test('edge 13: a whole answer where a stream was asked for is told as one, and the other way round', async () => {
    upstream.answer = () => new Response(WHOLE, { headers: { 'content-type': 'application/json' } })
    const streamed = await (await ask(caller, true)).text()
    expect(streamed).toContain('héllo 😀')
    expect(streamed).toContain(TERMINAL[caller])
    upstream.answer = () => eventStream(STREAM)
    const whole = await ask(caller, false)
    expect(whole.headers.get('content-type')).toStartWith('application/json')
    expect(JSON.stringify(await whole.json())).toContain('héllo 😀')
  })

  test.each([
    ['missing', STREAM.replace('data: [DONE]\n\n', '')],
    ['with spaces', STREAM.replace('[DONE]', ' [DONE] ')],
    ['twice', `${STREAM}data: [DONE]\n\n`],
    [
      'before more data',
      `${STREAM}data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n`,
    ],
  ])('edge 14: [DONE] %s makes no difference to whether the answer is whole', async (_name, stream) => {
    upstream.answer = () => eventStream(stream)
    const text = await (await ask(caller, true)).text()
    expect(text).not.toContain('error')
    expect(text).toContain('stop')
  })

  test.each([
    ['HTML', '<html><body><h1>502 Bad Gateway</h1>nginx</body></html>', undefined],
    ['nothing', '', undefined],
    ['text', 'upstream connect error', 'upstream connect error'],
    ['{detail}', '{"detail":"no such model"}', 'no such model'],
    ['an error text', '{"error":"bad thing","code":"x"}', 'bad thing'],
    ['an int code', '{"error":{"code":500,"message":"raw trouble"}}', 'raw trouble'],
    [
      'JSON in its message',
      '{"error":{"message":"{\\"error\\":{\\"message\\":\\"inner trouble\\"}}"}}',
      'inner trouble',
    ],
  ])('edge 83: an error body of %s', async (_name, body, said) => {
    upstream.answer = () => new Response(body, { status: 500 })
    for (const stream of [false, true]) {
      const response = await ask(caller, stream)
      expect(response.status).toBe(502)
      const { error } = (await response.json()) as { error: { message: string; code: string } }
      expect(error.code).toBe('upstream_error')
      expect(error.message).not.toMatch(/<|nginx/)
      if (said !== undefined) expect(error.message).toContain(said)
    }
  })

  test('a web page in a 200 is told as one, whole and streamed: a base_url that leads to a website', async () => {
    upstream.answer = () => new Response('\n<!doctype html><title>Open WebUI</title>')
    for (const stream of [false, true]) {
      const response = await ask(caller, stream)
      expect(response.status).toBe(502)
      expect(await response.text()).toContain('The upstream answered with a web page (request id: ')
    }
  })

  test.each([
    ['that is null', 'chat/echo', { ...JSON.parse(WHOLE), error: null }],
    [
      'of a response that is complete',
      'responses/echo',
      { ...COMPLETE, error: { message: 'a part was slow' } },
    ],
  ])('an error %s is none: the answer is told', async (_, model, answer) => {
    upstream.answer = () => Response.json(answer)
    const response = await ask(caller, false, undefined, model)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('héllo 😀')
  })

  test('an error that is only words, in a 200, is told', async () => {
    upstream.answer = () => Response.json({ error: 'the model is out of order' })
    const response = await ask(caller, false)
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('the model is out of order')
  })

  test.each([301, 302, 307, 308])(
    'a redirect (%i) is no answer, and neither prompt nor key goes where it leads',
    async status => {
      const before = upstream.seen.length
      const location = `${upstream.url}/elsewhere`
      upstream.answer = ({ path }) =>
        path === '/elsewhere' ? new Response(WHOLE) : new Response(null, { status, headers: { location } })
      for (const stream of [false, true]) expect((await ask(caller, stream)).status).toBe(502)
      const paths = upstream.seen.slice(before).map(({ path }) => path)
      expect(new Set(paths)).toEqual(new Set(['/v1/chat/completions']))
    },
  )

  test('words in the place of a whole answer are told as what is not JSON', async () => {
    upstream.answer = () => new Response('Hello there')
    const response = await ask(caller, false)
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('The upstream answered with something that is not JSON')
  })

  test('edge 83: an error body without an end is read as far as it says something, and let go', async () => {
    const fed = fedStream()
    upstream.answer = () => new Response(fed.stream, { status: 500 })
    fed.write('trouble '.repeat(10_000))
    const abortedBefore = upstream.aborted
    expect((await ask(caller, false)).status).toBe(502)
    await until(() => upstream.aborted > abortedBefore)
  })

  test('edge 84: the delay of a 429 is passed on in whole seconds, rounded up', async () => {
    upstream.answer = () =>
      new Response('{"error":{"message":"slow down"}}', { status: 429, headers: { 'retry-after': '2.2' } })
    const response = await ask(caller, false)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('3')
    upstream.answer = () => new Response('{"error":{"message":"slow down"}}', { status: 429 })
    expect((await ask(caller, false)).headers.get('retry-after')).toBe('1')
    upstream.answer = () =>
      new Response('{"error":{"message":"slow down, try again in 6.2s"}}', { status: 429 })
    expect((await ask(caller, false)).headers.get('retry-after')).toBe('7')
  })

  test.each(['-5', '0', 'Fri, 20 Nov 2020 12:00:00 GMT'])(
    'edge 84: a 429 that says to wait for %s is told as one second, wherever it is told',
    async wait => {
      upstream.answer = () =>
        new Response('{"error":{"message":"slow down"}}', { status: 429, headers: { 'retry-after': wait } })
      const { headers } = await ask(caller, false)
      expect([headers.get('retry-after'), headers.get('retry-after-ms') ?? '1000']).toEqual(['1', '1000'])
    },
  )

  test.each([401, 403])('edge 85: %i because of our own key is 502 to the caller', async status => {
    upstream.answer = () =>
      new Response('{"error":{"message":"Incorrect API key provided: upstream-key-chat"}}', { status })
    const response = await ask(caller, true)
    expect(response.status).toBe(502)
    expect(await response.text()).not.toContain('upstream-key')
  })
})

test.each(['list_0', 'list:0'])(
  'calls that are counted anew in every answer have an id each: %s',
  async said => {
    const call = { id: said, type: 'function', function: { name: 'list', arguments: '{"at":2}' } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    upstream.answer = () => Response.json({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
    const messages: object[] = [{ role: 'user', content: 'hi' }]
    const ids: (string | undefined)[] = []
    for (const stream of [true, false, true]) {
      const reply = await gateway.post(CALLERS.messages, {
        model: 'chat/tool',
        max_tokens: 10,
        stream,
        messages,
      })
      const id = /"type":"tool_use","id":"([^"]+)"/.exec(await reply.text())?.[1]
      ids.push(id)
      messages.push(
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'list', input: { at: 2 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] },
      )
    }
    expect(ids).not.toContain(undefined)
    expect(new Set(ids).size).toBe(3)
  },
)

describe('edge 89: a caller who', () => {
  test('leaves before the head, in the middle, or after the end, takes the upstream along', async () => {
    for (const phase of ['before the head', 'in the middle'] as const) {
      const fed = fedStream()
      upstream.answer = () =>
        phase === 'in the middle' ? eventStream(fed.stream) : new Promise<Response>(() => {})
      fed.write(STREAM.split('data: {"choices":[{"index":0,"delta":{},')[0] ?? '')
      const abort = new AbortController()
      const { seen, aborted } = { seen: upstream.seen.length, aborted: upstream.aborted }
      const call = ask('messages', true, abort.signal)
      if (phase === 'in the middle') await (await call).body?.getReader().read()
      else await until(() => upstream.seen.length > seen)
      abort.abort()
      await call.catch(() => undefined)
      await until(() => upstream.aborted > aborted)
      await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
    }
    upstream.answer = () => eventStream(STREAM)
    const abort = new AbortController()
    await (await ask('messages', true, abort.signal)).text()
    abort.abort()
    await until(async () => (await gateway.lastExchange())['end_state'] === 'complete')
  })

  test('reads slowly holds the upstream back, and still gets everything', async () => {
    const text = 'x'.repeat(64 * 1024)
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`
    const events = 1000
    let pulled = 0
    upstream.answer = () =>
      eventStream(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            pulled += 1
            controller.enqueue(new TextEncoder().encode(pulled <= events ? event : STREAM))
            if (pulled > events) controller.close()
          },
        }),
      )
    const response = await ask('messages', true)
    const reader = response.body?.getReader()
    let length = (await reader?.read())?.value?.byteLength ?? 0
    let last = -1
    // Nobody reads: what stands in the buffers on the way fills up, and the upstream is asked for no more.
    await until(async () => {
      const before = pulled
      for (let turn = 0; turn < 200; turn += 1) await new Promise(resolve => setImmediate(resolve))
      const still = pulled === before && before === last
      last = before
      return still
    })
    expect(pulled).toBeLessThan(events / 2)
    for (;;) {
      const read = await reader?.read()
      if (read === undefined || read.done) break
      length += read.value.byteLength
    }
    expect(length).toBeGreaterThan(events * text.length)
  }, 60_000)
})
