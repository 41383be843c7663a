import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPayer } from '#tests/support/gateway/payer.ts'
import {
  FREE_PORTS,
  type RawClient,
  rawPost,
  type ServerProcess,
  spawnServer,
} from '#tests/support/gateway/serve-process.ts'
import { least, msOf } from '#tests/support/least.ts'
import { box, SECRET } from '#tests/support/secret.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import {
  eventStream,
  fedStream,
  type Script,
  type ScriptedUpstream,
  scriptedUpstream,
  until,
} from '#tests/support/upstreams/upstream.ts'

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const BODY = '{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'
const PATH = '/v1/chat/completions'

let upstream: ScriptedUpstream
let answer: Script
let database: TestDatabase
let key: string

beforeAll(async () => {
  upstream = scriptedUpstream((request, signal) => answer(request, signal))
  database = await testDatabase()
  key = (await openPayer(database)).key
})
afterAll(async () => {
  await upstream.stop()
  await database.close()
})

function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  return spawnServer({
    env: { DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET, SHUTDOWN_GRACE_MS: '10000', ...env },
    config: `channels:
  - { name: scripted, format: openai-chat-completions, base_url: "${upstream.url}", api_keys: ["upstream-secret-key"], allow_private: true }
models:
  - { id: m, channels: [{ channel: scripted, model: m }], prices: { input: 1, output: 2 } }
`,
  })
}

/** A client who reads the head of its answer and no more; none if there was no answer to read. */
async function stopReading(client: RawClient): Promise<RawClient[]> {
  await until(contains([client], '\r\n\r\n'))
  client.socket.pause()
  if (client.text().startsWith('HTTP/1.1 200')) return [client]
  client.socket.destroy()
  return []
}

/** A client whose answer has begun and flows until it is ended. */
async function openStream({ apiUrl }: { apiUrl: string }) {
  const fed = fedStream()
  answer = () => eventStream(fed.stream)
  fed.write(EVENT)
  const client = rawPost(apiUrl, PATH, key, BODY)
  await until(contains([client], 'one'))
  return { fed, client }
}

function contains(clients: readonly RawClient[], text: string): () => boolean {
  return () => clients.every(client => client.text().includes(text))
}

/** What a start says that cannot come to anything, and what it ends with. */
async function failedStart(env: Readonly<Record<string, string>>): Promise<{ said: string; code: number }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-failed-start-'))
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: { ...FREE_PORTS, DATA_DIR: dataDir, DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET, ...env },
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: 50_000,
    killSignal: 'SIGKILL',
  })
  const said = await child.stderr.text()
  const code = await child.exited
  rmSync(dataDir, { recursive: true, force: true })
  return { said, code }
}

test.each(['PORT', 'OPS_PORT', 'CONSOLE_PORT'])('%s in use: says so, and the process ends', async name => {
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { said, code } = await failedStart({ [name]: String(taken.port) })
  const lines = said.trimEnd().split('\n')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toStartWith(`tollgate: ${name} ${taken.port} on `)
  expect(code).toBe(1)
  await taken.stop(true)
})

test.each([
  ['HOST', 'nowhere.invalid'],
  ['CONSOLE_HOST', '203.0.113.1'],
  ['OPS_HOST', 'nowhere.invalid'],
])('%s %s, which is no address of this machine: says so, and the process ends', async (name, host) => {
  const { said, code } = await failedStart({ [name]: host })
  expect(said).toBe(`${name} is "${host}" but must be an address of this machine, or a name of one\n`)
  expect(code).toBe(2)
})

test('hosts that lead nowhere are named together, before anything is made', async () => {
  const dataDir = join(tmpdir(), `tollgate-nowhere-${crypto.randomUUID()}`)
  const { said, code } = await failedStart({
    DATA_DIR: dataDir,
    DATABASE_URL: '',
    HOST: 'nowhere.invalid',
    OPS_HOST: 'localhost',
    CONSOLE_HOST: 'not-there-either.invalid',
  })
  expect(said.trimEnd().split('\n')).toEqual([
    'HOST is "nowhere.invalid" but must be an address of this machine, or a name of one',
    'CONSOLE_HOST is "not-there-either.invalid" but must be an address of this machine, or a name of one',
  ])
  expect(code).toBe(2)
  expect(existsSync(dataDir)).toBe(false)
})

