import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { type RawRequest, rawUpstream } from '#tests/support/upstreams/raw-upstream.ts'
import type { SeenRequest } from '#tests/support/upstreams/upstream.ts'

/** What the upstreams of the models `scripted/*` answer. */
let answer: (request: SeenRequest) => Response = () => new Response(null, { status: 500 })
const upstream = fileUpstream(request => answer(request))

/** What the upstream of `up/raw` does. */
let answerRaw: (request: RawRequest) => void = ({ socket }) => socket.destroy()
const raw = await rawUpstream(request => answerRaw(request))
afterAll(() => raw.stop())

const gateway = await fileGateway({
  models: [
    '  - { id: "chat/gpt-image", channels: [{ channel: chat, model: "echo" }], prices: { input: 5, output: 40 } }',
    '  - { id: "responses/gpt-image", channels: [{ channel: responses, model: "echo" }], prices: { per_image: { default: 0.04 } } }',
    '  - { id: "gemini/imagen", channels: [{ channel: gemini, model: "imagen/echo" }], prices: { per_image: { default: 0.04 } } }',
    '  - { id: "gemini/picture", channels: [{ channel: gemini, model: "image" }], prices: { input: 0.3, output: 30 } }',
  ].join('\n'),
})
await gateway.apply(`
channels:
  - { name: up-openai, format: openai-responses, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
  - { name: up-second, format: openai-chat-completions, priority: 1, base_url: "${upstream.url}/second", api_keys: [k], allow_private: true }
  - { name: up-raw, format: openai-responses, base_url: "${raw.url}", api_keys: [k], allow_private: true }
  - { name: up-gemini, format: gemini-generate-content, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
models:
  - { id: "up/tokens", channels: [{ channel: up-openai, model: "gpt-image-x" }], prices: { input: 5, cached_input: 1.25, output: 40 } }
  - { id: "up/two", channels: [{ channel: up-openai, model: "one" }, { channel: up-second, model: "two" }], prices: { per_image: { default: 0.01 } } }
  - { id: "up/raw", channels: [{ channel: up-raw, model: "gpt-image-x" }], prices: { per_image: { default: 0.01 } } }
  - { id: "up/sizes", channels: [{ channel: up-openai, model: "gpt-image-x" }], prices: { per_image: { "1024x1024/low": 0.011, "1024x1024/high": 0.167, "1536x1024": 0.25, default: 0.3 } } }
  - { id: "up/dall-e-3", channels: [{ channel: up-openai, model: "dall-e-3" }], prices: { per_image: { "1024x1024": 0.04, "1792x1024": 0.08 } } }
  - { id: "up/imagen", channels: [{ channel: up-gemini, model: "imagen-4.0" }], prices: { per_image: { "16:9": 0.05, default: 0.04 } } }
  - { id: "up/gemini-image", channels: [{ channel: up-gemini, model: "gemini-2.5-flash-image" }], prices: { input: 0.3, output: 30 } }
  - { id: "up/gemini-3-image", channels: [{ channel: up-gemini, model: "gemini-3-pro-image" }], prices: { input: 2, output: 120 } }
  - { id: "up/gemini-lite-image", channels: [{ channel: up-gemini, model: "gemini-3.1-flash-lite-image" }], prices: { input: 0.3, output: 30 } }
  - { id: "up/embedding-only", channels: [{ channel: up-openai, model: "e" }], prices: { input: 1 } }
`)

const client = new OpenAI({
  apiKey: gateway.key,
  baseURL: new URL('/v1', gateway.url).href,
  maxRetries: 0,
})

beforeEach(() => {
  upstream.seen.length = 0
})

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** JSON of a test's own making, to look anywhere into. */
const jsonOf = async (response: Response) => JSON.parse(await response.text())

const textOf = (request: SeenRequest | undefined) => new TextDecoder().decode(request?.body)

const formOf = (request: SeenRequest | undefined) =>
  new Response(request?.body.slice() ?? null, { headers: request?.headers ?? {} }).formData()

const post = (path: string, body: object | FormData, headers: Record<string, string> = {}) =>
  gateway.post(path, body, { headers })

const lastCharge = async () => {
  await gateway.exchanges()
  const [entry] = await gateway.database.sql`select amount from entry where kind = 'usage' order by seq desc`
  return entry?.['amount']
}

const pngFile = () => toFile(Buffer.from(PIXEL, 'base64'), 'in.png', { type: 'image/png' })

