import { AggregatorRegistry } from 'prom-client'
import type { MetricReading } from './worker.ts'

/**
 * The readings of all workers as one, by each metric's own rule (the sum, unless it names another). What only grows
 * holds also what was last read of workers that ended, or that do not answer in time: a counter that falls is read as
 * one that began anew, and all that is left of it as what has come since.
 */
export class WorkerMetrics<Worker> {
  readonly #last = new Map<Worker, MetricReading[]>()
  #ended: Promise<MetricReading[]> = Promise.resolve([])

  /**
   * In Prometheus' text format.
   * @param ask what one of them reads now; undefined: it does not answer in time
   * @param beside what is counted by no worker; only what grows is taken
   */
  async read(
    workers: readonly Worker[],
    ask: (worker: Worker) => Promise<MetricReading[] | undefined>,
    beside: MetricReading[],
  ): Promise<string> {
    const answered = new Set<Worker>()
    await Promise.all(
      workers.map(async worker => {
        const reading = await ask(worker)
        if (reading === undefined) return
        answered.add(worker)
        this.#last.set(worker, reading)
      }),
    )
    const living = [...this.#last].map(([worker, reading]) =>
      answered.has(worker) ? reading : reading.filter(isCount),
    )
    const ended = await this.#ended
    return AggregatorRegistry.aggregate([...living, ended, beside.filter(isCount)]).metrics()
  }

  /** Is to be told of each worker that ends. */
  leave(worker: Worker): void {
    const counts = this.#last.get(worker)?.filter(isCount)
    if (counts === undefined) return
    this.#last.delete(worker)
    this.#ended = this.#ended.then(ended => AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON())
  }
}

/** prom-client declares a number, and writes the word. */
function isCount({ type }: MetricReading): boolean {
  return ['counter', 'histogram'].includes(String(type))
}
