/** Answers that may be given one within another. */
const MOST_A_TURN = 100

/**
 * Keeps answers that are there together, as those of many who waited for the same, from being given all within one another.
 * Within one answer to a request whose body has not come, Bun runs the next one: two thousand are deeper than its stack, and
 * end the process. After the first hundred of a turn of the event loop, each has a task of its own, which begins with an
 * empty stack.
 */
export class AnswerTurns {
  #taken = 0
  readonly #beginTurn = () => {
    this.#taken = 0
  }

  /** Undefined: an answer may be given at once; else when that resolves. */
  take(): Promise<void> | undefined {
    if (this.#taken === 0) setImmediate(this.#beginTurn)
    this.#taken += 1
    return this.#taken <= MOST_A_TURN ? undefined : new Promise(resolve => setImmediate(resolve))
  }
}
