import type { Caller } from '@/accounts/account.ts'
import { hashKey, mintKey } from '@/accounts/api-key.ts'
import { authenticator } from '@/accounts/authenticate.ts'
import { keyCache } from '@/accounts/key-cache.ts'

const NO_LIMITS = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined,
}

const CALLER: Caller = {
  accountId: 1,
  keyId: 1,
  accountStatus: 'active',
  onTrial: false,
  accountLimits: NO_LIMITS,
  keyLimits: NO_LIMITS,
  keyModels: undefined,
  storeAllowed: true,
  accountModels: [],
  allowIps: undefined,
  expiresAt: undefined,
  cap: undefined,
}

/** The work of telling whose key it is, once the process knows it. */
export function keyCheck(): () => Promise<unknown> {
  const { key } = mintKey(bytes => new Uint8Array(bytes).fill(7))
  const record = { hash: hashKey(key), revoked: false, caller: CALLER }
  const cache = keyCache({ load: async () => record, clock: { elapsed: () => 0 }, random: () => 0.5 })
  const authenticate = authenticator(cache, () => 0)
  return async () => authenticate(key)
}
