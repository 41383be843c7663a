import { Refusal } from '@/errors/refusal.ts'
import { asArray, asObject, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import {
  type DeclaredTokenRates,
  type Rates,
  type RateTier,
  type ServiceTierRates,
  TOKEN_RATE_NAMES,
  type TokenRateName,
} from './rates.ts'
import { SERVICE_TIERS, type ServiceTier } from './service-tier.ts'

/** How many decimal places turn a decimal string into whole pico units. */
interface Places {
  token: number
  /** Requests, images and seconds. Characters are priced like tokens, by the million. */
  unit: number
}

/** tollgate.yaml: units of the currency per million tokens, or per request, image or second. */
const DECLARED: Places = { token: 6, unit: 12 }
/** The database: pico units. */
const STORED: Places = { token: 0, unit: 0 }

/**
 * The rates that a model's `prices` declare, exactly, whatever they become later.
 * @throws Refusal naming the field that is no decimal string or has more places than a pico unit
 */
export function readPrices(prices: JsonObject): Rates {
  return read(prices, DECLARED)
}

/** Rates from a moment on. */
export interface RateChange {
  from: Date
  rates: Rates
}

/**
 * The rates that a model's `prices` declare for a moment, and those that they become after it, in order of time. A
 * change begins with its day in UTC, and replaces what was before it as a whole.
 * @throws Refusal as `readPrices` does
 */
export function readPricePlan(prices: JsonObject, now: Date): { rates: Rates; changes: RateChange[] } {
  const all = asArray(prices['changes'])
    .map(change => asObject(change) ?? {})
    .map(change => ({ from: new Date(String(change['from'])), rates: readPrices(change) }))
    .toSorted((one, other) => one.from.getTime() - other.from.getTime())
  const past = all.findLast(({ from }) => from <= now)
  return { rates: past?.rates ?? readPrices(prices), changes: all.filter(({ from }) => from > now) }
}

/** The inverse of `storeRates`. */
export function readStoredRates(stored: JsonObject): Rates {
  return read(stored, STORED)
}

/** Rates as the database keeps them: the names of tollgate.yaml, each value a decimal string of pico units. */
export function storeRates(rates: Rates): JsonObject {
  return write(rates, { perMillion: String, perUnit: String })
}

/** Rates as tollgate.yaml says them, without changes to come: the inverse of `readPrices`. */
export function declareRates(rates: Rates): JsonObject {
  return write(rates, { perMillion, perUnit })
}

/** A rate of tokens or characters in units of the currency per million tokens, as tollgate.yaml would say it. */
export function perMillion(pico: bigint): string {
  return decimalOf(pico, DECLARED.token)
}

/** A rate per request, image or second in units of the currency. */
export function perUnit(pico: bigint): string {
  return decimalOf(pico, DECLARED.unit)
}

function read(prices: JsonObject, places: Places): Rates {
  return {
    tokens: readTokens(prices, 'prices', places),
    perRequest: pico(prices['per_request'], 'prices.per_request', places.unit),
    perImage: readSizes(asObject(prices['per_image']) ?? {}, places),
    perVideoSecond: pico(prices['per_video_second'], 'prices.per_video_second', places.unit),
    perAudioSecond: pico(prices['per_audio_second'], 'prices.per_audio_second', places.unit),
    perCharacter: pico(prices['per_million_characters'], 'prices.per_million_characters', places.token),
    tiers: readTiers(prices, 'prices', places),
    serviceTiers: readServiceTiers(asObject(prices['service_tiers']) ?? {}, places),
  }
}

function readServiceTiers(tiers: JsonObject, places: Places): Map<ServiceTier, ServiceTierRates> {
  const found = new Map<ServiceTier, ServiceTierRates>()
  for (const name of SERVICE_TIERS) {
    const tier = asObject(tiers[name])
    const path = `prices.service_tiers.${name}`
    if (tier === undefined) continue
    found.set(name, { tokens: readTokens(tier, path, places), tiers: readTiers(tier, path, places) })
  }
  return found
}

function readTiers(prices: JsonObject, path: string, places: Places): RateTier[] {
  return asArray(prices['tiers'])
    .map((tier, index) => readTier(asObject(tier) ?? {}, `${path}.tiers[${index}]`, places))
    .toSorted((one, other) => (one.aboveInputTokens < other.aboveInputTokens ? -1 : 1))
}

function readTier(tier: JsonObject, path: string, places: Places): RateTier {
  const above = tier['above_input_tokens']
  const text = typeof above === 'number' && Number.isSafeInteger(above) ? above.toString() : above
  const aboveInputTokens = pico(text, `${path}.above_input_tokens`, 0)
  if (aboveInputTokens === undefined) throw new Refusal(`${path}.above_input_tokens is missing`)
  return { aboveInputTokens, tokens: readTokens(tier, path, places) }
}

function readTokens(prices: JsonObject, path: string, { token }: Places): DeclaredTokenRates {
  const tokens: Partial<Record<TokenRateName, bigint>> = {}
  for (const name of TOKEN_RATE_NAMES) {
    const rate = pico(prices[name], `${path}.${name}`, token)
    if (rate !== undefined) tokens[name] = rate
  }
  return tokens
}

function readSizes(sizes: JsonObject, { unit }: Places): ReadonlyMap<string, bigint> {
  const found = new Map<string, bigint>()
  for (const [size, value] of Object.entries(sizes)) {
    const rate = pico(value, `prices.per_image["${size}"]`, unit)
    if (rate !== undefined) found.set(size, rate)
  }
  return found
}

/** `'0.075'` with 6 places -> `75000n`. A number is refused: it may have been rounded already. */
function pico(value: JsonValue | undefined, path: string, places: number): bigint | undefined {
  if (value === undefined) return undefined
  const match = typeof value === 'string' ? /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(value) : null
  if (match === null) {
    throw new Refusal(`${path} must be a plain decimal string, but is ${JSON.stringify(value)}`)
  }
  const [, whole = '', fraction = ''] = match
  if (fraction.length > places) {
    throw new Refusal(`${path} must have at most ${places} decimal places, but is "${value}"`)
  }
  return BigInt(whole + fraction.padEnd(places, '0'))
}

/** How a rate is spelled. */
interface Spelling {
  /** Of tokens and characters. */
  perMillion(pico: bigint): string
  /** Of requests, images and seconds. */
  perUnit(pico: bigint): string
}

function write(rates: Rates, spelling: Spelling): JsonObject {
  const {
    tokens,
    perRequest,
    perImage,
    perVideoSecond,
    perAudioSecond,
    perCharacter,
    tiers,
    serviceTiers,
    ...rest
  } = rates
  rest satisfies Record<string, never>
  const unit = (pico: bigint | undefined) => (pico === undefined ? undefined : spelling.perUnit(pico))
  return present({
    ...writeTokens(tokens, spelling),
    per_request: unit(perRequest),
    per_image:
      perImage.size === 0
        ? undefined
        : Object.fromEntries([...perImage].map(([size, pico]) => [size, spelling.perUnit(pico)])),
    per_video_second: unit(perVideoSecond),
    per_audio_second: unit(perAudioSecond),
    per_million_characters: perCharacter === undefined ? undefined : spelling.perMillion(perCharacter),
    tiers: writeTiers(tiers, spelling),
    service_tiers:
      serviceTiers.size === 0
        ? undefined
        : Object.fromEntries(
            [...serviceTiers].map(([name, tier]) => [
              name,
              present({
                ...writeTokens(tier.tokens, spelling),
                tiers: writeTiers(tier.tiers, spelling),
              }),
            ]),
          ),
  })
}

function writeTiers(tiers: readonly RateTier[], spelling: Spelling): JsonObject[] | undefined {
  if (tiers.length === 0) return undefined
  return tiers.map(tier => ({
    above_input_tokens: tier.aboveInputTokens.toString(),
    ...writeTokens(tier.tokens, spelling),
  }))
}

function writeTokens(tokens: DeclaredTokenRates, { perMillion }: Spelling): JsonObject {
  return Object.fromEntries(
    TOKEN_RATE_NAMES.flatMap(name => {
      const rate = tokens[name]
      return rate === undefined ? [] : [[name, perMillion(rate)]]
    }),
  )
}

function decimalOf(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  return `${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}
