import type { Transaction } from '@/db/connect.ts'
import { applyIn } from '@/routing/catalog/apply.ts'
import type { PriceJump } from '@/routing/catalog/price-jump.ts'
import {
  announceCatalog,
  lockCatalog,
  readChannels,
  readModels,
  removeChannels,
  removeModels,
} from '@/routing/catalog/store.ts'
import { type Act, type Actor, administer } from '../acts.ts'
import type { NewChannel, NewModel } from '../api/contract/admin-catalog.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'
import { refuseOverwriting } from '../revision.ts'
import { channelAct, modelAct } from './catalog-acts.ts'
import { channelValue, FROM_CONSOLE, readEntries, withoutNulls } from './catalog-values.ts'

/** Changes channels or models, one change at a time, and writes it down; what is served knows of it afterwards. */
export async function changeCatalog<Result>(
  console: Console,
  actor: Actor,
  work: (tx: Transaction) => Promise<{ result: Result; act: Act | undefined }>,
): Promise<Result> {
  const result = await administer(console, actor, async tx => {
    await lockCatalog(tx)
    return work(tx)
  })
  await console.catalog.reload()
  return result
}

/** Adds a channel or, with the revision that the change was made from, replaces all of one. */
export function writeChannel(
  console: Console,
  actor: Actor,
  body: NewChannel,
  revision?: string,
): Promise<void> {
  const { secretBox } = console
  return changeCatalog(console, actor, async tx => {
    const stored = await readChannels(tx, secretBox)
    const before = stored.find(({ name }) => name === body.name)
    assertAsMade('channel', body.name, before, revision)
    const file = readEntries({ channels: [channelValue(body, before)] }, stored)
    const { channels } = await applyIn(tx, secretBox, file, FROM_CONSOLE)
    return { result: undefined, act: channels.map(channelAct)[0] }
  })
}

/** Adds a model or, with the revision that the change was made from, replaces all of one. */
export function writeModel(
  console: Console,
  actor: Actor,
  body: NewModel,
  revision?: string,
): Promise<readonly PriceJump[]> {
  const { secretBox } = console
  return changeCatalog(console, actor, async tx => {
    const before = (await readModels(tx)).find(({ id }) => id === body.id)
    assertAsMade('model', body.id, before, revision)
    const file = readEntries({ models: [withoutNulls(body)] }, await readChannels(tx, secretBox))
    const { models, warnings } = await applyIn(tx, secretBox, file, FROM_CONSOLE)
    return { result: warnings, act: models.map(modelAct)[0] }
  })
}

/** Removes a channel with the routes through it; the answer names the models that no other channel serves. */
export function removeChannel(console: Console, actor: Actor, name: string): Promise<string[]> {
  return changeCatalog(console, actor, async tx => {
    const before = (await readChannels(tx, console.secretBox)).find(channel => channel.name === name)
    if (before === undefined) throw notFound('channel')
    await removeChannels(tx, [name])
    await announceCatalog(tx)
    const left = (await readModels(tx)).filter(({ routes }) => routes.length === 0).map(({ id }) => id)
    return { result: left, act: channelAct({ name, before, after: undefined }) }
  })
}

/**
 * Takes a model out of the catalogue; what was asked of it and at which prices stays.
 * @throws ConsoleError `not_found`
 */
export function removeModel(console: Console, actor: Actor, id: string): Promise<void> {
  return changeCatalog(console, actor, async tx => {
    const before = (await readModels(tx)).find(model => model.id === id)
    if (before === undefined) throw notFound('model')
    await removeModels(tx, [id])
    await announceCatalog(tx)
    return { result: undefined, act: modelAct({ name: id, before, after: undefined }) }
  })
}

/** @throws ConsoleError for adding what is there, and for replacing what is gone or was changed since the revision */
function assertAsMade(
  what: 'channel' | 'model',
  name: string,
  before: { revision: string } | undefined,
  revision: string | undefined,
): void {
  if (revision === undefined) {
    if (before === undefined) return
    const field = what === 'channel' ? 'name' : 'id'
    throw new ConsoleError('refused', `There is a ${what} "${name}" already`, { field })
  }
  if (before === undefined) throw notFound(what)
  refuseOverwriting(what, before.revision, revision)
}
