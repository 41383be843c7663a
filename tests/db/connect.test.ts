import { expect, test } from 'bun:test'
import { pauseBeforeAttempt } from '@/db/connect.ts'

test('a database that is back is noticed within a second, however long it was away', () => {
  const pauses = [0, 1, 5, 10, 1_000].map(pauseBeforeAttempt)
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
  expect(pauses[0]).toBeGreaterThan(0)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1)
})
