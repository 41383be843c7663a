import { drizzle, PostgresJsSession } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import * as schema from './schema.ts'

/** One pool of connections. */
export interface Database {
  /** Where it is; `openListener` and `migrate` open connections of their own from it. */
  url: string
  /**
   * Raw statements, for what a query builder cannot say. int8 arrives as bigint. drizzle shares this client and has
   * taken its date parsers away: timestamps arrive as text here, and as Date through `orm`.
   */
  sql: postgres.Sql<{ bigint: bigint }>
  orm: ReturnType<typeof buildOrm>
  /** Gives up every connection, and fails what runs on it; what comes next opens new ones. */
  renew(): void
  /** Waits for running statements (5 s at most) and closes every connection. */
  close(): Promise<void>
}

/** What `orm.transaction` hands to its callback. */
export type Transaction = Parameters<Parameters<Database['orm']['transaction']>[0]>[0]

/** Rows can be read and written through the pool or inside a transaction. */
export type Rows = Database['orm'] | Transaction

/** Raw statements, of the pool or of a transaction. */
export type RawSql = postgres.ISql<{ bigint: bigint }>

/** Raw statements inside a transaction of the query builder, for what only those can say. */
export function rawSqlOf(tx: Transaction): RawSql {
  const { session } = tx._
  if (session instanceof PostgresJsSession) return session.client
  throw new Error('the transaction is not one of postgres.js')
}

/** How a process uses the database; what is left out is for commands, which are short. */
interface ConnectOptions {
  /** Most connections at once. */
  max?: number
  /** Shown in pg_stat_activity. */
  applicationName?: string
  /** The server gives up on a statement that takes longer. Without it, what the operator has set there. */
  statementTimeoutMs?: number
  onNotify?: (channel: string, payload: string) => void
  /** A connection was lost or closed. */
  onClose?: () => void
}

/** Opens a pool. Connects at the first statement, so a wrong address shows there. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const open = () => {
    const client = openClient(url, { max: 10, ...options })
    // For what that changes in the client: how it reads dates.
    buildOrm(client)
    return client
  }
  let client = open()
  const sql = forwarding(() => client)
  return {
    url,
    sql,
    orm: buildOrm(sql),
    renew() {
      const old = client
      client = open()
      void old.end({ timeout: 0 })
    },
    close: () => client.end({ timeout: 5 }),
  }
}

type Client = ReturnType<typeof openClient>

/** The client of the moment, for those who keep it. */
function forwarding(current: () => Client): Client {
  return new Proxy(current(), {
    get: (_first, name) => Reflect.get(current(), name),
    apply: (_first, self, args) => Reflect.apply(current(), self, args),
  })
}

/** What our statements, and whoever reads their results, rely on, whatever the operator has set for others. */
const SESSION = {
  DateStyle: 'ISO',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
} as const

/** A bare client. `?host=/directory` in the URL is the directory of a unix socket, as libpq has it. */
export function openClient(url: string, options: ConnectOptions & { max: number }) {
  const address = splitAddress(url)
  return postgres(address.url, {
    max: options.max,
    types: { bigint: postgres.BigInt },
    connect_timeout: patienceWithHost(url) / 1_000,
    backoff: pauseBeforeAttempt,
    connection: {
      ...SESSION,
      application_name: options.applicationName ?? 'tollgate',
      ...(options.statementTimeoutMs === undefined ? {} : { statement_timeout: options.statementTimeoutMs }),
    },
    // A single connection holds something (a lock, a LISTEN) that must not end with its age.
    ...(options.max === 1 ? { max_lifetime: null, idle_timeout: 0 } : {}),
    ...address.socket,
    ...literalHosts(url),
    // The client takes `allow` for `require`; whoever says it is content without TLS.
    ...(/[?&]sslmode=allow(?:&|$)/.test(url) ? { ssl: 'prefer' } : {}),
    // By the word for it that is right at every server: after a failover a copy may be the first that answers.
    ...(isList(url) ? { target_session_attrs: 'primary' } : {}),
    onnotice: () => undefined,
    ...(options.onNotify === undefined ? {} : { onnotify: options.onNotify }),
    ...(options.onClose === undefined ? {} : { onclose: options.onClose }),
  })
}

/**
 * Seconds before a connection is tried again. The client's own pauses grow to 20 s, in which a database that is back
 * would not be noticed.
 */
export function pauseBeforeAttempt(failures: number): number {
  return Math.min(0.02 * 2 ** failures, 1)
}

/**
 * Milliseconds that a host has to take a connection. One whose machine is gone says nothing, and two of these must have
 * been left before the ledger gives its connections up (connectionTimeoutMs), or it would begin at the first again. Less
 * for each of more hosts would leave one that is only slow, in every round.
 */
function patienceWithHost(url: string): number {
  return isList(url) ? 2_500 : 10_000
}

function buildOrm(sql: ReturnType<typeof openClient>) {
  return drizzle(sql, { schema, casing: 'snake_case' })
}

/**
 * The client knows unix sockets only as an option. libpq has their directory as `host=`, with or without a host before it,
 * or in the host's place. A list of hosts is no URL to `URL`, but is to the client.
 */
function splitAddress(address: string): { url: string; socket?: { path: string } } {
  const url = address.replace(/^(\w+:\/\/[^/?#]*@)(?=\/)/, '$1localhost')
  if (!URL.canParse(url)) return { url }
  const parsed = new URL(url)
  const { hostname, searchParams } = parsed
  const directory = searchParams.get('host') ?? (/^%2f/i.test(hostname) ? decodeURIComponent(hostname) : null)
  if (directory === null) return { url }
  const port = searchParams.get('port') ?? (parsed.port || '5432')
  parsed.hostname = 'localhost'
  searchParams.delete('host')
  searchParams.delete('port')
  return { url: parsed.href, socket: { path: `${directory}/.s.PGSQL.${port}` } }
}

/** Whether it names several hosts, of which the one that takes writes is wanted. */
function isList(url: string): boolean {
  return hostsOf(url).includes(',')
}

function hostsOf(url: string): string {
  return /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url)?.[1] ?? ''
}

/**
 * An IPv6 address among the hosts. The client ends a host at its first colon, unless it is given them one by one, as
 * its own code reads them and its types do not tell.
 */
function literalHosts(url: string): { host?: string; port?: number } {
  const hosts = hostsOf(url)
  if (!hosts.includes('[')) return {}
  const each = hosts.split(',').map(host => /^(?:\[(.*)\]|(.*?))(?::(\d+))?$/.exec(host) ?? [])
  // As with names: a host without a port has the first one's.
  const preset = each[0]?.[3] ?? '5432'
  const lists: unknown = {
    host: each.map(([, literal, name = '']) => literal ?? name),
    port: each.map(([, , , port = preset]) => Number(port)),
  }
  return lists as { host?: string; port?: number }
}
