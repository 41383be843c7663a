import { dropOldest } from '@/clock/oldest.ts'
import type { TurnMemory } from '@/exchange/responses/turn.ts'

/** Conversations that a connection may go on with. The last one is what clients go on with; the rest are for branches. */
const CAPACITY = 8

/** What one connection's answers were, so that the next request may go on from one that nobody stored. */
export class SocketMemory implements TurnMemory {
  readonly #conversations = new Map<string, readonly string[]>()
  readonly #maxBytes: number

  /**
   * @param maxBytes a conversation that is longer could not be sent to an upstream either; all of them together are no
   * longer, or eight prompts of a few images would be half a gigabyte for as long as their connection is open
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  find(id: string): readonly string[] | undefined {
    return this.#conversations.get(id)
  }

  remember(id: string, items: readonly string[]): void {
    if (items.reduce((length, item) => length + item.length, 0) > this.#maxBytes) return
    this.#conversations.delete(id)
    this.#conversations.set(id, this.#shared(items))
    dropOldest(this.#conversations, CAPACITY)
    while (this.#length() > this.#maxBytes) dropOldest(this.#conversations, this.#conversations.size - 1)
  }

  /** The same texts, each as it is held already: what many turns say is in memory once. */
  #shared(items: readonly string[]): string[] {
    const held = new Map([...this.#conversations.values()].flat().map(text => [text, text]))
    return items.map(item => held.get(item) ?? item)
  }

  #length(): number {
    let length = 0
    for (const text of new Set([...this.#conversations.values()].flat())) length += text.length
    return length
  }
}
