import { beforeEach, describe, expect, test } from 'bun:test'
import { startNeighbour } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { CALLS, call, readError, SURFACES, type Surface } from '#tests/surfaces/calls.ts'
import { runStore } from '@/exchange/idempotency/store.ts'
import { BodyRoom } from '@/limits/body-room.ts'

let key: string

const { gateway, upstream } = await scriptedGateway({
  models: [
    '  - { id: whisper, channels: [{ channel: chat, model: echo }], prices: { per_audio_second: 0.0001 } }',
    '  - { id: voice, channels: [{ channel: chat, model: echo }], prices: { per_million_characters: 1 } }',
    '  - { id: renamed, channels: [{ channel: chat, model: echo }], prices: { input: 1, output: 1 } }',
    '  - { id: größer, channels: [{ channel: chat, model: echo }], prices: { input: 1, output: 1 } }',
  ].join('\n'),
})
beforeEach(() => {
  key = crypto.randomUUID()
  upstream.answer = simulated
  upstream.seen.length = 0
})

/** What the account paid since the last time. */
let seenExchanges = 0
async function newCharges(): Promise<bigint[]> {
  const all = await gateway.exchanges()
  const added = all.slice(seenExchanges)
  seenExchanges = all.length
  return added.map(row => BigInt(String(row['cost_nano'] ?? 0)))
}

interface Options {
  model?: string
  stream?: boolean
  prompt?: string
  idempotencyKey?: string | undefined
  apiKey?: string
  /** The `x-tollgate-strict` header. */
  strict?: 'true' | 'false'
  signal?: AbortSignal
  /** Of another process. */
  url?: string
}

function ask(surface: Surface, options: Options = {}): Promise<Response> {
  const model = options.model ?? `${surface}/echo`
  const stream = options.stream ?? false
  const prompt = options.prompt ?? 'say this'
  const body = {
    chat: { model, stream, messages: [{ role: 'user', content: prompt }] },
    responses: { model, stream, input: prompt },
    messages: { model, stream, max_tokens: 50, messages: [{ role: 'user', content: prompt }] },
    gemini: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
  }[surface]
  const path =
    surface === 'gemini' && stream
      ? `/v1beta/models/${model}:streamGenerateContent?alt=sse`
      : CALLS[surface].path(model)
  const idempotencyKey = 'idempotencyKey' in options ? options.idempotencyKey : key
  return fetch((options.url ?? gateway.url) + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.apiKey ?? gateway.key}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(options.strict === undefined ? {} : { 'x-tollgate-strict': options.strict }),
    },
    body: JSON.stringify(body),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
}

describe.each([...SURFACES])('%s', surface => {
  test.each([false, true])(
    'answers the same key and body with the same bytes, streamed: %p',
    async stream => {
      const first = await ask(surface, { stream })
      const firstText = await first.text()
      expect(first.status).toBe(200)
      const second = await ask(surface, { stream })
      expect(await second.text()).toBe(firstText)
      expect(second.status).toBe(200)
      expect(first.headers.get('idempotent-replayed')).toBeNull()
      expect(second.headers.get('idempotent-replayed')).toBe('true')
      for (const name of ['content-type', 'x-request-id', 'request-id', 'cache-control', 'x-tollgate-cost'])
        expect(second.headers.get(name)).toBe(first.headers.get(name))
      expect(upstream.seen).toHaveLength(1)
      expect(await newCharges()).toHaveLength(1)
    },
  )
})

