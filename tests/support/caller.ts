import type { Caller } from '@/accounts/account.ts'

export const NO_LIMITS = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined,
}

/** A caller whose account and key may do anything. */
export function callerBy(accountId: number, keyId: number): Caller {
  return {
    accountId,
    keyId,
    accountStatus: 'active',
    onTrial: false,
    accountLimits: NO_LIMITS,
    keyLimits: NO_LIMITS,
    keyModels: undefined,
    accountModels: [],
    allowIps: undefined,
    storeAllowed: true,
    expiresAt: undefined,
  }
}
