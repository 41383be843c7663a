/** How many exchanges are on their way: for the metrics, and for a process that is to end after the last of them. */
export class OpenExchanges {
  #count = 0
  #waiting: (() => void)[] = []

  get size(): number {
    return this.#count
  }

  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const tell of waiting) tell()
  }

  /** Resolves when there is none. */
  ended(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}
