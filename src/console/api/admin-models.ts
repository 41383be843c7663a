import { readPrices } from '@/generation/rate-text.ts'
import { findJumps } from '@/routing/catalog/price-jump.ts'
import { readCurrentPrices, readVersions } from '@/routing/catalog/price-store.ts'
import { readModels } from '@/routing/catalog/store.ts'
import { changeCatalog, removeModel, writeModel } from '../catalog/catalog-changes.ts'
import { modelRow } from '../catalog/catalog-rows.ts'
import { readWanted } from '../catalog/catalog-values.ts'
import { importModels, shippedModels, vendorRows } from '../catalog/catalogue-import.ts'
import { previewCost } from '../catalog/price-preview.ts'
import { ratesRow } from '../catalog/price-rows.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { inReadingOrder } from '../reading-order.ts'
import type { SignedIn } from '../sign-in/sessions.ts'
import { adminModelRoutes, type Model as ModelRow, type NewModel } from './contract/admin-catalog.ts'
import { actorOf, controller, DONE, type Incoming, type Listener } from './controller.ts'

const VERSIONS_SHOWN = 100

/** Models and prices. They are checked and written exactly as those of tollgate.yaml are. */
export function adminModelsApi(console: Console, listener: Listener) {
  const { database } = console

  async function write(call: Incoming<SignedIn>, body: NewModel, revision?: string) {
    const jumps = await writeModel(console, actorOf(call), body, revision)
    return { model: await modelWithId(console, body.id), jumps: jumps.map(({ applied: _, ...jump }) => jump) }
  }

  return controller('console-admin-models', console, listener, adminModelRoutes, {
    'GET /api/admin/models': async () => ({ items: await modelRows(console) }),
    'GET /api/admin/models/:id': async ({ params }) => ({
      model: await modelWithId(console, params.id),
      versions: await versionRows(console, params.id),
    }),
    'POST /api/admin/models': ({ body, ...call }) => write(call, body),
    'PUT /api/admin/models/:id': ({ params, body: { revision, ...fields }, ...call }) =>
      write(call, { ...fields, id: params.id }, revision),
    'DELETE /api/admin/models/:id': async ({ params, ...call }) => {
      await removeModel(console, actorOf(call), params.id)
      return DONE
    },
    'POST /api/admin/models/:id/preview': ({ params, body }) => preview(console, params.id, body.prices),

    'GET /api/admin/catalogue': async () => {
      const present = new Set((await readModels(database.orm)).map(({ id }) => id))
      return { items: vendorRows(present, new Date(console.clock.now())) }
    },
    'POST /api/admin/catalogue/import': ({ body, ...call }) => {
      const shipped = shippedModels(body.vendor, body.models)
      return changeCatalog(console, actorOf(call), tx => importModels(console, tx, shipped, body))
    },
  })
}

async function modelRows({ database, clock }: Console): Promise<ModelRow[]> {
  const [models, prices] = await Promise.all([readModels(database.orm), readCurrentPrices(database.orm)])
  const now = new Date(clock.now())
  return models.toSorted(inReadingOrder).map(model => modelRow(model, versionOf(prices.get(model.id)), now))
}

async function modelWithId(console: Console, id: string): Promise<ModelRow> {
  const row = (await modelRows(console)).find(model => model.id === id)
  if (row === undefined) throw notFound('model')
  return row
}

async function versionRows({ database }: Console, id: string) {
  const versions = await readVersions(database.orm, id, VERSIONS_SHOWN)
  return versions.map(({ version, rates, validFrom, source, createdAt }) => ({
    version: version.toString(),
    prices: rates === undefined ? null : ratesRow(rates),
    valid_from: validFrom.toISOString(),
    source,
    created_at: createdAt.toISOString(),
  }))
}

async function preview(console: Console, id: string, prices: object | null) {
  const { database, clock } = console
  const model = await modelWithId(console, id)
  const wanted = prices === null ? undefined : readWanted(model, prices)
  const before = (await readCurrentPrices(database.orm)).get(id)?.rates
  const after = wanted && readPrices(wanted)
  const jumps = before === undefined || after === undefined ? [] : findJumps(before, after)
  return {
    before: before === undefined ? null : ratesRow(before),
    after: after === undefined ? null : ratesRow(after),
    jumps: jumps.map(jump => ({ model: id, ...jump })),
    ...(await previewCost(database.orm, id, before, after, clock.now())),
  }
}

function versionOf(price: { version: bigint; rates: unknown } | undefined): bigint | undefined {
  return price?.rates === undefined ? undefined : price.version
}
