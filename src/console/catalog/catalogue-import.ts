import { VENDORS, vendorFile } from '@/config/catalogue.ts'
import type { ConfigFile } from '@/config/entries.ts'
import type { Transaction } from '@/db/connect.ts'
import { applyIn } from '@/routing/catalog/apply.ts'
import { readChannels, readModels } from '@/routing/catalog/store.ts'
import type { Vendor } from '../api/contract/admin-catalog.ts'
import type { Console } from '../deployment.ts'
import { invalid, notFound } from '../failure.ts'
import { FROM_CONSOLE, readEntries } from './catalog-values.ts'
import { planRow } from './price-rows.ts'

type Shipped = ConfigFile['models'][number]

/** What was read stays true as long as this process runs, and reading it holds up every stream for tens of milliseconds. */
const read = new Map<(typeof VENDORS)[number], ConfigFile>()

/** A vendor's part of the catalogue; its channel's key is none. */
function catalogueOf(vendor: (typeof VENDORS)[number]): ConfigFile {
  const file = read.get(vendor) ?? vendorFile([vendor], { [vendor.variable]: 'none' })
  read.set(vendor, file)
  return file
}

/** What the catalogue has of each vendor; `present` are the ids of the models that are there already. */
export function vendorRows(present: ReadonlySet<string>, now: Date): Vendor[] {
  return VENDORS.flatMap(vendor => vendorRow(vendor, present, now))
}

function vendorRow(vendor: (typeof VENDORS)[number], present: ReadonlySet<string>, now: Date): Vendor[] {
  const { channels, models } = catalogueOf(vendor)
  const [channel] = channels
  if (channel === undefined) return []
  return [
    {
      name: vendor.name,
      channel: { name: channel.name, format: channel.format, base_url: channel.baseUrl },
      models: models.map(model => ({
        id: model.id,
        display_name: model.displayName,
        context_tokens: model.contextTokens ?? null,
        max_output_tokens: model.maxOutputTokens ?? null,
        prices: planRow(model.prices, now),
        present: present.has(model.id),
      })),
    },
  ]
}

/**
 * The models of a vendor as they are shipped.
 * @throws ConsoleError for a vendor or a model that the catalogue does not have
 */
export function shippedModels(name: string, ids: readonly string[]): ConfigFile['models'] {
  const vendor = VENDORS.find(one => one.name === name)
  if (vendor === undefined) throw notFound('vendor')
  const { models } = catalogueOf(vendor)
  const unknown = ids.find(id => !models.some(model => model.id === id))
  if (unknown !== undefined) throw invalid('models', `${name} has no model "${unknown}" here`)
  return models
}

/** Adds models to a channel, as a change of the catalog. Those that are there keep what they have, prices included. */
export async function importModels(
  { secretBox }: Console,
  tx: Transaction,
  shipped: ConfigFile['models'],
  { vendor, channel, models }: { vendor: string; channel: string; models: readonly string[] },
) {
  const channels = await readChannels(tx, secretBox)
  if (!channels.some(({ name }) => name === channel))
    throw invalid('channel', `There is no channel "${channel}"`)
  const stored = new Set((await readModels(tx)).map(({ id }) => id))
  const chosen = shipped.filter(({ id }) => models.includes(id))
  const added = chosen.filter(({ id }) => !stored.has(id))
  const entries = added.map(model => ({
    ...model,
    routes: throughOne(model.routes, channel),
  }))
  const nothing = readEntries({}, channels)
  await applyIn(tx, secretBox, { ...nothing, models: entries }, FROM_CONSOLE)
  const ids = added.map(({ id }) => id)
  const present = chosen.filter(({ id }) => stored.has(id)).map(({ id }) => id)
  const act = {
    action: 'catalogue.import',
    target: `vendor ${vendor}`,
    before: null,
    after: { channel, models: ids },
  }
  return { result: { added: ids, present }, act: ids.length === 0 ? undefined : act }
}

/** The catalogue has a vendor's model on a channel for each of its formats: on one of them it is the same route. */
function throughOne(routes: Shipped['routes'], channel: string): Shipped['routes'] {
  return [...new Map(routes.map(route => [route.upstreamModel, { ...route, channel }])).values()]
}
