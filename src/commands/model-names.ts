import type { Database } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import { readModels } from '@/routing/catalog/store.ts'

/** The ids behind names that a person typed: ids or aliases of models that exist. Undefined stays undefined. */
export async function resolveModels(
  db: Database,
  names: readonly string[] | undefined,
): Promise<string[] | undefined> {
  if (names === undefined) return undefined
  const models = await readModels(db.orm)
  const ids = names.map(name => {
    const found = models.find(model => model.id === name || model.aliases.includes(name))
    if (found === undefined) throw new Refusal(`There is no model "${name}"`)
    return found.id
  })
  return [...new Set(ids)]
}