test('DATA_DIR that cannot be written, beside a database: says so before anything is opened', async () => {
  const { said, code } = await failedStart({ DATA_DIR: join(import.meta.path, 'data') })
  expect(said).toStartWith(
    `DATA_DIR is "${import.meta.path}/data" but must be a directory that this process can write`,
  )
  expect(said.trimEnd().split('\n')).toHaveLength(1)
  expect(code).toBe(2)
})

test('a journal that cannot be opened: says so, and the process ends', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-no-journal-'))
  // Where the kernel has none of our files: /proc lets nobody make any, and says so only then.
  symlinkSync('/proc', join(dataDir, 'journal'))
  const { said, code } = await failedStart({ DATA_DIR: dataDir })
  expect(said.trimEnd().split('\n')).toHaveLength(1)
  expect(said).toStartWith('tollgate: ')
  expect(code).toBe(1)
  rmSync(dataDir, { recursive: true })
})

test('ends at once when it is told to while it waits for what its start needs', async () => {
  // What whoever brings the schema along holds, for as long as that takes.
  const holder = await database.sql.reserve()
  await holder`select pg_advisory_lock(8390043843661231205)`
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: { ...FREE_PORTS, DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET, LOG_FORMAT: 'json' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const waiting = () => database.sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = 'tollgate migrate' and wait_event = 'advisory'`
  await until(async () => (await waiting()).length === 1)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(await child.stdout.text()).toContain('stopped before it served anybody')
  await holder`select pg_advisory_unlock_all()`
  holder.release()
})

test('ends at once when it is told to while it makes its embedded database, and leaves nothing running', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-told-early-'))
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: { ...FREE_PORTS, DATA_DIR: dataDir, LOG_FORMAT: 'json' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  // What is being made is not in its place yet.
  await until(() => readdirSync(dataDir).some(name => name.startsWith('postgres.new-')))
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(await child.stdout.text()).toContain('stopped before it served anybody')
  const own = realpathSync(dataDir)
  await until(() => !workingDirectories().some(directory => directory.startsWith(own)))
  rmSync(dataDir, { recursive: true })
})

/** Where each process that can be looked at is at work. */
function workingDirectories(): string[] {
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return processes.flatMap(pid => {
    try {
      return [readlinkSync(`/proc/${pid}/cwd`)]
    } catch {
      return []
    }
  })
}

/** The database by a way on which connections of a pool that the client has ended stay open until they are released. */
async function slowToClose(url: string) {
  const address = new URL(url)
  const directory = address.searchParams.get('host')
  const port = Number(address.searchParams.get('port') ?? (address.port || '5432'))
  const closing = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = createServer({ allowHalfOpen: true }, near => {
    const far =
      directory === null ? connect(port, address.hostname) : connect(`${directory}/.s.PGSQL.${port}`)
    let isOfPool = false
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.once('data', begin => {
      isOfPool = !begin.includes('tollgate migrate')
    })
    near.on('data', bytes => void far.write(bytes))
    near.on('end', () => {
      far.end()
      if (isOfPool) closing.resolve()
    })
    far.on('data', bytes => void near.write(bytes))
    far.on('close', async () => {
      if (isOfPool) await released.promise
      near.end()
    })
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const own = server.address()
  address.host = `127.0.0.1:${typeof own === 'object' ? own?.port : ''}`
  address.search = ''
  return {
    url: address.href,
    closing: closing.promise,
    release: released.resolve,
    close: () => server.close(),
  }
}

test('a start that failed says so although it is told to stop while it closes what it had opened', async () => {
  const slow = await slowToClose(database.url)
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-failed-start-'))
  const configFile = join(dataDir, 'tollgate.yaml')
  await Bun.write(configFile, 'channels: 7\n')
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: {
      ...FREE_PORTS,
      DATA_DIR: dataDir,
      DATABASE_URL: slow.url,
      TOLLGATE_SECRET: SECRET,
      TOLLGATE_CONFIG: configFile,
    },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  await slow.closing
  child.kill('SIGTERM')
  // For what the signal should not do.
  await Bun.sleep(200)
  slow.release()
  expect(await child.stderr.text()).toContain(configFile)
  expect(await child.exited).toBe(1)
  slow.close()
  rmSync(dataDir, { recursive: true })
})

test('TOLLGATE_CONFIG that names no file: says so before anything is made', async () => {
  const dataDir = join(tmpdir(), `tollgate-nothing-${crypto.randomUUID()}`)
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
    env: { ...FREE_PORTS, DATA_DIR: dataDir, TOLLGATE_CONFIG: '/nowhere/tollgate.yaml' },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  expect(await child.stderr.text()).toBe(
    'TOLLGATE_CONFIG is "/nowhere/tollgate.yaml" but must be the path of a file that is there\n',
  )
  expect(await child.exited).toBe(2)
  expect(existsSync(dataDir)).toBe(false)
})

test('begins with what the runtime reads at its start, where the operator says nothing else', async () => {
  const server = await start({ MIMALLOC_PURGE_DELAY: '700' })
  const environment = (await Bun.file(`/proc/${server.pid}/environ`).text()).split('\0')
  await server.close()
  expect(environment.filter(line => /^(BUN_|MIMALLOC_)/.test(line)).toSorted()).toEqual([
    'BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS=1',
    'BUN_CONFIG_MAX_HTTP_REQUESTS=65535',
    'BUN_JSC_useWarmUpMarkedBlocks=0',
    'MIMALLOC_PURGE_DELAY=700',
    'MIMALLOC_PURGE_HOLES_MIN_INTERVAL=500',
  ])
})

test('where TMPDIR takes no files, the start says what gets a 503 for it', async () => {
  const server = await start({ TMPDIR: '/nowhere' })
  await server.close()
  expect(server.output()).toContain(
    '/nowhere (TMPDIR) takes no files: forms that bring some (images, sound) get a 503',
  )
})

describe('one process', () => {
  let server: ServerProcess
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close(), 60_000)

  test('has nothing set that the image has not: there it need not begin anew', async () => {
    const environment = (await Bun.file(`/proc/${server.pid}/environ`).text()).split('\0')
    const settings = environment.filter(line => /^(BUN_|MIMALLOC_)/.test(line))
    const dockerfile = await Bun.file(join(import.meta.dir, '../../Dockerfile')).text()
    expect(dockerfile.match(/\b(BUN_|MIMALLOC_)\w+=\S+/g)?.toSorted()).toEqual(settings.toSorted())
  })

  test("serves 300 streams at once: Bun's default of 256 outgoing requests is not felt", async () => {
    const fed = Array.from({ length: 300 }, fedStream)
    let next = 0
    answer = () => eventStream(fed[next++]?.stream ?? '')
    for (const one of fed) one.write(EVENT)
    const clients = fed.map(() => rawPost(server.apiUrl, PATH, key, BODY))
    await until(contains(clients, 'one'))
    for (const one of fed) {
      one.write(END)
      one.close()
    }
    await until(contains(clients, '[DONE]'))
    for (const client of clients) client.socket.destroy()
  }, 120_000)

  // A bare Bun proxy (`new Response(upstream.body)`) holds 2 MB and more for each such client in the same setting: buffers of
  // its fetch and its sockets that a program has no say in.
  test('stops reading upstream for 50 clients that do not read, and holds no more than 8 MB for each', async () => {
    const chunk = new TextEncoder().encode(EVENT.repeat(100))
    let sent = 0
    answer = () =>
      eventStream(
        new ReadableStream({
          pull(controller) {
            sent += chunk.length
            controller.enqueue(chunk)
          },
        }),
      )
    const before = await server.residentMb()
    const clients: RawClient[] = []
    // Who is refused, since the database was slow for a moment, is no reader at all.
    while (clients.length < 50) clients.push(...(await stopReading(rawPost(server.apiUrl, PATH, key, BODY))))
    // Until the upstreams are held up: nothing is sent any more.
    let last = -1
    await until(async () => {
      const stands = sent === last && sent > 0
      last = sent
      await Bun.sleep(300)
      return stands
    })
    expect((await server.residentMb()) - before).toBeLessThan(50 * 8)
    const aborted = upstream.aborted
    for (const client of clients) client.socket.destroy()
    await until(() => upstream.aborted >= aborted + 50)
    answer = () => eventStream('')
  }, 120_000)

  test('writes no key, of the caller or of a channel, to its log or metrics', async () => {
    answer = () =>
      new Response('{"error":{"message":"bad key sk-upstream-leaks-this-1234567890"}}', { status: 401 })
    const refused = rawPost(server.apiUrl, `${PATH}?key=${key}`, key, BODY)
    const gemini = rawPost(
      server.apiUrl,
      `/v1beta/models/m:generateContent?key=${key}`,
      'sk-wrong-key-000000000000',
      '{}',
    )
    await until(contains([refused, gemini], '(request id: '))
    refused.socket.destroy()
    gemini.socket.destroy()
    await until(() => server.output().includes('upstream_auth'))
    const metrics = await (await fetch(`${server.opsUrl}/metrics`)).text()
    for (const secret of [
      key,
      'upstream-secret-key',
      'sk-upstream-leaks-this-1234567890',
      'sk-wrong-key-000000000000',
      SECRET,
    ]) {
      expect(server.output()).not.toContain(secret)
      expect(metrics).not.toContain(secret)
      expect(refused.text()).not.toContain(secret)
    }
  })

  test("wraps another vendor's signatures in the name of its deployment, so that a gateway in front takes none for its own", async () => {
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 'S' }]
    const message = { role: 'assistant', content: 'hi', reasoning: 'hm', reasoning_details: details }
    answer = () => Response.json({ id: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] })
    const response = await fetch(`${server.apiUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }),
    })
    const [, signature = ''] = /"signature":"([^"]+)"/.exec(await response.text()) ?? []
    expect(Buffer.from(signature, 'base64').toString()).toStartWith(`tollgate.${box.deployment}.1.`)
  })

  test('answers health, readiness and metrics on the ops listener, and nothing of it on the API host', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await fetch(server.opsUrl + path)).status).toBe(200)
      expect((await fetch(server.apiUrl + path)).status).toBe(404)
    }
    expect(await (await fetch(`${server.opsUrl}/metrics`)).text()).toContain('tollgate_exchanges_total{')
  })
})

