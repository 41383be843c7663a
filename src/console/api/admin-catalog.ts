import { readPrices } from '@/generation/rate-text.ts'
import { applyIn } from '@/routing/apply.ts'
import { findJumps, type PriceJump } from '@/routing/price-jump.ts'
import { readCurrentPrices, readVersions } from '@/routing/price-store.ts'
import {
  announceCatalog,
  liveChannel,
  lockCatalog,
  readChannels,
  readModels,
  removeChannels,
  removeModels,
} from '@/routing/store.ts'
import { administer } from '../acts.ts'
import { channelAct, channelRow, modelAct, modelRow } from '../catalog-rows.ts'
import { channelValue, FROM_CONSOLE, readEntries, readWanted, withoutNulls } from '../catalog-values.ts'
import { importModels, shippedModels, vendorRows } from '../catalogue-import.ts'
import { testChannel } from '../channel-test.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, invalid, notFound } from '../failure.ts'
import { previewCost } from '../price-preview.ts'
import { ratesRow } from '../price-rows.ts'
import type { SignedIn } from '../sessions.ts'
import {
  adminCatalogRoutes,
  type Channel as ChannelRow,
  type Model as ModelRow,
  type NewChannel,
  type NewModel,
} from './contract/admin-catalog.ts'
import { actorOf, controller, type Incoming, type Listener } from './controller.ts'

const VERSIONS_SHOWN = 100

