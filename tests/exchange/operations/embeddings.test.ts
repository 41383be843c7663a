import { beforeEach, describe, expect, test } from 'bun:test'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { type SeenRequest, until, untilAborted } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'

/** What the upstreams of the models `scripted/*` answer; a function of what they are asked where that matters. */
let answer: object | ((asked: SeenRequest) => Response | Promise<Response>) = {}
const upstream = fileUpstream(asked => (typeof answer === 'function' ? answer(asked) : Response.json(answer)))

/** How far the gateway's clock is ahead of the machine's. */
let aheadMs = 0
const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + aheadMs }
const gateway = await fileGateway({ models: '', clock })
await gateway.apply(`
channels:
  - { name: scripted-openai, format: openai-responses, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
  - { name: scripted-gemini, format: gemini-generate-content, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
models:
  - { id: "scripted/openai", channels: [{ channel: scripted-openai, model: "up" }], prices: { input: 0.13 } }
  - { id: "scripted/gemini", channels: [{ channel: scripted-gemini, model: "up" }], prices: { input: 0.15 } }
  - { id: "scripted/both", channels: [{ channel: scripted-gemini, model: "up" }, { channel: scripted-openai, model: "up" }], prices: { input: 1 } }
  - { id: "scripted/gemini-first", channels: [{ channel: scripted-gemini, model: "up" }, { channel: scripted-openai, model: "up", priority: 1 }], prices: { input: 1 } }
  - { id: "scripted/output-only", channels: [{ channel: scripted-openai, model: "up" }], prices: { output: 1 } }
  - { id: "scripted/chat-only", surfaces: [chat], channels: [{ channel: scripted-openai, model: "up" }], prices: { input: 1 } }
`)

const openai = new OpenAI({
  apiKey: gateway.key,
  baseURL: new URL('/v1', gateway.url).href,
  maxRetries: 0,
})
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } })

/** JSON of a test's own making, to look anywhere into. */
const jsonOf = async (response: Response) => JSON.parse(await response.text())

const post = (path: string, body: string | object, headers: Record<string, string> = {}) =>
  gateway.post(path, body, { headers })

beforeEach(() => {
  upstream.seen.length = 0
})

describe.each(['chat', 'responses', 'gemini'] as const)('the official clients on a %s channel', surface => {
  const model = `${surface}/echo`

  test("OpenAI's, which asks for base64 by itself, gets numbers in the order of its inputs", async () => {
    const [both, second] = await Promise.all([
      openai.embeddings.create({ model, input: ['one', 'two'], dimensions: 8 }),
      openai.embeddings.create({ model, input: 'two', dimensions: 8 }),
    ])
    expect(both.data.map(({ index }) => index)).toEqual([0, 1])
    expect(both.data.map(({ embedding }) => embedding.length)).toEqual([8, 8])
    expect(Math.hypot(...(both.data[0]?.embedding ?? []))).toBeCloseTo(1, 4)
    expect(both.data[1]?.embedding).toEqual(second.data[0]?.embedding ?? [])
    expect(both.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 })
  })

  test("base64 and numbers are the same vector, and Google's client gets it too", async () => {
    const numbers = await openai.embeddings.create({
      model,
      input: 'same',
      dimensions: 16,
      encoding_format: 'float',
    })
    const base64 = await openai.embeddings.create({ model, input: 'same', dimensions: 16 })
    const googles = await google.models.embedContent({
      model,
      contents: ['same'],
      config: { outputDimensionality: 16 },
    })
    const vector = numbers.data[0]?.embedding ?? []
    expect(vector.length).toBe(16)
    expect(base64.data[0]?.embedding.map(value => value.toFixed(6))).toEqual(
      vector.map(value => value.toFixed(6)),
    )
    expect(googles.embeddings?.map(({ values }) => values)).toEqual([vector])
  })

  test("Google's client gets a batch in order", async () => {
    const batch = await google.models.embedContent({
      model,
      contents: ['one', 'two', 'three'],
      config: { outputDimensionality: 4 },
    })
    const one = await google.models.embedContent({
      model,
      contents: 'three',
      config: { outputDimensionality: 4 },
    })
    expect(batch.embeddings?.map(({ values }) => values?.length)).toEqual([4, 4, 4])
    expect(batch.embeddings?.[2]).toEqual(one.embeddings?.[0] ?? {})
  })
})

