import { describe, expect, test } from 'bun:test'
import { channelOf, routeOf } from '#tests/support/channels.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { recording } from '#tests/transcripts/recording.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type AnswerListener, readAnswer } from '@/exchange/attempt/answer-body.ts'
import { send } from '@/exchange/attempt/attempt.ts'
import { clientClosed } from '@/exchange/interruption.ts'
import { passOf } from '@/exchange/pass.ts'
import { answerListener } from '@/exchange/relay/whole-answer.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'

const NEVER = new Promise<void>(() => {})

/** A body of which each read takes so long, as fetch gives it: it breaks when its attempt is aborted. */
function slowBody(
  reads: readonly (string | Uint8Array)[],
  clock: ManualClock,
  eachMs: number,
  attempt: AbortController,
) {
  let at = 0
  const state = { cancelled: false }
  const stream = new ReadableStream<Uint8Array>(
    {
      start: controller => {
        attempt.signal.addEventListener('abort', () => controller.error(attempt.signal.reason))
      },
      pull(controller) {
        const read = reads[at]
        at += 1
        // The last read is never followed by an end: that is up to each test.
        if (read === undefined) return NEVER
        clock.advance(eachMs)
        if (attempt.signal.aborted) return NEVER
        controller.enqueue(Buffer.from(read))
        if (at === reads.length && String(read).endsWith('}')) controller.close()
        return undefined
      },
      cancel: () => {
        state.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, state }
}

function reading(
  reads: readonly string[],
  eachMs: number,
  headers: Record<string, string> = {},
  listener?: AnswerListener,
) {
  const clock = manualClock()
  const attempt = new AbortController()
  const deadlines = new Deadlines(clock)
  const { stream } = slowBody(reads, clock, eachMs, attempt)
  const response = new Response(stream, { headers })
  const answer = readAnswer(response, { deadlines, idleMs: 120_000, attempt, listener })
  return { answer, attempt, clock }
}

describe('a whole answer', () => {
  test('may take any time, as long as something of it comes: white space while a model thinks', async () => {
    const { answer, attempt } = reading([...Array(20).fill('\n'), '{"a":', '1}'], 100_000)
    expect(Buffer.from(await answer).toString()).toBe(`${'\n'.repeat(20)}{"a":1}`)
    expect(attempt.signal.aborted).toBe(false)
  })

  test('that has no end is not kept without one', async () => {
    const megabyte = 'x'.repeat(1024 * 1024)
    const { answer } = reading(Array(257).fill(megabyte), 0)
    await expect(answer).rejects.toThrow("The upstream's answer is larger than 268435456 bytes")
  })

  test('that is short by its head, but compressed, is no shorter than it turns out', async () => {
    const megabyte = 'x'.repeat(1024 * 1024)
    const headers = { 'content-length': '50988', 'content-encoding': 'gzip' }
    const { answer } = reading(Array(257).fill(megabyte), 0, headers)
    await expect(answer).rejects.toThrow("The upstream's answer is larger than 268435456 bytes")
  })

  test('of which nothing comes for idle_ms is given up', async () => {
    const { answer, attempt } = reading(['\n', '\n'], 121_000)
    await expect(answer).rejects.toThrow()
    expect(attempt.signal.reason).toMatchObject({ code: 'upstream_timeout', isStall: true })
  })
})

describe.each(FORMATS)('an answer of %s that comes as events, though nobody asked for a stream', format => {
  const text = recording(format, 'text').stream.toString()
  const preparation = { codec: CODECS[format], decodeContext: { vendor: 'v', newId: () => 'id' } }
  const listener = () => answerListener({ preparation })

  test('is whole five seconds behind its end, though its connection stays open', async () => {
    const half = text.length >> 1
    const { answer, clock } = reading([text.slice(0, half), text.slice(half)], 0, {}, listener())
    const begun = clock.elapsed()
    await until(() => {
      if (Bun.peek.status(answer) === 'pending') clock.advance(100)
      return Bun.peek.status(answer) !== 'pending'
    })
    expect(Buffer.from(await answer).toString()).toBe(text)
    expect(clock.elapsed() - begun).toBeGreaterThanOrEqual(5000)
  })

  test('is whole then as well if comments still come over it', async () => {
    const { answer, clock } = reading([text, ...Array(100).fill(': waiting\n\n')], 1000, {}, listener())
    const begun = clock.elapsed()
    expect(Buffer.from(await answer).toString()).toStartWith(text)
    expect(clock.elapsed() - begun).toBeLessThan(7000)
  })

  test.each([
    ['behind its end is whole', text.length, undefined],
    ['before it is none', text.length >> 1, 'closed the connection before its answer was complete'],
  ])('and whose connection breaks %s', async (_, length, error) => {
    let isRead = false
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (isRead) controller.error(new Error('ECONNRESET'))
          else controller.enqueue(Buffer.from(text.slice(0, length)))
          isRead = true
        },
      },
      { highWaterMark: 0 },
    )
    const patience = { deadlines: new Deadlines(manualClock()), idleMs: 1000, attempt: new AbortController() }
    const answer = readAnswer(new Response(stream), { ...patience, listener: listener() })
    if (error === undefined) expect(Buffer.from(await answer).toString()).toBe(text)
    else await expect(answer).rejects.toThrow(error)
  })

  test('is not waited for when its caller has left', async () => {
    const heard = listener()
    const { answer, attempt } = reading([text], 0, {}, heard)
    await until(() => heard.finished)
    attempt.abort(clientClosed())
    await expect(answer).rejects.toThrow()
  })
})

