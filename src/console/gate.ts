import { ConsoleError } from './failure.ts'

interface Crowd {
  atOnce: number
  /** How many of these are one asker's at most, so that one with long work does not have all of them. */
  each: number
  /** How many of one asker may wait. */
  waiting: number
  /** Where so many wait in all, one of each asker may. */
  many: number
  /** What those beyond are told. */
  refusal: string
}

/** An account, or whoever is not known yet. */
type Asker = number | 'anybody'

/** Lets a few in at once. The others wait and have turns, one of each asker's; those beyond are turned away. */
export class Gate {
  readonly #crowd: Crowd
  /** Whose work is under way, once for each. */
  readonly #inside: Asker[] = []
  /** Whose turn is next stands first; who has nobody waiting is not in it. */
  readonly #waiting = new Map<Asker, (() => void)[]>()

  constructor(crowd: Crowd) {
    this.#crowd = crowd
  }

  /**
   * What is not `refusable` waits however many do.
   * @throws ConsoleError `unavailable` where too many wait already
   */
  async pass<Result>(who: Asker, work: () => Promise<Result>, { refusable = true } = {}): Promise<Result> {
    if (this.#hasRoom(who)) this.#inside.push(who)
    else await this.#wait(who, refusable)
    try {
      return await work()
    } finally {
      this.#inside.splice(this.#inside.indexOf(who), 1)
      this.#letIn()
    }
  }

  #hasRoom(who: Asker): boolean {
    const theirs = this.#inside.filter(one => one === who)
    return this.#inside.length < this.#crowd.atOnce && theirs.length < this.#crowd.each
  }

  #wait(who: Asker, refusable: boolean): Promise<void> {
    const theirs = this.#waiting.get(who) ?? []
    if (refusable && theirs.length >= this.#mostOfEach()) {
      throw new ConsoleError('unavailable', this.#crowd.refusal, { retryAfterMs: 5_000 })
    }
    this.#waiting.set(who, theirs)
    return new Promise(resolve => theirs.push(resolve))
  }

  #mostOfEach(): number {
    const all = this.#waiting.values().reduce((sum, theirs) => sum + theirs.length, 0)
    return all < this.#crowd.many ? this.#crowd.waiting : 1
  }

  /** Whoever leaves makes room for one at most. */
  #letIn(): void {
    for (const [who, theirs] of this.#waiting) {
      if (!this.#hasRoom(who)) continue
      this.#inside.push(who)
      theirs.shift()?.()
      this.#waiting.delete(who)
      if (theirs.length > 0) this.#waiting.set(who, theirs)
      return
    }
  }
}

/**
 * What looks at many rows, for charts, logs, entries and statements: it has four of the ten connections that the
 * gateway's requests need as well, however many somebody asks for at once. A page asks for two.
 */
export function lookupGate(): Gate {
  return new Gate({
    atOnce: 4,
    each: 2,
    waiting: 20,
    many: 200,
    refusal: 'Too many charts, logs and statements are asked for, try again in a moment',
  })
}
