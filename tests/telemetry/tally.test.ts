import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { AggregatorRegistry, Counter, Histogram, Registry } from 'prom-client'
import { tallyCounter, tallyHistogram } from '@/telemetry/tally.ts'

const COUNTER = { name: 'things_total', help: 'Things.', labelNames: ['model', 'status'] } as const
const HISTOGRAM = {
  name: 'things_seconds',
  help: 'How long.',
  labelNames: ['model'],
  buckets: [0.1, 1, 10],
} as const

/** Both kinds, ours and prom-client's, and the same things told to both. */
function told(events: readonly { model: string; status: number; value: number }[]) {
  const [ours, theirs] = [new Registry(), new Registry()]
  const counter = tallyCounter({ ...COUNTER, registers: [ours] })
  const histogram = tallyHistogram({ ...HISTOGRAM, registers: [ours] })
  const theirCounter = new Counter({ ...COUNTER, registers: [theirs] })
  const theirHistogram = new Histogram({ ...HISTOGRAM, buckets: [...HISTOGRAM.buckets], registers: [theirs] })
  for (const { model, status, value } of events) {
    counter.of(model, status).add(value)
    theirCounter.inc({ model, status }, value)
    histogram.of(model).observe(value)
    theirHistogram.observe({ model }, value)
  }
  return { ours, theirs }
}

const event = fc.record({
  model: fc.constantFrom('a', 'b', 'a,model:b', 'with "quotes"\\ and\nlines', ''),
  status: fc.constantFrom(200, 404),
  value: fc.oneof(fc.constantFrom(0, 0.1, 1, 10), fc.double({ min: 0, max: 100, noNaN: true })),
})

test('reads as prom-client would, whatever was counted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 30 }), async events => {
      const { ours, theirs } = told(events)
      expect(await ours.metrics()).toBe(await theirs.metrics())
    }),
    { numRuns: 200 },
  )
})

test('adds up over processes as prom-client does', async () => {
  const events = fc.sample(event, 40)
  const { ours, theirs } = told(events)
  const of = async (registry: Registry) => {
    // As between processes: nothing but JSON arrives.
    const read = JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()))
    return AggregatorRegistry.aggregate([read, read]).metrics()
  }
  expect(await of(ours)).toBe(await of(theirs))
})

test('the cell of the same values is the same, and of others another', () => {
  const counter = tallyCounter({ ...COUNTER, registers: [] })
  expect(counter.of('a', 200)).toBe(counter.of('a', 200))
  expect(counter.of('a', 200)).not.toBe(counter.of('a', 201))
  expect(counter.of('a', 200)).not.toBe(counter.of('b', 200))
})
