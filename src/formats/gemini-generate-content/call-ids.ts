/** A call of the conversation, while its result may still come. */
interface OpenCall {
  id: string
  name: string
  /** The turn it stands in. */
  turn: number
}

/**
 * Ids for calls and results of a conversation that may have none. Derived from name and position, so that call and
 * result agree and the next request of the same conversation derives the same ones.
 */
export class CallIds {
  #count = 0
  #open: OpenCall[] = []

  /** How many calls wait for their result. */
  get open(): number {
    return this.#open.length
  }

  /** The id of the next call. */
  call(name: string, given: string | undefined, turn: number): string {
    const id = given === undefined || given === '' ? derivedId(name, this.#count) : given
    this.#count += 1
    this.#open.push({ id, name, turn })
    return id
  }

  /** The id of the call that a result answers: by its id, else the first open call of its name in the last turn. */
  result(name: string, given: string | undefined): string {
    const named = this.#open.filter(call => call.name === name)
    const last = named.at(-1)?.turn
    const found = this.#open.find(call => call.id === given) ?? named.find(call => call.turn === last)
    if (found === undefined) return given ?? derivedId(`result of ${name}`, this.#count)
    this.#open = this.#open.filter(call => call !== found)
    return found.id
  }
}

function derivedId(name: string, position: number): string {
  const hash = new Bun.CryptoHasher('sha256').update(`${name}\n${position}`).digest('hex').slice(0, 24)
  return `call_${hash}`
}
