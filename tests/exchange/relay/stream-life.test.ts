import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { eventStream, fedStream, until, untilAborted } from '#tests/support/upstreams/upstream.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'

const reads = [HubPipeline, PassthroughPipeline].map(({ prototype }) => spyOn(prototype, 'push'))
afterAll(() => {
  for (const read of reads) read.mockRestore()
})
/** How many reads of upstreams' answers the gateway has taken. */
const taken = () => reads.reduce((sum, { mock }) => sum + mock.calls.length, 0)

const clock = manualClock()
const { gateway, upstream } = await scriptedGateway({ clock })

const SURFACES = {
  chat: {
    path: '/v1/chat/completions',
    first: 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one"}}]}\n\n',
  },
  responses: {
    path: '/v1/responses',
    first:
      'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}\n\n' +
      'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}\n\n' +
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"one"}\n\n',
  },
  messages: {
    path: '/v1/messages',
    first:
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}\n\n',
  },
  gemini: {
    path: '/v1beta/models/MODEL:streamGenerateContent?alt=sse',
    first: 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"one"}]}}]}\r\n\r\n',
  },
} as const
type Surface = keyof typeof SURFACES
const surfaces = Object.keys(SURFACES) as Surface[]

function open(
  surface: Surface,
  signal?: AbortSignal,
  model = `${surface}/echo`,
  answers = 1,
): Promise<Response> {
  const several = surface === 'chat' ? { n: answers } : { generationConfig: { candidateCount: answers } }
  return gateway.post(
    SURFACES[surface].path.replace('MODEL', model),
    {
      model,
      stream: true,
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      input: 'hi',
      contents: [{ parts: [{ text: 'hi' }] }],
      ...(answers > 1 && several),
    },
    { signal },
  )
}

function reading(response: Response) {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    get text() {
      return text
    },
    async until(marker: string) {
      while (!text.includes(marker)) {
        const read = await reader?.read()
        if (read === undefined || read.done) throw new Error(`the stream ended before ${marker}: ${text}`)
        text += decoder.decode(read.value, { stream: true })
      }
    },
    /** Reads to the end; the result is whether the end was a clean one. */
    async toEnd(): Promise<'clean' | 'broken'> {
      try {
        for (;;) {
          const read = await reader?.read()
          if (read === undefined || read.done) return 'clean'
          text += decoder.decode(read.value, { stream: true })
        }
      } catch {
        return 'broken'
      }
    },
  }
}

describe('a caller who leaves', () => {
  test('before the head: the upstream connection is closed while no time passes, and the exchange says so', async () => {
    upstream.answer = () => new Promise<Response>(() => {})
    const before = upstream.seen.length
    const abort = new AbortController()
    const call = open('chat', abort.signal).catch(() => undefined)
    await until(() => upstream.seen.length > before)
    await untilAborted(upstream, abort)
    await call
    await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
    expect(await gateway.lastExchange()).toMatchObject({ status: 499, streamed: true, first_byte_ms: null })
  })

  test('while the answer waits for its turn: the same, and none of it is charged', async () => {
    const { answers } = gateway.server.gateway
    const waits = Promise.withResolvers<void>()
    const turn = Promise.withResolvers<void>()
    const inOrder = spyOn(answers, 'turn').mockImplementationOnce(() => {
      waits.resolve()
      return turn.promise
    })
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(SURFACES.chat.first)
    const abort = new AbortController()
    const call = open('chat', abort.signal).catch(() => undefined)
    await waits.promise
    await untilAborted(upstream, abort)
    turn.resolve()
    await call
    await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
    expect(await gateway.lastExchange()).toMatchObject({ status: 499, first_byte_ms: null, cost_nano: null })
    inOrder.mockRestore()
  })

  test.each(surfaces)(
    'in the middle of a stream on %s: the upstream connection is closed a moment later',
    async surface => {
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      fed.write(SURFACES[surface].first)
      const abort = new AbortController()
      const stream = reading(await open(surface, abort.signal))
      await stream.until('one')
      const { aborted } = upstream
      const after = spyOn(clock, 'after')
      abort.abort()
      await until(() => after.mock.calls.some(([ms]) => ms === 30))
      after.mockRestore()
      clock.advance(30)
      await until(() => upstream.aborted > aborted)
      // The rest of a tick of the watchdog, which the tests below count in.
      clock.advance(220)
      await until(async () => (await gateway.lastExchange())['end_state'] === 'client_gone')
      expect(await gateway.lastExchange()).toMatchObject({
        status: 499,
        surface,
        account_id: BigInt(gateway.accountId),
      })
    },
  )

  test('of a whole answer: the upstream connection is closed while no time passes', async () => {
    upstream.answer = () => new Promise<Response>(() => {})
    const before = upstream.seen.length
    const abort = new AbortController()
    const call = gateway
      .post('/v1/chat/completions', '{"model":"chat/echo","messages":[]}', { signal: abort.signal })
      .catch(() => undefined)
    await until(() => upstream.seen.length > before)
    await untilAborted(upstream, abort)
    await call
  })

  test('after the terminal event: that is a success', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(
      'data: {"choices":[{"index":0,"delta":{"content":"one"},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]\n\n',
    )
    const abort = new AbortController()
    const stream = reading(await open('chat', abort.signal))
    await stream.until('[DONE]')
    const count = (await gateway.exchanges()).length
    abort.abort()
    await until(async () => (await gateway.exchanges()).length > count)
    expect(await gateway.lastExchange()).toMatchObject({
      end_state: 'complete',
      status: 200,
      output_text: 1n,
    })
  })
})

