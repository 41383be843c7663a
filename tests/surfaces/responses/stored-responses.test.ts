import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import OpenAI from 'openai'
import type { Response as ModelResponse, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { rejectionOf } from '#tests/sdk/rejection.ts'
import { UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'

const { gateway, upstream } = await scriptedGateway()
const openai = clientOf(gateway.key)
/** Of another account. */
const strangersKey = await newKey('stranger@example.com')
beforeEach(() => {
  upstream.answer = simulated
  upstream.seen.length = 0
})

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
}

async function newKey(email: string, storeAllowed = { account: true, key: true }): Promise<string> {
  const account = await gateway.accounts.createAccount({
    email,
    creditNano: 1_000_000_000_000n,
    onTrial: false,
    models: [],
    storeAllowed: storeAllowed.account,
  })
  const { key } = await gateway.keys.createKey({
    accountId: account.id,
    name: '',
    storeAllowed: storeAllowed.key,
  })
  return key
}

/** What the upstream was sent last. */
function lastBody(): JsonObject {
  return parseObject(upstream.lastBody()) ?? {}
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

function finalOf(events: readonly ResponseStreamEvent[]): ModelResponse {
  const last = events.at(-1)
  if (last?.type !== 'response.completed') throw new Error(`the stream ended in ${last?.type}`)
  return last.response
}

describe.each(UPSTREAMS)('over %s', format => {
  const model = `${format}/echo`

  test('an answer is stored when its caller says so, and is the same when it is fetched', async () => {
    const made = await openai.responses.create({ model, input: 'keep this', store: true })
    expect(made).toMatchObject({ store: true, previous_response_id: null, background: false })
    expect(made.id).toMatch(/^resp_[0-9a-f]{32}$/)
    expect(await openai.responses.retrieve(made.id)).toEqual(made)
  })

  test('a stream is stored, and its events can be had again from any number', async () => {
    const events = await collect(
      await openai.responses.create({ model, input: 'stream this', store: true, stream: true }),
    )
    const made = finalOf(events)
    expect(made).toMatchObject({ store: true })
    expect((await openai.responses.retrieve(made.id)).output).toEqual(made.output)
    expect(await collect(await openai.responses.retrieve(made.id, { stream: true }))).toEqual(events)
    const rest = await openai.responses.retrieve(made.id, { stream: true, starting_after: 2 })
    expect(await collect(rest)).toEqual(events.slice(3))
  })

  test.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/cancel'],
    ['GET', '/input_items'],
  ])('%s of an id that is not valid percent-encoding is a 400', async (method, rest) => {
    const headers = { authorization: `Bearer ${gateway.key}` }
    const response = await fetch(`${gateway.url}/v1/responses/%zz${rest}`, { method, headers })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('percent-encoding') },
    })
  })

  test('whether it is fetched as a stream is said as true or false, and anything else is refused by name', async () => {
    const { id } = await openai.responses.create({ model, input: 'keep this', store: true })
    const fetched = (stream: string) =>
      fetch(`${gateway.url}/v1/responses/${id}?stream=${stream}`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      })
    for (const word of ['false', '']) expect(await (await fetched(word)).json()).toMatchObject({ id })
    for (const word of ['maybe', '1', 'True']) {
      const refused = await fetched(word)
      expect(refused.status).toBe(400)
      expect(await refused.json()).toMatchObject({ error: { code: 'invalid_request', param: 'stream' } })
    }
  })

  test('a conversation goes on where it was, and its start is the same bytes every time', async () => {
    const first = await openai.responses.create({
      model,
      instructions: 'Be brief.',
      input: [{ role: 'user', content: 'my name is Ada' }],
      store: true,
    })
    const second = await openai.responses.create({
      model,
      input: 'what is my name?',
      previous_response_id: first.id,
      store: true,
    })
    expect(second.previous_response_id).toBe(first.id)
    const sent = JSON.stringify(lastBody())
    expect(sent).toContain('my name is Ada')
    expect(sent).toContain('what is my name?')
    expect(sent).not.toContain('Be brief.')
    expect(sent).not.toContain(first.id)

    const ask = () => openai.responses.create({ model, input: 'and again?', previous_response_id: second.id })
    await ask()
    const once = upstream.lastBody()
    const third = await ask()
    expect(upstream.lastBody()).toBe(once)
    expect(third).toMatchObject({ store: false, previous_response_id: second.id })
    const shared = sent.slice(0, sent.indexOf('what is my name?'))
    expect(once.toString()).toStartWith(shared)
  })

  test('tool calls of a stored turn are answered in the next', async () => {
    const tools = [
      { type: 'function' as const, name: 'weather', parameters: { type: 'object' }, strict: false },
    ]
    const asked = await openai.responses.create({
      model: `${format}/tool`,
      input: 'how is the weather?',
      tools,
      store: true,
    })
    const call = asked.output.find(item => item.type === 'function_call')
    expect(call).toBeDefined()
    const told = await openai.responses.create({
      model: `${format}/tool`,
      input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: '21 degrees' }],
      tools,
      previous_response_id: asked.id,
    })
    expect(told.output_text).toContain('21 degrees')
  })

  test('a stored call that the next request says once more is told once, as LiveKit says it', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: null }]
    const asked = await openai.responses.create({
      model: `${format}/tool`,
      input: 'and now?',
      tools,
      store: true,
    })
    const call = asked.output.find(item => item.type === 'function_call')
    if (call === undefined) throw new Error('no call')
    const written = JSON.stringify(JSON.parse(call.arguments), null, 1)
    const told = await openai.responses.create({
      model: `${format}/tool`,
      input: [
        { call_id: call.call_id, type: 'function_call', name: call.name, arguments: written },
        { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' },
      ],
      tools,
      previous_response_id: asked.id,
    })
    expect(told.output_text).toBe('Result: 21 degrees')
  })

  test('reasoning goes on with the conversation, so that its maker can read it', async () => {
    const first = await openai.responses.create({
      model: `${format}/reason`,
      input: 'think about this',
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: true,
    })
    const reasoning = first.output.filter(item => item.type === 'reasoning').at(-1)
    await openai.responses.create({
      model: `${format}/reason`,
      input: 'go on',
      reasoning: { effort: 'high', summary: 'auto' },
      previous_response_id: first.id,
    })
    if (format === 'chat') return expect(JSON.stringify(lastBody())).toContain('think about this')
    expect(reasoning?.encrypted_content).toBeString()
    // Messages and Gemini have the signature itself, which the item wraps.
    const signed = format === 'responses' ? reasoning?.encrypted_content : 'ignature'
    expect(JSON.stringify(lastBody())).toContain(signed ?? 'nothing')
  })

  test('a stream goes on with a conversation, too, and tokens of all of it are counted', async () => {
    const long = 'a long story '.repeat(200)
    const first = await openai.responses.create({ model, input: long, store: true })
    const alone = await openai.responses.inputTokens.count({ model, input: 'go on' })
    const whole = await openai.responses.inputTokens.count({
      model,
      input: 'go on',
      previous_response_id: first.id,
    })
    expect(whole.input_tokens).toBeGreaterThan(alone.input_tokens + 400)
    const events = await collect(
      await openai.responses.create({ model, input: 'go on', previous_response_id: first.id, stream: true }),
    )
    const created = events.find(event => event.type === 'response.created')
    expect(created?.response.previous_response_id).toBe(first.id)
    expect(finalOf(events)).toMatchObject({ previous_response_id: first.id, store: false })
    expect(JSON.stringify(lastBody())).toContain(long)
  })
})

