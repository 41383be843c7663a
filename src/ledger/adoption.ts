/** Takes in what processes that are gone have left, once at a time. */
export class Adoption {
  readonly #takeIn: (signal: AbortSignal) => Promise<void>
  readonly #stopping = new AbortController()
  #underway: Promise<void> | undefined

  constructor(takeIn: (signal: AbortSignal) => Promise<void>) {
    this.#takeIn = takeIn
  }

  get isUnderway(): boolean {
    return this.#underway !== undefined
  }

  /** Who asks while it is underway waits for that. */
  run(): Promise<void> {
    this.#underway ??= this.#takeIn(this.#stopping.signal).finally(() => {
      this.#underway = undefined
    })
    return this.#underway
  }

  /** What is not taken in by then, the next process finds. Fails as it did. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#underway
  }
}
