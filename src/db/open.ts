import { connect, type Database } from './connect.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from './migrate.ts'

export interface OpenOptions {
  /** DATABASE_URL; undefined is the embedded Postgres in `dataDir`. */
  databaseUrl: string | undefined
  dataDir: string
  role: 'serve' | 'command'
}

export interface OpenedDatabase extends Database {
  /** How many migrations were applied on the way. */
  migrated: number
}

/** The database of the deployment, at the schema of this program. `close` also ends the use of the embedded server. */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const embedded = options.databaseUrl === undefined ? await openEmbedded(options) : undefined
  const url = embedded?.url ?? options.databaseUrl ?? ''
  try {
    const migrated = await migrate(url)
    const database = connect(url)
    return { ...database, migrated, close: () => database.close().then(() => embedded?.stop()) }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}
