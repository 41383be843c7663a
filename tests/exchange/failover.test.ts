import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { eventStream, fedStream, type Script, until } from '#tests/support/upstreams/upstream.ts'

let answerFirst: Script

const DELTA = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one"}}]}\n\n'
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}\n\ndata: [DONE]\n\n'
const GOOD_STREAM = DELTA.replace('one', 'two') + END
const GOOD_WHOLE =
  '{"id":"2","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"two"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}'

const first = fileUpstream((request, signal) => answerFirst(request, signal))
const second = fileUpstream(({ body }) =>
  new TextDecoder().decode(body).includes('"stream":true')
    ? eventStream(GOOD_STREAM)
    : new Response(GOOD_WHOLE),
)
const gateway = await fileGateway()

let round = 0
/** A model of two new channels, so that no breaker remembers the test before. */
async function twoChannels({ alone = false, firstByteMs = 60_000 } = {}): Promise<string> {
  // Beside it `new-N`, another model of the same channels.
  round += 1
  const model = `pair-${round}`
  await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["one-${round}"], priority: 0, timeouts: { first_byte_ms: ${firstByteMs} } }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${second.url}", api_keys: ["two-${round}"], priority: 1 }
models:
  - { id: ${model}, channels: [{ channel: a-${round}, model: m }${alone ? '' : `, { channel: b-${round}, model: m }`}], prices: { input: 1, output: 2 } }
  - { id: new-${round}, channels: [{ channel: a-${round}, model: new }, { channel: b-${round}, model: new }], prices: { input: 1, output: 2 } }
`)
  return model
}

function post(model: string, stream: boolean, text = `hi ${round}`, signal?: AbortSignal): Promise<Response> {
  return send(
    `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":${JSON.stringify(text)}}]}`,
    signal,
  )
}

function send(body: string, signal?: AbortSignal): Promise<Response> {
  return gateway.post('/v1/chat/completions', body, { signal })
}

afterEach(() => {
  first.seen.length = 0
  second.seen.length = 0
})

const refuses = (status: number) => () => new Response('{"error":{"message":"no"}}', { status })
const FAILING: [name: string, script: Script, firstByteMs?: number][] = [
  ['500', refuses(500)],
  ['502', refuses(502)],
  ['503', refuses(503)],
  ['529', refuses(529)],
  ['429', refuses(429)],
  ['401', refuses(401)],
  ['402', refuses(402)],
  ['403', refuses(403)],
  ['no head in time', () => new Promise<Response>(() => {}), 300],
  ['a body that is no answer', () => new Response('<html>busy</html>')],
  ['an error inside a 200', () => new Response('{"error":{"message":"overloaded","code":503}}')],
]
const MOVES_ON = FAILING.map(([name, script, firstByteMs = 60_000]) => [name, script, firstByteMs] as const)

