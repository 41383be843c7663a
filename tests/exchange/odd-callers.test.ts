import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'

const MESSAGE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
})
/** Of Chat Completions, and of embeddings. */
const CHAT = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  data: [{ index: 0, embedding: [1] }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const CANDIDATE = JSON.stringify({
  candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
})

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "claude", channels: [{ channel: messages, model: "claude-sonnet-4-5" }] }
  - { id: "same", channels: [{ channel: messages, model: "same" }] }
  - { id: "embed", channels: [{ channel: chat, model: "embed" }] }
  - { id: "imagen", channels: [{ channel: gemini, model: "imagen-4" }] }
  - { id: "tuned", channels: [{ channel: gemini, model: "tunedModels/mine:v1" }] }
  - { id: "vendor/with:colon", channels: [{ channel: gemini, model: "vendor/with:colon" }] }`,
})

function post(
  path: string,
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string>,
): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

const HELLO = { model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }

describe('edge 61: versions and credentials of Messages', () => {
  test('the temperature of a Chat caller goes out under the version that takes it', async () => {
    upstream.answer = () => new Response(MESSAGE)
    const headers = { authorization: `Bearer ${gateway.key}`, 'anthropic-version': '2026-10-21' }
    const response = await post(
      '/v1/chat/completions',
      JSON.stringify({ ...HELLO, temperature: 0.5 }),
      headers,
    )
    expect(response.status).toBe(200)
    expect(upstream.seen.at(-1)?.headers.get('anthropic-version')).toBe('2023-06-01')
    expect(JSON.parse(upstream.lastBody())).toMatchObject({ temperature: 0.5 })
  })

  test('a Bearer key, an x-api-key, and a Bearer key beside another one are taken', async () => {
    upstream.answer = () => new Response(MESSAGE)
    const bearer = { authorization: `Bearer ${gateway.key}` }
    for (const headers of [
      bearer,
      { 'x-api-key': gateway.key },
      { ...bearer, 'x-api-key': 'sk-ant-other' },
    ]) {
      const response = await post('/v1/messages', JSON.stringify(HELLO), headers)
      expect(response.status).toBe(200)
      expect(upstream.seen.at(-1)?.headers.get('x-api-key')).toBe('upstream-key-messages')
      expect(upstream.seen.at(-1)?.headers.get('authorization')).toBeNull()
    }
  })
})

describe('edge 79: the model in the path', () => {
  test.each([
    ['vendor/with:colon', 'models/vendor/with:colon'],
    ['tuned', 'tunedModels/mine:v1'],
  ])('%s stands before the last colon, and is %s at the upstream', async (model, there) => {
    upstream.answer = () => new Response(CANDIDATE)
    const path = `/v1beta/models/${model}`
    const body = JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] })
    const response = await post(`${path}:generateContent`, body, { 'x-goog-api-key': gateway.key })
    expect(await response.json()).toMatchObject({ candidates: [{}] })
    expect(decodeURIComponent(upstream.seen.at(-1)?.path ?? '')).toEndWith(`/${there}:generateContent`)
  })

  test('a key in the query reaches neither the upstream nor the log', async () => {
    upstream.answer = () => new Response(CANDIDATE)
    const body = JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] })
    const path = `/v1beta/models/gemini/echo:generateContent?key=${gateway.key}`
    expect((await post(path, body, {})).status).toBe(200)
    expect(upstream.seen.at(-1)?.query).not.toContain('key=')
    const wrong = await post('/v1beta/models/gemini/echo:generateContent?key=tg-wrong-secret', body, {})
    expect(wrong.status).toBe(401)
    expect(await wrong.text()).not.toContain('tg-wrong-secret')
    const log = gateway.logLines.join('\n')
    expect(log).not.toContain(gateway.key)
    expect(log).not.toContain('tg-wrong-secret')
  })
})

describe('edge 87: request bodies', () => {
  const image = 'A'.repeat(20 * 1024 * 1024)
  const url = `data:image/png;base64,${image}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const text = JSON.stringify({ ...HELLO, messages: [{ role: 'user', content }] })

  test.each([
    ['as it is', text, {}],
    ['in gzip', gzipSync(text), { 'content-encoding': 'gzip' }],
  ])('a 20 MB image %s', async (_how, body, headers) => {
    upstream.answer = () => new Response(MESSAGE)
    const response = await post('/v1/chat/completions', body, {
      authorization: `Bearer ${gateway.key}`,
      ...headers,
    })
    expect(response.status).toBe(200)
    expect(upstream.lastBody()).toContain(`"data":"${image}"`)
  })

  test.each([
    ['nothing', ''],
    ['no JSON', '{"model":'],
    ['an array', '[]'],
    ['nesting without end', `{"model":"claude","messages":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ])('%s is a 400', async (_name, body) => {
    const seen = upstream.seen.length
    const headers = { authorization: `Bearer ${gateway.key}` }
    expect((await post('/v1/chat/completions', body, headers)).status).toBe(400)
    expect(upstream.seen.length).toBe(seen)
  })

  test('of duplicate keys the last counts for both of us, and __proto__ is a key', async () => {
    upstream.answer = () => new Response(MESSAGE)
    const body = '{"model":"nobody","model":"claude","__proto__":{"model":"x"},"max_tokens":9,"messages":[]}'
    const response = await post('/v1/messages', body, { 'x-api-key': gateway.key })
    expect(response.status).toBe(200)
    expect(JSON.parse(upstream.lastBody())).toMatchObject({ model: 'claude-sonnet-4-5' })
    expect(upstream.lastBody()).not.toContain('nobody')
    expect(upstream.lastBody()).toContain('"__proto__":{"model":"x"}')
  })

  test.each([
    ['a short body', '"messages":[]'],
    ['a long one', `"messages":[{"role":"user","content":"${'x'.repeat(40_000)}"}]`],
  ])(
    '%s that names another model before one whose upstream calls it the same names that one alone',
    async (_length, rest) => {
      upstream.answer = () => new Response(MESSAGE)
      for (const name of ['"model"', '"mod\\u0065l"']) {
        const body = `{${name}:"another","max_tokens":9,"model":"same",${rest}}`
        const response = await post('/v1/messages', body, { 'x-api-key': gateway.key })
        expect(response.status).toBe(200)
        expect(upstream.lastBody()).toBe(body.replace('another', 'same'))
      }
    },
  )

  test('so does a call for embeddings', async () => {
    upstream.answer = () =>
      Response.json({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } })
    const body = '{"model":"another","input":"x","model":"embed"}'
    const headers = { authorization: `Bearer ${gateway.key}` }
    expect((await post('/v1/embeddings', body, headers)).status).toBe(200)
    expect(upstream.lastBody()).toBe(body.replace('another', 'embed'))
  })

  const LONG = `"${'x'.repeat(40_000)}"`

  test.each([
    ['/v1/chat/completions', '"max_tokens":90000,', '"messages":[],"max_tokens":9'],
    ['/v1/chat/completions', String.raw`"max_t\u006fkens":90000,`, '"messages":[],"max_tokens":9'],
    [
      '/v1/chat/completions',
      '"max_tokens":90000,',
      `"max_tokens":9,"messages":[{"role":"user","content":${LONG}}]`,
    ],
    ['/v1/chat/completions', `"messages":[{"role":"user","content":${LONG}}],`, '"messages":[]'],
    ['/v1/chat/completions', '"n":8,"stream":true,', '"messages":[],"n":1,"stream":false'],
    ['/v1/messages', '"tools":[{}],', '"max_tokens":9,"messages":[],"tools":[]'],
    ['/v1/embeddings', `"input":${LONG},`, '"input":"hi"'],
    ['/v1/chat/completions', `"response_format":{"x":${LONG}},`, '"messages":[],"response_format":null'],
    ['/v1/images/generations', '"output_format":"svg",', '"prompt":"x","output_format":"png"'],
    ['/v1/images/generations', '"svg":{"model":"secret"},', '"prompt":"x","output_format":"svg","svg":{}'],
    ['/v1/images/generations', '"frame_count":16,', '"prompt":"x","output_format":"gif","frame_count":1'],
    ['/v1/images/generations', '"partial_images":3,', '"prompt":"x","partial_images":0'],
    ['/v1/images/edits', '"images":[{},{}],', '"prompt":"x","images":[{}]'],
    ['/v1/images/edits', '"image":["a","b"],', '"prompt":"x","image":["a"]'],
  ])('what %s is charged by is said once, as it was reckoned with (%.40s)', async (path, first, rest) => {
    const model = path === '/v1/messages' ? 'same' : 'embed'
    upstream.answer = () => new Response(path === '/v1/messages' ? MESSAGE : CHAT)
    const response = await post(path, `{"model":"${model}",${first}${rest}}`, {
      authorization: `Bearer ${gateway.key}`,
    })
    expect(response.status).toBe(200)
    expect(upstream.lastBody()).toBe(`{"model":"${model}",${rest}}`)
  })

  test.each([
    ['"maxOutputTokens":90000,"topP":1,"maxOutputTokens":9', '{"topP":1,"maxOutputTokens":9}'],
    ['"topK":1},"generationConfig":{"maxOutputTokens":9', '{"maxOutputTokens":9}'],
  ])('so are settings of Gemini and what they hold (%s)', async (limits, sent) => {
    upstream.answer = () => new Response(CANDIDATE)
    const contents = '"contents":[{"parts":[{"text":"hi"}]}]'
    await post('/v1beta/models/tuned:generateContent', `{${contents},"generationConfig":{${limits}}}`, {
      'x-goog-api-key': gateway.key,
    })
    expect(upstream.lastBody()).toBe(`{${contents},"generationConfig":${sent}}`)
  })

  test('so is what is embedded for a caller of Gemini', async () => {
    upstream.answer = () => Response.json({ embedding: { values: [1] } })
    const content = '"content":{"parts":[{"text":"hi"}]}'
    const body = `{"content":{"parts":[{"text":${LONG}}]},${content}}`
    await post('/v1beta/models/tuned:embedContent', body, { 'x-goog-api-key': gateway.key })
    expect(upstream.lastBody()).toBe(`{${content}}`)
  })

  test.each(['sampleCount', 'sample_image_size', 'aspectRatio'])(
    'so is %s of the images that are predicted for one',
    async name => {
      upstream.answer = () => Response.json({ predictions: [{ bytesBase64Encoded: 'AAAA' }] })
      const instances = '"instances":[{"prompt":"x"}]'
      const body = `{${instances},"parameters":{"${name}":4,"${name}":1}}`
      await post('/v1beta/models/imagen:predict', body, { 'x-goog-api-key': gateway.key })
      expect(upstream.lastBody()).toBe(`{${instances},"parameters":{"${name}":1}}`)
    },
  )

  test('a list of millions is refused before it is read, which would hold up everybody else', async () => {
    const headers = { authorization: `Bearer ${gateway.key}` }
    for (const value of ['1', '""', 'null']) {
      const list = `[${`${value},`.repeat(4_000_000)}${value}]`
      const response = await post('/v1/embeddings', `{"model":"embed","input":${list}}`, headers)
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('4000000 values'),
      ])
    }
  })

  test('a text that is there a thousand times takes the memory of one', async () => {
    upstream.answer = () => new Response(CHAT)
    const body = `{"model":"embed",${'"input":0,'.repeat(1000)}"input":${LONG}}`
    const headers = { authorization: `Bearer ${gateway.key}` }
    expect((await post('/v1/embeddings', body, headers)).status).toBe(200)
    expect(upstream.lastBody()).toBe(`{"model":"embed","input":${LONG}}`)
  })
})
