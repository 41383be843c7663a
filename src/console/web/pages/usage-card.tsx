import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Usage } from '../../api/contract/usage.ts'
import { useQuery } from '../api/query.ts'
import { addMoney, drawnMoney, exactMoney, shortMoney } from '../format/money.ts'
import { compactNumber, wholeNumber } from '../format/number.ts'
import { SERIES_COLOURS, StackedBars, Swatch } from '../parts/chart.tsx'
import { type Option, Segments } from '../parts/field.tsx'
import { Empty } from '../parts/notice.tsx'
import { Answer } from '../parts/page.tsx'
import { useCurrency } from '../session.tsx'

type Series = Usage['series'][number]
type Measure = 'spend' | 'tokens' | 'requests'
type Range = 'day' | 'week' | 'month' | 'quarter'

const HOURS: Record<Range, number> = { day: 24, week: 7 * 24, month: 30 * 24, quarter: 90 * 24 }
const RANGES: readonly Option<Range>[] = [
  { value: 'day', label: '24 hours' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'quarter', label: '90 days' },
]
const MEASURES: readonly Option<Measure>[] = [
  { value: 'spend', label: 'Spend' },
  { value: 'tokens', label: 'Tokens' },
  { value: 'requests', label: 'Requests' },
]

export interface UsageCardProps<By extends string> {
  groups: readonly Option<By>[]
  /** What is asked for; the same again for the file. */
  ask(query: { from: string; by: By }, signal: AbortSignal): Promise<Usage>
  csv?: (query: { from: string; by: By }) => string
  /** What to do where there is nothing to draw. */
  empty: ComponentChildren
}

/** Spend, tokens and requests over time, by model, key and so on. */
export function UsageCard<By extends string>({ groups, ask, csv, empty }: UsageCardProps<By>) {
  const [range, setRange] = useState<Range>('week')
  const [measure, setMeasure] = useState<Measure>('spend')
  const [by, setBy] = useState<By | undefined>(groups[0]?.value)
  const query = useQuery(`${range} ${by}`, signal => {
    if (by === undefined) throw new Error('usage is grouped by something')
    return ask({ from: startOf(range), by }, signal)
  })
  return (
    <section class="card" aria-labelledby="usage-title">
      <div class="card-head">
        <h2 id="usage-title">Usage</h2>
        <div class="actions">
          <Segments label="Show" value={measure} options={MEASURES} onValue={setMeasure} />
          <Segments label="Range" value={range} options={RANGES} onValue={setRange} />
        </div>
      </div>
      <div class="card-head">
        {by === undefined ? null : <Segments label="By" value={by} options={groups} onValue={setBy} />}
        {csv === undefined || by === undefined ? null : (
          <a class="button small quiet" href={csv({ from: startOf(range), by })} download>
            Download CSV
          </a>
        )}
      </div>
      <Answer query={query} what="usage">
        {usage => (usage.totals.requests === 0 ? empty : <Drawn usage={usage} measure={measure} />)}
      </Answer>
    </section>
  )
}

function startOf(range: Range): string {
  return new Date(Date.now() - HOURS[range] * 3_600_000).toISOString()
}

function Drawn({ usage, measure }: { usage: Usage; measure: Measure }) {
  const currency = useCurrency()
  const shown = useMemo(() => fewest(usage.series), [usage])
  const times = useMemo(() => usage.buckets.map(iso => Date.parse(iso) / 1000), [usage])
  const series = useMemo(
    () => shown.map(one => ({ name: one.name, values: drawnValues(one, measure) })),
    [shown, measure],
  )
  const valueText = (value: number) =>
    measure === 'spend' ? shortMoney(asMoney(value), currency) : compactNumber(value)
  const tickText = (value: number) =>
    measure === 'spend' ? exactMoney(asMoney(value), currency) : compactNumber(value)
  const isDaily = usage.bucket === 'day'
  const timeText = (seconds: number) => bucketName(seconds, isDaily)
  return (
    <>
      <StackedBars
        label={`${MEASURE_NAMES[measure]} over time; the table below holds the same figures`}
        times={times}
        series={series}
        isDaily={isDaily}
        valueText={valueText}
        tickText={tickText}
        timeText={timeText}
      />
      <ul class="legend-list" aria-label="Series">
        {shown.map((one, index) => (
          <li key={one.id}>
            <Swatch index={index} /> <bdi>{one.name}</bdi>
            <span class="number soft">{totalText(one, measure, currency)}</span>
          </li>
        ))}
      </ul>
      <Totals usage={usage} />
      <FigureTable usage={usage} series={shown} measure={measure} timeText={timeText} />
    </>
  )
}

