import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway({
  models: `
  - { id: "same", channels: [{ channel: chat, model: "same" }], prices: { input: 1, output: 2 } }
  - { id: "msame", channels: [{ channel: messages, model: "msame" }], prices: { input: 1, output: 2 } }
  - { id: "vendor/with:odd/name", channels: [{ channel: gemini, model: "vendor/with:odd/name" }], prices: { input: 1, output: 2 } }`,
})

function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post(path, body, { headers })
}

/** A stream that is read in these pieces. */
function inOrder(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const left = [...pieces]
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })
}

const WHOLE =
  '{"id":"x", "object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1.0,"total_tokens":4}, "odd":1e21}'

/** JSON text with spellings that a parser would lose. */
const oddNumber = fc.constantFrom('1.0', '1e21', '-0', '12345678901234567890', '0.10', '1E+2', '5')
const oddString = fc
  .string({ unit: 'grapheme', maxLength: 8 })
  .map(text => JSON.stringify(text).replace(/a/g, '\\u0061'))
const { value: oddValue } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    oddNumber,
    oddString,
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 3 }).map(items => `[ ${items.join(' ,\t')} ]`),
    fc
      .array(fc.tuple(oddString, tie('value')), { maxLength: 3 })
      .map(entries => `{${entries.map(([key, value]) => `${key} :\n${value}`).join(',')}}`),
  ),
}))

/** Fields of Chat that are short enough to be made up by chance, and that an odd value of is refused. */
const READ_HERE = ['model', 'stream', 'n', '__proto__']

describe('the request on its way up', () => {
  test('arrives byte for byte as it was sent when the model has the same name there', async () => {
    upstream.answer = () => new Response(WHOLE, { headers: { 'content-type': 'application/json' } })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(oddString, oddValue), { maxLength: 4 }), async entries => {
        const extra = entries.filter(([key]) => !READ_HERE.includes(JSON.parse(key)))
        const body = `{ "model" : "same",${extra.map(([key, value]) => `${key}:${value}, `).join('')} "messages":[] }\n`
        const response = await post('/v1/chat/completions', body)
        expect(response.status).toBe(200)
        await response.arrayBuffer()
        expect(upstream.lastBody()).toBe(body)
      }),
      { numRuns: 60 },
    )
  })

  test('changes in the value of the model alone when its name differs there', async () => {
    upstream.answer = () => new Response(WHOLE, { headers: { 'content-type': 'application/json' } })
    const body =
      '{"temperature":1.0,  "model" :\t"chat/echo" ,"metadata":{"model":"chat/echo"},"x":1e21,"messages":[]}'
    await (await post('/v1/chat/completions', body)).arrayBuffer()
    expect(upstream.lastBody()).toBe(body.replace('"chat/echo" ,', '"echo" ,'))
  })

  test('asks a streaming Chat upstream for usage and changes nothing else', async () => {
    upstream.answer = () => eventStream('data: [DONE]\n\n')
    await (
      await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[],"n":1.0}')
    ).arrayBuffer()
    expect(upstream.lastBody()).toBe(
      '{"model":"same","stream":true,"messages":[],"n":1.0,"stream_options":{"include_usage":true}}',
    )
  })

  test('keeps what Codex says of itself and of the machine it runs on', async () => {
    upstream.answer = () => new Response('{"object":"response","output":[]}')
    const metadata = '{"session_id":"s-1","x-codex-turn-metadata":"{\\"workspaces\\":[\\"/home/me\\"]}"}'
    const body = `{"model":"responses/echo","client_metadata" : ${metadata}, "input":"hi"}`
    await (await post('/v1/responses', body)).arrayBuffer()
    expect(upstream.lastBody()).toBe('{"model":"echo","client_metadata" : {}, "input":"hi","store":false}')
  })

  test('carries the channel key and never the caller key, cookies or session headers', async () => {
    upstream.answer = () => new Response(WHOLE, { headers: { 'content-type': 'application/json' } })
    await post('/v1/chat/completions', '{"model":"same","messages":[]}', {
      cookie: 'secret=1',
      'x-codex-turn-metadata': '{"path":"/home/me"}',
      'x-forwarded-for': '1.2.3.4',
      'openai-organization': 'org-mine',
      'openai-beta': 'assistants=v2',
    })
    const headers = upstream.seen.at(-1)?.headers
    expect(headers?.get('authorization')).toBe('Bearer upstream-key-chat')
    expect([...(headers ?? [])].map(([name, value]) => `${name}: ${value}`).join('\n')).not.toContain(
      gateway.key,
    )
    for (const name of ['cookie', 'x-codex-turn-metadata', 'x-forwarded-for', 'openai-organization']) {
      expect(headers?.get(name)).toBeNull()
    }
    expect(headers?.get('openai-beta')).toBe('assistants=v2')
  })

  test('keeps anthropic-version and anthropic-beta towards a Messages upstream', async () => {
    upstream.answer = () =>
      new Response(
        '{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
      )
    await post('/v1/messages?beta=true', '{"model":"msame","max_tokens":5,"messages":[]}', {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-1,b-2',
    })
    const seen = upstream.seen.at(-1)
    expect(seen?.path).toBe('/v1/messages')
    expect(seen?.headers.get('anthropic-version')).toBe('2026-10-21')
    expect(seen?.headers.get('anthropic-beta')).toBe('a-1,b-2')
    expect(seen?.headers.get('x-api-key')).toBe('upstream-key-messages')
    expect(seen?.headers.get('authorization')).toBeNull()
  })

  test.each(['vendor/with:odd/name', 'vendor%2Fwith%3Aodd%2Fname'])(
    'finds the Gemini model %s behind the last colon',
    async name => {
      upstream.answer = () =>
        new Response('{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}')
      const response = await post(`/v1beta/models/${name}:generateContent`, '{"contents":[]}')
      expect(response.status).toBe(200)
      expect(upstream.seen.at(-1)?.path).toBe('/v1beta/models/vendor/with%3Aodd/name:generateContent')
      expect(upstream.seen.at(-1)?.query).toBe('')
    },
  )
})

