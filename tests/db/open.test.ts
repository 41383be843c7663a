import { afterAll, expect, test } from 'bun:test'
import { emptyTestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { openDatabase } from '@/db/open.ts'

const database = await testDatabase()
const empty = await emptyTestDatabase()
afterAll(() => Promise.all([database.close(), empty.close()]))

const readOnly = (url: string) => `${url}${url.includes('?') ? '&' : '?'}default_transaction_read_only=on`

const REFUSAL = 'DATABASE_URL leads to a database that takes no writes'

test('a gateway refuses a database that takes no writes, where a command may read it', async () => {
  const databaseUrl = readOnly(database.url)
  await expect(openDatabase({ databaseUrl, dataDir: '', role: 'serve' })).rejects.toThrow(REFUSAL)
  const opened = await openDatabase({ databaseUrl, dataDir: '', role: 'command' })
  expect(await opened.sql`select 1 as one`).toHaveLength(1)
  await opened.close()
})

test('a command refuses one that has not its schema either', async () => {
  const opening = openDatabase({ databaseUrl: readOnly(empty.url), dataDir: '', role: 'command' })
  await expect(opening).rejects.toThrow(REFUSAL)
})

test.each([
  ['a new database', empty, 'permission denied for database'],
  ['the tables of another', database, 'permission denied for'],
])('a user who may not use %s is told by what they would have to own', async (_what, { url }, denied) => {
  // Any role that owns nothing, taken by the session as it begins.
  const databaseUrl = `${url}${url.includes('?') ? '&' : '?'}role=pg_monitor`
  const opening = openDatabase({ databaseUrl, dataDir: '', role: 'serve' })
  await expect(opening).rejects.toThrow(denied)
  await expect(opening).rejects.toThrow('its user has to own the database')
})