describe('what goes wrong before any output', () => {
  test.each(MOVES_ON)(
    '%s: another channel answers, streamed and whole, and is all that is charged',
    async (_name, script, firstByteMs) => {
      answerFirst = script
      for (const stream of [true, false]) {
        const model = await twoChannels({ firstByteMs })
        const response = await post(model, stream)
        expect(response.status).toBe(200)
        const text = await response.text()
        expect(text).toContain('two')
        expect(text).not.toContain('"error"')
        expect(await gateway.lastExchange()).toMatchObject({
          attempts: 2,
          channel: `b-${round}`,
          end_state: 'complete',
          cost_nano: 5n * 1000n + 7n * 2000n,
        })
      }
    },
  )

  test.each([
    [
      'an error as the first event',
      () => eventStream('data: {"error":{"message":"busy","type":"server_error"}}\n\n'),
    ],
    [
      'an error after the role',
      () =>
        eventStream(
          `${DELTA.replace('one', '')}data: {"error":{"message":"busy","type":"server_error"}}\n\n`,
        ),
    ],
    ['a stream that ends at once', () => eventStream(': hello\n\n')],
  ] as [string, Script][])(
    '%s: another channel answers and nothing of the first is seen',
    async (_name, script) => {
      answerFirst = script
      const response = await post(await twoChannels(), true)
      const text = await response.text()
      expect(text).toContain('two')
      expect(text).not.toContain('busy')
      expect(text).not.toContain('hello')
    },
  )

  test('events without an end, in place of a whole answer: another channel answers', async () => {
    answerFirst = () => eventStream(DELTA)
    const response = await post(await twoChannels(), false)
    expect(await response.text()).toContain('two')
    expect(await gateway.lastExchange()).toMatchObject({ attempts: 2, end_state: 'complete' })
  })

  test.each(MOVES_ON)(
    '%s: a large request is whole on the other channel',
    async (_name, script, firstByteMs) => {
      answerFirst = script
      for (const stream of [true, false]) {
        const text = 'a long "story"\n'.repeat(5000)
        const response = await post(await twoChannels({ firstByteMs }), stream, text)
        expect(await response.text()).toContain('two')
        const [sent] = second.seen.splice(0)
        expect(JSON.parse(new TextDecoder().decode(sent?.body))).toMatchObject({
          model: 'm',
          messages: [{ role: 'user', content: text }],
        })
      }
    },
  )

  const story = 'a long "story"\n'.repeat(5000)
  const messages = `"messages":[{"role":"user","content":${JSON.stringify(story)}}]`

  test.each([
    ['first', (name: string) => ` {"model" : "${name}", ${messages}}`],
    ['last', (name: string) => `{${messages}, "model" : "${name}", "n":1.0}`],
  ])(
    'a large request with its model %s reaches every channel as it came, but for the name that the model has there',
    async (_, spelled) => {
      round += 1
      answerFirst = refuses(500)
      await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 0 }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 1 }
  - { name: c-${round}, format: openai-chat-completions, base_url: "${second.url}", api_keys: ["k"], priority: 2 }
models:
  - { id: named-${round}, channels: [{ channel: a-${round}, model: m }, { channel: b-${round}, model: a-longer-name-${round} }, { channel: c-${round}, model: mm }], prices: { input: 1, output: 2 } }
`)
      const response = await send(spelled(`named-${round}`))
      expect(await response.text()).toContain('two')
      const sent = [...first.seen, ...second.seen].map(({ body }) => String(Buffer.from(body)))
      expect(sent).toEqual(['m', `a-longer-name-${round}`, 'mm'].map(spelled))
    },
  )

  test('a large request that was handed on as it came is whole where it is converted then', async () => {
    round += 1
    answerFirst = refuses(500)
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 0 }
  - { name: b-${round}, format: anthropic-messages, base_url: "${first.url}", api_keys: ["k"], priority: 1 }
models:
  - { id: both-${round}, channels: [{ channel: a-${round}, model: m }, { channel: b-${round}, model: mm }], prices: { input: 1, output: 2 } }
`)
    await send(`{"model":"both-${round}",${messages}}`)
    const [asIs, converted] = first.seen.map(({ body }) => String(Buffer.from(body)))
    expect(asIs).toBe(`{"model":"m",${messages}}`)
    expect(JSON.parse(converted ?? '')).toMatchObject({
      model: 'mm',
      messages: [{ role: 'user', content: [{ type: 'text', text: story }] }],
    })
  })

  test.each([429, 401])(
    '%d with key after key of a channel: the last attempt is for another channel',
    async status => {
      round += 1
      answerFirst = refuses(status)
      await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k", "l", "m", "n"], priority: 0 }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${second.url}", api_keys: ["k"], priority: 1 }
models:
  - { id: pool-${round}, channels: [{ channel: a-${round}, model: m }, { channel: b-${round}, model: m }], prices: { input: 1, output: 2 } }
`)
      const response = await post(`pool-${round}`, true)
      expect(await response.text()).toContain('two')
      expect([first.seen.length, second.seen.length]).toEqual([2, 1])
    },
  )

  test.each([false, true])('no more than three attempts are made (stream: %p)', async stream => {
    round += 1
    answerFirst = refuses(500)
    const names = [1, 2, 3, 4, 5].map(n => `c-${round}-${n}`)
    await gateway.apply(`
channels:${names
      .map(
        name => `
  - { name: ${name}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"] }`,
      )
      .join('')}
models:
  - { id: five-${round}, channels: [${names.map(name => `{ channel: ${name}, model: m }`)}], prices: { input: 1, output: 2 } }
`)
    expect((await post(`five-${round}`, stream)).status).toBe(502)
    expect(first.seen).toHaveLength(3)
    expect(await gateway.lastExchange()).toMatchObject({ attempts: 3 })
  })

  test.each([false, true])('a channel that filled up meanwhile is left out (stream: %p)', async stream => {
    round += 1
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 0 }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 1, max_concurrent: 1 }
  - { name: c-${round}, format: openai-chat-completions, base_url: "${second.url}", api_keys: ["k"], priority: 2 }
models:
  - { id: all-${round}, channels: [{ channel: a-${round}, model: fails }, { channel: b-${round}, model: m }, { channel: c-${round}, model: m }], prices: { input: 1, output: 2 } }
  - { id: full-${round}, channels: [{ channel: b-${round}, model: m }], prices: { input: 1, output: 2 } }
`)
    const failed = Promise.withResolvers<Response>()
    const filling = Promise.withResolvers<Response>()
    answerFirst = ({ body }) =>
      new TextDecoder().decode(body).includes('"fails"') ? failed.promise : filling.promise
    const asked = post(`all-${round}`, stream)
    await until(() => first.seen.length === 1)
    const filled = post(`full-${round}`, false)
    await until(() => first.seen.length === 2)
    failed.resolve(refuses(500)())
    expect(await (await asked).text()).toContain('two')
    expect(await gateway.lastExchange()).toMatchObject({ attempts: 2, channel: `c-${round}` })
    filling.resolve(new Response(GOOD_WHOLE))
    await filled
  })

  test.each([400, 404, 413, 422])("%d is the caller's own: no other channel is asked", async status => {
    answerFirst = refuses(status)
    const response = await post(await twoChannels(), true)
    expect(response.status).toBe(status)
    expect(second.seen).toHaveLength(0)
  })

  test("a 400 that OpenAI's other format would not get: a channel of that answers, and no other key is asked", async () => {
    round += 1
    const message =
      'Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. Please use /v1/responses instead.'
    const refusal = { message, type: 'invalid_request_error', param: 'reasoning_effort', code: null }
    const content = [{ type: 'output_text', text: 'two', annotations: [] }]
    const output = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }]
    const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 }
    answerFirst = ({ path }) =>
      path === '/v1/responses'
        ? Response.json({ id: 'resp_1', object: 'response', status: 'completed', output, usage })
        : Response.json({ error: refusal }, { status: 400 })
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k", "l"] }
  - { name: b-${round}, format: openai-responses, base_url: "${first.url}", api_keys: ["k"] }
