import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { Circuit } from '@/limits/buckets/circuit.ts'
import { RedisTimeout } from '@/redis/redis.ts'

const PROBE_MS = 250

/** A circuit whose probes the test answers. */
function closedCircuit() {
  const clock = manualClock()
  const probes: PromiseWithResolvers<void>[] = []
  const told: string[] = []
  const circuit = new Circuit({
    clock,
    probe() {
      const probe = Promise.withResolvers<void>()
      probes.push(probe)
      return probe.promise
    },
    onOpen: () => told.push('open'),
    onClose: () => told.push('closed'),
  })
  return { clock, circuit, probes, told }
}

/** The same, open. */
function openCircuit() {
  const rig = closedCircuit()
  rig.circuit.open(new Error('gone'))
  return rig
}

/** What follows a probe's answer follows in the same turn of the event loop. */
const answered = () => new Promise<void>(resolve => setImmediate(resolve))

test('a Redis that does not answer is probed once at a time', async () => {
  const { clock, probes } = openCircuit()
  clock.advance(4 * PROBE_MS)
  expect(probes).toHaveLength(1)
  probes[0]?.reject(new Error('still gone'))
  await answered()
  clock.advance(PROBE_MS)
  expect(probes).toHaveLength(2)
})

test('who is told that it is gone is told that it is back, once', async () => {
  const { clock, circuit, probes, told } = openCircuit()
  circuit.open(new Error('gone twice'))
  clock.advance(PROBE_MS)
  probes[0]?.resolve()
  await answered()
  expect([circuit.isOpen, told]).toEqual([false, ['open', 'closed']])
  clock.advance(4 * PROBE_MS)
  expect(probes).toHaveLength(1)
})

test('a probe that is answered after the end tells nobody', async () => {
  const { clock, circuit, probes, told } = openCircuit()
  clock.advance(PROBE_MS)
  circuit.stop()
  probes[0]?.resolve()
  await answered()
  expect(told).toEqual(['open'])
})

test('a call is under way until it is answered, or fails', async () => {
  const { circuit } = openCircuit()
  const [good, bad] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const calls = Promise.allSettled([
    circuit.call('key', () => good.promise),
    circuit.call('key', () => bad.promise),
  ])
  expect(circuit.underWay).toBe(2)
  good.resolve()
  bad.reject(new Error('refused'))
  await calls
  expect(circuit.underWay).toBe(0)
})

test.each([
  ['says only that there are many, where others are answered', true],
  ['is a Redis that is gone, where nothing is heard', false],
])('whatever is late %s', async (_, isHeard) => {
  const { circuit } = closedCircuit()
  const late = Promise.withResolvers<void>()
  const calls = ['one', 'two', 'three'].map(key => circuit.call(key, () => late.promise))
  if (isHeard) await circuit.call('key', async () => undefined)
  late.reject(new RedisTimeout('late'))
  await Promise.allSettled(calls)
  expect(circuit.isOpen).toBe(!isHeard)
})

test('a Redis is believed gone by three errors in a row, and not by as many among answers', async () => {
  const { circuit } = closedCircuit()
  const fail = () => circuit.call('key', () => Promise.reject(new Error('refused'))).catch(() => undefined)
  for (let errors = 0; errors < 4; errors += 1) {
    await fail()
    if (errors % 2 === 1) await circuit.call('key', async () => undefined)
  }
  expect(circuit.isOpen).toBe(false)
  for (let errors = 0; errors < 3; errors += 1) await fail()
  expect(circuit.isOpen).toBe(true)
})

test('a Redis that is back is believed gone by three errors anew', async () => {
  const { clock, circuit, probes } = closedCircuit()
  const fail = () => circuit.call('key', () => Promise.reject(new Error('refused'))).catch(() => undefined)
  for (let errors = 0; errors < 3; errors += 1) await fail()
  expect(circuit.isOpen).toBe(true)
  clock.advance(PROBE_MS)
  probes[0]?.resolve()
  await answered()
  for (let errors = 0; errors < 2; errors += 1) await fail()
  expect(circuit.isOpen).toBe(false)
  await fail()
  expect(circuit.isOpen).toBe(true)
})
