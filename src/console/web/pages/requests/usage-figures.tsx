import type { Usage } from '../../../api/contract/usage.ts'
import { exactMoney, shortMoney } from '../../format/money.ts'
import { compactNumber, wholeNumber } from '../../format/number.ts'
import { zoneName } from '../../format/time.ts'
import { Figure } from '../../parts/facts.tsx'
import { useCurrency } from '../../session.tsx'
import { drawnValues, MEASURE_NAMES, type Measure, type Series } from './usage-series.ts'

/** The sums of all that was used. */
export function UsageTotals({ usage: { totals } }: { usage: Usage }) {
  const currency = useCurrency()
  return (
    <dl class="columns figures">
      <Rounded name="Spend" exact={exactMoney(totals.spend, currency)}>
        {shortMoney(totals.spend, currency)}
      </Rounded>
      <Figure
        name="Requests"
        note={totals.failed === 0 ? 'all complete' : `${wholeNumber(totals.failed)} did not complete`}
      >
        {wholeNumber(totals.requests)}
      </Figure>
      <Figure name="Input tokens" note={`${compactNumber(totals.cached_tokens)} read from cache`}>
        {compactNumber(totals.input_tokens)}
      </Figure>
      <Rounded name="Output tokens" exact={wholeNumber(totals.output_tokens)}>
        {compactNumber(totals.output_tokens)}
      </Rounded>
    </dl>
  )
}

/** A figure with what it is exactly, if it is not that. */
function Rounded({ name, exact, children }: { name: string; exact: string; children: string }) {
  return (
    <Figure name={name} note={exact === children ? undefined : exact}>
      {children}
    </Figure>
  )
}

/** The same figures as text, for those who read rather than look. */
export function UsageTable({
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
              <th scope="col">Time in {zoneName(usage.zone)}</th>
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
