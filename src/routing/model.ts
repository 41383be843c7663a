import type { Rates } from '@/generation/rates.ts'
import type { Surface } from '@/generation/surface.ts'
import type { Channel } from '@/upstream/channel.ts'

/** One way to serve a model: a channel, and what the upstream calls the model. */
export interface Route {
  channel: Channel
  /** The upstream's name of the model. */
  upstreamModel: string
  /** Lower is tried first; overrides nothing of the channel, comes after its priority. */
  priority: number
  weight: number
}

/** What a model costs, by a version that never changes: a bill that names it can be checked for good. */
export interface ModelPrice {
  version: bigint
  rates: Rates
}

/** A model as callers see it. */
export interface Model {
  /** What callers send; matched exactly. May hold `/` and `:`. */
  id: string
  aliases: readonly string[]
  displayName: string
  ownedBy: string
  routes: readonly Route[]
  /** Where it is offered; undefined is wherever its channels can serve. */
  surfaces: readonly Surface[] | undefined
  /** False: only accounts that were given it. */
  enabledByDefault: boolean
  contextTokens: number | undefined
  maxOutputTokens: number | undefined
  /** Of the version in force; undefined is unpriced, which is refused and not free. */
  price: ModelPrice | undefined
  createdAt: Date
}

/** All models of the deployment at one moment. */
export interface Catalog {
  /** By id or alias. */
  find(name: string): Model | undefined
  /** In order of id. */
  list(): readonly Model[]
}
