import type { Caller } from '@/accounts/account.ts'
import type { Authenticate, Authentication } from '@/accounts/authenticate.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { databaseAway } from '@/exchange/failure.ts'
import { stoppedBy } from '@/exchange/watchdog.ts'
import { readCredential } from './credentials.ts'

/** What a caller is told; nothing about which keys exist. */
const REFUSALS = {
  malformed: 'This API key is not valid',
  unknown: 'This API key is not valid',
  revoked: 'This API key was revoked',
  expired: 'This API key has expired',
} as const

/**
 * Who calls; at once where the key is known.
 * @throws GatewayError `missing_api_key`, `invalid_api_key`; `billing_unavailable` if the database does not answer
 */
export function authenticateCaller(authenticate: Authenticate, request: Request): Caller | Promise<Caller> {
  const result = authenticate(readCredential(request))
  return result instanceof Promise ? result.catch(unavailable).then(callerOf) : callerOf(result)
}

/**
 * The error in which whatever a request's key began has to end; undefined: none. A key that has expired ends nothing, and a
 * database that is away says nothing.
 */
export async function endOfAccess(
  authenticate: Authenticate,
  request: Request,
): Promise<GatewayError | undefined> {
  const result = await Promise.resolve(authenticate(readCredential(request))).catch(() => undefined)
  if (result?.ok === true) {
    return result.caller.accountStatus === 'active' ? undefined : stoppedBy('account_suspended')
  }
  return result === undefined || result.reason === 'expired' ? undefined : stoppedBy('key_revoked')
}

function callerOf(result: Authentication): Caller {
  if (result.ok) return result.caller
  throw new GatewayError('invalid_api_key', REFUSALS[result.reason])
}

/** A key that nobody can look up is neither good nor bad, and nothing is charged without the database either. */
function unavailable(error: unknown): never {
  throw databaseAway(error)
}
