import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { connect as connectSocket } from 'node:net'
import type { Server } from 'bun'
import OpenAI from 'openai'
import type { ResponsesServerEvent } from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { startTestGateway, UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { KEYS_CHANNEL } from '@/accounts/key-changes.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'
import { BodyRoom } from '@/limits/body-room.ts'
import type { ResponseSocket } from '@/surfaces/responses/response-socket.ts'
import { ResponseSockets } from '@/surfaces/responses/response-sockets.ts'

const open: Connection[] = []

const { gateway, upstream } = await scriptedGateway()
afterAll(() => {
  for (const connection of open) connection.socket.close()
})
beforeEach(() => {
  upstream.answer = simulated
})

/** A connection, as a program without any SDK sees it. */
interface Connection {
  socket: WebSocket
  frames: JsonObject[]
  send(frame: object | string): void
  /** Resolves with the frames of the next answer, up to its last one. */
  answer(): Promise<JsonObject[]>
  closed: Promise<CloseEvent>
}

const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

async function connect(
  headers: Record<string, string>,
  query = '',
  url = `${gateway.url.replace('http', 'ws')}/v1/responses${query}`,
): Promise<Connection> {
  const socket = new WebSocket(url, { headers } as never)
  const frames: JsonObject[] = []
  let read = 0
  socket.addEventListener('message', event => frames.push(parseObject(String(event.data)) ?? {}))
  const closed = new Promise<CloseEvent>(resolve => {
    socket.addEventListener('close', resolve)
  })
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('no connection')))
  })
  const connection: Connection = {
    socket,
    frames,
    closed,
    send: frame => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    async answer() {
      const start = read
      await until(() => frames.slice(start).some(({ type }) => LAST.has(String(type))))
      read = frames.findIndex(({ type }, index) => index >= start && LAST.has(String(type))) + 1
      return frames.slice(start, read)
    },
  }
  open.push(connection)
  return connection
}

const connectWithKey = (key = gateway.key) => connect({ authorization: `Bearer ${key}` })

const create = (fields: object) => ({ type: 'response.create', ...fields })

function textOf(frames: readonly JsonObject[]): string {
  return frames
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => String(delta))
    .join('')
}

function responseOf(frames: readonly JsonObject[]): JsonObject {
  return asObject(frames.at(-1)?.['response']) ?? {}
}

/** The start of a chat answer. */
const FIRST_WORDS =
  'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"first"}}]}\n\n'

