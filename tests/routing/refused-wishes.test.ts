import { expect, test } from 'bun:test'
import { channelOf, routeOf } from '#tests/support/channels.ts'
import { RefusedWishes } from '@/routing/refused-wishes.ts'

const route = routeOf(channelOf(1))
const here = { route, key: { id: 1, secret: 's' } }
const otherChannel = { ...here, route: routeOf(channelOf(2)) }
const otherKey = { ...here, key: { id: 2, secret: 's' } }
const otherModel = { ...here, route: { ...route, upstreamModel: 'other' } }

test('who was refused summaries is known for an hour, at the destination that refused them', () => {
  let now = 5
  const known = new RefusedWishes({ elapsed: () => now })
  expect(known.isKnown('thought-summary', here)).toBe(false)
  known.refused('thought-summary', here)
  now += 3_599_999
  expect(known.isKnown('thought-summary', here)).toBe(true)
  expect(known.isKnown('thought-summary', otherModel)).toBe(true)
  expect(known.isKnown('thought-summary', otherChannel)).toBe(false)
  expect(known.isKnown('thought-summary', otherKey)).toBe(false)
  expect(known.isKnown('thinking', here)).toBe(false)
  now += 1
  expect(known.isKnown('thought-summary', here)).toBe(false)
})

test('a model that does not think does so with no key of its channel', () => {
  const known = new RefusedWishes({ elapsed: () => 5 })
  known.refused('thinking', here)
  expect(known.isKnown('thinking', here)).toBe(true)
  expect(known.isKnown('thinking', otherKey)).toBe(true)
  expect(known.isKnown('thinking', otherChannel)).toBe(false)
  expect(known.isKnown('thinking', otherModel)).toBe(false)
})
