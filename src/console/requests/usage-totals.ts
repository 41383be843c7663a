import { untilEnded } from '@/clock/regularly.ts'
import type { Database } from '@/db/connect.ts'
import type { Console } from '../deployment.ts'
import { firstIdAt } from './request-log.ts'

/**
 * Sums over the stored results of requests. Whole quarters of an hour come from `usage_total`, into which a timer adds up
 * what was stored; what it does not hold yet, and what is left at both ends of a range, is read row by row. So the sums
 * are those of the rows, whenever one asks, and no request pays for them.
 */

/** What requests can be told apart by. */
export type UsageDimension = 'model' | 'key' | 'account' | 'channel' | 'service_tier'

/** The sum of a bucket and an id. */
export interface UsageSum {
  /** Which of the buckets, from 0. */
  place: number
  /** Of the model, key, account, channel or service tier; empty: it has none. Null: of all that are not told apart. */
  id: string | null
  requests: bigint
  failed: bigint
  spend: bigint
  input: bigint
  cached: bigint
  output: bigint
}

/** What is to be summed up. */
interface UsageRange {
  /** Undefined: of all accounts. */
  accountId: number | undefined
  /** Where buckets begin, in ms and in order, and where the last one ends. */
  edges: readonly number[]
  by: UsageDimension
  /** How many are told apart, those with the largest sums; undefined: all. There may be a hundred thousand accounts. */
  most?: number
}

const COLUMNS: Record<UsageDimension, string> = {
  model: 'model',
  key: 'key_id',
  account: 'account_id',
  channel: 'channel',
  service_tier: 'service_tier',
}

const QUARTER_MS = 900_000
/** What is stored may be committed so much later: a multiple of the longest that a statement was ever seen to take. */
const MARGIN_MS = 900_000
const EVERY_MS = 60_000

/** A part of a bucket, in ms. */
interface Part {
  place: number
  from: number
  to: number
}

/**
 * The sums of each bucket by what they are asked for, those who spent most first (or, where nothing was charged, asked
 * most); one snapshot, so that nothing is in two of them or in none.
 */
export async function sumUsage(
  { sql }: Database,
  { accountId, edges, by, most }: UsageRange,
): Promise<UsageSum[]> {
  const { whole, rest } = split(edges)
  return sql.begin('isolation level repeatable read read only', async tx => {
    // Planned for these bounds each time: a plan for all bounds takes twice as long for a month.
    const [progress] = await tx<{ until: string }[]>`
      select stored_before::text as until, set_config('plan_cache_mode', 'force_custom_plan', true) from usage_progress`
    const id = tx.unsafe(`${COLUMNS[by]}::text as id`)
    const sums = tx`sum(requests) as requests, sum(failed) as failed, sum(cost_nano) as spend, sum(input) as input,
      sum(cached) as cached, sum(output) as output`
    const ofTotals = accountId === undefined ? tx`` : tx`account_id = ${accountId} and`
    const ofRows = accountId === undefined ? tx`` : tx`e.account_id = ${accountId} and`
    const bounds = [...new Set(whole.flatMap(({ from, to }) => [from, to]))]
    // A range of ids for each end: to group all of them by place would be sorted on disk.
    const rows = await tx<SumRow[]>`
      with used as materialized (
        select part.place, used.*
        from unnest(${whole.map(({ from }) => from / 1000)}::float8[], ${whole.map(({ to }) => to / 1000)}::float8[],
          ${whole.map(({ place }) => place)}::integer[]) as part (begins, ends, place),
        lateral (
          select ${id}, ${sums} from usage_total
          where ${ofTotals} at >= to_timestamp(begins) and at < to_timestamp(ends)
          group by 1 having sum(requests) > 0 offset 0
        ) used
        union all
        select part.place, used.*
        from unnest(${rest.map(({ from }) => idAt(from))}::uuid[], ${rest.map(({ to }) => idAt(to))}::uuid[],
          ${rest.map(({ place }) => place)}::integer[]) as part (first_id, end_id, place),
        lateral (
          select ${id}, ${sums}
          from (select u.* from exchange e, usage_of(e) u where ${ofRows} e.id >= first_id and e.id < end_id) rows
          group by 1 offset 0
        ) used
        union all
        select rows.place, ${id}, ${sums}
        from (select (${bounds.map(at => partAt(whole, at)?.place ?? null)}::integer[])[
            width_bucket(e.id, ${bounds.map(idAt)}::uuid[])] as place, u.*
          from exchange e, usage_of(e) u
          where ${ofRows} e.stored_at >= ${progress?.until ?? '-infinity'}::text::timestamptz
            and e.id >= ${idAt(bounds[0] ?? 0)} and e.id < ${idAt(bounds.at(-1) ?? 0)}) rows
        where rows.place is not null
        group by 1, 2
      ), told as (
        select id, row_number() over (order by sum(spend) desc, sum(requests) desc, id) as rank
        from used group by id order by rank limit ${most ?? null}
      )
      select place, told.id, sum(requests)::bigint as requests, sum(failed)::bigint as failed, sum(spend) as spend,
        sum(input)::bigint as input, sum(cached)::bigint as cached, sum(output)::bigint as output
      from used left join told on told.id = used.id
      group by place, told.id, rank order by rank, place`
    return rows.map(row => ({ ...row, spend: BigInt(row.spend) }))
  })
}

/** Sums can be more than a bigint of the database holds. */
type SumRow = Omit<UsageSum, 'spend'> & { spend: string }

/** The whole quarters of each bucket, and what is left of it. */
function split(edges: readonly number[]): { whole: Part[]; rest: Part[] } {
  const whole: Part[] = []
  const rest: Part[] = []
  for (const [place, from] of edges.slice(0, -1).entries()) {
    const to = edges[place + 1] ?? from
    const begin = Math.ceil(from / QUARTER_MS) * QUARTER_MS
    const end = Math.floor(to / QUARTER_MS) * QUARTER_MS
    if (begin >= end) rest.push({ place, from, to })
    else {
      whole.push({ place, from: begin, to: end })
      rest.push({ place, from, to: begin }, { place, from: end, to })
    }
  }
  return { whole, rest: rest.filter(({ from, to }) => from < to) }
}

/** By halves: the parts are in order. */
function partAt(parts: readonly Part[], at: number): Part | undefined {
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((parts[middle]?.to ?? 0) <= at) low = middle + 1
    else high = middle
  }
  const part = parts[low]
  return part !== undefined && part.from <= at ? part : undefined
}

function idAt(ms: number): string {
  return firstIdAt(new Date(ms))
}

/** Adds up what was stored longer ago than this, a day's worth at a time, so that nothing waits long for it. */
export async function addUpUsage(
  { sql }: Database,
  marginMs = MARGIN_MS,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const [row] = await sql<{ more: boolean }[]>`
      select usage_add_up(make_interval(secs => ${marginMs / 1000}::float8)) as more`
    if (row?.more !== true) return
  }
}

/**
 * Does so from now on; ends with the returned function. After an upgrade years may be left to add up: at the end of the
 * process the day that runs is the last.
 */
export function keepAddingUpUsage({ database, clock, log }: Pick<Console, 'database' | 'clock' | 'log'>) {
  return untilEnded(EVERY_MS, signal => addUpUsage(database, MARGIN_MS, signal), {
    clock,
    onFailure: error => log.error({ err: error }, 'what was used could not be added up'),
  })
}
