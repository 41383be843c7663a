import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'
import { asArray, asNumber, asObject, parseObject } from '@/json/json.ts'
import { openClient, type RawSql } from './connect.ts'

/** Any constant that nothing else in the database uses: "tollgate" in hexadecimal. */
const LOCK = '8390043843661231205'
const OLDEST_POSTGRES = 15
/** The longest time limit that Postgres knows. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Brings the database to the schema of this program and returns how many migrations that took. Any number of processes
 * may call it at once: a session lock, held by the one connection that also migrates, lets them through one by one.
 * @param patienceMs how long the server has to say its version
 */
export async function migrate(url: string, patienceMs: number = PATIENCE_MS): Promise<number> {
  const client = openPatient(url)
  try {
    await within(
      patienceMs,
      refuseUnfitServer(client).then(() => refuseSharedSessions(url, client)),
    )
    await client`
      select set_config(name, '0', false) from pg_settings
      where name in ('lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`
    await client`select pg_advisory_lock(${LOCK}::bigint)`
    const before = await readApplied(client)
    const folder = findFolder()
    const newest = newestIn(folder)
    if (before.latest > newest) {
      // A schema from the future would be written to by a program that does not know its columns.
      throw new Refusal('The database was migrated by a newer Tollgate than this one')
    }
    // A role that may not create anything is enough where another has brought the schema.
    if (before.latest === newest) return 0
    await refuseReadOnly(client)
    await refuseOtherSchema(client)
    await applyMigrations(drizzle(client), { migrationsFolder: folder })
    const after = await readApplied(client)
    return after.count - before.count
  } finally {
    await client.end({ timeout: 5 })
  }
}

/** @throws Refusal where this program can only read */
export async function refuseReadOnly(sql: RawSql): Promise<void> {
  const [row] = await sql`select current_setting('transaction_read_only') as answer`
  if (row?.['answer'] !== 'on') return
  throw new Refusal(
    'DATABASE_URL leads to a database that takes no writes: a copy of another, or one set read-only',
  )
}

/** A schema of the role's own name is the first in Postgres' own search_path, where there is one. */
async function refuseOtherSchema(client: Client): Promise<void> {
  const [row] = await client`select current_schema() as name`
  if (row?.['name'] === 'public') return
  throw new Refusal(
    `Tollgate's tables are in the schema public, where search_path leads to ${row?.['name'] ?? 'none'}: ` +
      'put ?search_path=public at the end of DATABASE_URL',
  )
}

/** Whatever the operator set for statements in general is too short for one that waits for a lock or writes a table anew. */
function openPatient(url: string): Client {
  return openClient(url, { max: 1, applicationName: 'tollgate migrate', statementTimeoutMs: LONGEST_MS })
}

/** Of several hosts that take connections and close them, as a proxy without a server does, the client tries one after the other for ever. */
const PATIENCE_MS = 15_000

async function within(ms: number, answered: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const message = `nothing there answered as Postgres does within ${ms / 1_000} s (a pooler without room for two connections is as silent)`
    late.reject(Object.assign(new Error(message), { code: 'CONNECT_TIMEOUT' }))
  }, ms)
  try {
    await Promise.race([answered, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

type Client = ReturnType<typeof openClient>

async function refuseUnfitServer(client: Client): Promise<void> {
  const [row] = await client<{ version: string }[]>`select current_setting('server_version_num') as version`
  const major = Math.floor(Number(row?.version) / 10_000)
  if (major < OLDEST_POSTGRES) {
    throw new Refusal(`The database is Postgres ${major}; Tollgate needs ${OLDEST_POSTGRES} or newer`)
  }
  // SQL_ASCII takes any bytes.
  const [narrow] = await client`
    select name from current_setting('server_encoding') as name where name not in ('UTF8', 'SQL_ASCII')`
  if (narrow === undefined) return
  throw new Refusal(
    `The database has the encoding ${narrow['name']}, which has not every character; Tollgate needs UTF8`,
  )
}

/**
 * A pooler in transaction mode gives a session to whoever has a transaction: LISTEN would be heard by nobody, and the lock
 * would stay with a session that nobody can find again. One in statement mode has no transactions.
 */
async function refuseSharedSessions(url: string, client: Client): Promise<void> {
  const other = openPatient(url)
  try {
    const mine = await sessionOf(client)
    // From here on it has a connection, which only a transaction makes such a pooler close.
    await sessionOf(other)
    const keepApart = other.begin(
      async transaction => (await sessionOf(transaction)) !== mine && (await sessionOf(client)) === mine,
    )
    if (!(await keepApart.catch(refuseWithoutTransactions))) throw pooledBy('transaction')
  } finally {
    void other.end({ timeout: 0 })
  }
}

function refuseWithoutTransactions(error: unknown): never {
  throw codeOf(error) === 'CONNECTION_CLOSED' ? pooledBy('statement') : error
}

function pooledBy(mode: 'transaction' | 'statement'): Refusal {
  return new Refusal(
    `DATABASE_URL leads to a pooler in ${mode} mode: Tollgate needs one in session mode, or the server itself`,
  )
}

async function sessionOf(sql: RawSql): Promise<unknown> {
  const [row] = await sql`select pg_backend_pid() as session`
  return row?.['session']
}

async function readApplied(client: Client): Promise<{ count: number; latest: number }> {
  const [table] = await client`select to_regclass('drizzle.__drizzle_migrations') as name`
  if (table?.['name'] === null) return { count: 0, latest: 0 }
  const [row] = await client<{ count: number; latest: string | null }[]>`
    select count(*)::int as count, max(created_at)::text as latest from drizzle.__drizzle_migrations`
  return { count: row?.count ?? 0, latest: Number(row?.latest ?? 0) }
}

/** When the newest migration of this program was made. */
function newestIn(folder: string): number {
  const journal = parseObject(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8'))
  const known = asArray(journal?.['entries']).map(entry => asNumber(asObject(entry)?.['when']) ?? 0)
  return Math.max(0, ...known)
}

/** Beside the sources. */
function findFolder(): string {
  const folder = join(import.meta.dir, '..', '..', 'drizzle')
  if (existsSync(join(folder, 'meta', '_journal.json'))) return folder
  throw new Refusal(`No migrations found at ${folder}`)
}
