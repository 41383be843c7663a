import { ConsoleError } from './failure.ts'

interface Crowd {
  atOnce: number
  /** How many of one asker may wait. */
  waiting: number
  /** What those beyond are told. */
  refusal: string
}

/** An account, or whoever is not known yet. */
type Asker = number | 'anybody'

/** Lets a few in at once. The others wait and have turns, one of each asker's; those beyond are turned away. */
export class Gate {
  readonly #crowd: Crowd
  #inside = 0
  /** Whose turn is next stands first; who has nobody waiting is not in it. */
  readonly #waiting = new Map<Asker, (() => void)[]>()

  constructor(crowd: Crowd) {
    this.#crowd = crowd
  }

  /**
   * What is not `refusable` waits however many do.
   * @throws ConsoleError `unavailable` where too many of the asker's wait already
   */
  async pass<Result>(who: Asker, work: () => Promise<Result>, { refusable = true } = {}): Promise<Result> {
    if (this.#inside >= this.#crowd.atOnce) await this.#wait(who, refusable)
    else this.#inside += 1
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next === undefined) this.#inside -= 1
      else next()
    }
  }

  /** Whoever leaves hands the place on. */
  #wait(who: Asker, refusable: boolean): Promise<void> {
    const theirs = this.#waiting.get(who) ?? []
    if (refusable && theirs.length >= this.#crowd.waiting) {
      throw new ConsoleError('unavailable', this.#crowd.refusal, { retryAfterMs: 5_000 })
    }
    this.#waiting.set(who, theirs)
    return new Promise(resolve => theirs.push(resolve))
  }

  #next(): (() => void) | undefined {
    const [turn] = this.#waiting
    if (turn === undefined) return undefined
    const [who, theirs] = turn
    const next = theirs.shift()
    this.#waiting.delete(who)
    if (theirs.length > 0) this.#waiting.set(who, theirs)
    return next
  }
}

/**
 * What looks at many rows, for charts and logs: it has four of the ten connections that the gateway's requests need as
 * well, however many somebody asks for at once.
 */
export function lookupGate(): Gate {
  return new Gate({
    atOnce: 4,
    waiting: 20,
    refusal: 'Too many charts and logs are asked for, try again in a moment',
  })
}