describe.each(UPSTREAMS)('over %s', format => {
  const model = `${format}/echo`

  test('the frames are the events of a stream, numbered from 0', async () => {
    const connection = await connectWithKey()
    connection.send(create({ model, input: 'hello there' }))
    const frames = await connection.answer()
    expect(frames[0]).toMatchObject({ type: 'response.created', sequence_number: 0 })
    expect(frames.map(frame => frame['sequence_number'])).toEqual(frames.map((_, index) => index))
    expect(textOf(frames)).toBe('hello there')
    expect(responseOf(frames)).toMatchObject({ status: 'completed', store: false })
    expect(upstream.lastBody()).not.toContain('response.create')
  })

  test('an answer that nobody stored is gone on with on its own connection alone', async () => {
    const connection = await connectWithKey()
    connection.send(create({ model, input: 'my name is Ada', store: false }))
    const first = responseOf(await connection.answer())
    const { id } = first
    connection.send(create({ model, input: 'who am I?', previous_response_id: id, store: false }))
    const second = responseOf(await connection.answer())
    expect(second).toMatchObject({ status: 'completed', previous_response_id: id, store: false })
    expect(upstream.lastBody()).toContain('my name is Ada')
    expect(upstream.lastBody()).toContain('who am I?')

    connection.send(create({ model, input: 'again', previous_response_id: second['id'] }))
    expect(responseOf(await connection.answer())).toMatchObject({ status: 'completed' })
    expect(upstream.lastBody()).toContain('my name is Ada')

    const other = await connectWithKey()
    other.send(create({ model, input: 'who am I?', previous_response_id: id }))
    expect((await other.answer()).at(-1)).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    })
  })

  test("OpenAI's own client speaks it", async () => {
    const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` })
    const client = new ResponsesWS(openai)
    const events: ResponsesServerEvent[] = []
    client.on('event', event => events.push(event))
    client.send({ type: 'response.create', model, input: 'hello SDK' })
    await until(() => events.some(({ type }) => type === 'response.completed'))
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`ended in ${last?.type}`)
    const { id, output } = last.response
    expect(JSON.stringify(output)).toContain('hello SDK')
    events.length = 0
    client.send({ type: 'response.create', model, input: 'go on', previous_response_id: id })
    await until(() => events.some(({ type }) => type === 'response.completed'))
    client.close()
  })
})

describe('as Codex uses it', () => {
  test('a request to get ready is answered with an empty response, which the next goes on from', async () => {
    const connection = await connectWithKey()
    const before = upstream.seen.length
    const common = { model: 'chat/echo', instructions: 'Be brief.', tools: [], store: false, stream: true }
    connection.send(
      create({ ...common, generate: false, input: [{ role: 'developer', content: 'the long prompt' }] }),
    )
    const ready = await connection.answer()
    expect(ready.map(({ type }) => type)).toEqual(['response.created', 'response.completed'])
    expect(responseOf(ready)).toMatchObject({ status: 'completed', output: [], usage: { total_tokens: 0 } })
    expect(upstream.seen.length).toBe(before)
    const { id } = responseOf(ready)
    connection.send(
      create({ ...common, input: [{ role: 'user', content: 'now' }], previous_response_id: id }),
    )
    expect(responseOf(await connection.answer())).toMatchObject({
      status: 'completed',
      previous_response_id: id,
    })
    expect(upstream.lastBody()).toContain('the long prompt')
    expect(upstream.lastBody()).toContain('Be brief.')
  })

  test('tool calls go on with outputs alone', async () => {
    const connection = await connectWithKey()
    const common = {
      model: 'messages/tool',
      tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }],
      store: false,
    }
    connection.send(create({ ...common, input: 'how is the weather?' }))
    const asked = responseOf(await connection.answer())
    const call = asArray(asked['output'])
      .map(asObject)
      .find(item => item?.['type'] === 'function_call')
    const output = { type: 'function_call_output', call_id: call?.['call_id'], output: '21 degrees' }
    connection.send(create({ ...common, input: [output], previous_response_id: asked['id'] }))
    expect(textOf(await connection.answer())).toContain('21 degrees')
  })
})

test('one response runs at a time, the next waits for it', async () => {
  const connection = await connectWithKey()
  connection.send(create({ model: 'chat/long-20', input: 'one', stream_id: 'a' }))
  connection.send(create({ model: 'chat/echo', input: 'two', stream_id: 'b' }))
  const first = await connection.answer()
  const second = await connection.answer()
  expect(new Set(first.map(frame => frame['stream_id']))).toEqual(new Set(['a']))
  expect(new Set(second.map(frame => frame['stream_id']))).toEqual(new Set(['b']))
  expect(textOf(second)).toBe('two')
})

test('input that is to steer an answer goes back when that has ended, as where a model cannot be steered', async () => {
  const connection = await connectWithKey()
  connection.send(create({ model: 'chat/echo', input: 'first', stream_id: 'lane' }))
  connection.send({ type: 'response.steer', previous_response_id: 'resp_1', input: 'not that' })
  await connection.answer()
  await until(() => connection.frames.at(-1)?.['type'] === 'response.steer.failed')
  expect(connection.frames.at(-1)).toMatchObject({
    stream_id: 'lane',
    steer: { previous_response_id: 'resp_1', input: 'not that' },
    error: {
      type: 'invalid_request_error',
      code: 'steering_not_supported',
      message: expect.stringMatching(/ \(request id: [\da-f-]{36}\)$/),
    },
  })
  connection.send(create({ model: 'chat/echo', input: 'not that' }))
  expect(textOf(await connection.answer())).toBe('not that')
})

test('a stored answer is stored, and found from everywhere', async () => {
  const connection = await connectWithKey()
  connection.send(create({ model: 'gemini/echo', input: 'keep me', store: true }))
  const { id, store } = responseOf(await connection.answer())
  expect(store).toBe(true)
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` })
  expect((await openai.responses.retrieve(String(id))).output_text).toBe('keep me')
  const other = await connectWithKey()
  other.send(create({ model: 'gemini/echo', input: 'go on', previous_response_id: id }))
  expect(responseOf(await other.answer())).toMatchObject({ status: 'completed', previous_response_id: id })
})