describe('an upstream that is silent', () => {
  test.each([
    ['chat', ': keepalive\n\n'],
    ['responses', ': keepalive\n\n'],
    ['messages', 'event: ping'],
    ['gemini', '\n'],
  ] as const)(
    'for 90 s in a %s stream: the stream lives and keepalives arrive between events',
    async (surface, keepalive) => {
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      fed.write(SURFACES[surface].first)
      const stream = reading(await open(surface))
      await stream.until('one')
      const start = stream.text.length
      for (let silence = 0; silence < 90_000; silence += 1000) clock.advance(1000)
      fed.write(SURFACES[surface].first.replace('one', 'two'))
      await stream.until('two')
      const silent = stream.text.slice(
        start,
        stream.text.indexOf(SURFACES[surface].first.split('\n')[0] ?? '', start),
      )
      expect(silent.split(keepalive).length - 1).toBeGreaterThanOrEqual(5)
      fed.close()
      await stream.toEnd()
    },
  )

  test('before its head: the head is sent after 15 s with a keepalive, and the answer follows', async () => {
    const head = Promise.withResolvers<Response>()
    upstream.answer = () => head.promise
    const before = upstream.seen.length
    const call = open('chat')
    await until(() => upstream.seen.length > before)
    clock.advance(16_000)
    const response = await call
    expect(response.status).toBe(200)
    clock.advance(15_000)
    const stream = reading(response)
    await stream.until(': keepalive')
    head.resolve(
      eventStream(
        `${SURFACES.chat.first}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
      ),
    )
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toContain('one')
    expect(stream.text).toEndWith('data: [DONE]\n\n')
  })

  test('before its head, and then fails: the error comes in-band', async () => {
    const head = Promise.withResolvers<Response>()
    upstream.answer = () => head.promise
    const before = upstream.seen.length
    const call = open('messages')
    await until(() => upstream.seen.length > before)
    clock.advance(16_000)
    const stream = reading(await call)
    head.resolve(
      new Response('{"type":"error","error":{"type":"invalid_request_error","message":"no such thing"}}', {
        status: 400,
      }),
    )
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toContain('event: error')
    expect(stream.text).toContain('no such thing (request id: ')
    await until(async () => (await gateway.lastExchange())['error_code'] === 'upstream_rejected')
  })

  test('before its head, and then fails, asked in the words of Responses at Chat Completions: the error is in those of Chat', async () => {
    const head = Promise.withResolvers<Response>()
    upstream.answer = () => head.promise
    const before = upstream.seen.length
    const call = gateway.post('/v1/chat/completions', { model: 'messages/echo', stream: true, input: 'hi' })
    await until(() => upstream.seen.length > before)
    clock.advance(16_000)
    const stream = reading(await call)
    clock.advance(15_000)
    await stream.until(': keepalive\n\n')
    head.resolve(
      new Response('{"type":"error","error":{"type":"invalid_request_error","message":"no such thing"}}', {
        status: 400,
      }),
    )
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toMatch(/^(: keepalive\n\n)+data: \{"error":\{"message":"no such thing .*\}\}\n\n$/)
    await until(async () => (await gateway.lastExchange())['error_code'] === 'upstream_rejected')
  })

  test('before its head, and then fails behind output that nobody was given: the error comes in-band, and is free', async () => {
    const head = Promise.withResolvers<Response>()
    upstream.answer = () => head.promise
    const before = upstream.seen.length
    const call = open('chat')
    await until(() => upstream.seen.length > before)
    clock.advance(16_000)
    const stream = reading(await call)
    head.resolve(
      eventStream(`${SURFACES.chat.first}data: {"error":{"message":"out of memory","code":500}}\n\n`),
    )
    await stream.toEnd()
    expect(stream.text).not.toContain('one')
    expect(stream.text).toContain('out of memory')
    await until(async () => (await gateway.lastExchange())['error_code'] === 'upstream_error')
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, usage_source: 'missing' })
  })

  test('only by a clock that is set on by an hour: the stream goes on', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(SURFACES.chat.first)
    const stream = reading(await open('chat'))
    await stream.until('one')
    clock.set(3_600_000)
    clock.advance(1000)
    fed.write(SURFACES.chat.first.replace('one', 'two'))
    await stream.until('two')
    fed.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    fed.close()
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).not.toContain('"error":{')
    clock.set(-3_600_000)
  })

  test('for longer than the channel allows: the stream ends in an error and the exchange is stalled', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(SURFACES.chat.first)
    const stream = reading(await open('chat'))
    await stream.until('one')
    const aborted = upstream.aborted
    for (let silence = 0; silence <= 121_000; silence += 1000) clock.advance(1000)
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toContain('"error":{')
    expect(stream.text).toContain('stream timed out')
    expect(stream.text).not.toContain('[DONE]')
    await until(() => upstream.aborted > aborted)
    await until(async () => (await gateway.lastExchange())['end_state'] === 'stalled')
  })

  test.each([
    [
      'its usage known: the stream ends with it, soon',
      5_000,
      'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n',
    ],
    ['no usage told: the stream ends with it, after the time that the channel allows', 120_000, ''],
  ])('after the end of its answer, %s', async (_, ms, usage) => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n${usage}data: [DONE]\n\n`
    fed.write(SURFACES.chat.first + end)
    const stream = reading(await open('chat'))
    await stream.until('[DONE]')
    const aborted = upstream.aborted
    clock.advance(ms - 1_000)
    expect(upstream.aborted).toBe(aborted)
    clock.advance(1_000)
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text.replaceAll(': keepalive\n\n', '')).toEndWith('data: [DONE]\n\n')
    await until(() => upstream.aborted > aborted)
    await until(async () => (await gateway.lastExchange())['end_state'] === 'complete')
  })

  test('and never sends its head: 504 in the shape of the surface after first_byte_ms', async () => {
    upstream.answer = () => new Promise<Response>(() => {})
    const before = upstream.seen.length
    const call = gateway.post('/v1/messages', '{"model":"messages/echo","max_tokens":1,"messages":[]}')
    await until(() => upstream.seen.length > before)
    clock.advance(121_000)
    const response = await call
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'timeout_error', code: 'upstream_timeout' },
    })
  })
})

