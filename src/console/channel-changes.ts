import { applyIn } from '@/routing/catalog/apply.ts'
import {
  announceCatalog,
  lockCatalog,
  readChannels,
  readModels,
  removeChannels,
} from '@/routing/catalog/store.ts'
import { type Actor, administer } from './acts.ts'
import type { NewChannel } from './api/contract/admin-catalog.ts'
import { channelAct } from './catalog-acts.ts'
import { channelValue, FROM_CONSOLE, readEntries } from './catalog-values.ts'
import type { Console } from './deployment.ts'
import { ConsoleError, notFound } from './failure.ts'
import { refuseOverwriting } from './revision.ts'

/** Adds a channel or, with the revision that the change was made from, replaces all of one. */
export async function writeChannel(
  console: Console,
  actor: Actor,
  body: NewChannel,
  revision?: string,
): Promise<void> {
  const { secretBox } = console
  await administer(console, actor, async tx => {
    await lockCatalog(tx)
    const stored = await readChannels(tx, secretBox)
    const before = stored.find(({ name }) => name === body.name)
    if (revision === undefined && before !== undefined) {
      throw new ConsoleError('refused', `There is a channel "${body.name}" already`, { field: 'name' })
    }
    if (revision !== undefined) {
      if (before === undefined) throw notFound('channel')
      refuseOverwriting('channel', before.revision, revision)
    }
    const file = readEntries({ channels: [channelValue(body, before)] }, stored)
    const { channels } = await applyIn(tx, secretBox, file, FROM_CONSOLE)
    return { result: undefined, act: channels.map(channelAct)[0] }
  })
  await console.catalog.reload()
}

/** Removes a channel with the routes through it; the answer names the models that no other channel serves. */
export async function removeChannel(console: Console, actor: Actor, name: string): Promise<string[]> {
  const orphans = await administer(console, actor, async tx => {
    await lockCatalog(tx)
    const before = (await readChannels(tx, console.secretBox)).find(channel => channel.name === name)
    if (before === undefined) throw notFound('channel')
    await removeChannels(tx, [name])
    await announceCatalog(tx)
    const left = (await readModels(tx)).filter(({ routes }) => routes.length === 0).map(({ id }) => id)
    return { result: left, act: channelAct({ name, before, after: undefined }) }
  })
  await console.catalog.reload()
  return orphans
}
