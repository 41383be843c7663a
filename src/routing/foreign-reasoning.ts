import { dropOldest } from '@/clock/oldest.ts'
import type { Destination } from './order.ts'

/** Some megabytes at most; the oldest is forgotten first, which costs its conversation one refused request. */
const MAX_KNOWN = 50_000

/**
 * Who could not read the reasoning of which conversations, so that they are not asked with it in every later turn. A
 * conversation is known by the last signature that it held when it was refused; once a caller's history has lost that,
 * the destination is asked with whatever reasoning is left. Lost on restart, which costs one refused request each.
 */
export class ForeignReasoning {
  readonly #known = new Set<bigint>()

  /** The destination refused a conversation with these signatures. */
  refused(destination: Destination, signatures: readonly string[]): void {
    const last = signatures.at(-1)
    if (last === undefined) return
    this.#known.add(markOf(destination, last))
    dropOldest(this.#known, MAX_KNOWN)
  }

  /** Whether the place refused this conversation before. Who was never refused does not look at the conversation. */
  isKnown(destination: Destination, signatures: () => readonly string[]): boolean {
    if (this.#known.size === 0) return false
    return signatures().some(signature => this.#known.has(markOf(destination, signature)))
  }
}

function markOf({ channelId, keyId }: Destination, signature: string): bigint {
  return Bun.hash.xxHash64(`${channelId}/${keyId}/${signature}`)
}
