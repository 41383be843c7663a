import { pause, within } from '@/clock/wait.ts'
import type { Settings } from '@/config/settings.ts'
import type { Readings } from '@/console/deployment.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { OpsDependencies } from '@/ops/ops.ts'
import type { ChannelHealth } from '@/routing/health/health.ts'
import type { ApiGateway } from '@/surfaces/api-host.ts'
import { exposeBreakers, exposeLedger, exposeLoad, exposeOpenExchanges } from '@/telemetry/gauges.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { breakerReadings } from './breaker-readings.ts'
import { type GatewayOptions, type GatewaySettings, type OpenGateway, openGateway } from './gateway.ts'
import { type ListenerSettings, listen } from './listeners.ts'
import { unreadiness } from './readiness.ts'

/** What of the settings a server's process goes by. */
export interface ServerSettings
  extends GatewaySettings,
    ListenerSettings,
    Pick<Settings, 'shutdownDelayMs' | 'shutdownGraceMs'> {
  /**
   * How long new work is refused, in ms, before no connection is taken any more. Requests that are on their way on open
   * connections would otherwise find them closed, and so would connections that were not accepted yet.
   */
  farewellMs: number
}

/** The same as for its gateway, and where that listens. */
interface ServerOptions extends GatewayOptions {
  settings: ServerSettings
}

/** One process's gateway, listening. */
export interface RunningServer {
  apiUrl: string
  /** What the ops listener of this process tells, if it has one. */
  probes: OpsDependencies
  gateway: ApiGateway
  /** What the console shows of this process. */
  readings: Readings
  /** How channels and their keys do, as this process knows it. Holds no secret. */
  channelHealth(): ChannelHealth[]
  /** Resolves when everything committed before the call is visible here. */
  reloadCatalog(): Promise<void>
  /** Resolves when the results of all exchanges that ended are in the database. */
  flush(): Promise<void>
  /** Sends new work elsewhere, then refuses it, lets open streams run for the grace period, then closes everything but the database. */
  stop(): Promise<void>
}

/** Builds one process's gateway on an open database, and listens. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { settings, database, clock, metrics } = options
  let openRequests = () => 0
  const parts = await openGateway(options, () => openRequests())
  await using opened = new AsyncDisposableStack()
  opened.defer(parts.close)
  const { gateway, catalog, ledger, limiter, health, responses, close } = parts
  const channelHealth = () => health.state(catalog.channels())
  expose(metrics, parts, channelHealth)
  const api = listen(gateway, settings)
  opened.move()
  let isLeaving = false
  openRequests = () => api.pendingRequests()
  return {
    apiUrl: api.url.origin,
    probes: {
      metrics: () => metrics.registry.metrics(),
      contentType: metrics.registry.contentType,
      unreadiness: async () => (isLeaving ? 'shutting down' : unreadiness(gateway, database)),
    },
    gateway,
    readings: {
      ledger: () => ledger.state(),
      channels: channels => health.state(channels),
      redis: () => (settings.redisUrl === undefined ? 'off' : limiter.isDegraded ? 'away' : 'ok'),
    },
    channelHealth,
    reloadCatalog: () => catalog.reload(),
    flush: () => Promise.all(gateway.settling).then(() => parts.store.flush()),
    async stop() {
      isLeaving = true
      api.leave()
      await pause(settings.shutdownDelayMs, clock)
      gateway.draining = true
      await pause(settings.farewellMs, clock)
      const ended = api.drain().then(() => gateway.idempotency.quiet())
      await Promise.all([
        within(settings.shutdownGraceMs, ended, clock),
        responses.close(settings.shutdownGraceMs),
      ])
      const outOfTime = new GatewayError('shutting_down', OUT_OF_TIME)
      gateway.watchdog.endAll(outOfTime)
      gateway.open.endWhole(outOfTime)
      await within(LAST_WORDS_MS, ended, clock)
      await api.stop()
      await close()
    },
  }
}

/** What requests are told that are cut. */
const OUT_OF_TIME = 'This gateway is shutting down and could not wait for the end of the answer'
/** How long their callers have to read that. */
const LAST_WORDS_MS = 1_000

/** What a scrape reads of the gateway's parts. */
function expose(
  metrics: Metrics,
  { gateway, ledger, limiter, load }: OpenGateway,
  channelHealth: () => ChannelHealth[],
): void {
  exposeBreakers(metrics, () => breakerReadings(channelHealth()))
  exposeLedger(metrics, () => ledger.state())
  exposeOpenExchanges(metrics, () => gateway.open.size)
  exposeLoad(metrics, () => ({ ...load.reading(), limitsAreDegraded: limiter.isDegraded }))
}
