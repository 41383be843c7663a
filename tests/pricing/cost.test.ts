import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readPrices } from '@/generation/rate-text.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import { anyRates, anyUsage, ratesOf, sumOf, usageOf } from './samples.ts'

/** Cheap enough for every run: about a second each. */
const MANY = { numRuns: 100_000 }
const SOME = { numRuns: 5_000 }

describe('the laws of a cost', () => {
  test('it is additive before rounding, while the tier stays the same', () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, anyRates, (one, other, { tokens }) => {
        const rates = ratesOf(tokens)
        const together = costOf(sumOf(one, other), rates).pico
        return together === costOf(one, rates).pico + costOf(other, rates).pico
      }),
      SOME,
    )
  })

  test('more of anything never costs less, while the tier stays the same', () => {
    fc.assert(
      fc.property(
        anyUsage,
        anyUsage,
        anyRates,
        (one, more, { tokens }) =>
          costOf(sumOf(one, more), ratesOf(tokens)).pico >= costOf(one, ratesOf(tokens)).pico,
      ),
      SOME,
    )
  })

  test('the lines of the receipt sum to the total, and each is quantity times rate', () => {
    fc.assert(
      fc.property(anyUsage, anyRates, fc.nat(20), (usage, rates, made) => {
        const extras = { images: { '1024x1024': made, odd: 1 }, videoSeconds: made }
        const { pico, lines } = costOf(usage, rates, extras)
        for (const line of lines) expect(line.pico).toBe(line.quantity * line.rate)
        expect(lines.reduce((sum, line) => sum + line.pico, 0n)).toBe(pico)
      }),
      { numRuns: 2_000 },
    )
  })

  test('every token is on exactly one line: uncached, read and written sum to the prompt', () => {
    fc.assert(
      fc.property(anyUsage, anyRates, (usage, rates) => {
        const quantities = costOf(usage, { ...rates, perRequest: undefined }).lines.map(line => line.quantity)
        const { serverTools: _, ...buckets } = usage
        const tokens = Object.values(buckets).reduce((sum, tokens) => sum + tokens, 0)
        return quantities.reduce((sum, quantity) => sum + quantity, 0n) === BigInt(tokens)
      }),
      SOME,
    )
  })

  test('rounding up adds less than a nano and never makes use free', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), pico => {
        const error = roundUp(pico) * 1000n - pico
        return error >= 0n && error < 1000n && roundUp(pico) > 0n === pico > 0n
      }),
      MANY,
    )
  })

  test('rounding once never costs more than rounding each part', () => {
    const pico = fc.bigInt({ min: 0n, max: 10n ** 18n })
    fc.assert(
      fc.property(pico, pico, (one, other) => roundUp(one + other) <= roundUp(one) + roundUp(other)),
      MANY,
    )
  })
})

describe('what a bucket costs', () => {
  const ONE_OF_EACH: Usage = {
    inputUncached: 1,
    cacheRead: 1,
    cacheWrite5m: 1,
    cacheWrite1h: 1,
    audioInput: 1,
    outputText: 1,
    reasoning: 1,
    audioOutput: 1,
    serverTools: { web_search: 3 },
  }

  function ratesByBucket(prices: Parameters<typeof readPrices>[0]) {
    const { lines } = costOf(ONE_OF_EACH, readPrices(prices))
    return Object.fromEntries(lines.map(({ bucket, rate }) => [bucket, Number(rate)]))
  }

  test('is its own rate', () => {
    const prices = {
      input: '0.000001',
      cached_input: '0.000002',
      cache_write_5m: '0.000003',
      cache_write_1h: '0.000004',
      output: '0.000005',
      reasoning: '0.000006',
      input_audio: '0.000007',
      output_audio: '0.000008',
    }
    expect(ratesByBucket(prices)).toEqual({
      input: 1,
      cached_input: 2,
      cache_write_5m: 3,
      cache_write_1h: 4,
      output: 5,
      reasoning: 6,
      input_audio: 7,
      output_audio: 8,
    })
  })

  test('falls back to the rate of what it is a case of', () => {
    expect(ratesByBucket({ input: '3', output: '15' })).toEqual({
      input: 3_000_000,
      cached_input: 3_000_000,
      cache_write_5m: 3_000_000,
      cache_write_1h: 3_000_000,
      input_audio: 3_000_000,
      output: 15_000_000,
      reasoning: 15_000_000,
      output_audio: 15_000_000,
    })
    expect(ratesByBucket({ input: '3', cache_write_5m: '3.75', output: '15' })).toMatchObject({
      cache_write_1h: 3_750_000,
    })
  })

  test('is shown at 0 where nobody priced it', () => {
    expect(costOf(usageOf({ outputText: 7 }), readPrices({ input: '1' })).lines).toEqual([
      { bucket: 'output', quantity: 7n, rate: 0n, pico: 0n },
    ])
  })
})

