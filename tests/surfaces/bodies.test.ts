import { describe, expect, test } from 'bun:test'
import * as zlib from 'node:zlib'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { CALLS, call, readError, type Sent, SURFACES, type Surface } from './calls.ts'

const MAX_BODY_BYTES = 200_000

const gateway = await fileGateway({
  maxBodyBytes: MAX_BODY_BYTES,
  models: `
  - { id: "chat-only", surfaces: [chat], channels: [{ channel: chat, model: "echo" }] }
  - { id: "no-chat", surfaces: [responses, messages, gemini], channels: [{ channel: messages, model: "echo" }] }
  - { id: "embedder", channels: [{ channel: chat, model: "echo" }], prices: { input: 0.02 } }`,
})

function bodyOf(surface: Surface): string {
  return JSON.stringify(CALLS[surface].body(`${surface}/echo`))
}

/** The same with one more member, which no format knows. */
function bodyWith(surface: Surface, member: string): string {
  return bodyOf(surface).replace(/}$/, `,${member}}`)
}

/** Valid for its surface and a bit larger than is allowed. */
function tooLarge(surface: Surface): string {
  return bodyWith(surface, `"padding":"${'x'.repeat(MAX_BODY_BYTES)}"`)
}

describe.each(SURFACES)('%s', surface => {
  test('answers 200 with whose request it was', async () => {
    const response = await call(gateway, surface)
    expect(response.status).toBe(200)
    const id = response.headers.get('x-request-id')
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(response.headers.get('request-id')).toBe(surface === 'messages' ? id : null)
    expect(response.headers.get('x-tollgate-model')).toBe(`${surface}/echo`)
    expect(await response.text()).toContain('hi')
  })

  test.each<[string, () => Sent, string]>([
    ['an empty body', () => '', 'empty'],
    ['white space', () => ' \n', 'not valid JSON'],
    ['half an object', () => '{', 'not valid JSON'],
    ['something behind the object', () => `${bodyOf(surface)}x`, 'not valid JSON'],
    ['bytes that are no UTF-8', () => new Uint8Array([0x7b, 0xff, 0x7d]), 'not valid JSON'],
  ])('answers 400 invalid_json to %s', async (_what, body, says) => {
    const error = await readError(await call(gateway, surface, { body: body() }), surface)
    expect(error).toMatchObject({ status: 400, code: 'invalid_json' })
    expect(error.message).toContain(says)
  })

  test.each(['[]', 'null', '"x"', '0'])(
    'answers 400 invalid_request to %s, which is JSON and no object',
    async body => {
      const error = await readError(await call(gateway, surface, { body }), surface)
      expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(error.message).toContain('must be a JSON object')
    },
  )

  test('takes a byte order mark and a __proto__ key as what they are', async () => {
    // Google refuses fields that it does not know.
    const model = surface === 'gemini' ? 'chat/echo' : `${surface}/echo`
    for (const body of [`\ufeff${bodyOf(surface)}`, bodyWith(surface, '"__proto__":{"model":"nope"}')]) {
      const response = await call(gateway, surface, { model, body })
      expect(response.status).toBe(200)
      await response.arrayBuffer()
    }
    expect(Object.hasOwn(Object.prototype, 'model')).toBe(false)
  })

  test('answers 400 to nesting beyond reason, where it has to be taken apart', async () => {
    const other = surface === 'chat' ? 'messages/echo' : 'chat/echo'
    for (const levels of [50, 20_000]) {
      const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
      const body = JSON.stringify(CALLS[surface].body(other)).replace(/}$/, `,"deep":${deep}}`)
      const response = await call(gateway, surface, { model: other, body })
      if (levels < 100) expect(await response.text()).toContain('hi')
      else expect(await readError(response, surface)).toMatchObject({ status: 400, code: 'invalid_request' })
    }
  })

  test('answers 400 model_not_found to a name that nobody has, naming it', async () => {
    for (const model of [
      'nope',
      'CHAT/ECHO',
      '__proto__',
      'constructor',
      'm'.repeat(200),
      `${surface}/echo `,
    ]) {
      const error = await readError(await call(gateway, surface, { model }), surface)
      expect(error).toMatchObject({ status: 400, code: 'model_not_found' })
      expect(error.message).toStartWith(
        `The model '${model}' does not exist or is not enabled for this API key`,
      )
    }
    const long = await readError(await call(gateway, surface, { model: 'm'.repeat(2000) }), surface)
    expect(long).toMatchObject({ status: 400, code: 'model_not_found' })
    expect(long.message.length).toBeLessThan(400)
  })

  test('answers 400 surface_not_supported where the model is not offered', async () => {
    const model = surface === 'chat' ? 'no-chat' : 'chat-only'
    const error = await readError(await call(gateway, surface, { model }), surface)
    expect(error).toMatchObject({ status: 400, code: 'surface_not_supported' })
  })

  test('answers 400 surface_not_supported where the model is priced for other work, saying which', async () => {
    const error = await readError(await call(gateway, surface, { model: 'embedder' }), surface)
    expect(error).toMatchObject({ status: 400, code: 'surface_not_supported' })
    expect(error.message).toStartWith(
      "The model 'embedder' is not offered on this surface: its prices are for embeddings",
    )
  })

  test('reads x-tollgate-strict as true or false, and refuses anything else by name', async () => {
    for (const value of ['true', 'TRUE', 'false', ' False ']) {
      const response = await call(gateway, surface, { headers: { 'x-tollgate-strict': value } })
      expect(response.status).toBe(200)
    }
    for (const value of ['1', 'yes', 'true, true', '']) {
      const response = await call(gateway, surface, { headers: { 'x-tollgate-strict': value } })
      const error = await readError(response, surface)
      expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(error.message).toStartWith("The header 'x-tollgate-strict' must be true or false")
    }
  })

  test.each<[string, (text: string) => Uint8Array<ArrayBuffer>]>([
    ['gzip', text => new Uint8Array(zlib.gzipSync(text))],
    ['x-gzip', text => new Uint8Array(zlib.gzipSync(text))],
    ['GZip', text => new Uint8Array(zlib.gzipSync(text))],
    ['br', text => new Uint8Array(zlib.brotliCompressSync(text))],
    ['zstd', text => new Uint8Array(zlib.zstdCompressSync(text))],
    ['deflate', text => new Uint8Array(zlib.deflateSync(text))],
    ['deflate', text => new Uint8Array(zlib.deflateRawSync(text))],
    ['gzip, br', text => new Uint8Array(zlib.brotliCompressSync(zlib.gzipSync(text)))],
    ['zstd,deflate , gzip', text => stacked(text)],
    ['identity', text => new TextEncoder().encode(text)],
  ])('reads a body in %s', async (encoding, encode) => {
    const response = await call(gateway, surface, {
      headers: { 'content-encoding': encoding },
      body: encode(bodyOf(surface)),
    })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('hi')
  })

  test('answers 400 to a body that is not what its encoding says', async () => {
    for (const encoding of ['gzip', 'br', 'zstd', 'deflate']) {
      const response = await call(gateway, surface, { headers: { 'content-encoding': encoding } })
      expect(await readError(response, surface)).toMatchObject({ status: 400, code: 'invalid_request' })
    }
  })

  test('answers 415 to more encodings than anybody has a reason for, whatever is within', async () => {
    for (const layers of [4, 5]) {
      const body = Array.from({ length: layers }).reduce<Uint8Array<ArrayBuffer>>(
        inner => new Uint8Array(zlib.gzipSync(inner)),
        new TextEncoder().encode(bodyOf(surface)),
      )
      const headers = { 'content-encoding': Array(layers).fill('gzip').join(', ') }
      const response = await call(gateway, surface, { headers, body })
      if (layers === 4) expect(await response.text()).toContain('hi')
      else
        expect(await readError(response, surface)).toMatchObject({
          status: 415,
          code: 'unsupported_encoding',
        })
    }
  })

  test.each(['br2', 'compress', 'gzip, br2', 'aws-chunked', '__proto__'])(
    'answers 415 to the encoding %s',
    async encoding => {
      const response = await call(gateway, surface, { headers: { 'content-encoding': encoding } })
      const error = await readError(response, surface)
      expect(error).toMatchObject({ status: 415, code: 'unsupported_encoding' })
      expect(error.message).toContain('zstd, gzip, br, deflate')
    },
  )

  test.each([
    'multipart/form-data; boundary=x',
    'Multipart/mixed',
    'application/x-www-form-urlencoded',
    'application/xml',
    'text/html; charset=utf-8',
    'image/png',
    'application/jsonp',
    'application/x-ndjson',
    'nonsense',
  ])('answers 415 to %s', async type => {
    const response = await call(gateway, surface, { headers: { 'content-type': type } })
    expect(await readError(response, surface)).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    })
  })

  test.each(['text/plain', 'text/plain;charset=UTF-8', 'application/octet-stream'])(
    'answers 415 to %s that is not JSON by the look of it',
    async type => {
      for (const body of ['hello', '[]', 'model=x', '  "{}"']) {
        const response = await call(gateway, surface, { headers: { 'content-type': type }, body })
        const error = await readError(response, surface)
        expect(error).toMatchObject({ status: 415, code: 'unsupported_media_type' })
        expect(error.message).toContain('content-type: application/json')
      }
    },
  )

  test('answers 400 invalid_json to a text that begins like JSON, which is what fetch calls a broken body', async () => {
    const headers = { 'content-type': 'text/plain;charset=UTF-8' }
    const response = await call(gateway, surface, { headers, body: ' {"model"' })
    expect(await readError(response, surface)).toMatchObject({ status: 400, code: 'invalid_json' })
  })

  test.each([
    'text/plain',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/vnd.example+json',
    'text/json',
    'application/octet-stream',
    '',
  ])('takes %s for JSON', async type => {
    const response = await call(gateway, surface, { headers: { 'content-type': type } })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  })

  test.each<[string, () => { body: Sent; headers?: Record<string, string> }]>([
    ['declared', () => ({ body: tooLarge(surface) })],
    ['in chunks', () => ({ body: inChunks(tooLarge(surface)) })],
    ['without an end', () => ({ body: endless() })],
    ...(['gzip', 'br', 'zstd', 'deflate'] as const).map(
      name =>
        [`a bomb of ${name}`, () => ({ body: BOMBS[name](), headers: { 'content-encoding': name } })] as [
          string,
          () => { body: Sent; headers: Record<string, string> },
        ],
    ),
    [
      'a bomb in a bomb',
      () => ({
        body: new Uint8Array(zlib.gzipSync(BOMBS.gzip())),
        headers: { 'content-encoding': 'gzip, gzip' },
      }),
    ],
  ])('answers 413 to a body that is too large: %s', async (_how, make) => {
    const error = await readError(await call(gateway, surface, make()), surface)
    expect(error).toMatchObject({ status: 413, code: 'body_too_large' })
    expect(error.message).toContain(String(MAX_BODY_BYTES))
  })

  test('takes a body of just the limit', async () => {
    const frame = bodyWith(surface, '"padding":""')
    const padding = 'x'.repeat(MAX_BODY_BYTES - Buffer.byteLength(frame))
    const body = bodyWith(surface, `"padding":"${padding}"`)
    expect(Buffer.byteLength(body)).toBe(MAX_BODY_BYTES)
    for (const sent of [body, inChunks(body)]) {
      const response = await call(gateway, surface, { body: sent })
      expect(response.status).not.toBe(413)
      await response.arrayBuffer()
    }
  })
})

