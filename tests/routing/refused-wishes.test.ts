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
  expect(known.refusedBy(here).includes('thought-summary')).toBe(false)
  known.refused('thought-summary', here)
  now += 3_599_999
  expect(known.refusedBy(here).includes('thought-summary')).toBe(true)
  expect(known.refusedBy(otherModel).includes('thought-summary')).toBe(true)
  expect(known.refusedBy(otherChannel).includes('thought-summary')).toBe(false)
  expect(known.refusedBy(otherKey).includes('thought-summary')).toBe(false)
  expect(known.refusedBy(here).includes('thinking')).toBe(false)
  now += 1
  expect(known.refusedBy(here).includes('thought-summary')).toBe(false)
})

test('a model that does not think does so with no key of its channel', () => {
  const known = new RefusedWishes({ elapsed: () => 5 })
  known.refused('thinking', here)
  expect(known.refusedBy(here).includes('thinking')).toBe(true)
  expect(known.refusedBy(otherKey).includes('thinking')).toBe(true)
  expect(known.refusedBy(otherChannel).includes('thinking')).toBe(false)
  expect(known.refusedBy(otherModel).includes('thinking')).toBe(false)
})
