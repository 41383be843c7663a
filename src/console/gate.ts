import { ConsoleError } from './failure.ts'

interface Crowd {
  atOnce: number
  /** How many may wait. */
  waiting: number
  /** What those beyond are told. */
  refusal: string
}

/** Lets a few in at once; the others wait in their order, and those beyond are turned away. */
export class Gate {
  readonly #crowd: Crowd
  #inside = 0
  readonly #waiting: (() => void)[] = []

  constructor(crowd: Crowd) {
    this.#crowd = crowd
  }

  /** @throws ConsoleError `unavailable` where too many wait already */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#inside >= this.#crowd.atOnce) await this.#wait()
    else this.#inside += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside -= 1
      else next()
    }
  }

  /** Whoever leaves hands the place on. */
  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#crowd.waiting) {
      throw new ConsoleError('unavailable', this.#crowd.refusal, { retryAfterMs: 5_000 })
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}

/**
 * What looks at many rows, for charts and logs: it has four of the ten connections that the gateway's requests need as
 * well, however many somebody asks for at once.
 */
export function lookupGate(): Gate {
  return new Gate({
    atOnce: 4,
    waiting: 200,
    refusal: 'Too many charts and logs are asked for, try again in a moment',
  })
}
