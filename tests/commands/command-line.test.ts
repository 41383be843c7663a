import { expect, test } from 'bun:test'
import { testDatabase } from '#tests/support/stores/database.ts'
import type { Command } from '@/commands/command.ts'
import { runCommandLine } from '@/commands/command-line.ts'
import { connect } from '@/db/connect.ts'

test('a database that is lost in the midst of a command is named as what is wrong', async () => {
  const server = await testDatabase()
  const pool = connect(server.url)
  const command: Command = {
    name: 'wait',
    summary: '',
    usage: '',
    details: '',
    async run() {
      const waiting = pool.sql`select pg_sleep(60)`
      await Promise.all([waiting, pool.sql`select 1`.then(() => pool.renew())])
      return 0
    },
  }
  const lines: string[] = []
  const error = (line: string) => lines.push(line)
  const io = { env: {}, out: () => {}, error, terminal: false, now: Date.now }
  expect(await runCommandLine(['wait'], [command], io)).toBe(1)
  expect(lines.join('\n')).toMatch(
    /^tollgate: the database does not answer any more: .*CONNECTION_DESTROYED.*$/,
  )
  await pool.close()
  await server.close()
})
