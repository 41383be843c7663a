import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '@/db/connect.ts'
import { migrate } from '@/db/migrate.ts'
import { findPostmaster, sendSignal } from '@/db/postmaster.ts'

/** A private database, at the newest schema. `close` drops it. */
export type TestDatabase = Database

/**
 * A fresh, migrated database for one test file: `const database = await testDatabase()` and
 * `afterAll(() => database.close())`. On the server of DATABASE_URL if that is set (its user must be allowed to create
 * databases), else on one embedded Postgres that is started by the first call of the run.
 */
export async function testDatabase(): Promise<TestDatabase> {
  const server = await theServer()
  const name = await server.create(server.template)
  return open(server, name)
}

/** The same without any table, for tests of the migrations. */
export async function emptyTestDatabase(): Promise<TestDatabase> {
  const server = await theServer()
  return open(server, await server.create('template0'))
}

/** Drops and stops whatever this run made. Called once, by tests/preload.ts. */
export async function closeTestServer(): Promise<void> {
  const running = starting
  starting = undefined
  await (await running?.catch(() => undefined))?.close()
}

interface TestServer {
  template: string
  create(template: string): Promise<string>
  /** Nobody waits for it, as it takes a checkpoint; `close` drops what is left. */
  drop(name: string): void
  urlOf(name: string): string
  close(): Promise<void>
}

let starting: Promise<TestServer> | undefined

function theServer(): Promise<TestServer> {
  starting ??= startServer()
  return starting
}

async function startServer(): Promise<TestServer> {
  const url = process.env['DATABASE_URL']
  const backing =
    url === undefined || url === '' ? await startEmbedded() : { url, stop: async () => undefined }
  const admin = connect(backing.url, { max: 2 })
  const names = new Set<string>()
  const dropNow = async (name: string) => {
    await admin.sql`drop database if exists ${admin.sql(name)} with (force)`
    names.delete(name)
  }
  const server: TestServer = {
    template: '',
    async create(template) {
      const name = `t_${crypto.randomUUID().replaceAll('-', '')}`
      await admin.sql`create database ${admin.sql(name)} template ${admin.sql(template)}`
      names.add(name)
      // What a crash of the machine would lose no test of this server asks, so no commit waits for the disk.
      await admin.sql`alter database ${admin.sql(name)} set synchronous_commit = off`
      return name
    },
    drop(name) {
      dropNow(name).catch(() => undefined)
    },
    urlOf(name) {
      const parsed = new URL(backing.url)
      parsed.pathname = `/${name}`
      return parsed.href
    },
    async close() {
      for (const name of names) await dropNow(name)
      await admin.close()
      await backing.stop()
    },
  }
  try {
    server.template = await server.create('template0')
    await migrate(server.urlOf(server.template))
    return server
  } catch (cause) {
    await server.close().catch(() => undefined)
    throw new Error(`No database to test with: ${String(cause)}`, { cause })
  }
}

function open(server: TestServer, name: string): TestDatabase {
  const database = connect(server.urlOf(name), { max: 5 })
  return { ...database, close: () => database.close().then(() => server.drop(name)) }
}

const PREFIX = 'tollgate-test-'

async function startEmbedded(): Promise<{ url: string; stop(): Promise<void> }> {
  removeLeftovers()
  const dataDir = join(tmpdir(), `${PREFIX}${process.pid}`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const remove = () => rmSync(dataDir, { recursive: true, force: true })
  const holder = Bun.spawn([process.execPath, join(import.meta.dir, 'embedded-holder.ts'), dataDir], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await holder.stdout.getReader().read()
  if (value === undefined) throw new Error('the embedded Postgres of the tests did not start')
  return {
    url: new TextDecoder().decode(value).trim(),
    async stop() {
      await holder.stdin.end()
      await holder.exited
      remove()
    },
  }
}

/** A run that was killed leaves its server behind; the next one ends it. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN
    if (!(pid > 0) || isAlive(pid)) continue
    const dataDir = join(tmpdir(), name)
    const orphan = findPostmaster(join(dataDir, 'postgres'))
    if (orphan !== undefined) sendSignal(orphan, 'SIGQUIT')
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
