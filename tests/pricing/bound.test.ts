import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readPrices } from '@/generation/rate-text.ts'
import { TOKEN_RATE_NAMES, type TokenRateName } from '@/generation/rates.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import { affordableOutput, areDearer, boundOf, LARGEST_COUNT } from '@/pricing/bound.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import { anyRates, anyUsage, usageOf } from './samples.ts'

test('no usage within the ceiling costs more, whatever the rates and tiers', () => {
  fc.assert(
    fc.property(anyUsage, anyRates, fc.nat(1_000_000), fc.nat(100_000), (usage, rates, spare, made) => {
      const extras = { images: { auto: made }, videoSeconds: made }
      const ceiling = {
        inputTokens: inputTokens(usage) + spare,
        outputTokens: outputTokens(usage) + spare,
        ...extras,
      }
      return costOf(usage, rates, extras).pico <= boundOf(ceiling, rates)
    }),
    { numRuns: 5_000 },
  )
})

const RATES = readPrices({
  input: '3',
  cache_write_1h: '6',
  output: '15',
  reasoning: '20',
  per_request: '0.000001',
  tiers: [{ above_input_tokens: 100, input: '1', cache_write_1h: '2' }],
})

test('takes every token to be of the dearest kind', () => {
  expect(boundOf({ inputTokens: 10, outputTokens: 2 }, RATES)).toBe(60_000_000n + 40_000_000n + 1_000_000n)
})

test('leaves out kinds that the request cannot use', () => {
  const ceiling = { inputTokens: 10, outputTokens: 2 }
  expect(boundOf({ ...ceiling, without: ['cache_write_1h', 'reasoning'] }, RATES)).toBe(61_000_000n)
})

describe('kinds that are not dearer', () => {
  test('change no bound when they are left out, whatever the rates and tiers', () => {
    const kinds = fc.subarray([...TOKEN_RATE_NAMES])
    const nano = fc.bigInt({ min: 0n, max: 10n ** 10n })
    fc.assert(
      fc.property(
        anyRates,
        kinds,
        fc.nat(2_000_000),
        fc.nat(100_000),
        nano,
        (rates, without, inputTokens, outputTokens, available) => {
          fc.pre(!areDearer(without, rates))
          const all = { inputTokens, outputTokens }
          expect(boundOf({ ...all, without }, rates)).toBe(boundOf(all, rates))
          const fewer = affordableOutput({ inputTokens, without }, rates, available)
          expect(fewer).toBe(affordableOutput({ inputTokens }, rates, available))
        },
      ),
      { numRuns: 3_000, maxSkipsPerRun: 1_000 },
    )
  })

  test.each<[TokenRateName[], boolean]>([
    [[], false],
    [['input_audio', 'output_audio'], false],
    [['cache_write_1h'], true],
    [['input_audio', 'cache_write_1h'], true],
    [['reasoning'], true],
  ])('%j: %p', (kinds, are) => {
    expect(areDearer(kinds, RATES)).toBe(are)
  })

  test('may be so only in a tier, or only together', () => {
    const tiered = readPrices({
      input: '3',
      output: '15',
      tiers: [{ above_input_tokens: 9, input_audio: '5' }],
    })
    expect(areDearer(['input_audio'], tiered)).toBe(true)
    const alike = readPrices({ input: '3', output: '15', input_audio: '6', cache_write_1h: '6' })
    expect(areDearer(['input_audio'], alike)).toBe(false)
    expect(areDearer(['input_audio', 'cache_write_1h'], alike)).toBe(true)
  })
})

test('a cheaper tier does not lower it: the prompt may turn out shorter', () => {
  expect(boundOf({ inputTokens: 101, outputTokens: 0 }, RATES)).toBe(607_000_000n)
})

test('a prompt as long as the threshold of a tier is not in it, neither for its bound nor for what pays for it', () => {
  const rates = readPrices({ input: '1', output: '2', tiers: [{ above_input_tokens: 100, input: '5' }] })
  const [at, beyond] = [{ inputTokens: 100 }, { inputTokens: 101 }]
  expect(boundOf({ ...at, outputTokens: 10 }, rates)).toBe(120_000_000n)
  expect(boundOf({ ...beyond, outputTokens: 10 }, rates)).toBe(525_000_000n)
  expect(affordableOutput(at, rates, 120_000n)).toBe(10n)
  expect(affordableOutput(beyond, rates, 525_000n)).toBe(10n)
})

test('holds the rate per request', () => {
  expect(boundOf({ inputTokens: 0, outputTokens: 0 }, RATES)).toBe(1_000_000n)
})

test('is what a request of the one dearest kind costs', () => {
  const { pico } = costOf(usageOf({ cacheWrite1h: 10, reasoning: 2 }), RATES)
  expect(boundOf({ inputTokens: 10, outputTokens: 2 }, RATES)).toBe(pico)
})

test('a ceiling that counts nothing is refused', () => {
  expect(() => boundOf({ inputTokens: -1, outputTokens: 0 }, RATES)).toThrow('inputTokens must be')
  expect(() => boundOf({ inputTokens: 0, outputTokens: 1.5 }, RATES)).toThrow('outputTokens must be')
})

describe('what is affordable', () => {
  test('is paid for, and one token more would not be, whatever the rates and tiers', () => {
    const available = fc.bigInt({ min: 0n, max: 10n ** 10n })
    fc.assert(
      fc.property(anyRates, fc.nat(1_000_000), available, (rates, inputTokens, nano) => {
        const most = affordableOutput({ inputTokens }, rates, nano)
        const isPaid = (outputTokens: number) =>
          roundUp(boundOf({ inputTokens, outputTokens }, rates)) <= nano
        if (most === undefined) return !isPaid(0)
        return isPaid(Number(most)) && (most === LARGEST_COUNT || !isPaid(Number(most) + 1))
      }),
      { numRuns: 10_000 },
    )
  })

  test('is nothing at all when the prompt alone costs more', () => {
    const rates = readPrices({ input: '1', output: '2' })
    expect(affordableOutput({ inputTokens: 1000 }, rates, 999_999n)).toBeUndefined()
    expect(affordableOutput({ inputTokens: 1000 }, rates, 1_000_000n)).toBe(0n)
    expect(affordableOutput({ inputTokens: 1000 }, rates, 1_004_001n)).toBe(2n)
    expect(affordableOutput({ inputTokens: 0 }, rates, -1n)).toBeUndefined()
  })

  test('has no limit where output is free', () => {
    expect(affordableOutput({ inputTokens: 1 }, readPrices({ input: '1', output: '0' }), 1000n)).toBe(
      LARGEST_COUNT,
    )
  })
})
