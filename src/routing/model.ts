import type { ModelEntry, RouteEntry } from '@/config/entries.ts'
import type { Rates } from '@/generation/rates.ts'
import type { Channel } from '@/upstream/channel.ts'

/** One way to serve a model: a channel, and what the upstream calls the model. */
export interface Route extends Omit<RouteEntry, 'channel'> {
  channel: Channel
}

/** What a model costs, by a version that never changes: a bill that names it can be checked for good. */
export interface ModelPrice {
  version: bigint
  rates: Rates
}

/** A model as callers see it: what the operator says of it, with its channels and the price in force. */
export interface Model extends Omit<ModelEntry, 'routes' | 'prices'> {
  routes: readonly Route[]
  /** Of the version in force; undefined is unpriced, which is refused and not free. */
  price: ModelPrice | undefined
  createdAt: Date
}

/** Whether an account may call a model: everybody may, or it was given this one. */
export function isEnabledFor({ id, enabledByDefault }: Model, accountModels: readonly string[]): boolean {
  return enabledByDefault || accountModels.includes(id)
}

/** All models and channels of the deployment at one moment. */
export interface Catalog {
  /** By id or alias. */
  find(name: string): Model | undefined
  /** In order of id. */
  list(): readonly Model[]
  /** Also those that no model goes through. */
  channels(): readonly Channel[]
}