describe('SIGTERM', () => {
  test('lets open streams end, refuses new work, and exits 0', async () => {
    const server = await start()
    const { fed, client } = await openStream(server)
    server.kill('SIGTERM')
    await until(() => server.output().includes('"stopping"'))
    await until(async () =>
      fetch(server.apiUrl + PATH).then(
        () => false,
        () => true,
      ),
    )
    fed.write(END)
    fed.close()
    await until(contains([client], '[DONE]'))
    expect(await server.exited).toBe(0)
    const rows = await database.sql`select end_state from exchange order by id desc limit 1`
    expect(rows[0]).toMatchObject({ end_state: 'complete' })
    await server.close()
  }, 120_000)

  test('answers all who ask on a connection that was open, and ends it with the last answer', async () => {
    const server = await start()
    const client = rawPost(server.apiUrl, PATH, key, '{}')
    let asked = 1
    const answers = () => client.text().split('HTTP/1.1 ').slice(1)
    const isLast = (text: string) => /^connection: close/im.test(text)
    client.socket.on('data', () => {
      if (answers().length < asked || !client.text().endsWith('}') || isLast(client.text())) return
      if (asked === 1) server.kill('SIGTERM')
      asked += 1
      client.socket.write('GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n')
    })
    await client.closed
    expect(answers()).toHaveLength(asked)
    expect(answers().findIndex(isLast)).toBe(asked - 1)
    expect(await server.exited).toBe(0)
    await server.close()
  }, 120_000)

  test('takes new work for SHUTDOWN_DELAY_MS while it is not ready any more', async () => {
    const server = await start({ SHUTDOWN_DELAY_MS: '60000' })
    server.kill('SIGTERM')
    await until(async () => (await fetch(`${server.opsUrl}/readyz`)).status === 503)
    answer = () => eventStream(EVENT + END)
    const response = await fetch(server.apiUrl + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: BODY,
    })
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
    expect(await response.text()).toEndWith('data: [DONE]\n\n')
    await until(async () => (await database.sql`select id from hold`).length === 0)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(1)
    await server.close()
  }, 120_000)

  test('tells requests that are still open after SHUTDOWN_GRACE_MS why it cuts them, begun or not, streamed or not, and exits 0', async () => {
    const server = await start({ SHUTDOWN_GRACE_MS: '300' })
    const { client } = await openStream(server)
    let asked = 0
    answer = () => {
      asked += 1
      return new Promise<Response>(() => undefined)
    }
    const early = rawPost(server.apiUrl, PATH, key, BODY)
    const whole = rawPost(server.apiUrl, PATH, key, BODY.replace('"stream":true,', ''))
    await until(() => asked === 2)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    await Promise.all([client.closed, early.closed, whole.closed])
    expect(client.text()).toContain('"code":"shutting_down"')
    expect(client.text()).not.toContain('[DONE]')
    for (const refused of [early.text(), whole.text()]) {
      expect(refused).toStartWith('HTTP/1.1 503')
      expect(refused.toLowerCase()).toContain('\nretry-after: ')
      expect(refused).toContain('"code":"shutting_down"')
    }
    await server.close()
  }, 120_000)

  test('charges what it cuts for what it gave', async () => {
    const server = await start({ SHUTDOWN_GRACE_MS: '0' })
    answer = () => {
      const { write, stream } = fedStream()
      write(EVENT)
      return eventStream(stream)
    }
    const clients = Array.from({ length: 20 }, () => rawPost(server.apiUrl, PATH, key, BODY))
    await until(contains(clients, 'one'))
    const [{ last } = { last: '' }] = await database.sql`select max(id::text) as last from exchange`
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    const rows = await database.sql`
      select end_state, cost_nano > 0 as is_charged, exists (select from entry e where e.id = x.id) as is_posted
      from exchange x where id::text > coalesce(${last}, '')`
    expect(rows.map(row => ({ ...row }))).toEqual(
      clients.map(() => ({ end_state: 'refused', is_charged: true, is_posted: true })),
    )
    expect([...(await database.sql`select id from hold`)]).toEqual([])
    expect(server.output()).not.toContain('could not be settled')
    await server.close()
  }, 120_000)
})

