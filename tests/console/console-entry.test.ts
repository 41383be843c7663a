import { expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { parseConfigFile } from '@/config/file.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { loadConsoleEntry } from '@/console/console-entry.ts'
import { setting } from '@/db/schema.ts'

const database = await fileDatabase()

async function apply(yaml: string, prune = false): Promise<void> {
  const file = parseConfigFile(yaml, { name: 'tollgate.yaml', env: {}, known: { channels: new Set() } })
  await applyFile(database, box, file, { prune, dryRun: false, source: 'file' })
}

const FULL = `
console:
  signup: true
  smtp: { host: mail.example.com, user: tollgate, password: pass-word-of-mail, from: "Tollgate <t@example.com>" }
  stripe: { secret_key: sk_test_1, webhook_secret: whsec_1 }
`

test('what the file says of the console comes back from the database, which holds none of it in clear', async () => {
  await apply(FULL)
  expect(await loadConsoleEntry(database.orm, box)).toEqual({
    signup: true,
    showChannels: false,
    smtp: {
      host: 'mail.example.com',
      port: 587,
      secure: false,
      user: 'tollgate',
      password: 'pass-word-of-mail',
      from: 'Tollgate <t@example.com>',
    },
    stripe: { secretKey: 'sk_test_1', webhookSecret: 'whsec_1' },
  })
  const stored = JSON.stringify(await database.orm.select().from(setting))
  expect(stored).not.toContain('pass-word-of-mail')
  expect(stored).not.toContain('sk_test_1')
})

test('a file that does not name it leaves it alone, and prune puts it back', async () => {
  await apply(FULL)
  await apply('currency: USD')
  expect((await loadConsoleEntry(database.orm, box)).signup).toBe(true)
  await apply('currency: USD', true)
  expect(await loadConsoleEntry(database.orm, box)).toEqual({
    signup: false,
    showChannels: false,
    smtp: undefined,
    stripe: undefined,
  })
})
