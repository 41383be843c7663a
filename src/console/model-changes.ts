import { applyIn } from '@/routing/catalog/apply.ts'
import type { PriceJump } from '@/routing/catalog/price-jump.ts'
import {
  announceCatalog,
  lockCatalog,
  readChannels,
  readModels,
  removeModels,
} from '@/routing/catalog/store.ts'
import { type Actor, administer } from './acts.ts'
import type { NewModel } from './api/contract/admin-catalog.ts'
import { modelAct } from './catalog-acts.ts'
import { FROM_CONSOLE, readEntries, withoutNulls } from './catalog-values.ts'
import type { Console } from './deployment.ts'
import { ConsoleError, notFound } from './failure.ts'
import { refuseOverwriting } from './revision.ts'

/** Adds a model or, with the revision that the change was made from, replaces all of one. */
export async function writeModel(
  console: Console,
  actor: Actor,
  body: NewModel,
  revision?: string,
): Promise<readonly PriceJump[]> {
  const { secretBox } = console
  const jumps = await administer(console, actor, async tx => {
    await lockCatalog(tx)
    const before = (await readModels(tx)).find(({ id }) => id === body.id)
    if (revision === undefined && before !== undefined) {
      throw new ConsoleError('refused', `There is a model "${body.id}" already`, { field: 'id' })
    }
    if (revision !== undefined) {
      if (before === undefined) throw notFound('model')
      refuseOverwriting('model', before.revision, revision)
    }
    const file = readEntries({ models: [withoutNulls(body)] }, await readChannels(tx, secretBox))
    const { models, warnings } = await applyIn(tx, secretBox, file, FROM_CONSOLE)
    return { result: warnings, act: models.map(modelAct)[0] }
  })
  await console.catalog.reload()
  return jumps
}

/**
 * Takes a model out of the catalogue; what was asked of it and at which prices stays.
 * @throws ConsoleError `not_found`
 */
export async function removeModel(console: Console, actor: Actor, id: string): Promise<void> {
  await administer(console, actor, async tx => {
    await lockCatalog(tx)
    const before = (await readModels(tx)).find(model => model.id === id)
    if (before === undefined) throw notFound('model')
    await removeModels(tx, [id])
    await announceCatalog(tx)
    return { result: undefined, act: modelAct({ name: id, before, after: undefined }) }
  })
  await console.catalog.reload()
}