test.each(['the id of the response', 'references to its items'])(
  'a thought that nobody signed comes back to an upstream of Chat between its call and the result, by %s',
  async how => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const message = {
      role: 'assistant',
      content: null,
      reasoning_content: 'Look first.',
      tool_calls: [call],
    }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    upstream.answer = () => Response.json({ id: 'c', object: 'chat.completion', choices, usage })
    const tools = [{ type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false }]
    const model = 'chat/echo'
    const first = await openai.responses.create({ model, input: 'one', tools, store: true })
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'seen' }
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }))
    await openai.responses.create(
      how === 'the id of the response'
        ? { model, tools, input: [result], previous_response_id: first.id }
        : { model, tools, input: [{ role: 'user', content: 'one' }, ...references, result] },
    )
    expect(lastBody()['messages']).toMatchObject([{}, { reasoning_content: 'Look first.' }, { role: 'tool' }])
  },
)

test('strict mode lets pass what is lost of a kept thought, which its caller could not leave out', async () => {
  const message = { role: 'assistant', content: 'one', reasoning_content: 'A word.' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  upstream.answer = () => Response.json({ id: 'c', object: 'chat.completion', choices, usage })
  const strict = { headers: { 'x-tollgate-strict': 'true' } }
  const model = 'chat/echo'
  const first = await openai.responses.create({ model, input: 'one', store: true })
  const goingOn = openai.responses.create({ model, input: 'two', previous_response_id: first.id }, strict)
  const { response } = await goingOn.withResponse()
  expect(response.headers.get('x-tollgate-losses')).toBe('reasoning.encrypted_content')
  const summary = [{ type: 'summary_text' as const, text: 'A word.' }]
  const input = [
    { type: 'reasoning' as const, id: 'rs_1', summary },
    { role: 'user' as const, content: 'two' },
  ]
  const refused = await openai.responses.create({ model, input }, strict).catch(error => error)
  expect(refused).toMatchObject({ status: 400, param: 'reasoning.encrypted_content' })
})

describe('what an upstream of the same format is told', () => {
  test.each<{ store?: boolean | null }>([{}, { store: true }, { store: false }, { store: null }])(
    'is to keep nothing, whatever the caller says: %j',
    async said => {
      await raw('POST', '/v1/responses', { model: 'responses/echo', input: 'hi', ...said })
      expect(lastBody()['store']).toBe(false)
      expect(lastBody()).not.toHaveProperty('previous_response_id')
      expect(lastBody()).not.toHaveProperty('background')
    },
  )

  test('is not how a background answer is to be scheduled, since it is no background answer there', async () => {
    const later = { background_options: { completion_window: 'soonest', continuation_id: 'mine' } } as const
    const asked = { model: 'responses/echo', input: 'hi', background: true, stream: true, ...later } as const
    finalOf(await collect(await openai.responses.create(asked)))
    expect(lastBody()).not.toHaveProperty('background')
    expect(lastBody()).not.toHaveProperty('background_options')
  })

  test('is not what leads nowhere: references to reasoning, and reasoning that only it could have kept', async () => {
    const input = [
      { type: 'message', role: 'user', content: 'one' },
      { type: 'item_reference', id: 'rs_1' },
      { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: 'opaque' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
      { type: 'message', role: 'user', content: 'three' },
    ]
    await raw('POST', '/v1/responses', { model: 'responses/echo', input })
    // What it was told first: whose reasoning it cannot read, it is told again without.
    upstream.seen.length = 1
    expect(asArray(lastBody()['input']).map(item => asObject(item)?.['id'] ?? null)).toEqual([
      null,
      'rs_3',
      null,
      null,
    ])
  })
})

test('of a stored answer that breaks off the items that were whole by then are its output, once its error is told', async () => {
  const item = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'half', annotations: [] }],
  }
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] }
  const events = [
    { type: 'response.created', sequence_number: 0, response },
    {
      type: 'response.output_item.added',
      sequence_number: 1,
      output_index: 0,
      item: { ...item, content: [] },
    },
    {
      type: 'response.output_text.delta',
      sequence_number: 2,
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: 'half',
    },
    { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item },
  ]
  upstream.answer = () =>
    new Response(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    })
  const stream = await openai.responses.create({
    model: 'responses/echo',
    input: 'x',
    store: true,
    stream: true,
  })
  let id = ''
  const read = async () => {
    for await (const event of stream) if (event.type === 'response.created') id = event.response.id
  }
  expect(await rejectionOf(read())).toMatchObject({ code: 'server_error' })
  expect(await openai.responses.retrieve(id)).toMatchObject({
    status: 'failed',
    output: [item],
  })
})

