import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { MadeOnce } from '@/console/made-once.ts'

const clock = manualClock()
const made = new MadeOnce<number>(clock)
let count = 0
const make = async () => {
  count += 1
  return count
}
const ORDER = { name: 'laptop', once: 'one-dialog-1' }
const PHONE = { ...ORDER, name: 'phone' }
const LOOSE: { name: string; once?: string } = { name: 'laptop' }

test('what is asked for again is what was made, for who asked and what was asked for, and each without a name anew', async () => {
  expect(await Promise.all([made.of(1, ORDER, make), made.of(1, { ...ORDER }, make)])).toEqual([1, 1])
  expect(await made.of(2, ORDER, make)).toBe(2)
  expect(await made.of(1, ORDER, make)).toBe(1)
  expect(await made.of(1, PHONE, make)).toBe(3)
  expect(await made.of(1, LOOSE, make)).toBe(4)
  expect(await made.of(1, LOOSE, make)).toBe(5)
})

test('what could not be made is tried anew', async () => {
  const fail = () => Promise.reject(new Error('away'))
  expect(made.of(3, ORDER, fail)).rejects.toThrow('away')
  await expect(made.of(3, ORDER, fail)).rejects.toThrow('away')
  expect(await made.of(3, ORDER, make)).toBe(6)
})

test('what was made is forgotten after a while', async () => {
  clock.advance(599_999)
  expect(await made.of(3, ORDER, make)).toBe(6)
  clock.advance(1)
  expect(await made.of(3, ORDER, make)).toBe(7)
})
