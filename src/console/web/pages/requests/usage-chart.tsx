import { useMemo } from 'preact/hooks'
import type { Usage } from '../../../api/contract/usage.ts'
import { serverNow } from '../../api/server-time.ts'
import { alignedMoney, shortMoney } from '../../format/money.ts'
import { compactNumber } from '../../format/number.ts'
import { timeTexts, zoneName } from '../../format/time.ts'
import { StackedBars, Swatch } from '../../parts/chart.tsx'
import { useCurrency } from '../../session.tsx'
import { LOG_ID } from './request-filters.tsx'
import { UsageTable, UsageTotals } from './usage-figures.tsx'
import {
  asMoney,
  bucketsInPart,
  drawnValues,
  fewest,
  MEASURE_NAMES,
  type Measure,
  totalText,
} from './usage-series.ts'

interface UsageChartProps {
  usage: Usage
  measure: Measure
  /** Where the requests of a series are listed, by its id; undefined: nowhere. */
  logOf(id: string): string | undefined
}

/** Usage as a picture, and the same as figures. */
export function UsageChart({ usage, measure, logOf }: UsageChartProps) {
  const currency = useCurrency()
  const shown = useMemo(() => fewest(usage.series, measure), [usage, measure])
  const times = useMemo(() => usage.buckets.map(iso => Date.parse(iso) / 1000), [usage])
  const series = useMemo(
    () => shown.map(one => ({ name: one.name, values: drawnValues(one, measure) })),
    [shown, measure],
  )
  const valueText = (value: number) =>
    measure === 'spend' ? shortMoney(asMoney(value), currency) : compactNumber(value)
  const tickTexts = (values: readonly number[]) =>
    measure === 'spend' ? alignedMoney(values.map(asMoney), currency) : values.map(compactNumber)
  const isDaily = usage.bucket === 'day'
  const inPart = useMemo(
    () => new Set(bucketsInPart(usage, serverNow()).map(iso => Date.parse(iso) / 1000)),
    [usage],
  )
  const timeText = useMemo(() => {
    const plain = timeTexts(times, isDaily, usage.zone)
    return (seconds: number) => (inPart.has(seconds) ? `${plain(seconds)}, in part` : plain(seconds))
  }, [times, isDaily, usage.zone, inPart])
  return (
    <>
      <StackedBars
        label={`${MEASURE_NAMES[measure]} over time; the table below holds the same figures`}
        times={times}
        inPart={inPart}
        series={series}
        isDaily={isDaily}
        isCount={measure !== 'spend'}
        zone={usage.zone}
        valueText={valueText}
        tickTexts={tickTexts}
        timeText={timeText}
      />
      <p class="hint">
        {isDaily ? 'Days' : 'Hours'} of {zoneName(usage.zone)}
        {inPart.size === 0 ? null : `; paler: not a whole ${isDaily ? 'day' : 'hour'}`}
      </p>
      <ul class="legend-list" aria-label="Series">
        {shown.map((one, index) => (
          <li key={one.id}>
            <Swatch index={index} /> <SeriesName name={one.name} log={logOf(one.id)} />
            <span class="number soft">{totalText(one, measure, currency)}</span>
          </li>
        ))}
      </ul>
      <UsageTotals usage={usage} />
      <UsageTable usage={usage} series={shown} measure={measure} timeText={timeText} />
    </>
  )
}

function SeriesName({ name, log }: { name: string; log: string | undefined }) {
  if (log === undefined) return <bdi>{name}</bdi>
  return (
    <a class="alone" href={log} title="Its requests" onClick={showLog}>
      <bdi>{name}</bdi>
    </a>
  )
}

/** Where the log is on the same page, it may be out of sight. */
function showLog(): void {
  document.getElementById(LOG_ID)?.scrollIntoView()
}
