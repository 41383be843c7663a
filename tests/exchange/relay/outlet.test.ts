import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import { Outlet } from '@/exchange/relay/outlet.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'

const DELTA = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(400)}"}}]}\n\n`
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":50,"total_tokens":57}}\n\n'
const DONE = 'data: [DONE]\n\n'

interface Given {
  tellsAtEnd?: boolean | undefined
  clock?: Clock | undefined
  format?: Format | undefined
  answers?: number | undefined
}

/** An answer's way to its caller. */
function way(given: Given = {}) {
  const { tellsAtEnd = true, clock = systemClock, format = 'openai-chat-completions', answers = 1 } = given
  const codec = CODECS[format]
  const outlet = new Outlet({
    clock,
    keepalive: new Uint8Array(),
    encodeError: () => new Uint8Array(),
    breakAfterError: false,
    tellsAtEnd,
  })
  const attempt = () => {
    const pipeline = new PassthroughPipeline({
      codec,
      decoder: codec.createStreamDecoder({ vendor: 'openai', newId: () => 'id', answers }),
      requestId: 'r',
      hidesUsage: false,
      readsAll: false,
      chunksOnly: false,
      framer: undefined,
    })
    const concluded: boolean[] = []
    const events = { onFirstOutput: () => undefined, onConclusion: () => concluded.push(true) }
    const { signal } = outlet.beginAttempt()
    const pipe = (body: ReadableStream<Uint8Array>) => outlet.pipe(body, pipeline, 60_000, events)
    return { pipe, concluded, meter: pipeline.meter, ending: signal }
  }
  return { outlet, ...attempt(), again: attempt }
}

/** An answer of which the caller has read the first event. */
async function running(clock?: Clock, format?: Format, first = DELTA, answers?: number) {
  const { outlet, pipe, ...told } = way({ clock, format, answers })
  const upstream = fedStream()
  const ended = pipe(upstream.stream)
  const reader = outlet.readable.getReader()
  upstream.write(first)
  await reader.read()
  return { outlet, upstream, reader, ended, ...told }
}

