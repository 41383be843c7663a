import type { Settlement, Stop } from './types.ts'

/** An exchange with a hold. */
interface Running {
  costNano: bigint
  /** The cost at the last checkpoint. */
  stored: bigint
  stopped: boolean
  /** The cost that the notes have. */
  notedPico: bigint | undefined
}

/** The exchanges of this process that have a hold, and what each has cost so far. */
export class RunningHolds {
  readonly #running = new Map<string, Running>()

  get size(): number {
    return this.#running.size
  }

  /** Which they are now. */
  ids(): ReadonlySet<string> {
    return new Set(this.#running.keys())
  }

  begin(id: string): void {
    this.#running.set(id, { costNano: 0n, stored: 0n, stopped: false, notedPico: undefined })
  }

  /** It answers for its hold no more. The result is the cost that the notes have; undefined: none. */
  end(id: string): bigint | undefined {
    const noted = this.#running.get(id)?.notedPico
    this.#running.delete(id)
    return noted
  }

  /** Takes what an exchange has cost so far; what is less than is known says nothing. */
  progress(id: string, costNano: bigint): void {
    const exchange = this.#running.get(id)
    if (exchange !== undefined && costNano > exchange.costNano) exchange.costNano = costNano
  }

  /** Whether a charge is to be noted: its exchange runs here. */
  note({ id, costPico }: Settlement): boolean {
    const exchange = this.#running.get(id)
    if (exchange === undefined) return false
    exchange.notedPico = costPico
    return true
  }

  /**
   * Has what has grown since the last checkpoint stored.
   * @param store answers with the exchanges that must end
   * @returns those that were not told so before
   */
  async checkpoint(store: (costs: ReadonlyMap<string, bigint>) => Promise<Stop[]>): Promise<Stop[]> {
    if (this.#running.size === 0) return []
    const grown = new Map<string, bigint>()
    for (const [id, { costNano, stored }] of this.#running) if (costNano > stored) grown.set(id, costNano)
    const stops = await store(grown)
    for (const [id, costNano] of grown) {
      const exchange = this.#running.get(id)
      if (exchange !== undefined) exchange.stored = costNano
    }
    return stops.filter(({ id }) => this.#stop(id))
  }

  #stop(id: string): boolean {
    const exchange = this.#running.get(id)
    if (exchange === undefined || exchange.stopped) return false
    exchange.stopped = true
    return true
  }
}