describe.each(['chat/gpt-image', 'responses/gpt-image', 'gemini/imagen', 'gemini/picture'])(
  "OpenAI's client on %s",
  model => {
    test('gets an image whole', async () => {
      const made = await client.images.generate({ model, prompt: 'a toll gate', size: '1024x1024' })
      expect(made.data?.map(({ b64_json }) => b64_json)).toEqual([PIXEL])
      expect(made.created).toBeGreaterThan(0)
      expect(await gateway.lastExchange()).toMatchObject({
        surface: 'images',
        end_state: 'complete',
        streamed: false,
      })
    })

    test('gets it as a stream', async () => {
      const stream = await client.images.generate({
        model,
        prompt: 'a toll gate',
        stream: true,
        partial_images: 2,
      })
      const events: { type: string; b64_json: string }[] = []
      for await (const event of stream) events.push(event)
      expect(events.at(-1)).toMatchObject({ type: 'image_generation.completed', b64_json: PIXEL })
      expect(events.length).toBe(model.startsWith('gemini') ? 1 : 3)
      expect(await gateway.lastExchange()).toMatchObject({ end_state: 'complete', streamed: true })
    })
  },
)

test.each(['chat/gpt-image', 'gemini/picture'])("OpenAI's client edits an image on %s", async model => {
  const made = await client.images.edit({
    model,
    prompt: 'brighter',
    image: [await pngFile(), await pngFile()],
  })
  expect(made.data?.[0]?.b64_json).toBe(PIXEL)
})

test("OpenAI's client varies an image, and asks for two", async () => {
  const made = await client.images.createVariation({ model: 'chat/gpt-image', image: await pngFile(), n: 2 })
  expect(made.data?.length).toBe(2)
})