describe('in the same format', () => {
  test("OpenAI's bytes go up with nothing changed but the model, and come back as they are", async () => {
    answer = { data: [{ index: 0, embedding: [1.0] }], usage: { prompt_tokens: 7 }, extra: 'kept' }
    const response = await post(
      '/v1/embeddings',
      '{ "input": "x\\u00e9",\n "tomorrow": 1.0, "model" : "scripted/openai" }',
    )
    expect(upstream.seen[0]?.path).toBe('/v1/embeddings')
    expect(new TextDecoder().decode(upstream.seen[0]?.body)).toBe(
      '{ "input": "x\\u00e9",\n "tomorrow": 1.0, "model" : "up" }',
    )
    expect(await response.text()).toBe(JSON.stringify(answer))
  })

  test('numbers are base64 where that was asked for, and else as they came', async () => {
    const data = (...embeddings: unknown[]) => embeddings.map((embedding, index) => ({ index, embedding }))
    answer = { data: data([1.0, -2.5], 'AACAPw=='), usage: { prompt_tokens: 7 }, extra: 1.5 }
    const body = { model: 'scripted/openai', input: ['a', 'b'] }
    const told = await jsonOf(await post('/v1/embeddings', { ...body, encoding_format: 'base64' }))
    expect(told).toEqual({ ...answer, data: data('AACAPwAAIMA=', 'AACAPw==') })
    for (const encoding_format of ['float', undefined]) {
      const response = await post('/v1/embeddings', { ...body, encoding_format })
      expect(await response.text()).toBe(JSON.stringify(answer))
    }
  })

  test("Gemini's model is renamed wherever it stands, and nothing else", async () => {
    answer = { embeddings: [{ values: [1] }, { values: [2] }] }
    const response = await post(
      '/v1beta/models/scripted/gemini:batchEmbedContents',
      '{"requests":[ {"model":"models/scripted/gemini","content":{"parts":[{"text":"a"}]},"task_type":"X"},{"content":{"parts":[{"text":"b"}]}}]}',
    )
    expect(upstream.seen[0]?.path).toBe('/v1beta/models/up:batchEmbedContents')
    expect(new TextDecoder().decode(upstream.seen[0]?.body)).toBe(
      '{"requests":[ {"model":"models/up","content":{"parts":[{"text":"a"}]},"task_type":"X"},{"content":{"parts":[{"text":"b"}]}}]}',
    )
    expect(await jsonOf(response)).toEqual(answer)
  })
})

