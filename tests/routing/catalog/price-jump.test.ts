import { expect, test } from 'bun:test'
import { readPrices } from '@/generation/rate-text.ts'
import { describeJump, findJumps } from '@/routing/catalog/price-jump.ts'

type Prices = Parameters<typeof readPrices>[0]

const TIERED: Prices = {
  input: '1',
  output: '4',
  tiers: [{ above_input_tokens: 5, input: '2', output: '6' }],
}

test.each<[string, Prices, Prices, string[]]>([
  ['twice is no jump', { input: '1', output: '4' }, { input: '2', output: '2' }, []],
  ['more than twice is', { input: '1' }, { input: '2.000001' }, ['input 1 -> 2.000001']],
  ['less than half is', { input: '1' }, { input: '0.499999' }, ['input 1 -> 0.499999']],
  ['from nothing is', { input: '0' }, { input: '0.1' }, ['input 0 -> 0.1']],
  [
    'what falls back is compared as charged',
    { input: '3' },
    { input: '3', cached_input: '0.3' },
    ['cached_input 3 -> 0.3'],
  ],
  ['what only falls back is not told twice', { input: '1' }, { input: '9' }, ['input 1 -> 9']],
  [
    'a service tier, against what was charged in it before',
    { input: '1', output: '4' },
    { input: '1', output: '4', service_tiers: { priority: { input: '2', output: '9' } } },
    ['output in priority 4 -> 9'],
  ],
  [
    'a service tier that moves with the model is told once',
    { input: '1', output: '4', service_tiers: { flex: { output: '2' } } },
    { input: '3', output: '4', service_tiers: { flex: { output: '2' } } },
    ['input 1 -> 3'],
  ],
  ['a request', { per_request: '0.01' }, { per_request: '0.03' }, ['per_request 0.01 -> 0.03']],
  [
    'a second of video',
    { per_video_second: '0.3' },
    { per_video_second: '0.1' },
    ['per_video_second 0.3 -> 0.1'],
  ],
  [
    'sound and what is spoken',
    { per_audio_second: '0.0001', per_million_characters: '15' },
    { per_audio_second: '0.0004', per_million_characters: '31' },
    ['per_audio_second 0.0001 -> 0.0004', 'per_million_characters 15 -> 31'],
  ],
  [
    'an image, against the default',
    { per_image: { default: '0.01' } },
    { per_image: { default: '0.01', big: '0.05' } },
    ['per_image big 0.01 -> 0.05'],
  ],
  [
    'a tier',
    TIERED,
    { ...TIERED, tiers: [{ above_input_tokens: 5, input: '20', output: '6' }] },
    ['input above 5 input tokens 2 -> 20'],
  ],
  ['a tier that goes', TIERED, { input: '4', output: '4' }, ['input 1 -> 4']],
  [
    'a new tier',
    { input: '1', output: '4' },
    { input: '1', output: '4', tiers: [{ above_input_tokens: 7, output: '9' }] },
    ['output above 7 input tokens 4 -> 9'],
  ],
  [
    'the base under a tier that follows it',
    { input: '1', tiers: [{ above_input_tokens: 5, output: '1' }] },
    { input: '3', tiers: [{ above_input_tokens: 5, output: '1' }] },
    ['input 1 -> 3'],
  ],
])('%s', (_, before, after, expected) => {
  const found = findJumps(readPrices(before), readPrices(after))
  expect(found.map(({ rate, from, to }) => `${rate} ${from} -> ${to}`)).toEqual(expected)
})

test('a person reads what was done about it', () => {
  const jump = { model: 'gpt', rate: 'input', from: '1', to: '9' }
  expect(describeJump({ ...jump, applied: true })).toBe('the price of gpt (input) jumps from 1 to 9')
  expect(describeJump({ ...jump, applied: false })).toEndWith(
    'not applied: state it in tollgate.yaml if it is right',
  )
})
