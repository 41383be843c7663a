import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { listenerOf } from './machine.ts'
import { SCENARIOS, SIDES, SOAK_STUBS } from './scenarios.ts'
import { freePort, ROOT, type RunningServer, startServer } from './servers.ts'

/** Where a gateway keeps its state: in a directory of its own, or in databases given by address. */
export type Stores = 'embedded' | { databaseUrl: string; redisUrl: string }

/** A deployment of Tollgate, with an account and a key, that can be started again and again. */
export interface Deployment {
  key: string
  /** With so many workers; more than one want databases given by address. */
  start(workers?: number, env?: Readonly<Record<string, string>>): Promise<RunningServer>
  /** Removes what is not in the directory. */
  remove(): Promise<void>
}

const FORMATS = {
  chat: 'openai-chat-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'gemini-generate-content',
} as const

/** Sets up a deployment through the command line, as an operator would. */
export async function deploy(directory: string, stub: string, stores: Stores): Promise<Deployment> {
  mkdirSync(directory, { recursive: true })
  const config = join(directory, 'tollgate.yaml')
  await Bun.write(config, configText(stub))
  const database = stores === 'embedded' ? undefined : await createDatabase(stores.databaseUrl)
  const env: Record<string, string | undefined> = {
    DATA_DIR: join(directory, 'data'),
    TOLLGATE_CONFIG: config,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    SHUTDOWN_GRACE_MS: '2000',
    DATABASE_URL: database?.url,
    REDIS_URL: stores === 'embedded' ? undefined : stores.redisUrl,
    TOLLGATE_SECRET: database === undefined ? undefined : randomBytes(32).toString('hex'),
  }
  const account = await tollgate(env, [
    'account',
    'create',
    '--email',
    'bench@localhost',
    '--credit',
    '1000000',
  ])
  const { key } = await tollgate(env, ['key', 'create', '--account', String(account['id'])])
  return {
    key: String(key),
    start: (workers = 1, more = {}) => startGateway({ ...env, ...more, WORKERS: String(workers) }, stores),
    remove: async () => database?.drop(),
  }
}

function startGateway(env: Record<string, string | undefined>, stores: Stores): Promise<RunningServer> {
  const [api, ops, console] = [freePort(), freePort(), freePort()]
  return startServer({
    command: [process.execPath, join(ROOT, 'src/main.ts'), 'serve'],
    url: `http://127.0.0.1:${api}`,
    readyUrl: `http://127.0.0.1:${ops}/readyz`,
    env: { ...env, PORT: String(api), OPS_PORT: String(ops), CONSOLE_PORT: String(console) },
    storePids: stores === 'embedded' ? [] : [stores.databaseUrl, stores.redisUrl].flatMap(pidOf),
  })
}

/** The process behind an address; none when it runs elsewhere. */
function pidOf(address: string): number[] {
  const { hostname, port, protocol } = new URL(address)
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname)) return []
  const pid = listenerOf(Number(port) || (protocol.startsWith('redis') ? 6379 : 5432))
  return pid === undefined ? [] : [pid]
}

/** A database of its own on the given server, so that nothing of somebody else's is touched. */
async function createDatabase(address: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `tollgate_bench_${randomBytes(6).toString('hex')}`
  const url = new URL(address)
  url.pathname = `/${name}`
  await onServer(address, `create database ${name}`)
  return { url: url.href, drop: () => onServer(address, `drop database if exists ${name} with (force)`) }
}

async function onServer(address: string, statement: string): Promise<void> {
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}

async function tollgate(
  env: Record<string, string | undefined>,
  words: string[],
): Promise<Record<string, unknown>> {
  const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...words, '--json'], {
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const said = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`tollgate ${words.join(' ')} failed`)
  return JSON.parse(said)
}

/** The model that a format's channel serves a scenario with. */
export function modelName(side: string, stub: string): string {
  return `${side}/${stub}`
}

/** Every format as a channel to the stub, every scenario as a model with prices, and limits that nobody reaches. */
function configText(stub: string): string {
  const channels = SIDES.map(
    side =>
      `  - { name: ${side}, format: ${FORMATS[side]}, base_url: "${stub}", api_keys: ["sk-upstream"], max_concurrent: 1000000, allow_private: true }`,
  )
  const scenarios = Object.values(SCENARIOS).map(scenario => scenario.stub)
  const stubs = [...new Set([...scenarios, ...Object.values(SOAK_STUBS)])]
  const models = SIDES.flatMap(side =>
    stubs.map(
      name =>
        `  - { id: "${modelName(side, name)}", channels: [{ channel: ${side}, model: "${name}" }], context_tokens: 1000000, max_output_tokens: 100000, prices: { input: 1.25, cached_input: 0.125, output: 10 } }`,
    ),
  )
  const limits =
    '{ requests_per_minute: 1000000000, tokens_per_minute: 1000000000000, concurrent_requests: 1000000000 }'
  return `channels:
${channels.join('\n')}
models:
${models.join('\n')}
limits:
  account: ${limits}
  key: ${limits}
`
}
