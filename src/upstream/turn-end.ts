/**
 * Has whatever asks in one turn of the event loop go on together at its end. Bun's fetch hands a request to a thread that
 * sleeps when it has nothing to do, and waking it costs more than the request: requests that are handed over one right
 * after the other wake it once (64 whole answers at once: 12 us CPU of 200 less for each).
 */
export class TurnEnd {
  #end: Promise<void> | undefined

  /** Resolves when all that the event loop had to do by now was begun. */
  reached(): Promise<void> {
    this.#end ??= new Promise(resolve => {
      setImmediate(() => {
        this.#end = undefined
        resolve()
      })
    })
    return this.#end
  }
}
