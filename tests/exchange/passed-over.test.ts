import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { readError } from '#tests/surfaces/calls.ts'
import { GatewayError } from '@/errors/gateway-error.ts'

const ANSWERS: Readonly<Record<string, string>> = {
  '/v1/responses/input_tokens': '{"object":"response.input_tokens","input_tokens":33}',
  '/v1/messages':
    '{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"claude"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7}}',
  '/v1/chat/completions':
    '{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"gpt"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}',
}
/** By path; 200 unless said. */
const statuses = new Map<string, number>()
/** Answers come once it has resolved. */
let released = Promise.resolve()
const upstream = fileUpstream(async ({ path }) => {
  await released
  return new Response(ANSWERS[path], { status: statuses.get(path) ?? 200 })
})
const clock = manualClock()
const gateway = await fileGateway({ clock })

await gateway.apply('fetch_media: true')

let round = 0
/** Of each channel that is made. */
let keys = ['k']
/** A model of a new channel for each of these formats, tried in their order, each with one request at once. */
async function modelOf(...formats: string[]): Promise<string> {
  round += 1
  const channels = formats.map((format, index) => ({ name: `c-${round}-${index}`, format, priority: index }))
  const rows = channels.map(
    ({ name, format, priority }) =>
      `  - { name: ${name}, format: ${format}, base_url: "${upstream.url}", api_keys: ${JSON.stringify(keys)}, priority: ${priority}, max_concurrent: 1 }`,
  )
  await gateway.apply(`
channels:
${rows.join('\n')}
models:
  - { id: mixed-${round}, channels: [${channels.map(({ name }) => `{ channel: ${name}, model: m }`).join(', ')}], prices: { input: 1, output: 2 } }
`)
  return `mixed-${round}`
}

/** A sound, which Claude's API has no place for. */
const SOUND = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }

const HI = [{ role: 'user', content: 'hi' }]

function askWithSound(model: string): Promise<Response> {
  return gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: [SOUND] }] })
}

/** By an address, which Gemini does not fetch; nor is there anything that could be fetched. */
const PICTURE = {
  role: 'user',
  content: [{ type: 'image', source: { type: 'url', url: 'http://127.0.0.1:9/a.png' } }],
}

function askWithPicture(model: string): Promise<Response> {
  return gateway.post('/v1/messages', { model, max_tokens: 9, messages: [PICTURE] })
}

const asked = () => upstream.seen.map(({ path }) => path)

afterEach(() => {
  keys = ['k']
  statuses.clear()
  released = Promise.resolve()
  upstream.seen.length = 0
})

