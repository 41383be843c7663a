import { expect, test } from 'bun:test'
import { ForeignReasoning } from '@/routing/foreign-reasoning.ts'

const HERE = { channelId: 1, keyId: 1 }

test('a conversation is known by the last signature it held, at the destination that refused it', () => {
  const known = new ForeignReasoning()
  known.refused(HERE, ['own', 'foreign'])
  expect(known.isKnown(HERE, () => ['own', 'foreign', 'later'])).toBe(true)
  expect(known.isKnown(HERE, () => ['own'])).toBe(false)
  expect(known.isKnown({ ...HERE, channelId: 2 }, () => ['foreign'])).toBe(false)
  expect(known.isKnown({ ...HERE, keyId: 2 }, () => ['foreign'])).toBe(false)
})

test('a process in which nothing was refused does not read conversations', () => {
  const read = () => {
    throw new Error('read')
  }
  expect(new ForeignReasoning().isKnown(HERE, read)).toBe(false)
})

test('the oldest of more than 50,000 is forgotten', () => {
  const known = new ForeignReasoning()
  for (let each = 0; each <= 50_000; each += 1) known.refused(HERE, [String(each)])
  const isKnown = (signature: string) => known.isKnown(HERE, () => [signature])
  expect(['0', '1', '50000'].map(isKnown)).toEqual([false, true, true])
})
