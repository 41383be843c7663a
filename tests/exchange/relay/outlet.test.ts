import { describe, expect, test } from 'bun:test'
import { least, msOf } from '#tests/support/least.ts'
import { fedStream } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Outlet } from '@/exchange/relay/outlet.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'

const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(400)}"}}]}\n\n`
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":50,"total_tokens":57}}\n\n'
const DONE = 'data: [DONE]\n\n'

/** An answer's way to its caller. */
function way({ tellsAtEnd = true } = {}) {
  const codec = CODECS['openai-chat-completions']
  const pipeline = new PassthroughPipeline({
    codec,
    decoder: codec.createStreamDecoder({ vendor: 'openai', newId: () => 'id' }),
    requestId: 'r',
    hidesUsage: false,
    readsAll: false,
    chunksOnly: false,
    framer: undefined,
  })
  const outlet = new Outlet({
    clock: systemClock,
    keepalive: new Uint8Array(),
    encodeError: () => new Uint8Array(),
    breakAfterError: false,
    tellsAtEnd,
  })
  const attempt = outlet.beginAttempt()
  const concluded: boolean[] = []
  const events = { onFirstOutput: () => undefined, onConclusion: () => concluded.push(true) }
  const pipe = (body: ReadableStream<Uint8Array>) => outlet.pipe(body, pipeline, 60_000, events)
  return { outlet, pipe, concluded, meter: pipeline.meter, ending: attempt.signal }
}

/** An answer of which the caller has read the first event. */
async function running() {
  const { outlet, pipe, ...told } = way()
  const upstream = fedStream()
  const ended = pipe(upstream.stream)
  const reader = outlet.readable.getReader()
  upstream.write(DELTA)
  await reader.read()
  return { outlet, upstream, reader, ended, ...told }
}

/** An upstream that is asked for its events one by one: these, then as many as anybody wants, or the end. */
function askedStream(events: readonly string[], rest?: string) {
  let asked = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const event = events[asked] ?? rest
        asked += 1
        await new Promise(resolve => setImmediate(resolve))
        if (event === undefined) controller.close()
        else controller.enqueue(new TextEncoder().encode(event))
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, asked: () => asked }
}

/** Until an upstream has not been asked for anything in many turns of the event loop. */
async function untilHeldBack(upstream: { asked(): number }): Promise<number> {
  for (let quiet = 0, before = 0; quiet < 50; before = upstream.asked()) {
    await new Promise(resolve => setImmediate(resolve))
    quiet = upstream.asked() === before ? quiet + 1 : 0
  }
  return upstream.asked()
}

test('the conclusion is told once, before the caller can have read it', async () => {
  const { upstream, reader, ended, concluded } = await running()
  upstream.write(FINISH)
  await reader.read()
  expect(concluded).toEqual([])
  upstream.write(USAGE + DONE)
  await reader.read()
  expect(concluded).toEqual([true])
  upstream.close()
  await ended
  expect(concluded).toEqual([true])
})

test('what is stopped before its first attempt, or between two, has none', async () => {
  const { outlet } = way()
  const revoked = new GatewayError('invalid_api_key', 'revoked')
  outlet.stop(revoked)
  const { signal } = outlet.beginAttempt()
  expect(signal.reason).toBe(revoked)
})

