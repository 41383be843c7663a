import type { Account } from '@/accounts/account.ts'
import { keyStore } from '@/accounts/key-store.ts'
import type { LimitValues } from '@/config/entries.ts'
import type { Database } from '@/db/connect.ts'
import type { Defaults } from '@/routing/catalog/defaults.ts'
import type { LimitReading } from '../api/contract/usage.ts'
import { keyLabels } from '../key-labels.ts'
import { firstIdAt } from '../requests/request-log.ts'

interface Used {
  requests: number
  tokens: number
  concurrent: number
}

const KINDS = [
  ['requests', 'requestsPerMinute'],
  ['tokens', 'tokensPerMinute'],
  ['concurrent', 'concurrentRequests'],
] as const satisfies readonly (readonly [LimitReading['kind'], keyof LimitValues])[]

/** Keys whose limits are shown: those nearest to one. */
const KEYS_SHOWN = 20

/**
 * How near an account and its keys in use are to their limits: what requests that began in the last minute used, and
 * what runs now. What the limiter counts beside that (estimates of running requests) is gone as soon as they end.
 */
export async function readLimits(
  database: Database,
  defaults: Defaults,
  account: Account,
  now: Date,
): Promise<LimitReading[]> {
  const used = await usedByKey(database, account.id, now)
  const keys = await keyStore(database).findKeysInForce([...used.keys()], now)
  const labels = keyLabels(keys)
  const all = [...used.values()].reduce(add, NOTHING)
  const ofAccount = { scope: 'account', key_id: null, key_name: null } as const
  const ofKeys = keys.map(key => {
    const whose = { scope: 'key', key_id: key.id, key_name: labels.get(key.id) ?? null } as const
    return readingsOf(whose, key.limits, defaults.limits.key, used.get(key.id) ?? NOTHING)
  })
  return [
    ...readingsOf(ofAccount, account.limits, defaults.limits.account, all),
    ...ofKeys
      .toSorted((one, other) => nearness(other) - nearness(one))
      .slice(0, KEYS_SHOWN)
      .flat(),
  ]
}

/** How much is used of the limit that is the nearest. */
function nearness(readings: readonly LimitReading[]): number {
  return Math.max(0, ...readings.map(({ used, limit }) => used / limit))
}

const NOTHING: Used = { requests: 0, tokens: 0, concurrent: 0 }

function readingsOf(
  whose: Pick<LimitReading, 'scope' | 'key_id' | 'key_name'>,
  own: LimitValues,
  preset: LimitValues,
  used: Used,
): LimitReading[] {
  return KINDS.flatMap(([kind, name]) => {
    const limit = own[name] ?? preset[name]
    return limit === undefined ? [] : [{ ...whose, kind, limit, used: used[kind] }]
  })
}

async function usedByKey({ sql }: Database, accountId: number, now: Date): Promise<Map<number, Used>> {
  const since = firstIdAt(new Date(now.getTime() - 60_000))
  const rows = await sql<{ key_id: bigint; requests: bigint; tokens: bigint; concurrent: bigint }[]>`
    select key_id, sum(requests)::bigint as requests, sum(tokens)::bigint as tokens, sum(concurrent)::bigint as concurrent
    from (
      select key_id, 1 as requests, 0 as concurrent, input_uncached + cache_read + cache_write5m + cache_write1h
        + audio_input + output_text + reasoning + audio_output as tokens
      from exchange where account_id = ${accountId} and id >= ${since} and end_state <> 'refused'
      union all
      select key_id, case when id >= ${since} then 1 else 0 end, 1, 0 from hold where account_id = ${accountId}
    ) used group by key_id`
  return new Map(
    rows.map(row => [
      Number(row.key_id),
      { requests: Number(row.requests), tokens: Number(row.tokens), concurrent: Number(row.concurrent) },
    ]),
  )
}

function add(one: Used, other: Used): Used {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    concurrent: one.concurrent + other.concurrent,
  }
}
