import { expect, test } from 'bun:test'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { NO_USAGE } from '@/generation/usage.ts'

const STOPPED = { reason: 'end', stopSequence: undefined, message: undefined } as const

test('a meter that is put back to its bookmark knows nothing of what came after', () => {
  const meter = new Meter()
  meter.observe({ type: 'text-delta', block: 0, text: 'what was said before' })
  const { estimatedOutput } = meter
  const putBack = meter.bookmark()
  meter.observe({ type: 'text-delta', block: 0, text: 'what came after '.repeat(100) })
  meter.observe({ type: 'usage', usage: { ...NO_USAGE, outputText: 7 } })
  meter.finished = true
  expect(meter.estimatedOutput).toBeGreaterThan(estimatedOutput)
  putBack()
  expect(meter).toMatchObject({ output: true, finished: false, usage: undefined })
  expect(meter.estimatedOutput).toBe(estimatedOutput)
})

test('a meter that is put back knows again whether its usage was of the whole answer', () => {
  const meter = new Meter()
  meter.observe({ type: 'usage', usage: NO_USAGE, soFar: true })
  const putBack = meter.bookmark()
  meter.observe({ type: 'usage', usage: { ...NO_USAGE, outputText: 7 } })
  putBack()
  expect([meter.usage, meter.wholeUsage]).toEqual([NO_USAGE, undefined])
})

const NOTHING_YET = { output: false, hasWorked: false, finished: false, endings: 0, cut: false }

test.each<[string, GenerationEvent | undefined, object]>([
  ['nothing', undefined, NOTHING_YET],
  ['that it begins', { type: 'start', id: undefined, model: undefined, serviceTier: undefined }, NOTHING_YET],
  ['a usage', { type: 'usage', usage: NO_USAGE }, NOTHING_YET],
  ['what the caller does not see yet', { type: 'withheld', bytes: 4 }, { ...NOTHING_YET, hasWorked: true }],
  [
    'that a text begins',
    { type: 'text-start', block: 0, candidate: 0 },
    { ...NOTHING_YET, output: true, hasWorked: true },
  ],
  ['a text', { type: 'text-delta', block: 0, text: 'x' }, { ...NOTHING_YET, output: true, hasWorked: true }],
  [
    'a signature',
    { type: 'text-end', block: 0, signature: undefined },
    { ...NOTHING_YET, output: true, hasWorked: true },
  ],
  [
    'its end alone',
    { type: 'finish', candidate: 0, finish: STOPPED },
    { output: true, hasWorked: true, finished: true, endings: 1, cut: false },
  ],
  [
    'the end of another candidate alone',
    { type: 'finish', candidate: 1, finish: STOPPED },
    { output: true, hasWorked: true, finished: true, endings: 1, cut: false },
  ],
])('of an answer that said %s the meter knows that and no more', (_, event, known) => {
  const meter = new Meter()
  if (event !== undefined) meter.observe(event)
  expect(meter).toMatchObject({ ...known, error: undefined, losses: undefined })
})

test('a meter tells the error of its answer, and counts what is not shown, what was not read and what has no text', () => {
  const meter = new Meter()
  const error = new GatewayError('upstream_error', 'it broke off')
  meter.observe({ type: 'error', error })
  expect(meter.error).toBe(error)
  const said = [meter.said]
  meter.observe({ type: 'withheld', bytes: 400 })
  said.push(meter.said)
  meter.addUnread(800)
  said.push(meter.said)
  const { estimatedOutput } = meter
  meter.observe({ type: 'reasoning-paragraph', block: 0 })
  said.push(meter.said)
  expect(said).toEqual([0, 400, 1_200, 1_201])
  const written = new Meter()
  written.observe({ type: 'text-delta', block: 0, text: 'x'.repeat(1_200) })
  expect([meter.estimatedOutput, estimatedOutput]).toEqual([written.estimatedOutput, written.estimatedOutput])
})

test('a usage of what an answer began with is not that of the whole answer', () => {
  const meter = new Meter()
  meter.observe({ type: 'usage', usage: NO_USAGE, soFar: true })
  expect([meter.usage, meter.wholeUsage]).toEqual([NO_USAGE, undefined])
})

test.each(['finish', 'usage'] as const)(
  'an answer of which %s comes first is conclusive when it has both',
  first => {
    const meter = new Meter()
    const tell = {
      finish: () => meter.observe({ type: 'finish', candidate: 0, finish: STOPPED }),
      usage: () => meter.observe({ type: 'usage', usage: NO_USAGE }),
    }
    tell[first]()
    expect(meter.isConclusive).toBe(false)
    tell[first === 'finish' ? 'usage' : 'finish']()
    expect(meter.isConclusive).toBe(true)
    meter.error = new GatewayError('upstream_error', 'it broke off')
    expect(meter.isConclusive).toBe(false)
  },
)

test('an answer of several candidates is at its end when each of them is, whenever they began', () => {
  const meter = new Meter()
  const begin = (candidate: number) => meter.observe({ type: 'text-start', block: candidate, candidate })
  const finish = (candidate: number) => meter.observe({ type: 'finish', candidate, finish: STOPPED })
  const steps = [
    () => begin(0),
    () => begin(1),
    () => finish(0),
    () => finish(1),
    () => begin(2),
    () => finish(2),
    () => begin(0),
    () => begin(1),
    () => finish(1),
    () => finish(0),
  ]
  const ends = steps.map(step => {
    step()
    return meter.finished
  })
  expect(ends).toEqual([false, false, false, true, false, true, false, false, false, true])
})

test('what has come and was not read yet is read when it is asked for, and gone with what a bookmark undoes', () => {
  const unread: (() => void)[] = []
  let tier: string | undefined
  const meter = new Meter(
    () => unread.pop()?.(),
    () => tier,
  )
  unread.push(() => {
    tier = 'flex'
  })
  expect(meter.servedTier).toBe('flex')
  const putBack = meter.bookmark()
  unread.push(() => meter.observe({ type: 'usage', usage: NO_USAGE }))
  putBack()
  expect(meter.usage).toBeUndefined()
  unread.push(() => meter.observe({ type: 'usage', usage: NO_USAGE }))
  expect(meter.wholeUsage).toEqual(NO_USAGE)
})