describe.each([...SURFACES])('%s', surface => {
  test('refuses the same key with another body, in its own shape', async () => {
    expect((await ask(surface)).status).toBe(200)
    const refused = await ask(surface, { prompt: 'say that' })
    const told = await readError(refused, surface)
    expect(told).toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(upstream.seen).toHaveLength(1)
  })

  test('takes a request for another one when losses are to be errors', async () => {
    expect((await ask(surface)).status).toBe(200)
    const lenient = await ask(surface, { strict: 'false' })
    expect(lenient.headers.get('idempotent-replayed')).toBe('true')
    const told = await readError(await ask(surface, { strict: 'true' }), surface)
    expect(told).toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(upstream.seen).toHaveLength(1)
  })

  test.each(['', ' ', 'x'.repeat(256), 'caf\u00e9', 'tab\there'])('refuses the key %j', async odd => {
    const told = await readError(await ask(surface, { idempotencyKey: odd }), surface)
    expect(told).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(upstream.seen).toHaveLength(0)
  })

  test('runs once when two arrive together', async () => {
    const gate = Promise.withResolvers<void>()
    upstream.answer = async (request, signal) => {
      await gate.promise
      return simulated(request, signal)
    }
    await newCharges()
    const both = [ask(surface), ask(surface)]
    await until(() => upstream.seen.length > 0)
    // Long enough for the other to come upstream as well, if it were to.
    await Bun.sleep(300)
    gate.resolve()
    const [one, other] = await Promise.all(both.map(async asked => readAll(await asked)))
    expect(one?.text).toBe(other?.text ?? '')
    expect(one?.id).toBe(other?.id ?? '')
    expect([one?.replayed ?? 'no', other?.replayed ?? 'no'].toSorted()).toEqual(['no', 'true'])
    expect(upstream.seen).toHaveLength(1)
    expect((await newCharges()).filter(charge => charge > 0n)).toHaveLength(1)
  })

  test.each([false, true])('goes on when the caller leaves, streamed: %p', async stream => {
    const gate = Promise.withResolvers<void>()
    upstream.answer = async (request, signal) => {
      if (!stream) await gate.promise
      const response = await simulated(request, signal)
      return stream ? new Response(heldBack(response, gate.promise), response) : response
    }
    await newCharges()
    const aborted = upstream.aborted
    const leaving = new AbortController()
    const left = ask(surface, { stream, model: `${surface}/long-200`, signal: leaving.signal })
    if (stream) await (await left).body?.getReader().read()
    else await until(() => upstream.seen.length === 1)
    leaving.abort()
    await left.catch(() => undefined)
    // A caller without a key would have closed the upstream by now.
    await Bun.sleep(300)
    expect(upstream.aborted).toBe(aborted)
    gate.resolve()
    const again = await readAll(await ask(surface, { stream, model: `${surface}/long-200` }))
    expect(again.status).toBe(200)
    expect(again.replayed).toBe('true')
    expect(again.text.length).toBeGreaterThan(500)
    expect(upstream.seen).toHaveLength(1)
    expect((await newCharges()).filter(charge => charge > 0n)).toHaveLength(1)
  })
})

test('lets the second read along while the first streams, in this process or another', async () => {
  const neighbour = await startNeighbour(gateway)
  const feed = fedStream()
  upstream.answer = () => eventStream(feed.stream)
  feed.write(chunkOf('one'))
  const one = await ask('chat', { stream: true })
  const others = [
    readerOf(await ask('chat', { stream: true })),
    readerOf(await ask('chat', { stream: true, url: neighbour.apiUrl })),
  ]
  for (const other of others) expect(await other.readUntil('one')).toContain('one')
  feed.write(chunkOf('two'))
  for (const other of others) expect(await other.readUntil('two')).toContain('two')
  feed.write(END)
  feed.close()
  const text = await one.text()
  expect(text).toEndWith('data: [DONE]\n\n')
  for (const other of others) expect(await other.rest()).toBe(text)
  expect(upstream.seen).toHaveLength(1)
  await neighbour.stop()
})