/** How an answer of each format ends, with a usage of 2 tokens. */
const ENDS: Record<Surface, string> = {
  chat: 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\ndata: [DONE]\n\n',
  responses:
    'event: response.completed\ndata: {"type":"response.completed","sequence_number":3,"response":{"id":"resp_1","object":"response","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"one","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}\n\n',
  messages:
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  gemini:
    'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}\r\n\r\n',
}

/** What keeps a connection alive and says nothing. */
const NOISE: Record<Surface, string> = {
  chat: ': waiting\n\n',
  responses: ': waiting\n\n',
  messages: 'event: ping\ndata: {"type":"ping"}\n\n',
  gemini: '\r\n',
}

describe('an upstream that goes on behind the end of its answer', () => {
  test.each(surfaces.flatMap(made => surfaces.map(asked => [made, asked] as const)))(
    'made on %s, asked for on %s: the stream ends soon behind that end, whole and charged',
    async (made, asked) => {
      const before = (await gateway.exchanges()).length
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      fed.write(SURFACES[made].first.replace('one', 'one and more'))
      const stream = reading(await open(asked, undefined, `${made}/echo`))
      await stream.until('one')
      const aborted = upstream.aborted
      let heard = taken()
      fed.write(ENDS[made])
      const ended = stream.toEnd()
      await until(() => taken() > heard)
      while (upstream.aborted === aborted && Bun.peek.status(ended) === 'pending') {
        heard = taken()
        fed.write(NOISE[made])
        await until(() => taken() > heard || upstream.aborted > aborted)
        clock.advance(250)
      }
      expect(await ended).toBe('clean')
      expect(stream.text).not.toContain('"error":{')
      await until(() => upstream.aborted > aborted)
      await until(async () => (await gateway.exchanges()).length > before)
      expect(await gateway.lastExchange()).toMatchObject({ end_state: 'complete', output_text: 2n })
    },
  )
})

