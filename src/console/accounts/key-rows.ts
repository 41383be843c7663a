import type { ApiKey, LimitChanges } from '@/accounts/account.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Key } from '../api/contract/keys.ts'
import { revisionOf } from '../revision.ts'

/** A key as the console shows it. `spentNano`: of the cap's running period. `now` in ms. */
export function keyRow(
  key: ApiKey,
  spentNano: bigint | undefined,
  now: number,
  label: string = keyLabel(key),
): Key {
  return {
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    prefix: prefixOf(key.lookup),
    label,
    status: statusOf(key, now),
    models: key.models === undefined ? null : [...key.models],
    expires_at: key.expiresAt?.toISOString() ?? null,
    allow_ips: key.allowIps === undefined ? null : [...key.allowIps],
    cap: key.cap === undefined ? null : { amount: formatMoney(key.cap.amountNano), period: key.cap.period },
    spent: key.cap === undefined ? null : formatMoney(spentNano ?? 0n),
    limits: limitsRow(key.limits),
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    revision: keyRevision(key),
  }
}

/** Of a key, what tells people which one it is. */
type Named = Pick<ApiKey, 'id' | 'name' | 'lookup'>

/** What people call a key: its name or, where it has none, how it begins. */
export function keyLabel({ name, lookup }: Named): string {
  return name === '' ? prefixOf(lookup) : name
}

/** The same of keys that stand beside one another, by their ids: of one name, how they begin tells them apart. */
export function keyLabels(keys: readonly Named[]): Map<number, string> {
  const alike = Map.groupBy(keys, keyLabel)
  return new Map(
    keys.map(key => {
      const label = keyLabel(key)
      const isAlone = alike.get(label)?.length === 1
      return [key.id, isAlone ? label : `${label} (${prefixOf(key.lookup)})`]
    }),
  )
}

function prefixOf(lookup: string): string {
  return `sk-${lookup}`
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

function statusOf({ revokedAt, expiresAt }: ApiKey, now: number): Key['status'] {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt.getTime() <= now ? 'expired' : 'active'
}
