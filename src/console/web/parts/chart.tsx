import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { COUNT_STEPS } from '../format/number.ts'
import { SERIES_COLOURS, stacked } from '../format/stack.ts'
import { THEME_EVENT } from './theme-button.tsx'

interface ChartSeries {
  name: string
  /** One for each time. */
  values: readonly number[]
}

interface ChartProps {
  /** What is drawn, for those who do not see it. */
  label: string
  /** Beginnings of the buckets, as seconds since 1970. */
  times: readonly number[]
  /** Those of them that are not counted whole. */
  inPart: ReadonlySet<number>
  /** Drawn from the ground up. */
  series: readonly ChartSeries[]
  /** The buckets are days. */
  isDaily: boolean
  /** The values are counts: nothing is half. */
  isCount: boolean
  /** Whose clocks and days are meant. */
  zone: string
  valueText(value: number): string
  /** The same for the round values of the axis: no two may look alike. */
  tickTexts(values: readonly number[]): string[]
  timeText(seconds: number): string
}

/** What the axes are written in. */
const FONT = '12px system-ui, sans-serif'
/** The width of the axis of values, unless its texts are longer: charts of small amounts stand alike. In pixels. */
const LEAST_AXIS = 64
/** Between these texts and what is drawn beside them. In pixels. */
const GAP = 6

/** Steps of an axis of days, in seconds. */
const DAYS = [1, 2, 7, 14, 28].map(days => days * 86_400)

/** Bars of several series on top of one another, with what is under the pointer in words. */
export function StackedBars(props: ChartProps) {
  const { label, times, series, valueText, timeText } = props
  const box = useRef<HTMLDivElement>(null)
  const [tip, setTip] = useState<{ index: number; left: number }>()
  const theme = useThemeCount()
  // Painted anew when what it shows or its colours changed.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const plot = paint(element, props, setTip)
    const observer = new ResizeObserver(() => plot.setSize(sizeOf(element)))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, theme])
  return (
    <div class="chart">
      <div ref={box} class="chart-canvas" role="img" aria-label={label} />
      {tip === undefined || times[tip.index] === undefined ? null : (
        <div class="chart-tip" style={tipPosition(tip.left, box.current?.clientWidth ?? 0)}>
          <b>{timeText(times[tip.index] ?? 0)}</b>
          {series.map(({ name, values }, index) =>
            (values[tip.index] ?? 0) === 0 ? null : (
              <div key={`${index} ${name}`}>
                <Swatch index={index} /> {name}{' '}
                <span class="number">{valueText(values[tip.index] ?? 0)}</span>
              </div>
            ),
          )}
          <div>
            Total
            <span class="number">
              {valueText(series.reduce((sum, { values }) => sum + (values[tip.index] ?? 0), 0))}
            </span>
          </div>
        </div>
      )}
    </div>
  )
}

/** The colour of a series, beside its name. */
export function Swatch({ index }: { index: number }) {
  return <span class="swatch" style={{ background: `var(${colourOf(index)})` }} aria-hidden="true" />
}

function colourOf(index: number): string {
  return `--series-${Math.min(index + 1, SERIES_COLOURS)}`
}

