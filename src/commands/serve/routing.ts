import type { Clock } from '@/clock/clock.ts'
import type { RedisConnection } from '@/redis/redis.ts'
import { Affinity } from '@/routing/affinity.ts'
import type { LiveCatalog } from '@/routing/catalog/live-catalog.ts'
import { Concurrency } from '@/routing/concurrency.ts'
import { Health } from '@/routing/health/health.ts'
import { redisSharing } from '@/routing/health/redis-sharing.ts'
import { Selector } from '@/routing/selector.ts'
import type { Log } from '@/telemetry/log.ts'

/** What candidates are chosen by. */
interface RoutingOptions {
  catalog: LiveCatalog
  /** By which processes tell one another what is held back; undefined: this process is alone. */
  redis: { url: string; connection: RedisConnection } | undefined
  /** What the names in Redis start with; undefined: as they do by themselves. */
  namespace: string | undefined
  /** Gateway processes that are alive. */
  processes: () => number
  clock: Clock
  /** Numbers in [0, 1). */
  random: () => number
  log: Log
}

/** What chooses among channels: their health, how much runs on each, and where conversations were served. */
interface Routing {
  selector: Selector
  health: Health
  concurrency: Concurrency
  close(): Promise<void>
}

/** Builds them, and has health forget what the catalog does not have any more. */
export function openRouting(options: RoutingOptions): Routing {
  const { catalog, redis, namespace, clock, random, log } = options
  const sharing =
    redis &&
    redisSharing({
      url: redis.url,
      redis: redis.connection,
      origin: crypto.randomUUID(),
      namespace,
      onError: error => log.debug({ err: error }, 'redis'),
    })
  const health = new Health({
    clock,
    random,
    sharing,
    onOpening: opening => log.warn({ opening }, 'a channel or key is held back'),
  })
  catalog.onReload(next => health.retain(next.channels()))
  const concurrency = new Concurrency(options.processes)
  const selector = new Selector({ health, concurrency, affinity: new Affinity(clock), clock, random })
  return {
    selector,
    health,
    concurrency,
    close: async () => sharing?.close(),
  }
}
