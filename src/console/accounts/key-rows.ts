import type { Account, ApiKey, LimitChanges } from '@/accounts/account.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Key } from '../api/contract/keys.ts'
import { keyPrefix } from '../key-labels.ts'
import { revisionOf } from '../revision.ts'

/** What a key's row says beside what is stored of the key. */
interface Surroundings {
  account: Pick<Account, 'status'>
  label: string
  /** Of the cap's running period. */
  spentNano: bigint
  /** In ms. */
  now: number
}

/** A key as the console shows it. */
export function keyRow(key: ApiKey, { account, label, spentNano, now }: Surroundings): Key {
  return {
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    prefix: keyPrefix(key),
    label,
    status: keyStatus(key, account, now),
    models: key.models === undefined ? null : [...key.models],
    expires_at: key.expiresAt?.toISOString() ?? null,
    allow_ips: key.allowIps === undefined ? null : [...key.allowIps],
    cap: key.cap === undefined ? null : { amount: formatMoney(key.cap.amountNano), period: key.cap.period },
    spent: key.cap === undefined ? null : formatMoney(spentNano),
    limits: limitsRow(key.limits),
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    revision: keyRevision(key),
  }
}

/** Whether a key works: not after its end, nor while its account is not served. `now` is in ms. */
export function keyStatus(
  { revokedAt, expiresAt }: ApiKey,
  account: Pick<Account, 'status'>,
  now: number,
): Key['status'] {
  if (revokedAt !== undefined) return 'revoked'
  if (expiresAt !== undefined && expiresAt.getTime() <= now) return 'expired'
  return account.status === 'active' ? 'active' : 'suspended'
}

/** Another one whenever somebody has changed the key's name or limits. */
export function keyRevision({ name, limits }: ApiKey): string {
  return revisionOf({ name, limits: limitsRow(limits) })
}

/** Limits as the API shows them; null is the deployment's default. */
export function limitsRow(limits: ApiKey['limits']) {
  return {
    requests_per_minute: limits.requestsPerMinute ?? null,
    tokens_per_minute: limits.tokensPerMinute ?? null,
    concurrent_requests: limits.concurrentRequests ?? null,
  }
}

/** Limits as a request gives them, under the names of the program. */
export function limitChangesOf(limits: {
  requests_per_minute?: number | null
  tokens_per_minute?: number | null
  concurrent_requests?: number | null
}): LimitChanges {
  return {
    ...(limits.requests_per_minute === undefined ? {} : { requestsPerMinute: limits.requests_per_minute }),
    ...(limits.tokens_per_minute === undefined ? {} : { tokensPerMinute: limits.tokens_per_minute }),
    ...(limits.concurrent_requests === undefined ? {} : { concurrentRequests: limits.concurrent_requests }),
  }
}