describe('only who asks has an answer stored', () => {
  test.each([{}, { store: false }])('%j stores nothing', async said => {
    const made = await openai.responses.create({ model: 'chat/echo', input: 'hi', ...said })
    expect(made).toMatchObject({ store: false })
    expect(await raw('GET', `/v1/responses/${made.id}`)).toMatchObject({ status: 404, code: 'not_found' })
    expect(
      await rejectionOf(
        openai.responses.create({ model: 'chat/echo', input: 'hi', previous_response_id: made.id }),
      ),
    ).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    })
  })

  test.each([
    ['account', { account: false, key: true }],
    ['key', { account: true, key: false }],
  ])('one whose %s forbids it is refused, and answered without', async (who, allowed) => {
    const client = clientOf(await newKey(`no-store-${who}@example.com`, allowed))
    const refusal = { status: 400, code: 'unsupported_parameter' }
    expect(
      await rejectionOf(client.responses.create({ model: 'chat/echo', input: 'hi', store: true })),
    ).toMatchObject({ ...refusal, param: 'store' })
    expect(
      await rejectionOf(client.responses.create({ model: 'chat/echo', input: 'hi', background: true })),
    ).toMatchObject({ ...refusal, param: 'background' })
    expect((await client.responses.create({ model: 'chat/echo', input: 'hi' })).output_text).toBe('hi')
  })

  test('content is sealed in the database', async () => {
    await openai.responses.create({ model: 'chat/echo', input: 'a word that nobody else says', store: true })
    const rows = await gateway.database.sql`select * from stored_response`
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) {
      expect(Buffer.from(row['input'] as Uint8Array).toString()).not.toContain('nobody else')
      expect(Buffer.from(row['response'] as Uint8Array).toString()).not.toContain('nobody else')
    }
  })

  test('an answer that cannot be stored is given, and says that it was not', async () => {
    await gateway.database.sql`alter table stored_response rename to stored_response_away`
    try {
      const made = await openai.responses.create({ model: 'chat/echo', input: 'hi', store: true })
      expect(made).toMatchObject({ store: false, output_text: 'hi' })
    } finally {
      await gateway.database.sql`alter table stored_response_away rename to stored_response`
    }
  })
})

