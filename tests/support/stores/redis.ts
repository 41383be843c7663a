import { test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsWithTests } from '#tests/support/leftovers.ts'
import { openRedis, type RedisConnection, type RedisConnectOptions } from '@/redis/redis.ts'

/** A redis-server of the test's own. */
export interface RedisServer {
  url: string
  /** Stops it in its tracks: connections stay, nothing is answered. */
  pause(): void
  resume(): void
  /** SIGKILL; everything it knew is gone. */
  kill(): Promise<void>
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>
  flush(): Promise<void>
  /** Makes it the replica of a server that is not there: it goes on answering, from what it knows. */
  demote(): Promise<void>
  promote(): Promise<void>
  close(): Promise<void>
}

/** What tests may use: the Redis they were given, else one of their own. */
export interface TestRedis {
  url: string
  /** Keeps the keys of test files apart. */
  namespace: string
  close(): Promise<void>
}

export const hasRedisServer = Bun.which('redis-server') !== null

/** Undefined: there is neither a REDIS_URL nor a redis-server here; the caller has to say so loudly. */
export async function openTestRedis(): Promise<TestRedis | undefined> {
  const namespace = `test-${crypto.randomUUID()}:`
  const given = process.env['REDIS_URL']
  if (given !== undefined && given !== '') return { url: given, namespace, close: async () => {} }
  if (!hasRedisServer) return undefined
  const server = await startRedisServer()
  return { url: server.url, namespace, close: server.close }
}

/** `cluster`: a cluster of one node, which holds keys of one call to one hash tag as any cluster does. */
export async function startRedisServer(kind: 'single' | 'cluster' = 'single'): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  // Its own choice for what the nodes tell one another is the port 10,000 above, which there may not be.
  const cluster = kind === 'cluster' ? [...CLUSTER, '--cluster-port', String(await freePort())] : []
  const start = () => spawnServer(port, directory, cluster)
  let child = await start()
  if (kind === 'cluster') await formCluster(port)
  return {
    url,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    async restart() {
      child = await start()
    },
    async flush() {
      await Bun.$`redis-cli -p ${port} flushall`.quiet()
    },
    async demote() {
      await Bun.$`redis-cli -p ${port} replicaof 127.0.0.1 1`.quiet()
    },
    async promote() {
      await Bun.$`redis-cli -p ${port} replicaof no one`.quiet()
    },
    async close() {
      child.kill('SIGKILL')
      await child.exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A test with a redis-server of its own. */
export function onRedisServer(
  name: string,
  body: (server: RedisServer) => Promise<void>,
  kind: 'single' | 'cluster' = 'single',
): void {
  test(name, async () => {
    const server = await startRedisServer(kind)
    try {
      await body(server)
    } finally {
      await server.close()
    }
  }, 60_000)
}

/** A connection that stands. Patient unless told otherwise: a busy test machine is no failure of Redis. */
export async function connectRedis(url: string, options: RedisConnectOptions = {}): Promise<RedisConnection> {
  const redis = openRedis(url, { commandTimeoutMs: 10_000, ...options })
  if (!(await redis.whenReady(30_000))) throw new Error(`no connection to ${url}`)
  return redis
}

const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']

async function formCluster(port: number): Promise<void> {
  await Bun.$`redis-cli -p ${port} cluster addslotsrange 0 16383`.quiet()
  const deadline = performance.now() + 30_000
  while (!(await Bun.$`redis-cli -p ${port} cluster info`.text()).includes('cluster_state:ok')) {
    if (performance.now() > deadline) throw new Error('the cluster did not form')
    await Bun.sleep(50)
  }
}

async function spawnServer(port: number, directory: string, more: readonly string[]) {
  const settings = [...more, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory]
  const child = Bun.spawn(['redis-server', '--port', String(port), ...settings], { stdout: 'pipe' })
  endsWithTests(child)
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('Ready to accept connections')) {
    const { value, done } = await output.read()
    if (done) throw new Error(`redis-server did not start: ${text}`)
    text += value
  }
  void drain(output)
  return child
}

async function drain(output: { read(): Promise<{ done: boolean }> }): Promise<void> {
  while (!(await output.read()).done);
}

/** Below the ports that the system hands out by itself, so that nobody gets it before the server does or while that is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