describe.each(['chat', 'responses', 'messages'] as const)('%s', surface => {
  test.each<[string, string, string]>([
    ['no model', 'model', '{"messages":[],"input":""}'],
    ['a model that is a number', 'model', '{"model":5}'],
    ['a model without a name', 'model', '{"model":""}'],
    ['a model that is null', 'model', '{"model":null}'],
    ['a model inside of __proto__', 'model', '{"__proto__":{"model":"chat/echo"}}'],
    ['a stream that is text', 'stream', '{"model":"chat/echo","stream":"yes"}'],
    ['a stream that is a number', 'stream', '{"model":"chat/echo","stream":1}'],
  ])('answers 400 invalid_request to %s', async (_what, param, body) => {
    const error = await readError(await call(gateway, surface, { body }), surface)
    expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(error.message).toContain(`'${param}'`)
    if (surface !== 'messages') expect(error.param).toBe(param)
  })

  test.each([
    ['Model', 'model', '"Model":"no-chat"'],
    ['MODELS', 'models', '"MODELS":["no-chat"]'],
    ['max_Output_tokens', 'max_output_tokens', '"max_Output_tokens":100000'],
    ['max_token\u017f', 'max_tokens', '"max_token\\u017f":100000'],
    ['max_to\u212aens', 'max_tokens', '"max_to\u212aens":100000'],
    ['N', 'n', '"N":50'],
    ['Tools', 'tools', '"Tools":[]'],
    ['Stream', 'stream', '"Stream":true'],
  ])('answers 400 to %s, which some upstreams read as %s', async (name, usual, member) => {
    for (const body of [
      bodyWith(surface, member),
      bodyWith(surface, `"padding":["${'x'.repeat(40_000)}"],${member}`),
    ]) {
      const error = await readError(await call(gateway, surface, { body }), surface)
      expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(error.message).toStartWith(`Invalid value for '${name}': this name is spelled ${usual}`)
    }
  })

  test('takes other names in whatever case they are', async () => {
    const body = bodyWith(surface, '"chatId":"x","Metadata":{"Model":"no-chat"},"X-Model":1,"modelId":"x"')
    const response = await call(gateway, surface, { body })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  })

  test('takes a stream that is null for none', async () => {
    const body = JSON.stringify({ ...CALLS[surface].body(`${surface}/echo`), stream: null })
    const response = await call(gateway, surface, { body })
    expect(response.headers.get('content-type')).toStartWith('application/json')
    await response.arrayBuffer()
  })
})

