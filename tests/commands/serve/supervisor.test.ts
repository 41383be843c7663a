import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { FREE_PORTS, rawPost, type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { SECRET } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { freePort, openTestRedis, type TestRedis } from '#tests/support/stores/redis.ts'
import {
  eventStream,
  fedStream,
  type Script,
  type ScriptedUpstream,
  scriptedUpstream,
  until,
} from '#tests/support/upstreams/upstream.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { within } from '@/clock/wait.ts'
import { RUNTIME_SETTINGS } from '@/commands/serve/runtime-settings.ts'
import { endIfSilent, failuresOf, restartDelayMs, startSupervisor } from '@/commands/serve/supervisor.ts'
import { type WorkerMessage, workerEnvironment } from '@/commands/serve/worker.ts'
import { startWorker } from '@/commands/serve/worker-process.ts'
import { createLog } from '@/telemetry/log.ts'

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const BODY = '{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'
const PATH = '/v1/chat/completions'
/** A start on a busy machine takes longer than anything else that is waited for. */
const START_MS = 100_000

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

function configOf({ url }: ScriptedUpstream): string {
  return `channels:
  - { name: scripted, format: openai-chat-completions, base_url: "${url}", api_keys: ["upstream-secret-key"], allow_private: true }
models:
  - { id: m, channels: [{ channel: scripted, model: m }], prices: { input: 1, output: 2 } }
`
}

/** Workers on the embedded Postgres, and a key for them. */
async function start(env: Record<string, string> = {}): Promise<{ server: ServerProcess; key: string }> {
  const server = await spawnServer({
    env: { REDIS_URL: redis?.url ?? '', WORKERS: '2', SHUTDOWN_GRACE_MS: '60000', ...env },
    config: configOf(upstream),
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
  }, 240_000)
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
  }, 240_000)

  test('one that is killed is followed by another, while the other goes on serving', async () => {
    const [victim = 0, survivor = 0] = workersOf(server)
    process.kill(victim, 'SIGKILL')
    await until(() => !workersOf(server).includes(victim))
    answer = () => eventStream(EVENT + END)
    await until(async () => (await metric(server, 'tollgate_worker_restarts_total')) === 1)
    await until(async () => (await metric(server, 'tollgate_workers')) === 2, START_MS)
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
}, 240_000)

test('workers whose supervisor was killed end, and leave the data directory to the next', async () => {
  const { server } = await start()
  const workers = workersOf(server)
  server.kill('SIGKILL')
  await until(() => workers.every(pid => !isAlive(pid)))
  const second = await spawnServer({ dataDir: server.dataDir })
  await second.close()
}, 240_000)

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
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const reading = supervisor.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: text => {
        output += text
      },
    }),
  )
  await until(() => workersOf(supervisor).length === 1, START_MS)
  const [first = 0] = workersOf(supervisor)
  await until(() => workersOf(supervisor).length === 2, START_MS)
  process.kill(first, 'SIGKILL')
  let opsUrl: string | undefined
  await until(() => {
    opsUrl = /ops {2}(\S+)/.exec(output)?.[1]
    return opsUrl !== undefined || supervisor.exitCode !== null
  }, START_MS)
  expect(supervisor.exitCode).toBeNull()
  await until(async () => (await metric({ opsUrl: opsUrl ?? '' }, 'tollgate_workers')) === 2, START_MS)
  supervisor.kill('SIGTERM')
  expect(await supervisor.exited).toBe(0)
  await reading
  rmSync(dataDir, { recursive: true })
  await db.close()
}, 240_000)

/**
 * Two workers of which one has a stream open and the other has not begun its start, nor does before it is sent SIGCONT.
 */