describe('in the same format', () => {
  test('a generation goes up and comes back byte for byte, but for the model', async () => {
    answer = () => Response.json({ created: 1, data: [{ b64_json: 'AA==' }], extra: 1.5 })
    const response = await gateway.post(
      '/v1/images/generations',
      '{ "prompt":"x", "model":"up/sizes","future": 1.0 }',
    )
    expect(upstream.seen[0]?.path).toBe('/v1/images/generations')
    expect(textOf(upstream.seen[0])).toBe('{ "prompt":"x", "model":"gpt-image-x","future": 1.0 }')
    expect(await response.text()).toBe('{"created":1,"data":[{"b64_json":"AA=="}],"extra":1.5}')
  })

  test('a form goes up with its files, mask and fields; the model is renamed', async () => {
    answer = () => Response.json({ created: 1, data: [{ b64_json: 'AA==' }] })
    const form = new FormData()
    form.append('image[]', new File([new Uint8Array([1, 2, 3])], 'a.png', { type: 'image/png' }))
    form.append('image[]', new File([new Uint8Array(300_000).fill(7)], 'b.webp', { type: 'image/webp' }))
    form.append('mask', new File([new Uint8Array([9])], 'm.png', { type: 'image/png' }))
    form.append('prompt', 'Grün')
    form.append('model', 'up/tokens')
    form.append('input_fidelity', 'high')
    const response = await post('/v1/images/edits', form)
    expect(response.status).toBe(200)
    const [seen] = upstream.seen
    expect(seen?.path).toBe('/v1/images/edits')
    expect(Number(seen?.headers.get('content-length'))).toBe(seen?.body.length ?? 0)
    const sent = await formOf(seen)
    expect([...sent.keys()]).toEqual(['image[]', 'image[]', 'mask', 'prompt', 'model', 'input_fidelity'])
    expect(sent.get('model')).toBe('gpt-image-x')
    expect(sent.get('prompt')).toBe('Grün')
    const [one, two] = sent.getAll('image[]')
    expect(one instanceof File && [one.name, one.type, one.size]).toEqual(['a.png', 'image/png', 3])
    expect(two instanceof File && [two.name, two.type, two.size]).toEqual(['b.webp', 'image/webp', 300_000])
  })

  test.each([
    ['n', ['1', '10']],
    ['size', ['1024x1024', '1536x1024']],
    ['quality', ['low', 'high']],
    ['prompt', ['x', 'y']],
    ['output_format', ['svg', 'png']],
    ['svg[model]', ['up/two', 'up/tokens']],
    ['stream', ['false', 'true']],
    ['stream', ['1']],
  ])('a form is refused whose %s may be read as another one than is paid for: %j', async (name, values) => {
    const form = new FormData()
    form.append('model', 'up/sizes')
    form.append('image', await pngFile())
    for (const value of values) form.append(name, value)
    const response = await post('/v1/images/edits', form)
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({ code: 'invalid_request', param: name })
    expect(upstream.seen).toEqual([])
  })

  test('what a form may say more than once goes up as often', async () => {
    answer = () => Response.json({ created: 1, data: [{ b64_json: 'AA==' }] })
    const form = new FormData()
    form.append('model', 'up/sizes')
    form.append('image', await pngFile())
    for (const value of ['a', 'b']) form.append('future', value)
    form.append('stream', 'False')
    expect((await post('/v1/images/edits', form)).status).toBe(200)
    expect((await formOf(upstream.seen[0])).getAll('future')).toEqual(['a', 'b'])
  })

  test.each([{ size: 1024 }, { quality: ['low'] }, { output_format: {} }, { stream: 'yes' }, { stream: 1 }])(
    'a body is refused whose price or way of answering nobody can tell: %j',
    async fields => {
      const response = await post('/v1/images/generations', { model: 'up/sizes', prompt: 'x', ...fields })
      expect(response.status).toBe(400)
      expect((await jsonOf(response)).error).toMatchObject({
        code: 'invalid_request',
        param: Object.keys(fields)[0],
      })
      expect(upstream.seen).toEqual([])
    },
  )

  test('another channel gets the same form when the first fails', async () => {
    answer = ({ path }) =>
      path.startsWith('/second')
        ? Response.json({ created: 1, data: [{ b64_json: 'AA==' }] })
        : new Response('{}', { status: 500 })
    const form = new FormData()
    form.append('image', new File([new Uint8Array(200_000).fill(5)], 'a.png', { type: 'image/png' }))
    form.append('prompt', 'x')
    form.append('model', 'up/two')
    expect((await post('/v1/images/edits', form)).status).toBe(200)
    const forms = await Promise.all(upstream.seen.map(formOf))
    expect(forms.map(sent => sent.get('model'))).toEqual(['one', 'two'])
    expect(forms.map(sent => (sent.get('image') as File).size)).toEqual([200_000, 200_000])
  })

  test('an upstream that answers whole when a stream was asked for is told as events', async () => {
    answer = () =>
      Response.json({
        created: 1,
        data: [{ b64_json: 'AA==' }],
        usage: { input_tokens: 1, output_tokens: 2 },
      })
    const response = await post('/v1/images/generations', { model: 'up/tokens', prompt: 'x', stream: true })
    const text = await response.text()
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(text).toStartWith('event: image_generation.completed\ndata: {"type":"image_generation.completed"')
    expect(await gateway.lastExchange()).toMatchObject({ input_uncached: 1n, output_text: 2n })
  })

  test.each([
    ['breaks off', 'upstream_cut', /^data: {"error":/],
    ['ends', 'complete', /^$/],
  ])('a stream of two images that %s behind the first is charged for one', async (how, ended, rest) => {
    const event = 'data: {"type":"image_generation.completed","b64_json":"AA=="}\n\n'
    const read = Promise.withResolvers<void>()
    answerRaw = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
      socket.write(`${event.length.toString(16)}\r\n${event}\r\n`)
      void read.promise.then(() => (how === 'ends' ? socket.end('0\r\n\r\n') : socket.destroy()))
    }
    const body = { model: 'up/raw', prompt: 'x', n: 2, stream: true }
    const response = await post('/v1/images/generations', body)
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      read.resolve()
    }
    expect(text).toStartWith(event)
    expect(text.slice(event.length)).toMatch(rest)
    expect(await gateway.lastExchange()).toMatchObject({ end_state: ended })
    expect(await lastCharge()).toBe(-10_000_000n)
  })

  test.each([
    ['where tokens are priced', 'up/tokens', { input_uncached: 150n, output_text: 220n, reasoning: 80n }],
    ['where images are', 'up/sizes', { input_uncached: 150n, output_text: 20n, reasoning: 80n }],
  ])('who writes an SVG is charged beside what was drawn, %s', async (_where, model, used) => {
    answer = () =>
      Response.json({
        created: 1,
        data: [{ b64_json: 'PHN2Zy8+' }],
        output_format: 'svg',
        usage: { input_tokens: 50, output_tokens: 200 },
        svg_usage: {
          model: 'gpt-6',
          input_tokens: 100,
          output_tokens: 100,
          reasoning_tokens: 80,
          total_tokens: 200,
        },
      })
    await client.images.generate({ model, prompt: 'x', output_format: 'svg' })
    expect(await gateway.lastExchange()).toMatchObject(used)
  })

  test.each([
    ['breaks off', '{"created":1,"data":[{"b64_json":"AA'],
    ['is no answer', '{"created":1,"data":[]}'],
  ])('a whole answer that %s where a stream was asked for is an error, and free', async (_what, body) => {
    answer = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    const response = await post('/v1/images/generations', { model: 'up/tokens', prompt: 'x', stream: true })
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'upstream_error' } })
    expect(await gateway.lastExchange()).toMatchObject({
      status: 502,
      cost_nano: null,
      usage_source: 'missing',
    })
  })

  test.each([
    ['the words of an error', '{"detail":"out of memory"}', 'out of memory'],
    ['JSON without an image', '{"created":1}', 'without an image'],
    ['an empty list', '{"created":1,"data":[]}', 'without an image'],
    [
      "MiniMax's complaint",
      '{"data":{},"base_resp":{"status_code":1004,"status_msg":"no voice"}}',
      'no voice',
    ],
  ])('a whole answer that is %s is an error, and free', async (_what, body, said) => {
    answer = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    const response = await post('/v1/images/generations', { model: 'up/sizes', prompt: 'x' })
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining(said)])
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, usage_source: 'missing' })
  })

  test.each([
    ['a list by another name', '{"images":[{"url":"u"},{"url":"v"}]}'],
    [
      "MiniMax's lists",
      '{"data":{"image_urls":["u","v"]},"base_resp":{"status_code":0,"status_msg":"success"}}',
    ],
  ])('images in %s are counted', async (_what, body) => {
    answer = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    const response = await post('/v1/images/generations', { model: 'up/sizes', prompt: 'x', n: 2 })
    expect([response.status, await response.text()]).toEqual([200, body])
    expect(response.headers.get('x-tollgate-cost')).toBe('0.334000000')
  })

  test('a stream that breaks off ends in an error, and what was shown is charged', async () => {
    answer = () =>
      new Response(
        'event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image","b64_json":"AA=="}\n\n',
        { headers: { 'content-type': 'text/event-stream' } },
      )
    const response = await post('/v1/images/generations', { model: 'up/sizes', prompt: 'x', stream: true })
    expect(await response.text()).toContain('"error"')
    expect(await gateway.lastExchange()).toMatchObject({
      end_state: 'upstream_cut',
      usage_source: 'estimated',
    })
  })
})