function paint(
  element: HTMLElement,
  { times, inPart, series, isDaily, isCount, zone, tickTexts }: ChartProps,
  onTip: (tip: { index: number; left: number } | undefined) => void,
): uPlot {
  const ink = resolveColour(element, '--ink-faint')
  const line = resolveColour(element, '--line')
  const surface = resolveColour(element, '--surface', { property: 'backgroundColor' })
  const axis = { stroke: ink, font: FONT, gap: GAP, ticks: { show: false } }
  const halfBucket = ((times[1] ?? 3600) - (times[0] ?? 0)) / 2
  const bars = uPlot.paths.bars?.({ size: [0.72, 48], radius: [0.15, 0] })
  // The tallest stack is painted first and each lower one over it.
  const painted = stacked(series.map(({ values }) => values)).toReversed()
  const options: uPlot.Options = {
    ...sizeOf(element),
    // To the right half of the last name may stand beyond its bar.
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      // Room for the first and the last bar, half of which lies beyond its moment.
      x: { range: (_, first, last) => [first - halfBucket, last + halfBucket] },
      y: { range: (_, __, highest) => [0, highest > 0 ? highest * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        // Names of days stand under their days, and each but once.
        ...(isDaily ? { incrs: DAYS } : {}),
        values: (_, ticks) => ticks.map(momentTexts(zone, isDaily)),
      },
      {
        ...axis,
        size: ({ ctx }, texts) => axisWidth(ctx, texts),
        grid: { stroke: line, width: 1 },
        ...(isCount ? { incrs: COUNT_STEPS } : {}),
        values: (_, ticks) => tickTexts(ticks),
      },
    ],
    series: [
      {},
      ...painted.map((_, index) => ({
        fill: resolveColour(element, colourOf(painted.length - 1 - index), { className: 'swatch' }),
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), zone),
    hooks: {
      draw: [plot => pale(plot, [...inPart], halfBucket, surface)],
      setCursor: [
        plot => {
          const { idx, left = -1 } = plot.cursor
          const isOver = idx !== null && idx !== undefined && left >= 0
          // The cursor is counted from the axis, and the words from the edge of the chart.
          onTip(isOver ? { index: idx, left: left + plot.over.offsetLeft } : undefined)
        },
      ],
    },
  }
  return new uPlot(options, [[...times], ...painted], element)
}

/** Lets the ground shine through the bars at these times. */
function pale({ ctx, bbox, valToPos }: uPlot, times: readonly number[], half: number, ground: string): void {
  ctx.save()
  ctx.globalAlpha = 0.5
  ctx.fillStyle = ground
  for (const time of times) {
    const left = valToPos(time - half, 'x', true)
    ctx.fillRect(left, bbox.top, valToPos(time + half, 'x', true) - left, bbox.height)
  }
  ctx.restore()
}

/** As wide as its longest text: what is wider than its axis is cut off at the beginning, where an amount is largest. */
function axisWidth(ctx: CanvasRenderingContext2D, texts: readonly string[] | null): number {
  ctx.font = FONT
  const widths = (texts ?? []).map(text => Math.ceil(ctx.measureText(text).width) + GAP)
  return Math.max(LEAST_AXIS, ...widths)
}

/** The hour, or at midnight the day. */
function momentTexts(timeZone: string, isDaily: boolean): (seconds: number) => string {
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone })
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone })
  return seconds => {
    const time = clock.format(seconds * 1000)
    return isDaily || time === '00:00' ? day.format(seconds * 1000) : time
  }
}

function sizeOf(element: HTMLElement): { width: number; height: number } {
  return { width: element.clientWidth, height: element.clientHeight }
}

/** Beside the pointer, on the side where there is room. */
function tipPosition(left: number, width: number): { left?: string; right?: string; top: string } {
  return left > width / 2
    ? { right: `${width - left + 16}px`, top: '8px' }
    : { left: `${left + 16}px`, top: '8px' }
}

/**
 * A canvas knows no custom properties: the browser works the colour out on an element, of a class if that has a say. Where
 * the system forces its own, those of a ground and of what stands on it are opposites.
 */
function resolveColour(
  element: HTMLElement,
  name: string,
  { className = '', property = 'color' }: { className?: string; property?: 'color' | 'backgroundColor' } = {},
): string {
  const probe = document.createElement('span')
  probe.className = className
  probe.style[property] = `var(${name})`
  element.append(probe)
  const { [property]: colour } = getComputedStyle(probe)
  probe.remove()
  return colour
}

/** Counts the changes of theme, by the reader or by the system. */
function useThemeCount(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const again = () => setCount(last => last + 1)
    const systems = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map(query =>
      matchMedia(query),
    )
    for (const system of systems) system.addEventListener('change', again)
    window.addEventListener(THEME_EVENT, again)
    return () => {
      for (const system of systems) system.removeEventListener('change', again)
      window.removeEventListener(THEME_EVENT, again)
    }
  }, [])
  return count
}
