import { beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { eventStream, fedStream, type Script, until } from '#tests/support/upstreams/upstream.ts'
import { parseObject } from '@/json/json.ts'

let answer: Script = () => new Response('sound', { headers: { 'content-type': 'audio/mpeg' } })
const upstream = fileUpstream((request, signal) => answer(request, signal))
const gateway = await fileGateway()
await gateway.apply(`
channels:
  - { name: scripted, format: openai-chat-completions, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
models:
  - { id: tts/characters, channels: [{ channel: scripted, model: up }], prices: { per_million_characters: 15 } }
  - { id: tts/tokens, channels: [{ channel: scripted, model: up }], prices: { input: 0.6, output_audio: 12 } }
  - { id: tts/seconds, channels: [{ channel: scripted, model: up }], prices: { per_audio_second: 0.001 } }
  - { id: tts/images, channels: [{ channel: scripted, model: up }], prices: { per_image: { default: 1 } } }
`)
beforeEach(() => {
  upstream.seen.length = 0
})

const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
function say(body: object): Promise<Response> {
  return gateway.post('/v1/audio/speech', { voice: 'alloy', ...body })
}

async function errorOf(response: Response): Promise<unknown> {
  return parseObject(await response.text())?.['error']
}

describe.each(['chat/echo', 'responses/echo'])("OpenAI's client on %s", model => {
  test('gets the sound, and its type', async () => {
    const sound = await openai.audio.speech.create({ model, voice: 'alloy', input: 'Hello' })
    expect(sound.headers.get('content-type')).toBe('audio/wav')
    expect(Buffer.from(await sound.arrayBuffer()).toString('latin1')).toStartWith('RIFF')
  })

  test('gets the event stream, whose usage is charged', async () => {
    const response = await openai.audio.speech.create({
      model,
      voice: 'alloy',
      input: 'Hello there, you',
      stream_format: 'sse',
    })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    expect(await response.text()).toContain('event: speech.audio.done')
    expect(await gateway.lastExchange()).toMatchObject({
      surface: 'audio',
      streamed: true,
      usage_source: 'reported',
      input_uncached: 4n,
      audio_output: 1n,
      end_state: 'complete',
    })
  })
})

test('the request goes up as it came, but for the model', async () => {
  await say({ model: 'tts/characters', input: 'x', speed: 1.5, tomorrow: true })
  expect(upstream.seen[0]?.path).toBe('/v1/audio/speech')
  expect(new TextDecoder().decode(upstream.seen[0]?.body)).toBe(
    '{"voice":"alloy","model":"up","input":"x","speed":1.5,"tomorrow":true}',
  )
})

describe('money', () => {
  test('a text before the one that is charged is not spoken', async () => {
    const body = `{"input":"${'long '.repeat(50)}","model":"tts/characters","input":"hi"}`
    await (await gateway.post('/v1/audio/speech', body)).text()
    expect(upstream.lastBody()).toBe('{"model":"up","input":"hi"}')
    await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 30_000n)
  })

  test('characters are charged exactly, a code point each', async () => {
    await (await say({ model: 'tts/characters', input: 'Grüße 👋' })).text()
    // 7 characters at 15 per million.
    await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 105_000n)
    expect(await gateway.lastExchange()).toMatchObject({ end_state: 'complete', cost_pico: '105000000' })
  })

  test('a second of sound costs what it costs where seconds are priced', async () => {
    await (await say({ model: 'tts/seconds', input: 'x'.repeat(45) })).text()
    await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 3_000_000n)
  })

  test('text and sound are estimated in tokens where nobody counts them', async () => {
    const response = await say({ model: 'tts/tokens', input: 'a sentence of seven words, no more' })
    await response.arrayBuffer()
    await until(async () => (await gateway.lastExchange())?.['model'] === 'tts/tokens')
    const { usage_source, input_uncached, audio_output } = (await gateway.lastExchange()) ?? {}
    expect(usage_source).toBe('estimated')
    expect(Number(input_uncached)).toBeWithin(7, 14)
    expect(Number(audio_output)).toBeGreaterThan(0)
  })

  test('a sound that breaks off breaks the connection, and is charged: the vendor spoke it', async () => {
    const fed = fedStream()
    answer = () =>
      new Response(fed.stream, { headers: { 'content-type': 'audio/mpeg', 'content-length': '100' } })
    fed.write('half')
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    fed.fail()
    expect(await response.arrayBuffer().catch(() => 'broken')).toBe('broken')
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'upstream_cut')
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: 60_000n, usage_source: 'estimated' })
  })

  test('a sound that comes packed is whole when it is unpacked, whatever length it had', async () => {
    const sound = crypto.getRandomValues(new Uint8Array(5_000))
    answer = () =>
      new Response(Bun.gzipSync(sound), {
        headers: { 'content-type': 'audio/mpeg', 'content-encoding': 'gzip' },
      })
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(sound)
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'complete')
  })

  test('an event stream that breaks off ends in an error event', async () => {
    answer = () => eventStream('data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n')
    const response = await say({ model: 'tts/tokens', input: 'abcd', stream_format: 'sse' })
    const text = await response.text()
    expect(text).toContain('speech.audio.delta')
    expect(text).toContain('"code":"upstream_error"')
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'upstream_cut')
  })

  test.each(['audio/mpeg', 'Audio/MPEG', 'application/octet-stream', undefined])(
    'an upstream that takes no notice of `stream_format` is told in events, whatever it calls its sound: %p',
    async type => {
      const fed = fedStream()
      answer = () => new Response(fed.stream, { headers: type === undefined ? {} : { 'content-type': type } })
      fed.write('so')
      const response = await say({ model: 'tts/characters', input: 'abcd', stream_format: 'sse' })
      expect(response.headers.get('content-type')).toStartWith('text/event-stream')
      const reader = response.body?.getReader()
      const delta = `data: {"type":"speech.audio.delta","audio":"${btoa('so')}"}\n\n`
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(delta)
      fed.close()
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(
        'data: {"type":"speech.audio.done"}\n\n',
      )
      await until(async () => (await gateway.lastExchange())?.['end_state'] === 'complete')
      expect(await gateway.lastExchange()).toMatchObject({ cost_nano: 60_000n })
    },
  )

  test('a sound that breaks off is charged in events as it is without, and ends in an error', async () => {
    const cut = fedStream()
    answer = () => new Response(cut.stream, { headers: { 'content-type': 'audio/mpeg' } })
    cut.write('so')
    const response = await say({ model: 'tts/characters', input: 'abcd', stream_format: 'sse' })
    const reader = response.body?.getReader()
    await reader?.read()
    cut.fail()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"code":"upstream_error"')
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'upstream_cut')
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: 60_000n })
  })

  test.each([
    [
      'an error',
      '{"error":{"message":"no more today","code":429}}',
      'application/json',
      429,
      'no more today',
    ],
    ['words of one', '{"detail":"out of memory"}', 'application/json', 502, 'out of memory'],
    ['one beside no data', '{"code":1,"msg":"no voice","data":null}', 'application/json', 502, 'no voice'],
    ['one in an empty shape', '{"data":{"audio":""},"msg":"no voice"}', 'application/json', 502, 'no voice'],
    ['a web page', ' <html>Welcome</html>', 'text/html', 502, 'a web page'],
    ['blanks', '\n', 'text/plain', 502, 'without a sound'],
    ['nothing', '', 'audio/mpeg', 502, 'without a sound'],
    ['nothing in JSON', '{}', 'application/json', 502, 'without a sound'],
  ])('%s inside a 200 is no sound, and free', async (_, body, type, status, said) => {
    answer = () => new Response(body, { headers: { 'content-type': type } })
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    expect(response.status).toBe(status)
    expect(await errorOf(response)).toMatchObject({ message: expect.stringContaining(said) })
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test.each([
    [
      'an error',
      '{"error":{"message":"no more today","code":429}}',
      'application/json',
      429,
      'no more today',
    ],
    ['words of one', '{"detail":"out of memory"}', 'application/json', 502, 'out of memory'],
    ['one before a blank line', '{"detail":"out of memory"}\n\n', 'text/plain', 502, 'out of memory'],
    ['a web page', '<html>Welcome</html>', 'text/html', 502, 'a web page'],
    ['nothing', '', 'audio/mpeg', 502, 'without a sound'],
  ])('%s in the place of events is told as what it is, and free', async (_, body, type, status, said) => {
    answer = () => new Response(body, { headers: { 'content-type': type } })
    const response = await say({ model: 'tts/characters', input: 'abcd', stream_format: 'sse' })
    expect(response.status).toBe(status)
    expect(await errorOf(response)).toMatchObject({ message: expect.stringContaining(said) })
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test.each([
    ['words', 'text/plain', 'RIFF and so on'],
    ['JSON', 'application/json', '{"audio":"AAAA"}'],
    ['JSON, and a success', 'application/json', '{"audio":"AAAA","message":"success"}'],
    ['JSON with a code', 'application/json', '{"code":0,"msg":"ok","data":"AAAA"}'],
    [
      "MiniMax's JSON",
      'application/json',
      '{"data":{"audio":"00"},"base_resp":{"status_code":0,"status_msg":"success"}}',
    ],
  ])('a sound that its server calls %s is one', async (_, type, sound) => {
    answer = () => new Response(sound, { headers: { 'content-type': type } })
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    expect(await response.text()).toBe(sound)
    await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 60_000n)
  })

  test('a sound that its server calls words flows', async () => {
    const fed = fedStream()
    answer = () => new Response(fed.stream, { headers: { 'content-type': 'text/plain' } })
    fed.write('\n')
    fed.write('RI')
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    fed.write('FF')
    fed.close()
    expect(await response.text()).toBe('\nRIFF')
  })

  test('a refusal of the upstream costs nothing and comes in the shape of the surface', async () => {
    answer = () =>
      Response.json(
        { error: { message: 'no such voice', type: 'invalid_request_error', param: 'voice' } },
        { status: 400 },
      )
    const response = await say({ model: 'tts/characters', input: 'abcd' })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({
      message: expect.stringContaining('no such voice'),
      param: 'voice',
    })
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null })
    await until(async () => (await gateway.database.sql`select * from hold`).length === 0)
  })
})

test.each([
  ['no text', { model: 'tts/characters' }, 400, { code: 'invalid_request', param: 'input' }],
  ['no model', { input: 'x' }, 400, { code: 'invalid_request', param: 'model' }],
  [
    'an upstream without speech',
    { model: 'messages/echo', input: 'x' },
    400,
    { code: 'surface_not_supported' },
  ],
  [
    'a model that is priced for other work',
    { model: 'tts/images', input: 'x' },
    400,
    {
      code: 'surface_not_supported',
      param: 'model',
      message: expect.stringContaining(
        "The model 'tts/images' is not offered on this surface: its prices are for images",
      ),
    },
  ],
])('%s is refused before any upstream is called', async (_, body, status, error) => {
  const response = await say(body)
  expect(response.status).toBe(status)
  expect(await errorOf(response)).toMatchObject(error)
  expect(upstream.seen).toEqual([])
})