describe('on Imagen', () => {
  const predictions = (count: number) => () =>
    Response.json({
      predictions: Array.from({ length: count }, () => ({
        bytesBase64Encoded: 'AA==',
        mimeType: 'image/png',
      })),
    })

  test('count and size become sampleCount and the nearest aspect ratio', async () => {
    answer = predictions(2)
    const response = await post('/v1/images/generations', {
      model: 'up/imagen',
      prompt: 'x',
      n: 2,
      size: '1792x1024',
      output_format: 'jpeg',
      user: 'u',
    })
    expect(upstream.seen[0]?.path).toBe('/v1beta/models/imagen-4.0:predict')
    expect(JSON.parse(textOf(upstream.seen[0]))).toEqual({
      instances: [{ prompt: 'x' }],
      parameters: { sampleCount: 2, aspectRatio: '16:9', outputOptions: { mimeType: 'image/jpeg' } },
    })
    expect(response.headers.get('x-tollgate-losses')).toBe('user')
    expect(await jsonOf(response)).toMatchObject({ data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }] })
    expect(await lastCharge()).toBe(-80_000_000n)
  })

  test('what it made of the prompt is told, and what kind of image it made', async () => {
    const made = { bytesBase64Encoded: 'AA==', mimeType: 'image/jpeg', prompt: 'a better x' }
    answer = () => Response.json({ predictions: [made] })
    const response = await post('/v1/images/generations', { model: 'up/imagen', prompt: 'x' })
    expect(await jsonOf(response)).toMatchObject({
      data: [{ b64_json: 'AA==', revised_prompt: 'a better x' }],
      output_format: 'jpeg',
    })
  })

  test('a shape that it does not have is a loss', async () => {
    answer = predictions(1)
    const body = { model: 'up/imagen', prompt: 'x', size: '1536x1024' }
    const response = await post('/v1/images/generations', body)
    expect(JSON.parse(textOf(upstream.seen[0])).parameters.aspectRatio).toBe('4:3')
    expect(response.headers.get('x-tollgate-losses')).toBe('size')
    const strict = await post('/v1/images/generations', body, { 'x-tollgate-strict': 'true' })
    expect((await jsonOf(strict)).error).toMatchObject({ code: 'unsupported_parameter', param: 'size' })
  })

  test('a larger size than it makes unasked is a loss', async () => {
    answer = predictions(1)
    const body = { model: 'up/imagen', prompt: 'x', size: '2048x2048' }
    const response = await post('/v1/images/generations', body)
    expect(response.headers.get('x-tollgate-losses')).toBe('size')
  })

  test('an image that is withheld is a 400 with the reason, and free', async () => {
    answer = () => Response.json({ predictions: [{ raiFilteredReason: 'not this' }] })
    const response = await post('/v1/images/generations', { model: 'up/imagen', prompt: 'x' })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({
      code: 'moderation_blocked',
      message: expect.stringContaining('not this'),
    })
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null })
  })

  test.each([
    ['five at once', { n: 5 }, 'n', 'unsupported_parameter'],
    ['more than anybody makes', { n: 11 }, 'n', 'invalid_request'],
    ['an address', { response_format: 'url' }, 'response_format', 'unsupported_parameter'],
    ['some other form', { response_format: true }, 'response_format', 'unsupported_parameter'],
    ['no prompt', { prompt: '' }, 'prompt', 'invalid_request'],
    ['an odd size', { size: 'large' }, 'size', 'invalid_request'],
  ])('%s: a 400 that names the field, and no call', async (_, more, param, code) => {
    const response = await post('/v1/images/generations', { model: 'up/imagen', prompt: 'x', ...more })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({ param, code })
    expect(upstream.seen).toEqual([])
  })

  test('edits are not offered', async () => {
    const form = new FormData()
    form.append('image', new File(['x'], 'a.png', { type: 'image/png' }))
    form.append('prompt', 'x')
    form.append('model', 'up/imagen')
    const response = await post('/v1/images/edits', form)
    expect((await jsonOf(response)).error.code).toBe('surface_not_supported')
  })
})

