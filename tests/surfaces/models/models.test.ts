import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { readError } from '#tests/surfaces/calls.ts'

const gateway = await fileGateway({
  models: `
  - { id: "vendor/with:odd/name", aliases: [odd], display_name: "Odd One", owned_by: vendor, context_tokens: 1000, max_output_tokens: 100, channels: [{ channel: chat, model: "echo" }] }
  - { id: "embedder", channels: [{ channel: chat, model: "echo" }], prices: { input: 0.13 } }
  - { id: "painter", surfaces: [images, gemini], channels: [{ channel: chat, model: "echo" }], prices: { input: 5, output: 40 } }
  - { id: "filmer", channels: [{ channel: chat, model: "echo" }], prices: { per_video_second: 0.1, per_image: { "1024x1024": 0.04, default: 0.05 } } }
  - { id: "hidden", enabled_by_default: false, channels: [{ channel: chat, model: "echo" }] }`,
})

// biome-ignore lint/suspicious/noExplicitAny: the body of an answer, which the expectations below take apart
type Body = any

interface Asked {
  status: number
  body: Body
}

async function get(path: string, headers?: Record<string, string>): Promise<Asked> {
  const response = await fetch(gateway.url + path, {
    headers: headers ?? { authorization: `Bearer ${gateway.key}` },
  })
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  return { status: response.status, body: await response.json() }
}

const ODD = 'vendor%2Fwith%3Aodd%2Fname'

