import type { Standing } from '@/routing/health/breaker.ts'
import { keysOf } from '@/routing/health/health.ts'
import type { Model, Route } from '@/routing/model.ts'
import type { Candidate } from '@/routing/order.ts'
import type { Channel } from '@/upstream/channel.ts'

/** A channel with as many keys as asked for; their ids are `id * 100 + position`. */
export function channelOf(id: number, more: Partial<Channel> = {}, keys = 1): Channel {
  return {
    id,
    name: `channel-${id}`,
    format: 'openai-chat-completions',
    baseUrl: `https://${id}.example`,
    keys: Array.from({ length: keys }, (_, position) => ({ id: id * 100 + position, secret: 'secret' })),
    priority: 0,
    weight: 1,
    headers: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1 },
    maxConcurrent: undefined,
    functionToolsOnly: false,
    cachePrompts: false,
    thinkTags: undefined,
    reasoningField: undefined,
    allowPrivate: false,
    vendor: `${id}.example`,
    ...more,
  }
}

export function routeOf(channel: Channel, more: Partial<Route> = {}): Route {
  return { channel, upstreamModel: 'model', priority: 0, weight: 1, ...more }
}

/** A model that nobody can be served, but for what is said of it. */
export function modelOf(id: string, more: Partial<Model> = {}): Model {
  return {
    id,
    aliases: [],
    displayName: id,
    ownedBy: 'test',
    routes: [],
    surfaces: undefined,
    enabledByDefault: true,
    contextTokens: undefined,
    maxOutputTokens: undefined,
    price: undefined,
    createdAt: new Date(0),
    ...more,
  }
}

/** A candidate for each key of each route, all in the same standing. */
export function candidatesOf(
  routes: readonly Route[],
  standing: Standing = { kind: 'ready' },
  isFull = false,
): Candidate[] {
  return routes.flatMap(route => keysOf(route.channel).map(key => ({ route, key, standing, isFull })))
}
