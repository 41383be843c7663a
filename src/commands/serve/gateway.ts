import { tmpdir, totalmem } from 'node:os'
import { openLiveKeys } from '@/accounts/live-keys.ts'
import type { Clock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import { newRequestId } from '@/clock/request-id.ts'
import { within } from '@/clock/wait.ts'
import type { Settings } from '@/config/settings.ts'
import type { Database } from '@/db/connect.ts'
import { Followers } from '@/exchange/admission/followers.ts'
import { AnswerQueue } from '@/exchange/answer-queue.ts'
import { CreditWatch } from '@/exchange/billing/credit.ts'
import { Idempotency } from '@/exchange/idempotency/idempotency.ts'
import { runStore } from '@/exchange/idempotency/store.ts'
import { OpenExchanges } from '@/exchange/open-exchanges.ts'
import { spoolFault } from '@/exchange/operations/spool.ts'
import { behindDoor } from '@/exchange/pass.ts'
import { KeptResponses } from '@/exchange/responses/kept-responses.ts'
import { openExchangeNotes } from '@/exchange/results/notes.ts'
import { ExchangeWriter } from '@/exchange/results/store.ts'
import { videoStore } from '@/exchange/videos/store.ts'
import { VideoWatch } from '@/exchange/videos/watch.ts'
import { stoppedBy, Watchdog } from '@/exchange/watchdog.ts'
import { type Ledger, openLedger } from '@/ledger/ledger.ts'
import type { LedgerTimings } from '@/ledger/timings.ts'
import type { Stop } from '@/ledger/types.ts'
import { BodyRoom } from '@/limits/body-room.ts'
import { type Limiter, type LimiterOptions, openLimiter } from '@/limits/limiter.ts'
import { FEW_FILES, fileLimit, Load, openFiles } from '@/limits/load.ts'
import { openRedis } from '@/redis/redis.ts'
import { type LiveCatalog, openLiveCatalog } from '@/routing/catalog/live-catalog.ts'
import { ForeignReasoning } from '@/routing/foreign-reasoning.ts'
import type { Health } from '@/routing/health/health.ts'
import { RefusedWishes } from '@/routing/refused-wishes.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { compactions } from '@/stored-responses/compaction.ts'
import { responseStore } from '@/stored-responses/store.ts'
import type { ApiGateway } from '@/surfaces/api-host.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { openSpans } from '@/telemetry/spans.ts'
import { createAddressGuard, usesProxy } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { ConnectionPools } from '@/upstream/connection-pools.ts'
import { tcpReach } from '@/upstream/connections.ts'
import { createMediaFetch } from '@/upstream/media.ts'
import { lazySimulator } from './lazy-simulator.ts'
import { openRouting } from './routing.ts'

/** What the parts of a gateway go by. */
export interface GatewaySettings
  extends Pick<
    Settings,
    'api' | 'maxBodyBytes' | 'otlpEndpoint' | 'publicApiUrl' | 'redisUrl' | 'storesUnasked' | 'workers'
  > {
  /** Where settlements wait that cannot be committed; undefined: in memory. */
  journalDirectory: string | undefined
}

/** What a process brings to its gateway. The database stays its own to close. */
export interface GatewayOptions {
  settings: GatewaySettings
  database: Database
  secretBox: SecretBox
  clock: Clock
  /** Time as the ledger's heartbeat knows it; the same unless a test moves the other. */
  ledgerClock?: Clock
  /** Numbers in [0, 1). */
  random: () => number
  /** How long Postgres and Redis are waited for; as `LedgerTimings` and `openRedis` say, unless a test is to be short. */
  patience?: { ledger: Partial<LedgerTimings>; redisCommandMs: number }
  /** What keys in Redis start with, the same in every process of a deployment; the usual unless tests share one. */
  redisNamespace?: string
  log: Log
  metrics: Metrics
}

/** One process's gateway on an open database, and those of its parts that tell how it does. Nothing listens yet. */
export interface OpenGateway {
  gateway: ApiGateway
  catalog: LiveCatalog
  store: ExchangeWriter
  ledger: Ledger
  limiter: Limiter
  load: Load
  /** How channels and their keys do, as this process knows it. */
  health: Health
  responses: KeptResponses
  /** Cuts what still runs, charges it, and closes everything but the database. */
  close(): Promise<void>
}

/** Opens the parts and wires them. `openRequests` counts those of callers, once something listens. */
export async function openGateway(options: GatewayOptions, openRequests: () => number): Promise<OpenGateway> {
  const { database, secretBox, clock, random, log } = options
  // Closed from the last to the first, also where a later one cannot be opened.
  await using opened = new AsyncDisposableStack()
  const catalog = await openLiveCatalog({
    db: database,
    secretBox,
    clock,
    onError: error => log.error({ err: error }, 'the catalog could not be reloaded'),
  })
  opened.defer(() => catalog.close())
  const keys = await openLiveKeys(options)
  opened.defer(() => keys.close())
  const simulator = lazySimulator()
  opened.defer(() => simulator.stop())
  const { otlpEndpoint } = options.settings
  const spans = otlpEndpoint === undefined ? undefined : await openSpans(otlpEndpoint, log)
  opened.defer(() => spans?.close())
  const store = openStoreOf(options)
  opened.defer(() => store.close())
  const settling = new Set<Promise<void>>()
  opened.defer(async () => void (await Promise.all(settling)))
  const watchdog = new Watchdog(clock)
  opened.defer(() => watchdog.stop())
  const followers = new Followers(keys.authenticate, clock)
  opened.defer(() => followers.stop())
  const open = new OpenExchanges()
  const ledger = await openLedgerOf(options, store, stop => {
    const reason = stoppedBy(stop.reason)
    watchdog.end(stop.id, reason)
    open.endOne(stop.id, reason)
  })
  opened.defer(() => ledger.close())
  const redis = openRedisOf(options)
  opened.defer(() => redis?.connection.close())
  const limiter = await openLimiterOf(options, {
    redis: redis?.connection,
    processes: ledger.processes,
    onRedisDown: () => catalog.defaults().limits.onRedisDown,
  })
  opened.defer(() => limiter.close())
  const routing = openRouting({
    catalog,
    redis,
    namespace: options.redisNamespace,
    processes: ledger.processes,
    clock,
    random,
    log,
  })
  opened.defer(() => routing.close())
  const maxFiles = fileLimit()
  warnOfFewFiles(maxFiles, log)
  const load = new Load({
    clock,
    random,
    openSockets: () => openRequests() + routing.concurrency.total,
    neededSockets: () => openRequests() + Math.max(openRequests(), routing.concurrency.total),
    openFiles,
    maxFiles,
  })
  opened.defer(() => load.stop())
  await warnOfNoSpool(log)
  const responses = keptResponsesOf(options)
  // A server that stops has waited for them before; one whose port is taken has not.
  opened.defer(() => responses.close(0))
  const gateway = gatewayOf(options, {
    ...upstreamsOf(clock, simulator.url),
    authenticate: keys.authenticate,
    catalog,
    selector: routing.selector,
    store,
    settling,
    ledger,
    limiter,
    load,
    watchdog,
    followers,
    open,
    responses,
    spans,
  })
  // Those that were cut are charged for what they gave, as long as there is a ledger.
  opened.defer(async () => void (await within(CUT_MS, gateway.open.ended(), clock)))
  const videoWatch = new VideoWatch(gateway, options.ledgerClock ?? clock)
  opened.defer(() => videoWatch.close())
  opened.defer(() => gateway.idempotency.close())
  const parts = opened.move()
  const close = () => parts.disposeAsync()
  return { gateway, catalog, store, ledger, limiter, load, health: routing.health, responses, close }
}

/** What of a gateway is opened before it, and closed after it. */
type Opened = Pick<
  ApiGateway,
  | 'authenticate'
  | 'client'
  | 'deadlines'
  | 'fetchMedia'
  | 'selector'
  | 'store'
  | 'settling'
  | 'ledger'
  | 'limiter'
  | 'load'
  | 'watchdog'
  | 'followers'
  | 'open'
  | 'responses'
  | 'spans'
> & { catalog: LiveCatalog }

function gatewayOf(options: GatewayOptions, opened: Opened): ApiGateway {
  const { settings, database, secretBox, clock, ledgerClock, random, log, metrics } = options
  const { catalog } = opened
  return {
    ...opened,
    pools: new ConnectionPools(),
    foreignReasoning: new ForeignReasoning(),
    refusedWishes: new RefusedWishes(clock),
    tellsOperators: () => catalog.defaults().operatorHeaders,
    fetchesMedia: () => catalog.defaults().fetchMedia,
    limits: () => catalog.defaults().limits,
    credit: new CreditWatch(clock),
    idempotency: new Idempotency({
      store: runStore(database),
      ledger: opened.ledger,
      box: secretBox,
      clock: ledgerClock ?? clock,
      log,
    }),
    videos: videoStore(database, secretBox),
    publicUrl: settings.publicApiUrl,
    answers: new AnswerQueue(clock),
    clock,
    random,
    newRequestId,
    newCallId: () => `call_${Bun.randomUUIDv7().replaceAll('-', '')}`,
    log,
    metrics,
    maxBodyBytes: settings.maxBodyBytes,
    bodyRoom: new BodyRoom({
      clock,
      usedBytes: () => process.memoryUsage.rss(),
      // The container's limit, or all that the machine has; workers share it.
      mostBytes: (process.constrainedMemory() || totalmem()) / settings.workers,
      onRefused: () => metrics.shed.inc({ reason: 'memory' }),
    }),
    draining: false,
  }
}

function openStoreOf({ settings, database, log, metrics }: GatewayOptions): ExchangeWriter {
  const { journalDirectory } = settings
  const notes =
    journalDirectory === undefined ? undefined : openExchangeNotes(journalDirectory, Bun.randomUUIDv7(), log)
  return new ExchangeWriter(database, log, metrics, notes)
}

function warnOfFewFiles(files: number, log: Log): void {
  if (files >= FEW_FILES) return
  const hint = `the limit of open files (ulimit -n) is ${files}: ${Math.floor(files / 3)} requests at once are about what it allows`
  log.warn({ files }, hint)
}

/** A container with a read-only file system mostly has no place for files, and misses it nowhere else. */
async function warnOfNoSpool(log: Log): Promise<void> {
  const fault = await spoolFault()
  if (fault === undefined) return
  log.warn(
    { err: fault },
    `${tmpdir()} (TMPDIR) takes no files: forms that bring some (images, sound) get a 503`,
  )
}

/** The ledger; answers whose accounts are stopped are ended, and results are stored of what it posts for the dead. */
function openLedgerOf(options: GatewayOptions, store: ExchangeWriter, onStop: (stop: Stop) => void) {
  const { settings, database, clock, ledgerClock, patience, log } = options
  return openLedger({
    databaseUrl: database.url,
    journalDirectory: settings.journalDirectory,
    address: settings.api.host,
    clock: ledgerClock ?? clock,
    log,
    onStop,
    onAdopted: signal => store.adopt(signal),
    onConnectionsLost(isAgain) {
      if (!isAgain) {
        log.warn('the database is silent, or takes no writes: its connections are closed, and opened anew')
      }
      database.renew()
    },
    onConnectionsBack: () => log.info('the database takes writes again'),
    timings: patience?.ledger,
  })
}

function openLimiterOf(
  { clock, ledgerClock, redisNamespace: namespace, log }: GatewayOptions,
  deployment: Pick<LimiterOptions, 'redis' | 'processes' | 'onRedisDown'>,
) {
  return openLimiter({ ...deployment, clock: ledgerClock ?? clock, log, namespace })
}

function keptResponsesOf({ settings, database, secretBox, clock, log }: GatewayOptions): KeptResponses {
  return new KeptResponses({
    store: responseStore({ database, secretBox }),
    compactions: compactions(secretBox),
    storesUnasked: settings.storesUnasked,
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
function openRedisOf({ settings: { redisUrl: url }, patience, log }: GatewayOptions) {
  if (url === undefined) return undefined
  const connection = openRedis(url, {
    onError: error => log.debug({ err: error }, 'redis'),
    commandTimeoutMs: patience?.redisCommandMs,
  })
  return { url, connection }
}

/** How long exchanges may take to end whose callers were cut off; longer than a closed upstream is drained. */
const CUT_MS = 2_000
