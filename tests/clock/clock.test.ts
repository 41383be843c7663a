import { expect, test } from 'bun:test'
import { systemClock } from '@/clock/clock.ts'

test('time that passed is counted in whole milliseconds, which is what is stored', () => {
  const looks = Array.from({ length: 1000 }, () => systemClock.elapsed())
  expect(looks.filter(ms => !Number.isInteger(ms))).toEqual([])
  expect(looks.toSorted((one, other) => one - other)).toEqual(looks)
})
