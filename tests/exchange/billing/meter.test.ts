import { expect, test } from 'bun:test'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import { NO_USAGE } from '@/generation/usage.ts'

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

test('a usage of what an answer began with is not that of the whole answer', () => {
  const meter = new Meter()
  meter.observe({ type: 'usage', usage: NO_USAGE, soFar: true })
  expect([meter.usage, meter.wholeUsage]).toEqual([NO_USAGE, undefined])
})

const STOPPED = { reason: 'end', stopSequence: undefined, message: undefined } as const

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
  ]
  const ends = steps.map(step => {
    step()
    return meter.finished
  })
  expect(ends).toEqual([false, false, false, true, false, true])
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