describe('errors are frames, and the connection goes on', () => {
  test.each<[string, object | string, number, string]>([
    ['no JSON', 'hello', 400, 'invalid_json'],
    ['another type', { type: 'response.steer' }, 400, 'invalid_request'],
    ['no model', create({ input: 'hi' }), 400, 'invalid_request'],
    ['a model that is not there', create({ model: 'nothing', input: 'hi' }), 400, 'model_not_found'],
    [
      'background',
      create({ model: 'chat/echo', input: 'hi', background: true }),
      400,
      'unsupported_parameter',
    ],
    ['an upstream that fails', create({ model: 'chat/error-400', input: 'hi' }), 400, ''],
  ])('%s', async (_what, frame, status, code) => {
    const connection = await connectWithKey()
    connection.send(frame)
    const [error] = await connection.answer()
    expect(error).toMatchObject({ type: 'error', status })
    const inner = asObject(error?.['error'])
    expect(inner?.['message']).toMatch(/\(request id: [0-9a-f-]{36}\)$/)
    expect([error?.['message'], error?.['code'], error?.['param']]).toEqual([
      inner?.['message'],
      inner?.['code'],
      inner?.['param'],
    ])
    if (code !== '') expect(inner?.['code']).toBe(code)
    const headers = asObject(error?.['headers'])
    expect(inner?.['message']).toContain(`(request id: ${headers?.['x-request-id']})`)
    connection.send(create({ model: 'chat/echo', input: 'still here' }))
    expect(textOf(await connection.answer())).toBe('still here')
  })

  test('a frame that is no text', async () => {
    const connection = await connectWithKey()
    connection.socket.send(Buffer.from(JSON.stringify(create({ model: 'chat/echo', input: 'hi' }))))
    const [error] = await connection.answer()
    expect(error).toMatchObject({ type: 'error', status: 400, param: 'type' })
    connection.send(create({ model: 'chat/echo', input: 'still here' }))
    expect(textOf(await connection.answer())).toBe('still here')
  })

  test('a request too many, which has to come again; those that wait are answered in their order', async () => {
    const fed = fedStream()
    fed.write(FIRST_WORDS)
    upstream.answer = () => eventStream(fed.stream)
    const connection = await connectWithKey()
    connection.send(create({ model: 'chat/echo', input: 'first' }))
    await until(() => textOf(connection.frames) === 'first')
    upstream.answer = simulated
    const waiting = Array.from({ length: 16 }, (_, index) => `(${index})`)
    for (const input of waiting) connection.send(create({ model: 'chat/echo', input }))
    connection.send(create({ model: 'chat/echo', input: 'too many', stream_id: 'a' }))
    const [refused] = (await connection.answer()).slice(-1)
    expect(refused).toMatchObject({
      type: 'error',
      status: 429,
      code: 'too_many_concurrent',
      stream_id: 'a',
    })
    expect(asObject(refused?.['headers'])?.['retry-after']).toBe('1')
    fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    fed.close()
    await connection.answer()
    for (const input of waiting) expect(textOf(await connection.answer())).toBe(input)
  })

  test('a stream that breaks ends in response.failed alone, as an error frame would end the request before it', async () => {
    const fed = fedStream()
    fed.write(FIRST_WORDS)
    upstream.answer = () => eventStream(fed.stream)
    const connection = await connectWithKey()
    connection.send(create({ model: 'chat/echo', input: 'hi' }))
    await until(() => textOf(connection.frames) === 'first')
    fed.close()
    expect((await connection.answer()).at(-1)).toMatchObject({ type: 'response.failed' })
    expect(connection.frames.map(frame => frame['type'])).not.toContain('error')
  })
})

/** How an upgrade is refused. */
async function refusalOf(headers: Record<string, string>, url = gateway.url) {
  const response = await fetch(`${url}/v1/responses`, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    },
  })
  const body = parseObject(await response.text())
  return [response.status, asObject(body?.['error'])?.['code']]
}