describe('of two keys that wait for one answer, the one that is revoked', () => {
  const newKey = () => gateway.keys.createKey({ accountId: gateway.accountId, name: '' })

  test.each([...SURFACES])('is told so in the stream of %s, and it goes on for the other', async surface => {
    const feed = fedStream()
    upstream.answer = () => eventStream(feed.stream)
    feed.write(chunkOf('one, two'))
    const other = await newKey()
    const asked = { stream: true, model: 'chat/echo' }
    const first = await ask(surface, asked)
    const second = readerOf(await ask(surface, { ...asked, apiKey: other.key }))
    expect(await second.readUntil('one')).toContain('one')
    await gateway.keys.revokeKey(other.id)
    const requestId = first.headers.get('x-request-id')
    expect(await second.readUntil('revoked')).toContain(`This API key was revoked (request id: ${requestId})`)
    // Not all of Google's clients read the event.
    const ending = second.rest().then(
      () => 'closed',
      () => 'broken',
    )
    expect(await ending).toBe(surface === 'gemini' ? 'broken' : 'closed')
    const told = await second.readUntil('')
    if (surface === 'responses') {
      const numbers = [...told.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
      expect(numbers).toEqual(numbers.map((_, index) => index))
      expect(told).toContain('event: response.failed')
    }
    feed.write(END)
    feed.close()
    expect(await first.text()).not.toContain('revoked')
    expect((await ask(surface, asked)).headers.get('idempotent-replayed')).toBe('true')
    expect(upstream.seen).toHaveLength(1)
  })

  test('is told so of an answer in one piece, and the other gets it', async () => {
    const answered = Promise.withResolvers<void>()
    upstream.answer = async (request, signal) => {
      await answered.promise
      return simulated(request, signal)
    }
    const other = await newKey()
    const first = ask('messages')
    await until(() => upstream.seen.length === 1)
    const second = ask('messages', { apiKey: other.key })
    await until(
      async () => (await gateway.database.sql`select from idempotent_run where key = ${key}`).length > 0,
    )
    await gateway.keys.revokeKey(other.id)
    expect(await readError(await second, 'messages')).toMatchObject({ status: 401, code: 'invalid_api_key' })
    answered.resolve()
    expect((await first).status).toBe(200)
  })
})

test('runs once when two arrive together at two processes', async () => {
  const neighbour = await startNeighbour(gateway)
  await newCharges()
  const answers = await Promise.all(
    [gateway.url, neighbour.apiUrl, gateway.url, neighbour.apiUrl].map(async url =>
      readAll(await ask('messages', { url })),
    ),
  )
  expect(new Set(answers.map(({ id, text }) => `${id}${text}`)).size).toBe(1)
  expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1)
  expect(upstream.seen).toHaveLength(1)
  await neighbour.flush()
  expect((await newCharges()).filter(charge => charge > 0n)).toHaveLength(1)
  await neighbour.stop()
})

describe('the key is free again', () => {
  test.each([400, 401, 429, 500, 503])('after an upstream %p', async status => {
    upstream.answer = () => new Response('{"error":{"message":"no"}}', { status })
    expect((await ask('chat')).ok).toBe(false)
    upstream.answer = simulated
    const second = await ask('chat')
    expect(second.status).toBe(200)
    expect(second.headers.get('idempotent-replayed')).toBeNull()
  })

  test('after a stream that ended in an error', async () => {
    expect(await (await ask('chat', { stream: true, model: 'chat/error-midstream' })).text()).toContain(
      'error',
    )
    const second = await ask('chat', { stream: true, prompt: 'another body' })
    expect(second.status).toBe(200)
    expect(await second.text()).toContain('[DONE]')
  })

  test('after 24 hours', async () => {
    const first = await readAll(await ask('chat'))
    await gateway.database.sql`update idempotent_run set expires_at = now() where key = ${key}`
    const second = await readAll(await ask('chat'))
    expect(second.replayed).toBeNull()
    expect(second.id).not.toBe(first.id)
  })

  test('when the process that had it is dead', async () => {
    const stuck = Promise.withResolvers<Response>()
    upstream.answer = () => stuck.promise
    const neighbour = await startNeighbour(gateway)
    const lost = ask('chat', { url: neighbour.apiUrl })
    await until(() => upstream.seen.length === 1)
    upstream.answer = simulated
    // Its process lives and renews it every two seconds, and this one takes nobody for dead in its first ten.
    const retry = ask('chat')
    await until(async () => {
      await gateway.database
        .sql`update idempotent_run set leased_until = now() - interval '1 second' where key = ${key} and state = 'running'`
      return Bun.peek.status(retry) !== 'pending'
    })
    const taken = await readAll(await retry)
    expect(taken.status).toBe(200)
    // Its exchange has the id of the run, by which what it is charged is found.
    const [dead] = await gateway.database.sql`select id from idempotent_run where key = ${key} and taken_over`
    const requestId = () => lost.then(response => response.headers.get('x-request-id'))
    // The one that was taken for dead after all changes nothing.
    stuck.resolve(new Response('{"error":{"message":"no"}}', { status: 500 }))
    expect((await lost).status).toBe(502)
    expect(await requestId()).toBe(dead?.['id'])
    expect(await readAll(await ask('chat'))).toEqual({ ...taken, replayed: 'true' })
    await neighbour.stop()
  })
})

