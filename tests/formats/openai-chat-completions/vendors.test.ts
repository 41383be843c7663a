import { expect, test } from 'bun:test'
import { vendorTraits } from '@/formats/openai-chat-completions/vendors.ts'

const mistral = vendorTraits('api.mistral.ai').fitCallId
const others = vendorTraits('api.openai.com').fitCallId

test.each(['api.mistral.ai', 'API.Mistral.ai', 'api.mistral.ai:8443'])('%s is Mistral', vendor => {
  expect(vendorTraits(vendor).takesStreamOptions).toBe(false)
})

test("Mistral's own call ids are what they were", () => {
  expect(mistral('aB3dE6gH9')).toBe('aB3dE6gH9')
})

test.each(['toolu_01A09q90qw90lq917835lq9', 'call_1', 'aB3dE6gH', 'aB3dE6gH90', 'aB3-E6gH9', ''])(
  'the call id %j becomes nine letters and digits for Mistral, the same for the call and its result',
  id => {
    expect(mistral(id)).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(mistral(id)).toBe(mistral(id))
  },
)

test('two calls have two ids at Mistral', () => {
  const ids = Array.from({ length: 1000 }, (_, index) => mistral(`call_${index}`))
  expect(new Set(ids).size).toBe(1000)
})

test.each([
  ['toolu_01A09q90qw90lq917835lq9', true],
  ['x'.repeat(40), true],
  ['x'.repeat(41), false],
  ['with space', false],
])('the call id %j stays as it is elsewhere: %p', (id, stays) => {
  expect(others(id) === id).toBe(stays)
  expect(others(id)).toMatch(/^[\x21-\x7e]{1,40}$/)
})
