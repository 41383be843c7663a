import type { Histogram, Registry } from 'prom-client'

type LabelValue = string | number

/** What a metric is, as prom-client wants it said. */
interface Description<Names extends readonly string[]> {
  name: string
  help: string
  labelNames: Names
  registers: readonly Registry[]
}

/** A metric that has a cell for each set of label values. */
interface Tally<Names extends readonly string[], Cell> {
  /** The cell of these values, in the order of the names; the same one each time. */
  of(...values: { readonly [Index in keyof Names]: LabelValue }): Cell
}

/** Only ever grows. */
class Count {
  value = 0

  add(more = 1): void {
    this.value += more
  }
}

/** How often values were up to each of some bounds. */
class Distribution {
  readonly #bounds: readonly number[]
  /** For each bound what is up to it and above the one before. */
  readonly counts: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.sum += value
    this.count += 1
    const { counts } = this
    let index = 0
    for (const bound of this.#bounds) {
      if (value <= bound) {
        counts[index] = (counts[index] ?? 0) + 1
        return
      }
      index += 1
    }
  }
}

/**
 * Counters for what is counted with every exchange. prom-client checks each label and composes a key of all of them
 * with every call; here values are looked up one after the other. Its registry reads them like its own.
 */
export function tallyCounter<const Names extends readonly string[]>(
  description: Description<Names>,
): Tally<Names, Count> {
  const read = ({ value }: Count, labels: Labels): Sample[] => [{ labels, value }]
  return tally(description, 'counter', () => new Count(), read)
}

/** A histogram of what is measured with every exchange, as `tallyCounter` counts; `buckets` are upper bounds, ascending. */
export function tallyHistogram<const Names extends readonly string[]>(
  description: Description<Names> & { buckets: readonly number[] },
): Tally<Names, Distribution> {
  const { name, buckets } = description
  const read = ({ counts, sum, count }: Distribution, labels: Labels): Sample[] => {
    let below = 0
    const samples: Sample[] = buckets.map((le, index) => {
      below += counts[index] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below }
    })
    samples.push(
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    )
    return samples
  }
  return tally(description, 'histogram', () => new Distribution(buckets), read)
}

type Labels = Readonly<Record<string, LabelValue>>

interface Sample {
  metricName?: string
  labels: Labels
  value: number
}

/** What comes after some values of a cell's labels; after the last is the cell. */
class Branch<Cell> {
  readonly #next = new Map<LabelValue, Branch<Cell>>()
  cell: Cell | undefined

  at(value: LabelValue): Branch<Cell> {
    const known = this.#next.get(value)
    if (known !== undefined) return known
    const branch = new Branch<Cell>()
    this.#next.set(value, branch)
    return branch
  }
}

function tally<Names extends readonly string[], Cell>(
  { name, help, labelNames, registers }: Description<Names>,
  type: 'counter' | 'histogram',
  make: () => Cell,
  read: (cell: Cell, labels: Labels) => Sample[],
): Tally<Names, Cell> {
  const root = new Branch<Cell>()
  const opened: { labels: Labels; cell: Cell }[] = []
  const open = (values: readonly LabelValue[]): Cell => {
    const cell = make()
    opened.push({
      labels: Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? ''])),
      cell,
    })
    return cell
  }
  const get = async () => {
    const values = opened.flatMap(({ labels, cell }) => read(cell, labels))
    return { name, help, type, aggregator: 'sum', values }
  }
  for (const registry of registers) registry.registerMetric(asMetric({ name, get }))
  return {
    of(...values) {
      let branch = root
      for (const value of values) branch = branch.at(value)
      branch.cell ??= open(values)
      return branch.cell
    },
  }
}

/** Safe since a registry that only collects asks a metric for nothing but its name and what `get` resolves with. */
function asMetric(metric: { name: string; get: () => Promise<object> }): Histogram {
  return metric as unknown as Histogram
}