test('does not count for another account', async () => {
  const first = await readAll(await ask('chat'))
  const { key: apiKey } = await openPayer(gateway.database)
  const second = await readAll(await ask('chat', { apiKey, prompt: 'another body' }))
  expect(second.status).toBe(200)
  expect(second.replayed).toBeNull()
  expect(second.id).not.toBe(first.id)
})

describe.each([...SURFACES])('%s', surface => {
  test.each([false, true])(
    'gives a key no answer of a model that it may not use, streamed: %p',
    async stream => {
      expect((await readAll(await ask(surface, { stream }))).status).toBe(200)
      const keyFor = (model: string) =>
        gateway.keys.createKey({ accountId: gateway.accountId, name: '', models: [model] })
      const narrow = await ask(surface, { stream, apiKey: (await keyFor('whisper')).key })
      expect((await readError(narrow, surface)).code).toBe('model_not_found')
      const wide = await readAll(
        await ask(surface, { stream, apiKey: (await keyFor(`${surface}/echo`)).key }),
      )
      expect([wide.status, wide.replayed]).toEqual([200, 'true'])
      expect(upstream.seen).toHaveLength(1)
    },
  )
})

test('nor of one whose name a header cannot spell', async () => {
  const model = 'größer'
  expect((await readAll(await ask('chat', { model }))).status).toBe(200)
  const { key: narrow } = await gateway.keys.createKey({
    accountId: gateway.accountId,
    name: '',
    models: ['whisper'],
  })
  const refused = await ask('chat', { model, apiKey: narrow })
  expect((await readError(refused, 'chat')).code).toBe('model_not_found')
  expect((await readAll(await ask('chat', { model }))).replayed).toBe('true')
})

test('nor of one that has another name by now', async () => {
  expect((await readAll(await ask('chat', { model: 'renamed' }))).status).toBe(200)
  await gateway.database.sql`delete from model where id = 'renamed'`
  await gateway.apply(`
channels: [{ name: any, format: openai-chat-completions, base_url: "${upstream.url}", allow_private: true }]
models: [{ id: newer, aliases: [renamed], channels: [{ channel: any, model: m }], prices: { input: 1 } }]
`)
  const { key: narrow } = await gateway.keys.createKey({
    accountId: gateway.accountId,
    name: '',
    models: ['whisper'],
  })
  const refused = await ask('chat', { model: 'renamed', apiKey: narrow })
  expect((await readError(refused, 'chat')).code).toBe('model_not_found')
  expect((await readAll(await ask('chat', { model: 'renamed' }))).replayed).toBe('true')
})

test('knows a caller by the address of its own connection', async () => {
  const from = (...allowIps: string[]) =>
    gateway.keys.createKey({ accountId: gateway.accountId, name: '', allowIps })
  const here = await from('127.0.0.1/32')
  expect((await ask('chat', { apiKey: here.key })).status).toBe(200)
  const elsewhere = await from('10.0.0.0/8')
  const refused = await readError(await ask('chat', { apiKey: elsewhere.key }), 'chat')
  expect(refused.code).toBe('ip_not_allowed')
})

test('refuses whoever may not call, as without a key', async () => {
  expect((await readError(await ask('messages', { apiKey: 'sk-wrong' }), 'messages')).status).toBe(401)
  const unknown = await fetch(`${gateway.url}/v1/nothing`, {
    method: 'POST',
    headers: { 'idempotency-key': key, authorization: `Bearer ${gateway.key}` },
  })
  expect((await readError(unknown, 'chat')).code).toBe('unknown_path')
})

