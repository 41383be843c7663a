import type { ModelEntry } from '@/config/file.ts'
import type { Transaction } from '@/db/connect.ts'
import type { Source } from '@/db/schema.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { findJumps, type PriceJump } from './price-jump.ts'
import { type StoredPrice, writePrice } from './price-store.ts'
import type { StoredModel } from './store.ts'

/** What is to be written, and what the operator should look at. */
export interface PriceReview {
  models: readonly ModelEntry[]
  jumps: readonly PriceJump[]
}

/**
 * Looks for jumps against the prices in force. What the operator's own file states is applied and told. The shipped
 * catalogue is somebody else's word: there a model with a jump keeps the prices that it has.
 */
export function reviewPrices(
  models: readonly ModelEntry[],
  stored: readonly StoredModel[],
  current: ReadonlyMap<string, StoredPrice>,
  source: Source,
): PriceReview {
  const applied = source !== 'default'
  const storedPrices = new Map(stored.map(model => [model.id, model.prices]))
  const reviewed = models.map(entry => {
    const before = current.get(entry.id)?.rates
    const after = entry.prices && readPrices(entry.prices)
    const found = before === undefined || after === undefined ? [] : findJumps(before, after)
    const held = found.length > 0 && !applied && storedPrices.has(entry.id)
    return {
      entry: held ? { ...entry, prices: storedPrices.get(entry.id) } : entry,
      jumps: found.map(jump => ({ model: entry.id, ...jump, applied: !held })),
    }
  })
  return { models: reviewed.map(({ entry }) => entry), jumps: reviewed.flatMap(({ jumps }) => jumps) }
}

/** Adds a version for each model whose rates are not those in force; true if there was one. */
export async function writePrices(
  tx: Transaction,
  models: readonly ModelEntry[],
  current: ReadonlyMap<string, StoredPrice>,
  source: Source,
): Promise<boolean> {
  let written = false
  for (const { id, prices } of models) {
    const rates = prices && readPrices(prices)
    if (await writePrice(tx, id, rates, current.get(id), source)) written = true
  }
  return written
}
