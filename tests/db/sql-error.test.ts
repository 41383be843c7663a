import { expect, test } from 'bun:test'
import { openClient } from '@/db/connect.ts'
import { isAway } from '@/db/sql-error.ts'

test.each([
  ['a server that died and left no socket', 'postgres://user@/name?host=/nowhere/at/all'],
  ['a port where nothing listens', 'postgres://user@127.0.0.1:1/name'],
  // Too long for any name, so that nobody is asked.
  ['a name that nobody knows', `postgres://user@${'x'.repeat(300)}/name`],
])('%s is a database that is away', async (_, url) => {
  const sql = openClient(url, { max: 1 })
  const error = await sql`select 1`.catch((reason: unknown) => reason)
  await sql.end({ timeout: 0 })
  expect(isAway(error)).toBe(true)
})

test('a file that is not there is no database that is away', async () => {
  const error = await Bun.file('/nowhere/at/all')
    .text()
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Error)
  expect(isAway(error)).toBe(false)
})
