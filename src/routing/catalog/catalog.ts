import type { Catalog, Model } from '@/routing/model.ts'
import type { Channel } from '@/upstream/channel.ts'

/** A catalog that never changes: whoever holds it sees one moment. Ids and aliases match exactly. */
export function createCatalog(models: readonly Model[], channels: readonly Channel[]): Catalog {
  const sorted = models.toSorted((one, other) => (one.id < other.id ? -1 : 1)).map(freeze)
  const byName = new Map<string, Model>()
  for (const model of sorted) for (const alias of model.aliases) byName.set(alias, model)
  // After the aliases: an id is never shadowed.
  for (const model of sorted) byName.set(model.id, model)
  const list = Object.freeze(sorted)
  return Object.freeze({
    find: (name: string) => byName.get(name),
    list: () => list,
    channels: () => channels,
  })
}

function freeze(model: Model): Model {
  for (const route of model.routes) {
    Object.freeze(route.channel)
    Object.freeze(route)
  }
  Object.freeze(model.routes)
  return Object.freeze(model)
}
