import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { rejectionOf } from '#tests/sdk/rejection.ts'
import { UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream } from '#tests/support/upstreams/upstream.ts'
import { formatEvent } from '@/sse/event.ts'

const { gateway, upstream } = await scriptedGateway()
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
beforeEach(() => {
  upstream.answer = simulated
  upstream.seen.length = 0
})

const TALK: ResponseInputItem[] = [
  { role: 'user', content: 'we build a bridge' },
  { role: 'assistant', content: 'of stone or of wood?' },
  { role: 'user', content: 'of stone' },
]

describe.each(UPSTREAMS)('over %s', format => {
  const model = `${format}/echo`

  test('a conversation becomes what the user said and a summary, which is read when it comes back', async () => {
    const compacted = await openai.responses.compact({ model, input: TALK })
    expect(compacted).toMatchObject({ object: 'response.compaction' })
    expect(compacted.usage.total_tokens).toBeGreaterThan(0)
    expect(compacted.output.map(item => item.type)).toEqual(['message', 'message', 'compaction'])
    expect(JSON.stringify(compacted.output)).toContain('we build a bridge')
    expect(JSON.stringify(compacted.output)).not.toContain('of wood')
    expect(upstream.lastBody()).toContain('of stone or of wood?')

    // The echo repeats the task, so that is what the summary says.
    await openai.responses.create({
      model,
      input: [...compacted.output, { role: 'user', content: 'and now?' }] as never,
    })
    expect(upstream.lastBody()).toContain('The conversation before this was summarised')
    expect(upstream.lastBody()).toContain('Summarise the conversation above')
    expect(upstream.lastBody()).not.toContain('tollgate.c1.')
  })

  test('a stored conversation is compacted by its id, and gone on with by the item', async () => {
    const first = await openai.responses.create({ model, input: 'remember the bridge', store: true })
    const compacted = await openai.responses.compact({ model, previous_response_id: first.id })
    expect(upstream.lastBody()).toContain('remember the bridge')
    const second = await openai.responses.create({ model, input: compacted.output as never, store: true })
    await openai.responses.create({ model, input: 'more', previous_response_id: second.id })
    expect(upstream.lastBody()).toContain('The conversation before this was summarised')
    const count = await openai.responses.inputTokens.count({ model, input: compacted.output as never })
    expect(count.input_tokens).toBeGreaterThan(20)
  })
})

/** As Codex does where it takes the gateway for OpenAI: the conversation, and a last item that asks for another one. */
const TRIGGERED = [...TALK, { type: 'compaction_trigger' }] as ResponseInputItem[]

describe.each(UPSTREAMS)('a compaction item over %s', format => {
  const model = `${format}/echo`

  test('is all that a whole answer has, and is read when it comes back', async () => {
    const { data, response } = await openai.responses.create({ model, input: TRIGGERED }).withResponse()
    expect(data.status).toBe('completed')
    expect(data.output.map(item => item.type)).toEqual(['compaction'])
    expect(response.headers.get('x-tollgate-losses')).toBeNull()
    expect(upstream.lastBody()).toContain('Summarise the conversation above')
    await openai.responses.create({
      model,
      input: [...data.output, { role: 'user', content: 'and now?' }] as never,
    })
    expect(upstream.lastBody()).toContain('The conversation before this was summarised')
  })

  test('is all that a stream has, in events without a gap', async () => {
    const events = await Array.fromAsync(
      await openai.responses.create({ model, input: TRIGGERED, stream: true }),
    )
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.map(event => event.sequence_number)).toEqual([0, 1, 2, 3, 4])
    const [end] = events.slice(-1)
    const item = events.find(({ type }) => type === 'response.output_item.done')
    expect(item).toMatchObject({ output_index: 0, item: { type: 'compaction' } })
    expect(end).toMatchObject({ response: { output: [(item as { item: unknown }).item] } })
    expect(JSON.stringify(events)).not.toContain('of wood')
  })

  test('is kept with its response, also of one that runs in the background', async () => {
    const { id } = await openai.responses.create({ model, input: TRIGGERED, background: true })
    let kept = await openai.responses.retrieve(id)
    while (kept.status === 'queued' || kept.status === 'in_progress')
      kept = await openai.responses.retrieve(id)
    expect(kept.output.map(item => item.type)).toEqual(['compaction'])
  })

  test('is not made of a summary that was cut short', async () => {
    const short = await openai.responses.create({ model, input: TRIGGERED, max_output_tokens: 3 })
    expect(short).toMatchObject({ status: 'incomplete', output: [] })
  })
})

