import { expect, test } from 'bun:test'
import { testDatabase } from '#tests/support/stores/database.ts'
import { connect, pauseBeforeAttempt } from '@/db/connect.ts'

test('a database that is back is noticed within a second, however long it was away', () => {
  const pauses = [0, 1, 5, 10, 1_000].map(pauseBeforeAttempt)
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
  expect(pauses[0]).toBeGreaterThan(0)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(1)
})

/** What patches/ changes in postgres.js 3.4.9: https://github.com/porsager/postgres/issues/1208 */
test('a statement on a connection that was lost just before fails, and the connection is as good as new after that', async () => {
  const server = await testDatabase()
  const closed = Promise.withResolvers<void>()
  const pool = connect(server.url, { max: 1, onClose: closed.resolve })
  const reserved = await pool.sql.reserve()
  const [row] = await reserved`select pg_backend_pid() as pid`
  await server.sql`select pg_terminate_backend(${Number(row?.['pid'])})`
  await closed.promise
  const failure = await reserved`select 1`.catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'CONNECTION_CLOSED' })
  const [after] = await pool.sql`select 7 as answer`
  expect(after?.['answer']).toBe(7)
  await pool.close()
  await server.close()
})

test('times, bytes and transactions are what they are, whatever the operator has set for other users of the server', async () => {
  const server = await testDatabase()
  const [row] = await server.sql`select current_database() as name`
  const name = server.sql(String(row?.['name']))
  for (const setting of [
    "datestyle = 'SQL, DMY'",
    "timezone = 'Asia/Kathmandu'",
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'serializable'",
  ]) {
    await server.sql`alter database ${name} set ${server.sql.unsafe(setting)}`
  }
  const pool = connect(server.url)
  const [answer] = await pool.sql`
    select '2026-04-03T01:02:03Z'::timestamptz as at, '\\xff00'::bytea as bytes, current_setting('transaction_isolation') as isolation`
  expect(answer).toEqual({
    at: '2026-04-03 01:02:03+00',
    bytes: Buffer.from([255, 0]),
    isolation: 'read committed',
  })
  await pool.close()
  await server.close()
})
