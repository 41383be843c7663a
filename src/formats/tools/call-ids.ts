/**
 * The ids of an answer's calls, by which their results are told apart: a call whose id is missing, or another's, gets one
 * of ours.
 */
export class CallIds {
  readonly #newId: () => string
  readonly #taken = new Set<string>()

  constructor(newId: () => string) {
    this.#newId = newId
  }

  /** The id of a call that begins. */
  take(said: string | undefined): string {
    const id = said === undefined || this.#taken.has(said) ? this.#newId() : said
    this.#taken.add(id)
    return id
  }
}