describe('a body without what it is about is refused here, whoever would be asked', () => {
  const LIMIT = { max_tokens: 50 }
  test.each<[Surface, string, object]>([
    ['chat', 'messages', {}],
    ['chat', 'messages', { messages: null }],
    ['chat', 'messages', { messages: 'hi' }],
    ['messages', 'messages', LIMIT],
    ['messages', 'messages', { ...LIMIT, messages: { role: 'user' } }],
    ['messages', 'max_tokens', { messages: [{ role: 'user', content: 'hi' }] }],
    ['messages', 'max_tokens', { messages: [{ role: 'user', content: 'hi' }], max_tokens: '50' }],
    ['responses', 'input', { input: 5 }],
    ['responses', 'input', { input: { role: 'user', content: 'hi' } }],
    ['gemini', 'contents', {}],
    ['gemini', 'contents', { contents: 'hi' }],
  ])('%s without %s: %j', async (surface, param, rest) => {
    const body = JSON.stringify({ model: `${surface}/echo`, ...rest })
    const error = await readError(await call(gateway, surface, { body }), surface)
    expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(error.message).toStartWith(`Invalid value for '${param}': expected`)
    if (surface === 'chat' || surface === 'responses') expect(error.param).toBe(param)
  })

  test.each(['gemini/echo', 'chat/echo'])(
    'but Google takes one element for a list of one: %s',
    async model => {
      const body = JSON.stringify({ contents: { parts: { text: 'hi' } } })
      const response = await call(gateway, 'gemini', { model, body })
      expect(await response.text()).toContain('"text":"hi"')
      expect(response.status).toBe(200)
    },
  )
})