describe('between the formats', () => {
  test('floats come out of base64 as little-endian 32-bit numbers', async () => {
    answer = { embedding: { values: [1, -2.5, 0.1] } }
    const response = await post('/v1/embeddings', {
      model: 'scripted/gemini',
      input: 'x',
      encoding_format: 'base64',
    })
    const body = await jsonOf(response)
    const bytes = Buffer.from(body.data[0].embedding, 'base64')
    expect(bytes.length).toBe(12)
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.readFloatLE(8)]).toEqual([
      1,
      -2.5,
      Math.fround(0.1),
    ])
    expect(body).toMatchObject({ object: 'list', model: 'scripted/gemini', data: [{ index: 0 }] })
  })

  test('an upstream that answers in another order is put right, base64 or not', async () => {
    const base64 = Buffer.from(new Float32Array([0.5, 2]).buffer).toString('base64')
    answer = {
      data: [
        { index: 1, embedding: base64 },
        { index: 0, embedding: [3, 4] },
      ],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }
    const response = await post('/v1beta/models/scripted/openai:batchEmbedContents', {
      requests: [{ content: { parts: [{ text: 'a' }] } }, { content: { parts: [{ text: 'b' }] } }],
    })
    expect(await jsonOf(response)).toEqual({
      embeddings: [{ values: [3, 4] }, { values: [0.5, 2] }],
      usageMetadata: { promptTokenCount: 3 },
    })
    expect(JSON.parse(new TextDecoder().decode(upstream.seen[0]?.body))).toEqual({
      model: 'up',
      input: ['a', 'b'],
      encoding_format: 'float',
    })
  })

  test('what the other format cannot say is named, and refused in strict mode', async () => {
    answer = { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } }
    const body = { content: { parts: [{ text: 'a' }] }, task_type: 'RETRIEVAL_QUERY', title: 't' }
    const path = '/v1beta/models/scripted/openai:embedContent'
    const response = await post(path, body)
    expect(response.headers.get('x-tollgate-losses')).toBe('task_type, title')
    expect(await jsonOf(response)).toEqual({
      embedding: { values: [1] },
      usageMetadata: { promptTokenCount: 1 },
    })
    const strict = await post(path, body, { 'x-tollgate-strict': 'true' })
    expect(strict.status).toBe(400)
    expect((await jsonOf(strict)).error.details[0].reason).toBe('unsupported_parameter')
    const batch = { requests: [{ content: { parts: [{ text: 'a', future: 1 }], other: 2 } }], novelty: 3 }
    const named = await post('/v1beta/models/scripted/openai:batchEmbedContents', batch)
    expect(named.headers.get('x-tollgate-losses')).toBe('content.other, content.parts.future, novelty')
    answer = { embedding: { values: [1] } }
    const user = await post('/v1/embeddings', { model: 'scripted/gemini', input: 'x', user: 'u' })
    expect(user.headers.get('x-tollgate-losses')).toBe('user')
  })

  test.each([
    ['tokens', { input: [1, 2] }, 'unsupported_parameter', 'input'],
    ['lists of tokens', { input: ['a', [1, 2]] }, 'unsupported_parameter', 'input[1]'],
    [
      'tokens behind what one call takes',
      { input: [...Array(100).fill('a'), [1]] },
      'unsupported_parameter',
      'input[100]',
    ],
    ['2,049 texts', { input: Array(2049).fill('a') }, 'invalid_request', 'input'],
    ['no input', {}, 'invalid_request', 'input'],
    ['an empty input', { input: [] }, 'invalid_request', 'input'],
    ['tokens and texts in one', { input: [1, 'a'] }, 'invalid_request', 'input[0]'],
    ['another kind of input', { input: [{ text: 'a' }] }, 'invalid_request', 'input[0]'],
    ['wrong dimensions', { input: 'a', dimensions: 0.5 }, 'invalid_request', 'dimensions'],
    ['an unknown encoding', { input: 'a', encoding_format: 'int8' }, 'invalid_request', 'encoding_format'],
  ])('%s: a 400 that names the field, and no call', async (_, body, code, param) => {
    const response = await post('/v1/embeddings', { model: 'scripted/gemini', ...body })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({ code, param })
    expect(upstream.seen).toEqual([])
  })

  test.each([{}, { input: 5 }, { input: [] }, { input: { text: 'a' } }])(
    '%j: a 400 of ours where the upstream takes the own words of a caller, too',
    async body => {
      const response = await post('/v1/embeddings', { model: 'scripted/openai', ...body })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', param: 'input' } })
      expect(upstream.seen).toHaveLength(0)
    },
  )

  test('tokens go to the channel that can read them', async () => {
    answer = { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 2 } }
    const response = await post('/v1/embeddings', { model: 'scripted/both', input: [5, 6] })
    expect(response.status).toBe(200)
    expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/embeddings'])
  })

  test('a length of the vectors is asked for, wherever Gemini has it, and one for all of a batch', async () => {
    answer = { data: [{ index: 0, embedding: [1] }] }
    const content = { parts: [{ text: 'a' }] }
    await post('/v1beta/models/scripted/openai:embedContent', {
      content,
      embedContentConfig: { outputDimensionality: 8 },
    })
    expect(JSON.parse(new TextDecoder().decode(upstream.seen[0]?.body))).toMatchObject({ dimensions: 8 })
    const requests = [8, 8, 4].map(outputDimensionality => ({ content, outputDimensionality }))
    const refused = await post('/v1beta/models/scripted/openai:batchEmbedContents', { requests })
    expect(refused.status).toBe(400)
    expect((await jsonOf(refused)).error.message).toContain("'requests[2].outputDimensionality'")
    expect(upstream.seen).toHaveLength(1)
  })

  test.each([
    ['too few vectors', { embeddings: [{ values: [1] }] }],
    ['vectors that hold something else', { embeddings: [{ values: [1] }, { values: ['1'] }] }],
  ])('%s are no answer', async (_, said) => {
    answer = said
    const response = await post('/v1/embeddings', { model: 'scripted/gemini', input: ['a', 'b'] })
    expect(response.status).toBe(502)
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })
})

