import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyRates } from '#tests/pricing/samples.ts'
import { VENDORS, vendorFile } from '@/config/catalogue.ts'
import { Refusal } from '@/errors/refusal.ts'
import {
  declareRates,
  perMillion,
  perUnit,
  readPricePlan,
  readPrices,
  readStoredRates,
  storeRates,
} from '@/generation/rate-text.ts'

const CONTRACT = {
  input: '1.25',
  cached_input: '0.125',
  cache_write_5m: '1.5',
  cache_write_1h: '2.5',
  output: '10',
  reasoning: '10',
  input_audio: '32',
  output_audio: '64',
  per_request: '0',
  per_image: { '1024x1024': '0.04', default: '0.04' },
  per_video_second: '0.1',
  tiers: [{ above_input_tokens: 200_000, input: '2.5', output: '15' }],
}

test('the prices of the contract are integers of pico units', () => {
  expect(readPrices(CONTRACT)).toEqual({
    tokens: {
      input: 1_250_000n,
      cached_input: 125_000n,
      cache_write_5m: 1_500_000n,
      cache_write_1h: 2_500_000n,
      output: 10_000_000n,
      reasoning: 10_000_000n,
      input_audio: 32_000_000n,
      output_audio: 64_000_000n,
    },
    perRequest: 0n,
    perImage: new Map([
      ['1024x1024', 40_000_000_000n],
      ['default', 40_000_000_000n],
    ]),
    perVideoSecond: 100_000_000_000n,
    perAudioSecond: undefined,
    perCharacter: undefined,
    tiers: [{ aboveInputTokens: 200_000n, tokens: { input: 2_500_000n, output: 15_000_000n } }],
    serviceTiers: new Map(),
  })
})

test('prices of service tiers come back as they were, in both spellings', () => {
  const prices = {
    input: '1.25',
    service_tiers: {
      priority: { input: '2.5' },
      flex: { output: '5', tiers: [{ above_input_tokens: '200000', output: '7.5' }] },
    },
  }
  const rates = readPrices(prices)
  expect(rates.serviceTiers.get('flex')).toEqual({
    tokens: { output: 5_000_000n },
    tiers: [{ aboveInputTokens: 200_000n, tokens: { output: 7_500_000n } }],
  })
  expect(declareRates(rates)).toEqual(prices)
  expect(readStoredRates(storeRates(rates))).toEqual(rates)
})

test.each([
  ['0.075', 75_000n],
  ['0.01875', 18_750n],
  ['0.0001', 100n],
  ['0.000001', 1n],
  ['600', 600_000_000n],
  ['0', 0n],
])('$%s per million tokens is %p pico per token, and reads back', (published, pico) => {
  expect(readPrices({ input: published }).tokens.input).toBe(pico)
  expect(perMillion(pico)).toBe(published)
})

test('sound is priced by the second, and text that is spoken by the million characters', () => {
  const rates = readPrices({ per_audio_second: '0.0001', per_million_characters: '15' })
  expect(rates).toMatchObject({ perAudioSecond: 100_000_000n, perCharacter: 15_000_000n })
  expect(readStoredRates(storeRates(rates))).toEqual(rates)
})

test('a price per unit reads back', () => {
  expect(perUnit(readPrices({ per_request: '123456789.123456789012' }).perRequest ?? 0n)).toBe(
    '123456789.123456789012',
  )
})

const KEYS = { OPENAI_API_KEY: 'one', ANTHROPIC_API_KEY: 'two', GEMINI_API_KEY: 'three' }

test('every price of the shipped catalogue round-trips to its text', () => {
  let checked = 0
  for (const { id, prices } of vendorFile(VENDORS, KEYS).models) {
    const rates = readPrices(prices ?? {})
    for (const [name, pico] of Object.entries(rates.tokens)) {
      expect([id, name, perMillion(pico)]).toEqual([id, name, prices?.[name] as string])
      checked += 1
    }
  }
  expect(checked).toBeGreaterThan(50)
})

test('what is stored reads back as it was, whatever it is', () => {
  fc.assert(
    fc.property(anyRates, rates => {
      expect(readStoredRates(JSON.parse(JSON.stringify(storeRates(rates))))).toEqual(rates)
    }),
    { numRuns: 2_000 },
  )
})

test('what is stored is decimal strings only', () => {
  expect(storeRates(readPrices({ input: '1.25', tiers: [{ above_input_tokens: 5, output: '2' }] }))).toEqual({
    input: '1250000',
    tiers: [{ above_input_tokens: '5', output: '2000000' }],
  })
})

test('tiers come in order of their threshold', () => {
  const tiers = [{ above_input_tokens: 9 }, { above_input_tokens: 5, input: '1' }]
  expect(readPrices({ tiers }).tiers.map(tier => tier.aboveInputTokens)).toEqual([5n, 9n])
})

describe('refuses, naming the field', () => {
  test.each<[string, Parameters<typeof readPrices>[0], string]>([
    ['digits beyond a pico unit', { input: '0.0000001' }, 'prices.input must have at most 6 decimal places'],
    ['a float', { output: 0.1 }, 'prices.output must be a plain decimal string, but is 0.1'],
    ['a negative price', { reasoning: '-1' }, 'prices.reasoning must be a plain decimal string'],
    ['an exponent', { cached_input: '1e-3' }, 'prices.cached_input must be'],
    ['null', { per_request: null }, 'prices.per_request must be'],
    ['an image size', { per_image: { '1024x1024': 'x' } }, 'prices.per_image["1024x1024"] must be'],
    ['a unit price too fine', { per_video_second: '0.0000000000001' }, 'must have at most 12 decimal places'],
    [
      'a tier',
      { tiers: [{ above_input_tokens: 1 }, { above_input_tokens: 2, output: '1.2345678' }] },
      'prices.tiers[1].output must have',
    ],
    ['a tier of no length', { tiers: [{ input: '1' }] }, 'prices.tiers[0].above_input_tokens is missing'],
    [
      'a tier of half a token',
      { tiers: [{ above_input_tokens: 1.5 }] },
      'prices.tiers[0].above_input_tokens must',
    ],
  ])('%s', (_, prices, message) => {
    expect(() => readPrices(prices)).toThrow(Refusal)
    expect(() => readPrices(prices)).toThrow(message)
  })
})

test('changes of a price are taken in order of time, and each from its very moment', () => {
  const changes = ['2026-04-01', '2026-05-01', '2026-03-01'].map((from, index) => ({
    from,
    input: `${index}`,
  }))
  const { rates, changes: later } = readPricePlan({ input: '9', changes }, new Date('2026-04-01'))
  expect(rates.tokens.input).toBe(0n)
  expect(later.map(({ from }) => from)).toEqual([new Date('2026-05-01')])
})