describe('an upstream that says why its answer ends, but not that it has', () => {
  const LAST = {
    chat: 'data: [DONE]\n\n',
    messages: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  }
  const WITHOUT_USAGE = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'

  test.each<[keyof typeof LAST, string, number, string]>([
    ['chat', 'soon', 5_000, ENDS.chat.replace(LAST.chat, '')],
    ['messages', 'soon', 5_000, ENDS.messages.replace(LAST.messages, '')],
    ['chat', 'without usage: after the time that the channel allows', 120_000, WITHOUT_USAGE],
  ])('and stays silent: an answer of %s is complete %s', async (format, _, ms, end) => {
    for (const caller of ['chat', 'messages'] as const) {
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      fed.write(SURFACES[format].first + end)
      const stream = reading(await open(caller, undefined, `${format}/echo`))
      await stream.until('one')
      const aborted = upstream.aborted
      clock.advance(ms - 1_000)
      expect(upstream.aborted).toBe(aborted)
      clock.advance(1_000)
      expect(await stream.toEnd()).toBe('clean')
      expect(stream.text).toEndWith(LAST[caller])
      await until(() => upstream.aborted > aborted)
      await until(async () => (await gateway.lastExchange())['end_state'] === 'complete')
    }
  })

  test('but says it before its answer has begun, may be silent as long as any', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    const { first } = SURFACES.messages
    const early = first.replace('"stop_reason":null', '"stop_reason":"end_turn"')
    expect(early).not.toBe(first)
    fed.write(early)
    const stream = reading(await open('messages'))
    await stream.until('one')
    const aborted = upstream.aborted
    clock.advance(60_000)
    expect(upstream.aborted).toBe(aborted)
    fed.write(ENDS.messages)
    fed.close()
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toContain('"output_tokens":2')
  })
})

