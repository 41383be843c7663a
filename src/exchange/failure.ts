import { Late } from '@/db/in-time.ts'
import { isAway } from '@/db/sql-error.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import type { Log } from '@/telemetry/log.ts'
import { callerLeft } from './interruption.ts'

/** One line of the log for a call that is no exchange; what is a bug of ours stands there as an error. */
export function logCall(log: Log, name: string, line: object, error: GatewayError | undefined): void {
  const told = { ...line, error: error && { kind: error.kind, message: error.message, detail: error.detail } }
  if (error?.kind === 'internal_error') log.error({ ...told, err: error.cause }, name)
  else log.info(told, name)
}

/** What a request failed of: its caller who left, a database that is away and may soon be back, or the error itself. */
export function failureOf(error: unknown, signal: AbortSignal): GatewayError {
  const left = callerLeft(signal)
  if (left !== undefined) return left
  return error instanceof Late || isAway(error) ? databaseAway(error) : asGatewayError(error)
}

/** What a caller is told while the database does not answer. */
export function databaseAway(cause: unknown): GatewayError {
  return new GatewayError('billing_unavailable', 'The database does not answer, try again in a moment', {
    retryAfterMs: 1000,
    detail: String(firstCause(cause)),
    cause,
  })
}

/** Without the statement, which is long and the same each time. */
function firstCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? firstCause(error.cause) : error
}