/** One chunk of Gemini's, with one candidate. */
function gemini(
  { index = 0, text = '', ...end }: { index?: number; text?: string; finishReason?: string },
  more = {},
) {
  const candidate = { index, content: { role: 'model', parts: [{ text }] }, ...end }
  return `data: ${JSON.stringify({ candidates: [candidate], ...more })}\n\n`
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

describe('an attempt behind one that failed before any output', () => {
  const BROKEN = 'data: {"error":{"message":"broken"}}\n\n'

  test('has its own time, from when its answer begins', async () => {
    const clock = manualClock()
    const { outlet, pipe, again } = way({ clock })
    await expect(pipe(askedStream([]).stream)).rejects.toThrow()
    const { pipe: pipeAgain, ending } = again()
    clock.advance(100_000)
    outlet.tick(clock.elapsed())
    expect(ending.aborted).toBe(false)
    const ended = pipeAgain(fedStream().stream)
    clock.advance(59_999)
    outlet.tick(clock.elapsed())
    expect(ending.aborted).toBe(false)
    clock.advance(1)
    outlet.tick(clock.elapsed())
    expect(ending.aborted).toBe(true)
    await expect(ended).rejects.toThrow('stream timed out')
  })

  test('is all that its caller gets', async () => {
    const { outlet, pipe, again } = way()
    await expect(pipe(askedStream([': quiet\n\n', BROKEN]).stream)).rejects.toThrow('broken')
    const answer = DELTA + FINISH + USAGE + DONE
    const [text] = await Promise.all([
      new Response(outlet.readable).text(),
      again().pipe(askedStream([answer]).stream),
    ])
    expect(text).toBe(answer)
  })

  test('may hold back as much as the first', async () => {
    const { outlet, pipe, again } = way()
    const attempt = () => askedStream([`: ${'x'.repeat(3 * 1024 * 1024)}\n\n`, BROKEN]).stream
    void new Response(outlet.readable).text()
    await expect(pipe(attempt())).rejects.toThrow('broken')
    await expect(again().pipe(attempt())).rejects.toThrow('broken')
    expect(outlet.isDue).toBe(false)
  })
})

/** A pipeline whose every read is output, unless it is told otherwise, and of which no error is told to anybody. */
function ownPipeline(own: Partial<Pipeline>, meter = new Meter()): Pipeline {
  return {
    meter,
    push(chunk, emit) {
      meter.output = true
      emit(chunk)
    },
    end: () => undefined,
    fail(error, emit) {
      meter.error = error
      emit(Buffer.from(`failed: ${error.kind}`))
    },
    ...own,
  }
}

/** What the caller gets of an upstream's answer through a pipeline, and what is told of it. */
async function through(pipeline: Pipeline, reads: readonly string[]) {
  const { outlet } = way()
  const told: string[] = []
  const events = { onFirstOutput: () => told.push('output'), onConclusion: () => told.push('conclusion') }
  const { signal } = outlet.beginAttempt()
  const { stream, asked } = askedStream(reads)
  const [text] = await Promise.all([
    new Response(outlet.readable).text(),
    outlet.pipe(stream, pipeline, 60_000, events),
  ])
  return { text, told, asked: asked(), isEnded: signal.aborted }
}

test('an answer of which its first read is all that is wanted is written, and told as output once', async () => {
  const { text, told, isEnded } = await through(ownPipeline({ done: true }), ['all', 'more'])
  expect([text, told, isEnded]).toEqual(['all', ['output'], true])
})

test('an answer that cannot be read on ends in an error, and its upstream with it', async () => {
  const meter = new Meter()
  const push: Pipeline['push'] = (chunk, emit) => {
    if (meter.output) throw new Error('a bug')
    meter.output = true
    emit(chunk)
  }
  const { text, asked, isEnded } = await through(ownPipeline({ push }, meter), ['some, ', 'more', 'more'])
  expect([text, isEnded]).toEqual(['some, failed: internal_error', true])
  expect(asked).toBeLessThan(4)
})

test('an answer whose end cannot be written ends in an error', async () => {
  const end: Pipeline['end'] = () => {
    throw new Error('a bug')
  }
  expect((await through(ownPipeline({ end }), ['some, '])).text).toBe('some, failed: internal_error')
})

test('what is held back for long is let through, before it takes all memory', async () => {
  const { outlet, pipe } = way()
  const upstream = fedStream()
  const ended = pipe(upstream.stream)
  const reader = outlet.readable.getReader()
  upstream.write(`: ${'x'.repeat(4 * 1024 * 1024)}\n\n`)
  await outlet.opened
  expect(outlet.isDue).toBe(true)
  expect((await reader.read()).done).toBe(false)
  upstream.close()
  void reader.cancel()
  await ended.catch(() => undefined)
})

test('a caller who is given up once the answer is whole gets it to its end', async () => {
  const { outlet, pipe } = way()
  const answer = DELTA + FINISH + USAGE + DONE
  await pipe(askedStream([answer]).stream)
  outlet.abandon()
  expect(await new Response(outlet.readable).text()).toBe(answer)
  expect(outlet.leftEarly).toBe(false)
})

test('others have their turn between long reads that have all arrived', async () => {
  const { outlet, pipe } = way()
  const reads = Array.from({ length: 20 }, () => ': quiet\n\n'.repeat(10_000))
  const upstream = fedStream()
  for (const read of [DELTA, ...reads, FINISH, USAGE + DONE]) upstream.write(read)
  upstream.close()
  let turns = 0
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const [text] = await Promise.all([new Response(outlet.readable).text(), pipe(upstream.stream)])
  clearImmediate(next)
  expect(text).toEndWith(USAGE + DONE)
  expect(turns).toBeGreaterThanOrEqual(reads.length)
})

describe('an upstream that goes on behind the end of its answer', () => {
  /** So many seconds of an upstream that sends this once a second; the caller reads all of it. */
  async function goOn(
    one: Awaited<ReturnType<typeof running>>,
    clock: ManualClock,
    seconds: number,
    said: string,
  ) {
    for (let second = 0; second < seconds; second += 1) {
      one.upstream.write(said)
      await one.reader.read()
      clock.advance(1000)
      one.outlet.tick(clock.elapsed())
    }
  }

  test.each([
    ['its usage known', 5, 1, { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } }, [true]],
    ['no usage told', 60, 1, {}, []],
    [
      'another answer was asked for, so that it is not known what all cost',
      60,
      2,
      { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } },
      [],
    ],
  ])('has as long from there as one that is silent: %s', async (_, seconds, answers, usage, concluded) => {
    const clock = manualClock()
    const one = await running(clock, 'gemini-generate-content', gemini({ text: 'one' }), answers)
    one.upstream.write(gemini({ text: '.', finishReason: 'STOP' }, usage))
    await one.reader.read()
    await goOn(one, clock, seconds - 1, '\n')
    expect(one.ending.aborted).toBe(false)
    expect(one.concluded).toEqual(concluded)
    await goOn(one, clock, 1, '\n')
    expect(one.ending.aborted).toBe(true)
    await one.ended
    expect((await one.reader.read()).done).toBe(true)
    expect(one.meter).toMatchObject({ finished: true, error: undefined })
  })

  test.each([
    ['its usage known', 5, USAGE],
    ['no usage told', 60, ''],
  ])('has as long where its last event does not come: %s', async (_, seconds, usage) => {
    const clock = manualClock()
    const one = await running(clock)
    one.upstream.write(FINISH + usage)
    await one.reader.read()
    await goOn(one, clock, seconds - 1, ': working\n\n')
    expect(one.ending.aborted).toBe(false)
    await goOn(one, clock, 1, ': working\n\n')
    expect(one.ending.aborted).toBe(true)
    await one.ended
    expect(one.meter).toMatchObject({ finished: true, error: undefined })
  })

  test.each([
    ['at length', DELTA],
    ['a letter at a time', 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'],
    [
      'in pictures',
      'data: {"choices":[{"index":0,"delta":{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}}]}\n\n',
    ],
  ])('has all the time that it takes to say more, %s', async (_, more) => {
    const clock = manualClock()
    const one = await running(clock)
    for (let time = 0; time < 10; time += 1) {
      await goOn(one, clock, 1, more + FINISH + USAGE)
      await goOn(one, clock, 1, ': working\n\n')
    }
    expect(one.ending.aborted).toBe(false)
    one.upstream.close()
    await one.ended
  })

  test('has as long again from where its usage comes, and from each end of another candidate', async () => {
    const clock = manualClock()
    const one = await running(clock, 'gemini-generate-content', gemini({ text: 'one' }))
    const ended = gemini({ text: '.', finishReason: 'STOP' })
    const told = { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } }
    await goOn(one, clock, 59, ended)
    await goOn(one, clock, 4, gemini({ text: '.', finishReason: 'STOP' }, told))
    for (const index of [1, 2, 3]) {
      await goOn(one, clock, 1, gemini({ index, text: 'x', finishReason: 'STOP' }, told))
      await goOn(one, clock, 3, '\n')
    }
    expect(one.ending.aborted).toBe(false)
    await goOn(one, clock, 1, '\n')
    expect(one.ending.aborted).toBe(true)
    await one.ended
  })
})

