import { expect, test } from 'bun:test'
import { testDatabase } from '#tests/support/stores/database.ts'
import type { Command } from '@/commands/command.ts'
import { runCommandLine } from '@/commands/command-line.ts'
import { connect, type Database } from '@/db/connect.ts'

/** What a command says that does so with a pool. */
async function saidOf(use: (pool: Database) => Promise<unknown>): Promise<string> {
  const server = await testDatabase()
  const pool = connect(server.url)
  const command: Command = {
    name: 'wait',
    summary: '',
    usage: '',
    details: '',
    async run() {
      await use(pool)
      return 0
    },
  }
  const lines: string[] = []
  const error = (line: string) => lines.push(line)
  const io = { env: {}, out: () => {}, error, terminal: false, now: Date.now }
  expect(await runCommandLine(['wait'], [command], io)).toBe(1)
  await pool.close()
  await server.close()
  return lines.join('\n')
}

test('a database that is lost in the midst of a command is named as what is wrong', async () => {
  const said = await saidOf(pool => {
    const waiting = pool.sql`select pg_sleep(60)`
    return Promise.all([waiting, pool.sql`select 1`.then(() => pool.renew())])
  })
  expect(said).toMatch(/^tollgate: the database does not answer any more: .*CONNECTION_DESTROYED.*$/)
})

test('connections that the command itself has closed are not said to be the database', async () => {
  const said = await saidOf(async pool => {
    await pool.close()
    await pool.sql`select 1`
  })
  expect(said).toMatch(/^tollgate: [^:]*CONNECTION_ENDED/)
})
