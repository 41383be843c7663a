import fc from 'fast-check'
import { type DeclaredTokenRates, type Rates, TOKEN_RATE_NAMES } from '@/generation/rates.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'

/** Rates with nothing declared but what is given. */
export function ratesOf(tokens: DeclaredTokenRates, rest: Partial<Omit<Rates, 'tokens'>> = {}): Rates {
  return {
    tokens,
    perRequest: undefined,
    perImage: new Map(),
    perVideoSecond: undefined,
    perAudioSecond: undefined,
    perCharacter: undefined,
    tiers: [],
    serviceTiers: new Map(),
    ...rest,
  }
}

/** No usage but what is given. */
export function usageOf(usage: Partial<Usage>): Usage {
  return { ...NO_USAGE, ...usage }
}

/** Up to 1,000 units of the currency per million tokens. */
const rate = fc.bigInt({ min: 0n, max: 1_000_000_000n })
const tokens: fc.Arbitrary<DeclaredTokenRates> = fc.record(
  Object.fromEntries(TOKEN_RATE_NAMES.map(name => [name, rate])),
  { requiredKeys: [] },
)

const tiers = fc
  .uniqueArray(
    fc.record(
      { aboveInputTokens: fc.bigInt({ min: 0n, max: 2_000_000n }), tokens },
      { requiredKeys: ['aboveInputTokens', 'tokens'] },
    ),
    { maxLength: 3, selector: tier => tier.aboveInputTokens },
  )
  .map(found => found.toSorted((one, other) => (one.aboveInputTokens < other.aboveInputTokens ? -1 : 1)))

const sizes = fc
  .dictionary(fc.constantFrom('default', '1024x1024', '1536x1024', 'auto'), rate)
  .map(record => new Map(Object.entries(record)))

const serviceTiers: fc.Arbitrary<Rates['serviceTiers']> = fc
  .dictionary(fc.constantFrom(...SERVICE_TIERS), fc.record({ tokens, tiers }))
  .map(record => new Map(SERVICE_TIERS.flatMap(name => (record[name] ? [[name, record[name]]] : []))))

/** Any rates that a file can declare. */
export const anyRates: fc.Arbitrary<Rates> = fc.record({
  tokens,
  perRequest: fc.option(rate, { nil: undefined }),
  perImage: sizes,
  perVideoSecond: fc.option(rate, { nil: undefined }),
  perAudioSecond: fc.option(rate, { nil: undefined }),
  perCharacter: fc.option(rate, { nil: undefined }),
  tiers,
  serviceTiers,
})

const count = fc.nat({ max: 1_500_000 })

/** Any usage, in counts that cross the tiers of `anyRates`. */
export const anyUsage: fc.Arbitrary<Usage> = fc.record({
  inputUncached: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  audioInput: count,
  outputText: count,
  reasoning: count,
  audioOutput: count,
  serverTools: fc.constant({}),
})

/** Two usages as one. */
export function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputUncached: one.inputUncached + other.inputUncached,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite5m: one.cacheWrite5m + other.cacheWrite5m,
    cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
    audioInput: one.audioInput + other.audioInput,
    outputText: one.outputText + other.outputText,
    reasoning: one.reasoning + other.reasoning,
    audioOutput: one.audioOutput + other.audioOutput,
    serverTools: {},
  }
}