/** Channels, models and prices. They are checked and written exactly as tollgate.yaml is. */
export function adminCatalogApi(console: Console, listener: Listener) {
  const { database, secretBox } = console

  async function channelRows(): Promise<ChannelRow[]> {
    const [channels, models] = await Promise.all([
      readChannels(database.orm, secretBox),
      readModels(database.orm),
    ])
    const health = console.readings.channels(channels.map(liveChannel))
    return channels.map(channel =>
      channelRow(
        channel,
        health.find(({ channelId }) => channelId === channel.id),
        models
          .filter(({ routes }) => routes.some(route => route.channel === channel.name))
          .map(({ id }) => id),
      ),
    )
  }

  async function channelNamed(name: string): Promise<ChannelRow> {
    const row = (await channelRows()).find(channel => channel.name === name)
    if (row === undefined) throw notFound('channel')
    return row
  }

  async function writeChannel(
    call: Incoming<SignedIn>,
    body: NewChannel,
    revision?: string,
  ): Promise<ChannelRow> {
    await administer(console, actorOf(call), async tx => {
      await lockCatalog(tx)
      const stored = await readChannels(tx, secretBox)
      const before = stored.find(({ name }) => name === body.name)
      if (revision !== undefined) refuseOverwriting('channel', before, revision)
      else if (before !== undefined) {
        throw new ConsoleError('refused', `There is a channel "${body.name}" already`, { field: 'name' })
      }
      const file = readEntries({ channels: [channelValue(body, before)] }, stored)
      const [entry] = file.channels
      if (entry === undefined) throw new Error('a channel was read as none')
      await applyIn(tx, secretBox, file, FROM_CONSOLE)
      const action = revision === undefined ? 'channel.create' : 'channel.change'
      const after = channelAct(entry)
      return {
        result: undefined,
        act: {
          action,
          target: `channel ${body.name}`,
          before: before === undefined ? null : channelAct(before),
          after,
        },
      }
    })
    await console.catalog.reload()
    return channelNamed(body.name)
  }

  async function modelRows(): Promise<ModelRow[]> {
    const [models, prices] = await Promise.all([readModels(database.orm), readCurrentPrices(database.orm)])
    const now = new Date(console.clock.now())
    return models.map(model => modelRow(model, versionOf(prices.get(model.id)), now))
  }

  async function modelWithId(id: string): Promise<ModelRow> {
    const row = (await modelRows()).find(model => model.id === id)
    if (row === undefined) throw notFound('model')
    return row
  }

  async function writeModel(call: Incoming<SignedIn>, body: NewModel, revision?: string) {
    const jumps = await administer(console, actorOf(call), async tx => {
      await lockCatalog(tx)
      const before = (await readModels(tx)).find(({ id }) => id === body.id)
      if (revision !== undefined) refuseOverwriting('model', before, revision)
      else if (before !== undefined) {
        throw new ConsoleError('refused', `There is a model "${body.id}" already`, { field: 'id' })
      }
      const file = readEntries({ models: [withoutNulls(body)] }, await readChannels(tx, secretBox))
      const [entry] = file.models
      if (entry === undefined) throw new Error('a model was read as none')
      const { warnings } = await applyIn(tx, secretBox, file, FROM_CONSOLE)
      return {
        result: warnings,
        act: {
          action: revision === undefined ? 'model.create' : 'model.change',
          target: `model ${body.id}`,
          before: before === undefined ? null : modelAct(before),
          after: modelAct(entry),
        },
      }
    })
    await console.catalog.reload()
    return { model: await modelWithId(body.id), jumps: jumps.map(jumpRow) }
  }

  return controller('console-admin-catalog', console, listener, adminCatalogRoutes, {
    'GET /api/admin/channels': async () => ({ items: await channelRows() }),
    'GET /api/admin/channels/:name': ({ params }) => channelNamed(params.name),
    'POST /api/admin/channels': ({ body, ...call }) => writeChannel(call, body),
    'PUT /api/admin/channels/:name': ({ params, body: { revision, ...fields }, ...call }) =>
      writeChannel(call, { ...fields, name: params.name }, revision),
    'DELETE /api/admin/channels/:name': async ({ params, ...call }) => {
      const orphans = await administer(console, actorOf(call), async tx => {
        await lockCatalog(tx)
        const before = (await readChannels(tx, secretBox)).find(({ name }) => name === params.name)
        if (before === undefined) throw notFound('channel')
        await removeChannels(tx, [params.name])
        await announceCatalog(tx)
        const left = (await readModels(tx)).filter(({ routes }) => routes.length === 0).map(({ id }) => id)
        const target = `channel ${params.name}`
        return {
          result: left,
          act: { action: 'channel.delete', target, before: channelAct(before), after: null },
        }
      })
      await console.catalog.reload()
      return { ok: true as const, models_without_channel: orphans }
    },
    'POST /api/admin/channels/:name/test': async ({ params, body }) => {
      const stored = (await readChannels(database.orm, secretBox)).find(({ name }) => name === params.name)
      if (stored === undefined) throw notFound('channel')
      const routes = (await readModels(database.orm)).flatMap(({ routes }) => routes)
      const model = body.model ?? routes.find(({ channel }) => channel === params.name)?.upstreamModel
      if (model === undefined) throw invalid('model', 'No model uses this channel: name one of the upstream')
      return { model, items: await testChannel(console, liveChannel(stored), model) }
    },

    'GET /api/admin/models': async () => ({ items: await modelRows() }),
    'GET /api/admin/models/:id': async ({ params }) => ({
      model: await modelWithId(params.id),
      versions: (await readVersions(database.orm, params.id, VERSIONS_SHOWN)).map(
        ({ version, rates, validFrom, source, createdAt }) => ({
          version: version.toString(),
          prices: rates === undefined ? null : ratesRow(rates),
          valid_from: validFrom.toISOString(),
          source,
          created_at: createdAt.toISOString(),
        }),
      ),
    }),
    'POST /api/admin/models': ({ body, ...call }) => writeModel(call, body),
    'PUT /api/admin/models/:id': ({ params, body: { revision, ...fields }, ...call }) =>
      writeModel(call, { ...fields, id: params.id }, revision),
    'DELETE /api/admin/models/:id': async ({ params, ...call }) => {
      await administer(console, actorOf(call), async tx => {
        await lockCatalog(tx)
        const before = (await readModels(tx)).find(({ id }) => id === params.id)
        if (before === undefined) throw notFound('model')
        await removeModels(tx, [params.id])
        await announceCatalog(tx)
        const target = `model ${params.id}`
        return {
          result: undefined,
          act: { action: 'model.delete', target, before: modelAct(before), after: null },
        }
      })
      await console.catalog.reload()
      return { ok: true as const }
    },
    'POST /api/admin/models/:id/preview': async ({ params, body }) => {
      const model = await modelWithId(params.id)
      const wanted = body.prices === null ? undefined : readWanted(model, body.prices)
      const before = (await readCurrentPrices(database.orm)).get(params.id)?.rates
      const after = wanted && readPrices(wanted)
      const jumps = before === undefined || after === undefined ? [] : findJumps(before, after)
      return {
        before: before === undefined ? null : ratesRow(before),
        after: after === undefined ? null : ratesRow(after),
        jumps: jumps.map(jump => ({ model: params.id, ...jump })),
        ...(await previewCost(database.orm, params.id, before, after, console.clock.now())),
      }
    },

    'GET /api/admin/catalogue': async () => {
      const present = new Set((await readModels(database.orm)).map(({ id }) => id))
      return { items: vendorRows(present, new Date(console.clock.now())) }
    },
    'POST /api/admin/catalogue/import': async ({ body, ...call }) => {
      const shipped = shippedModels(body.vendor, body.models)
      const { added, present } = await administer(console, actorOf(call), tx =>
        importModels(console, tx, shipped, body),
      )
      await console.catalog.reload()
      return { added, present }
    },
  })
}

/** A change replaces all of what it was made from: made from something else, it would undo what somebody else did. */
function refuseOverwriting(
  what: 'channel' | 'model',
  stored: { revision: string } | undefined,
  revision: string,
): void {
  if (stored === undefined) throw notFound(what)
  if (stored.revision === revision) return
  const advice = 'Reload the page to see it as it is now, then make your change again'
  throw new ConsoleError('refused', `Somebody else has changed this ${what} in the meantime. ${advice}`)
}

function versionOf(price: { version: bigint; rates: unknown } | undefined): bigint | undefined {
  return price?.rates === undefined ? undefined : price.version
}

function jumpRow({ model, rate, from, to }: PriceJump) {
  return { model, rate, from, to }
}
