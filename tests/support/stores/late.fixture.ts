import { beforeAll, expect, test } from 'bun:test'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'

let database: TestDatabase
// Of what is begun in hooks and tests the runner keeps a list.
beforeAll(async () => {
  database = await testDatabase()
}, 60_000)

test('a test that takes too long', () => Promise.withResolvers<void>().promise, 100)

test('the next one', async () => {
  const [row] = await database.sql`select 7 as answer`
  expect(row?.['answer']).toBe(7)
  await (await testDatabase()).close()
  await database.close()
}, 60_000)
