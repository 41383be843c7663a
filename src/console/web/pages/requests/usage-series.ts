import type { Usage } from '../../../api/contract/usage.ts'
import { addMoney, drawnMoney, shortMoney } from '../../format/money.ts'
import { compactNumber } from '../../format/number.ts'
import { SERIES_COLOURS } from '../../format/stack.ts'
import { daysBefore } from '../../format/time.ts'

/** One line of a chart. */
export type Series = Omit<Usage['series'][number], 'cached_tokens'>
/** What a chart shows of usage. */
export type Measure = 'spend' | 'tokens' | 'requests' | 'failed'

/** What people call what is drawn. */
export const MEASURE_NAMES: Record<Measure, string> = {
  spend: 'Spend',
  tokens: 'Tokens',
  requests: 'Requests',
  failed: 'Not complete',
}

/** The beginnings of the buckets of which only a part is counted: what came before was not asked for, or it is not over. */
export function bucketsInPart(
  { buckets, bucket, from, to }: Pick<Usage, 'buckets' | 'bucket' | 'from' | 'to'>,
  now: number,
): string[] {
  const counted = { from: Date.parse(from), to: Math.min(Date.parse(to), now) }
  return buckets.filter(iso => Date.parse(iso) < counted.from || endOf(iso, bucket) > counted.to)
}

function endOf(iso: string, bucket: Usage['bucket']): number {
  if (bucket === 'day') return daysBefore(new Date(iso), -1).getTime()
  return Date.parse(iso) + (bucket === 'hour' ? 3_600_000 : 60_000)
}

/** As many series as there are colours; those that have least of what is shown are one. */
export function fewest(series: readonly Series[], measure: Measure): Series[] {
  if (series.length <= SERIES_COLOURS) return series.map(named)
  const isRest = ({ id }: Series) => Number(id === '*')
  // They come in the order of their spend, and what spends least may fail most.
  const sorted = series.toSorted(
    (one, other) => isRest(one) - isRest(other) || drawnSum(other, measure) - drawnSum(one, measure),
  )
  const shown = sorted.slice(0, SERIES_COLOURS - 1).map(named)
  const rest = sorted.slice(SERIES_COLOURS - 1)
  const sum = (pick: (one: Series) => number[]) =>
    (rest[0] === undefined ? [] : pick(rest[0])).map((_, index) =>
      rest.reduce((total, one) => total + (pick(one)[index] ?? 0), 0),
    )
  return [
    ...shown,
    {
      id: '*',
      // The server tells no more than so many apart, and how many the others are is not known.
      name: rest.at(-1)?.id === '*' ? 'All others' : `${rest.length} others`,
      spend: (rest[0]?.spend ?? []).map((_, index) => addMoney(rest.map(one => one.spend[index] ?? '0'))),
      requests: sum(one => one.requests),
      failed: sum(one => one.failed),
      input_tokens: sum(one => one.input_tokens),
      output_tokens: sum(one => one.output_tokens),
    },
  ]
}

function named(one: Series): Series {
  return { ...one, name: one.name || one.id }
}

/** Its bars; a picture has no more digits than a float. */
export function drawnValues(one: Series, measure: Measure): number[] {
  if (measure === 'spend') return one.spend.map(drawnMoney)
  if (measure === 'requests' || measure === 'failed') return one[measure]
  return one.input_tokens.map((tokens, index) => tokens + (one.output_tokens[index] ?? 0))
}

/** All of it, exact, in words. */
export function totalText(one: Series, measure: Measure, currency: string): string {
  if (measure === 'spend') return shortMoney(addMoney(one.spend), currency)
  return compactNumber(drawnSum(one, measure))
}

function drawnSum(one: Series, measure: Measure): number {
  return drawnValues(one, measure).reduce((sum, value) => sum + value, 0)
}

/** The height of a bar, back in words; never an amount that anybody is charged. */
export function asMoney(value: number): string {
  return value.toFixed(9)
}
