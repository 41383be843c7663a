import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FREE_PORTS, rawPost, type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { SECRET } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { openTestRedis, type TestRedis } from '#tests/support/stores/redis.ts'
import {
  eventStream,
  fedStream,
  type Script,
  type ScriptedUpstream,
  scriptedUpstream,
  until,
} from '#tests/support/upstreams/upstream.ts'
import { RUNTIME_SETTINGS } from '@/commands/serve/runtime-settings.ts'
import { failuresOf, restartDelayMs } from '@/commands/serve/supervisor.ts'
import { workerEnvironment } from '@/commands/serve/worker.ts'

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const BODY = '{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'
const PATH = '/v1/chat/completions'

let redis: TestRedis | undefined
let upstream: ScriptedUpstream
let answer: Script

beforeAll(async () => {
  redis = await openTestRedis()
  if (redis === undefined) throw new Error('workers need Redis: install redis-server, or set REDIS_URL')
  upstream = scriptedUpstream((request, signal) => answer(request, signal))
})
afterAll(async () => {
  await upstream.stop()
  await redis?.close()
})

/** Workers on the embedded Postgres, and a key for them. */
async function start(env: Record<string, string> = {}): Promise<{ server: ServerProcess; key: string }> {
  const server = await spawnServer({
    env: { REDIS_URL: redis?.url ?? '', WORKERS: '2', SHUTDOWN_GRACE_MS: '10000', ...env },
    config: `channels:
  - { name: scripted, format: openai-chat-completions, base_url: "${upstream.url}", api_keys: ["upstream-secret-key"], allow_private: true }
models:
  - { id: m, channels: [{ channel: scripted, model: m }], prices: { input: 1, output: 2 } }
`,
  })
  const { id } = tollgate(server, 'account', 'create', '--email', 'a@b.c', '--credit', '5')
  return { server, key: tollgate(server, 'key', 'create', '--account', String(id)).key }
}

function tollgate(server: ServerProcess, ...words: string[]): { id: number; key: string } {
  const ran = Bun.spawnSync([process.execPath, 'src/main.ts', ...words, '--json'], {
    env: { PATH: process.env['PATH'], DATA_DIR: `${server.dataDir}/data` },
  })
  return JSON.parse(ran.stdout.toString())
}

/** The process ids of the workers that live. */
function workersOf(server: Pick<ServerProcess, 'pid'>): number[] {
  const listed = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', String(server.pid)]).stdout.toString()
  return listed
    .split('\n')
    .filter(line => line.includes('main.ts'))
    .map(line => Number.parseInt(line, 10))
}

async function metric(server: Pick<ServerProcess, 'opsUrl'>, name: string): Promise<number> {
  const text = await (await fetch(`${server.opsUrl}/metrics`)).text()
  return text
    .split('\n')
    .filter(line => line.startsWith(name) && !line.startsWith('#'))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function post(server: ServerProcess, key: string): Promise<Response> {
  return fetch(server.apiUrl + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, connection: 'close' },
    body: BODY,
  })
}

describe('two workers on the embedded default with Redis', () => {
  let server: ServerProcess
  let key: string
  beforeAll(async () => {
    ;({ server, key } = await start())
  }, 120_000)
  afterAll(() => server.close(), 60_000)

  test('share the port, and one ops listener tells of both', async () => {
    answer = () => eventStream(EVENT + END)
    expect(workersOf(server)).toHaveLength(2)
    for (let sent = 0; sent < 40; sent++) {
      expect(await (await post(server, key)).text()).toEndWith('data: [DONE]\n\n')
    }
    await until(async () => (await metric(server, 'tollgate_exchanges_total{')) === 40)
    expect(await metric(server, 'tollgate_workers')).toBe(2)
    expect(await metric(server, 'tollgate_ledger_healthy')).toBe(1)
    expect((await fetch(`${server.opsUrl}/readyz`)).status).toBe(200)
  }, 120_000)

  test('one that is killed is followed by another, while the other goes on serving', async () => {
    const [victim = 0, survivor = 0] = workersOf(server)
    process.kill(victim, 'SIGKILL')
    await until(() => !workersOf(server).includes(victim))
    answer = () => eventStream(EVENT + END)
    await until(async () => (await metric(server, 'tollgate_worker_restarts_total')) === 1)
    await until(async () => (await metric(server, 'tollgate_workers')) === 2)
    expect(workersOf(server)).toContain(survivor)
    // What it had counted is counted: a sum that fell would be read as one that began anew.
    expect(await metric(server, 'tollgate_exchanges_total{')).toBe(40)
    expect((await post(server, key)).status).toBe(200)
  }, 120_000)

  test('a second gateway on the same port is refused: it would quietly get half of the callers', async () => {
    const other = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: `${server.dataDir}/other`,
        HOST: '127.0.0.1',
        PORT: new URL(server.apiUrl).port,
        OPS_PORT: '0',
        CONSOLE_PORT: '0',
        REDIS_URL: redis?.url,
        WORKERS: '2',
      },
      stdout: 'ignore',
      stderr: 'pipe',
    })
    expect(await other.exited).toBe(1)
    expect(await new Response(other.stderr).text()).toMatch(
      /^tollgate: PORT \d+ on 127\.0\.0\.1 cannot be used/,
    )
  }, 120_000)
})

