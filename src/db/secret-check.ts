import { eq } from 'drizzle-orm'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { Database } from './connect.ts'
import { setting } from './schema.ts'

const KEY = 'secret_check'

/** Whether this database has been used with a secret. */
export async function isSealed({ orm }: Pick<Database, 'orm'>): Promise<boolean> {
  return (await orm.$count(setting, eq(setting.key, KEY))) > 0
}

/** Fails at the start, not at the first request, when the secret is not the one this database was used with. */
export async function checkSecret(database: Database, box: SecretBox): Promise<void> {
  const value = Buffer.from(box.seal('tollgate')).toString('base64')
  await database.orm.insert(setting).values({ key: KEY, value }).onConflictDoNothing()
  const [row] = await database.orm.select().from(setting).where(eq(setting.key, KEY))
  if (row !== undefined) box.open(Buffer.from(row.value, 'base64'))
}