describe('who may connect', () => {
  test.each<[string, () => [Record<string, string>, string]]>([
    ['Authorization', () => [{ authorization: `Bearer ${gateway.key}` }, '']],
    ['x-goog-api-key', () => [{ 'x-goog-api-key': gateway.key }, '']],
    ['query key', () => [{}, `?key=${gateway.key}`]],
    ['query key, from a host that is none', () => [{ host: 'x:y' }, `?key=${gateway.key}`]],
  ])('the key comes as %s, for the connection and its requests', async (_carrier, credentials) => {
    const connection = await connect(...credentials())
    connection.send(create({ model: 'chat/echo', input: 'let me in' }))
    expect(textOf(await connection.answer())).toBe('let me in')
  })

  test.each([
    [{}, 'missing_api_key'],
    [{ authorization: 'Bearer sk-nothing' }, 'invalid_api_key'],
  ])('%j is refused with a JSON 401 before the upgrade', async (headers, code) => {
    expect(await refusalOf(headers)).toEqual([401, code])
  })

  test('a gateway that shuts down opens no connection', async () => {
    gateway.server.gateway.draining = true
    const refusal = await refusalOf({ authorization: `Bearer ${gateway.key}` })
    gateway.server.gateway.draining = false
    expect(refusal).toEqual([503, 'shutting_down'])
  })

  test('a gateway that has no files left opens no connection', async () => {
    const { gateway: wired } = gateway.server
    const { load } = wired
    wired.load = { overload: () => 'sockets', isCrowded: false }
    const refusal = await refusalOf({ authorization: `Bearer ${gateway.key}` })
    wired.load = load
    expect(refusal).toEqual([503, 'overloaded'])
  })

  test('an account has so many connections at once; what others have is not counted, nor what is closed', async () => {
    const sockets = new ResponseSockets(gateway.server.gateway, 2)
    const server: Server<ResponseSocket> = Bun.serve<ResponseSocket>({
      port: 0,
      fetch: request =>
        sockets.upgrade(server, request, request, { addressOf: () => undefined, isOpen: () => true }),
      websocket: sockets.handler,
    })
    const url = `http://localhost:${server.port}`
    const headers = { authorization: `Bearer ${gateway.key}` }
    const connectHere = (from = headers) => connect(from, '', `${url}/v1/responses`)
    const burst = await Promise.allSettled(Array.from({ length: 5 }, () => connectHere()))
    const opened = burst.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    expect(opened).toHaveLength(2)
    expect(await refusalOf(headers, url)).toEqual([429, 'too_many_concurrent'])
    const { key } = await openPayer(gateway.database, { creditNano: 10n ** 9n })
    await connectHere({ authorization: `Bearer ${key}` })
    opened[0]?.socket.close()
    await until(() =>
      connectHere().then(
        () => true,
        () => false,
      ),
    )
    await sockets.drain()
    await server.stop(true)
  })

  test.each(['8', ''])('version %p of the protocol is refused with a JSON 426', async version => {
    const headers = { authorization: `Bearer ${gateway.key}`, 'sec-websocket-version': version }
    expect(await refusalOf(headers)).toEqual([426, 'websocket_unsupported'])
  })

  test('a key that is revoked ends its connection', async () => {
    const { id, key } = await gateway.keys.createKey({
      accountId: gateway.accountId,
      name: '',
    })
    const connection = await connectWithKey(key)
    await gateway.keys.revokeKey(id)
    const { code } = await connection.closed
    expect(code).toBe(1008)
    expect(connection.frames.at(-1)).toMatchObject({ type: 'error', status: 401 })
  })
})

/** A gateway whose time the tests pass. */
const clock = manualClock()
const other = await scriptedGateway({ clock })
const connectThere = (key = other.gateway.key) =>
  connect({ authorization: `Bearer ${key}` }, '', `${other.gateway.url.replace('http', 'ws')}/v1/responses`)

