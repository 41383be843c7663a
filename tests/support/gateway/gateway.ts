import { box } from '#tests/support/secret.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { type KeyStore, keyStore } from '@/accounts/key-store.ts'
import { type AccountStore, accountStore } from '@/accounts/store.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import type { GatewayOptions } from '@/commands/serve/gateway.ts'
import { bindOps } from '@/commands/serve/listeners.ts'
import { type RunningServer, type ServerSettings, startServer } from '@/commands/serve/server.ts'
import { parseConfigFile } from '@/config/file.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { type LedgerStore, ledgerStore } from '@/ledger/store.ts'
import { type SimulatorServer, serveSimulator } from '@/simulator/serve.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics, type Metrics } from '@/telemetry/metrics.ts'
import { openPayer, type Payer } from './payer.ts'

/** What a test's gateway serves. */
interface Served {
  /** Upstream addresses by format, or one for all; the simulator where none is given. */
  upstreams?: string | Partial<Record<UpstreamName, string>> | undefined
  /** Added to each channel, as YAML flow entries. */
  channelOptions?: string | undefined
  /** Models beside those of the simulator, as YAML list entries. */
  models?: string | undefined
}

/** What a test wants of its gateway; of its settings those that are not `SETTINGS`. */
export interface TestGatewayOptions extends Served, Partial<Omit<ServerSettings, 'redisUrl'>> {
  clock?: Clock
}

/** A whole gateway in this process, on a database of its own, with the simulator behind it. */
export interface TestGateway extends Payer {
  url: string
  opsUrl: string
  database: TestDatabase
  server: RunningServer
  simulator: SimulatorServer
  accounts: AccountStore
  keys: KeyStore
  /** The books, as the command line and the console use them. */
  ledger: LedgerStore
  metrics: Metrics
  /** Everything that was logged, one JSON line each. */
  logLines: string[]
  /** Applies a tollgate.yaml and waits until it is in force. */
  apply(yaml: string): Promise<void>
  /** The stored results of the exchanges so far, oldest first. */
  exchanges(): Promise<Record<string, unknown>[]>
  lastExchange(): Promise<Record<string, unknown>>
  /** The body that the simulator was sent last. */
  lastSent(): string
  /** Sends this to a path with the gateway's key, or another. */
  post(path: string, body: PostedBody, options?: PostOptions): Promise<Response>
  close(): Promise<void>
}

/** An object goes as JSON, and whatever is no form is called JSON. */
type PostedBody = NonNullable<RequestInit['body']> | object