describe("on Gemini's own image models", () => {
  const generated = () =>
    Response.json({
      candidates: [
        { content: { parts: [{ text: 'Here' }, { inlineData: { mimeType: 'image/png', data: 'AA==' } }] } },
      ],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 1290, totalTokenCount: 1297 },
    })

  test('a form becomes contents with the files in them, piece by piece', async () => {
    answer = generated
    const bytes = crypto.getRandomValues(new Uint8Array(50_001))
    const form = new FormData()
    form.append('image', new File([bytes], 'a.png', { type: 'image/png' }))
    form.append('prompt', 'make it "blue"')
    form.append('model', 'up/gemini-image')
    form.append('size', '1024x1024')
    const response = await post('/v1/images/edits', form)
    expect(await jsonOf(response)).toMatchObject({
      data: [{ b64_json: 'AA==' }],
      output_format: 'png',
      usage: { input_tokens: 7, output_tokens: 1290, total_tokens: 1297 },
    })
    expect(upstream.seen[0]?.path).toBe('/v1beta/models/gemini-2.5-flash-image:generateContent')
    expect(JSON.parse(textOf(upstream.seen[0]))).toEqual({
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'make it "blue"' },
            { inlineData: { mimeType: 'image/png', data: Buffer.from(bytes).toString('base64') } },
          ],
        },
      ],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '1:1' } },
    })
    // 7 * 0.3 + 1290 * 30 per million.
    expect(await lastCharge()).toBe(-38_702_100n)
  })

  test.each([
    ['1024x1024', { aspectRatio: '1:1' }],
    ['1792x1024', { aspectRatio: '16:9' }],
    ['2048x2048', { aspectRatio: '1:1', imageSize: '2K' }],
    ['2160x3840', { aspectRatio: '9:16', imageSize: '2K' }],
    ['4096x4096', { aspectRatio: '1:1', imageSize: '4K' }],
    ['9000x6000', { aspectRatio: '3:2', imageSize: '4K' }],
  ])('from Gemini 3 on a size of %s is made as large as is nearest', async (size, imageConfig) => {
    answer = generated
    const body = { model: 'up/gemini-3-image', prompt: 'x', size }
    const response = await post('/v1/images/generations', body)
    expect(JSON.parse(textOf(upstream.seen[0])).generationConfig.imageConfig).toEqual(imageConfig)
    expect(response.headers.get('x-tollgate-losses')).toBeNull()
  })

  test.each(['up/gemini-image', 'up/gemini-lite-image'])(
    'a larger one than %s makes is a loss',
    async model => {
      answer = generated
      const response = await post('/v1/images/generations', { model, prompt: 'x', size: '2048x2048' })
      expect(textOf(upstream.seen[0])).not.toContain('imageSize')
      expect(response.headers.get('x-tollgate-losses')).toBe('size')
    },
  )

  test('a media type that it cannot be told is a loss', async () => {
    answer = generated
    const body = {
      model: 'up/gemini-image',
      prompt: 'x',
      output_format: 'webp',
      partial_images: 1,
      stream: true,
    }
    const response = await post('/v1/images/generations', body)
    expect(response.headers.get('x-tollgate-losses')).toBe('output_format, partial_images')
    expect(await response.text()).toContain('"output_format":"png"')
  })

  test('a stream of it ends as that of a model of OpenAI, with what it has used', async () => {
    answer = generated
    const body = { model: 'up/gemini-image', prompt: 'x', size: '1024x1024', stream: true }
    const event = (await (await post('/v1/images/generations', body)).text()).split('\n')
    expect(event[0]).toBe('event: image_generation.completed')
    expect(JSON.parse(event[1]?.replace('data: ', '') ?? '')).toEqual({
      type: 'image_generation.completed',
      b64_json: 'AA==',
      created_at: expect.any(Number),
      size: '1024x1024',
      quality: 'auto',
      background: 'auto',
      output_format: 'png',
      usage: {
        input_tokens: 7,
        input_tokens_details: { text_tokens: 7, image_tokens: 0 },
        output_tokens: 1290,
        total_tokens: 1297,
      },
    })
  })

  test('a JSON edit brings its images as data URIs', async () => {
    answer = generated
    const response = await post('/v1/images/edits', {
      model: 'up/gemini-image',
      prompt: 'x',
      images: [{ image_url: 'data:image/webp;base64,AAAA' }],
    })
    expect(response.status).toBe(200)
    expect(JSON.parse(textOf(upstream.seen[0])).contents[0].parts[1]).toEqual({
      inlineData: { mimeType: 'image/webp', data: 'AAAA' },
    })
    const byId = await post('/v1/images/edits', {
      model: 'up/gemini-image',
      prompt: 'x',
      images: [{ file_id: 'file-1' }],
    })
    expect((await jsonOf(byId)).error).toMatchObject({ code: 'unsupported_parameter', param: 'images[0]' })
  })

  test('a mask and a second image are refused: both would change what the caller gets', async () => {
    const two = await post('/v1/images/generations', { model: 'up/gemini-image', prompt: 'x', n: 2 })
    expect((await jsonOf(two)).error).toMatchObject({ code: 'unsupported_parameter', param: 'n' })
    const form = new FormData()
    form.append('image', new File(['x'], 'a.png', { type: 'image/png' }))
    form.append('mask', new File(['x'], 'm.png', { type: 'image/png' }))
    form.append('prompt', 'x')
    form.append('model', 'up/gemini-image')
    const masked = await post('/v1/images/edits', form)
    expect((await jsonOf(masked)).error).toMatchObject({ code: 'unsupported_parameter', param: 'mask' })
    expect(upstream.seen).toEqual([])
  })

  test('a block is a 400, a text without an image a 502', async () => {
    answer = () => Response.json({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })
    const blocked = await post('/v1/images/generations', { model: 'up/gemini-image', prompt: 'x' })
    expect([blocked.status, (await jsonOf(blocked)).error.code]).toEqual([400, 'moderation_blocked'])
    answer = () =>
      Response.json({ candidates: [{ content: { parts: [{ text: 'no' }] }, finishReason: 'STOP' }] })
    expect((await post('/v1/images/generations', { model: 'up/gemini-image', prompt: 'x' })).status).toBe(502)
  })
})

