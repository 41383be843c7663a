import type { ConfigFile, ModelEntry } from '@/config/entries.ts'
import { dialectOf } from '@/exchange/operations/dialect.ts'
import type { Format } from '@/generation/format.ts'
import { readPricePlan } from '@/generation/rate-text.ts'
import type { Surface } from '@/generation/surface.ts'
import { isPriced, surfacesPriced, WORKS, type Work } from '@/pricing/coverage.ts'

/**
 * What a file offers and every caller would be refused now, in words: models without prices, and surfaces that a model has
 * no price for, or that none of its channels can serve. It is applied all the same: prices and channels may follow.
 */
export function unservedIn({ channels, models }: ConfigFile, now: Date): string[] {
  const formats = new Map(channels.map(({ name, format }) => [name, format]))
  const found = models.flatMap(model => findingsOf(model, formats, now))
  return [...Map.groupBy(found, ({ many }) => many)].map(([many, alike]) => describe(many, alike))
}

/** What is true of a model, as it is said of it alone and of it and others. */
interface Finding {
  id: string
  one: string
  many: string
}

function findingsOf(
  { id, surfaces, prices = {}, routes }: ModelEntry,
  formats: ReadonlyMap<string, Format>,
  now: Date,
): Finding[] {
  const { rates } = readPricePlan(prices, now)
  const isPricedFor = (works: readonly Work[]) => works.some(work => isPriced(rates, work))
  if (!isPricedFor(WORKS)) return [{ id, ...NO_PRICES }]
  // A channel that only the database knows may serve anything.
  const known = routes.map(({ channel }) => formats.get(channel))
  // As the operator says, else as its prices tell.
  const offered = surfaces ?? surfacesPriced(rates)
  return offered.flatMap(surface => {
    if (!isPricedFor(WORKS_OF[surface])) return [{ id, ...noPriceFor(surface) }]
    if (known.every(format => format !== undefined && !serves(format, surface))) {
      return [{ id, ...noChannelFor(surface) }]
    }
    return []
  })
}

const NO_PRICES = {
  one: 'has no prices: until it has, every request of it is refused',
  many: 'have no prices: until they have, every request of them is refused',
}

const noPriceFor = (surface: Surface) => ({
  one: `is offered for ${surface}, for which it has no price`,
  many: `are offered for ${surface}, for which they have no price`,
})

const noChannelFor = (surface: Surface) => ({
  one: `is offered for ${surface}, which none of its channels can serve`,
  many: `are offered for ${surface}, which none of their channels can serve`,
})

/** The most models that a line names. */
const MOST_NAMED = 10

function describe(many: string, alike: readonly Finding[]): string {
  const [first] = alike
  if (first !== undefined && alike.length === 1) return `the model ${first.id} ${first.one}`
  const ids = alike.map(({ id }) => id)
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : ''
  return `the models ${ids.slice(0, MOST_NAMED).join(', ')}${more} ${many}`
}

/** What may be asked of a model on a surface: one of it has to have a price. */
const WORKS_OF: Readonly<Record<Surface, readonly Work[]>> = {
  chat: ['text'],
  responses: ['text'],
  messages: ['text'],
  gemini: ['text', 'embedding', 'image', 'video'],
  embeddings: ['embedding'],
  images: ['image'],
  videos: ['video'],
  audio: ['speech', 'transcription'],
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
