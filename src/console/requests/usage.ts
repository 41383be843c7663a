import type { Database } from '@/db/connect.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Usage } from '../api/contract/usage.ts'
import { invalid } from '../failure.ts'
import { dayBeside, inZone, readMoment, zoneOf } from '../moments.ts'
import { sumUsage, type UsageDimension, type UsageSum } from './usage-totals.ts'

type UsageBucket = Usage['bucket']

interface UsageQuery {
  /** Undefined: of all accounts. */
  accountId: number | undefined
  from: Date
  to: Date
  bucket: UsageBucket
  /** Whose days and hours the buckets are. */
  zone: string
  by: UsageDimension
}

const SECONDS: Record<UsageBucket, number> = { minute: 60, hour: 3_600, day: 86_400 }
const MOST_BUCKETS = 1_000
/** More lines than these are a tangle: the rest is one. */
const MOST_SERIES = 20

/**
 * The range and the width that a request asks for.
 * @throws ConsoleError for more buckets than a chart can show
 */
export function readRange(
  query: { from?: string; to?: string; bucket?: UsageBucket | 'auto'; zone?: string },
  now: number,
): Pick<UsageQuery, 'from' | 'to' | 'bucket' | 'zone'> {
  const to = query.to === undefined ? now : readMoment(query.to, 'to')
  const asked = query.bucket ?? 'auto'
  const preset = asked === 'minute' ? 3_600_000 : asked === 'hour' ? 86_400_000 : 30 * 86_400_000
  const from = query.from === undefined ? to - preset : readMoment(query.from, 'from')
  if (from >= to) throw invalid('from', 'The beginning must be before the end')
  const bucket = asked === 'auto' ? (to - from <= 4 * 86_400_000 ? 'hour' : 'day') : asked
  if ((to - from) / 1000 / SECONDS[bucket] > MOST_BUCKETS) {
    throw invalid('bucket', `This range has more than ${MOST_BUCKETS} ${bucket}s: choose a shorter one`)
  }
  return { from: new Date(from), to: new Date(to), bucket, zone: zoneOf(query.zone) }
}

/** What was used in each bucket. `namesOf` says what people call the ids. */
export async function readUsage(
  database: Database,
  query: UsageQuery,
  namesOf: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Usage> {
  const begins = beginningsOf(query)
  const places = begins.length
  const edges = [query.from.getTime(), ...begins.slice(1), query.to.getTime()]
  const rows = await sumUsage(database, {
    accountId: query.accountId,
    edges,
    by: query.by,
    most: MOST_SERIES,
  })
  // Those who spent most come first, and all others last.
  const lines = [...Map.groupBy(rows, row => row.id)]
  const names = await namesOf(lines.flatMap(([id]) => id ?? []))
  const series = lines.map(([id, line]) =>
    id === null ? seriesOf('*', 'All others', line, places) : seriesOf(id, names.get(id) ?? id, line, places),
  )
  return {
    from: query.from.toISOString(),
    to: query.to.toISOString(),
    bucket: query.bucket,
    zone: query.zone,
    buckets: begins.map(begin => new Date(begin).toISOString()),
    series,
    totals: totalsOf(rows),
  }
}

/** Of all buckets, in ms and in order; the first may begin before the range. */
function beginningsOf({ from, to, bucket, zone }: UsageQuery): number[] {
  const begins: number[] = []
  let begin = inZone(from.getTime(), zone).round({ smallestUnit: bucket, roundingMode: 'floor' })
  while (begin.epochMilliseconds < to.getTime()) {
    begins.push(begin.epochMilliseconds)
    begin = bucket === 'day' ? dayBeside(begin, 1) : bucketAfter(begin, bucket)
  }
  return begins
}

/** Clocks may be put forward and back by half an hour, of which one hour is the rest. */
function bucketAfter(begin: Temporal.ZonedDateTime, bucket: 'minute' | 'hour'): Temporal.ZonedDateTime {
  const next = begin.add({ seconds: SECONDS[bucket] })
  const whole = next.round({ smallestUnit: bucket, roundingMode: 'floor' })
  return whole.epochMilliseconds > begin.epochMilliseconds ? whole : next
}

function seriesOf(id: string, name: string, rows: readonly UsageSum[], places: number) {
  const sums = (read: (row: UsageSum) => bigint) => {
    const values = Array<bigint>(places).fill(0n)
    for (const row of rows) values[row.place] = (values[row.place] ?? 0n) + read(row)
    return values
  }
  return {
    id,
    name,
    spend: sums(row => row.spend).map(formatMoney),
    requests: sums(row => row.requests).map(Number),
    input_tokens: sums(row => row.input).map(Number),
    cached_tokens: sums(row => row.cached).map(Number),
    output_tokens: sums(row => row.output).map(Number),
    failed: sums(row => row.failed).map(Number),
  }
}

function totalsOf(rows: readonly UsageSum[]): Usage['totals'] {
  const sum = (read: (row: UsageSum) => bigint) => rows.reduce((total, row) => total + read(row), 0n)
  return {
    spend: formatMoney(sum(row => row.spend)),
    requests: Number(sum(row => row.requests)),
    failed: Number(sum(row => row.failed)),
    input_tokens: Number(sum(row => row.input)),
    cached_tokens: Number(sum(row => row.cached)),
    output_tokens: Number(sum(row => row.output)),
  }
}

/** A row for each bucket and series in which there was a request. */
export function* usageCsvRows(usage: Usage, currency: string): Generator<(string | number)[]> {
  for (const [index, bucket] of usage.buckets.entries()) {
    const from = inZone(Date.parse(bucket), usage.zone).toString({ timeZoneName: 'never' })
    for (const { id, name, ...counts } of usage.series) {
      if ((counts.requests[index] ?? 0) === 0) continue
      yield [from, id, name, ...COUNTS.map(count => counts[count][index] ?? 0), currency]
    }
  }
}

const COUNTS = ['requests', 'failed', 'input_tokens', 'cached_tokens', 'output_tokens', 'spend'] as const

/** What the columns of such a row are called. */
export const USAGE_CSV_HEADINGS = ['from', 'id', 'name', ...COUNTS.map(words), 'currency']

function words(name: string): string {
  return name.replaceAll('_', ' ')
}