describe(':predict', () => {
  const predict = (model: string, body: object) => post(`/v1beta/models/${model}:predict`, body)

  test('on Imagen goes up as it is, and every image is charged by its shape', async () => {
    answer = () =>
      Response.json({
        predictions: [{ bytesBase64Encoded: 'AA==', mimeType: 'image/png' }, { raiFilteredReason: 'no' }],
      })
    const body = {
      instances: [{ prompt: 'x' }],
      parameters: { aspectRatio: '16:9', sampleCount: 2, seed: 1 },
    }
    const response = await predict('up/imagen', body)
    expect(textOf(upstream.seen[0])).toBe(JSON.stringify(body))
    expect((await jsonOf(response)).predictions.length).toBe(2)
    expect(await lastCharge()).toBe(-50_000_000n)
    expect(await gateway.lastExchange()).toMatchObject({
      surface: 'gemini',
      extras: { images: { '16:9': 1 } },
    })
  })

  test("on Gemini's own models is one image, as many as they make; who asks for more hears it in their own words", async () => {
    answer = () =>
      Response.json({
        candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] } }],
      })
    const one = await predict('up/gemini-image', { instances: [{ prompt: 'x' }] })
    expect([one.status, (await jsonOf(one)).predictions.length]).toEqual([200, 1])
    const two = await predict('up/gemini-image', {
      instances: [{ prompt: 'x' }],
      parameters: { sampleCount: 2 },
    })
    expect([two.status, (await jsonOf(two)).error.message]).toEqual([
      400,
      expect.stringContaining("'parameters.sampleCount' cannot be above 1"),
    ])
  })

  test("on OpenAI's models becomes a generation", async () => {
    answer = () => Response.json({ created: 1, data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }] })
    const response = await predict('up/dall-e-3', {
      instances: [{ prompt: 'x' }],
      parameters: {
        sample_count: 2,
        aspect_ratio: '16:9',
        personGeneration: 'dont_allow',
        outputOptions: { mimeType: 'image/png', compressionQuality: 75 },
      },
      labels: { team: 'a' },
    })
    expect(upstream.seen[0]?.path).toBe('/v1/images/generations')
    expect(JSON.parse(textOf(upstream.seen[0]))).toEqual({
      model: 'dall-e-3',
      prompt: 'x',
      n: 2,
      size: '1792x1024',
      response_format: 'b64_json',
    })
    expect(response.headers.get('x-tollgate-losses')).toBe(
      'labels, parameters.outputOptions.compressionQuality, parameters.personGeneration',
    )
    expect(await jsonOf(response)).toEqual({
      predictions: [
        { mimeType: 'image/png', bytesBase64Encoded: 'AA==' },
        { mimeType: 'image/png', bytesBase64Encoded: 'AA==' },
      ],
    })
  })

  test("of OpenAI's newer models the kind of image is asked for, and what they made of the prompt is told", async () => {
    const made = { b64_json: 'AA==', revised_prompt: 'a better x' }
    answer = () => Response.json({ created: 1, output_format: 'jpeg', data: [made] })
    const response = await predict('up/tokens', {
      instances: [{ prompt: 'x' }],
      parameters: { outputOptions: { mimeType: 'image/jpeg' } },
    })
    expect(JSON.parse(textOf(upstream.seen[0]))).toEqual({
      model: 'gpt-image-x',
      prompt: 'x',
      output_format: 'jpeg',
    })
    expect(await jsonOf(response)).toEqual({
      predictions: [{ mimeType: 'image/jpeg', bytesBase64Encoded: 'AA==', prompt: 'a better x' }],
    })
  })

  test.each([
    ['no instance', {}, 'instances[0].prompt'],
    ['two instances', { instances: [{ prompt: 'a' }, { prompt: 'b' }] }, 'instances[1]'],
    ['no object of parameters', { instances: [{ prompt: 'a' }], parameters: '16:9' }, "'parameters'"],
    [
      'no image',
      { instances: [{ prompt: 'a' }], parameters: { sample_count: 0 } },
      'parameters.sample_count',
    ],
    [
      'no ratio',
      { instances: [{ prompt: 'a' }], parameters: { aspect_ratio: 'wide' } },
      'parameters.aspect_ratio',
    ],
    [
      'no type of image',
      { instances: [{ prompt: 'a' }], parameters: { output_options: { mimeType: 5 } } },
      'parameters.output_options',
    ],
  ])('%s: a 400 in the shape of Gemini', async (_, body, param) => {
    const response = await predict('up/tokens', body)
    expect(response.status).toBe(400)
    const { error } = await jsonOf(response)
    expect(error.status).toBe('INVALID_ARGUMENT')
    expect(error.message).toContain(param)
  })
})

