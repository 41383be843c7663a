import { afterAll, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { emptyTestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { sharingPooler } from '#tests/support/stores/sharing-pooler.ts'
import { migrate } from '@/db/migrate.ts'

const database = await emptyTestDatabase()
afterAll(() => database.close())

const PROGRAM = `
  const { migrate } = await import(${JSON.stringify(join(import.meta.dir, '../../src/db/migrate.ts'))})
  console.log(await migrate(process.argv.at(-1)))`

function migrateInProcess(url: string) {
  const child = Bun.spawn([process.execPath, '-e', PROGRAM, url], {
    cwd: '/',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return Promise.all([child.exited, new Response(child.stdout).text(), new Response(child.stderr).text()])
}

test('six processes at once bring an empty database up, from any directory, and one of them applies', async () => {
  const results = await Promise.all(Array.from({ length: 6 }, () => migrateInProcess(database.url)))
  expect(results.map(([code, , errors]) => ({ code, errors }))).toEqual(
    Array(6).fill({ code: 0, errors: '' }),
  )
  const applied = results.map(([, output]) => Number(output)).sort((a, b) => a - b)
  expect(applied.slice(0, 5)).toEqual([0, 0, 0, 0, 0])
  expect(applied[5]).toBeGreaterThan(0)
}, 60_000)

test('applies nothing to a database that is up to date', async () => {
  expect(await migrate(database.url)).toBe(0)
})

test('needs no right to write where another has brought the schema', async () => {
  const url = new URL(database.url)
  url.searchParams.set('default_transaction_read_only', 'on')
  expect(await migrate(url.href)).toBe(0)
})

test('takes its time, whatever limit the operator has set for statements', async () => {
  const hasty = await emptyTestDatabase()
  const [row] = await hasty.sql`select current_database() as name`
  const name = hasty.sql(String(row?.['name']))
  await hasty.sql`alter database ${name} set statement_timeout = '1ms'`
  await hasty.sql`alter database ${name} set lock_timeout = '1ms'`
  const applied = await Promise.all([migrate(hasty.url), migrate(hasty.url)])
  expect(Math.max(...applied)).toBeGreaterThan(0)
  await hasty.close()
})

test('refuses a database from the future instead of writing to it', async () => {
  const future = await testDatabase()
  await future.sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)`
  await expect(migrate(future.url)).rejects.toThrow('newer Tollgate')
  await future.close()
})

test('refuses to make its tables in another schema than public, and says what to do', async () => {
  const owned = await emptyTestDatabase()
  await owned.sql`create schema ${owned.sql(new URL(owned.url).username)}`
  await expect(migrate(owned.url)).rejects.toThrow('put ?search_path=public at the end of DATABASE_URL')
  const url = new URL(owned.url)
  url.searchParams.set('search_path', 'public')
  expect(await migrate(url.href)).toBeGreaterThan(0)
  await owned.close()
})

test('refuses a database that cannot hold every character', async () => {
  const name = `narrow_${crypto.randomUUID().replaceAll('-', '')}`
  await database.sql`create database ${database.sql(name)} template template0 encoding 'LATIN1' locale 'C'`
  const url = new URL(database.url)
  url.pathname = `/${name}`
  await expect(migrate(url.href)).rejects.toThrow('has the encoding LATIN1')
  await database.sql`drop database ${database.sql(name)} with (force)`
})

test.each([
  [1, 'fails, as there is no other', undefined, 'CONNECTION_CLOSED'],
  [2, 'gives up in time', 50, 'nothing there answered as Postgres does within 0.05 s'],
])('of %d hosts that take connections and close them it %s', async (hosts, _, patienceMs, message) => {
  const proxy = createServer(socket => socket.on('error', () => undefined).end())
  const listening = Promise.withResolvers<void>()
  proxy.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const address = proxy.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`
  await expect(migrate(`postgres://${Array(hosts).fill(host)}/x`, patienceMs)).rejects.toThrow(message)
  proxy.close()
})

test.each([
  ['transaction', 1],
  ['transaction', 2],
  ['statement', 1],
  ['statement', 2],
] as const)(
  'refuses a pooler in %s mode, of %d sessions: nothing would be heard through it',
  async (mode, sessions) => {
    const pooler = await sharingPooler(mode, sessions)
    await expect(migrate(pooler.url)).rejects.toThrow(
      `DATABASE_URL leads to a pooler in ${mode} mode: Tollgate needs one in session mode, or the server itself`,
    )
    pooler.close()
  },
)
