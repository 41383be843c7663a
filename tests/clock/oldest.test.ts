import { expect, test } from 'bun:test'
import { dropOldest } from '@/clock/oldest.ts'

test('of a Map or Set the newest stay, as many as may', () => {
  const names = new Set(['a', 'b', 'c', 'd'])
  dropOldest(names, 2)
  expect([...names]).toEqual(['c', 'd'])
  const known = new Map([
    ['a', 1],
    ['b', 2],
  ])
  known.delete('a')
  known.set('a', 3)
  dropOldest(known, 1)
  expect([...known]).toEqual([['a', 3]])
})

test('nothing goes while there is room', () => {
  const names = new Set(['a', 'b'])
  dropOldest(names, 2)
  dropOldest(new Set(), 0)
  expect(names.size).toBe(2)
})
