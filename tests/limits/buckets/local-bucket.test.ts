import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import { bucketContract, requests, take } from './contract.ts'

bucketContract('buckets in this process', () => {
  let now = 1_000_000
  let scopes = 0
  const store = new LocalBuckets(() => now)
  return {
    store,
    move: ({ key, deltaUs }) => store.move(key, deltaUs),
    advanceUs: us => {
      now += us
    },
    scope: () => `{s${scopes++}}:`,
  }
})

test('forgets what time has made meaningless', () => {
  let now = 0
  const store = new LocalBuckets(() => now)
  const inMemory = () => {
    Bun.gc(true)
    return heapStats().objectTypeCounts['Map'] ?? 0
  }
  const before = inMemory()
  for (let account = 0; account < 1_000; account++) {
    store.take(take(`{${account}}`, 'r', requests(`{${account}}`, 60)))
  }
  expect(inMemory() - before).toBeGreaterThan(900)
  now += 61_000_000
  store.sweep()
  expect(inMemory() - before).toBeLessThan(100)
})

test('decides the same whether or not it has forgotten what is over', () => {
  const store = new LocalBuckets(() => 5_000_000)
  const one = { ...take('{a}', 'r', requests('{a}', 1)), leases: [{ key: '{a}cc', limit: 1 }] }
  store.take(one)
  store.sweep()
  expect(store.take({ ...one, id: 'other', buckets: [] })).toMatchObject({ allowed: false })
  expect(store.take({ ...one, id: 'other', leases: [] })).toMatchObject({ allowed: false })
})

test('what was taken here and Redis does not know of is not forgotten for what it says', () => {
  const store = new LocalBuckets(() => 5_000_000)
  store.take(take('{a}', 'r', requests('{a}', 1)))
  store.mirror('{a}rpm', 1_000_000)
  expect(store.take(take('{a}', 's', requests('{a}', 1)))).toMatchObject({ retryAfterUs: 60_000_000 })
})

test('goes on from what Redis last said', () => {
  const store = new LocalBuckets(() => 5_000_000)
  store.mirror('{a}rpm', 59_500_000)
  expect(store.take(take('{a}', 'r', requests('{a}', 60)))).toMatchObject({
    allowed: false,
    retryAfterUs: 500_000,
  })
})
