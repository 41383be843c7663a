import { beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { eventStream, type Script, until } from '#tests/support/upstreams/upstream.ts'
import { parseObject } from '@/json/json.ts'

let answer: Script = () => Response.json({ text: 'hello' })
const upstream = fileUpstream((request, signal) => answer(request, signal))
const gateway = await fileGateway()
await gateway.apply(`
channels:
  - { name: scripted, format: openai-chat-completions, base_url: "${upstream.url}", api_keys: [k], allow_private: true }
models:
  - { id: stt/seconds, channels: [{ channel: scripted, model: up }], prices: { per_audio_second: 0.0001 } }
  - { id: stt/tokens, channels: [{ channel: scripted, model: up }], prices: { input: 2.5, input_audio: 6, output: 10 } }
`)
beforeEach(() => {
  upstream.seen.length = 0
})

const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
/** Silence of so many seconds: 8,000 samples of a byte each. @param told how many bytes it says that it has */
function wav(seconds: number, told = 8000 * seconds): File {
  const data = Buffer.alloc(8000 * seconds, 0x80)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(told, 40)
  return new File([head, data], 'speech.wav', { type: 'audio/wav' })
}

/** A sound that says how long it is, and how long to wait before it, in ticks of its format. */
function wma(duration: bigint, preroll: bigint): File {
  const properties = Buffer.alloc(104)
  Buffer.from('a1dcab8c47a9cf118ee400c00c205365', 'hex').copy(properties)
  properties.writeBigUInt64LE(104n, 16)
  properties.writeBigUInt64LE(duration, 64)
  properties.writeBigUInt64LE(preroll, 80)
  const head = Buffer.alloc(30)
  Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex').copy(head)
  head.writeBigUInt64LE(BigInt(head.length + properties.length), 16)
  head.writeUInt32LE(1, 24)
  return new File([head, properties, Buffer.alloc(48_000)], 'speech.wma', { type: 'audio/x-ms-wma' })
}

function send(fields: Record<string, string | File>): Promise<Response> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return gateway.post('/v1/audio/transcriptions', form)
}

describe.each(['chat/echo', 'responses/echo'])("OpenAI's client on %s", model => {
  test('gets a transcript, and a translation', async () => {
    const transcript = await openai.audio.transcriptions.create({ model, file: wav(1) })
    expect(transcript.text).toBe('Transcript of speech.wav.')
    const translation = await openai.audio.translations.create({ model, file: wav(1) })
    expect(translation.text).toBe('Transcript of speech.wav.')
  })

  test.each([
    ['text', /^Transcript of speech\.wav\.\n$/],
    ['srt', /^1\n00:00:00,000 --> /],
    ['vtt', /^WEBVTT\n/],
  ] as const)('gets %s as the upstream wrote it', async (response_format, expected) => {
    const text: unknown = await openai.audio.transcriptions.create({ model, file: wav(1), response_format })
    expect(text).toMatch(expected)
  })

  test('gets the transcript as it comes, and what it reports is charged', async () => {
    const stream = await openai.audio.transcriptions.create({ model, file: wav(2), stream: true })
    let text = ''
    for await (const event of stream) if (event.type === 'transcript.text.delta') text += event.delta
    expect(text).toBe('Transcript of speech.wav.')
    await until(async () => (await gateway.lastExchange())?.['streamed'] === true)
    expect(await gateway.lastExchange()).toMatchObject({
      surface: 'audio',
      usage_source: 'reported',
      audio_input: 4011n,
      end_state: 'complete',
    })
  })
})

test('the form goes up as it came, in its order, but for the model', async () => {
  await send({ 'timestamp_granularities[]': 'word', model: 'stt/seconds', file: wav(1), language: 'de' })
  const { headers, body } = upstream.seen[0] ?? { headers: new Headers(), body: new Uint8Array() }
  const form = await new Response(body, { headers }).formData()
  expect([...form.keys()]).toEqual(['timestamp_granularities[]', 'model', 'file', 'language'])
  expect(form.get('model')).toBe('up')
  const file = form.get('file')
  expect(file).toBeInstanceOf(File)
  if (file instanceof File) expect(await file.bytes()).toEqual(await wav(1).bytes())
})

