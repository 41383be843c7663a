import { readSettings, type Settings } from '@/config/settings.ts'
import { type OpenedDatabase, openDatabase } from '@/db/open.ts'
import { checkSecret, isSealed } from '@/db/secret-check.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { loadSecret, nameOfSecret } from '@/secrets/secret.ts'
import { type SecretBox, secretBox } from '@/secrets/secret-box.ts'
import type { CommandIo } from './command.ts'

/**
 * Runs something on the deployment's database, at the newest schema, and closes it. Beside a running server the
 * embedded default attaches to that one's Postgres.
 */
export async function withDatabase<Result>(
  io: CommandIo,
  use: (db: OpenedDatabase, settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings(io.env, io.terminal, io.error)
  const db = await openDatabase({ ...settings, role: 'command' })
  try {
    return await use(db, settings)
  } finally {
    await db.close()
  }
}

/**
 * Opens the deployment's database for what posts entries, or asks whether there is room for them, and makes that room:
 * perhaps nothing was served for months.
 */
export function withLedger<Result>(
  io: CommandIo,
  use: (db: OpenedDatabase) => Promise<Result>,
): Promise<Result> {
  return withDatabase(io, async db => {
    // Where this is refused, it is by a database that is only read, or it was done.
    await ledgerStore(db)
      .makePartitions()
      .catch(() => undefined)
    return use(db)
  })
}

/** The box that holds the upstream keys of this database. Refuses a secret that is not the one it was used with. */
export async function openSecretBox(db: OpenedDatabase, settings: Settings): Promise<SecretBox> {
  const box = secretBox(loadSecret(settings, await isSealed(db)), nameOfSecret(settings))
  await checkSecret(db, box)
  return box
}