describe('money', () => {
  const made = (more: object) => () => Response.json({ created: 1, data: [{ b64_json: 'AA==' }], ...more })
  const USAGE = { input_tokens: 50, input_tokens_details: { cached_tokens: 10 }, output_tokens: 1000 }

  test.each([
    ['per token, as reported', 'up/tokens', {}, made({ usage: USAGE }), -40_212_500n, {}],
    [
      'by size and quality',
      'up/sizes',
      { size: '1024x1024', quality: 'low' },
      made({}),
      -11_000_000n,
      { '1024x1024/low': 1 },
    ],
    [
      'by size alone',
      'up/sizes',
      { size: '1536x1024', quality: 'low' },
      made({}),
      -250_000_000n,
      { '1536x1024': 1 },
    ],
    [
      'by what the upstream made, not by what was asked',
      'up/sizes',
      { size: 'auto' },
      made({ size: '1024x1024', quality: 'low' }),
      -11_000_000n,
      { '1024x1024/low': 1 },
    ],
    [
      'by the dearest of a size whose quality nobody named',
      'up/sizes',
      { size: '1024x1024' },
      made({}),
      -167_000_000n,
      { '1024x1024/high': 1 },
    ],
    [
      'by default',
      'up/sizes',
      { size: '2048x2048', quality: 'low' },
      made({}),
      -300_000_000n,
      { '2048x2048': 1 },
    ],
  ])('%s', async (_, model, more, upstreams, charged, images) => {
    answer = upstreams
    const response = await post('/v1/images/generations', { model, prompt: 'x', ...more })
    expect(response.status).toBe(200)
    expect(await lastCharge()).toBe(charged)
    expect((await gateway.lastExchange())?.['extras']).toEqual(
      Object.keys(images).length === 0 ? null : { images },
    )
    expect((await gateway.database.sql`select * from hold`).length).toBe(0)
  })

  test('a model without a price for images is refused', async () => {
    const response = await post('/v1/images/generations', { model: 'up/embedding-only', prompt: 'x' })
    expect(response.status).toBe(400)
    expect((await jsonOf(response)).error).toMatchObject({
      code: 'surface_not_supported',
      message: expect.stringContaining('its prices are for embeddings'),
    })
    expect(upstream.seen).toEqual([])
  })

  test('what the account cannot pay is refused before any call', async () => {
    const { key } = await openPayer(gateway.database, { creditNano: 100_000_000n })
    const response = await post(
      '/v1/images/generations',
      { model: 'up/sizes', prompt: 'x', size: '1024x1024', quality: 'high' },
      { authorization: `Bearer ${key}` },
    )
    expect([response.status, (await jsonOf(response)).error.code]).toEqual([402, 'credit_exhausted'])
    expect(upstream.seen).toEqual([])
  })
})