test('SIGTERM lets the streams of every worker end, and then everything exits with 0', async () => {
  const { server, key } = await start()
  const fed = Array.from({ length: 8 }, fedStream)
  let next = 0
  answer = () => eventStream(fed[next++]?.stream ?? '')
  for (const one of fed) one.write(EVENT)
  const clients = fed.map(() => rawPost(server.apiUrl, PATH, key, BODY))
  await until(() => clients.every(client => client.text().includes('one')))
  server.kill('SIGTERM')
  await until(() => server.output().split('"stopping"').length >= 4)
  for (const one of fed) {
    one.write(END)
    one.close()
  }
  await until(() => clients.every(client => client.text().includes('[DONE]')))
  expect(await server.exited).toBe(0)
  await server.close()
}, 120_000)

test('workers whose supervisor was killed end, and leave the data directory to the next', async () => {
  const { server } = await start()
  const workers = workersOf(server)
  server.kill('SIGKILL')
  await until(() => workers.every(pid => !isAlive(pid)))
  const second = await spawnServer({ dataDir: server.dataDir })
  await second.close()
}, 120_000)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a worker that dies while the others still start is followed by another', async () => {
  const db = await testDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  const supervisor = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
    env: {
      ...FREE_PORTS,
      DATA_DIR: dataDir,
      DATABASE_URL: db.url,
      REDIS_URL: redis?.url,
      TOLLGATE_SECRET: SECRET,
      WORKERS: '2',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  const reading = supervisor.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: text => {
        output += text
      },
    }),
  )
  await until(() => workersOf(supervisor).length === 1)
  const [first = 0] = workersOf(supervisor)
  await until(() => workersOf(supervisor).length === 2)
  process.kill(first, 'SIGKILL')
  let opsUrl: string | undefined
  await until(() => {
    opsUrl = /ops {2}(\S+)/.exec(output)?.[1]
    return opsUrl !== undefined
  })
  await until(async () => (await metric({ opsUrl: opsUrl ?? '' }, 'tollgate_workers')) === 2)
  supervisor.kill('SIGTERM')
  expect(await supervisor.exited).toBe(0)
  await reading
  rmSync(dataDir, { recursive: true })
  await db.close()
}, 120_000)

test('a worker that cannot start ends, although its line to the supervisor is open, so that another is tried', async () => {
  const worker = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
    env: {
      ...FREE_PORTS,
      // As from a supervisor; without them it would begin anew, and lose the line.
      ...RUNTIME_SETTINGS,
      ...workerEnvironment({ port: 0 }),
      WORKERS: '2',
      REDIS_URL: redis?.url ?? '',
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
      TOLLGATE_SECRET: SECRET,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    serialization: 'json',
    ipc() {},
  })
  expect(await worker.exited).toBe(1)
  expect(await new Response(worker.stderr).text()).toContain('DATABASE_URL cannot be used')
}, 60_000)

test('a worker that keeps failing is tried again ever more slowly, and at least every 10 s', () => {
  expect([1, 2, 3, 4, 5, 50].map(restartDelayMs)).toEqual([100, 400, 1600, 6400, 10_000, 10_000])
})

test('a worker that served for a while is followed at once, however often that happens', () => {
  expect([failuresOf(0, undefined), failuresOf(1, 4_000), failuresOf(2, undefined)]).toEqual([1, 2, 3])
  expect(failuresOf(failuresOf(3, 10_000), 10_000)).toBe(1)
})
