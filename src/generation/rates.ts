import type { ServiceTier } from './service-tier.ts'

/**
 * What a model costs, in bigint pico units (1e-12) of the deployment's currency per token, request, image or second.
 * A published "$x per million tokens" is x * 1e6 pico per token, so every price that vendors publish is an integer.
 * The names are those of tollgate.yaml's `prices`. It stands with the leaves because both routing (which keeps a
 * model's rates) and pricing (which applies them) have to know it. Reading and writing it: rate-text.ts.
 */
export interface Rates {
  /** As declared: what is missing falls back as `tokenRatesFor` says. */
  tokens: DeclaredTokenRates
  /** For each request, whatever it uses. */
  perRequest: bigint | undefined
  /** For each image made, by size (`1024x1024`); `default` is any other size. */
  perImage: ReadonlyMap<string, bigint>
  /** For each second of video made. */
  perVideoSecond: bigint | undefined
  /** For each second of sound heard or made, begun ones included. */
  perAudioSecond: bigint | undefined
  /** For each character (Unicode code point) of text that is spoken. */
  perCharacter: bigint | undefined
  /** In order of `aboveInputTokens`, no two alike. */
  tiers: readonly RateTier[]
  /** Other rates of the service tiers that have some; see `ratesIn`. */
  serviceTiers: ReadonlyMap<ServiceTier, ServiceTierRates>
}

/** What tokens cost in a service tier, where it is something else. */
export interface ServiceTierRates {
  /** Replaces the rates that it names, for prompts of any length; others stay. */
  tokens: DeclaredTokenRates
  /** The same for long prompts, in order of `aboveInputTokens`, no two alike. */
  tiers: readonly RateTier[]
}

/** Other rates for long prompts. */
export interface RateTier {
  /** In force when a request has more prompt tokens than this, cached and written ones included. */
  aboveInputTokens: bigint
  /** Replaces the rates that it names, for the whole request; others stay. */
  tokens: DeclaredTokenRates
}

/**
 * The dearest rates that a model can be given, in units of the currency: far above any vendor's in any currency, and
 * so low that the largest counts (usage.ts) cost what one entry of the ledger can hold.
 */
export const DEAREST = {
  /** Tokens and characters. */
  perMillion: 100_000_000,
  perRequest: 1_000_000,
  perImage: 1_000_000,
  perSecond: 20_000,
} as const

/** The kinds of tokens that can have a rate, one for each bucket of a Usage, by their keys in tollgate.yaml. */
export const TOKEN_RATE_NAMES = [
  'input',
  'cached_input',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'reasoning',
  'input_audio',
  'output_audio',
] as const
/** A kind of token that can have a rate of its own. */
export type TokenRateName = (typeof TOKEN_RATE_NAMES)[number]

/** As an operator or vendor declares them; a kind that is not there falls back as `tokenRatesFor` says. */
export type DeclaredTokenRates = Readonly<Partial<Record<TokenRateName, bigint>>>
/** After the fall-backs. */
export type TokenRates = Readonly<Record<TokenRateName, bigint>>

/**
 * The rate of every kind of token in a request with so many prompt tokens: that of the tier it is in, else the base
 * rate, else that of a kind it is a case of. Cache reads, 5-minute writes and audio in fall back to `input`, 1-hour
 * writes to 5-minute ones, reasoning and audio out to `output`. A model that names neither `input` nor `output`
 * charges nothing for those tokens: pricing/coverage.ts tells whether that is meant.
 */
export function tokenRatesFor(rates: Rates, inputTokens: bigint): TokenRates {
  const tier = rates.tiers.length === 0 ? undefined : tierFor(rates.tiers, inputTokens)
  const own = tier ?? rates
  const known = workedOut.get(own)
  if (known !== undefined) return known
  const made = withFallBacks({ ...rates.tokens, ...tier?.tokens })
  workedOut.set(own, made)
  return made
}

/**
 * The rates in a service tier: its own where it names one, else those of the model for a prompt of that length. The rates
 * themselves where the tier has none.
 */
export function ratesIn(rates: Rates, serviceTier: ServiceTier | undefined): Rates {
  const own = serviceTier && rates.serviceTiers.get(serviceTier)
  if (own === undefined) return rates
  const known = merged.get(own)
  if (known !== undefined) return known
  const thresholds = new Set([...rates.tiers, ...own.tiers].map(({ aboveInputTokens }) => aboveInputTokens))
  const made: Rates = {
    ...rates,
    tokens: { ...rates.tokens, ...own.tokens },
    tiers: [...thresholds]
      .toSorted((one, other) => (one < other ? -1 : 1))
      .map(aboveInputTokens => ({
        aboveInputTokens,
        tokens: {
          ...tierFor(rates.tiers, aboveInputTokens + 1n)?.tokens,
          ...own.tokens,
          ...tierFor(own.tiers, aboveInputTokens + 1n)?.tokens,
        },
      })),
    serviceTiers: NO_SERVICE_TIERS,
  }
  merged.set(own, made)
  return made
}

/** By the rates of the service tier, which belong to one model's. */
const merged = new WeakMap<ServiceTierRates, Rates>()

const NO_SERVICE_TIERS: Rates['serviceTiers'] = new Map()

/** The tier for long prompts that a prompt of this length is in; undefined: none. */
function tierFor(tiers: readonly RateTier[], inputTokens: bigint): RateTier | undefined {
  return tiers.findLast(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
}

/** By what they are the rates of: a set of rates, or one of its tiers. Rates never change, a price gets new ones. */
const workedOut = new WeakMap<Rates | RateTier, TokenRates>()

function withFallBacks(declared: DeclaredTokenRates): TokenRates {
  const input = declared.input ?? 0n
  const output = declared.output ?? 0n
  const cacheWrite5m = declared.cache_write_5m ?? input
  return {
    input,
    cached_input: declared.cached_input ?? input,
    cache_write_5m: cacheWrite5m,
    cache_write_1h: declared.cache_write_1h ?? cacheWrite5m,
    output,
    reasoning: declared.reasoning ?? output,
    input_audio: declared.input_audio ?? input,
    output_audio: declared.output_audio ?? output,
  }
}