async function halfStarted() {
  const db = await testDatabase()
  const { key } = await openPayer(db)
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  await Bun.write(join(dataDir, 'tollgate.yaml'), configOf(upstream))
  const port = await freePort()
  const supervisor = Bun.spawn([process.execPath, join(import.meta.dir, '../../../src/main.ts'), 'serve'], {
    cwd: dataDir,
    env: {
      ...FREE_PORTS,
      PORT: String(port),
      DATA_DIR: join(dataDir, 'data'),
      DATABASE_URL: db.url,
      REDIS_URL: redis?.url,
      TOLLGATE_SECRET: SECRET,
      LOG_FORMAT: 'json',
      WORKERS: '2',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true })
  }
  const reading = Promise.all([collect(supervisor.stdout), collect(supervisor.stderr)])
  await until(() => workersOf(supervisor).length === 1, START_MS)
  const [first = 0] = workersOf(supervisor)
  await until(() => workersOf(supervisor).length === 2, START_MS)
  const second = workersOf(supervisor).find(pid => pid !== first) ?? 0
  process.kill(second, 'SIGSTOP')
  const fed = fedStream()
  answer = () => eventStream(fed.stream)
  fed.write(EVENT)
  const client = rawPost(`http://127.0.0.1:${port}`, PATH, key, BODY)
  await until(() => client.text().includes('one'))
  return {
    db,
    supervisor,
    second,
    client,
    output: () => output,
    endStream() {
      fed.write(END)
      fed.close()
    },
    async close() {
      await supervisor.exited
      await reading
      rmSync(dataDir, { recursive: true })
      await db.close()
    },
  }
}