models:
  - { id: tools-${round}, channels: [{ channel: a-${round}, model: m }, { channel: b-${round}, model: m }], prices: { input: 1, output: 2 } }
`)
    expect(await (await post(`tools-${round}`, false)).text()).toContain('"two"')
    expect(first.seen.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses'])
  })

  test('on the only channel there is: the error in the shape of the surface, with nothing charged', async () => {
    answerFirst = refuses(500)
    const response = await post(await twoChannels({ alone: true }), true)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await gateway.lastExchange()).toMatchObject({
      attempts: 1,
      end_state: 'upstream_error',
      cost_nano: null,
    })
  })
})

describe('what goes wrong after output', () => {
  test('is an error in the stream: no other channel is asked, nothing is spliced', async () => {
    const fed = fedStream()
    answerFirst = () => eventStream(fed.stream)
    fed.write(DELTA)
    const response = await post(await twoChannels(), true)
    fed.close()
    const text = await response.text()
    expect(text).toContain('one')
    expect(text).toContain('"error"')
    expect(text).not.toContain('two')
    expect(second.seen).toHaveLength(0)
  })
})

describe('what the breakers count', () => {
  test('an answer once, streamed or whole, and by what its own attempt took', async () => {
    answerFirst = () => eventStream(DELTA + END)
    for (const stream of [true, false]) {
      if (!stream) answerFirst = () => new Response(GOOD_WHOLE)
      expect((await post(await twoChannels(), stream)).status).toBe(200)
      const shown = gateway.server.channelHealth().find(({ channel }) => channel === `a-${round}`)
      expect(shown?.breaker).toMatchObject({ succeeded: 1, failed: 0 })
    }
  })

  test('an answer that broke off as one that began and one that failed', async () => {
    const fed = fedStream()
    answerFirst = () => eventStream(fed.stream)
    fed.write(DELTA)
    const response = await post(await twoChannels(), true)
    fed.close()
    await response.text()
    const shown = gateway.server.channelHealth().find(({ channel }) => channel === `a-${round}`)
    expect(shown?.breaker).toMatchObject({ succeeded: 1, failed: 1 })
  })

  test('neither for nor against an upstream whose caller left before it had any output', async () => {
    const begun = Promise.withResolvers<void>()
    const turn = spyOn(gateway.server.gateway.answers, 'turn').mockImplementationOnce(() => {
      begun.resolve()
      return undefined
    })
    const fed = fedStream()
    answerFirst = () => eventStream(fed.stream)
    fed.write(DELTA.replace('one', ''))
    const caller = new AbortController()
    const answer = post(await twoChannels(), true, 'hi', caller.signal).catch(() => undefined)
    await begun.promise
    caller.abort()
    await answer
    await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
    const shown = gateway.server.channelHealth().find(({ channel }) => channel === `a-${round}`)
    expect(shown?.breaker).toMatchObject({ succeeded: 0, failed: 0 })
    turn.mockRestore()
  })
})

describe('a channel that keeps failing', () => {
  test('is no longer asked, and a key that was refused is taken out at once', async () => {
    answerFirst = refuses(500)
    const model = await twoChannels()
    for (let n = 0; n < 12; n += 1) expect((await post(model, false)).status).toBe(200)
    expect(first.seen.length).toBeLessThan(8)
    answerFirst = refuses(401)
    const other = await twoChannels()
    first.seen.length = 0
    for (let n = 0; n < 4; n += 1) expect((await post(other, false)).status).toBe(200)
    expect(first.seen).toHaveLength(1)
  })

  test('is asked for other models when its key was refused for one', async () => {
    const refused = JSON.stringify({ error: { message: 'no access', code: 'model_not_found' } })
    answerFirst = ({ body }) =>
      new TextDecoder().decode(body).includes('"new"')
        ? new Response(refused, { status: 403 })
        : new Response(GOOD_WHOLE)
    const model = await twoChannels()
    for (let n = 0; n < 3; n += 1) expect((await post(`new-${round}`, false)).status).toBe(200)
    expect(first.seen).toHaveLength(1)
    expect((await post(model, false)).status).toBe(200)
    expect([first.seen.length, second.seen.length]).toEqual([2, 3])
    const shown = gateway.server.channelHealth().find(({ channel }) => channel === `a-${round}`)
    expect(shown?.keys[0]).toMatchObject({ breaker: { state: 'closed' }, pausedModels: [{ model: 'new' }] })
  })

  test('is asked for other models when its key is at the limit of one, and not for that one because they were served', async () => {
    answerFirst = ({ body }) =>
      new TextDecoder().decode(body).includes('"new"')
        ? new Response('{"error":{"message":"slow down"}}', { status: 429, headers: { 'retry-after': '60' } })
        : new Response(GOOD_WHOLE)
    const model = await twoChannels()
    for (const one of [`new-${round}`, model, `new-${round}`, model])
      expect((await post(one, false)).status).toBe(200)
    expect([first.seen.length, second.seen.length]).toEqual([3, 2])
    const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
    expect(metrics).toContain(
      `tollgate_held_back{channel="a-${round}",key="0",model="new",cause="rate-limited"} 1`,
    )
  })

  test('shows a key that was refused, and goes on knowing it when the channel is edited', async () => {
    answerFirst = refuses(401)
    const model = await twoChannels()
    expect((await post(model, false)).status).toBe(200)
    const metrics = async () => (await fetch(`${gateway.opsUrl}/metrics`)).text()
    const line = `tollgate_held_back{channel="a-${round}",key="0",cause="refused"} 1`
    expect(await metrics()).toContain(line)
    expect(gateway.logLines.join()).toContain('a channel or key is held back')
    const edited = (keys: string) =>
      gateway.apply(
        `channels: [{ name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: [${keys}], weight: 3 }]`,
      )
    await edited(`"one-${round}"`)
    expect(await metrics()).toContain(line)
    await edited(`"another-${round}"`)
    expect(await metrics()).not.toContain(line)
  })

  test('is asked all the same when there is no other', async () => {
    answerFirst = refuses(401)
    const model = await twoChannels({ alone: true })
    expect((await post(model, false)).status).toBe(502)
    answerFirst = () => new Response(GOOD_WHOLE)
    expect((await post(model, false)).status).toBe(200)
  })

  test('with room for one request at once has room again when that is over, however it ended', async () => {
    round += 1
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], max_concurrent: 1 }
models:
  - { id: narrow-${round}, channels: [{ channel: a-${round}, model: m }], prices: { input: 1, output: 2 } }
`)
    for (const [script, status] of [
      [() => new Response(GOOD_WHOLE), 200],
      [refuses(400), 400],
      [() => new Response(GOOD_WHOLE), 200],
    ] as const) {
      answerFirst = script
      expect((await post(`narrow-${round}`, false)).status).toBe(status)
    }
  })

  test('is asked alone of all that are held back, when there is no other', async () => {
    round += 1
    answerFirst = refuses(401)
    await gateway.apply(`
channels:
  - { name: a-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 0 }
  - { name: b-${round}, format: openai-chat-completions, base_url: "${first.url}", api_keys: ["k"], priority: 1 }
models:
  - { id: held-${round}, channels: [{ channel: a-${round}, model: m }, { channel: b-${round}, model: m }], prices: { input: 1, output: 2 } }
`)
    const asked = async () => {
      first.seen.length = 0
      expect((await post(`held-${round}`, false)).status).toBe(502)
      return first.seen.length
    }
    expect([await asked(), await asked()]).toEqual([2, 1])
  })
})
