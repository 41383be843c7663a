import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directory = mkdtempSync(join(tmpdir(), 'tollgate-embedded-'))
const MAIN = join(import.meta.dir, '../../src/main.ts')
const ENV = { PATH: process.env['PATH'], DATA_DIR: join(directory, 'data') }

afterAll(() => rmSync(directory, { recursive: true }))

async function json(...words: string[]) {
  const child = Bun.spawn([process.execPath, MAIN, ...words, '--json'], {
    cwd: directory,
    env: ENV,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect({ exitCode: await child.exited, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return JSON.parse(stdout)
}

test('with nothing configured, commands share one embedded database, at once and one after the other', async () => {
  const emails = ['a@x', 'b@x', 'c@x']
  const created = await Promise.all(emails.map(email => json('account', 'create', '--email', email)))
  expect(created.map(account => account.balance)).toEqual(['1.000000000', '1.000000000', '1.000000000'])
  const rows: { email: string }[] = await json('account', 'list')
  expect(rows.map(row => row.email).toSorted()).toEqual(emails)
  expect(existsSync(join(ENV.DATA_DIR, 'postgres', 'postmaster.pid'))).toBe(false)
}, 120_000)
