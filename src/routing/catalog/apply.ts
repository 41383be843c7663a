import { isDeepStrictEqual } from 'node:util'
import { writeConsoleEntry } from '@/config/console.ts'
import type { ChannelEntry, ConfigFile, ModelEntry } from '@/config/file.ts'
import type { Database, Transaction } from '@/db/connect.ts'
import type { Source } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { type CurrencyChange, readCurrencyChange, writeDefaults } from './defaults.ts'
import type { PriceJump } from './price-jump.ts'
import { reviewPrices, writePrices } from './price-review.ts'
import { readClock, readCurrentPrices } from './price-store.ts'
import {
  announceCatalog,
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

/** How many rows of one kind. */
export interface Counts {
  added: number
  changed: number
  removed: number
}

/** What was done, or with `dryRun` would be. */
export interface ApplyResult {
  channels: Counts
  models: Counts
  /** Prices that changed by more than a factor of two. */
  warnings: readonly PriceJump[]
  /** Only where there were channels or models before. */
  currencyChange: CurrencyChange | undefined
}

/** What has to be written so that the database says what the file says. */
interface Plan<Entry> {
  added: Entry[]
  changed: Entry[]
  /** Names of what goes. */
  removed: string[]
}

/**
 * Brings channels, models and defaults to what the file says, in one transaction, one process at a time. Applying the
 * same file again changes nothing.
 * @throws Refusal if the file contradicts what stays in the database
 */
export function applyFile(db: Database, secretBox: SecretBox, file: ConfigFile, options: ApplyOptions) {
  return db.orm.transaction(tx => applyIn(tx, secretBox, file, options))
}

/** The same as a part of a transaction. */
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
  const { source } = options
  const state = { current: await readCurrentPrices(tx), source, now: await readClock(tx) }
  const review = reviewPrices(file.models, stored.models, state)
  const currencyChange = (await hasEntries(tx))
    ? await readCurrencyChange(tx, file, options.prune)
    : undefined
  const channels = planChannels(file.channels, stored.channels, options.prune)
  const models = planModels(review.models, stored.models, options.prune)
  refuseConflicts(file, stored, options.prune)
  if (!options.dryRun) {
    const written = await write(tx, secretBox, { channels, models }, source)
    const pricesChanged = await writePrices(tx, review.models, state)
    const defaultsChanged = await writeDefaults(tx, file, options.prune)
    await writeConsoleEntry(tx, secretBox, file.console, options.prune)
    if (written || pricesChanged || defaultsChanged) await announceCatalog(tx)
  }
  return { channels: counts(channels), models: counts(models), warnings: review.jumps, currencyChange }
}

function planChannels(wanted: readonly ChannelEntry[], stored: readonly StoredChannel[], prune: boolean) {
  const byName = new Map(stored.map(row => [row.name, row]))
  return plan(
    wanted,
    byName,
    prune,
    entry => entry.name,
    (entry, row) => {
      const { id: _, keyIds: __, revision: ___, ...rest } = row
      return isDeepStrictEqual(rest, entry)
    },
  )
}

function planModels(wanted: readonly ModelEntry[], stored: readonly StoredModel[], prune: boolean) {
  const byId = new Map(stored.map(row => [row.id, row]))
  return plan(
    wanted,
    byId,
    prune,
    entry => entry.id,
    (entry, { createdAt: _, revision: __, ...row }) => isDeepStrictEqual(inOrder(row), inOrder(entry)),
  )
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

function plan<Entry, Row>(
  wanted: readonly Entry[],
  stored: ReadonlyMap<string, Row>,
  prune: boolean,
  nameOf: (entry: Entry) => string,
  isSame: (entry: Entry, row: Row) => boolean,
): Plan<Entry> {
  const names = new Set(wanted.map(nameOf))
  return {
    added: wanted.filter(entry => !stored.has(nameOf(entry))),
    changed: wanted.filter(entry => {
      const row = stored.get(nameOf(entry))
      return row !== undefined && !isSame(entry, row)
    }),
    removed: prune ? [...stored.keys()].filter(name => !names.has(name)) : [],
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

/** True if anything was written. */
async function write(
  tx: Transaction,
  secretBox: SecretBox,
  { channels, models }: { channels: Plan<ChannelEntry>; models: Plan<ModelEntry> },
  source: Source,
): Promise<boolean> {
  const changedModels = [...models.added, ...models.changed]
  const changedChannels = [...channels.added, ...channels.changed]
  await removeModels(tx, models.removed)
  for (const entry of changedChannels) await writeChannel(tx, secretBox, entry, source)
  const channelIds = await readChannelIds(tx)
  await removeAliases(
    tx,
    changedModels.map(entry => entry.id),
  )
  await writeModels(tx, changedModels, channelIds, source)
  // Last: by now no route leads through them.
  await removeChannels(tx, channels.removed)
  return changedModels.length + changedChannels.length + models.removed.length + channels.removed.length > 0
}

function counts<Entry>({ added, changed, removed }: Plan<Entry>): Counts {
  return { added: added.length, changed: changed.length, removed: removed.length }
}
