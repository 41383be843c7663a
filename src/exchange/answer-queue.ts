import type { Clock } from '@/clock/clock.ts'

/** So many answers begin in one turn of the event loop: half a millisecond's work. */
const AT_ONCE = 4

/** Answers that have waited this long all go with the next turn: a process that has too much to do is to show it. */
const LONGEST_WAIT_MS = 20

interface Waiting {
  since: number
  go(): void
}

/**
 * Where flowing answers whose head has come wait until they are passed on, a few in each turn of the event loop.
 *
 * Bun hands out all that its HTTP client has received, and what comes meanwhile, before it looks at a socket again. Where
 * many callers are in step, one that has its answer and asks anew would wait for the answers of all the others, and then
 * for their requests. So the sockets are looked at in between, and the next request is with its upstream while the rest
 * go out.
 */
export class AnswerQueue {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #waiting: Waiting[] = []
  /** So many have begun since the sockets were looked at. */
  #begun = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Resolves when it is the answer's turn, in the order of the calls. Undefined: that is now. */
  turn(): Promise<void> | undefined {
    if (this.#begun < AT_ONCE && this.#waiting.length === 0) {
      if (this.#begun === 0) setImmediate(this.#next)
      this.#begun += 1
      return undefined
    }
    return new Promise(go => {
      this.#waiting.push({ since: this.#clock.elapsed(), go })
    })
  }

  readonly #next = (): void => {
    const longAgo = this.#clock.elapsed() - LONGEST_WAIT_MS
    let going = AT_ONCE
    while ((this.#waiting[going]?.since ?? Number.POSITIVE_INFINITY) <= longAgo) going += 1
    const next = this.#waiting.splice(0, going)
    this.#begun = next.length
    for (const { go } of next) go()
    if (this.#begun > 0) setImmediate(this.#next)
  }
}
