import { DrizzleQueryError } from 'drizzle-orm/errors'
import { Refusal } from '@/errors/refusal.ts'
import { connect, type Database } from './connect.ts'
import { openEmbedded } from './embedded.ts'
import { migrate, refuseReadOnly } from './migrate.ts'

/** Which database a process uses. */
interface OpenOptions {
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
  await using opened = new AsyncDisposableStack()
  const embedded = options.databaseUrl === undefined ? await openEmbedded(options) : undefined
  opened.defer(() => embedded?.stop())
  const url = embedded?.url ?? options.databaseUrl ?? ''
  const migrated = await (embedded === undefined ? migrate(url).catch(refuseUnusable) : migrate(url))
  const database = connect(url)
  opened.defer(() => database.close())
  // Commands that only read are of use there, a gateway is not.
  if (options.role === 'serve') await refuseReadOnly(database.sql)
  const parts = opened.move()
  return { ...database, migrated, close: () => parts.disposeAsync() }
}

/** What the network says of an address where no Postgres is. */
const UNREACHABLE = /^(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|ETIMEDOUT|CONNECT(?:ION)?_\w+)$/

/** What TLS says of a certificate that is another's, has expired, or is signed by somebody unknown. */
const CERTIFICATE = /CERT|SIGNATURE/

/** The last of these. */
const UNKNOWN_AUTHORITY = /SELF_SIGNED|ISSUER|SIGNATURE/

/** What a pooler says of settings that it does not know. */
const TURNED_AWAY = '08P01'

/** What Postgres says of what a user may not do. */
const NOT_ALLOWED = '42501'

/** @throws Refusal that names the variable for an address that leads to no database of ours, else the error itself */
function refuseUnusable(thrown: unknown): never {
  const error = thrown instanceof DrizzleQueryError ? thrown.cause : thrown
  if (!(error instanceof Error)) throw error
  const { code = '', severity, syscall } = error as { code?: string; severity?: string; syscall?: string }
  // Postgres ends a connection so: of a user, a database or a setting that it does not have, or while it starts.
  const isOfAddress = syscall === 'connect' || UNREACHABLE.test(code) || CERTIFICATE.test(code)
  const isTurnedAway = severity === 'FATAL' || code === TURNED_AWAY || code === NOT_ALLOWED
  if (!isOfAddress && !isTurnedAway) throw thrown
  throw new Refusal(`DATABASE_URL cannot be used: ${error.message}${adviceOn(code, error)}`, { cause: error })
}

function adviceOn(code: string, { message }: Error): string {
  if (code === NOT_ALLOWED) {
    return " (its user has to own the database and Tollgate's tables in it, or their owner to run `tollgate migrate` and to grant what docs/deployment.md says)"
  }
  if (UNKNOWN_AUTHORITY.test(code)) return ' (NODE_EXTRA_CA_CERTS is for authorities of your own)'
  // A server that speaks no TLS says so in a way that the client takes for the end of the connection.
  return /before secure TLS/.test(message) ? ' (sslmode asks for TLS, which the server may not have)' : ''
}