describe('gemini', () => {
  test.each(['%zz', '%', 'gemini%2', '%E0%A4%A'])('answers 400 to the path of a model %s', async model => {
    const error = await readError(await call(gateway, 'gemini', { model }), 'gemini')
    expect(error).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test.each(['gemini%2Fecho', 'gemini/echo', '%67emini/echo'])('finds the model %s', async model => {
    const response = await call(gateway, 'gemini', { model })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  })
})

function stacked(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(zlib.gzipSync(zlib.deflateSync(zlib.zstdCompressSync(text))))
}

const BOMB = Buffer.alloc(50_000_000, 'x')
const BOMBS = {
  gzip: () => new Uint8Array(zlib.gzipSync(BOMB, { level: 1 })),
  br: () =>
    new Uint8Array(zlib.brotliCompressSync(BOMB, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })),
  zstd: () => new Uint8Array(zlib.zstdCompressSync(BOMB)),
  deflate: () => new Uint8Array(zlib.deflateSync(BOMB, { level: 1 })),
}

/** A body whose length nobody declares. */
function inChunks(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(bytes.slice(at, at + 30_000))
      at += 30_000
      if (at >= bytes.length) controller.close()
    },
  })
}

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array(30_000)) })
}

describe('what Google’s parser takes beside JSON', () => {
  /** As in the examples of Google's documents. */
  const byHand = (text: string) => `{
    "contents": [{"role": "user", "parts": [{"text": "${text}"},]}],
  }`

  test('is read where its API is called, and sent on as JSON', async () => {
    for (const upstream of SURFACES) {
      const response = await call(gateway, 'gemini', { model: `${upstream}/echo`, body: byHand('one\ntwo') })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        candidates: [{ content: { parts: [{ text: 'one\ntwo' }] } }],
      })
    }
    const path = `${gateway.url}/v1beta/models/embedder:embedContent`
    const embedded = await fetch(path, {
      method: 'POST',
      headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
      body: '{"content": {"parts": [{"text": "hi"}]}, }',
    })
    expect(embedded.status).toBe(200)
  })

  test('is no JSON to the others', async () => {
    for (const surface of SURFACES.filter(name => name !== 'gemini')) {
      const body = bodyOf(surface).replace(/}$/, ',}')
      const error = await readError(await call(gateway, surface, { body }), surface)
      expect(error).toMatchObject({ status: 400, code: 'invalid_json' })
    }
  })
})
