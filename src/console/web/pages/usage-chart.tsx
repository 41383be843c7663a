import { useMemo } from 'preact/hooks'
import type { Usage } from '../../api/contract/usage.ts'
import { exactMoney, shortMoney } from '../format/money.ts'
import { compactNumber } from '../format/number.ts'
import { StackedBars, Swatch } from '../parts/chart.tsx'
import { useCurrency } from '../session.tsx'
import { UsageTable, UsageTotals } from './usage-figures.tsx'
import { asMoney, drawnValues, fewest, MEASURE_NAMES, type Measure, totalText } from './usage-series.ts'

/** Usage as a picture, and the same as figures. */
export function UsageChart({ usage, measure }: { usage: Usage; measure: Measure }) {
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
      <UsageTotals usage={usage} />
      <UsageTable usage={usage} series={shown} measure={measure} timeText={timeText} />
    </>
  )
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