const MEASURE_NAMES: Record<Measure, string> = { spend: 'Spend', tokens: 'Tokens', requests: 'Requests' }

function Totals({ usage: { totals } }: { usage: Usage }) {
  const currency = useCurrency()
  const figures: [string, string, string][] = [
    ['Spend', shortMoney(totals.spend, currency), exactMoney(totals.spend, currency)],
    [
      'Requests',
      wholeNumber(totals.requests),
      totals.failed === 0 ? 'all complete' : `${wholeNumber(totals.failed)} did not complete`,
    ],
    [
      'Input tokens',
      compactNumber(totals.input_tokens),
      `${compactNumber(totals.cached_tokens)} read from cache`,
    ],
    ['Output tokens', compactNumber(totals.output_tokens), wholeNumber(totals.output_tokens)],
  ]
  return (
    <dl class="columns figures">
      {figures.map(([name, value, note]) => (
        <div key={name} class="figure">
          <dt>{name}</dt>
          <dd>{value}</dd>
          <dd class="note">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The same figures as text, for those who read rather than look. */
function FigureTable({
  usage,
  series,
  measure,
  timeText,
}: {
  usage: Usage
  series: readonly Series[]
  measure: Measure
  timeText(seconds: number): string
}) {
  const currency = useCurrency()
  const rows = usage.buckets
    .map((iso, index) => ({ iso, index }))
    .filter(({ index }) => series.some(one => (one.requests[index] ?? 0) > 0))
  return (
    <details>
      <summary>Show as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="table-wrap" tabIndex={0} aria-label={`${MEASURE_NAMES[measure]} as a table`}>
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(one => (
                <th key={one.id} scope="col" class="number">
                  {one.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ iso, index }) => (
              <tr key={iso}>
                <th scope="row" class="nowrap">
                  {timeText(Date.parse(iso) / 1000)}
                </th>
                {series.map(one => (
                  <td key={one.id} class="number">
                    {measure === 'spend'
                      ? exactMoney(one.spend[index] ?? '0', currency)
                      : wholeNumber(drawnValues(one, measure)[index] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  )
}

/** As many series as there are colours; the smallest are one. */
function fewest(series: readonly Series[]): Series[] {
  if (series.length <= SERIES_COLOURS) return series.map(named)
  const shown = series.slice(0, SERIES_COLOURS - 1).map(named)
  const rest = series.slice(SERIES_COLOURS - 1)
  const sum = (pick: (one: Series) => number[]) =>
    (rest[0] === undefined ? [] : pick(rest[0])).map((_, index) =>
      rest.reduce((total, one) => total + (pick(one)[index] ?? 0), 0),
    )
  return [
    ...shown,
    {
      id: '*',
      name: `${rest.length} others`,
      spend: (rest[0]?.spend ?? []).map((_, index) => addMoney(rest.map(one => one.spend[index] ?? '0'))),
      requests: sum(one => one.requests),
      input_tokens: sum(one => one.input_tokens),
      output_tokens: sum(one => one.output_tokens),
    },
  ]
}

function named(one: Series): Series {
  if (one.id === '') return { ...one, name: 'Unknown' }
  return one.id === '*' ? { ...one, name: 'Others' } : { ...one, name: one.name || one.id }
}

function drawnValues(one: Series, measure: Measure): number[] {
  if (measure === 'spend') return one.spend.map(drawnMoney)
  if (measure === 'requests') return one.requests
  return one.input_tokens.map((tokens, index) => tokens + (one.output_tokens[index] ?? 0))
}

function totalText(one: Series, measure: Measure, currency: string): string {
  if (measure === 'spend') return shortMoney(addMoney(one.spend), currency)
  return compactNumber(drawnValues(one, measure).reduce((sum, value) => sum + value, 0))
}

/** The height of a bar, back in words; never an amount that anybody is charged. */
function asMoney(value: number): string {
  return value.toFixed(9)
}

const HOUR = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const UTC_DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

function bucketName(seconds: number, isDaily: boolean): string {
  return isDaily ? `${UTC_DAY.format(seconds * 1000)} (UTC)` : HOUR.format(seconds * 1000)
}

/** Nothing was asked yet: what to do about it. */
export function NoUsage() {
  return (
    <Empty
      title="No requests in this time"
      action={
        <div class="actions">
          <a class="button" href="/keys?new=yes">
            Create a key
          </a>
          <a class="button" href="/playground">
            Try a model here
          </a>
        </div>
      }
    >
      What you spend appears here within a moment of each request.
    </Empty>
  )
}
