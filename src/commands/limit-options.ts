import type { Limits } from '@/accounts/account.ts'
import type { LimitChanges } from '@/accounts/store.ts'
import { UsageError } from './command.ts'

/** The options that set limits, of accounts and of keys alike. */
export const LIMIT_OPTIONS = { rpm: 'text', tpm: 'text', concurrent: 'text' } as const

export const LIMIT_USAGE = '[--rpm N] [--tpm N] [--concurrent N]'

/**
 * The limits that were given; `default` puts one back to the deployment's.
 * @throws UsageError
 */
export function readLimits(texts: Readonly<Record<string, string | undefined>>): LimitChanges {
  return {
    ...limitChange('requestsPerMinute', 'rpm', texts),
    ...limitChange('tokensPerMinute', 'tpm', texts),
    ...limitChange('concurrentRequests', 'concurrent', texts),
  }
}

/** The same, of which there must be one. */
export function requireLimits(texts: Readonly<Record<string, string | undefined>>): LimitChanges {
  const changes = readLimits(texts)
  if (Object.keys(changes).length > 0) return changes
  throw new UsageError('one of --rpm, --tpm, --concurrent must be there')
}

function limitChange(
  name: keyof LimitChanges,
  option: string,
  texts: Readonly<Record<string, string | undefined>>,
): LimitChanges {
  const text = texts[option]
  if (text === undefined) return {}
  if (text === 'default') return { [name]: null }
  const limit = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (limit > 0) return { [name]: limit }
  throw new UsageError(`--${option} is "${text}" but must be a whole number above 0, or "default"`)
}

/** Limits as `--json` shows them; null is the deployment's default. */
export function limitsRow({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits) {
  return {
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute ?? null,
    concurrent_requests: concurrentRequests ?? null,
  }
}
