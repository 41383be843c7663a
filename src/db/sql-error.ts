import { DrizzleQueryError } from 'drizzle-orm/errors'

/** What Postgres said was wrong with a statement. */
export interface SqlError {
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

/** Whether the database could not be asked, or gave up on all that it was asked: it is away, stops, or has no room. */
export function isAway(error: unknown): boolean {
  const state = sqlErrorOf(error)?.code
  if (state !== undefined) return /^(?:08|53|57)/.test(state)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return error instanceof DrizzleQueryError || UNCONNECTED.test(code)
}

/** What the client says of a connection that ended, and the network of one that could not be made. */
const UNCONNECTED = /^(?:CONNECT|ECONN|EPIPE$)/

/** Whether the rows are at fault, so that the same statement would fail again (values out of range, constraints). */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(sqlErrorOf(error)?.code ?? '')
}