test('no compaction item is made of an answer that says nothing', async () => {
  const choice = { index: 0, message: { role: 'assistant', content: ' ' }, finish_reason: 'stop' }
  upstream.answer = () =>
    Response.json({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [choice] })
  const none = await openai.responses.create({ model: 'chat/echo', input: TRIGGERED })
  expect(none).toMatchObject({ status: 'failed', error: { code: 'server_error' }, output: [] })
})

describe('OpenAI, which is handed the item that asks for a compaction', () => {
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'opaque to us' }
  const thought = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'opaque too' }
  const content = [{ type: 'output_text', text: 'Of oak, I would say.', annotations: [], logprobs: [] }]
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }
  const response = {
    id: 'resp_up',
    object: 'response',
    created_at: 1,
    model: 'echo',
    previous_response_id: null,
    store: false,
    background: false,
    usage: null,
  }
  const wholeOf = (output: object[]) => ({ ...response, status: 'completed', output })
  const answers: [string, object[]][] = [
    ['an item', [item]],
    ['an item behind a thought', [thought, item]],
    ['a message and no item', [message]],
  ]

  /** A stream that says these items, or leaves them to its end. */
  function streamOf(output: object[], isBrief: boolean): string {
    const items = output.flatMap((said, output_index) =>
      ['added', 'done'].map(what => ({ type: `response.output_item.${what}`, output_index, item: said })),
    )
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      ...(isBrief ? [] : items),
      { type: 'response.completed', response: wholeOf(output) },
    ]
    return events
      .map((event, sequence_number) => formatEvent(event.type, JSON.stringify({ ...event, sequence_number })))
      .join('')
  }

  const { client } = gateway.server.gateway
  beforeAll(async () => {
    const address = (host: string) => `base_url: "https://${host}", api_keys: ["k"], allow_private: true`
    await gateway.apply(`channels:
  - { name: openai, format: openai-responses, ${address('api.openai.com')} }
  - { name: other, format: openai-responses, ${address('other.example')} }
models:
  - { id: openai/echo, channels: [{ channel: openai, model: echo }], prices: { input: 1, output: 2 } }
  - { id: openai-first/echo, channels: [{ channel: openai, model: echo, priority: 0 }, { channel: other, model: other, priority: 1 }], prices: { input: 1, output: 2 } }
  - { id: openai-last/echo, channels: [{ channel: other, model: other, priority: 0 }, { channel: openai, model: echo, priority: 1 }], prices: { input: 1, output: 2 } }`)
    // The vendor is told by its address, and the upstream is here.
    gateway.server.gateway.client = (pass, request) =>
      client(pass, { ...request, channel: { ...request.channel, baseUrl: upstream.url } })
  })
  afterAll(() => {
    gateway.server.gateway.client = client
  })

  const ask = (model: string, stream: boolean, input = TRIGGERED) =>
    gateway.post('/v1/responses', { model, input, stream })

  test.each(answers)("answers %s, which is the caller's to the byte", async (_, output) => {
    const text = JSON.stringify(wholeOf(output))
    upstream.answer = () => new Response(text, { headers: { 'content-type': 'application/json' } })
    expect(await (await ask('openai/echo', false)).text()).toBe(text)
    expect(JSON.parse(upstream.lastBody()).input).toEqual(TRIGGERED)
  })

  describe.each([false, true])('in a stream that says its items at its end alone: %p', isBrief => {
    test.each(answers)("answers %s, which is the caller's to the byte", async (_, output) => {
      const text = streamOf(output, isBrief)
      upstream.answer = () => eventStream(text)
      expect(await (await ask('openai/echo', true)).text()).toBe(text)
      expect(JSON.parse(upstream.lastBody()).input).toEqual(TRIGGERED)
    })
  })

  describe.each([false, true])('and another upstream, of which the first is away (streamed: %p)', stream => {
    test.each([
      ['openai-first', 'compaction'],
      ['openai-last', 'message'],
    ])('%s: the text of a summary alone becomes an item', async (order, type) => {
      const models: string[] = []
      upstream.answer = ({ body }) => {
        models.push(JSON.parse(Buffer.from(body).toString()).model)
        if (models.length === 1) return Response.json({ error: { message: 'away' } }, { status: 503 })
        return stream ? eventStream(streamOf([message], false)) : Response.json(wholeOf([message]))
      }
      // A conversation of its own: one that was answered before would be sent there first.
      const input = [{ role: 'user' as const, content: `streamed: ${stream}` }, ...TRIGGERED]
      const text = await (await ask(`${order}/echo`, stream, input)).text()
      expect(models).toEqual(order === 'openai-first' ? ['echo', 'other'] : ['other', 'echo'])
      const end = stream ? JSON.parse(text.split('data: ').at(-1) ?? '').response : JSON.parse(text)
      expect(end).toMatchObject({ status: 'completed', output: [{ type }] })
    })
  })
})

