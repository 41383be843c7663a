import { expect, test } from 'bun:test'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricReading } from '@/commands/serve/worker.ts'
import { WorkerMetrics } from '@/commands/serve/worker-metrics.ts'
import { exposeLoad } from '@/telemetry/gauges.ts'

/** A worker that has counted so much, as it reads itself. */
function reading(count: number): Promise<MetricReading[]> {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'made_total', help: 'made', labelNames: ['kind'], registers }).inc({ kind: 'a' }, count)
  new Histogram({ name: 'took', help: 'took', buckets: [1], registers }).observe(count)
  new Gauge({ name: 'open_now', help: 'open', registers }).set(count)
  return registry.getMetricsAsJSON()
}

/** The lines that say a value. */
const valuesOf = (text: string) => text.split('\n').filter(line => line !== '' && !line.startsWith('#'))

const nothing: MetricReading[] = []

test('what only grows never falls: not by a worker that does not answer, and not by one that ends', async () => {
  const metrics = new WorkerMetrics<string>()
  const all = [
    'made_total{kind="a"} 5',
    'took_bucket{le="1"} 0',
    'took_bucket{le="+Inf"} 2',
    'took_sum 5',
    'took_count 2',
  ]
  const both = await metrics.read(['one', 'two'], worker => reading(worker === 'one' ? 3 : 2), nothing)
  expect(valuesOf(both)).toEqual([...all, 'open_now 5'])

  const silent = await metrics.read(
    ['one', 'two'],
    async worker => (worker === 'one' ? await reading(3) : undefined),
    nothing,
  )
  expect(valuesOf(silent).toSorted()).toEqual([...all, 'open_now 3'].toSorted())

  metrics.leave('two')
  metrics.leave('three')
  const next = await metrics.read(['one', 'four'], worker => reading(worker === 'one' ? 3 : 1), nothing)
  expect(valuesOf(next)).toContain('made_total{kind="a"} 6')
  expect(valuesOf(next)).toContain('open_now 4')

  metrics.leave('one')
  metrics.leave('four')
  expect(valuesOf(await metrics.read([], () => reading(0), nothing))).toContain('made_total{kind="a"} 6')
})

test('what the supervisor counts itself is among it, and what it is at the moment is not', async () => {
  const text = await new WorkerMetrics<string>().read(['one'], () => reading(3), await reading(2))
  expect(valuesOf(text)).toContain('made_total{kind="a"} 5')
  expect(valuesOf(text)).toContain('open_now 3')
})

test('of open files, of which each worker may have so many, the share of the fullest is told', async () => {
  const shares: Record<string, number> = { one: 0.1, two: 0.9 }
  const text = await new WorkerMetrics<string>().read(
    ['one', 'two'],
    worker => {
      const registry = new Registry()
      const filesShare = shares[worker] ?? 0
      exposeLoad({ registry }, () => ({ lagMs: 0, refusedShare: 0, filesShare, limitsAreDegraded: false }))
      return registry.getMetricsAsJSON()
    },
    nothing,
  )
  expect(valuesOf(text)).toContain('tollgate_open_files_share 0.9')
})