/** A call without the SDK, which hides what is sent and told. */
async function raw(method: string, path: string, body?: object, key = gateway.key) {
  const response = await fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const json = parseObject(await response.text()) ?? {}
  const error = asObject(json['error'])
  return { status: response.status, code: error?.['code'], message: error?.['message'], json }
}

describe('to another account the response does not exist', () => {
  let id: string
  beforeAll(async () => {
    id = (await openai.responses.create({ model: 'chat/echo', input: 'private', store: true })).id
  })

  test.each([
    ['GET', ''],
    ['GET', '?stream=true'],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ])('%s /v1/responses/{id}%s', async (method, rest) => {
    const theirs = await raw(method, `/v1/responses/${id}${rest}`, undefined, strangersKey)
    const nobodys = await raw(method, `/v1/responses/resp_0${rest}`, undefined, strangersKey)
    expect(theirs).toMatchObject({ status: 404, code: 'not_found' })
    const text = (told: typeof theirs) => String(told.message).replace(/'.*?'|\(request id.*/g, '')
    expect(text(theirs)).toBe(text(nobodys))
  })

  test.each(['/v1/responses', '/v1/responses/input_tokens'])('previous_response_id on %s', async path => {
    const body = { model: 'chat/echo', input: 'hi', previous_response_id: id }
    expect(await raw('POST', path, body, strangersKey)).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    })
  })

  test('and its owner still has it', async () => {
    expect((await openai.responses.retrieve(id)).output_text).toBe('private')
  })
})

describe('an id that no text of the database can be is one that nobody has', () => {
  test.each([
    ['GET', ''],
    ['GET', '?stream=true'],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ])('%s /v1/responses/{id}%s', async (method, rest) => {
    const told = await raw(method, `/v1/responses/resp_%00${rest}`)
    expect(told).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('previous_response_id', async () => {
    const body = { model: 'chat/echo', input: 'hi', previous_response_id: 'resp_\u0000' }
    expect(await raw('POST', '/v1/responses', body)).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    })
  })
})

test('a response that was deleted is gone for good, and so is what went on from it', async () => {
  const first = await openai.responses.create({ model: 'chat/echo', input: 'one', store: true })
  const second = await openai.responses.create({
    model: 'chat/echo',
    input: 'two',
    previous_response_id: first.id,
    store: true,
  })
  expect(await raw('DELETE', `/v1/responses/${first.id}`)).toMatchObject({
    status: 200,
    json: { id: first.id, object: 'response', deleted: true },
  })
  expect((await raw('DELETE', `/v1/responses/${first.id}`)).status).toBe(404)
  expect((await raw('GET', `/v1/responses/${first.id}`)).status).toBe(404)
  expect(
    await rejectionOf(
      openai.responses.create({ model: 'chat/echo', input: 'three', previous_response_id: second.id }),
    ),
  ).toMatchObject({ code: 'previous_response_not_found' })
})