describe('more texts than Gemini takes in one call', () => {
  const input = Array.from({ length: 250 }, (_, index) => `${index}`)
  const request = { model: 'scripted/gemini', input }
  const textsIn = ({ body }: SeenRequest): string[] =>
    JSON.parse(new TextDecoder().decode(body)).requests.map(
      (one: { content: { parts: [{ text: string }] } }) => one.content.parts[0].text,
    )
  /** Each text is a number, and its vector that number. */
  const vectorsOf = (texts: string[], promptTokenCount?: number) =>
    Response.json({
      embeddings: texts.map(text => ({ values: [Number(text)] })),
      ...(promptTokenCount !== undefined && { usageMetadata: { promptTokenCount } }),
    })
  /** The last exchange once nothing is set aside any more, which may be behind its answer. */
  const settled = async () => {
    await until(async () => (await gateway.database.sql`select * from hold`).length === 0)
    return await gateway.lastExchange()
  }

  test('take as many calls as there are hundreds of them, one after another, and are charged once', async () => {
    let open = 0
    answer = async asked => {
      open += 1
      expect(open).toBe(1)
      await new Promise(resolve => setImmediate(resolve))
      open -= 1
      return vectorsOf(textsIn(asked), 1000)
    }
    const response = await post('/v1/embeddings', request)
    const { data, usage } = await jsonOf(response)
    expect(data).toEqual(
      input.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text)] })),
    )
    expect(usage).toEqual({ prompt_tokens: 3000, total_tokens: 3000 })
    expect(upstream.seen.map(textsIn)).toEqual([input.slice(0, 100), input.slice(100, 200), input.slice(200)])
    // 3,000 * 0.15 per million.
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000450000')
    expect(await settled()).toMatchObject({ attempts: 1, usage_source: 'reported' })
    const entries = await gateway.database
      .sql`select amount from entry where id = ${response.headers.get('x-request-id')}`
    expect(entries.map(({ amount }) => amount)).toEqual([-450_000n])
  })

  test('have the first byte of their first call', async () => {
    answer = asked => {
      if (textsIn(asked)[0] !== '0') aheadMs += 30_000
      return vectorsOf(textsIn(asked))
    }
    await post('/v1/embeddings', request)
    const { first_byte_ms, total_ms } = (await settled()) ?? {}
    expect(Number(total_ms)).toBeGreaterThanOrEqual(60_000)
    expect(Number(first_byte_ms)).toBeLessThan(30_000)
  })

  test('are charged by an estimate of them all where one call tells no usage', async () => {
    answer = asked => vectorsOf(textsIn(asked), Number(textsIn(asked)[0]) === 100 ? undefined : 1000)
    await post('/v1/embeddings', { ...request, input: input.map(text => text.padStart(400, '0')) })
    expect(await settled()).toMatchObject({ input_uncached: 25_000n, usage_source: 'estimated' })
  })

  test.each([
    ['fails', () => new Response('{}', { status: 503 })],
    ['has a vector too few', () => vectorsOf(input.slice(101, 200))],
  ])('fail together where a later call %s, and nothing is charged', async (_, failing) => {
    answer = asked => (textsIn(asked)[0] === '100' ? failing() : vectorsOf(textsIn(asked)))
    const response = await post('/v1/embeddings', request)
    expect(response.status).toBeGreaterThanOrEqual(502)
    expect(upstream.seen).toHaveLength(2)
    expect(await settled()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test('move to the next channel as a whole where a later call fails', async () => {
    answer = asked => {
      if (asked.path === '/v1/embeddings')
        return Response.json({
          data: input.map((_, index) => ({ index, embedding: [7] })),
          usage: { prompt_tokens: 9 },
        })
      return textsIn(asked)[0] === '100'
        ? new Response('{}', { status: 503 })
        : vectorsOf(textsIn(asked), 1000)
    }
    const response = await post('/v1/embeddings', { model: 'scripted/gemini-first', input })
    expect((await jsonOf(response)).data).toHaveLength(250)
    expect(upstream.seen.map(({ path }) => path.replace(/.*:/, ''))).toEqual([
      'batchEmbedContents',
      'batchEmbedContents',
      '/v1/embeddings',
    ])
    expect(await settled()).toMatchObject({ attempts: 2, input_uncached: 9n })
  })

  test('are left in the middle of a later call when their caller leaves, and nothing is charged', async () => {
    answer = asked =>
      textsIn(asked)[0] === '100' ? new Promise<Response>(() => {}) : vectorsOf(textsIn(asked), 1000)
    const abort = new AbortController()
    const running = fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: abort.signal,
    }).catch(() => undefined)
    await until(() => upstream.seen.length === 2)
    await untilAborted(upstream, abort)
    await running
    await until(async () => (await settled())?.['end_state'] === 'client_gone')
    expect(await settled()).toMatchObject({ cost_nano: null })
    expect(upstream.seen).toHaveLength(2)
  })
})

