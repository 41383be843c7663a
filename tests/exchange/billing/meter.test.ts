import { expect, test } from 'bun:test'
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