describe('a caller who reads nothing', () => {
  const numbered = Array.from({ length: 500 }, (_, at) => DELTA.replace('xxx', String(at).padStart(3, '0')))
  const answer = [...numbered, FINISH, USAGE + DONE]

  test('holds the upstream back, and gets everything in its order later', async () => {
    const { outlet, pipe } = way()
    const upstream = askedStream(answer)
    const ended = pipe(upstream.stream)
    const asked = await untilHeldBack(upstream)
    expect(asked).toBeGreaterThan((64 * 1024) / DELTA.length)
    expect(asked).toBeLessThan((64 * 1024) / DELTA.length + 5)
    expect(await new Response(outlet.readable).text()).toBe(answer.join(''))
    await ended
  })

  test('and then a little, again and again, gets everything in its order as well', async () => {
    const { outlet, pipe } = way()
    const upstream = askedStream(answer)
    const ended = pipe(upstream.stream)
    const reader = outlet.readable.getReader()
    let text = ''
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += Buffer.from(read.value).toString()
      if (upstream.asked() < answer.length && text.length % (100 * DELTA.length) === 0)
        await untilHeldBack(upstream)
    }
    expect(text).toBe(answer.join(''))
    await ended
  })

  test.each([
    ['leaves', (outlet: Outlet) => outlet.abandon()],
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

  test('for ten minutes is taken to have left, and not before', async () => {
    const clock = manualClock()
    const { outlet, pipe, ending } = way({ clock, tellsAtEnd: false })
    const upstream = askedStream([], DELTA)
    const ended = pipe(upstream.stream)
    await untilHeldBack(upstream)
    outlet.tick(clock.elapsed() + 599_999)
    expect({ aborted: ending.aborted, leftEarly: outlet.leftEarly }).toEqual({
      aborted: false,
      leftEarly: false,
    })
    outlet.tick(clock.elapsed() + 600_000)
    await ended
    expect({ aborted: ending.aborted, leftEarly: outlet.leftEarly }).toEqual({
      aborted: true,
      leftEarly: true,
    })
  })

  const LONG = 'x'.repeat(70_000)
  test.each([
    ['flows', '', DELTA.replace('xxx', LONG)],
    ['has yet to tell its usage', FINISH, `: ${LONG}\n\n`],
  ])('for a while does not make an upstream silent whose answer %s', async (_, before, filling) => {
    const clock = manualClock()
    const { outlet, upstream, reader, ended, ending } = await running(clock, undefined, DELTA + before)
    outlet.tick(clock.elapsed())
    upstream.write(filling)
    for (let turn = 0; turn < 5; turn += 1) await new Promise(resolve => setImmediate(resolve))
    clock.advance(120_000)
    outlet.tick(clock.elapsed())
    await reader.read()
    outlet.tick(clock.elapsed())
    clock.advance(59_999)
    outlet.tick(clock.elapsed())
    expect(ending.aborted).toBe(false)
    clock.advance(1)
    outlet.tick(clock.elapsed())
    expect(ending.aborted).toBe(true)
    void reader.cancel()
    await ended
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

test('a caller who is not quick to read gets the error behind which its connection breaks', async () => {
  const outlet = new Outlet({
    clock: systemClock,
    keepalive: undefined,
    encodeError: error => Buffer.from(error.message),
    breakAfterError: true,
    tellsAtEnd: true,
  })
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(outlet.readable) })
  const socket = connect(Number(server.port), '127.0.0.1').pause()
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\n\r\n')
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  const isBroken = new Promise(resolve =>
    socket.on('error', () => resolve(true)).on('end', () => resolve(false)),
  )
  void outlet.fail(new GatewayError('upstream_error', 'The upstream broke off'))
  setTimeout(() => socket.resume(), 100)
  expect(await isBroken).toBe(true)
  expect(text).toContain('The upstream broke off')
  await server.stop(true)
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

  test.each<[string, string, (meter: Meter) => boolean]>([
    ['goes on', DELTA, ({ estimatedOutput }) => estimatedOutput > 100],
    ['ends without a usage', FINISH + DONE, ({ finished }) => finished],
    [
      'says something that cannot be read',
      'data: {"error":{"message":"broken"}}\n\n',
      ({ error }) => error !== undefined,
    ],
    ['falls silent', '', () => true],
  ])(
    'an answer that %s is as long as it was when the caller left, and ends soon',
    async (_, rest, isRead) => {
      const clock = manualClock()
      const { outlet, upstream, ended, meter, ending } = await running(clock)
      outlet.abandon()
      if (rest !== '') upstream.write(rest)
      await until(() => isRead(meter))
      clock.advance(30)
      await ended
      expect(ending.aborted).toBe(true)
      expect({ tokens: meter.estimatedOutput, finished: meter.finished, error: meter.error }).toEqual({
        tokens: 100,
        finished: false,
        error: undefined,
      })
    },
  )

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
})