test.each([
  ['/v1/embeddings', { model: 'scripted/openai', input: 'x' }],
  ['/v1beta/models/scripted/gemini:embedContent', { content: { parts: [{ text: 'x' }] } }],
  [
    '/v1beta/models/scripted/gemini:batchEmbedContents',
    { requests: [{ model: 'models/scripted/gemini', content: { parts: [{ text: 'x' }] } }] },
  ],
])(
  '%s: what holds no vectors is no answer where bytes are handed on, either, and free',
  async (path, body) => {
    answer = { detail: 'out of memory' }
    const response = await post(path, body)
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('out of memory')])
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
    answer = { data: [], embeddings: [] }
    const empty = await post(path, body)
    expect([empty.status, await empty.text()]).toEqual([502, expect.stringContaining('one vector for each')])
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  },
)

describe('money', () => {
  test('input tokens are charged to the nano, as reported', async () => {
    answer = { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 7, total_tokens: 7 } }
    const response = await post('/v1/embeddings', { model: 'scripted/openai', input: 'x' })
    // 7 * 0.13 per million = 910 nano.
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000000910')
    expect(await gateway.lastExchange()).toMatchObject({
      surface: 'embeddings',
      model: 'scripted/openai',
      input_uncached: 7n,
      output_text: 0n,
      cost_nano: 910n,
      cost_pico: '910000',
      usage_source: 'reported',
      end_state: 'complete',
    })
    const [entry] = await gateway.database
      .sql`select amount from entry where kind = 'usage' order by seq desc`
    expect(entry?.['amount']).toBe(-910n)
    expect((await gateway.database.sql`select * from hold`).length).toBe(0)
  })

  test('what Gemini does not report is estimated, and said to be', async () => {
    answer = { embedding: { values: [1] } }
    const response = await post('/v1/embeddings', { model: 'scripted/gemini', input: 'x'.repeat(400) })
    expect((await jsonOf(response)).usage).toEqual({ prompt_tokens: 100, total_tokens: 100 })
    expect(await gateway.lastExchange()).toMatchObject({
      input_uncached: 100n,
      cost_nano: 15_000n,
      usage_source: 'estimated',
    })
  })

  test.each([-7, 1e15, 1e300])('a count that cannot be (%d) is estimated, too', async count => {
    answer = { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: count, total_tokens: count } }
    const response = await post('/v1/embeddings', { model: 'scripted/openai', input: 'x'.repeat(400) })
    expect(response.status).toBe(200)
    expect(await gateway.lastExchange()).toMatchObject({ input_uncached: 100n, usage_source: 'estimated' })
    expect((await gateway.database.sql`select * from hold`).length).toBe(0)
  })

  test('a model without a price for input is refused', async () => {
    const response = await post('/v1/embeddings', { model: 'scripted/output-only', input: 'x' })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({
      code: 'surface_not_supported',
      message: expect.stringContaining('it has no price for embeddings'),
    })
    expect(upstream.seen).toEqual([])
  })
})

describe('surfaces', () => {
  test.each([
    ['an upstream without embeddings', 'messages/echo'],
    ['a model that is not offered here', 'scripted/chat-only'],
  ])('%s: surface_not_supported', async (_, model) => {
    const response = await post('/v1/embeddings', { model, input: 'x' })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error.code).toBe('surface_not_supported')
  })

  test('without a key nothing is reached', async () => {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      body: '{"model":"scripted/openai","input":"x"}',
    })
    expect(response.status).toBe(401)
    expect((await jsonOf(response)).error.code).toBe('missing_api_key')
    expect(upstream.seen).toEqual([])
  })
})
