import { openLiveKeys } from '@/accounts/live-keys.ts'
import type { Clock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import type { Settings } from '@/config/settings.ts'
import type { Readings } from '@/console/deployment.ts'
import type { Database } from '@/db/connect.ts'
import { AnswerQueue } from '@/exchange/answer-queue.ts'
import { CreditWatch } from '@/exchange/billing/credit.ts'
import { ExchangeWriter } from '@/exchange/exchange-store.ts'
import { Idempotency } from '@/exchange/idempotency/idempotency.ts'
import { runStore } from '@/exchange/idempotency/idempotency-store.ts'
import { OpenExchanges } from '@/exchange/open-exchanges.ts'
import { behindDoor } from '@/exchange/pass.ts'
import { KeptResponses } from '@/exchange/responses/kept-responses.ts'
import { videoStore } from '@/exchange/videos/video-store.ts'
import { VideoWatch } from '@/exchange/videos/video-watch.ts'
import { Watchdog } from '@/exchange/watchdog.ts'
import { openLedger } from '@/ledger/ledger.ts'
import type { LedgerTimings } from '@/ledger/timings.ts'
import { type LimiterOptions, openLimiter } from '@/limits/limiter.ts'
import { Load, socketLimit } from '@/limits/load.ts'
import { openRedis } from '@/redis/redis.ts'
import { channelsOf } from '@/routing/catalog.ts'
import type { ChannelHealth } from '@/routing/health.ts'
import { openLiveCatalog } from '@/routing/live-catalog.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { compactions } from '@/stored-responses/compaction.ts'
import { responseStore } from '@/stored-responses/store.ts'
import type { ApiGateway } from '@/surfaces/api-host.ts'
import type { Log } from '@/telemetry/log.ts'
import {
  type BreakerReading,
  exposeBreakers,
  exposeLedger,
  exposeLoad,
  exposeOpenExchanges,
  type Metrics,
} from '@/telemetry/metrics.ts'
import { openSpans } from '@/telemetry/spans.ts'
import { createAddressGuard, usesProxy } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { tcpReach } from '@/upstream/connections.ts'
import { Lanes } from '@/upstream/lanes.ts'
import { createMediaFetch } from '@/upstream/media.ts'
import { lazySimulator } from './lazy-simulator.ts'
import { type ListenerSettings, listen, orElse, unreadiness } from './listeners.ts'
import { openSelection } from './selection.ts'

/** What of the settings a server's process goes by. */
export interface ServerSettings
  extends ListenerSettings,
    Pick<Settings, 'maxBodyBytes' | 'shutdownGraceMs'>,
    Partial<Pick<Settings, 'publicApiUrl'>> {
  /** Where settlements wait that cannot be committed; undefined: in memory. */
  journalDirectory: string | undefined
  /** Where spans are exported to, without `/v1/traces`; undefined: nowhere. */
  otlpEndpoint: string | undefined
  /** Redis, one address or a comma list of cluster nodes; undefined counts limits in this process. */
  redisUrl: string | undefined
}

/** What a process brings to its gateway. The database stays its own to close. */
export interface ServerOptions {
  settings: ServerSettings
  database: Database
  secretBox: SecretBox
  clock: Clock
  /** Time as the ledger's heartbeat knows it; the same unless a test moves the other. */
  ledgerClock?: Clock
  /** Numbers in [0, 1). */
  random: () => number
  /** How long Postgres and Redis are waited for, where that is not what they themselves say. */
  patience?: { ledger: Partial<LedgerTimings>; redisCommandMs: number }
  /** What the limits' keys in Redis start with; every process of a deployment says the same. */
  limitsNamespace?: string
  log: Log
  metrics: Metrics
}

/** One process's gateway, listening. */
export interface RunningServer {
  apiUrl: string
  /** Undefined: there is no such listener in this process. */
  opsUrl: string | undefined
  gateway: ApiGateway
  /** What the console shows of this process. */
  readings: Readings
  /** Why new work should go elsewhere; undefined: it need not. */
  unreadiness(): Promise<string | undefined>
  /** How channels and their keys do, as this process knows it. Holds no secret. */
  channelHealth(): ChannelHealth[]
  /** Resolves when everything committed before the call is visible here. */
  reloadCatalog(): Promise<void>
  /** Resolves when the results of all exchanges that ended are in the database. */
  flush(): Promise<void>
  /** Refuses new work, lets open streams run for the grace period, then closes everything but the database. */
  stop(): Promise<void>
}

/** Builds and wires one process's gateway on an open database, and listens. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { settings, database, clock, log, metrics } = options
  const catalog = await openLiveCatalog({
    db: database,
    secretBox: options.secretBox,
    clock,
    onError: error => log.error({ err: error }, 'the catalog could not be reloaded'),
  })
  const keys = await openLiveKeys(options)
  const simulator = lazySimulator()
  const store = new ExchangeWriter(database, log, metrics)
  const watchdog = new Watchdog(clock)
  const ledger = await openLedgerOf(options, watchdog)
  const redis = openRedisOf(options)
  const limiter = await openLimiterOf(options, {
    redis: redis?.connection,
    processes: ledger.processes,
    onRedisDown: () => catalog.defaults().limits.onRedisDown,
  })
  const { selector, health, concurrency, ...selection } = openSelection({
    catalog,
    redis,
    namespace: options.limitsNamespace,
    processes: ledger.processes,
    clock,
    random: options.random,
    log,
  })
  const responses = keptResponsesOf(options)
  const { otlpEndpoint } = settings
  const spans = otlpEndpoint === undefined ? undefined : await openSpans(otlpEndpoint)
  let openRequests = () => 0
  const load = new Load({
    clock,
    steadyMs: () => performance.now(),
    random: options.random,
    openSockets: () => openRequests() + concurrency.total,
    maxSockets: socketLimit(),
  })
  const gateway: ApiGateway = {
    authenticate: keys.authenticate,
    catalog,
    lanes: new Lanes(),
    selector,
    store,
    settling: new Set(),
    ledger,
    limiter,
    load,
    tellsOperators: () => catalog.defaults().operatorHeaders,
    fetchesMedia: () => catalog.defaults().fetchMedia,
    limits: () => catalog.defaults().limits,
    credit: new CreditWatch(clock.now),
    idempotency: new Idempotency({
      store: runStore(database),
      box: options.secretBox,
      clock: options.ledgerClock ?? clock,
      log,
    }),
    videos: videoStore(database, options.secretBox),
    publicUrl: settings.publicApiUrl,
    open: new OpenExchanges(),
    answers: new AnswerQueue(clock),
    watchdog,
    responses,
    clock,
    ...upstreamsOf(clock, simulator.url),
    random: options.random,
    newRequestId: () => Bun.randomUUIDv7(),
    newCallId: () => `call_${Bun.randomUUIDv7().replaceAll('-', '')}`,
    log,
    metrics,
    spans,
    maxBodyBytes: settings.maxBodyBytes,
    draining: false,
  }
  const channelHealth = () => health.state(channelsOf(catalog))
  const videoWatch = new VideoWatch(gateway, options.ledgerClock ?? clock)
  exposeBreakers(metrics, () => breakersOf(channelHealth()))
  exposeLedger(metrics, () => ({ ...ledger.state(), healthy: ledger.healthy() }))
  exposeOpenExchanges(metrics, () => gateway.open.size)
  exposeLoad(metrics, () => ({ ...load.reading(), limitsAreDegraded: limiter.isDegraded }))
  const close = async () => {
    await gateway.idempotency.close()
    await videoWatch.close()
    // Those that were cut are charged for what they gave, as long as there is a ledger.
    await withinGrace(gateway.open.ended(), CUT_MS, clock)
    watchdog.stop()
    load.stop()
    await ledger.close()
    await limiter.close()
    await selection.close()
    await redis?.connection.close()
    await Promise.all(gateway.settling)
    await store.close()
    // A collector that is away keeps nobody from stopping.
    await spans?.close().catch(error => log.warn({ err: error }, 'spans could not be sent'))
    await Promise.all([catalog.close(), keys.close(), simulator.stop()])
  }
  const { api, ops } = await orElse(close, () => listen(gateway, settings, metrics, database))
  openRequests = () => api.pendingRequests()
  return {
    apiUrl: addressOf(api.url),
    opsUrl: ops && addressOf(ops.url),
    gateway,
    readings: {
      ledger: () => ({ ...ledger.state(), healthy: ledger.healthy() }),
      channels: channels => health.state(channels),
      redis: () => (redis === undefined ? 'off' : limiter.isDegraded ? 'away' : 'ok'),
    },
    unreadiness: () => unreadiness(gateway, database),
    channelHealth,
    reloadCatalog: () => catalog.reload(),
    flush: () => Promise.all(gateway.settling).then(() => store.flush()),
    async stop() {
      gateway.draining = true
      const ended = api.drain().then(() => gateway.idempotency.quiet())
      await Promise.all([
        withinGrace(ended, settings.shutdownGraceMs, clock),
        responses.close(settings.shutdownGraceMs),
      ])
      await api.stop()
      await close()
      await ops?.stop(true)
    },
  }
}

/** The ledger; answers whose accounts are stopped are ended. */
function openLedgerOf(options: ServerOptions, watchdog: Watchdog) {
  const { settings, database, clock, ledgerClock, patience, log } = options
  return openLedger({
    databaseUrl: database.url,
    journalDirectory: settings.journalDirectory,
    address: settings.api.host,
    clock: ledgerClock ?? clock,
    newId: () => Bun.randomUUIDv7(),
    random: bytes => crypto.getRandomValues(new Uint8Array(bytes)),
    log,
    onStop: stop => watchdog.end(stop),
    ...(patience === undefined ? {} : { timings: patience.ledger }),
  })
}

function openLimiterOf(
  { clock, ledgerClock, limitsNamespace: namespace, log }: ServerOptions,
  deployment: Pick<LimiterOptions, 'redis' | 'processes' | 'onRedisDown'>,
) {
  return openLimiter({
    ...deployment,
    clock: ledgerClock ?? clock,
    log,
    ...(namespace === undefined ? {} : { namespace }),
  })
}

function keptResponsesOf({ database, secretBox, clock, log }: ServerOptions): KeptResponses {
  return new KeptResponses({
    store: responseStore({ database, secretBox, now: clock.now }),
    compactions: compactions(secretBox),
    clock,
    log,
  })
}

/** The two ways to other hosts, behind one guard of addresses. */
function upstreamsOf(
  clock: Clock,
  simulatorUrl: () => string,
): Pick<ApiGateway, 'client' | 'deadlines' | 'fetchMedia'> {
  const proxied = usesProxy(process.env)
  const guard = createAddressGuard({ clock, proxied })
  const deadlines = new Deadlines(clock)
  const reach = proxied ? undefined : tcpReach
  return {
    client: behindDoor(createUpstreamClient({ clock, deadlines, guard, simulatorUrl, reach })),
    deadlines,
    fetchMedia: createMediaFetch({ clock, guard }),
  }
}

/** The deployment's Redis; undefined: it has none. */
function openRedisOf({ settings: { redisUrl: url }, patience, log }: ServerOptions) {
  if (url === undefined) return undefined
  const connection = openRedis(url, {
    onError: error => log.debug({ err: error }, 'redis'),
    ...(patience === undefined ? {} : { commandTimeoutMs: patience.redisCommandMs }),
  })
  return { url, connection }
}

/** How long exchanges may take to end whose callers were cut off; longer than a closed upstream is drained. */
const CUT_MS = 2_000

/** The breakers of channels and keys as the metrics want them. */
function breakersOf(channels: readonly ChannelHealth[]): BreakerReading[] {
  return channels.flatMap(({ channel, breaker, keys }) => [
    { channel, key: '', ...breaker },
    ...keys.map(({ position, breaker }) => ({ channel, key: String(position), ...breaker })),
  ])
}

/** Resolves when the streams have ended, or when they have had their time. */
async function withinGrace(stopped: Promise<void>, graceMs: number, clock: Clock): Promise<void> {
  const deadline = Promise.withResolvers<void>()
  const cancel = clock.after(graceMs, deadline.resolve)
  await Promise.race([stopped, deadline.promise])
  cancel()
}

function addressOf(url: URL): string {
  return url.href.replace(/\/$/, '')
}
