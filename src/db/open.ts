import { Refusal } from '@/errors/refusal.ts'
import { connect, type Database } from './connect.ts'
import { openEmbedded } from './embedded.ts'
import { migrate, refuseReadOnly } from './migrate.ts'

/** Which database a process uses. */
export interface OpenOptions {
  /** DATABASE_URL; undefined is the embedded Postgres in `dataDir`. */
  databaseUrl: string | undefined
  dataDir: string
  role: 'serve' | 'command'
}

/** A database with the schema of this version. */
export interface OpenedDatabase extends Database {
  /** How many migrations were applied on the way. */
  migrated: number
}

/** The database of the deployment, at the schema of this program. `close` also ends the use of the embedded server. */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const embedded = options.databaseUrl === undefined ? await openEmbedded(options) : undefined
  const url = embedded?.url ?? options.databaseUrl ?? ''
  let database: Database | undefined
  try {
    const migrated = await (embedded === undefined ? migrate(url).catch(refuseUnreachable) : migrate(url))
    database = connect(url)
    // Commands that only read are of use there, a gateway is not.
    if (options.role === 'serve') await refuseReadOnly(database.sql)
    const { close } = database
    return { ...database, migrated, close: () => close().then(() => embedded?.stop()) }
  } catch (error) {
    await database?.close()
    await embedded?.stop()
    throw error
  }
}

/** What the network says of an address where no Postgres is. */
const UNREACHABLE = /^(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|ETIMEDOUT|CONNECT(?:ION)?_\w+)$/

/** What Postgres says to a user or of a database that it does not have, and a pooler of settings that it does not know. */
const TURNED_AWAY = /^(?:28|3D|08P01)/

/** @throws Refusal that names the variable for an address that leads to no database, else the error itself */
function refuseUnreachable(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!(error instanceof Error) || !(UNREACHABLE.test(code) || TURNED_AWAY.test(code))) throw error
  throw new Refusal(`DATABASE_URL cannot be used: ${error.message}`, { cause: error })
}
