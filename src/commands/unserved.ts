import type { ConfigFile, ModelEntry } from '@/config/entries.ts'
import { dialectOf } from '@/exchange/operations/dialect.ts'
import type { Format } from '@/generation/format.ts'
import { readPricePlan } from '@/generation/rate-text.ts'
import type { Surface } from '@/generation/surface.ts'
import { isPriced, surfacesPriced, WORKS } from '@/pricing/coverage.ts'

/**
 * What a file offers and every caller would be refused now, in words: models without prices, and surfaces that none of
 * their channels can serve. It is applied all the same: prices and channels may follow.
 */
export function unservedIn({ channels, models }: ConfigFile, now: Date): string[] {
  const formats = new Map(channels.map(({ name, format }) => [name, format]))
  const unserved = models.flatMap(model =>
    unservedOf(model, formats, now).map(surface => ({ surface, id: model.id })),
  )
  return [...Map.groupBy(unserved, ({ surface }) => surface)].map(([surface, found]) =>
    describe(
      surface,
      found.map(({ id }) => id),
    ),
  )
}

/** Surfaces of a model that are refused; undefined stands for any, for want of prices. */
function unservedOf(
  { surfaces, prices = {}, routes }: ModelEntry,
  formats: ReadonlyMap<string, Format>,
  now: Date,
): (Surface | undefined)[] {
  const { rates } = readPricePlan(prices, now)
  if (!WORKS.some(work => isPriced(rates, work))) return [undefined]
  // A channel that only the database knows may serve anything.
  const known = routes.map(({ channel }) => formats.get(channel))
  // As the operator says, else as its prices tell.
  const offered = surfaces ?? surfacesPriced(rates)
  return offered.filter(surface => known.every(format => format !== undefined && !serves(format, surface)))
}

/** The most models that a line names. */
const MOST_NAMED = 10

function describe(surface: Surface | undefined, ids: readonly string[]): string {
  const named = ids.slice(0, MOST_NAMED).join(', ')
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : ''
  const isOne = ids.length === 1
  const who = isOne ? `the model ${named}` : `the models ${named}${more}`
  if (surface === undefined) {
    return isOne
      ? `${who} has no prices: until it has, every request of it is refused`
      : `${who} have no prices: until they have, every request of them is refused`
  }
  return isOne
    ? `${who} is offered for ${surface}, which none of its channels can serve`
    : `${who} are offered for ${surface}, which none of their channels can serve`
}

/** Conversations are converted for every format. */
function serves(format: Format, surface: Surface): boolean {
  switch (surface) {
    case 'embeddings':
    case 'images':
    case 'videos':
      return dialectOf(format) !== undefined
    case 'audio':
      return dialectOf(format) === 'openai'
    default:
      return true
  }
}
