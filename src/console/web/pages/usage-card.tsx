import type { ComponentChildren } from 'preact'
import type { Usage } from '../../api/contract/usage.ts'
import { useAddressState } from '../api/address.ts'
import { useQuery } from '../api/query.ts'
import { type Option, Segments } from '../parts/field.tsx'
import { Empty } from '../parts/notice.tsx'
import { Answer } from '../parts/page.tsx'
import { UsageChart } from './usage-chart.tsx'
import { MEASURE_NAMES, type Measure } from './usage-series.ts'

type Range = 'day' | 'week' | 'month' | 'quarter'

const HOURS: Record<Range, number> = { day: 24, week: 7 * 24, month: 30 * 24, quarter: 90 * 24 }
const RANGES: readonly Option<Range>[] = [
  { value: 'day', label: '24 hours' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'quarter', label: '90 days' },
]
const MEASURES: readonly Option<Measure>[] = (['spend', 'tokens', 'requests'] as const).map(value => ({
  value,
  label: MEASURE_NAMES[value],
}))

/** In the address; what is grouped by first depends on the page. */
const PRESETS = { range: 'week', show: 'spend', by: '' }

/** An address may say anything. */
function chosen<Value extends string>(options: readonly Option<Value>[], text: string): Value | undefined {
  return options.find(({ value }) => value === text)?.value
}

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
  const [state, change] = useAddressState(PRESETS)
  const range = chosen(RANGES, state.range) ?? 'week'
  const measure = chosen(MEASURES, state.show) ?? 'spend'
  const by = chosen(groups, state.by) ?? groups[0]?.value
  const query = useQuery(`${range} ${by}`, signal => {
    if (by === undefined) throw new Error('usage is grouped by something')
    return ask({ from: startOf(range), by }, signal)
  })
  return (
    <section class="card" aria-labelledby="usage-title">
      <div class="card-head">
        <h2 id="usage-title">Usage</h2>
        <div class="actions">
          <Segments label="Show" value={measure} options={MEASURES} onValue={show => change({ show })} />
          <Segments
            label="Range"
            value={range}
            options={RANGES}
            onValue={value => change({ range: value })}
          />
        </div>
      </div>
      <div class="card-head">
        {by === undefined ? null : (
          <Segments label="By" value={by} options={groups} onValue={value => change({ by: value })} />
        )}
        {csv === undefined || by === undefined ? null : (
          <a class="button small quiet" href={csv({ from: startOf(range), by })} download>
            Download CSV
          </a>
        )}
      </div>
      <Answer query={query} what="usage">
        {usage => (usage.totals.requests === 0 ? empty : <UsageChart usage={usage} measure={measure} />)}
      </Answer>
    </section>
  )
}

function startOf(range: Range): string {
  return new Date(Date.now() - HOURS[range] * 3_600_000).toISOString()
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