describe('a caller who reads nothing', () => {
  test('holds the upstream back, and gets everything in its order later', async () => {
    const { outlet, pipe } = way()
    const numbered = Array.from({ length: 500 }, (_, at) => DELTA.replace('xxx', String(at).padStart(3, '0')))
    const answer = [...numbered, FINISH, USAGE + DONE]
    const upstream = askedStream(answer)
    const ended = pipe(upstream.stream)
    const asked = await untilHeldBack(upstream)
    expect(asked).toBeGreaterThan((64 * 1024) / DELTA.length)
    expect(asked).toBeLessThan((64 * 1024) / DELTA.length + 5)
    expect(await new Response(outlet.readable).text()).toBe(answer.join(''))
    await ended
  })

  test.each([
    ['leaves', (outlet: Outlet) => outlet.abandon()],
    ['turns out to have no money for it', (outlet: Outlet) => outlet.refuse()],
    ['hangs up', (outlet: Outlet) => outlet.readable.cancel()],
  ])('and %s ends the upstream soon', async (_, leave) => {
    const { outlet, pipe, ending } = way()
    const upstream = askedStream([], DELTA)
    const ended = pipe(upstream.stream)
    await untilHeldBack(upstream)
    await leave(outlet)
    await ended
    expect({ aborted: ending.aborted, leftEarly: outlet.leftEarly }).toEqual({
      aborted: true,
      leftEarly: true,
    })
  })

  test('and leaves an answer whose end tells no usage ends the upstream, too', async () => {
    const { outlet, pipe, ending } = way({ tellsAtEnd: false })
    const upstream = askedStream([], DELTA)
    const ended = pipe(upstream.stream)
    await untilHeldBack(upstream)
    outlet.abandon()
    await ended
    expect(ending.aborted).toBe(true)
  })

  test('gets the error that its answer is stopped in once it reads', async () => {
    const { outlet, pipe } = way()
    const upstream = askedStream([], DELTA)
    const ended = pipe(upstream.stream).catch(() => undefined)
    await untilHeldBack(upstream)
    outlet.stop(new GatewayError('invalid_api_key', 'The key was revoked'))
    expect(await new Response(outlet.readable).text()).toContain('The key was revoked')
    await ended
  })
})

describe('after its caller left', () => {
  test('an answer whose end is on its way tells its usage', async () => {
    const { outlet, upstream, ended, meter, ending } = await running()
    outlet.abandon()
    upstream.write(DELTA + FINISH)
    upstream.write(USAGE + DONE)
    await ended
    expect(meter.usage).toMatchObject({ inputUncached: 7, outputText: 50 })
    expect({ finished: meter.finished, leftEarly: outlet.leftEarly }).toEqual({
      finished: true,
      leftEarly: true,
    })
    expect(ending.aborted).toBe(true)
  })

  test('so does one whose caller is known to be gone by the broken socket alone', async () => {
    const { upstream, reader, ended, meter, outlet } = await running()
    await reader.cancel()
    upstream.write(FINISH + USAGE + DONE)
    await ended
    expect({ output: meter.usage?.outputText, leftEarly: outlet.leftEarly }).toEqual({
      output: 50,
      leftEarly: true,
    })
  })

  test('an answer that had come to its end tells the usage that follows, and is no early leaving', async () => {
    const { outlet, upstream, reader, ended, meter } = await running()
    upstream.write(FINISH + DONE)
    await reader.read()
    outlet.abandon()
    upstream.close()
    await ended
    expect({ finished: meter.finished, usage: meter.usage, leftEarly: outlet.leftEarly }).toEqual({
      finished: true,
      usage: undefined,
      leftEarly: false,
    })
  })

  test.each([
    ['goes on', DELTA],
    ['ends without a usage', FINISH + DONE],
    ['says something that cannot be read', 'data: {"error":{"message":"broken"}}\n\n'],
    ['falls silent', ''],
  ])('an answer that %s is as long as it was when the caller left, and ends soon', async (_, rest) => {
    const leave = async () => {
      const { outlet, upstream, ended, meter, ending } = await running()
      outlet.abandon()
      const ms = await msOf(async () => {
        if (rest !== '') upstream.write(rest)
        await ended
      })
      return { ms, meter, ending }
    }
    expect(await least(2_000, async () => (await leave()).ms)).toBeLessThan(2_000)
    const { meter, ending } = await leave()
    expect(ending.aborted).toBe(true)
    expect({ tokens: meter.estimatedOutput, finished: meter.finished, error: meter.error }).toEqual({
      tokens: 100,
      finished: false,
      error: undefined,
    })
  })

  test('an answer that breaks off is as long as it was', async () => {
    const { outlet, upstream, ended, meter } = await running()
    outlet.abandon()
    upstream.write(DELTA)
    upstream.close()
    await ended
    expect({ tokens: meter.estimatedOutput, error: meter.error, cut: meter.cut }).toEqual({
      tokens: 100,
      error: undefined,
      cut: false,
    })
  })

  test('nothing is read on for an answer that there is no money for', async () => {
    const { outlet, ending, ended } = await running()
    outlet.refuse()
    expect(ending.aborted).toBe(true)
    await ended
  })
})