describe('the list of OpenAI and Anthropic', () => {
  test("has both vendors' fields in one object", async () => {
    for (const headers of [
      { authorization: `Bearer ${gateway.key}` },
      { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01' },
    ]) {
      const { status, body } = await get('/v1/models', headers)
      expect(status).toBe(200)
      expect(body).toMatchObject({ object: 'list', has_more: false })
      const ids = body.data.map(({ id }: Body) => id)
      expect([body.first_id, body.last_id]).toEqual([ids[0], ids.at(-1)])
      expect(ids).toContain('chat/echo')
      expect(ids).not.toContain('hidden')
      expect(body.data.find(({ id }: Body) => id === 'vendor/with:odd/name')).toEqual({
        id: 'vendor/with:odd/name',
        object: 'model',
        created: expect.any(Number),
        owned_by: 'vendor',
        type: 'model',
        display_name: 'Odd One',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        aliases: ['odd'],
        max_input_tokens: 1000,
        max_tokens: 100,
        capabilities: null,
        lifecycle: 'active',
        line: null,
        deprecated_at: null,
        retires_at: null,
        surfaces: ['chat', 'responses', 'messages', 'gemini'],
        prices: { input: '1', output: '2' },
      })
    }
  })

  test('tells where a model is offered, as declared or as its prices say, and what it costs', async () => {
    const { body } = await get('/v1/models')
    const told = (name: string) => {
      const { surfaces, prices } = body.data.find(({ id }: Body) => id === name)
      return { surfaces, prices }
    }
    expect(told('embedder')).toEqual({ surfaces: ['gemini', 'embeddings'], prices: { input: '0.13' } })
    expect(told('painter').surfaces).toEqual(['images', 'gemini'])
    expect(told('filmer')).toEqual({
      surfaces: ['gemini', 'images', 'videos'],
      prices: { per_image: { '1024x1024': '0.04', default: '0.05' }, per_video_second: '0.1' },
    })
    const methods = async (name: string) =>
      (await get(`/v1beta/models/${name}`)).body.supportedGenerationMethods
    expect(await methods('embedder')).toEqual(['embedContent', 'batchEmbedContents'])
    expect(await methods('filmer')).toEqual(['predict', 'predictLongRunning'])
  })

  test("takes OpenAI's own word for where a page begins", async () => {
    const all: string[] = (await get('/v1/models')).body.data.map(({ id }: Body) => id)
    const { body } = await get(`/v1/models?limit=2&after=${encodeURIComponent(all[3] ?? '')}`)
    expect(body.data.map(({ id }: Body) => id)).toEqual(all.slice(4, 6))
  })

  test('is read page by page, both ways', async () => {
    const all: string[] = (await get('/v1/models')).body.data.map(({ id }: Body) => id)
    const forward: string[] = []
    for (let query = 'limit=7'; ; ) {
      const { body } = await get(`/v1/models?${query}`)
      forward.push(...body.data.map(({ id }: Body) => id))
      if (!body.has_more) break
      expect(body.data).toHaveLength(7)
      query = `limit=7&after_id=${encodeURIComponent(body.last_id)}`
    }
    expect(forward).toEqual(all)
    const backward: string[] = []
    for (let before = all.at(-1) ?? ''; ; ) {
      const { body } = await get(`/v1/models?limit=7&before_id=${encodeURIComponent(before)}`)
      expect(body.data).toHaveLength(Math.min(7, all.indexOf(before)))
      backward.unshift(...body.data.map(({ id }: Body) => id))
      if (!body.has_more) break
      before = body.first_id
    }
    expect(backward).toEqual(all.slice(0, -1))
  })

  test.each(['after', 'after_id', 'before_id'])('answers 400 to %s that no model has', async cursor => {
    const response = await fetch(`${gateway.url}/v1/models?${cursor}=gone`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    expect(await readError(response, 'chat')).toMatchObject({ code: 'invalid_request', param: cursor })
  })

  test('begins at its start where the cursor is empty', async () => {
    const { body } = await get('/v1/models?limit=1&after_id=&before_id=')
    expect(body.first_id).toBe((await get('/v1/models')).body.first_id)
  })

  test.each(['0', '-1', 'x', '1.5'])('answers 400 to limit=%s', async limit => {
    const response = await fetch(`${gateway.url}/v1/models?limit=${limit}`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    expect(await readError(response, 'chat')).toMatchObject({ code: 'invalid_request', param: 'limit' })
  })

  test.each([ODD, 'vendor/with:odd/name', 'odd'])('has the model %s', async name => {
    const { status, body } = await get(`/v1/models/${name}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: 'vendor/with:odd/name', object: 'model', type: 'model' })
  })
})

describe('the list of Google', () => {
  test.each<[string, string, () => Record<string, string>]>([
    ['with x-goog-api-key', '/v1/models', () => ({ 'x-goog-api-key': gateway.key })],
    ['with key=', '/v1/models?key=KEY', () => ({})],
    ['under /v1beta', '/v1beta/models', () => ({ authorization: `Bearer ${gateway.key}` })],
    ['under /v1alpha', '/v1alpha/models', () => ({ 'x-goog-api-key': gateway.key })],
  ])('is asked for %s', async (_how, path, headers) => {
    const { status, body } = await get(path.replace('KEY', gateway.key), headers())
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['models'])
    const names = body.models.map(({ name }: Body) => name)
    expect(names).toContain('models/chat/echo')
    expect(names).not.toContain('models/hidden')
    expect(body.models.find(({ name }: Body) => name.includes('odd'))).toMatchObject({
      name: 'models/vendor/with:odd/name',
      displayName: 'Odd One',
      inputTokenLimit: 1000,
      outputTokenLimit: 100,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    })
  })

  test.each([
    ['pageSize', 'pageToken'],
    ['page_size', 'page_token'],
  ])('is read page by page: %s, %s', async (size, place) => {
    const headers = { 'x-goog-api-key': gateway.key }
    const all = (await get(`/v1beta/models?${size}=0`, headers)).body.models
    expect(all.length).toBeGreaterThan(9)
    const paged: Body[] = []
    for (let token = ''; ; ) {
      const { body } = await get(`/v1beta/models?${size}=9&${place}=${encodeURIComponent(token)}`, headers)
      paged.push(...body.models)
      if (body.nextPageToken === undefined) break
      expect(body.models).toHaveLength(9)
      token = body.nextPageToken
    }
    expect(paged).toEqual(all)
  })

  test.each(['pageToken=gone', 'pageSize=-1'])('answers 400 to %s', async query => {
    const response = await fetch(`${gateway.url}/v1beta/models?${query}`, {
      headers: { 'x-goog-api-key': gateway.key },
    })
    expect(await readError(response, 'gemini')).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test('has single models', async () => {
    for (const path of [
      `/v1beta/models/${ODD}`,
      '/v1beta/models/vendor/with:odd/name',
      `/v1/models/${ODD}`,
    ]) {
      const { status, body } = await get(path, { 'x-goog-api-key': gateway.key })
      expect(status).toBe(200)
      expect(body.name).toBe('models/vendor/with:odd/name')
    }
  })
})

describe('errors', () => {
  test.each(['nope', 'hidden', 'chat', '__proto__'])('a model %s is not there for anybody', async name => {
    const surfaces = [
      ['chat', { authorization: `Bearer ${gateway.key}` }],
      ['messages', { 'x-api-key': gateway.key, 'anthropic-version': '2026-10-21' }],
      ['gemini', { 'x-goog-api-key': gateway.key }],
    ] as const
    for (const [surface, headers] of surfaces) {
      const response = await fetch(`${gateway.url}/v1/models/${name}`, { headers })
      const error = await readError(response, surface)
      expect(error).toMatchObject({ status: 400, code: 'model_not_found' })
      expect(error.message).toContain(`'${name}'`)
    }
  })

  test('a name that is not valid percent-encoding is a 400', async () => {
    const headers = { authorization: `Bearer ${gateway.key}` }
    const response = await fetch(`${gateway.url}/v1/models/%zz`, { headers })
    expect(await readError(response, 'chat')).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test('no key, a wrong one, and where x-api-key counts', async () => {
    expect((await get('/v1/models', {})).body.error.code).toBe('missing_api_key')
    expect((await get('/v1beta/models', {})).body.error.status).toBe('UNAUTHENTICATED')
    expect((await get('/v1/models', { 'x-api-key': 'sk-wrong' })).status).toBe(401)
    expect((await get('/v1/models', { 'x-api-key': gateway.key })).status).toBe(200)
    // The carrier that counts says whose client it is, whatever else came along.
    expect((await get('/v1/models?key=other', { 'x-api-key': gateway.key })).body).toHaveProperty('data')
    expect((await get('/v1beta/models', { 'x-api-key': gateway.key })).status).toBe(401)
    expect((await get('/v1/models', { authorization: gateway.key })).body.error.code).toBe('invalid_api_key')
  })
})

describe("the vendors' own clients", () => {
  test("OpenAI's lists and retrieves", async () => {
    const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` })
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('vendor/with:odd/name')
    expect((await client.models.retrieve('vendor/with:odd/name')).owned_by).toBe('vendor')
  })

  test("Anthropic's lists through all pages and retrieves", async () => {
    const client = new Anthropic({ apiKey: gateway.key, baseURL: gateway.url })
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 10 })) ids.push(model.id)
    expect(ids).toContain('vendor/with:odd/name')
    expect(new Set(ids).size).toBe(ids.length)
    expect((await client.models.retrieve('vendor/with:odd/name')).display_name).toBe('Odd One')
  })

  test("Google's lists through all pages and retrieves", async () => {
    const client = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } })
    const names: (string | undefined)[] = []
    for await (const model of await client.models.list({ config: { pageSize: 10 } })) names.push(model.name)
    expect(names).toContain('models/vendor/with:odd/name')
    expect(new Set(names).size).toBe(names.length)
    const model = await client.models.get({ model: 'vendor/with:odd/name' })
    expect(model.displayName).toBe('Odd One')
  })
})
