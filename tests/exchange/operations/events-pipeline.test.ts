import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fedStream } from '#tests/support/upstreams/upstream.ts'
import { EventsPipeline } from '@/exchange/operations/events-pipeline.ts'
import { Outlet } from '@/exchange/relay/outlet.ts'
import { NO_USAGE } from '@/generation/usage.ts'

const IDLE_SECONDS = 60
const WHOLE = 'data: {"type":"whole"}\n\n'
const PART = 'data: {"type":"part"}\n\n'
const NOTHING = ': working\n\n'

/** A stream of which three pieces were asked for, and an upstream that keeps it open. */
function running() {
  const clock = manualClock()
  const upstream = fedStream()
  const used = () => ({ usage: NO_USAGE, extras: undefined, source: 'reported' as const })
  const encodeError = () => 'data: {"error":{}}\n\n'
  const pipeline = new EventsPipeline({
    last: ['whole'],
    count: 3,
    reported: used,
    estimated: used,
    encodeError,
  })
  const outlet = new Outlet({
    clock,
    keepalive: undefined,
    encodeError: () => new Uint8Array(),
    breakAfterError: false,
    tellsAtEnd: false,
  })
  const { signal } = outlet.beginAttempt()
  const events = { onFirstOutput: () => undefined, onConclusion: () => undefined }
  const ended = outlet.pipe(upstream.stream, pipeline, IDLE_SECONDS * 1000, events)
  const reader = outlet.readable.getReader()
  return {
    ended,
    meter: pipeline.meter,
    isOver: () => signal.aborted,
    /** Has the upstream say this, and so many seconds pass. */
    async say(text: string, seconds: number) {
      upstream.write(text)
      await reader.read()
      clock.advance(seconds * 1000)
      outlet.tick(clock.elapsed())
    },
  }
}

test('fewer pieces than were asked for are the whole answer once no more of one comes, though the stream stays open', async () => {
  const { say, isOver, ended, meter } = running()
  await say(PART, 0)
  await say(WHOLE, IDLE_SECONDS - 1)
  for (let part = 0; part < 3; part += 1) await say(PART, IDLE_SECONDS - 1)
  expect(isOver()).toBe(false)
  await say(NOTHING, 1)
  expect(isOver()).toBe(true)
  await ended
  expect(meter).toMatchObject({ finished: true, error: undefined })
})

test('a stream without a whole piece that falls silent has stalled', async () => {
  const { say, isOver, ended, meter } = running()
  await say(PART, IDLE_SECONDS)
  expect(isOver()).toBe(true)
  await ended
  expect(meter).toMatchObject({ finished: false, error: { isStall: true } })
})
