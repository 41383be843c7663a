import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Concurrency } from '@/routing/concurrency.ts'

const CHANNEL = { id: 1, maxConcurrent: 2 }

describe('places on a channel', () => {
  test('are as many as it has', () => {
    const concurrency = new Concurrency(() => 1)
    expect(['a', 'b', 'c'].map(id => concurrency.acquire(CHANNEL, id))).toEqual([true, true, false])
    concurrency.release(CHANNEL, 'a')
    expect(concurrency.acquire(CHANNEL, 'c')).toBe(true)
  })

  test('are without end where it has no limit', () => {
    const concurrency = new Concurrency(() => 1)
    const channel = { id: 1, maxConcurrent: undefined }
    for (let id = 0; id < 1000; id += 1) expect(concurrency.acquire(channel, String(id))).toBe(true)
    expect(concurrency.running(channel)).toBe(1000)
  })

  test('are shared by the processes, at least one each', () => {
    let processes = 4
    const concurrency = new Concurrency(() => processes)
    expect(concurrency.acquire(CHANNEL, 'a')).toBe(true)
    expect(concurrency.acquire(CHANNEL, 'b')).toBe(false)
    processes = 1
    expect(concurrency.acquire(CHANNEL, 'b')).toBe(true)
  })

  test('taking and giving back twice is the same as once', () => {
    const concurrency = new Concurrency(() => 1)
    for (let times = 0; times < 3; times += 1) expect(concurrency.acquire(CHANNEL, 'a')).toBe(true)
    expect([concurrency.running(CHANNEL), concurrency.total]).toEqual([1, 1])
    concurrency.acquire(CHANNEL, 'b')
    for (let times = 0; times < 3; times += 1) concurrency.release(CHANNEL, 'a')
    concurrency.release(CHANNEL, 'never seen')
    expect([concurrency.running(CHANNEL), concurrency.total]).toEqual([1, 1])
  })

  test('never leak: ten thousand exchanges that come to nothing leave all of them free', () => {
    const concurrency = new Concurrency(() => 1)
    for (let id = 0; id < 10_000; id += 1) {
      if (concurrency.acquire(CHANNEL, String(id))) concurrency.release(CHANNEL, String(id))
    }
    expect(concurrency.running(CHANNEL)).toBe(0)
    expect(concurrency.acquire(CHANNEL, 'a') && concurrency.acquire(CHANNEL, 'b')).toBe(true)
  })
})

test('agrees with a set of who is there, whatever is taken and given back', () => {
  const step = fc.record({ take: fc.boolean(), channel: fc.nat(2), request: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(step), steps => {
      const concurrency = new Concurrency(() => 1)
      const present = new Map<number, Set<number>>()
      for (const { take, channel, request } of steps) {
        const there = present.get(channel) ?? new Set()
        present.set(channel, there)
        const limited = { id: channel, maxConcurrent: 3 }
        if (!take) {
          concurrency.release(limited, String(request))
          there.delete(request)
        } else if (concurrency.acquire(limited, String(request))) there.add(request)
        else expect(there.size).toBe(3)
        expect(concurrency.running(limited)).toBe(there.size)
      }
    }),
  )
})
