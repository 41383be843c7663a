import { afterEach, expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { connect, type Database } from '@/db/connect.ts'
import { guardOf } from '@/db/guard.ts'
import { account } from '@/db/schema.ts'

const server = await fileDatabase()
const clock = manualClock()
const pools: Database[] = []

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
})

/** A pool of one connection, and how often it was renewed. */
function guarded() {
  const pool = connect(server.url, { max: 1 })
  pools.push(pool)
  const seen = { renewals: 0, said: [] as string[] }
  const guard = guardOf(pool, {
    clock,
    silenceMs: 6_000,
    onLost: isAgain => {
      seen.renewals += 1
      seen.said.push(isAgain ? 'again' : 'away')
    },
    onBack: () => seen.said.push('back'),
  })
  return { pool, guard, seen }
}

const backendOf = async ({ sql }: Database) => (await sql`select pg_backend_pid() as pid`)[0]?.['pid']

/** As a server is that has become a copy of another while its sessions go on. */
const demote = ({ sql }: Database) => sql`set session characteristics as transaction read only`

const write = ({ sql }: Database) => sql`update account set email = email where false`

test('connections to a server that takes no writes any more are given up, and writes go on where the address leads', async () => {
  const { pool, guard, seen } = guarded()
  await guard(() => write(pool))
  await demote(pool)
  await expect(guard(() => write(pool))).rejects.toThrow('read-only')
  await guard(() => write(pool))
  expect(seen.renewals).toBe(1)
})

test('a server that stays read-only is asked by new connections once a second at most', async () => {
  const { pool, guard, seen } = guarded()
  const attempt = async () => {
    await demote(pool)
    await guard(() => write(pool)).catch(() => undefined)
  }
  clock.advance(1_000)
  for (let attempts = 0; attempts < 3; attempts += 1) await attempt()
  expect(seen.renewals).toBe(1)
  clock.advance(1_000)
  await attempt()
  expect(seen.renewals).toBe(2)
  await guard(() => write(pool))
  await guard(() => write(pool))
  clock.advance(1_000)
  await attempt()
  expect(seen.said).toEqual(['away', 'again', 'back', 'away'])
})

test('what ran when the connections were given up gives up none of those behind them, nor says that the server is back', async () => {
  const said: string[] = []
  const guard = guardOf(
    { renew: () => said.push('renewed') },
    { clock, silenceMs: 6_000, onBack: () => said.push('back') },
  )
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const running = answers.map(({ promise }) => {
    const work = guard(() => promise)
    clock.advance(2_000)
    return work
  })
  clock.advance(6_000)
  for (const { resolve } of answers) resolve()
  await Promise.all(running)
  expect(said).toEqual(['renewed'])
  await guard(async () => undefined)
  expect(said).toEqual(['renewed', 'back'])
})

test('work that has ended costs no connection, however long ago it began', async () => {
  const { guard, seen } = guarded()
  await guard(async () => undefined)
  await expect(guard(() => Promise.reject(new Error('not a matter of SQL')))).rejects.toThrow(
    'not a matter of SQL',
  )
  clock.advance(60_000)
  expect(seen.renewals).toBe(0)
})

test('an error of the statement itself costs no connection', async () => {
  const { pool, guard, seen } = guarded()
  const backend = await backendOf(pool)
  await expect(guard(async () => await pool.sql`select 1 / 0`)).rejects.toThrow('division by zero')
  expect(await backendOf(pool)).toBe(backend)
  expect(seen.renewals).toBe(0)
})

test('a renewed pool fails what ran, and whoever kept a part of it goes on with new connections', async () => {
  const { pool } = guarded()
  const { sql, orm } = pool
  const prepared = orm
    .select({ createdAt: account.createdAt })
    .from(account)
    .limit(1)
    .prepare('first_account')
  await sql`insert into account (email) values ('renewed@example.com')`
  await prepared.execute()
  const backend = await backendOf(pool)
  const running = sql`select pg_sleep(60)`.execute()
  pool.renew()
  await expect(running).rejects.toThrow('CONNECTION_DESTROYED')
  expect(await backendOf(pool)).not.toBe(backend)
  const [row] = await prepared.execute()
  expect(row?.createdAt).toBeInstanceOf(Date)
  const inTransaction = await orm.transaction(tx => tx.select({ createdAt: account.createdAt }).from(account))
  expect(inTransaction[0]?.createdAt).toBeInstanceOf(Date)
  const [raw] = await sql`select created_at from account`
  expect(raw?.['created_at']).toBeString()
})
