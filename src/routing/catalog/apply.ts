import { isDeepStrictEqual } from 'node:util'
import type { ChannelEntry, ConfigFile, ModelEntry } from '@/config/entries.ts'
import type { Database, Transaction } from '@/db/connect.ts'
import type { Source } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import {
  type CurrencyChange,
  currencyChangeOf,
  type Defaults,
  loadDefaults,
  writeDefaults,
} from './defaults.ts'
import type { PriceJump } from './price-jump.ts'
import { reviewPrices, writePrices } from './price-review.ts'
import { readClock, readCurrentPrices } from './price-store.ts'
import {
  announceCatalog,
  giveRenamed,
  hasEntries,
  lockCatalog,
  readChannelIds,
  readChannels,
  readModels,
  removeAliases,
  removeChannels,
  removeModels,
  type StoredChannel,
  type StoredModel,
  writeChannel,
  writeModels,
} from './store.ts'

/** How far a file's word goes. */
export interface ApplyOptions {
  /** Remove what the file does not name. */
  prune: boolean
  /** Say what would be done and do nothing. */
  dryRun: boolean
  source: Source
}

/** Something that is not what it was. */
export interface Change<Thing> {
  name: string
  /** Undefined: it is new. */
  before: Thing | undefined
  /** Undefined: it is gone. */
  after: Thing | undefined
}

/** What was done, or with `dryRun` would be. */
export interface ApplyResult {
  channels: readonly Change<ChannelEntry>[]
  models: readonly Change<ModelEntry>[]
  /** Undefined: they are what they were. */
  defaults: { before: Defaults; after: Defaults } | undefined
  /** Prices that changed by more than a factor of two. */
  warnings: readonly PriceJump[]
  /** Only where there were channels or models before. */
  currencyChange: CurrencyChange | undefined
}

/** How many rows of one kind. */
export type Counts = Record<'added' | 'changed' | 'removed', number>

/** For people: how much was done. */
export function countsOf(changes: readonly Change<unknown>[]): Counts {
  const added = changes.filter(({ before }) => before === undefined).length
  const removed = changes.filter(({ after }) => after === undefined).length
  return { added, changed: changes.length - added - removed, removed }
}

/**
 * Brings channels, models and defaults to what the file says, one process at a time. Applying the same file again
 * changes nothing.
 * @throws Refusal if the file contradicts what stays in the database
 */
export async function applyIn(
  tx: Transaction,
  secretBox: SecretBox,
  file: ConfigFile,
  options: ApplyOptions,
) {
  await lockCatalog(tx)
  return applyLocked(tx, secretBox, file, options)
}

/** Applies what is shipped if there is no channel and no model yet; undefined if there is one. */
export function applyToEmpty(db: Database, secretBox: SecretBox, file: ConfigFile) {
  return db.orm.transaction(async tx => {
    await lockCatalog(tx)
    if (await hasEntries(tx)) return undefined
    return applyLocked(tx, secretBox, file, { prune: false, dryRun: false, source: 'default' })
  })
}

async function applyLocked(
  tx: Transaction,
  secretBox: SecretBox,
  file: ConfigFile,
  options: ApplyOptions,
): Promise<ApplyResult> {
  const stored = { channels: await readChannels(tx, secretBox), models: await readModels(tx) }
  const { source, prune } = options
  const state = { current: await readCurrentPrices(tx), source, now: await readClock(tx) }
  const review = reviewPrices(file.models, stored.models, state)
  const before = await loadDefaults({ orm: tx })
  const currencyChange = (await hasEntries(tx)) ? currencyChangeOf(before, file, prune) : undefined
  const channels = changesTo(file.channels, stored.channels, ({ name }) => name, isSameChannel, prune)
  const models = changesTo(review.models, stored.models, ({ id }) => id, isSameModel, prune)
  refuseConflicts(file, stored, prune)
  const result = { channels, models, defaults: undefined, warnings: review.jumps, currencyChange }
  if (options.dryRun) return result
  await write(tx, secretBox, channels, models, source)
  const pricesChanged = await writePrices(tx, review.models, state)
  const defaultsChanged = await writeDefaults(tx, file, prune)
  if (channels.length + models.length > 0 || pricesChanged || defaultsChanged) await announceCatalog(tx)
  const after = await loadDefaults({ orm: tx })
  return { ...result, defaults: isDeepStrictEqual(before, after) ? undefined : { before, after } }
}