interface PostOptions {
  key?: string
  /** Beside the key and the type of the body. */
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

const FORMATS = {
  chat: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
} as const

type UpstreamName = keyof typeof FORMATS

/** The upstreams of a gateway: the first part of its models' names. */
export const UPSTREAMS = ['chat', 'responses', 'messages', 'gemini'] as const satisfies UpstreamName[]

/** What the simulator can be asked for; each is a model `sim/NAME` on all four formats and `NAME/sim` on one. */
const STEERING = [
  'echo',
  'reason',
  'tool',
  'parallel',
  'image',
  'refuse',
  'json',
  'nousage',
  'garbage',
  'hang',
  'long-20',
  'long-200',
  'long-100000',
  'split-1',
  'split-7',
  'cut-3',
  'error-400',
  'error-401',
  'error-404',
  'error-429',
  'error-500',
  'error-503',
  'error-529',
  'error-first',
  'error-midstream',
  'slow-1000',
  'pace-50+long-100',
  'reason+tool',
] as const

/** What a process is told that no test has said otherwise. */
const SETTINGS: ServerSettings = {
  api: { host: '127.0.0.1', port: 0 },
  sharesPort: false,
  maxBodyBytes: 64 * 1024 * 1024,
  responsesWebSocket: true,
  trustedProxies: [],
  corsOrigins: [],
  farewellMs: 0,
  shutdownDelayMs: 0,
  shutdownGraceMs: 5000,
  journalDirectory: undefined,
  otlpEndpoint: undefined,
  publicApiUrl: undefined,
  redisUrl: undefined,
  storesUnasked: false,
  workers: 1,
}

/** More than a deployment has: a stall of the machine is no failure of Postgres or Redis. */
const PATIENCE = {
  ledger: {
    holdPatienceMs: 20_000,
    settlePatienceMs: 20_000,
    statementTimeoutMs: 20_000,
    connectionTimeoutMs: 20_000,
  },
  redisCommandMs: 10_000,
}

const SURROUNDINGS = { secretBox: box, ledgerClock: systemClock, random: Math.random, patience: PATIENCE }

/** A server that turns nothing away because the machine has more to do than it can: a test that wants that says so. */
async function startIdle(
  options: Omit<Parameters<typeof startServer>[0], keyof typeof SURROUNDINGS> & Partial<GatewayOptions>,
): Promise<RunningServer> {
  const server = await startServer({ ...SURROUNDINGS, ...options })
  server.gateway.load = { overload: () => undefined, isCrowded: false }
  return server
}

/**
 * Starts a gateway. Models are called `chat/echo`, `messages/tool` and so on: the format that serves them, and the
 * simulator's steering name.
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { clock = systemClock, upstreams, channelOptions, models, ...settings } = options
  const database = await testDatabase()
  const simulator = serveSimulator({ hostname: '127.0.0.1', port: 0, record: true })
  const logLines: string[] = []
  const metrics = createMetrics({ processMetrics: false })
  const apply = async (yaml: string) => {
    const file = parseConfigFile(yaml, { name: 'tollgate.yaml', env: {}, known: { channels: new Set() } })
    await applyFile(database, box, file, { prune: false, dryRun: false, source: 'file' })
  }
  await apply(configText(simulator.url, { upstreams, channelOptions, models }))
  const server = await startIdle({
    settings: {
      ...SETTINGS,
      ...settings,
      redisUrl: process.env['REDIS_URL'] || undefined,
    },
    database,
    clock,
    redisNamespace: `test:${crypto.randomUUID()}:`,
    log: createLog({ level: 'debug', format: 'json' }, { write: line => logLines.push(line) }),
    metrics,
  })
  const ops = bindOps({ host: '127.0.0.1', port: 0 }, server.probes)
  const payer = await openPayer(database, { email: 'test@example.com' })
  const exchanges = async () => {
    await server.flush()
    return database.sql`select * from exchange order by id`
  }
  return {
    url: server.apiUrl,
    opsUrl: ops.url.href.replace(/\/$/, ''),
    ...payer,
    database,
    server,
    simulator,
    accounts: accountStore(database),
    keys: keyStore(database),
    ledger: ledgerStore(database),
    metrics,
    logLines,
    apply: async yaml => {
      await apply(yaml)
      await server.reloadCatalog()
    },
    exchanges,
    lastExchange: async () => (await exchanges()).at(-1) ?? {},
    lastSent: () =>
      Buffer.from(simulator.simulator.recordings.all().at(-1)?.bodyBase64 ?? '', 'base64').toString(),
    post: (path, body, { key = payer.key, headers, signal } = {}) =>
      fetch(server.apiUrl + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body.constructor === Object ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>),
        ...(signal && { signal }),
      }),
    close: async () => {
      await server.stop()
      await ops.stop(true)
      await simulator.stop()
      await database.close()
    },
  }
}

/** Another process of the same deployment, as far as two can be told apart within one: all they share is the database. */
export function startNeighbour(
  gateway: TestGateway,
  {
    settings = {},
    ...options
  }: Partial<Pick<GatewayOptions, 'clock' | 'database' | 'patience'>> & {
    settings?: Partial<ServerSettings>
  } = {},
): Promise<RunningServer> {
  return startIdle({
    database: gateway.database,
    clock: systemClock,
    ...options,
    settings: { ...SETTINGS, ...settings },
    log: createLog({ level: 'debug', format: 'json' }, { write: line => gateway.logLines.push(line) }),
    metrics: createMetrics({ processMetrics: false }),
  })
}

function configText(simulatorUrl: string, { upstreams, channelOptions, models }: Served): string {
  const channels = UPSTREAMS.map(surface => {
    const format = FORMATS[surface]
    const url = (typeof upstreams === 'string' ? upstreams : upstreams?.[surface]) ?? simulatorUrl
    const extra = channelOptions === undefined ? '' : `, ${channelOptions}`
    return `  - { name: ${surface}, format: ${format}, base_url: "${url}", api_keys: ["upstream-key-${surface}"], allow_private: true${extra} }`
  })
  const simulated = UPSTREAMS.flatMap(surface =>
    STEERING.map(
      name =>
        `  - { id: "${surface}/${name}", channels: [{ channel: ${surface}, model: "${name}" }], prices: ${PRICES} }`,
    ),
  )
  return `limits: { account: ${AMPLE}, key: ${AMPLE} }\nchannels:\n${channels.join('\n')}\nmodels:\n${simulated.join('\n')}\n${priced(models ?? '')}\n`
}

/** Gives prices to those of the models that a test wrote without: an unpriced model is refused. */
function priced(models: string): string {
  return models
    .split('\n')
    .map(line =>
      line.includes('- {') && !line.includes('prices')
        ? line.replace(/\}\s*$/, `, prices: ${PRICES} }`)
        : line,
    )
    .join('\n')
}

/** No test but one of limits should meet any. */
const AMPLE = '{ requests_per_minute: 1000000, tokens_per_minute: 1000000000, concurrent_requests: 10000 }'

const PRICES = '{ input: 1, output: 2 }'
