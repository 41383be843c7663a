import { DrizzleQueryError } from 'drizzle-orm/errors'
import { codeOf } from '@/errors/code.ts'

/** What Postgres said was wrong with a statement. */
interface SqlError {
  /** SQLSTATE, five characters. */
  code: string
  constraint: string | undefined
}

/** SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const UNIQUE_VIOLATION = '23505'
export const FOREIGN_KEY_VIOLATION = '23503'

/** The database's own error behind what drizzle or the client threw; undefined if the database said nothing. */
export function sqlErrorOf(error: unknown): SqlError | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // An SQLSTATE has a digit, which EPIPE has not.
  if (!/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return sqlErrorOf(error.cause)
  const constraint = 'constraint_name' in error ? error.constraint_name : undefined
  return { code, constraint: typeof constraint === 'string' ? constraint : undefined }
}

/**
 * Whether the database could not be asked, or gave up on what it was asked and may do it the next time: it is away, stops,
 * has no room or no time, takes no writes, or somebody else's work was in the way.
 */
export function isAway(error: unknown): boolean {
  const state = sqlErrorOf(error)?.code
  if (state !== undefined) return AWAY.test(state)
  return error instanceof DrizzleQueryError || UNCONNECTED.test(codeOf(error)) || isOfConnecting(error)
}

/** No connection could be made: what a server that died left no socket of is `ENOENT`, as of any file. */
function isOfConnecting(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error)) return false
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo'
}

/** 25006 is of a server that takes no writes, 25P03 and 25P04 of a transaction that took too long, 55P03 of a lock. */
const AWAY = /^(?:08|25006|25P0[34]|40|53|55P03|57)/

/** What the client says of a connection that ended, and the network of one that broke. */
const UNCONNECTED = /^(?:CONNECT|ECONN|EPIPE$)/

/** Whether the rows are at fault, so that the same statement would fail again (values out of range, constraints). */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(sqlErrorOf(error)?.code ?? '')
}