test('takes a compressed body for what it says', async () => {
  const body = JSON.stringify(CALLS.chat.body('chat/echo'))
  const headers = { 'idempotency-key': key }
  const first = await readAll(await call(gateway, 'chat', { headers }))
  const second = await readAll(
    await call(gateway, 'chat', {
      headers: { ...headers, 'content-encoding': 'zstd' },
      body: Bun.zstdCompressSync(body),
    }),
  )
  expect(second).toEqual({ ...first, replayed: 'true' })
})

test('finds room for a large body once, and not again for what was read', async () => {
  const { bodyRoom } = gateway.server.gateway
  gateway.server.gateway.bodyRoom = new BodyRoom({
    clock: manualClock(),
    usedBytes: () => 0,
    mostBytes: 6_000_000,
    onRefused: () => undefined,
  })
  const response = await ask('chat', { prompt: 'x'.repeat(2_000_000) })
  gateway.server.gateway.bodyRoom = bodyRoom
  expect(response.status).toBe(200)
})

test('takes a form for what it holds, whatever boundary it drew, and gives sound back as it was', async () => {
  const post = (path: string, headers: Record<string, string>, body: FormData | string) =>
    gateway.post(path, body, { headers: { 'idempotency-key': key, ...headers } })
  const form = (content: string) => {
    const parts = new FormData()
    parts.set('model', 'whisper')
    parts.set('file', new File([content], 'a.mp3', { type: 'audio/mpeg' }))
    return parts
  }
  const first = await readAll(await post('/v1/audio/transcriptions', {}, form('sound')))
  expect(first.status).toBe(200)
  const second = await readAll(await post('/v1/audio/transcriptions', {}, form('sound')))
  expect(second).toEqual({ ...first, replayed: 'true' })
  expect((await post('/v1/audio/transcriptions', {}, form('noise'))).status).toBe(409)

  key = crypto.randomUUID()
  const speak = () =>
    post(
      '/v1/audio/speech',
      { 'content-type': 'application/json' },
      JSON.stringify({ model: 'voice', voice: 'alloy', input: 'Hello' }),
    )
  const [spoken, again] = [await speak(), await speak()]
  expect(spoken.status).toBe(200)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.headers.get('content-type')).toBe(spoken.headers.get('content-type'))
  expect(Buffer.from(await again.arrayBuffer())).toEqual(Buffer.from(await spoken.arrayBuffer()))
})

test('keeps no content that can be read, and nothing at all without a key', async () => {
  const count = async () => {
    const [row] = await gateway.database.sql<{ runs: bigint }[]>`select count(*) as runs from idempotent_run`
    return row?.runs
  }
  const before = await count()
  await (await ask('chat', { idempotencyKey: undefined })).text()
  expect(await count()).toBe(before)
  await (await ask('chat', { prompt: 'a secret that is echoed' })).text()
  const rows = await gateway.database.sql<{ content: Uint8Array }[]>`
    select content from idempotent_chunk c join idempotent_run r on r.id = c.run_id where r.key = ${key}`
  expect(rows).not.toHaveLength(0)
  for (const { content } of rows) expect(Buffer.from(content).toString('latin1')).not.toContain('secret')
})

test('does not keep an answer that is too large, and says so instead of running it again', async () => {
  const large = 'x'.repeat(17 * 1024 * 1024)
  upstream.answer = () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: large } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    })
  expect((await readAll(await ask('chat'))).text.length).toBeGreaterThan(large.length)
  const told = await readError(await ask('chat'), 'chat')
  expect(told).toMatchObject({ status: 409, code: 'idempotency_conflict' })
  expect(upstream.seen).toHaveLength(1)
})

