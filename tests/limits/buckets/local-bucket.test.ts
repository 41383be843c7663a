import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import { bucketContract, requests, take } from './contract.ts'

bucketContract('buckets in this process', () => {
  let now = 1_000_000
  let scopes = 0
  return {
    store: new LocalBuckets(() => now),
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
    store.adjust({ markerKey: `{${account}}m`, buckets: [] })
  }
  expect(inMemory() - before).toBeGreaterThan(900)
  now += 61_000_000
  store.sweep()
  expect(inMemory() - before).toBeLessThan(100)
})

test('goes on from what Redis last said', () => {
  const store = new LocalBuckets(() => 5_000_000)
  store.mirror('{a}rpm', 59_500_000)
  expect(store.take(take('{a}', 'r', requests('{a}', 60)))).toMatchObject({
    allowed: false,
    retryAfterUs: 500_000,
  })
})
