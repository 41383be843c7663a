/**
 * Ids each of which is taken once in a conversation, as most vendors want it: some models count their calls anew in every
 * answer (`call_0`). Which one an id becomes depends on those before it alone.
 */
export class DistinctIds {
  readonly #fit: (id: string) => string
  readonly #taken = new Set<string>()
  /** The number to try next for another of an id. */
  readonly #next = new Map<string, number>()

  /** @param fit an id as the target takes it */
  constructor(fit: (id: string) => string) {
    this.#fit = fit
  }

  /** The id to use for this one. */
  take(own: string): string {
    let id = this.#fit(own)
    while (this.#taken.has(id)) {
      const count = this.#next.get(own) ?? 2
      this.#next.set(own, count + 1)
      id = this.#fit(`${own}_${count}`)
    }
    this.#taken.add(id)
    return id
  }
}
