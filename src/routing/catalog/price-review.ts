import type { ModelEntry } from '@/config/entries.ts'
import type { Transaction } from '@/db/connect.ts'
import type { Source } from '@/db/schema.ts'
import { readPricePlan } from '@/generation/rate-text.ts'
import type { Rates } from '@/generation/rates.ts'
import { findJumps, type PriceJump } from './price-jump.ts'
import { readScheduled, type StoredPrice, versionsTo, writeVersions } from './price-store.ts'
import type { StoredModel } from './store.ts'

/** What is to be written, and what the operator should look at. */
interface PriceReview {
  models: readonly ModelEntry[]
  jumps: readonly PriceJump[]
}

/** What prices are reviewed and written against. */
interface PriceState {
  /** The prices in force, by model. */
  current: ReadonlyMap<string, StoredPrice>
  /** Whose word the new ones are. */
  source: Source
  now: Date
}

/**
 * Looks for jumps against the prices in force, now and at the changes that are to come. What the operator's own file
 * states is applied and told. The shipped catalogue is somebody else's word: there a model with a jump keeps the prices
 * that it has.
 */
export function reviewPrices(
  models: readonly ModelEntry[],
  stored: readonly StoredModel[],
  { current, source, now }: PriceState,
): PriceReview {
  const applied = source !== 'default'
  const storedPrices = new Map(stored.map(model => [model.id, model.prices]))
  const reviewed = models.map(entry => {
    const before = current.get(entry.id)?.rates
    const plan = entry.prices && readPricePlan(entry.prices, now)
    const found = before === undefined || plan === undefined ? [] : jumpsOf(before, plan)
    const held = found.length > 0 && !applied && storedPrices.has(entry.id)
    return {
      entry: held ? { ...entry, prices: storedPrices.get(entry.id) } : entry,
      jumps: found.map(jump => ({ model: entry.id, ...jump, applied: !held })),
    }
  })
  return { models: reviewed.map(({ entry }) => entry), jumps: reviewed.flatMap(({ jumps }) => jumps) }
}

function jumpsOf(before: Rates, { rates, changes }: ReturnType<typeof readPricePlan>) {
  const later = changes.flatMap(change =>
    findJumps(before, change.rates).map(jump => ({
      ...jump,
      rate: `${jump.rate} from ${change.from.toISOString().slice(0, 10)}`,
    })),
  )
  return [...findJumps(before, rates), ...later]
}

/** Adds versions for each model whose rates are not those in force or to come; true if there was one. */
export async function writePrices(
  tx: Transaction,
  models: readonly ModelEntry[],
  { current, source, now }: PriceState,
): Promise<boolean> {
  const scheduled = await readScheduled(tx)
  const versions = models.flatMap(({ id, prices }) =>
    versionsTo(
      prices === undefined ? UNPRICED : readPricePlan(prices, now),
      { current: current.get(id), scheduled: scheduled.get(id) ?? [] },
      { modelId: id, source },
    ),
  )
  await writeVersions(tx, versions)
  return versions.length > 0
}

const UNPRICED = { rates: undefined, changes: [] }