test.each([
  ['/v1/images/edits', new FormData(), 400],
  ['/v1/images/variations', { model: 'up/tokens' }, 415],
  ['/v1/images/generations', new FormData(), 415],
])('%s wants its own kind of body', async (path, body, status) => {
  if (body instanceof FormData) body.append('model', 'up/tokens')
  expect((await post(path, body)).status).toBe(status)
})

test.each([
  { partial_images: -1000 },
  { partial_images: 0.123 },
  { partial_images: 'many' },
  { output_format: 'gif', frame_count: 1.0001 },
])('%p is a number for the upstream to judge, and none to reckon with', async fields => {
  const seen: object[] = []
  answer = request => {
    seen.push(JSON.parse(textOf(request)))
    return Response.json({ created: 1, data: [{ b64_json: PIXEL }] })
  }
  const response = await post('/v1/images/generations', { model: 'up/tokens', prompt: 'x', ...fields })
  expect(response.status).toBe(200)
  expect(seen).toMatchObject([fields])
})

test('of a request with very many fields that cannot be told some are told, and their number', async () => {
  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field_${at}`, at]))
  answer = () => Response.json({ predictions: [{ bytesBase64Encoded: PIXEL, mimeType: 'image/png' }] })
  const response = await post('/v1/images/generations', { model: 'up/imagen', prompt: 'x', ...fields })
  expect(response.status).toBe(200)
  const losses = response.headers.get('x-tollgate-losses') ?? ''
  expect(losses.length).toBeLessThan(4096)
  expect(losses).toEndWith('and 4960 more')
})

test.each([{}, { prompt: '' }, { prompt: 5 }])(
  'a generation of %j is a 400 that names the prompt, and no call',
  async body => {
    const response = await post('/v1/images/generations', { model: 'up/tokens', ...body })
    expect(response.status).toBe(400)
    expect(await jsonOf(response)).toMatchObject({ error: { code: 'invalid_request', param: 'prompt' } })
    expect(upstream.seen).toHaveLength(0)
  },
)
