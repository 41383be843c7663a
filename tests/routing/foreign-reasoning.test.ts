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

test('the oldest is forgotten when there are too many', () => {
  const known = new ForeignReasoning(2)
  for (const signature of ['a', 'b', 'c']) known.refused(HERE, [signature])
  const isKnown = (signature: string) => known.isKnown(HERE, () => [signature])
  expect(['a', 'b', 'c'].map(isKnown)).toEqual([false, true, true])
})
