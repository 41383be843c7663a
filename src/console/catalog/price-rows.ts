import { isDeepStrictEqual } from 'node:util'
import { declareRates, readPricePlan } from '@/generation/rate-text.ts'
import type { Rates } from '@/generation/rates.ts'
import type { JsonObject } from '@/json/json.ts'
import type { ScheduledPrice } from '@/routing/catalog/price-store.ts'
import type { PriceChange, PriceSet, Prices, PriceTier } from '../api/contract/words.ts'

/** Rates in the names of tollgate.yaml, so that a page can send them back. */
export function ratesRow(rates: Rates): PriceSet {
  const { service_tiers, ...declared } = withNumbers(declareRates(rates) as PriceSet)
  if (service_tiers === undefined) return declared
  const own = Object.entries(service_tiers).map(([name, tier]) => [name, withNumbers(tier)])
  return { ...declared, service_tiers: Object.fromEntries(own) }
}

/** The thresholds, which are declared as texts, as numbers. */
function withNumbers<Set extends { tiers?: PriceTier[] }>(declared: Set): Set {
  if (declared.tiers === undefined) return declared
  return {
    ...declared,
    tiers: declared.tiers.map(tier => ({ ...tier, above_input_tokens: Number(tier.above_input_tokens) })),
  }
}

/** Rates in force, with the changes still to come: one to what holds before it was taken back, and is none. */
export function scheduleRow(inForce: Rates, scheduled: readonly ScheduledPrice[]): Prices {
  const changes: PriceChange[] = []
  let before = inForce
  for (const { from, rates } of scheduled) {
    if (rates === undefined || isDeepStrictEqual(rates, before)) continue
    changes.push({ from: dayOf(from), ...ratesRow(rates) })
    before = rates
  }
  return changes.length === 0 ? ratesRow(inForce) : { ...ratesRow(inForce), changes }
}

/** Declared prices as they hold now, with the changes still to come: a change whose day has come is what holds. */
export function planRow(prices: JsonObject | undefined, now: Date): Prices | null {
  if (prices === undefined) return null
  const { rates, changes } = readPricePlan(prices, now)
  if (changes.length === 0) return ratesRow(rates)
  return {
    ...ratesRow(rates),
    changes: changes.map(change => ({ from: dayOf(change.from), ...ratesRow(change.rates) })),
  }
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10)
}
