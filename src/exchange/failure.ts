import { Late } from '@/db/in-time.ts'
import { isAway } from '@/db/sql-error.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { callerLeft } from './interruption.ts'

/** What a request failed of: its caller who left, a database that is away and may soon be back, or the error itself. */
export function failureOf(error: unknown, signal: AbortSignal): GatewayError {
  const left = callerLeft(signal)
  if (left !== undefined) return left
  if (!(error instanceof Late || isAway(error))) return asGatewayError(error)
  return new GatewayError('overloaded', 'The database does not answer, try again in a moment', {
    cause: error,
  })
}