test('what runs on a connection when its key expires goes on to its end, and the next request is a 401', async () => {
  const { gateway, upstream } = other
  const { id, key } = await gateway.keys.createKey({ accountId: gateway.accountId, name: '' })
  const connection = await connectThere(key)
  const fed = fedStream()
  fed.write(FIRST_WORDS)
  upstream.answer = () => eventStream(fed.stream)
  connection.send(create({ model: 'chat/echo', input: 'hi' }))
  await until(() => textOf(connection.frames) === 'first')
  await gateway.database.sql`update api_key set expires_at = to_timestamp(0) where id = ${id}`
  await gateway.database.sql`select pg_notify(${KEYS_CHANNEL}, 'all')`
  const headers = { authorization: `Bearer ${key}` }
  await until(async () => (await fetch(`${gateway.url}/v1/models`, { headers })).status === 401)
  clock.advance(2_000)
  fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
  fed.close()
  expect((await connection.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  connection.send(create({ model: 'chat/echo', input: 'hi' }))
  expect((await connection.closed).code).toBe(1008)
  expect(connection.frames.at(-1)).toMatchObject({ type: 'error', status: 401 })
})

describe('where memory is short', async () => {
  const seen = { usedBytes: 0 }
  other.gateway.server.gateway.bodyRoom = new BodyRoom({
    clock,
    usedBytes: () => seen.usedBytes,
    mostBytes: 400,
    onRefused: () => undefined,
  })
  const headers = { authorization: `Bearer ${other.gateway.key}` }
  const turnedAway = async () => (await other.gateway.metrics.shed.get()).values
  const warnings = () => other.gateway.logLines.filter(line => line.includes('memory is short'))
  const look = (usedBytes: number) => {
    seen.usedBytes = usedBytes
    clock.advance(2_000)
  }
  beforeEach(() => {
    seen.usedBytes = 0
    clock.advance(2_000)
    other.gateway.metrics.shed.reset()
    other.gateway.logLines.length = 0
  })

  test('at two looks in a row connections at rest are cut off, since half a frame may lie in them, counted and told', async () => {
    const fed = fedStream()
    fed.write(FIRST_WORDS)
    other.upstream.answer = () => eventStream(fed.stream)
    const [atWork, ...atRest] = [await connectThere(), await connectThere(), await connectThere()]
    atWork.send(create({ model: 'chat/echo', input: 'hi' }))
    await until(() => textOf(atWork.frames) === 'first')
    look(301)
    look(301)
    for (const { closed } of atRest) expect((await closed).code).toBe(1006)
    expect(await turnedAway()).toEqual([{ labels: { reason: 'memory' }, value: 2 }])
    expect(warnings().map(line => parseObject(line))).toMatchObject([{ level: 40, connections: 2 }])
    fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    fed.close()
    expect((await atWork.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
    await until(() => {
      look(301)
      return atWork.socket.readyState === WebSocket.CLOSED
    })
  })

  test('none is cut off for looks that are not in a row: what bodies take for a moment is no reason', async () => {
    other.upstream.answer = simulated
    const connection = await connectThere()
    for (const usedBytes of [301, 300, 301, 300]) look(usedBytes)
    connection.send(create({ model: 'chat/echo', input: 'still here' }))
    expect(textOf(await connection.answer())).toBe('still here')
    expect([await turnedAway(), warnings()]).toEqual([[], []])
    connection.socket.close()
  })

  test('none is opened, which counts as a body that is turned away', async () => {
    seen.usedBytes = 301
    expect(await refusalOf(headers, other.gateway.url)).toEqual([503, 'overloaded'])
    expect(await turnedAway()).toEqual([{ labels: { reason: 'memory' }, value: 1 }])
  })
})

test('an account that is suspended has its connections ended', async () => {
  const { accountId, key } = await openPayer(gateway.database, { creditNano: 10n ** 9n })
  const connection = await connectWithKey(key)
  await gateway.accounts.suspendAccount(accountId)
  const { code } = await connection.closed
  expect(code).toBe(1008)
  expect(connection.frames.at(-1)).toMatchObject({ type: 'error', status: 403, code: 'account_suspended' })
})

test('every response has its own hold and is charged by itself', async () => {
  const before = (await gateway.exchanges()).length
  const connection = await connectWithKey()
  for (const input of ['one', 'two']) {
    connection.send(create({ model: 'chat/echo', input }))
    await connection.answer()
  }
  await until(async () => (await gateway.exchanges()).length === before + 2)
  const rows = (await gateway.exchanges()).slice(before)
  for (const row of rows) {
    expect(row).toMatchObject({ surface: 'responses', streamed: true, end_state: 'complete', status: 200 })
    expect(BigInt(String(row['cost_nano']))).toBeGreaterThan(0n)
  }
})

test('a caller who leaves ends what runs for them', async () => {
  const fed = fedStream()
  fed.write(FIRST_WORDS)
  upstream.answer = () => eventStream(fed.stream)
  const connection = await connectWithKey()
  connection.send(create({ model: 'chat/echo', input: 'hi' }))
  await until(() => connection.frames.some(({ type }) => type === 'response.output_text.delta'))
  const aborted = upstream.aborted
  connection.socket.close()
  await until(() => upstream.aborted > aborted)
  await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
})

test('when the process stops, idle connections close at once and the others after what runs on them', async () => {
  const stopping = await startTestGateway({ upstreams: { chat: upstream.url } })
  const url = `${stopping.url.replace('http', 'ws')}/v1/responses`
  const headers = { authorization: `Bearer ${stopping.key}` }
  const fed = fedStream()
  fed.write(FIRST_WORDS)
  upstream.answer = () => eventStream(fed.stream)
  const idle = await connect(headers, '', url)
  const busy = await connect(headers, '', url)
  busy.send(create({ model: 'chat/echo', input: 'hi' }))
  await until(() => textOf(busy.frames) === 'first')
  const stopped = stopping.close()
  expect((await idle.closed).code).toBe(1001)
  fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
  fed.close()
  expect(responseOf(await busy.answer())).toMatchObject({ status: 'completed' })
  expect((await busy.closed).code).toBe(1001)
  await stopped
}, 60_000)

test('a connection that comes to be open while the process stops is closed at once', async () => {
  const stopping = await startTestGateway({ upstreams: { chat: upstream.url } })
  const { authenticate } = stopping.server.gateway
  const asked = Promise.withResolvers<void>()
  const known = Promise.withResolvers<void>()
  stopping.server.gateway.authenticate = async presented => {
    asked.resolve()
    await known.promise
    return authenticate(presented)
  }
  const url = `${stopping.url.replace('http', 'ws')}/v1/responses`
  const late = connect({ authorization: `Bearer ${stopping.key}` }, '', url)
  await asked.promise
  const stopped = stopping.close()
  // Nothing is listening any more by the time the caller is known.
  await until(() =>
    fetch(stopping.url, { signal: AbortSignal.timeout(1_000) }).then(
      () => false,
      error => error.name !== 'TimeoutError',
    ),
  )
  known.resolve()
  // One that is there at the end of the grace is cut off without a word.
  expect((await (await late).closed).reason).toBe('This gateway is shutting down')
  await stopped
}, 60_000)

test('a caller who does not read holds back the upstream', async () => {
  const delta = JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(64 * 1024) } }] })
  const MB = 1024 * 1024
  let produced = 0
  upstream.answer = () =>
    eventStream(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          produced += delta.length
          if (produced < 200 * MB) return controller.enqueue(Buffer.from(`data: ${delta}\n\n`))
          controller.enqueue(
            Buffer.from('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'),
          )
          controller.close()
        },
      }),
    )
  const { hostname, port } = new URL(gateway.url)
  const socket = connectSocket(Number(port), hostname)
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.key}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  await new Promise(resolve => socket.once('data', resolve))
  socket.pause()
  socket.write(
    maskedFrame(JSON.stringify(create({ model: 'chat/echo', input: 'hi', max_output_tokens: 100_000_000 }))),
  )
  await until(() => produced > 0)
  let seen = -1
  await until(async () => {
    const isStill = produced === seen
    seen = produced
    await Bun.sleep(300)
    return isStill
  })
  expect(produced).toBeLessThan(100 * MB)
  socket.destroy()
}, 60_000)

/** A text frame as a client sends it; the mask is zeros. */
function maskedFrame(text: string): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.from([0x81, 0x80 | 126, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 0])
  return Buffer.concat([head, bytes])
}
