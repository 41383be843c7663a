import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { model } from '@/db/schema.ts'

/** The stores of accounts and keys, on a database with two models that is closed after the file's last test. */
export async function accountsFixture() {
  const database = await fileDatabase()
  const rows = ['gpt-5.1', 'vendor/model:free'].map(id => ({
    id,
    displayName: id,
    ownedBy: 'x',
    source: 'cli' as const,
  }))
  await database.orm.insert(model).values(rows)
  const accounts = accountStore(database)
  let serial = 0
  return {
    database,
    accounts,
    keys: keyStore(database),
    /** One on trial, with an address that no other has. */
    newAccount(models: string[] = []) {
      serial += 1
      return accounts.createAccount({
        email: `user${serial}@example.com`,
        creditNano: 5_000_000_000n,
        onTrial: true,
        models,
      })
    },
  }
}
