import type { Caller } from '@/accounts/account.ts'
import { systemClock } from '@/clock/clock.ts'
import { type ExchangeRecord, openRecord } from '@/exchange/record.ts'

/** The record of an exchange that is over. */
export function endedRecord(id: string, known: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return { ...openRecord(id, 'chat', systemClock), caller: callerBy(1, 2), ...known }
}

/** A caller whose account and key may do anything. */
export function callerBy(accountId: number, keyId: number): Caller {
  const limits = { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrentRequests: undefined }
  return {
    accountId,
    keyId,
    accountStatus: 'active',
    onTrial: false,
    accountLimits: limits,
    keyLimits: limits,
    keyModels: undefined,
    accountModels: [],
    allowIps: undefined,
    storeAllowed: true,
    expiresAt: undefined,
    cap: undefined,
  }
}
