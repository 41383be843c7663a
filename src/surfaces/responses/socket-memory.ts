import { dropOldest } from '@/clock/oldest.ts'
import type { TurnMemory } from '@/exchange/responses/turn.ts'

/** Conversations that a connection may go on with. The last one is what clients go on with; the rest are for branches. */
const CAPACITY = 8

/** What one connection's answers were, so that the next request may go on from one that nobody stored. */
export class SocketMemory implements TurnMemory {
  readonly #conversations = new Map<string, readonly string[]>()
  readonly #maxBytes: number

  /** @param maxBytes a conversation that is longer could not be sent to an upstream either */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  find(id: string): readonly string[] | undefined {
    return this.#conversations.get(id)
  }

  /** Conversations share the texts of the turns they share, so each costs no more than its last turn. */
  remember(id: string, items: readonly string[]): void {
    const size = items.reduce((sum, item) => sum + item.length, 0)
    if (size > this.#maxBytes) return
    this.#conversations.delete(id)
    this.#conversations.set(id, items)
    dropOldest(this.#conversations, CAPACITY)
  }
}