test('SIGTERM while a worker hangs in its start ends that one at once, and lets the streams of the others end', async () => {
  const { db, supervisor, second, client, output, endStream, close } = await halfStarted()
  // What whoever brings the schema along holds, for as long as that takes.
  const holder = await db.sql.reserve()
  await holder`select pg_advisory_lock(8390043843661231205)`
  process.kill(second, 'SIGCONT')
  const waiting = () => db.sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = 'tollgate migrate' and wait_event = 'advisory'`
  await until(async () => (await waiting()).length === 1)
  supervisor.kill('SIGTERM')
  await until(() => !isAlive(second))
  await until(() => output().includes('"reason":"stop"'))
  endStream()
  expect(await supervisor.exited).toBe(0)
  await client.closed
  expect(client.text()).toContain('[DONE]')
  expect([...(await db.sql`select id from hold`)]).toEqual([])
  expect(await db.sql`select from entry where kind = 'usage'`).toHaveLength(1)
  expect(output().match(/stopped before it served anybody/g)).toHaveLength(1)
  expect(output()).toContain('"msg":"stopped"')
  await holder`select pg_advisory_unlock_all()`
  holder.release()
  await close()
}, 120_000)

test('a start that failed says so although SIGTERM arrives while what did start takes leave', async () => {
  const { supervisor, second, client, output, endStream, close } = await halfStarted()
  process.kill(second, 'SIGKILL')
  await until(() => output().includes('"reason":"stop"'))
  supervisor.kill('SIGTERM')
  // For what the signal should not do.
  await Bun.sleep(200)
  endStream()
  expect(await supervisor.exited).toBe(1)
  await client.closed
  expect(client.text()).toContain('[DONE]')
  await close()
  expect(output()).toContain('before it served')
}, 120_000)

describe('a worker that gives no answer', () => {
  function rig(answers: (question: number) => boolean) {
    const clock = manualClock()
    const told: object[] = []
    let asked = 0
    let kills = 0
    const stop = endIfSilent(
      {
        pid: 7,
        ask: (_, withinMs) => {
          const answer: WorkerMessage = { type: 'alive', id: asked }
          return within(withinMs, answers(asked++) ? Promise.resolve(answer) : new Promise(() => {}), clock)
        },
        kill: () => void kills++,
      },
      { clock, log: { error: (line: object) => told.push(line) } },
    )
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1_000) {
        clock.advance(1_000)
        // What came of a question is known a few promises later.
        await new Promise<void>(resolve => setImmediate(resolve))
      }
    }
    return { pass, stop, told, asked: () => asked, kills: () => kills }
  }

  test('to two questions in a row is ended, and the log says so', async () => {
    const { pass, told, kills } = rig(question => question < 2)
    await pass(139_000)
    expect(kills()).toBe(0)
    await pass(1_000)
    expect([kills(), told]).toEqual([1, [{ worker: 7 }]])
  })

  test('to one now and then is left alone', async () => {
    const { pass, asked, kills } = rig(question => question % 2 === 0)
    await pass(600_000)
    expect([asked(), kills()]).toEqual([20, 0])
  })

  test('since it has ended is asked no more', async () => {
    const { pass, stop, asked } = rig(() => true)
    stop()
    await pass(60_000)
    expect(asked()).toBe(0)
  })
})

/** What runs in the place of workers until it is disposed of. */
async function workersRun(script: string): Promise<AsyncDisposable> {
  const dir = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  const { argv } = process
  process.argv = [process.execPath, join(dir, 'worker.ts')]
  await Bun.write(join(dir, 'worker.ts'), script)
  return {
    async [Symbol.asyncDispose]() {
      process.argv = argv
      rmSync(dir, { recursive: true })
    },
  }
}

const SERVING = `process.send({ type: 'serving', apiUrl: 'http://127.0.0.1:1' })`
/** Does not tell whether it is there. */
const SILENT = `process.on('message', ({ type, id, question }) => {
  if (type === 'stop') process.exit()
  if (question === 'metrics') process.send({ type: 'metrics', id, metrics: [] })
})
${SERVING}`
/** Has begun its start. */
const STARTING = `import { reportTo, untilDismissed } from '${join(import.meta.dir, '../../../src/commands/serve/worker.ts')}'
void untilDismissed().then(() => process.exit())
`
/** Answers, but for whether it is ready. */
const UNREADY = `${STARTING}reportTo('http://127.0.0.1:1', { metrics: async () => [], unreadiness: () => Promise.reject(new Error('away')) })`
/** Closes its line when it is told to stop, and lives on, although not for ever should a test not end it. */
const LINGERING = `process.on('message', ({ type }) => type === 'stop' && process.disconnect())
setTimeout(() => {}, 60_000)
${SERVING}`

/** Serves there, says which port it was told, and exits when it is asked whether it is ready. */
const toldPort = (apiUrl: string) => `process.on('message', ({ type, id, question }) => {
  if (type === 'stop' || question === 'readiness') process.exit()
  if (question !== 'metrics') return
  const values = [{ value: Number(process.env.${Object.keys(workerEnvironment({ port: 0 })).join()}), labels: {} }]
  const metrics = [{ name: 'told_port', help: 'port', type: 'gauge', aggregator: 'sum', values }]
  process.send({ type: 'metrics', id, metrics })
})
process.send({ type: 'serving', apiUrl: '${apiUrl}' })`

/** A supervisor that starts, of one worker unless said, by a clock that the test passes. */
async function startSupervised(script: string, { workers = 1, port = 0 } = {}) {
  const running = await workersRun(script)
  const manual = manualClock()
  const waits: number[] = []
  const clock: Clock = {
    ...manual,
    after(ms, task) {
      waits.push(ms)
      return manual.after(ms, task)
    },
  }
  const lines: string[] = []
  const starting = startSupervisor({
    workers,
    api: { host: '127.0.0.1', port },
    redisUrl: redis?.url,
    stop: new Promise(() => {}),
    clock,
    log: createLog({ level: 'error', format: 'json' }, { write: line => lines.push(line) }),
    metrics: { registry: new Registry() },
  })
  return { running, starting, advance: manual.advance, waits, log: () => lines.join('') }
}

/** The same, once its workers serve. */
async function supervise(script: string, options: Parameters<typeof startSupervised>[1] = {}) {
  const { starting, ...rest } = await startSupervised(script, options)
  const supervisor = await starting
  if (supervisor === undefined) throw new Error('it was not told to stop')
  return { supervisor, ...rest }
}

test('all workers have one port, also those that follow: the one that was named, else what the first found', async () => {
  const named = await freePort()
  const cases = [
    { port: 0, apiUrl: 'http://127.0.0.1:4711', shared: 4711 },
    // As an address is whose port is 80.
    { port: named, apiUrl: 'http://127.0.0.1', shared: named },
  ]
  for (const { port, apiUrl, shared } of cases) {
    const { running, supervisor, advance, waits } = await supervise(toldPort(apiUrl), { workers: 2, port })
    await using _ = running
    const told = (sum: number) => `\ntold_port ${sum}\n`
    expect(await supervisor.probes.metrics()).toContain(told(port + shared))
    void supervisor.probes.unreadiness()
    await until(() => waits.filter(ms => ms === restartDelayMs(1)).length === 2)
    advance(restartDelayMs(1))
    expect(await supervisor.probes.metrics()).toContain(told(shared + shared))
    await supervisor.stop()
  }
})

test('a place is tried again whose next worker the machine has no room for', async () => {
  const { running, supervisor, advance, waits, log } = await supervise(toldPort('http://127.0.0.1:4711'))
  await using _ = running
  void supervisor.probes.unreadiness()
  await until(() => waits.includes(restartDelayMs(1)))
  const { execPath } = process
  process.execPath = '/nowhere/bun'
  advance(restartDelayMs(1))
  process.execPath = execPath
  expect(log()).toContain('a worker could not be started')
  advance(restartDelayMs(2))
  expect(await supervisor.probes.metrics()).toContain('\ntold_port 4711\n')
  expect(await supervisor.probes.metrics()).toContain('tollgate_worker_restarts_total 1')
  await supervisor.stop()
})

test('a worker that serves and falls silent is ended, and followed by another', async () => {
  const { running, supervisor, advance, waits, log } = await supervise(SILENT)
  await using _ = running
  for (const ms of [30_000, 20_000, 10_000, 20_000]) {
    expect(log()).toBe('')
    advance(ms)
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  await until(() => waits.includes(restartDelayMs(1)))
  expect(log()).toContain('a worker does not answer any more, and is ended')
  advance(restartDelayMs(1))
  expect(await supervisor.probes.metrics()).toContain('tollgate_worker_restarts_total 1')
  await supervisor.stop()
})

test('a worker that hangs before it serves is ended, and the start fails with it', async () => {
  const { running, starting, advance, log } = await startSupervised('setTimeout(() => {}, 60_000)')
  await using _ = running
  const failure = starting.catch(String)
  for (const ms of [30_000, 20_000, 10_000, 20_000]) {
    expect(log()).toBe('')
    advance(ms)
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  expect(await failure).toContain('a worker ended with code 137 before it served')
  expect(log()).toContain('a worker does not answer any more, and is ended')
})

test('a worker says that it is there from the beginning of its start, however long that waits', async () => {
  await using _ = await workersRun(STARTING)
  const worker = startWorker({ port: 0 })
  expect(await worker.ask('alive', START_MS, systemClock)).toEqual({ type: 'alive', id: 0 })
  worker.send({ type: 'stop' })
  expect(await worker.exited).toBe(0)
})

test('a worker that cannot tell whether it is ready is there, and left alone', async () => {
  const { running, supervisor, advance, log } = await supervise(UNREADY)
  await using _ = running
  for (let asked = 0; asked < 4; asked++) {
    advance(30_000)
    // Asked later, and so answered later.
    await supervisor.probes.metrics()
  }
  expect(log()).toBe('')
  await supervisor.stop()
})

test('a worker that took leave and does not exit is ended 15 s later, so that the supervisor can', async () => {
  const { running, supervisor, advance, waits, log } = await supervise(LINGERING)
  await using _ = running
  const stopped = supervisor.stop()
  await until(() => waits.includes(15_000))
  advance(15_000)
  await stopped
  expect(log()).toContain('a worker took leave and does not exit, and is ended')
})

test('a question to a worker whose line is closed has no answer, and fails nobody', async () => {
  await using _ = await workersRun(LINGERING)
  const clock = manualClock()
  const worker = startWorker({ port: 0 })
  await worker.serving
  worker.send({ type: 'stop' })
  await worker.hungUp
  worker.send({ type: 'stop' })
  const answer = worker.ask('alive', 20_000, clock)
  clock.advance(20_000)
  expect(await answer).toBeUndefined()
  worker.kill()
  await worker.exited
})

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
