import { afterAll } from 'bun:test'
import { type TestDatabase, testDatabase } from './database.ts'

/** A database for the tests of a file, closed after the last of them. */
export async function fileDatabase(): Promise<TestDatabase> {
  const database = await testDatabase()
  afterAll(() => database.close())
  return database
}