describe('an upstream of which two choices were asked for, and one has come to its end', () => {
  const choice = (index: number, delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index, delta, finish_reason: finish }] })}\n\n`
  const FIRST = choice(0, { role: 'assistant', content: 'one' }) + choice(0, {}, 'stop')
  const SECOND = choice(1, { role: 'assistant', content: 'two' }) + choice(1, {}, 'stop')

  async function openBoth(caller: 'chat' | 'gemini') {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(FIRST)
    const stream = reading(await open(caller, undefined, 'chat/echo', 2))
    await stream.until('on')
    return { fed, stream }
  }

  test.each(['chat', 'gemini'] as const)(
    'may take its time for the other, as long as it says so (for %s)',
    async caller => {
      const { fed, stream } = await openBoth(caller)
      const aborted = upstream.aborted
      for (let waited = 0; waited < 300_000; waited += 10_000) {
        const before = taken()
        fed.write(': working\n\n')
        await until(() => taken() > before)
        clock.advance(10_000)
      }
      expect(upstream.aborted).toBe(aborted)
      fed.write(`${SECOND}data: [DONE]\n\n`)
      fed.close()
      expect(await stream.toEnd()).toBe('clean')
      expect(stream.text).toContain('"index":1')
      await until(async () => (await gateway.lastExchange())['end_state'] === 'complete')
    },
  )

  test.each([
    ['chat', 'closes', 'upstream_cut'],
    ['chat', 'says nothing', 'stalled'],
    ['gemini', 'closes', 'upstream_cut'],
    ['gemini', 'says nothing', 'stalled'],
  ] as const)('has been cut where it then, for %s, %s', async (caller, how, endState) => {
    const { fed, stream } = await openBoth(caller)
    if (how === 'closes') fed.close()
    else clock.advance(120_000)
    await stream.toEnd()
    expect(stream.text).toContain('"error":{')
    expect(stream.text).not.toContain('[DONE]')
    await until(async () => (await gateway.lastExchange())['end_state'] === endState)
  })

  test.each([
    ['chat', 'breaks', 'upstream_cut'],
    ['gemini', 'breaks', 'upstream_cut'],
    ['chat', 'closes', 'complete'],
    ['gemini', 'closes', 'complete'],
    ['chat', 'stays', 'complete'],
    ['gemini', 'stays', 'complete'],
  ] as const)(
    'of Gemini, which has no mark, has been cut where its connection breaks: for %s, %s',
    async (caller, how, endState) => {
      const fed = fedStream()
      upstream.answer = () => eventStream(fed.stream)
      // In one, so that the gateway has read the end as well when its caller has read the beginning.
      fed.write(SURFACES.gemini.first + ENDS.gemini)
      const stream = reading(await open(caller, undefined, 'gemini/echo', 2))
      await stream.until('one')
      if (how === 'breaks') fed.fail()
      else if (how === 'closes') fed.close()
      else clock.advance(120_000)
      await stream.toEnd()
      expect(stream.text.includes('"error":{')).toBe(how === 'breaks')
      await until(async () => (await gateway.lastExchange())['end_state'] === endState)
    },
  )

  test.each([
    ['its mark', 'data: [DONE]\n\n'],
    [
      'the usage that comes last',
      'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
    ],
    [
      'the usage beside an empty delta',
      'data: {"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
    ],
    [
      "Groq's usage",
      'data: {"choices":[{"index":0,"delta":{}}],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":2}}}\n\n',
    ],
  ])('has given no more than that where it says so by %s', async (_, end) => {
    const { fed, stream } = await openBoth('chat')
    fed.write(end)
    fed.close()
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text).toEndWith('data: [DONE]\n\n')
    await until(async () => (await gateway.lastExchange())['end_state'] === 'complete')
  })
})

describe('an upstream that is cut', () => {
  test('in the middle of an event is cut for a caller of another format, too', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(`${SURFACES.chat.first}data: {"half of an ev`)
    const stream = reading(await open('messages', undefined, 'chat/echo'))
    await stream.until('one')
    fed.close()
    await stream.toEnd()
    expect(stream.text).toContain("The upstream's answer ended early (server error) (request id: ")
    await until(async () => (await gateway.lastExchange())['end_state'] === 'upstream_cut')
  })

  test.each([
    ['chat', '"error":{"message":', '[DONE]'],
    ['responses', 'event: response.failed', 'response.completed'],
    ['messages', 'event: error', 'message_stop'],
    ['gemini', 'data: {"error":', 'finishReason'],
  ] as const)(
    'in a %s stream is an error event in its grammar, in words on which agents ask again, and never a clean end',
    async (surface, error, terminal) => {
      for (const how of ['closed', 'reset'] as const) {
        const fed = fedStream()
        upstream.answer = () => eventStream(fed.stream)
        fed.write(`${SURFACES[surface].first}data: {"half of an ev`)
        const stream = reading(await open(surface))
        await stream.until('one')
        if (how === 'closed') fed.close()
        else fed.fail()
        const end = await stream.toEnd()
        expect(end).toBe(surface === 'gemini' ? 'broken' : 'clean')
        expect(stream.text).toContain(error)
        expect(stream.text).toContain('server error) (request id: ')
        expect(stream.text).not.toContain(terminal)
        expect(stream.text).not.toContain('half of')
        await until(async () => (await gateway.lastExchange())['end_state'] === 'upstream_cut')
      }
    },
  )

  test('continues the sequence numbers of a Responses stream in its error events', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(SURFACES.responses.first)
    const stream = reading(await open('responses'))
    await stream.until('one')
    fed.close()
    await stream.toEnd()
    const [error, failed] = stream.text
      .trim()
      .split('\n\n')
      .slice(-2)
      .map(event => JSON.parse(event.slice(event.indexOf('{'))))
    expect(error).toMatchObject({ type: 'error', sequence_number: 3, code: 'server_error' })
    expect(failed).toMatchObject({
      type: 'response.failed',
      sequence_number: 4,
      response: { status: 'failed' },
    })
  })
})

