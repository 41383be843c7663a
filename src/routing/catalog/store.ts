import { eq, getTableColumns, inArray, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { ChannelEntry, ModelEntry } from '@/config/entries.ts'
import type { Database, Rows, Transaction } from '@/db/connect.ts'
import { inPortions } from '@/db/in-portions.ts'
import { channel, channelKey, model, modelAlias, modelChannel, type Source } from '@/db/schema.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Catalog, Model, Route } from '@/routing/model.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { type Channel, SIMULATOR, type Timeouts } from '@/upstream/channel.ts'
import { createCatalog } from './catalog.ts'
import { readCurrentPrices, type StoredPrice } from './price-store.ts'

/** Told at commit whenever channels, models or the defaults changed (live-catalog.ts). */
export const CATALOG_TOPIC = 'tollgate_catalog'

/** What a channel waits when its row does not say. */
const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, firstByteMs: 120_000, idleMs: 120_000 }

/** A channel as it is stored, with the id that routes refer to. */
export interface StoredChannel extends ChannelEntry {
  id: number
  /** In the order of `apiKeys`. */
  keyIds: readonly number[]
  revision: string
}

/** A model as it stands in the database. */
export interface StoredModel extends ModelEntry {
  createdAt: Date
  revision: string
}

/**
 * Another one after every change of the row: Postgres' number of the transaction that wrote it. All that belongs to a
 * channel or a model is written together with its row. A change is refused that was made from another revision.
 */
const REVISION: SQL<string> = sql`xmin::text`

/**
 * All models and channels as they are in the database now.
 * @throws Refusal if a channel's keys were encrypted with another secret
 */
