import { expect, test } from 'bun:test'
import { RefusedSummaries } from '@/routing/refused-summaries.ts'

test('who was refused summaries is known for an hour, at the destination that refused them', () => {
  let now = 5
  const known = new RefusedSummaries({ elapsed: () => now })
  const here = { channelId: 1, keyId: 1 }
  expect(known.isKnown(here)).toBe(false)
  known.refused(here)
  now += 3_599_999
  expect(known.isKnown(here)).toBe(true)
  expect(known.isKnown({ ...here, channelId: 2 })).toBe(false)
  expect(known.isKnown({ ...here, keyId: 2 })).toBe(false)
  now += 1
  expect(known.isKnown(here)).toBe(false)
})
