import { expect, test } from 'bun:test'
import { Meter } from '@/exchange/billing/meter.ts'
import { drain } from '@/exchange/relay/drain.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import { NO_USAGE } from '@/generation/usage.ts'

const TEXT = new Uint8Array(400)
const END = new Uint8Array(0)
const STOPPED = { reason: 'end', stopSequence: undefined, message: undefined } as const
const USAGE = { ...NO_USAGE, outputText: 7 }

/** An answer of which 400 bytes are read, whose caller has left, and of which this still comes. */
async function drained(rest: readonly Uint8Array[], closes: boolean) {
  const meter = new Meter()
  meter.addUnread(TEXT.length)
  const before = meter.estimatedOutput
  const pipeline: Pipeline = {
    meter,
    done: false,
    push(chunk) {
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
  await drain(body, pipeline, new AbortController().signal, stop)
  return { ...left, later: meter.estimatedOutput - before, usage: meter.usage, finished: meter.finished }
}

test.each([
  ['breaks off', true],
  ['goes on', false],
])('what comes after the caller left is not counted where the answer %s', async (_, closes) => {
  expect(await drained([TEXT, TEXT], closes)).toEqual({
    cancelled: !closes,
    stopped: true,
    later: 0,
    usage: undefined,
    finished: false,
  })
})

test('an answer that comes to its end after its caller left is counted as reported, and is left at once', async () => {
  expect(await drained([TEXT, END, TEXT], false)).toEqual({
    cancelled: true,
    stopped: true,
    later: 100,
    usage: USAGE,
    finished: true,
  })
})
