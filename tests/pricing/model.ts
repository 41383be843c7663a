import fc from 'fast-check'
import { TOKEN_RATE_NAMES } from '@/generation/rates.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * What a request costs, in the words of docs/billing.md and in fractions, apart from all that prices: from what an
 * operator writes and what was used to what is charged.
 */

/** What was used, by the names of the prices. */
export interface Used {
  tokens: Readonly<Record<string, number>>
  images: Readonly<Record<string, number>>
  videoSeconds: number
  audioSeconds: number
  characters: number
}

/** What a kind costs that has no price of its own: the next of these that has one, else nothing. */
const INSTEAD: Readonly<Record<string, readonly string[]>> = {
  cached_input: ['input'],
  cache_write_5m: ['input'],
  cache_write_1h: ['cache_write_5m', 'input'],
  reasoning: ['output'],
  input_audio: ['input'],
  output_audio: ['output'],
}
const PROMPT = ['input', 'cached_input', 'cache_write_5m', 'cache_write_1h', 'input_audio']

/** In billionths of the currency. */
export function chargeOf(prices: JsonObject, serviceTier: string | undefined, used: Used): bigint {
  const prompt = PROMPT.reduce((sum, kind) => sum + (used.tokens[kind] ?? 0), 0)
  const own = objectIn(objectIn(prices, 'service_tiers'), serviceTier ?? '')
  // What stands later counts.
  const layers = [prices, longPrompt(prices, prompt), own, longPrompt(own, prompt)]
  const priceOf = (kind: string) => layers.map(layer => layer[kind]).findLast(price => price !== undefined)
  const sum = new Sum()
  sum.add(1, prices['per_request'], 1n)
  for (const [kind, count] of Object.entries(used.tokens)) {
    const price = [kind, ...(INSTEAD[kind] ?? [])].map(priceOf).find(found => found !== undefined)
    sum.add(count, price, MILLION)
  }
  const sizes = objectIn(prices, 'per_image')
  for (const [size, count] of Object.entries(used.images)) {
    sum.add(count, sizes[size] ?? sizes['default'] ?? dearest(Object.values(sizes)), 1n)
  }
  sum.add(used.videoSeconds, prices['per_video_second'], 1n)
  sum.add(used.audioSeconds, prices['per_audio_second'], 1n)
  sum.add(used.characters, prices['per_million_characters'], MILLION)
  return sum.nanoRoundedUp()
}

const MILLION = 1_000_000n

/** A sum of amounts of money, each a fraction. */
class Sum {
  #over = 0n
  #under = 1n

  /** So many, of which so many cost a price. */
  add(count: number, price: unknown, per: bigint): void {
    if (price === undefined) return
    const [whole = '', places = ''] = String(price).split('.')
    const under = per * 10n ** BigInt(places.length)
    this.#over = this.#over * under + BigInt(count) * BigInt(whole + places) * this.#under
    this.#under *= under
  }

  nanoRoundedUp(): bigint {
    const nano = this.#over * 1_000_000_000n
    return nano / this.#under + (nano % this.#under === 0n ? 0n : 1n)
  }
}

function longPrompt(prices: JsonObject, prompt: number): JsonObject {
  const tiers = Array.isArray(prices['tiers']) ? prices['tiers'] : []
  const reached = tiers.filter(isObject).filter(tier => prompt > Number(tier['above_input_tokens']))
  return reached.toSorted((one, other) => above(other) - above(one))[0] ?? {}
}

const above = (tier: JsonObject) => Number(tier['above_input_tokens'])

function dearest(prices: readonly unknown[]): unknown {
  return prices.toSorted((one, other) => Number(other) - Number(one))[0]
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectIn(object: JsonObject, name: string): JsonObject {
  const found = object[name]
  return isObject(found) ? found : {}
}

/** A decimal string below a thousand, with as many places as a price may have, or fewer. */
const decimal = (most: number) =>
  fc
    .tuple(fc.nat(999), fc.nat(most), fc.nat(10 ** 6 - 1))
    .map(([whole, places, part]) =>
      places === 0 ? `${whole}` : `${whole}.${String(part).padEnd(most, '7').slice(0, places)}`,
    )
const some = (names: readonly string[], price: fc.Arbitrary<string>) =>
  fc.record(Object.fromEntries(names.map(name => [name, price])), { requiredKeys: [], noNullPrototype: true })
const tokenPrices = some(TOKEN_RATE_NAMES, decimal(6))
const tiers = fc.uniqueArray(
  fc
    .tuple(fc.nat(600_000), tokenPrices)
    .map(([above_input_tokens, prices]): JsonObject => ({ above_input_tokens, ...prices })),
  { maxLength: 3, selector: above },
)
const anyTier = fc.tuple(tokenPrices, tiers).map(([prices, long]): JsonObject => ({ ...prices, tiers: long }))
const SIZES = ['1024x1024', '1536x1024', 'default', 'auto']

/** What an operator may write under `prices`. */
export const anyPrices: fc.Arbitrary<JsonObject> = fc
  .tuple(
    anyTier,
    some(['per_request', 'per_video_second', 'per_audio_second'], decimal(12)),
    some(['per_million_characters'], decimal(6)),
    some(SIZES, decimal(12)),
    fc.dictionary(fc.constantFrom(...SERVICE_TIERS), anyTier, { noNullPrototype: true }),
  )
  .map(([own, units, characters, per_image, service_tiers]) => ({
    ...own,
    ...units,
    ...characters,
    per_image,
    service_tiers,
  }))

/** Counts around the thresholds, and nothing often enough. */
const count = fc.oneof(fc.constant(0), fc.nat(20), fc.nat(400_000))
export const anyUsed: fc.Arbitrary<Used> = fc.record({
  tokens: fc.record(Object.fromEntries(TOKEN_RATE_NAMES.map(name => [name, count]))),
  images: fc.dictionary(fc.constantFrom(...SIZES, '8x8'), fc.nat(9), { noNullPrototype: true }),
  videoSeconds: count,
  audioSeconds: count,
  characters: count,
})