describe('tiers', () => {
  const rates = readPrices({
    input: '1.25',
    cached_input: '0.125',
    output: '10',
    tiers: [
      { above_input_tokens: 500_000, output: '20' },
      { above_input_tokens: 200_000, input: '2.5', output: '15' },
    ],
  })
  const costAt = (usage: Partial<Usage>) =>
    Object.fromEntries(costOf(usageOf(usage), rates).lines.map(line => [line.bucket, line.rate]))

  test.each<[string, Partial<Usage>, Record<string, bigint>]>([
    [
      'at the threshold: the base',
      { inputUncached: 200_000, outputText: 1 },
      { input: 1_250_000n, output: 10_000_000n },
    ],
    [
      'one above: the tier, for the whole request',
      { inputUncached: 200_001, outputText: 1 },
      { input: 2_500_000n, output: 15_000_000n },
    ],
    [
      'cached tokens count, and what the tier does not name stays',
      { inputUncached: 1, cacheRead: 200_000, outputText: 1 },
      { input: 2_500_000n, cached_input: 125_000n, output: 15_000_000n },
    ],
    [
      'written and audio tokens count',
      { cacheWrite5m: 100_000, cacheWrite1h: 50_000, audioInput: 50_001 },
      { cache_write_5m: 2_500_000n, cache_write_1h: 2_500_000n, input_audio: 2_500_000n },
    ],
    [
      'output does not',
      { inputUncached: 1, outputText: 900_000 },
      { input: 1_250_000n, output: 10_000_000n },
    ],
    [
      'the highest one reached replaces what it names of the base, not of the tier below',
      { inputUncached: 500_001, outputText: 1 },
      { input: 1_250_000n, output: 20_000_000n },
    ],
  ])('%s', (_, usage, expected) => {
    expect(costAt(usage)).toEqual(expected)
  })
})

describe('requests, images and seconds', () => {
  const rates = readPrices({
    per_request: '0.002',
    per_image: { '1024x1024': '0.04', '1536x1024': '0.06' },
    per_video_second: '0.1',
  })

  test('are charged beside the tokens, and the request once', () => {
    expect(costOf(NO_USAGE, rates).pico).toBe(2_000_000_000n)
    expect(costOf(NO_USAGE, rates, { images: { '1024x1024': 2 }, videoSeconds: 8 })).toEqual({
      pico: 882_000_000_000n,
      lines: [
        { bucket: 'per_request', quantity: 1n, rate: 2_000_000_000n, pico: 2_000_000_000n },
        {
          bucket: 'per_image',
          size: '1024x1024',
          quantity: 2n,
          rate: 40_000_000_000n,
          pico: 80_000_000_000n,
        },
        { bucket: 'per_video_second', quantity: 8n, rate: 100_000_000_000n, pico: 800_000_000_000n },
      ],
    })
  })

  test('sound costs by the second, and speech by the character', () => {
    const audio = readPrices({ per_audio_second: '0.0001', per_million_characters: '15' })
    expect(costOf(NO_USAGE, audio, { audioSeconds: 90, characters: 1000 }).lines).toEqual([
      { bucket: 'per_audio_second', quantity: 90n, rate: 100_000_000n, pico: 9_000_000_000n },
      { bucket: 'per_million_characters', quantity: 1000n, rate: 15_000_000n, pico: 15_000_000_000n },
    ])
  })

  test('of which there were none are no line of the receipt', () => {
    const none = { images: { '1024x1024': 0 }, videoSeconds: 0, audioSeconds: 0, characters: 0 }
    expect(costOf(NO_USAGE, rates, none).lines.map(({ bucket }) => bucket)).toEqual(['per_request'])
  })

  test('images, films and sound that nobody priced cost nothing, and stand on the receipt', () => {
    const extras = { images: { odd: 1 }, videoSeconds: 1, audioSeconds: 1, characters: 1 }
    const { pico, lines } = costOf(NO_USAGE, readPrices({ input: '1' }), extras)
    expect(pico).toBe(0n)
    expect(lines.map(({ bucket, quantity, rate }) => [bucket, quantity, rate])).toEqual([
      ['per_image', 1n, 0n],
      ['per_video_second', 1n, 0n],
      ['per_audio_second', 1n, 0n],
      ['per_million_characters', 1n, 0n],
    ])
  })

  test('a size without a price costs the default, else the dearest size', () => {
    const withDefault = readPrices({ per_image: { '1024x1024': '0.04', default: '0.01' } })
    expect(costOf(NO_USAGE, withDefault, { images: { odd: 1 } }).pico).toBe(10_000_000_000n)
    expect(costOf(NO_USAGE, rates, { images: { odd: 1 } }).pico).toBe(2_000_000_000n + 60_000_000_000n)
  })
})

describe('counts that count nothing are refused', () => {
  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('%p', value => {
    const rates = readPrices({ input: '1' })
    expect(() => costOf(usageOf({ cacheRead: value }), rates)).toThrow('cacheRead must be a whole number')
    expect(() => costOf(NO_USAGE, rates, { images: { odd: value } })).toThrow('images["odd"]')
    expect(() => costOf(NO_USAGE, rates, { videoSeconds: value })).toThrow(RangeError)
    expect(() => costOf(NO_USAGE, rates, { audioSeconds: value })).toThrow(RangeError)
    expect(() => costOf(NO_USAGE, rates, { characters: value })).toThrow(RangeError)
  })

  test('a negative cost is no cost', () => {
    expect(() => roundUp(-1n)).toThrow(RangeError)
  })
})