test('SIGHUP applies the configuration again, cuts nothing, and keeps what there is where the file is wrong', async () => {
  const server = await start()
  const { fed, client } = await openStream(server)
  const file = join(server.dataDir, 'tollgate.yaml')
  const text = await Bun.file(file).text()
  const namesOf = async () => (await database.sql`select id from model order by id`).map(row => row['id'])
  await Bun.write(file, `${text}  - { id: "after-SIGHUP", channels: [{ channel: nowhere, model: m }] }\n`)
  server.kill('SIGHUP')
  await until(() => server.output().includes('the configuration could not be applied'))
  expect(await namesOf()).not.toContain('after-SIGHUP')
  await Bun.write(file, `${text}  - { id: "after-SIGHUP", channels: [{ channel: scripted, model: m }] }\n`)
  server.kill('SIGHUP')
  await until(() => server.output().includes('the configuration was applied again'))
  expect(await namesOf()).toContain('after-SIGHUP')
  fed.write(END)
  fed.close()
  await until(contains([client], '[DONE]'))
  await server.close()
}, 120_000)

test('signals that mean something to other servers only are logged and cut nothing', async () => {
  const server = await start()
  const { fed, client } = await openStream(server)
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    server.kill(signal)
    await until(() => server.output().includes(`"signal":"${signal}"`))
  }
  fed.write(END)
  fed.close()
  await until(contains([client], '[DONE]'))
  await server.close()
}, 120_000)

