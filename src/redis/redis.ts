import { createHash } from 'node:crypto'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { codeOf } from '@/errors/code.ts'
import { sentinelsOf } from './sentinel.ts'

/** A Lua script and the name by which Redis remembers it. */
export interface RedisScript {
  readonly source: string
  readonly sha: string
}

/** How patient callers of a Redis are. */
export interface RedisConnectOptions {
  /** Most time that a command may take, in ms. One that took longer may still run on the server. */
  commandTimeoutMs?: number | undefined
  /** Told of each connection failure; ioredis goes on connecting by itself. */
  onError?: (error: Error) => void
}

/** A Redis, or a cluster of them. Connects in the background and reconnects for as long as it is open. */
export interface RedisConnection {
  /**
   * Runs a script atomically. A cluster wants all keys to share one hash tag, and otherwise says CROSSSLOT and does
   * nothing. Fails at once while there is no connection: nothing waits for Redis to come back, and no call for the
   * answer to another (as with ioredis' automatic pipelines).
   * @throws RedisTimeout, or what the connection or the script said
   */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  /** Whether Redis answers in time. Never throws. */
  ping(): Promise<boolean>
  /** Resolves when the first connection stands, or after `ms` without one. */
  whenReady(ms: number): Promise<boolean>
  /** Why there is no connection, where there is none and it was said. */
  failure(): Error | undefined
  close(): Promise<void>
}

/** No answer came in time. */
export class RedisTimeout extends Error {
  override readonly name = 'RedisTimeout'
}

const COMMAND_TIMEOUT_MS = 50
/** A socket that owes an answer for this long, or for as long as a command may take, is dead: only a new one can reach a server that moved. */
const SOCKET_TIMEOUT_MS = 2_000
const CONNECT_TIMEOUT_MS = 1_000

/** A script by its text. */
export function redisScript(source: string): RedisScript {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

/**
 * Opens `redis://` or `rediss://`; a comma list of addresses is a cluster's start nodes. Of `redis+sentinel://` and
 * `rediss+sentinel://` the hosts are sentinels, who are asked for the primary at each connection.
 */
export function openRedis(url: string, options: RedisConnectOptions = {}): RedisConnection {
  const timeoutMs = options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS
  const client = createClient(url, Math.max(SOCKET_TIMEOUT_MS, timeoutMs))
  let lastFailure = asksForTls(url) ? withoutTls('no connection yet') : undefined
  const failure = () => (client.status === 'ready' ? undefined : lastFailure)
  // Whatever kept it from connecting before is no reason any more.
  client.on('ready', () => {
    lastFailure = new Error('the connection was lost')
  })
  let isTold = false
  client.on('connecting', () => {
    isTold = false
  })
  const tell = (error: Error) => {
    // What else is said of a connection follows from the first.
    if (!isTold) lastFailure = explained(error, url)
    isTold = true
    options.onError?.(error)
  }
  // Without a listener of its own ioredis prints every failed attempt to connect.
  client.on('error', tell)
  // Of a name that it does not know, or a password. It is the reason only while nothing else is: the next sentinel is
  // asked, and what comes of that is said after it, be it that there is none left.
  client.on('sentinelError', (error: Error) => {
    lastFailure ??= error
    isTold = false
    options.onError?.(error)
  })
  return {
    run: (script, keys, args) => withTimeout(evaluate(client, script, keys, args, failure), timeoutMs),
    ping: () =>
      withTimeout(client.ping(), timeoutMs).then(
        () => true,
        () => false,
      ),
    whenReady: ms => whenReady(client, ms),
    failure,
    close: () => close(client),
  }
}

/** A server without TLS takes its greeting for the beginning of something longer, and is silent. */
function explained(error: Error, url: string): Error {
  return asksForTls(url) && codeOf(error) === 'ETIMEDOUT' ? withoutTls(error.message) : error
}

function asksForTls(url: string): boolean {
  return url.startsWith('rediss')
}

function withoutTls(message: string): Error {
  return new Error(`${message} (rediss: asks for TLS, which the server may not have)`)
}

/** A node that was taken for a server by itself says of most keys where else they are. */
function withNodes(error: Error): Error {
  if (!error.message.startsWith('MOVED')) return error
  return new Error(
    `${error.message} (one node of a cluster: REDIS_URL has to name some of them, or the one twice, with commas between)`,
    { cause: error },
  )
}

/** No queues and no retries: a command that cannot be sent now must fail now, its caller has another way. */
const CLIENT_OPTIONS = {
  enableAutoPipelining: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // It has become a copy of another, which its address may lead to by now.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  connectTimeout: CONNECT_TIMEOUT_MS,
  connectionName: 'tollgate',
} satisfies RedisOptions

/** ioredis asks each sentinel over a connection of its own, which by itself waits for an answer for ever. */
const SENTINEL_PATIENCE = { sentinelCommandTimeout: CONNECT_TIMEOUT_MS } satisfies RedisOptions

const retryDelayMs = (times: number): number => Math.min(times * 50, 500)

/** One address is a server, or leads to one by way of sentinels; several are a cluster. */
export function createClient(url: string, socketTimeout: number = SOCKET_TIMEOUT_MS): Redis | Cluster {
  const options = { ...CLIENT_OPTIONS, socketTimeout }
  const ofOne = { ...options, enableOfflineQueue: false, retryStrategy: retryDelayMs }
  const sentinels = sentinelsOf(url)
  const urls = url.split(',')
  const [first = ''] = urls
  if (sentinels !== undefined || urls.length === 1) {
    const client =
      sentinels === undefined
        ? new Redis(first, ofOne)
        : new Redis({ ...ofOne, ...SENTINEL_PATIENCE, ...sentinels })
    // It has no such database, or not for us: by itself ioredis goes on in the first one.
    client.on('error', (error: Error & { command?: { name: string } }) => {
      if (error.command?.name === 'select') client.disconnect(true)
    })
    return client
  }
  return new Cluster(urls, {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelayMs,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: { ...options, ...credentials(first) },
  })
}

/** A cluster names its other nodes by address only: they are entered as the first one is. */
function credentials(url: string): { username?: string; password?: string; tls?: object } {
  const { protocol, username, password } = new URL(url)
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  }
}

/**
 * By its hash, which is all that a server needs to know unless it was restarted or flushed.
 * @param failure why there is no connection, where there is none: what ioredis then says of a command does not tell
 */
async function evaluate(
  client: Redis | Cluster,
  script: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
  failure: () => Error | undefined,
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha, keys.length, ...keys, ...args)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (!error.message.includes('NOSCRIPT')) throw failure() ?? withNodes(error)
    return client.eval(script.source, keys.length, ...keys, ...args)
  }
}

function withTimeout<Value>(work: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new RedisTimeout(`Redis did not answer within ${ms} ms`))
    // After a pause of this process timers come first: what has arrived meanwhile is read before time is up.
    const timer = setTimeout(() => setImmediate(fail), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function whenReady(client: Redis | Cluster, ms: number): Promise<boolean> {
  if (client.status === 'ready') return Promise.resolve(true)
  return new Promise(resolve => {
    const settle = (ready: boolean) => {
      clearTimeout(timer)
      client.off('ready', onReady)
      resolve(ready)
    }
    const onReady = () => settle(true)
    const timer = setTimeout(() => settle(false), ms)
    client.on('ready', onReady)
  })
}

/** QUIT lets running commands finish; a server that does not answer is left. */
async function close(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') await withTimeout(client.quit(), CONNECT_TIMEOUT_MS).catch(() => undefined)
  client.disconnect()
}