test.each([
  ['file', [wav(1), wav(9)]],
  ['stream', ['false', 'true']],
  ['stream', ['1']],
])('a form is refused whose %s may be read as another one than is paid for', async (name, values) => {
  const form = new FormData()
  form.append('model', 'stt/seconds')
  if (name !== 'file') form.append('file', wav(1))
  for (const value of values) form.append(name, value)
  const response = await gateway.post('/v1/audio/transcriptions', form)
  expect(response.status).toBe(400)
  expect(parseObject(await response.text())).toMatchObject({
    error: { code: 'invalid_request', param: name },
  })
  expect(upstream.seen).toEqual([])
})

describe('money', () => {
  test('reported seconds are charged, the begun one too', async () => {
    answer = () => Response.json({ text: 'x', usage: { type: 'duration', seconds: 12.1 } })
    const response = await send({ model: 'stt/seconds', file: wav(3) })
    expect(response.headers.get('x-tollgate-cost')).toBe('0.001300000')
    expect(await gateway.lastExchange()).toMatchObject({
      usage_source: 'reported',
      extras: { audioSeconds: 13 },
    })
  })

  test.each([-1, 1e300])('seconds that cannot be (%d) are those of the sound', async seconds => {
    answer = () => Response.json({ text: 'x', usage: { type: 'duration', seconds } })
    const response = await send({ model: 'stt/seconds', file: wav(3) })
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000300000')
    expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'estimated' })
  })

  test('reported tokens are charged by what they are of', async () => {
    const usage = {
      type: 'tokens',
      input_tokens: 110,
      output_tokens: 20,
      total_tokens: 130,
      input_token_details: { audio_tokens: 100, text_tokens: 10 },
    }
    answer = () => Response.json({ text: 'x', usage })
    const response = await send({ model: 'stt/tokens', file: wav(3) })
    // 10 * 2.5 + 100 * 6 + 20 * 10 per million.
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000825000')
  })

  describe("Mistral's words", () => {
    const usage = {
      prompt_audio_seconds: 3,
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 130,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 100 },
    }

    test.each([
      ['stt/tokens', usage, '0.000825000'],
      ['stt/tokens', { ...usage, prompt_tokens_details: null }, '0.000825000'],
      ['stt/seconds', usage, '0.000300000'],
      ['stt/seconds', { ...usage, total_tokens: 30, prompt_tokens_details: null }, '0.000300000'],
    ])('%s: %j is charged', async (model, told, cost) => {
      answer = () => Response.json({ model: 'up', text: 'x', segments: [], usage: told })
      const response = await send({ model, file: wav(9) })
      expect(response.headers.get('x-tollgate-cost')).toBe(cost)
      expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'reported' })
    })

    test('a prompt without its sound is no report of tokens', async () => {
      const told = { ...usage, total_tokens: 30, prompt_tokens_details: null }
      answer = () => Response.json({ text: 'x', usage: told })
      await send({ model: 'stt/tokens', file: wav(3) })
      expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'estimated', audio_input: 30n })
    })

    test.each([true, false])('a stream ends as it ends there, called one: %p', async isCalled => {
      const text = 'event: transcription.text.delta\ndata: {"type":"transcription.text.delta","text":"a"}\n\n'
      const done = JSON.stringify({
        type: 'transcription.done',
        model: 'up',
        text: 'a',
        language: null,
        usage,
      })
      const said = `${text}event: transcription.done\ndata: ${done}\n\n`
      answer = () => (isCalled ? eventStream(said) : new Response(said))
      const response = await send({ model: 'stt/seconds', file: wav(9), stream: 'true' })
      expect(await response.text()).toBe(said)
      await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 300_000n)
      expect(await gateway.lastExchange()).toMatchObject({
        usage_source: 'reported',
        end_state: 'complete',
      })
    })
  })

  test.each([false, true])(
    'tokens of what is priced by the second are no free sound, streamed: %p',
    async stream => {
      const usage = { type: 'tokens', input_tokens: 110, output_tokens: 20 }
      const told = { type: 'transcript.text.done', text: 'x', usage }
      answer = () => (stream ? eventStream(`data: ${JSON.stringify(told)}\n\n`) : Response.json(told))
      const response = await send({ model: 'stt/seconds', file: wav(3), stream: String(stream) })
      expect(await response.text()).toContain('transcript.text.done')
      await until(async () => (await gateway.lastExchange())?.['cost_nano'] === 300_000n)
      expect(await gateway.lastExchange()).toMatchObject({
        usage_source: 'estimated',
        extras: { audioSeconds: 3 },
        output_text: 20n,
      })
    },
  )

  test('seconds of what is priced by tokens are no free sound either', async () => {
    answer = () => Response.json({ text: 'spoken words', usage: { type: 'duration', seconds: 3 } })
    const response = await send({ model: 'stt/tokens', file: wav(3) })
    // 30 * 6 + 3 * 10 per million.
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000210000')
    expect(await gateway.lastExchange()).toMatchObject({
      usage_source: 'estimated',
      audio_input: 30n,
      output_text: 3n,
    })
  })

  test('a shape without a count is charged by the length of the sound', async () => {
    answer = () => new Response('x\n', { headers: { 'content-type': 'text/plain' } })
    const response = await send({ model: 'stt/seconds', file: wav(5), response_format: 'text' })
    expect(await response.text()).toBe('x\n')
    expect(response.headers.get('content-type')).toBe('text/plain')
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000500000')
    expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'estimated' })
  })

  test('one of a file that does not know its length yet is charged by its rate', async () => {
    answer = () => new Response('x\n', { headers: { 'content-type': 'text/plain' } })
    const response = await send({ model: 'stt/seconds', file: wav(9.5, 0), response_format: 'text' })
    expect(response.headers.get('x-tollgate-cost')).toBe('0.001000000')
  })

  test.each([
    ['says it', 20_000_000n, 0n, '0.000200000'],
    ['says that it ends before it begins', 0n, 5_000n, '0.000400000'],
    ['says that it ends at once', 0n, 0n, '0.000400000'],
  ])('one of a file that %s is charged', async (_what, duration, preroll, cost) => {
    answer = () => new Response('x\n', { headers: { 'content-type': 'text/plain' } })
    const file = wma(duration, preroll)
    const response = await send({ model: 'stt/seconds', file, response_format: 'text' })
    expect([response.status, response.headers.get('x-tollgate-cost')]).toEqual([200, cost])
  })

  test.each([
    [
      'json',
      () => Response.json({ text: 'hello', usage: { type: 'duration', seconds: 7 } }),
      { text: 'hello', usage: { type: 'duration', seconds: 7 } },
      700_000n,
    ],
    ['json', () => Response.json({ text: 'hello', error: {} }), { text: 'hello' }, 300_000n],
    ['json', () => Response.json({ text: '', error: '' }), { text: '' }, 300_000n],
    [
      'verbose_json',
      () => Response.json({ text: 'hello', language: 'en', segments: [{ id: 0 }] }),
      { text: 'hello', language: 'en', segments: [{ id: 0 }] },
      300_000n,
    ],
    ['text', () => new Response('hello'), { text: 'hello' }, 300_000n],
    ['text', () => new Response('data: the new oil'), { text: 'data: the new oil' }, 300_000n],
    // Events by another name.
    [
      'json',
      () => new Response('data: {"type":"transcript.text.done","text":"hello"}\n\n'),
      { text: 'hello' },
      300_000n,
    ],
  ] as const)(
    'an upstream that takes no notice of `stream` is told in an event, and charged (%s)',
    async (response_format, whole, told, cost_nano) => {
      answer = whole
      const file = wav(3)
      const asked = { model: 'stt/seconds', file, response_format, stream: true } as const
      const events = await Array.fromAsync(await openai.audio.transcriptions.create(asked))
      expect(events).toEqual([expect.objectContaining({ type: 'transcript.text.done', ...told })])
      await until(async () => (await gateway.lastExchange())?.['cost_nano'] === cost_nano)
    },
  )

  test.each([
    [{}, {}],
    [{ stream: 'true' }, {}],
    [{}, { text: '' }],
  ])('an error inside a 200 is one, and costs nothing (%p, %p)', async (more, beside) => {
    answer = () => Response.json({ ...beside, error: { message: 'out of memory', code: 500 } })
    const response = await send({ model: 'stt/seconds', file: wav(3), ...more })
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('out of memory')
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test.each([
    ['words of an error', '{"detail":"out of memory"}', 'application/json', 'out of memory'],
    ['a web page', '<html>Welcome</html>', 'text/html', 'a web page'],
    ['a web page that is called JSON', '<html>Welcome</html>', 'application/json', 'a web page'],
    ['no bytes', '', 'application/json', 'without a transcript'],
    ['no words', '\n', 'text/plain', 'without a transcript'],
    ['no members', '{}', 'application/json', 'without a transcript'],
  ])('%s inside a 200 are no transcript, and free', async (_, body, type, said) => {
    answer = () => new Response(body, { headers: { 'content-type': type } })
    const response = await send({ model: 'stt/seconds', file: wav(3) })
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining(said)])
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test.each([
    ['text/html', 'hello'],
    ['text/plain', '<laughs> hello'],
  ])('a text of type %s that is %p is a transcript', async (type, text) => {
    answer = () => new Response(text, { headers: { 'content-type': type } })
    const response = await send({ model: 'stt/seconds', file: wav(3), response_format: 'text' })
    expect([response.status, await response.text()]).toEqual([200, text])
  })

  test('an empty text is a transcript, of silence', async () => {
    answer = () => new Response('', { headers: { 'content-type': 'text/plain' } })
    const response = await send({ model: 'stt/seconds', file: wav(3), response_format: 'srt' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('x-tollgate-cost')).toBe('0.000300000')
  })

  test('events by another name are read for what was used and for errors', async () => {
    const told = 'data: {"type":"transcript.text.delta","delta":"a"}\n\n'
    const done = { type: 'transcript.text.done', text: 'a', usage: { type: 'duration', seconds: 7 } }
    answer = () => new Response(`${told}data: ${JSON.stringify(done)}\n\n`)
    const asked = { model: 'stt/seconds', file: wav(3), stream: 'true' }
    expect(await (await send(asked)).text()).toStartWith(told)
    expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'reported', cost_nano: 700_000n })
    answer = () => new Response(`${told}data: {"error":{"message":"out of memory","code":500}}\n\n`)
    const failed = await send(asked)
    expect([failed.status, await failed.text()]).toEqual([502, expect.stringContaining('out of memory')])
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })

  test('an event stream that breaks off is charged by what came of it, and says so', async () => {
    answer = () => eventStream('data: {"type":"transcript.text.delta","delta":"a"}\n\n')
    const response = await send({ model: 'stt/seconds', file: wav(4), stream: 'true' })
    expect(await response.text()).toContain('"code":"upstream_error"')
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'upstream_cut')
    expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'estimated', cost_nano: 400_000n })
  })

  test('one by another name that has no end is an error, and free: the caller had nothing of it yet', async () => {
    answer = () => new Response('data: {"type":"transcript.text.delta","delta":"a"}\n\n')
    const response = await send({ model: 'stt/seconds', file: wav(4), stream: 'true' })
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining('"upstream_error"'),
    ])
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'upstream_cut')
    expect(await gateway.lastExchange()).toMatchObject({ usage_source: 'missing', cost_nano: null })
  })
})

test.each<[string, Record<string, string | File>, string]>([
  ['no file', { model: 'stt/seconds' }, 'file'],
  ['no model', { file: wav(1) }, 'model'],
])('%s: a 400 that names the field', async (_, fields, param) => {
  const response = await send(fields)
  expect(response.status).toBe(400)
  expect(parseObject(await response.text())?.['error']).toMatchObject({ code: 'invalid_request', param })
  expect(upstream.seen).toEqual([])
})

test('a body that is no form is a 415', async () => {
  const response = await gateway.post('/v1/audio/transcriptions', '{}')
  expect(response.status).toBe(415)
})
