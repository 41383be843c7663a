import { describe, expect, test } from 'bun:test'
import { least, msOf } from '#tests/support/least.ts'
import { fedStream } from '#tests/support/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { Outlet } from '@/exchange/outlet.ts'
import { PassthroughPipeline } from '@/exchange/passthrough-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'

const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(400)}"}}]}\n\n`
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":50,"total_tokens":57}}\n\n'
const DONE = 'data: [DONE]\n\n'

/** An answer of which the caller has read the first event. */
async function running() {
  const codec = CODECS['openai-chat-completions']
  const pipeline = new PassthroughPipeline({
    codec,
    decoder: codec.createStreamDecoder({ vendor: 'openai', newId: () => 'id' }),
    requestId: 'r',
    hidesUsage: false,
    hidesComments: false,
    framer: undefined,
  })
  const outlet = new Outlet({
    clock: systemClock,
    keepalive: new Uint8Array(),
    encodeError: () => new Uint8Array(),
    breakAfterError: false,
    tellsAtEnd: true,
  })
  const attempt = outlet.beginAttempt()
  const upstream = fedStream()
  const concluded: boolean[] = []
  const events = { onFirstOutput: () => undefined, onConclusion: () => concluded.push(true) }
  const ended = outlet.pipe(upstream.stream, pipeline, 60_000, events)
  const reader = outlet.readable.getReader()
  upstream.write(DELTA)
  await reader.read()
  return { outlet, upstream, reader, ended, concluded, meter: pipeline.meter, ending: attempt.signal }
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