test('a response that has expired is not there any more', async () => {
  const { id } = await openai.responses.create({ model: 'chat/echo', input: 'old', store: true })
  const [row] = await gateway.database.sql`
    update stored_response set expires_at = now() - interval '1 second' where id = ${id} returning created_at, expires_at`
  expect(row).toBeDefined()
  expect((await raw('GET', `/v1/responses/${id}`)).status).toBe(404)
  expect((await raw('GET', `/v1/responses/${id}/input_items`)).status).toBe(404)
  const on = { model: 'chat/echo', input: 'on', previous_response_id: id }
  expect(await raw('POST', '/v1/responses', on)).toMatchObject({ code: 'previous_response_not_found' })
})

test('encrypted reasoning is shown only to who asks for it', async () => {
  const { id } = await openai.responses.create({
    model: 'messages/reason',
    input: 'think',
    reasoning: { effort: 'high', summary: 'auto' },
    store: true,
  })
  const reasoning = async (include: 'reasoning.encrypted_content'[]) =>
    (await openai.responses.retrieve(id, { include })).output.find(item => item.type === 'reasoning')
  expect(await reasoning([])).not.toHaveProperty('encrypted_content')
  expect((await reasoning(['reasoning.encrypted_content']))?.encrypted_content).toBeString()
})

describe('the list of input items', () => {
  const texts = ['one', 'two', 'three', 'four', 'five']
  let id: string
  beforeAll(async () => {
    const input = texts.map(text => ({ role: 'user' as const, content: text }))
    id = (await openai.responses.create({ model: 'chat/echo', input, store: true })).id
  })
  const text = (item: unknown) => asObject(asArray(asObject(item)?.['content'])[0])?.['text']

  test('is newest first, and the other way around if asked', async () => {
    const newest = (await openai.responses.inputItems.list(id)).data
    expect(newest.map(text)).toEqual(texts.toReversed())
    expect((await openai.responses.inputItems.list(id, { order: 'asc' })).data.map(text)).toEqual(texts)
    expect(new Set(newest.map(item => item.id)).size).toBe(5)
  })

  test('is paged by cursor, as the SDK does by itself', async () => {
    const found: unknown[] = []
    for await (const item of openai.responses.inputItems.list(id, { limit: 2, order: 'asc' }))
      found.push(text(item))
    expect(found).toEqual(texts)
    const { data } = await openai.responses.inputItems.list(id, { order: 'asc' })
    const rest = await openai.responses.inputItems.list(id, { order: 'asc', after: data[0]?.id ?? '' })
    expect(rest.data.map(text)).toEqual(texts.slice(1))
    expect((await raw('GET', `/v1/responses/${id}/input_items?limit=2&order=asc`)).json).toMatchObject({
      object: 'list',
      first_id: data[0]?.id,
      last_id: data[1]?.id,
      has_more: true,
    })
  })

  test('has what every list has of an item, and a request may leave out', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    const input = [
      { role: 'user', content: [image] },
      { role: 'assistant', id: 'msg_own', content: 'seen' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [image] },
    ]
    const { json } = await raw('POST', '/v1/responses', { model: 'chat/echo', input, store: true })
    const listed = await openai.responses.inputItems.list(String(json['id']), { order: 'asc' })
    expect(listed.data).toMatchObject([
      { type: 'message', status: 'completed', content: [{ ...image, detail: 'auto' }] },
      {
        type: 'message',
        id: 'msg_own',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'seen', annotations: [] }],
      },
      { type: 'function_call', status: 'completed', call_id: 'c' },
      { type: 'function_call_output', status: 'completed', output: [{ ...image, detail: 'auto' }] },
    ])
  })

  test.each(['limit=0', 'limit=101', 'limit=x', 'order=up', 'after=nothing'])('refuses %s', async query => {
    expect(await raw('GET', `/v1/responses/${id}/input_items?${query}`)).toMatchObject({
      status: 400,
      code: 'invalid_request',
    })
  })
})