/** What has to be written so that the database says what the file says. */
function changesTo<Entry, Row extends Entry>(
  wanted: readonly Entry[],
  stored: readonly Row[],
  nameOf: (entry: Entry) => string,
  isSame: (row: Row, entry: Entry) => boolean,
  prune: boolean,
): Change<Entry>[] {
  const rows = new Map(stored.map(row => [nameOf(row), row]))
  const names = new Set(wanted.map(nameOf))
  const written = wanted.flatMap(after => {
    const name = nameOf(after)
    const before = rows.get(name)
    return before !== undefined && isSame(before, after) ? [] : { name, before, after }
  })
  const unnamed = prune ? stored.filter(row => !names.has(nameOf(row))) : []
  return [...written, ...unnamed.map(before => ({ name: nameOf(before), before, after: undefined }))]
}

function isSameChannel({ id: _, keyIds: __, revision: ___, ...row }: StoredChannel, entry: ChannelEntry) {
  return isDeepStrictEqual(row, entry)
}

function isSameModel({ createdAt: _, revision: __, ...row }: StoredModel, entry: ModelEntry) {
  return isDeepStrictEqual(inOrder(row), inOrder(entry))
}

/** Aliases and routes are sets: their order in the file says nothing. */
function inOrder(entry: ModelEntry): ModelEntry {
  const key = (route: ModelEntry['routes'][number]) => JSON.stringify([route.channel, route.upstreamModel])
  return {
    ...entry,
    aliases: entry.aliases.toSorted(),
    routes: entry.routes.toSorted((one, other) => (key(one) < key(other) ? -1 : 1)),
  }
}

/** The file alone is consistent; together with what stays in the database it may not be. */
function refuseConflicts(
  file: ConfigFile,
  stored: { channels: readonly StoredChannel[]; models: readonly StoredModel[] },
  prune: boolean,
): void {
  const named = new Set(file.models.map(model => model.id))
  const staying = prune ? [] : stored.models.filter(model => !named.has(model.id))
  const taken = new Map(staying.flatMap(model => [model.id, ...model.aliases].map(name => [name, model.id])))
  const kept = prune ? [] : stored.channels
  const channels = new Set([...file.channels, ...kept].map(channel => channel.name))
  for (const model of file.models) {
    for (const name of [model.id, ...model.aliases]) {
      const owner = taken.get(name)
      if (owner === undefined) continue
      throw new Refusal(
        `"${name}" of model "${model.id}" is already a name of model "${owner}" in the database`,
      )
    }
    const missing = model.routes.find(route => !channels.has(route.channel))
    if (missing !== undefined) {
      throw new Refusal(
        `Model "${model.id}" names the channel "${missing.channel}", which is not there any more`,
      )
    }
  }
}

async function write(
  tx: Transaction,
  secretBox: SecretBox,
  channels: readonly Change<ChannelEntry>[],
  models: readonly Change<ModelEntry>[],
  source: Source,
): Promise<void> {
  const changedModels = models.flatMap(({ after }) => after ?? [])
  for (const { after } of channels) if (after !== undefined) await writeChannel(tx, secretBox, after, source)
  const channelIds = await readChannelIds(tx)
  await removeAliases(
    tx,
    models.map(({ name }) => name),
  )
  await writeModels(tx, changedModels, channelIds, source)
  await giveRenamed(tx)
  await removeModels(tx, goneOf(models))
  // Last: by now no route leads through them.
  await removeChannels(tx, goneOf(channels))
}

function goneOf(changes: readonly Change<unknown>[]): string[] {
  return changes.filter(({ after }) => after === undefined).map(({ name }) => name)
}
