import { expect, test } from 'bun:test'
import { least, msOf } from '#tests/support/least.ts'
import { isDeeperThan } from '@/json/depth.ts'
import type { JsonValue } from '@/json/json.ts'

function nested(levels: number): JsonValue {
  let value: JsonValue = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { '': value }
  return value
}

test('counts objects and arrays, and nothing else', () => {
  expect(isDeeperThan('text', 0)).toBe(false)
  expect(isDeeperThan(null, 0)).toBe(false)
  expect(isDeeperThan([], 0)).toBe(true)
  expect(isDeeperThan([], 1)).toBe(false)
  expect(isDeeperThan({ a: [null, { b: 1 }] }, 3)).toBe(false)
  expect(isDeeperThan({ a: [null, { b: 1 }] }, 2)).toBe(true)
})

test('is exact at any depth, and stands depths that recursion does not', () => {
  for (const levels of [1, 2, 7, 100]) {
    expect(isDeeperThan(nested(levels), levels)).toBe(false)
    expect(isDeeperThan(nested(levels), levels - 1)).toBe(true)
  }
  expect(isDeeperThan(nested(1_000_000), 999_999)).toBe(true)
})

test('looks at wide values in time', async () => {
  const wide: JsonValue = Array.from({ length: 5_000_000 }, () => 1)
  // Measured on Bun 1.4.5: 10 ms; Object.values alone took seconds.
  const ms = await least(500, () => msOf(() => expect(isDeeperThan({ wide }, 2)).toBe(false)))
  expect(ms).toBeLessThan(500)
})
