import { type Authentication, authenticator } from '@/accounts/authenticate.ts'
import { keyCache } from '@/accounts/key-cache.ts'
import { accountStore, KEYS_CHANNEL } from '@/accounts/store.ts'
import type { Clock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import type { Settings } from '@/config/settings.ts'
import type { Readings } from '@/console/deployment.ts'
import type { Database } from '@/db/connect.ts'
import { openListener } from '@/db/listener.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { CreditWatch } from '@/exchange/credit.ts'
import { ExchangeWriter } from '@/exchange/exchange-store.ts'
import type { Gateway } from '@/exchange/gateway.ts'
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
import type { Stop } from '@/ledger/types.ts'
import { openLimiter } from '@/limits/limiter.ts'
import { Load, socketLimit } from '@/limits/load.ts'
import { serveOps } from '@/ops/ops.ts'
import { openRedis } from '@/redis/redis.ts'
import { Homes } from '@/routing/affinity.ts'
import { channelsOf } from '@/routing/catalog.ts'
import { Concurrency } from '@/routing/concurrency.ts'
import { type ChannelHealth, Health } from '@/routing/health.ts'
import { redisSharing } from '@/routing/health-redis.ts'
import { openLiveCatalog } from '@/routing/live-catalog.ts'
import { Selector } from '@/routing/selector.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { compactions } from '@/stored-responses/compaction.ts'
import { responseStore } from '@/stored-responses/store.ts'
import { serveApiHost } from '@/surfaces/api-host.ts'
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

export interface ServerOptions {
  settings: Pick<Settings, 'api' | 'maxBodyBytes' | 'shutdownGraceMs' | 'responsesWebSocket'> &
    Partial<Pick<Settings, 'publicApiUrl'>> & {
      /** Undefined: a worker, whose supervisor has that listener. */
      ops: Settings['ops'] | undefined
      /** Whether other processes of this deployment listen on the same API port. */
      sharesPort: boolean
      /** Where settlements wait that cannot be committed; undefined: in memory. */
      journalDirectory: string | undefined
      /** Where spans are exported to, without `/v1/traces`; undefined: nowhere. */
      otlpEndpoint: string | undefined
      /** Redis, one address or a comma list of cluster nodes; undefined counts limits in this process. */
      redisUrl: string | undefined
    }
  database: Database
  secretBox: SecretBox
  clock: Clock
  /** Time as the ledger's heartbeat knows it; the same unless a test moves the other. */
  ledgerClock?: Clock
  random: () => number
  /** How long Postgres and Redis are waited for, where that is not what they themselves say. */
  patience?: { ledger: Partial<LedgerTimings>; redisCommandMs: number }
  /** What the limits' keys in Redis start with; every process of a deployment says the same. */
  limitsNamespace?: string
  log: Log
  metrics: Metrics
}

export interface RunningServer {
  apiUrl: string
  /** Undefined: there is no such listener in this process. */
  opsUrl: string | undefined
  gateway: Gateway
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
  const keys = await openKeys(options)
  const simulator = lazySimulator()
  const store = new ExchangeWriter(database, log, metrics)
  const watchdog = new Watchdog(clock)
  const ledger = await openLedger({
    databaseUrl: database.url,
    journalDirectory: settings.journalDirectory,
    address: settings.api.host,
    clock: options.ledgerClock ?? clock,
    newId: () => Bun.randomUUIDv7(),
    random: bytes => crypto.getRandomValues(new Uint8Array(bytes)),
    log,
    onStop: ({ id, reason }) => watchdog.end(id, STOPS[reason]()),
    ...(options.patience === undefined ? {} : { timings: options.patience.ledger }),
  })
  const redis =
    settings.redisUrl === undefined
      ? undefined
      : openRedis(settings.redisUrl, {
          onError: error => log.debug({ err: error }, 'redis'),
          ...(options.patience === undefined ? {} : { commandTimeoutMs: options.patience.redisCommandMs }),
        })
  const limiter = await openLimiter({
    redis,
    clock: options.ledgerClock ?? clock,
    log,
    processes: ledger.processes,
    onRedisDown: () => catalog.defaults().limits.onRedisDown,
    ...(options.limitsNamespace === undefined ? {} : { namespace: options.limitsNamespace }),
  })
  const sharing =
    redis === undefined || settings.redisUrl === undefined
      ? undefined
      : redisSharing({
          url: settings.redisUrl,
          redis,
          origin: crypto.randomUUID(),
          ...(options.limitsNamespace === undefined ? {} : { namespace: options.limitsNamespace }),
          onError: error => log.debug({ err: error }, 'redis'),
        })
  const health = new Health({
    clock,
    random: options.random,
    ...(sharing === undefined ? {} : { sharing }),
    onOpening: opening => log.warn({ opening }, 'a channel or key is held back'),
  })
  catalog.onReload(next => health.retain(channelsOf(next)))
  const concurrency = new Concurrency(ledger.processes)
  const selector = new Selector({
    health,
    concurrency,
    homes: new Homes(clock),
    clock,
    random: options.random,
  })
  const responses = new KeptResponses({
    store: responseStore({ database, secretBox: options.secretBox, now: clock.now }),
    compactions: compactions(options.secretBox),
    clock,
    log,
  })
  const { otlpEndpoint } = settings
  const spans = otlpEndpoint === undefined ? undefined : await openSpans(otlpEndpoint)
  const proxied = usesProxy(process.env)
  const guard = createAddressGuard({ clock, proxied })
  const deadlines = new Deadlines(clock)
  let openRequests = () => 0
  const load = new Load({
    clock,
    steadyMs: () => performance.now(),
    random: options.random,
    openSockets: () => openRequests() + concurrency.total,
    maxSockets: socketLimit(),
  })
  const gateway: Gateway = {
    authenticate: keys.authenticate,
    catalog,
    lanes: new Lanes(),
    client: behindDoor(
      createUpstreamClient({
        clock,
        deadlines,
        guard,
        simulatorUrl: simulator.url,
        reach: proxied ? undefined : tcpReach,
      }),
    ),
    selector,
    store,
    settling: new Set(),
    ledger,
    limiter,
    load,
    tellsOperators: () => catalog.defaults().operatorHeaders,
    fetchesMedia: () => catalog.defaults().fetchMedia,
    fetchMedia: createMediaFetch({ clock, guard }),
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
    watchdog,
    responses,
    clock,
    deadlines,
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
    await sharing?.close()
    await redis?.close()
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

/** Opens the listeners, all or none: a port may be taken. */
async function listen(
  gateway: Gateway,
  settings: ServerOptions['settings'],
  metrics: Metrics,
  database: Database,
) {
  const api = serveApiHost(gateway, {
    hostname: settings.api.host,
    port: settings.api.port,
    isShared: settings.sharesPort,
    webSocket: settings.responsesWebSocket,
  })
  if (settings.ops === undefined) return { api, ops: undefined }
  const { host: hostname, port } = settings.ops
  const probes = {
    metrics: () => metrics.registry.metrics(),
    contentType: metrics.registry.contentType,
    unreadiness: () => unreadiness(gateway, database),
  }
  return { api, ops: await orElse(api.stop, () => serveOps(probes, { hostname, port })) }
}

/** What `open` gives; where it throws, `close` closes what was open before it, so that the process can end. */
async function orElse<T>(close: () => Promise<void>, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    await close()
    throw error
  }
}

/** How long exchanges may take to end whose callers were cut off; longer than a closed upstream is drained. */
const CUT_MS = 2_000

/** Why a running answer ends although nobody asked for it. */
const STOPS: Record<Stop['reason'], () => GatewayError> = {
  key_revoked: () => new GatewayError('invalid_api_key', 'This API key was revoked'),
  account_suspended: () => new GatewayError('account_suspended', 'This account is suspended'),
  hold_expired: () =>
    new GatewayError('billing_unavailable', 'This request ran for longer than it was paid for'),
}

/** The breakers of channels and keys as the metrics want them. */
function breakersOf(channels: readonly ChannelHealth[]): BreakerReading[] {
  return channels.flatMap(({ channel, breaker, keys }) => [
    { channel, key: '', ...breaker },
    ...keys.map(({ position, breaker }) => ({ channel, key: String(position), ...breaker })),
  ])
}

/** Why a balancer should send work elsewhere. */
async function unreadiness(gateway: Gateway, database: Database): Promise<string | undefined> {
  if (gateway.draining) return 'shutting down'
  try {
    await database.sql`select 1`
  } catch {
    return 'the database does not answer'
  }
  if (gateway.ledger.healthy()) return undefined
  return gateway.ledger.state().journal === 'full'
    ? 'the journal cannot be written'
    : 'billing is unavailable'
}

async function openKeys({ database, clock, random, log }: ServerOptions) {
  const accounts = accountStore(database, bytes => crypto.getRandomValues(new Uint8Array(bytes)))
  const cache = keyCache({ load: hash => accounts.findKey(Buffer.from(hash, 'hex')), now: clock.now, random })
  const listener = await openListener(database.url, {
    channel: KEYS_CHANNEL,
    onMessage: cache.onMessage,
    onConnect: cache.onConnect,
    onLost: cache.onLost,
  })
  const used = new Set<number>()
  const noteUse = async () => {
    const ids = [...used]
    used.clear()
    await accounts
      .touchKeys(ids)
      .catch(error => log.warn({ err: error }, 'the use of keys could not be noted'))
  }
  const stopNoting = clock.every(NOTE_USE_MS, () => void noteUse())
  const authenticate = authenticator(cache, clock.now)
  const note = (answer: Authentication) => {
    if (answer.ok) used.add(answer.caller.keyId)
    return answer
  }
  return {
    authenticate: (presented: string) => {
      const answer = authenticate(presented)
      return answer instanceof Promise ? answer.then(note) : note(answer)
    },
    async close() {
      stopNoting()
      await noteUse()
      await listener.close()
    },
  }
}

/** How new a key's time of last use is kept. */
const NOTE_USE_MS = 60_000

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