export async function loadCatalog(db: Database, secretBox: SecretBox): Promise<Catalog> {
  const [channels, models, prices] = await db.orm.transaction(
    async tx =>
      [await readChannels(tx, secretBox), await readModels(tx), await readCurrentPrices(tx)] as const,
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
  const byName = new Map(channels.map(stored => [stored.name, liveChannel(stored)]))
  const live = models.map(stored => liveModel(stored, byName, prices.get(stored.id)))
  return createCatalog(live, [...byName.values()])
}

/** Every channel, in order of name. Refuses when the secret is not the one that sealed the keys. */
export async function readChannels(rows: Rows, secretBox: SecretBox): Promise<StoredChannel[]> {
  const keys = await rows.select().from(channelKey).orderBy(channelKey.position)
  const pools = Map.groupBy(keys, key => key.channelId)
  const columns = { ...getTableColumns(channel), revision: REVISION }
  const found = await rows.select(columns).from(channel).orderBy(channel.name)
  return found.map(({ source: _, ...row }) => {
    const pool = pools.get(row.id) ?? []
    return {
      ...row,
      maxConcurrent: row.maxConcurrent ?? undefined,
      thinkTags: row.thinkTags ?? undefined,
      reasoningField: row.reasoningField ?? undefined,
      apiKeys: pool.map(key => secretBox.open(key.ciphertext)),
      keyIds: pool.map(key => key.id),
    }
  })
}

/** Every model with its aliases and routes, in order of id. */
export async function readModels(rows: Rows): Promise<StoredModel[]> {
  const aliases = Map.groupBy(
    await rows.select().from(modelAlias).orderBy(modelAlias.alias),
    row => row.modelId,
  )
  const routes = Map.groupBy(await readRoutes(rows), row => row.modelId)
  const columns = { ...getTableColumns(model), revision: REVISION }
  const found = await rows.select(columns).from(model).orderBy(model.id)
  return found.map(({ source: _, ...row }) => ({
    ...row,
    surfaces: row.surfaces ?? undefined,
    contextTokens: row.contextTokens ?? undefined,
    maxOutputTokens: row.maxOutputTokens ?? undefined,
    prices: row.prices ?? undefined,
    aliases: (aliases.get(row.id) ?? []).map(alias => alias.alias),
    routes: (routes.get(row.id) ?? []).map(({ modelId: _, ...route }) => route),
  }))
}

function readRoutes(rows: Rows) {
  return rows
    .select({
      modelId: modelChannel.modelId,
      channel: channel.name,
      upstreamModel: modelChannel.upstreamModel,
      priority: modelChannel.priority,
      weight: modelChannel.weight,
    })
    .from(modelChannel)
    .innerJoin(channel, eq(channel.id, modelChannel.channelId))
    .orderBy(modelChannel.priority, channel.name, modelChannel.upstreamModel)
}

/** Adds a channel or, under a name that exists, replaces everything about it. Its keys are sealed here. */
export async function writeChannel(
  tx: Transaction,
  secretBox: SecretBox,
  { apiKeys, ...entry }: ChannelEntry,
  source: Source,
): Promise<void> {
  const { maxConcurrent = null, thinkTags = null, reasoningField = null } = entry
  const row = { ...entry, maxConcurrent, thinkTags, reasoningField, source }
  const [stored] = await tx
    .insert(channel)
    .values(row)
    .onConflictDoUpdate({ target: channel.name, set: row })
    .returning({ id: channel.id })
  if (stored === undefined) return
  await writeKeys(tx, secretBox, stored.id, apiKeys)
}

/** Keys that stay keep their ids: by these every process knows how they do. */
async function writeKeys(
  tx: Transaction,
  secretBox: SecretBox,
  channelId: number,
  secrets: readonly string[],
): Promise<void> {
  const rows = await tx.select().from(channelKey).where(eq(channelKey.channelId, channelId))
  const known = new Map(rows.map(row => [secretBox.open(row.ciphertext), row]))
  const wanted = new Set(secrets)
  const gone = [...known].filter(([secret]) => !wanted.has(secret)).map(([, { id }]) => id)
  if (gone.length > 0) await tx.delete(channelKey).where(inArray(channelKey.id, gone))
  for (const [position, secret] of secrets.entries()) {
    const row = known.get(secret)
    if (row === undefined) {
      await tx.insert(channelKey).values({ channelId, ciphertext: secretBox.seal(secret), position })
    } else if (row.position !== position) {
      await tx.update(channelKey).set({ position }).where(eq(channelKey.id, row.id))
    }
  }
}

/** Adds models or, under ids that exist, replaces everything but the time they were made. */
export async function writeModels(
  tx: Transaction,
  entries: readonly ModelEntry[],
  channelIds: ReadonlyMap<string, number>,
  source: Source,
): Promise<void> {
  const rows = entries.map(({ aliases: _, routes: __, ...fields }) => ({
    ...fields,
    surfaces: fields.surfaces === undefined ? null : [...fields.surfaces],
    contextTokens: fields.contextTokens ?? null,
    maxOutputTokens: fields.maxOutputTokens ?? null,
    prices: fields.prices ?? null,
    source,
  }))
  await inPortions(rows, portion =>
    tx.insert(model).values(portion).onConflictDoUpdate({ target: model.id, set: WRITTEN_ANEW }),
  )
  await inPortions(entries, portion =>
    tx.delete(modelChannel).where(inArray(modelChannel.modelId, idsOf(portion))),
  )
  const links = entries.flatMap(({ id, routes }) =>
    routes.flatMap(({ channel: name, ...route }) => {
      const channelId = channelIds.get(name)
      return channelId === undefined ? [] : [{ ...route, channelId, modelId: id }]
    }),
  )
  await inPortions(links, portion => tx.insert(modelChannel).values(portion))
  const names = entries.flatMap(({ id, aliases }) => aliases.map(alias => ({ alias, modelId: id })))
  await inPortions(names, portion => tx.insert(modelAlias).values(portion))
}

/** What of a model's row is replaced when it is written again. */
const { id: _id, createdAt: _createdAt, ...REPLACED } = getTableColumns(model)
const WRITTEN_ANEW = Object.fromEntries(
  Object.keys(REPLACED).map(name => [name, sql.raw(`excluded.${toSnakeCase(name)}`)]),
)

function idsOf(entries: readonly ModelEntry[]): string[] {
  return entries.map(({ id }) => id)
}

/** The models that nobody has written since the shipped catalogue made them. */
export async function readShippedIds(rows: Rows): Promise<Set<string>> {
  const found = await rows.select({ id: model.id }).from(model).where(eq(model.source, 'default'))
  return new Set(found.map(({ id }) => id))
}

/** Replaces what a model's row says about prices; the versions are price-store.ts. */
export async function writeModelPrices(
  tx: Transaction,
  id: string,
  prices: JsonObject | undefined,
): Promise<void> {
  await tx
    .update(model)
    .set({ prices: prices ?? null })
    .where(eq(model.id, id))
}

/** Frees the aliases of these models, so that one may move from a model to another in one go. */
export async function removeAliases(tx: Transaction, modelIds: readonly string[]): Promise<void> {
  await inPortions(modelIds, portion => tx.delete(modelAlias).where(inArray(modelAlias.modelId, portion)))
}

/**
 * Gives models whose ids are aliases of others by now, since they were renamed, to the same accounts under their new ids.
 * Every process forgets what it knew of keys (src/accounts/key-cache.ts).
 */
export async function giveRenamed(tx: Transaction): Promise<void> {
  const given = await tx.execute(sql`
    insert into account_model (account_id, model_id)
      select old.account_id, a.model_id from account_model old join model_alias a on a.alias = old.model_id
      on conflict do nothing returning account_id`)
  if (given.length > 0) await tx.execute(sql`select pg_notify('tollgate_keys', 'all')`)
}

/** Removes models with their aliases and routes, and takes them from the accounts that were given them. */
export async function removeModels(tx: Transaction, ids: readonly string[]): Promise<void> {
  await inPortions(ids, portion => tx.delete(model).where(inArray(model.id, portion)))
}

/** Removes channels with their keys, and the routes through them. */
export async function removeChannels(tx: Transaction, names: readonly string[]): Promise<void> {
  if (names.length > 0) await tx.delete(channel).where(inArray(channel.name, [...names]))
}

/** Whether there is any channel or model. */
export async function hasEntries(rows: Rows): Promise<boolean> {
  const channels = await rows.select({ id: channel.id }).from(channel).limit(1)
  const models = await rows.select({ id: model.id }).from(model).limit(1)
  return channels.length + models.length > 0
}

/** The ids of all channels, by name. */
export async function readChannelIds(rows: Rows): Promise<Map<string, number>> {
  const found = await rows.select({ id: channel.id, name: channel.name }).from(channel)
  return new Map(found.map(({ id, name }) => [name, id]))
}

/** The ids and aliases of all models, each with the id of its model. */
export async function readModelNames(rows: Rows): Promise<Map<string, string>> {
  const ids = await rows.select({ name: model.id, id: model.id }).from(model)
  const aliases = await rows.select({ name: modelAlias.alias, id: modelAlias.modelId }).from(modelAlias)
  return new Map([...ids, ...aliases].map(({ name, id }) => [name, id]))
}

/** One writer of channels and models at a time, until the end of the transaction. */
export async function lockCatalog(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext(${CATALOG_TOPIC}))`)
}

/** Every process reloads when the transaction commits. */
export async function announceCatalog(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_notify(${CATALOG_TOPIC}, '')`)
}

/** A stored channel as requests use it. */
export function liveChannel(stored: StoredChannel): Channel {
  const { apiKeys, keyIds, ...rest } = stored
  return {
    ...rest,
    keys: apiKeys.flatMap((secret, index) => {
      const id = keyIds[index]
      return id === undefined ? [] : [{ id, secret }]
    }),
    timeouts: { ...DEFAULT_TIMEOUTS, ...stored.timeouts },
    vendor: vendorOf(stored.baseUrl),
  }
}

/** The host name: upstreams on one host are taken to read each other's reasoning signatures. */
function vendorOf(baseUrl: string): string {
  return baseUrl === SIMULATOR ? 'simulator' : new URL(baseUrl).hostname
}

function liveModel(
  { routes, prices: _, ...stored }: StoredModel,
  channels: ReadonlyMap<string, Channel>,
  price: StoredPrice | undefined,
): Model {
  const live = routes.flatMap(({ channel: name, ...rest }): Route[] => {
    const found = channels.get(name)
    return found === undefined ? [] : [{ ...rest, channel: found }]
  })
  const rates = price?.rates
  return {
    ...stored,
    routes: live,
    price: price === undefined || rates === undefined ? undefined : { version: price.version, rates },
  }
}
