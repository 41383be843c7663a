import { median, middle, type Sample } from './measure.ts'
import { SCENARIOS, type ScenarioName } from './scenarios.ts'
import { BASELINE, FLOOR } from './targets.ts'

/** All samples of a run: by scenario, then by target. */
export type Results = Partial<Record<ScenarioName, Record<string, Sample[]>>>

/** What a cell shows, and how it compares; `ratio` is to the baseline in the same scenario. */
interface Figure {
  value: number
  ratio: number | undefined
  failures: number
  /** CPU of the databases in µs per unit. */
  storeCpuUs: number
  /** Only of `first-byte`. */
  p99: number | undefined
}

/** The figure of a target in a scenario; undefined where it was not measured. */
export function figureOf(results: Results, scenario: ScenarioName, target: string): Figure | undefined {
  const samples = results[scenario]?.[target]
  if (samples === undefined || samples.length === 0) return undefined
  const own = middle(samples)
  const value = readFigure(results, scenario, own)
  const base = results[scenario]?.[BASELINE] ?? []
  const ratio = base.length === 0 ? undefined : value / readFigure(results, scenario, middle(base))
  return {
    value,
    ratio: SCENARIOS[scenario].figure === 'first-byte' ? undefined : ratio,
    failures: own.failures,
    storeCpuUs: own.storeCpuUs,
    p99:
      SCENARIOS[scenario].figure === 'first-byte'
        ? added(results, scenario, own, 'firstByteP99Us')
        : undefined,
  }
}

/**
 * The least that a target took in any round, to the least of the baseline: what a busy machine adds it adds now and
 * then, what a regression adds is there in every round. Rounds with failed answers do not count; infinite: all did.
 */
export function leastRatio(results: Results, scenario: ScenarioName, target: string): number | undefined {
  const leastOf = (name: string) => {
    const whole = (results[scenario]?.[name] ?? []).filter(({ failures }) => failures === 0)
    return Math.min(...whole.map(sample => readFigure(results, scenario, sample)))
  }
  return results[scenario]?.[target] === undefined ? undefined : leastOf(target) / leastOf(BASELINE)
}

function readFigure(results: Results, scenario: ScenarioName, sample: Sample): number {
  switch (SCENARIOS[scenario].figure) {
    case 'cpu':
      return sample.cpuUs
    case 'memory':
      return sample.addedMb
    case 'first-byte':
      return added(results, scenario, sample, 'firstByteP50Us')
  }
}

/** Time beyond that of the stub alone, in ms. */
function added(
  results: Results,
  scenario: ScenarioName,
  sample: Sample,
  figure: 'firstByteP50Us' | 'firstByteP99Us',
): number {
  const floor = results[scenario]?.[FLOOR] ?? []
  const floorUs = floor.length === 0 ? Number.NaN : median(floor.map(run => run[figure]))
  return (sample[figure] - floorUs) / 1000
}

/** One Markdown table: a row per target, a column per scenario, each with its ratio to the baseline. */
export function table(
  results: Results,
  scenarios: readonly ScenarioName[],
  targets: readonly string[],
): string {
  const head = [
    'target',
    ...scenarios.map(name => SCENARIOS[name].title),
    'databases, CPU µs/request',
    'failures',
  ]
  const rows = targets.map(target => {
    const figures = scenarios.map(scenario => figureOf(results, scenario, target))
    const stores = scenarios.includes('plain') ? figureOf(results, 'plain', target)?.storeCpuUs : undefined
    const failures = figures.reduce((sum, figure) => sum + (figure?.failures ?? 0), 0)
    return [
      target,
      ...figures.map(cell),
      stores === undefined || stores === 0 ? '' : round(stores),
      String(failures),
    ]
  })
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  )
}

function cell(figure: Figure | undefined): string {
  if (figure === undefined || Number.isNaN(figure.value)) return ''
  if (figure.p99 !== undefined) return `${figure.value.toFixed(2)} / ${figure.p99.toFixed(2)}`
  const ratio = figure.ratio === undefined ? '' : ` (${figure.ratio.toFixed(2)} ×)`
  return `${round(figure.value)}${ratio}`
}

function round(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(value >= 10 ? 1 : 2)
}