describe('the answer on its way down', () => {
  test('arrives byte for byte, odd numbers and unknown fields included', async () => {
    upstream.answer = () =>
      new Response(WHOLE, {
        headers: { 'content-type': 'application/json', 'set-cookie': 'a=b', 'x-upstream-secret': '1' },
      })
    const response = await post('/v1/chat/completions', '{"model":"same","messages":[]}')
    expect(await response.text()).toBe(WHOLE)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('x-upstream-secret')).toBeNull()
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  const STREAM = [
    ': a comment\n\n',
    'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}], "odd":1.0}\n\n',
    'data: {"id":"1","choices":[{"index":0,"delta":{"content":"héllo 世界 😀"}}]}\r\n\r\n',
    'event: x\ndata: {"id":"1","choices":[{"index":0,"delta":{"content":"\\u4e16"}}]}\n\n',
    'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    'data: {"id":"1","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}\n\n',
    'data: [DONE]\n\n',
  ]
  const bytes = new TextEncoder().encode(STREAM.join(''))

  function inPieces(sizes: (rest: number) => number, stream = bytes): ReadableStream<Uint8Array> {
    let at = 0
    return new ReadableStream({
      pull(controller) {
        const size = sizes(stream.length - at)
        controller.enqueue(stream.slice(at, at + size))
        at += size
        if (at >= stream.length) controller.close()
      },
    })
  }

  test('arrives byte for byte when it is split at every byte, usage chunk asked for', async () => {
    upstream.answer = () => eventStream(inPieces(() => 1))
    const response = await post(
      '/v1/chat/completions',
      '{"model":"same","stream":true,"messages":[],"stream_options":{"include_usage":true}}',
    )
    expect(await response.text()).toBe(STREAM.join(''))
  })

  test('arrives byte for byte for any split in two', async () => {
    for (let cut = 1; cut < bytes.length; cut += 7) {
      upstream.answer = () => eventStream(inPieces(rest => (rest === bytes.length ? cut : rest)))
      const response = await post(
        '/v1/chat/completions',
        '{"model":"same","stream":true,"messages":[],"stream_options":{"include_usage":true}}',
      )
      expect(await response.text()).toBe(STREAM.join(''))
    }
  })

  test('has the usage chunk when it was asked for in the words of OpenRouter', async () => {
    upstream.answer = () => eventStream(inPieces(() => 3))
    const response = await post(
      '/v1/chat/completions',
      '{"model":"same","stream":true,"messages":[],"usage":{"include":true}}',
    )
    expect(await response.text()).toBe(STREAM.join(''))
    expect(upstream.lastBody()).toEndWith('"usage":{"include":true},"stream_options":{"include_usage":true}}')
  })

  test('lacks the usage chunk, and nothing else, when the caller did not ask for it; usage is metered all the same', async () => {
    upstream.answer = () => eventStream(inPieces(() => 3))
    const response = await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[]}')
    expect(await response.text()).toBe(STREAM.filter(event => !event.includes('"usage"')).join(''))
    const last = await gateway.lastExchange()
    expect(last).toMatchObject({
      input_uncached: 7n,
      output_text: 2n,
      usage_source: 'reported',
      end_state: 'complete',
    })
  })

  test('lacks "usage": null in its other chunks as well, however it arrives', async () => {
    const chunk = (more: string) => `data: {"id":"1","choices":[{"index":0,${more}}],"usage":null}\n\n`
    const text = [
      ...Array.from({ length: 40 }, (_, place) =>
        chunk(`"delta":{"content":"${place}\\",\\"usage\\":null}"}`),
      ),
      chunk('"delta":{},"finish_reason":"stop"'),
      STREAM.slice(-2).join(''),
    ].join('')
    const stream = new TextEncoder().encode(text)
    const expected = text
      .replaceAll(',"usage":null}\n', `${' '.repeat(13)}}\n`)
      .replace(STREAM.at(-2) ?? '', '')
    for (const size of [
      1,
      50,
      chunk('"delta":{"content":"0\\",\\"usage\\":null}"}').length,
      1000,
      stream.length,
    ]) {
      upstream.answer = () => eventStream(inPieces(rest => Math.min(size, rest), stream.slice()))
      const response = await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[]}')
      expect(await response.text()).toBe(expected)
    }
  })

  test.each([
    ['\n', ''],
    ['\n', '\n'],
    ['\r\n', '\r\n'],
    ['\r', '\r'],
  ])(
    'gives a last event its empty line, whatever of it came: lines end in %j, the last in %j',
    async (line, last) => {
      const text = `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}${line}${line}data: [DONE]`
      upstream.answer = () => eventStream(text + last)
      const response = await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[]}')
      expect(await response.text()).toBe(text + line + line)
    },
  )

  describe('gets the end that the upstream left out', () => {
    const START =
      'data: {"id":"c-1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    const CALL =
      'data: {"id":"c-1","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}\n\n'
    const FINISH = 'data: {"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
    const USAGE = 'data: {"id":"c-1","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\n'
    const DONE = 'data: [DONE]\n\n'
    const finish = (reason: string) =>
      `data: {"id":"c-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"${reason}"}]}\n\n`

    test.each<[string, string, string]>([
      ['a finish reason', START + DONE, START + finish('stop') + DONE],
      ['one after a call', CALL + DONE, CALL + finish('tool_calls') + DONE],
      ['one behind the usage', START + USAGE + DONE, START + USAGE + finish('stop') + DONE],
      ['one in front of half a mark', `${START}data: [DONE]`, START + finish('stop') + DONE],
      ['[DONE]', START + FINISH, START + FINISH + DONE],
      ['[DONE] behind the usage', START + FINISH + USAGE, START + FINISH + USAGE + DONE],
      ['[DONE] and an empty line', START + FINISH.trimEnd(), START + FINISH + DONE],
      ['nothing', START + FINISH + USAGE + DONE, START + FINISH + USAGE + DONE],
    ])('%s', async (_what, given, expected) => {
      for (const pieces of [[given], given.match(/.{1,40}|\n/gs) ?? []]) {
        upstream.answer = () => eventStream(inOrder(pieces))
        const response = await post(
          '/v1/chat/completions',
          '{"model":"same","stream":true,"messages":[],"stream_options":{"include_usage":true}}',
        )
        expect(await response.text()).toBe(expected)
        expect(await gateway.lastExchange()).toMatchObject({ end_state: 'complete' })
      }
    })

    test('but not of an answer that was cut', async () => {
      upstream.answer = () => eventStream(START)
      const response = await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[]}')
      const text = await response.text()
      expect(text).toContain('"error"')
      expect(text).not.toContain('[DONE]')
      expect(text).not.toContain('finish_reason')
    })
  })

  test('whose last event lacks its empty line has its error in an event of its own', async () => {
    const event = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}'
    upstream.answer = () => eventStream(`${event}\n\n${event}`)
    const response = await post('/v1/chat/completions', '{"model":"same","stream":true,"messages":[]}')
    expect(await response.text()).toMatch(/"x"\}\}\]\}\n\ndata: .*"x"\}\}\]\}\n\ndata: \{"error"/)
  })

  test('becomes a JSON array for a Gemini caller who asked for no events, payload untouched', async () => {
    const parts = [
      '{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}], "odd":1.0}',
      '{"candidates":[{"content":{"parts":[{"text":"b"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":1,"totalTokenCount":3}}',
    ]
    upstream.answer = request => {
      expect(request.query).toBe('?alt=sse')
      return eventStream(parts.map(part => `data: ${part}\r\n\r\n`).join(''))
    }
    const response = await post('/v1beta/models/gemini/echo:streamGenerateContent', '{"contents":[]}')
    expect(response.headers.get('content-type')).toStartWith('application/json')
    const text = await response.text()
    expect(JSON.parse(text)).toHaveLength(2)
    for (const part of parts) expect(text).toContain(part)
  })

  test.each([
    ['alt=sse', 'text/event-stream'],
    ['$alt=sse', 'text/event-stream'],
    ['%24alt=sse;enum-encoding=int', 'text/event-stream'],
    ['$alt=json;enum-encoding=int', 'application/json'],
  ])('is to a Gemini caller who says %s %s', async (query, type) => {
    upstream.answer = () => eventStream('data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n')
    const path = `/v1beta/models/gemini/echo:streamGenerateContent?${query}`
    expect((await post(path, '{"contents":[]}')).headers.get('content-type')).toStartWith(type)
  })

  test('never hands comments on to a Gemini stream', async () => {
    upstream.answer = () =>
      eventStream(
        ': hello\n\ndata: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}\n\n: bye\n\n',
      )
    const response = await post('/v1beta/models/gemini/echo:streamGenerateContent?alt=sse', '{"contents":[]}')
    expect(await response.text()).toBe(
      'data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}\n\n',
    )
  })

  test.each(['\n', '\r\n', '\r'])(
    'nor one that stands within an event, which stays: lines end in %j',
    async line => {
      const event = (text: string, more = '') =>
        `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]}${more}}]}`
      const [first, second] = [event('a é \\n: b'), event('c', ',"finishReason":"STOP"')]
      const text = `: one${line}${first}${line}${line}: two${line}: three${line}${second}${line}: four${line}${line}: five`
      const stream = new TextEncoder().encode(text)
      for (const size of [1, 7, stream.length]) {
        upstream.answer = () => eventStream(inPieces(() => size, stream))
        const response = await post(
          '/v1beta/models/gemini/echo:streamGenerateContent?alt=sse',
          '{"contents":[]}',
        )
        expect(await response.text()).toBe(`${first}${line}${line}${second}${line}${line}`)
      }
    },
  )

  test('is told as a stream when the upstream answers whole, and whole when it streams', async () => {
    upstream.answer = () => new Response(WHOLE, { headers: { 'content-type': 'application/json' } })
    const streamed = await post(
      '/v1/chat/completions',
      '{"model":"same","stream":true,"messages":[{"role":"user","content":"hi"}]}',
    )
    const text = await streamed.text()
    expect(text).toContain('"content":"hi"')
    expect(text).toEndWith('data: [DONE]\n\n')
    upstream.answer = () => eventStream(STREAM.join(''))
    const whole = await post(
      '/v1/chat/completions',
      '{"model":"same","messages":[{"role":"user","content":"hi"}]}',
    )
    expect(await whole.json()).toMatchObject({
      choices: [{ message: { content: 'héllo 世界 😀世' }, finish_reason: 'stop' }],
    })
  })
})