test('deletes what is past its time', async () => {
  await (await ask('chat', { stream: true })).text()
  const store = runStore(gateway.database)
  await gateway.database.sql`update idempotent_run set expires_at = now() where key = ${key}`
  expect(await store.sweep(Number.NEGATIVE_INFINITY)).toBeGreaterThan(0)
  const left = await gateway.database.sql`
    select from idempotent_chunk where run_id not in (select id from idempotent_run)`
  expect(left).toHaveLength(0)
  expect(await gateway.database.sql`select from idempotent_run where key = ${key}`).toHaveLength(0)
})

async function readAll(response: Response) {
  const { status, headers } = response
  return {
    status,
    text: await response.text(),
    id: headers.get('x-request-id'),
    replayed: headers.get('idempotent-replayed'),
  }
}

/** Reads a stream by what it says. */
function readerOf(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readMore = async () => {
    const next = await reader?.read()
    text += next?.value ?? ''
    return next?.done !== true
  }
  return {
    async readUntil(mark: string) {
      while (!text.includes(mark)) if (!(await readMore())) break
      return text
    },
    async rest() {
      while (await readMore()) {}
      return text
    },
  }
}

/** The first events of an answer, and the rest once `gate` opens. */
function heldBack(response: Response, gate: Promise<void>): ReadableStream<Uint8Array> {
  let passed = 0
  const through = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      passed += 1
      if (passed > 8) await gate
      controller.enqueue(chunk)
    },
  })
  return response.body?.pipeThrough(through) ?? through.readable
}

const chunkOf = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\ndata: [DONE]\n\n'

/** A POST to a path of Responses. */
function askResponses(path: string, body: object): Promise<Response> {
  return gateway.post(path, body, { headers: { 'idempotency-key': key } })
}

describe('a response that runs in the background', () => {
  test('is begun once, and its caller is answered at once', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    const body = { model: 'chat/echo', input: 'take your time', background: true }
    const first = await askResponses('/v1/responses', body)
    const firstText = await first.text()
    expect(JSON.parse(firstText)).toMatchObject({ status: 'queued' })
    // It has not said a word by now: whoever were to wait for its end would wait for ever.
    const second = await askResponses('/v1/responses', body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await second.text()).toBe(firstText)
    await until(() => upstream.seen.length > 0)
    expect(upstream.seen).toHaveLength(1)
    fed.write(
      'data: {"id":"1","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}\n\n',
    )
    fed.write('data: [DONE]\n\n')
    fed.close()
    await until(async () => (await newCharges()).length > 0)
  })

  test.each([false, true])('is not told to a key that may not use its model, streamed: %p', async stream => {
    const body = { model: 'chat/echo', input: 'hi', background: true, stream }
    await (await askResponses('/v1/responses', body)).text()
    const { accountId } = gateway
    const narrow = await gateway.keys.createKey({ accountId, name: '', models: ['whisper'] })
    const refused = await gateway.post('/v1/responses', body, {
      key: narrow.key,
      headers: { 'idempotency-key': key },
    })
    expect((await readError(refused, 'responses')).code).toBe('model_not_found')
  })
})

test('a compaction is made once, also where it is asked of an upstream that has no such call', async () => {
  upstream.answer = (request, signal) =>
    request.path.endsWith('/compact')
      ? Response.json({ error: { message: 'Not found' } }, { status: 404 })
      : simulated(request, signal)
  const body = { model: 'responses/echo', input: 'a long story' }
  const first = await askResponses('/v1/responses/compact', body)
  expect(first.status).toBe(200)
  const second = await askResponses('/v1/responses/compact', body)
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect(await second.text()).toBe(await first.text())
  expect(upstream.seen).toHaveLength(2)
})

test('is not made while nobody knows who asks, though that is known the next moment', async () => {
  const { authenticate } = gateway.server.gateway
  let asked = 0
  gateway.server.gateway.authenticate = presented => {
    asked += 1
    return asked === 1 ? Promise.reject(new Error('write CONNECTION_CLOSED')) : authenticate(presented)
  }
  try {
    const told = await readError(await ask('chat'), 'chat')
    expect(told).toMatchObject({ status: 503, code: 'billing_unavailable' })
  } finally {
    gateway.server.gateway.authenticate = authenticate
  }
  expect(upstream.seen).toHaveLength(0)
})
