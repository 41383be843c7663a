import { isDeepStrictEqual } from 'node:util'
import type { ConfigFile } from '@/config/entries.ts'
import type { Database } from '@/db/connect.ts'
import type { PriceJump } from './price-jump.ts'
import { reviewPrices, writePrices } from './price-review.ts'
import { readClock, readCurrentPrices } from './price-store.ts'
import { announceCatalog, lockCatalog, readModels, readShippedIds, writeModelPrices } from './store.ts'

/**
 * Brings the prices of models that came from the shipped catalogue to what this release's says, and touches nothing
 * else: a model that the operator's file or the console has written since is theirs. A price that jumps is returned
 * and stays as it is.
 */
export function refreshPrices(db: Database, catalogue: ConfigFile): Promise<readonly PriceJump[]> {
  return db.orm.transaction(async tx => {
    await lockCatalog(tx)
    const shipped = await readShippedIds(tx)
    const stored = (await readModels(tx)).filter(({ id }) => shipped.has(id))
    const listed = new Map(catalogue.models.map(({ id, prices }) => [id, prices]))
    const wanted = stored.flatMap(({ createdAt: _, revision: __, ...model }) => {
      const prices = listed.get(model.id)
      return prices === undefined ? [] : [{ ...model, prices }]
    })
    const state = {
      current: await readCurrentPrices(tx),
      source: 'default',
      now: await readClock(tx),
    } as const
    const { models, jumps } = reviewPrices(wanted, stored, state)
    const before = new Map(stored.map(({ id, prices }) => [id, prices]))
    for (const { id, prices } of models) {
      if (!isDeepStrictEqual(prices, before.get(id))) await writeModelPrices(tx, id, prices)
    }
    if (await writePrices(tx, models, state)) await announceCatalog(tx)
    return jumps
  })
}