describe('an error that cannot be written', () => {
  /** What is left of an exchange once it is closed. */
  async function closed(before: number) {
    await until(async () => (await gateway.exchanges()).length > before)
    const { sql } = gateway.database
    const [left] = await sql<{ holds: bigint }[]>`select count(*) as holds from hold`
    return {
      exchange: await gateway.lastExchange(),
      holds: left?.holds,
      open: gateway.server.gateway.open.size,
    }
  }

  test.each([
    ['before any output', '', { end_state: 'upstream_error', cost_nano: null }],
    ['in the middle', SURFACES.chat.first, { end_state: 'upstream_cut', cost_nano: expect.any(BigInt) }],
  ])('breaks the connection, and the exchange is settled and stored: %s', async (_, output, exchange) => {
    const before = (await gateway.exchanges()).length
    const asked = upstream.seen.length
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    const unwritable = spyOn(CODECS['openai-chat-completions'], 'encodeErrorEvent')
    unwritable.mockImplementation(() => {
      throw new Error('a bug of an encoder')
    })
    try {
      const begun = open('chat')
      if (output === '') {
        await until(() => upstream.seen.length > asked)
        clock.advance(16_000)
      } else fed.write(output)
      const stream = reading(await begun)
      fed.fail()
      expect(await stream.toEnd()).toBe('broken')
      expect(stream.text).not.toContain('[DONE]')
      expect(await closed(before)).toEqual({
        exchange: expect.objectContaining({ ...exchange, error_code: 'internal_error' }),
        holds: 0n,
        open: 0,
      })
    } finally {
      unwritable.mockRestore()
    }
  })
})

describe('an error inside a 200', () => {
  test('as the first event becomes the status it names', async () => {
    upstream.answer = () =>
      eventStream(
        'data: {"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}\n\n',
      )
    const response = await open('chat')
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ error: { type: 'rate_limit_error' } })
  })

  test('in the middle of a stream is passed on in our own words', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write(SURFACES.messages.first)
    const stream = reading(await open('messages'))
    await stream.until('one')
    fed.write(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy at https://internal.example/x"}}\n\n',
    )
    expect(await stream.toEnd()).toBe('clean')
    expect(stream.text.match(/event: error/g)).toHaveLength(1)
    expect(stream.text).toContain('(request id: ')
    expect(stream.text).not.toContain('internal.example')
    await until(async () => (await gateway.lastExchange())['end_state'] === 'upstream_error')
  })
})

describe('text that is split over writes', () => {
  test('arrives whole, emoji and CJK included', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    const text = '世界 😀 é'.repeat(20)
    const bytes = new TextEncoder().encode(SURFACES.chat.first.replace('one', text))
    for (const byte of bytes) fed.write(Uint8Array.of(byte))
    const stream = reading(await open('chat'))
    await stream.until(text)
    fed.close()
    await stream.toEnd()
  })
})

test.each([
  ['comes to its end', () => eventStream(`${SURFACES.chat.first}data: [DONE]\n\n`)],
  ['has no answer', () => new Response('{"error":{"message":"no such thing"}}', { status: 400 })],
])('a stream that %s is watched no more', async (_, answer) => {
  const add = spyOn(gateway.server.gateway.watchdog, 'add')
  upstream.answer = answer
  const count = (await gateway.exchanges()).length
  await (await open('chat')).text()
  await until(async () => (await gateway.exchanges()).length > count)
  const [watched] = add.mock.calls.at(-1) ?? []
  add.mockRestore()
  if (watched === undefined) throw new Error('it was never watched')
  const tick = spyOn(watched, 'tick')
  clock.advance(1_000)
  expect(tick).not.toHaveBeenCalled()
})
