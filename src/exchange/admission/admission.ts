import type { Caller } from '@/accounts/account.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Surface } from '@/generation/surface.ts'
import { retryAfterSeconds } from '@/limits/headers.ts'
import type { Load } from '@/limits/load.ts'
import { isWithin } from '@/net/ip-range.ts'
import { type Catalog, isEnabledFor, type Model } from '@/routing/model.ts'
import type { Metrics } from '@/telemetry/metrics.ts'

/** What tells whether there is room for more. */
export interface WorkDependencies {
  /** Whether this process can take on more. */
  load: Pick<Load, 'overload'>
  /** True once the process is asked to end: open exchanges go on, new ones are refused. */
  draining: boolean
  /** Numbers in [0, 1). */
  random: () => number
  metrics: Metrics
}

/**
 * Whether this process takes on new work at all. Asked first, so that what is turned away has cost nothing: no look-up
 * of a key, no reading of a body.
 * @throws GatewayError `shutting_down`, `overloaded`
 */
export function admitWork({ draining, load, metrics, random }: WorkDependencies): void {
  if (draining) throw new GatewayError('shutting_down', 'This gateway is shutting down')
  const reason = load.overload()
  if (reason === undefined) return
  metrics.shed.inc({ reason })
  throw new GatewayError('overloaded', 'This gateway has more to do than it can, try again in a moment', {
    retryAfterMs: retryAfterSeconds(SHED_RETRY_MS, random()) * 1000,
    detail: reason,
  })
}

/** About as long as it takes for the load to be seen to fall. */
const SHED_RETRY_MS = 3_000

/**
 * Whether this account may be served at all, from where it calls.
 * @throws GatewayError `account_suspended`, `ip_not_allowed`
 */
export function admitCaller(caller: Caller, address: () => string | undefined): void {
  if (caller.accountStatus !== 'active') {
    throw new GatewayError('account_suspended', 'This account is suspended')
  }
  if (caller.allowIps !== undefined && !isWithin(address() ?? '', caller.allowIps)) {
    throw new GatewayError('ip_not_allowed', 'This API key may not be used from this address')
  }
}

/**
 * The model a caller asked for. One that does not exist and one that is not enabled for the account or the key give
 * the same text, so that names cannot be probed.
 * @throws GatewayError `model_not_found`, `surface_not_supported`
 */
export function admitModel(catalog: Catalog, caller: Caller, name: string, surface: Surface): Model {
  const model = catalog.find(name)
  if (model === undefined || !reaches(caller, model)) throw modelNotFound(name)
  if (model.surfaces !== undefined && !model.surfaces.includes(surface)) {
    throw notOffered(name)
  }
  return model
}

/** Whether a model is enabled on the caller's account and within the key's own list. */
export function reaches(caller: Caller, model: Model): boolean {
  const { accountModels, keyModels } = caller
  return isEnabledFor(model, accountModels) && (keyModels?.some(name => isNameOf(model, name)) ?? true)
}

/** The error for a model that may be used, but not for what is asked of it. */
export function notOffered(name: string): GatewayError {
  return new GatewayError('surface_not_supported', `The model '${name}' is not offered on this surface`, {
    param: 'model',
  })
}

/** The one text for every model that a caller cannot use. */
export function modelNotFound(name: string): GatewayError {
  return new GatewayError(
    'model_not_found',
    `The model '${name.slice(0, 200)}' does not exist or is not enabled for this API key`,
    { param: 'model' },
  )
}

/** Whether callers may call a model so. */
export function isNameOf(model: Model, name: string): boolean {
  return model.id === name || model.aliases.includes(name)
}
