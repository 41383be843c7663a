import { type BlockEvent, type Emit, type GenerationEvent, withhold } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'

/** What begins a block, or is all of one. */
type Beginning = Extract<BlockEvent, { candidate: number }>['type']

/**
 * Has one block of some kinds open at a time. Another one that begins meanwhile waits until that one has ended, and what
 * begins behind it waits with it, so that the order stays.
 */
export class BlockQueue implements StreamMachine<GenerationEvent, GenerationEvent> {
  readonly #kinds: ReadonlySet<BlockEvent['type']>
  /** The block of these kinds that is open. */
  #open: number | undefined
  /** The events of what waits, in the order of their beginnings. */
  readonly #waiting = new Map<number, BlockEvent[]>()

  constructor(kinds: ReadonlySet<Beginning>) {
    this.#kinds = kinds
  }

  push(event: GenerationEvent, emit: Emit): void {
    if (event.type === 'finish' || event.type === 'error') this.end(emit)
    if (!('block' in event)) return emit(event)
    const waiting = this.#waiting.get(event.block)
    if (waiting !== undefined) {
      waiting.push(event)
      if ('text' in event) withhold(event.text, emit)
    } else if (this.#mustWait(event)) {
      this.#waiting.set(event.block, [event])
    } else {
      this.#pass(event, emit)
      if (this.#open === undefined) this.#release(emit)
    }
  }

  /** Lets everything go, because nothing can end what is open any more. */
  end(emit: Emit): void {
    this.#open = undefined
    while (this.#waiting.size > 0) {
      this.#release(emit)
      this.#open = undefined
    }
  }

  /** Only what begins a block can be put off; the rest belongs to a block that is open. */
  #mustWait(event: BlockEvent): boolean {
    if (!('candidate' in event) || event.candidate !== 0) return false
    return this.#waiting.size > 0 || (this.#open !== undefined && this.#kinds.has(event.type))
  }

  #pass(event: BlockEvent, emit: Emit): void {
    if ('candidate' in event) {
      const goesOn = event.type !== 'media' && event.type !== 'opaque'
      if (event.candidate === 0 && goesOn && this.#kinds.has(event.type)) this.#open = event.block
    } else if (event.block === this.#open && event.type.endsWith('-end')) {
      this.#open = undefined
    }
    emit(event)
  }

  /** What waits, up to a block that has not ended yet. */
  #release(emit: Emit): void {
    for (const [block, events] of this.#waiting) {
      if (this.#open !== undefined) return
      this.#waiting.delete(block)
      for (const event of events) {
        if ('text' in event) emit({ type: 'withheld', bytes: -Buffer.byteLength(event.text) })
        this.#pass(event, emit)
      }
    }
  }
}
