import { calcPrice, type ModelPrice, type TieredPrices } from '@pydantic/genai-prices'
import { VENDORS, vendorFile } from '@/config/catalogue.ts'
import { readDecimal } from '@/config/decimal.ts'
import type { ModelEntry } from '@/config/entries.ts'
import { perMillion, readPricePlan, readPrices } from '@/generation/rate-text.ts'
import { type Rates, TOKEN_RATE_NAMES, type TokenRateName, tokenRatesFor } from '@/generation/rates.ts'

/**
 * `bun run catalogue:check [DATE]`: compares the shipped catalogue with the package that it comes from, as the prices
 * are at that date (default: today). Exit code 1 if a price differs.
 */

/** What a run finds. */
export interface Findings {
  /** Here and there they differ. */
  differences: string[]
  /** The package knows of a change after the date, of which the file does not. */
  upcoming: string[]
  /** Nothing to compare with. */
  missing: string[]
}

/** The package's names of what a file's `prices` can say. */
const NAMES: Readonly<Record<string, TokenRateName>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cached_input',
  cache_write_mtok: 'cache_write_5m',
  cache_write_1h_mtok: 'cache_write_1h',
  output_mtok: 'output',
  input_audio_mtok: 'input_audio',
  output_audio_mtok: 'output_audio',
}

/** What a gateway cannot tell from usage, or does not charge for; anything else that is priced is a difference. */
const IGNORED = new Set(['web_searches_kcount', 'storage_searches_kcount', 'cache_audio_read_mtok'])

const PROVIDERS: Readonly<Record<string, string>> = {
  OpenAI: 'openai',
  Anthropic: 'anthropic',
  Gemini: 'google',
}

const KEYS = { OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none', GEMINI_API_KEY: 'none' }

export function checkCatalogue(date: Date): Findings {
  const findings: Findings = { differences: [], upcoming: [], missing: [] }
  for (const vendor of VENDORS) {
    const providerId = PROVIDERS[vendor.name] ?? vendor.name
    for (const model of vendorFile([vendor], KEYS).models) checkModel(model, providerId, date, findings)
  }
  return findings
}

export function checkModel(model: ModelEntry, providerId: string, date: Date, findings: Findings): void {
  const listed = priceAt(model.id, providerId, date)
  if (listed === undefined) {
    findings.missing.push(`${model.id} is not in the package`)
    return
  }
  const { rates } = readPricePlan(model.prices ?? {}, date)
  findings.differences.push(...compare(model.id, rates, listed))
  const inAYear = new Date(date.getTime() + YEAR_MS)
  const later = priceAt(model.id, providerId, inAYear) ?? listed
  if (compare(model.id, readPricePlan(model.prices ?? {}, inAYear).rates, later).length > 0) {
    findings.upcoming.push(`${model.id} will cost ${JSON.stringify(later)}`)
  }
}

const YEAR_MS = 365 * 86_400_000

/** Only a model of exactly this name: the package also matches by prefix, which a newer model falls under. */
function priceAt(id: string, providerId: string, timestamp: Date): ModelPrice | undefined {
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, id, { providerId, timestamp })
  return found?.model.id === id ? found.model_price : undefined
}

function compare(id: string, rates: Rates, listed: ModelPrice): string[] {
  const unknown = Object.keys(listed).filter(key => NAMES[key] === undefined && !IGNORED.has(key))
  const lengths = new Set([0, ...rates.tiers.map(tier => above(tier.aboveInputTokens)), ...startsOf(listed)])
  return [
    ...unknown.map(key => `${id}: the package prices ${key}, which the catalogue cannot say`),
    ...[...lengths].flatMap(length => compareAt(id, rates, listed, length)),
  ]
}

/** Compared as charged for a prompt of this length: what one side leaves out falls back on both. */
function compareAt(id: string, rates: Rates, listed: ModelPrice, length: number): string[] {
  const here = tokenRatesFor(rates, BigInt(length))
  const there = tokenRatesFor(readPrices(pricesAt(listed, length)), 0n)
  return TOKEN_RATE_NAMES.filter(name => here[name] !== there[name]).map(
    name =>
      `${id}: ${name} at ${length} prompt tokens is ${perMillion(here[name])} here, ${perMillion(there[name])} in the package`,
  )
}

function pricesAt(listed: ModelPrice, length: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(listed).flatMap(([key, price]) => {
      const name = NAMES[key]
      if (name === undefined || price === undefined) return []
      const perMillionTokens = typeof price === 'number' ? price : tierPrice(price, length)
      return [[name, readDecimal(String(perMillionTokens)) ?? '']]
    }),
  )
}

function tierPrice({ base, tiers }: TieredPrices, length: number): number {
  return tiers.findLast(tier => length > tier.start)?.price ?? base
}

function startsOf(listed: ModelPrice): number[] {
  return Object.values(listed).flatMap(price =>
    typeof price === 'object' ? price.tiers.map(tier => tier.start + 1) : [],
  )
}

function above(threshold: bigint): number {
  return Number(threshold) + 1
}

if (import.meta.main) {
  const [, , text] = process.argv
  const { differences, upcoming, missing } = checkCatalogue(text === undefined ? new Date() : new Date(text))
  for (const line of [...differences, ...upcoming, ...missing]) console.log(line)
  console.log(
    `${differences.length} differences, ${upcoming.length} changes to come, ${missing.length} not in the package`,
  )
  process.exitCode = differences.length > 0 ? 1 : 0
}
