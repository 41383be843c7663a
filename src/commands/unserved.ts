import type { ConfigFile, ModelEntry } from '@/config/entries.ts'
import type { Format } from '@/generation/format.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { SERVED_BY, type Surface } from '@/generation/surface.ts'
import { surfacesPriced } from '@/pricing/coverage.ts'

/**
 * What a file offers and every caller would be refused, in words: models without prices, and surfaces that none of
 * their channels can serve. It is applied all the same: prices and channels may follow.
 */
export function unservedIn({ channels, models }: ConfigFile): string[] {
  const formats = new Map(channels.map(({ name, format }) => [name, format]))
  return models.flatMap(model => {
    if (Object.keys(model.prices ?? {}).length === 0) {
      return [`the model ${model.id} has no prices: until it has, every request of it is refused`]
    }
    // A channel that only the database knows may serve anything.
    const known = model.routes.map(({ channel }) => formats.get(channel))
    return offeredOn(model)
      .filter(surface => known.every(format => format !== undefined && !serves(format, surface)))
      .map(surface => `the model ${model.id} is offered for ${surface}, which none of its channels can serve`)
  })
}

/** As the operator says, else as its prices tell. */
function offeredOn({ surfaces, prices = {} }: ModelEntry): readonly Surface[] {
  return surfaces ?? surfacesPriced(readPrices(prices))
}

function serves(format: Format, surface: Surface): boolean {
  return SERVED_BY[surface].includes(format)
}
