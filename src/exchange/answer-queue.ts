import type { Clock } from '@/clock/clock.ts'

/** How many answers may begin in one turn of the event loop: about half a millisecond of work. */
const AT_ONCE = 4

/** Answers that have waited this long all begin in the next turn, so that an overloaded process is seen to be slow. */
const LONGEST_WAIT_MS = 20

interface Waiting {
  since: number
  go(): void
}

/**
 * Begins streamed answers a few in each turn of the event loop, in the order in which their heads arrived.
 *
 * Bun hands out all that its HTTP client has received, and what arrives meanwhile, before it reads from a server socket
 * again. With many callers in step, the next request of one who has an answer would wait behind the answers of all others.
 * With this queue the sockets are read in between, and that request is on its way to the upstream while other answers
 * begin.
 */
export class AnswerQueue {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #waiting: Waiting[] = []
  /** How many have begun since the sockets were last read. */
  #begun = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Resolves when the answer may begin; undefined: it may begin now. */
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
