import type { Account } from '@/accounts/account.ts'
import type { Surface } from '@/generation/surface.ts'
import { surfacesPriced } from '@/pricing/coverage.ts'
import { type Catalog, isEnabledFor, type Model } from '@/routing/model.ts'

/** What an account may call, whatever its keys narrow that to. */
export function reachedModels(catalog: Catalog, { models }: Pick<Account, 'models'>): Model[] {
  return catalog.list().filter(model => isEnabledFor(model, models))
}

/** Where a model can be called: where the operator says, else as its prices tell. */
export function surfacesOf({ surfaces, price }: Model): Surface[] {
  if (surfaces !== undefined) return [...surfaces]
  return price === undefined ? [] : surfacesPriced(price.rates)
}