describe('the embedded default', () => {
  test('starts on nothing, prints a curl that streams an answer, and starts again at once', async () => {
    const startedAt = performance.now()
    const first = await spawnServer()
    // A machine on which the first start, which makes a database, takes longer may take longer for the others.
    const boundMs = Math.max(5000, performance.now() - startedAt)
    const printed = () => /curl -N [\s\S]*?\n {2}-d '.*'/.exec(first.output())?.[0]
    await until(() => printed() !== undefined)
    const curl = printed() ?? ''
    const run = Bun.spawnSync(['bash', '-c', curl])
    expect(run.stdout.toString()).toContain('Tollgate!')
    expect(run.stdout.toString()).toEndWith('data: [DONE]\n\n')
    first.kill('SIGHUP')
    await until(() => first.output().includes('there is no configuration file that could be applied again'))
    first.kill('SIGTERM')
    expect(await first.exited).toBe(0)
    const { dataDir } = first
    const startAgain = async () => {
      let second: ServerProcess | undefined
      const ms = await msOf(async () => {
        second = await spawnServer({ dataDir })
      })
      expect(second?.output()).not.toContain('curl')
      second?.kill('SIGTERM')
      await second?.exited
      return ms
    }
    expect(await least(boundMs, startAgain)).toBeLessThan(boundMs)
    await first.close()
  }, 120_000)

  test('refuses a second server on the same data directory with one line that names it', async () => {
    const server = await spawnServer()
    const second = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: `${server.dataDir}/data`,
        PORT: '0',
        OPS_PORT: '0',
        CONSOLE_PORT: '0',
      },
      stderr: 'pipe',
      stdout: 'pipe',
    })
    expect(await second.exited).toBe(1)
    const lines = (await new Response(second.stderr).text()).trim().split('\n')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(String(server.pid))
    await server.close()
  }, 120_000)
})
