import { accountStore } from '@/accounts/store.ts'
import { readScheduled, type ScheduledPrice } from '@/routing/catalog/price-store.ts'
import type { Model } from '@/routing/model.ts'
import { reachedModels, surfacesOf } from '../accounts/reach.ts'
import { scheduleRow } from '../catalog/price-rows.ts'
import type { Console } from '../deployment.ts'
import { Playground } from '../playground.ts'
import { inReadingOrder } from '../reading-order.ts'
import { modelRoutes, type ReachedModel } from './contract/models.ts'
import { controller, type Listener } from './controller.ts'

/** What an account holder may call, and a way to try it. */
export function modelsApi(console: Console, listener: Listener) {
  const accounts = accountStore(console.database)
  const playground = new Playground(console)

  return controller('console-models', console, listener, modelRoutes, {
    'GET /api/models': async ({ signedIn }) => {
      const account = await accounts.findAccount(signedIn.user.accountId)
      const models = reachedModels(console.catalog, account).toSorted(inReadingOrder)
      const scheduled = await readScheduled(console.database.orm)
      return { items: models.map(model => rowOf(model, scheduled.get(model.id))) }
    },
    'POST /api/playground': ({ signedIn, body, request }) =>
      playground.call({
        accountId: signedIn.user.accountId,
        path: body.path,
        body: body.body,
        strict: body.strict ?? false,
        signal: request.signal,
      }),
  })
}

function rowOf(model: Model, scheduled: readonly ScheduledPrice[] = []): ReachedModel {
  return {
    id: model.id,
    aliases: [...model.aliases],
    display_name: model.displayName,
    owned_by: model.ownedBy,
    surfaces: surfacesOf(model),
    context_tokens: model.contextTokens ?? null,
    max_output_tokens: model.maxOutputTokens ?? null,
    prices: model.price === undefined ? null : scheduleRow(model.price.rates, scheduled),
    price_version: model.price?.version.toString() ?? null,
  }
}