describe('a channel whose format cannot say the request', () => {
  test('is passed over for one whose format can, and does not count as an attempt', async () => {
    const response = await askWithSound(await modelOf('anthropic-messages', 'openai-chat-completions'))
    expect(await response.text()).toContain('gpt')
    expect(asked()).toEqual(['/v1/chat/completions'])
    expect(await gateway.lastExchange()).toMatchObject({ attempts: 1, end_state: 'complete' })
  })

  test('is passed over where we cannot read what the other may know', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    const response = await gateway.post('/v1/chat/completions', {
      model,
      response_format: { type: 'grammar', grammar: 'root ::= "yes"' },
      reasoning_effort: 'low',
      messages: HI,
    })
    expect(await response.text()).toContain('gpt')
    expect(asked()).toEqual(['/v1/chat/completions'])
  })

  test('is passed over in strict mode for what would be lost there', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    const body = { model, logit_bias: { '1': 5 }, messages: HI }
    const lax = await gateway.post('/v1/chat/completions', body)
    expect([lax.headers.get('x-tollgate-losses'), await lax.text()]).toEqual([
      'logit_bias',
      expect.stringContaining('claude'),
    ])
    const strict = await gateway.post('/v1/chat/completions', body, {
      headers: { 'x-tollgate-strict': 'true' },
    })
    expect([strict.headers.get('x-tollgate-losses'), await strict.text()]).toEqual([
      null,
      expect.stringContaining('gpt'),
    ])
  })

  test('does not hide that another failed: that may pass, and the caller is told so', async () => {
    statuses.set('/v1/chat/completions', 503)
    const response = await askWithSound(await modelOf('openai-chat-completions', 'anthropic-messages'))
    expect(await readError(response, 'chat')).toMatchObject({ status: 503, code: 'upstream_error' })
    expect(asked()).toEqual(['/v1/chat/completions'])
  })

  test('is no reason to refuse while another, which can, is only held back for a while', async () => {
    const model = await modelOf('openai-chat-completions', 'anthropic-messages')
    statuses.set('/v1/chat/completions', 401)
    await (await askWithSound(model)).text()
    statuses.clear()
    expect(await (await askWithSound(model)).text()).toContain('gpt')
  })

  test('is no reason to refuse while another, which can, is only full', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    const release = Promise.withResolvers<void>()
    released = release.promise
    const filled = askWithSound(model)
    await until(() => upstream.seen.length === 1)
    const refused = await askWithSound(model)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await readError(refused, 'chat')).toMatchObject({ status: 503, code: 'no_channel' })
    release.resolve()
    expect(await (await filled).text()).toContain('gpt')
  })

  test('is, as one that fails, no last word while another is only full', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    const release = Promise.withResolvers<void>()
    released = release.promise
    const filled = askWithSound(model)
    await until(() => upstream.seen.length === 1)
    released = Promise.resolve()
    statuses.set('/v1/messages', 401)
    // Asked like any other, then as the last resort.
    for (const attempts of [1, 2]) {
      const refused = await gateway.post('/v1/messages', { model, max_tokens: 9, messages: HI })
      expect(await readError(refused, 'messages')).toMatchObject({ status: 503, code: 'no_channel' })
      expect(upstream.seen.length).toBe(1 + attempts)
    }
    // A limit passes by itself, and its upstream knows when.
    statuses.set('/v1/messages', 429)
    const limited = await gateway.post('/v1/messages', { model, max_tokens: 9, messages: HI })
    expect(await readError(limited, 'messages')).toMatchObject({ status: 429, code: 'upstream_rate_limited' })
    release.resolve()
    expect(await (await filled).text()).toContain('gpt')
  })

  test('is no last word while the place of another was taken meanwhile', async () => {
    const model = await modelOf('gemini-generate-content', 'anthropic-messages')
    const fetching = Promise.withResolvers<never>()
    const begun = Promise.withResolvers<void>()
    const fetchMedia = spyOn(gateway.server.gateway, 'fetchMedia').mockImplementation(() => {
      begun.resolve()
      return fetching.promise
    })
    const picture = askWithPicture(model)
    await begun.promise
    const release = Promise.withResolvers<void>()
    released = release.promise
    const filled = gateway.post('/v1/messages', { model, max_tokens: 9, messages: HI })
    await until(() => upstream.seen.length === 1)
    fetching.reject(new GatewayError('invalid_request', 'it is not there'))
    expect(await readError(await picture, 'messages')).toMatchObject({ status: 503, code: 'no_channel' })
    fetchMedia.mockRestore()
    release.resolve()
    expect(await (await filled).text()).toContain('claude')
  })

  test('is passed over where the media are not to be had that its format wants as data', async () => {
    const response = await askWithPicture(await modelOf('gemini-generate-content', 'anthropic-messages'))
    expect(await response.text()).toContain('claude')
    expect(asked()).toEqual(['/v1/messages'])
  })

  test('is passed over where there is no memory for writing the request anew, which passes', async () => {
    const room = spyOn(gateway.server.gateway.bodyRoom, 'takeMade').mockReturnValue(false)
    const messages = [{ role: 'user', content: 'x'.repeat(100_000) }, PICTURE]
    const ask = async (...formats: string[]) =>
      gateway.post('/v1/messages', { model: await modelOf(...formats), max_tokens: 9, messages })
    const served = await ask('openai-chat-completions', 'anthropic-messages')
    const refused = await ask('gemini-generate-content', 'openai-chat-completions')
    room.mockRestore()
    expect(await served.text()).toContain('claude')
    expect(await readError(refused, 'messages')).toMatchObject({ status: 503, code: 'overloaded' })
  })

  test('is passed over where all are held back', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    // A limit passes sooner than a refusal, so this one is the first to be asked.
    statuses.set('/v1/messages', 429)
    await (await gateway.post('/v1/messages', { model, max_tokens: 9, messages: HI })).text()
    statuses.set('/v1/chat/completions', 401)
    await (await askWithSound(model)).text()
    statuses.clear()
    expect(await (await askWithSound(model)).text()).toContain('gpt')
  })

  test('sends nobody to what is held back where another could be asked, which failed', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions', 'gemini-generate-content')
    for (const path of ['/v1/messages', '/v1/chat/completions']) statuses.set(path, 503)
    statuses.set('/v1beta/models/m:generateContent', 401)
    await (await gateway.post('/v1/messages', { model, max_tokens: 9, messages: HI })).text()
    expect(upstream.seen).toHaveLength(3)
    upstream.seen.length = 0
    expect(await readError(await askWithSound(model), 'chat')).toMatchObject({
      status: 503,
      code: 'upstream_error',
    })
    expect(asked()).toEqual(['/v1/chat/completions'])
  })

  test('is passed over by a count of tokens, with all its keys', async () => {
    keys = ['k', 'l', 'm']
    const model = await modelOf('anthropic-messages', 'openai-responses')
    const request = { model, input: [{ role: 'user', content: [SOUND] }] }
    const response = await gateway.post('/v1/responses/input_tokens', request)
    expect(await response.json()).toMatchObject({ input_tokens: 33 })
  })

  test('is no reason to refuse a count of what is served with its media fetched: it is estimated', async () => {
    const model = await modelOf('gemini-generate-content')
    const count = () => gateway.post('/v1/messages/count_tokens', { model, messages: [PICTURE] })
    const estimated = await count()
    expect([estimated.status, estimated.headers.get('x-tollgate-estimated')]).toEqual([200, 'true'])
    await gateway.apply('fetch_media: false')
    const refused = await readError(await count(), 'messages')
    await gateway.apply('fetch_media: true')
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_parameter' })
  })

  test('is named by what it lacks, if there is no other; of several the first', async () => {
    const model = await modelOf('anthropic-messages', 'anthropic-messages')
    expect(await readError(await askWithSound(model), 'chat')).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
    })
    expect(asked()).toEqual([])
  })

  test.each([
    ['seed', 'anthropic-messages', 'gemini-generate-content'],
    ['user', 'gemini-generate-content', 'anthropic-messages'],
  ])('is named by what the first lacks: %s, where it is %s', async (lacking, first, second) => {
    const body = { model: await modelOf(first, second), seed: 1, user: 'ann', messages: HI }
    const refused = await gateway.post('/v1/chat/completions', body, {
      headers: { 'x-tollgate-strict': 'true' },
    })
    expect(await readError(refused, 'chat')).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: lacking,
    })
    expect(asked()).toEqual([])
  })

  test('is asked as before for what it can say, where it was about to show whether it works again', async () => {
    const model = await modelOf('anthropic-messages', 'openai-chat-completions')
    const ask = (content: string) =>
      gateway.post('/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content }] })
    statuses.set('/v1/messages', 429)
    await (await ask('once')).text()
    statuses.clear()
    clock.advance(2_000)
    expect(await (await askWithSound(model)).text()).toContain('gpt')
    expect(await (await ask('again')).text()).toContain('claude')
  })
})

test('a model whose only channel is full, and held back as well, may be asked again when it is not held back', async () => {
  const model = await modelOf('openai-chat-completions')
  statuses.set('/v1/chat/completions', 401)
  await (await askWithSound(model)).text()
  statuses.clear()
  const release = Promise.withResolvers<void>()
  released = release.promise
  const filled = askWithSound(model)
  await until(() => upstream.seen.length === 2)
  const refused = await askWithSound(model)
  expect(await readError(refused, 'chat')).toMatchObject({ status: 503, code: 'no_channel' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(60)
  release.resolve()
  expect(await (await filled).text()).toContain('gpt')
})
