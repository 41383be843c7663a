/** A call of the conversation, while its result may still come. */
interface OpenCall {
  id: string
  /** Those of its name in its turn, itself among them while it is open. */
  peers: Set<OpenCall>
}

/** The calls of one name in one turn that are open. */
interface NamedCalls {
  turn: number
  calls: Set<OpenCall>
}

/**
 * Ids for calls and results of a conversation that may have none. Derived from name and position, so that call and
 * result agree and the next request of the same conversation derives the same ones.
 */
export class DerivedCallIds {
  #count = 0
  #open = 0
  readonly #byId = new Map<string, Set<OpenCall>>()
  /** In the order of the turns. */
  readonly #byName = new Map<string, NamedCalls[]>()

  /** How many calls wait for their result. */
  get open(): number {
    return this.#open
  }

  /** The id of the next call. */
  call(name: string, given: string | undefined, turn: number): string {
    const id = given === undefined || given === '' ? derivedId(name, this.#count) : given
    this.#count += 1
    this.#open += 1
    const { calls: peers } = this.#named(name, turn)
    const open = { id, peers }
    peers.add(open)
    const namesakes = this.#byId.get(id)
    if (namesakes === undefined) this.#byId.set(id, new Set([open]))
    else namesakes.add(open)
    return id
  }

  /** The id of the call that a result answers: by its id, else the first open call of its name in the last turn. */
  result(name: string, given: string | undefined): string {
    const found = first(this.#byId.get(given ?? '')) ?? first(this.#lastNamed(name))
    if (found === undefined) return given ?? derivedId(`result of ${name}`, this.#count)
    this.#open -= 1
    found.peers.delete(found)
    this.#byId.get(found.id)?.delete(found)
    return found.id
  }

  #named(name: string, turn: number): NamedCalls {
    const turns = this.#byName.get(name) ?? []
    this.#byName.set(name, turns)
    const last = turns.at(-1)
    if (last?.turn === turn) return last
    const calls: NamedCalls = { turn, calls: new Set() }
    turns.push(calls)
    return calls
  }

  /** The open calls of a name in the last turn that has any. */
  #lastNamed(name: string): Set<OpenCall> | undefined {
    const turns = this.#byName.get(name) ?? []
    while (turns.at(-1)?.calls.size === 0) turns.pop()
    return turns.at(-1)?.calls
  }
}

function first<T>(items: Set<T> | undefined): T | undefined {
  return items?.values().next().value
}

function derivedId(name: string, position: number): string {
  const hash = new Bun.CryptoHasher('sha256').update(`${name}\n${position}`).digest('hex').slice(0, 24)
  return `call_${hash}`
}
