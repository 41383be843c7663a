import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import { drain } from '@/exchange/relay/drain.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import { NO_USAGE } from '@/generation/usage.ts'

const TEXT = new Uint8Array(400)
const END = new Uint8Array(0)
const STOPPED = { reason: 'end', stopSequence: undefined, message: undefined } as const
const USAGE = { ...NO_USAGE, outputText: 7 }

/** An answer of which 400 bytes are read, whose caller has left, and of which this still comes. */
function leaving(rest: readonly Uint8Array[], closes: boolean) {
  const clock = manualClock()
  const meter = new Meter()
  meter.addUnread(TEXT.length)
  const before = meter.estimatedOutput
  let reads = 0
  const pipeline: Pipeline = {
    meter,
    push(chunk) {
      reads += 1
      meter.addUnread(chunk.length)
      if (chunk !== END) return
      meter.observe({ type: 'finish', candidate: 0, finish: STOPPED })
      meter.observe({ type: 'usage', usage: USAGE })
    },
    end: () => undefined,
    fail: () => undefined,
  }
  const left = { cancelled: false, stopped: false }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of rest) controller.enqueue(chunk)
      if (closes) controller.close()
    },
    cancel: () => {
      left.cancelled = true
    },
  })
  const stop = () => {
    left.stopped = true
  }
  const ended = drain(body, pipeline, new AbortController().signal, clock, stop).then(() => ({
    ...left,
    later: meter.estimatedOutput - before,
    usage: meter.usage,
    finished: meter.finished,
  }))
  return { clock, left, ended, reads: () => reads }
}

test.each([
  ['breaks off', true],
  ['goes on', false],
])('what comes after the caller left is not counted where the answer %s', async (_, closes) => {
  const { clock, ended, reads } = leaving([TEXT, TEXT], closes)
  await until(() => reads() === 2)
  clock.advance(30)
  expect(await ended).toEqual({
    cancelled: !closes,
    stopped: true,
    later: 0,
    usage: undefined,
    finished: false,
  })
})

test('an answer that falls silent is left 30 ms after its caller, and no sooner', async () => {
  const { clock, left, ended } = leaving([], false)
  clock.advance(29)
  expect(left).toEqual({ cancelled: false, stopped: false })
  clock.advance(1)
  expect(left).toEqual({ cancelled: true, stopped: true })
  await ended
})

test('an answer that comes to its end after its caller left is counted as reported, and is left at once', async () => {
  expect(await leaving([TEXT, END, TEXT], false).ended).toEqual({
    cancelled: true,
    stopped: true,
    later: 100,
    usage: USAGE,
    finished: true,
  })
})
