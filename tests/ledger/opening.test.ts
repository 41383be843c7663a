import { afterAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import { emptyTestDatabase } from '#tests/support/stores/database.ts'
import { openClient } from '@/db/connect.ts'
import { migrate } from '@/db/migrate.ts'
import { audit } from '@/ledger/audit.ts'

const database = await emptyTestDatabase()
const folder = mkdtempSync(join(tmpdir(), 'tollgate-before-ledger-'))
afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** The migrations as they were before there was a ledger. */
function makeOldFolder(): void {
  const source = join(import.meta.dir, '../../drizzle')
  const journal = JSON.parse(readFileSync(join(source, 'meta/_journal.json'), 'utf8'))
  const entries = journal.entries.slice(0, 1)
  mkdirSync(join(folder, 'meta'))
  for (const { tag } of entries) cpSync(join(source, `${tag}.sql`), join(folder, `${tag}.sql`))
  writeFileSync(join(folder, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }))
}

test('what accounts had before there was a ledger becomes their first entry', async () => {
  makeOldFolder()
  const client = openClient(database.url, { max: 1 })
  await applyMigrations(drizzle(client), { migrationsFolder: folder })
  await client`insert into account (email, credit_nano, on_trial)
    values ('trial@x', 1000000000, true), ('paid@x', 5, false), ('none@x', 0, true)`
  await client.end()

  await migrate(database.url)
  const rows = await database.sql`
    select a.email, w.credits - w.debits as balance, e.kind, g.kind as granted, e.seq
    from account a join wallet w on w.account_id = a.id left join entry e on e.account_id = a.id
    left join ledger_grant g on g.entry_id = e.id order by a.id`
  expect([...rows].map(row => Object.values(row))).toEqual([
    ['trial@x', 1_000_000_000n, 'trial', 'trial', 1n],
    ['paid@x', 5n, 'topup', 'paid', 1n],
    ['none@x', 0n, null, null, null],
  ])
  expect((await audit(database.url)).ok).toBe(true)
}, 60_000)
