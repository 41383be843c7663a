import type { ComponentChildren } from 'preact'
import type { ConsoleInput } from '../../../api/contract/api.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { addressOf, call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { serverNow } from '../../api/server-time.ts'
import { daysBefore, readDays, typedDay, ZONE } from '../../format/time.ts'
import { type Option, Segments } from '../../parts/field.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { INCOMPLETE, DAYS as LOG_DAYS } from '../../stream/line-filter.ts'
import { DayFields, lastWeek } from './day-fields.tsx'
import { type LogTime, logAddress } from './log-address.ts'
import { UsageChart } from './usage-chart.tsx'
import { MEASURE_NAMES, type Measure } from './usage-series.ts'

type Preset = 'day' | 'week' | 'month' | 'quarter'
type Range = Preset | 'days'

const DAYS: Record<Exclude<Preset, 'day'>, number> = { week: 7, month: 30, quarter: 90 }
const RANGES: readonly Option<Range>[] = [
  { value: 'day', label: '24 hours' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'quarter', label: '90 days' },
  { value: 'days', label: 'Dates' },
]
const MEASURES: readonly Option<Measure>[] = (['spend', 'tokens', 'requests', 'failed'] as const).map(
  value => ({ value, label: MEASURE_NAMES[value] }),
)

/** In the address; what is grouped by first depends on the page. */
const PRESETS = { range: 'week', from: '', to: '', show: 'spend', by: '' }

/** An address may say anything. */
function chosen<Value extends string>(options: readonly Option<Value>[], text: string): Value | undefined {
  return options.find(({ value }) => value === text)?.value
}

/** What usage is told apart by. */
type Dimension = NonNullable<ConsoleInput<'GET /api/admin/usage'>['query']['by']>

const DIMENSIONS: Record<Dimension, string> = {
  model: 'Model',
  account: 'Account',
  channel: 'Channel',
  key: 'Key',
  service_tier: 'Service tier',
}

/** What the pages that show usage differ in. */
interface UsageCardProps {
  /** Whose: one's own or, for those who see it, everybody's, or that of an account. */
  at: '/api' | '/api/admin'
  accountId?: number
  /** The first of them to begin with. */
  groups: readonly [Dimension, ...Dimension[]]
  /** What to do where there is nothing to draw. */
  empty: ComponentChildren
}

/** Spend, tokens, requests and those that did not complete over time, by model, key and so on. */
export function UsageCard({ at, accountId, groups, empty }: UsageCardProps) {
  const { state, change } = useAddressState(PRESETS)
  const range = chosen(RANGES, state.range) ?? 'week'
  const measure = chosen(MEASURES, state.show) ?? 'spend'
  const by = groups.find(name => name === state.by) ?? groups[0]
  const days = range === 'days' ? readDays(state.from, state.to) : undefined
  const isUnread = range === 'days' && days === undefined
  const asked = { zone: ZONE, ...(days ?? { from: startOf(range) }), by, account_id: accountId }
  const key = useSettled(isUnread ? undefined : `${range} ${days?.from} ${days?.to} ${by}`)
  const query = useQuery(key, signal => call(`GET ${at}/usage`, { query: asked }, signal))
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
            onValue={value => change(value === 'days' ? otherDates() : { range: value, from: '', to: '' })}
          />
        </div>
      </div>
      <div class="card-head">
        <Segments
          label="By"
          value={by}
          options={groups.map(value => ({ value, label: DIMENSIONS[value] }))}
          onValue={value => change({ by: value })}
        />
        {range === 'days' ? (
          <div class="row">
            <DayFields
              first={state.from}
              last={state.to}
              change={({ first: from = state.from, last: to = state.to }) => change({ from, to })}
            />
          </div>
        ) : null}
        {isUnread ? null : (
          <a class="button small quiet" href={addressOf(`GET ${at}/usage.csv`, { query: asked })} download>
            Download CSV
          </a>
        )}
      </div>
      {isUnread ? null : (
        <Answer query={query} what="usage">
          {usage =>
            usage.totals.requests === 0 ? (
              empty
            ) : (
              <UsageChart
                usage={usage}
                measure={measure}
                logOf={id =>
                  logAddress({ at, accountId, by, state }, id, {
                    ...timeOf(range, state),
                    end: measure === 'failed' ? INCOMPLETE : '',
                  })
                }
              />
            )
          }
        </Answer>
      )}
    </section>
  )
}

/** Whole days, of which today is the last. */
function startOf(range: Range): string {
  const now = new Date(serverNow())
  if (range === 'day') return new Date(now.getTime() - 86_400_000).toISOString()
  return daysBefore(now, DAYS[range === 'days' ? 'week' : range] - 1).toISOString()
}

/** The same time as a log is asked for it. */
function timeOf(range: Range, { from, to }: { from: string; to: string }): LogTime {
  if (range === 'day') return { since: 'day', first: '', last: '' }
  if (range === 'days') return { since: LOG_DAYS, first: from, last: to }
  return { since: LOG_DAYS, first: typedDay(new Date(startOf(range))), last: typedDay(new Date(serverNow())) }
}

/** What one begins with who wants other dates. */
function otherDates() {
  const { first, last } = lastWeek()
  return { range: 'days', from: first, to: last }
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
