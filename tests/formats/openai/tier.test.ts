import { expect, test } from 'bun:test'
import { openaiTier } from '@/formats/openai/shared-fields.ts'

test.each([
  [undefined, {}],
  ['default', { service_tier: 'default' }],
  ['standard', { service_tier: 'default' }],
  ['priority', { service_tier: 'priority' }],
])("a tier %s is told in OpenAI's own words", (tier, told) => {
  expect(openaiTier(tier)).toEqual(told)
})