test('an upstream that compacts itself is asked to, and its answer is handed on and charged', async () => {
  const compaction = {
    id: 'resp_up',
    object: 'response.compaction',
    created_at: 1,
    output: [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'opaque to us' }],
    usage: {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 500,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 1500,
    },
  }
  upstream.answer = () => Response.json(compaction)
  const compacted = await openai.responses.compact({ model: 'responses/echo', input: TALK })
  expect(compacted).toMatchObject(compaction as never)
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/responses/compact'])
  expect(JSON.parse(upstream.lastBody())).toEqual({ model: 'echo', input: TALK as never })
  const row = await gateway.lastExchange()
  expect(row).toMatchObject({ status: 200, end_state: 'complete', usage_source: 'reported' })
  // 1 per million in, 2 per million out, in nano.
  expect(BigInt(String(row['cost_nano']))).toBe(2_000_000n)
})

describe('an upstream that goes on with the conversation in place of compacting it', () => {
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'of granite?' }] }
  const answer = {
    id: 'resp_up',
    object: 'response',
    created_at: 1,
    model: 'echo',
    status: 'completed',
    output: [said],
    usage: { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 },
  }

  test.each([
    ['whole', () => Response.json(answer)],
    [
      'as a stream',
      () =>
        eventStream(
          formatEvent(
            'response.completed',
            JSON.stringify({ type: 'response.completed', sequence_number: 0, response: answer }),
          ),
        ),
    ],
  ])('is asked for a summary, which alone is charged: %s', async (_, respond) => {
    upstream.answer = request =>
      request.path === '/v1/responses/compact' ? respond() : Response.json(answer)
    const before = (await gateway.exchanges()).length
    const compacted = await openai.responses.compact({ model: 'responses/echo', input: TALK })
    expect(compacted).toMatchObject({ object: 'response.compaction' })
    expect(compacted.output.map(item => item.type)).toEqual(['message', 'message', 'compaction'])
    expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/responses/compact', '/v1/responses'])
    expect(upstream.lastBody()).toContain('Summarise the conversation above')
    const rows = (await gateway.exchanges()).slice(before)
    // 1 per million in, 2 per million out, in nano.
    expect(rows.map(row => row['cost_nano'])).toEqual([null, 2_000_000n])
  })
})

test('a response that failed in place of a compaction is its error, and no summary is asked for', async () => {
  const error = { code: 'server_error', message: 'out of memory' }
  upstream.answer = () =>
    Response.json({ id: 'resp_up', object: 'response', status: 'failed', error, output: [] })
  expect(await rejectionOf(openai.responses.compact({ model: 'responses/echo', input: TALK }))).toMatchObject(
    {
      status: 502,
    },
  )
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/responses/compact'])
})

test('a compaction that says so by its item alone, in the older name, is handed on', async () => {
  const compaction = { output: [{ type: 'compaction_summary', encrypted_content: 'opaque to us' }] }
  upstream.answer = () => Response.json(compaction)
  const response = await gateway.post('/v1/responses/compact', { model: 'responses/echo', input: TALK })
  expect(await response.json()).toEqual(compaction)
  expect(upstream.seen).toHaveLength(1)
})

test('a summary that an upstream made itself is handed back to it, also behind a stored turn', async () => {
  const model = 'responses/echo'
  const first = await openai.responses.create({ model, input: 'remember the bridge', store: true })
  const theirs = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAAB-sealed-by-the-vendor' }
  const input = [theirs, { role: 'user', content: 'and now?' }] as ResponseInputItem[]
  await openai.responses.create({ model, input, previous_response_id: first.id })
  expect(upstream.lastBody()).toContain('gAAAAAB-sealed-by-the-vendor')
  expect(upstream.lastBody()).toContain('remember the bridge')
})

test('a summary is of use to the account alone that it was made for', async () => {
  const compacted = await openai.responses.compact({ model: 'chat/echo', input: TALK })
  const { key } = await openPayer(gateway.database)
  const stranger = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const refused = { status: 400, code: 'invalid_request', param: 'input' }
  expect(
    await rejectionOf(stranger.responses.create({ model: 'chat/echo', input: compacted.output as never })),
  ).toMatchObject(refused)
  const forged = [{ type: 'compaction', encrypted_content: 'tollgate.c1.AAAA' }]
  expect(
    await rejectionOf(openai.responses.create({ model: 'chat/echo', input: forged as never })),
  ).toMatchObject(refused)
})

test('an upstream that fails is an error, and nothing is charged', async () => {
  const before = (await gateway.exchanges()).length
  expect(await rejectionOf(openai.responses.compact({ model: 'chat/error-400', input: TALK }))).toMatchObject(
    { status: 400 },
  )
  const rows = (await gateway.exchanges()).slice(before)
  expect(rows.map(row => row['cost_nano'])).toEqual([null])
})
