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