describe('refuses', () => {
  test.each<[string, object, string, string]>([
    ['an id that is none', { previous_response_id: 7 }, 'invalid_request', 'previous_response_id'],
    ['store that is no flag', { store: 'yes' }, 'invalid_request', 'store'],
    [
      'background that may not be kept',
      { background: true, store: false },
      'unsupported_parameter',
      'background',
    ],
    [
      'a background answer that is to cost less since it may come later',
      { background: true, background_options: { completion_window: '2h' } },
      'unsupported_parameter',
      'background_options.completion_window',
    ],
    ['conversations', { conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    [
      'an unknown id',
      { previous_response_id: 'resp_x' },
      'previous_response_not_found',
      'previous_response_id',
    ],
  ])('%s', async (_what, fields, code, param) => {
    for (const format of UPSTREAMS) {
      const told = await raw('POST', '/v1/responses', { model: `${format}/echo`, input: 'hi', ...fields })
      expect(told).toMatchObject({ status: 400, code })
      expect(asObject(told.json['error'])?.['param']).toBe(param)
    }
    expect(upstream.seen).toHaveLength(0)
  })

  test('to stream what was not a stream', async () => {
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'hi', store: true })
    expect((await raw('GET', `/v1/responses/${id}?stream=true`)).status).toBe(400)
  })

  test('to cancel what does not run in the background', async () => {
    const { id } = await openai.responses.create({ model: 'chat/echo', input: 'hi', store: true })
    expect(await raw('POST', `/v1/responses/${id}/cancel`)).toMatchObject({
      status: 400,
      code: 'invalid_request',
    })
  })
})

test('a call that fails within is in the log under the id that its caller was told', async () => {
  const { store } = gateway.server.gateway.responses
  const { head } = store
  store.head = async () => {
    throw new Error('the reason within')
  }
  try {
    const headers = { authorization: `Bearer ${gateway.key}` }
    const answer = await fetch(`${gateway.url}/v1/responses/resp_x`, { headers })
    expect(answer.status).toBe(500)
    const id = answer.headers.get('x-request-id') ?? 'none'
    expect(gateway.logLines.filter(line => line.includes(id)).join()).toContain('the reason within')
  } finally {
    store.head = head
  }
})

const failing = (error: Error) => () => Promise.reject(error)

test.each([
  [
    'whose connection broke',
    failing(new DrizzleQueryError('select 1', [], Object.assign(new Error('no'), { code: 'EPIPE' }))),
  ],
  ['that ended the connection', failing(Object.assign(new Error('no'), { code: 'CONNECTION_ENDED' }))],
  [
    'that stops',
    failing(new DrizzleQueryError('select 1', [], Object.assign(new Error('bye'), { code: '57P01' }))),
  ],
  [
    'that takes no writes any more',
    failing(new DrizzleQueryError('insert', [], Object.assign(new Error('read only'), { code: '25006' }))),
  ],
  ['that gives no answer', () => new Promise(() => {})],
])(
  'a database %s is the same 503 to who asks for a response or goes on from one as to who pays, and to be tried again',
  async (_what, read) => {
    const { responses, clock } = gateway.server.gateway
    const { store } = responses
    const { head, conversation, items } = store
    Object.assign(store, { head: read, conversation: read, items: read })
    const after: typeof clock.after = (ms, task) => clock.after(ms === 2_000 ? 0 : ms, task)
    gateway.server.gateway.clock = { ...clock, after }
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
    const post = (more: object) =>
      fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'responses/echo', ...more }),
      })
    try {
      for (const answer of [
        await fetch(`${gateway.url}/v1/responses/resp_1`, { headers }),
        await post({ input: 'on', previous_response_id: 'resp_1' }),
        await post({ input: [{ type: 'item_reference', id: 'msg_1' }], store: true }),
      ]) {
        expect(answer.status).toBe(503)
        expect(answer.headers.get('retry-after')).not.toBeNull()
        expect(await answer.json()).toMatchObject({ error: { code: 'billing_unavailable' } })
      }
    } finally {
      Object.assign(store, { head, conversation, items })
      gateway.server.gateway.clock = clock
    }
  },
)
