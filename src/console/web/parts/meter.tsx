import { percent } from '../format/number.ts'

interface MeterProps {
  label: string
  /** Whose, for those who do not see what it stands below. */
  of: string
  value: string
  /** From 0 to 1. */
  share: number
}

/** How much of something is used: words and a bar. */
export function Meter({ label, of, value, share }: MeterProps) {
  const kind = share >= 0.95 ? 'bad' : share >= 0.8 ? 'warn' : ''
  return (
    <div class="meter">
      <div class="meter-head">
        <span>{label}</span>
        <span class="number soft">{value}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: the browser's own meter cannot be given these colours everywhere */}
      <div
        class="meter-track"
        role="meter"
        aria-label={`${label}, ${of}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={`${value}, ${percent(share)}`}
      >
        <div class={`meter-bar ${kind}`} style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