test('an answer in events that tells no usage is whole after idle_ms, though comments still come', async () => {
  const codec = CODECS['openai-chat-completions']
  const listener = answerListener({
    preparation: { codec, decodeContext: { vendor: 'v', newId: () => 'id' } },
  })
  const text =
    'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  const { answer, clock } = reading([text, ...Array(100).fill(': waiting\n\n')], 50_000, {}, listener)
  const begun = clock.elapsed()
  expect(Buffer.from(await answer).toString()).toStartWith(text)
  expect(clock.elapsed() - begun).toBeLessThan(250_000)
})

test('an answer in events of which Gemini was asked for two is whole after idle_ms behind the first, though its usage is told', async () => {
  const codec = CODECS['gemini-generate-content']
  const decodeContext = { vendor: 'v', newId: () => 'id', answers: 2 }
  const listener = answerListener({ preparation: { codec, decodeContext } })
  const text =
    'data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}\n\n'
  const { answer, clock } = reading([text, ...Array(100).fill('\n')], 50_000, {}, listener)
  const begun = clock.elapsed()
  expect(Buffer.from(await answer).toString()).toStartWith(text)
  expect(clock.elapsed() - begun).toBeGreaterThanOrEqual(120_000)
})

test.each([
  [
    'five seconds behind its usage',
    'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n',
    5_000,
  ],
  ['after idle_ms', '', 120_000],
])(
  'an answer in events that lacks its [DONE] is whole %s, on a connection that stays open',
  async (_, usage, ms) => {
    const codec = CODECS['openai-chat-completions']
    const listener = answerListener({
      preparation: { codec, decodeContext: { vendor: 'v', newId: () => 'id' } },
    })
    const text = `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n${usage}`
    const { answer, clock } = reading([text], 0, {}, listener)
    const begun = clock.elapsed()
    await until(() => {
      if (Bun.peek.status(answer) === 'pending') clock.advance(100)
      return Bun.peek.status(answer) !== 'pending'
    })
    expect(Buffer.from(await answer).toString()).toBe(text)
    expect(clock.elapsed() - begun).toBeWithin(ms, ms + 2_000)
  },
)

/** An upstream whose error body says this and then stalls. */
function failing(...reads: (string | Uint8Array)[]) {
  const clock = manualClock()
  const attempt = new AbortController()
  const { stream, state } = slowBody(reads, clock, 0, attempt)
  const client = async () => new Response(stream, { status: 400 })
  const call = { kind: 'generate', model: 'm', stream: true } as const
  const sent = send(
    { gateway: { client, clock, deadlines: new Deadlines(clock) }, pass: passOf({ money: 'held' }) },
    {
      preparation: { call, body: undefined, headers: {} },
      candidate: { route: routeOf(channelOf(1)), key: undefined },
    },
    attempt,
  ).catch((error: unknown) => error)
  return { sent, clock, attempt, state }
}

describe('an error body that stalls', () => {
  test('is judged by its status and by what came of it, after five seconds', async () => {
    const { sent, clock, state } = failing('no such temperature')
    let isOver = false
    void sent.then(() => {
      isOver = true
    })
    await until(() => {
      if (!isOver) clock.advance(100)
      return isOver
    })
    expect(await sent).toMatchObject({ kind: 'upstream_rejected', message: 'no such temperature' })
    expect(state.cancelled).toBe(true)
  })

  test('is text of whole characters, wherever its reads divide them', async () => {
    const bytes = Buffer.from('la température')
    const { sent, clock } = failing(bytes.subarray(0, 8), bytes.subarray(8))
    await until(() => {
      if (Bun.peek.status(sent) === 'pending') clock.advance(100)
      return Bun.peek.status(sent) !== 'pending'
    })
    expect(await sent).toMatchObject({ message: 'la température' })
  })

  test('does not hide that its caller has left', async () => {
    const { sent, attempt } = failing('no such temperature')
    attempt.abort(clientClosed())
    const error = await sent
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({ kind: 'client_closed' })
  })
})
