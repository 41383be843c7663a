import type { Emit, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'

/**
 * Has one call open at a time, as OpenAI has: clients (agno) take what comes for the call that began last, and lose one
 * that is still open then. Upstreams that speak Chat end no call before the answer is over. What begins behind a call
 * that waits, waits with it, so that the order stays.
 */
export class CallQueue implements StreamMachine<GenerationEvent, GenerationEvent> {
  /** The block of the call that is being written. */
  #open: number | undefined
  /** The events of what waits, in the order of their beginnings. */
  readonly #waiting = new Map<number, GenerationEvent[]>()

  push(event: GenerationEvent, emit: Emit): void {
    if (event.type === 'finish' || event.type === 'error') this.end(emit)
    const block = 'block' in event ? event.block : undefined
    if (block === undefined) return emit(event)
    const waiting = this.#waiting.get(block)
    if (waiting !== undefined) {
      waiting.push(event)
    } else if (this.#mustWait(event)) {
      this.#waiting.set(block, [event])
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
  #mustWait(event: GenerationEvent): boolean {
    if (!('candidate' in event) || event.candidate !== 0) return false
    return this.#waiting.size > 0 || (event.type === 'tool-input-start' && this.#open !== undefined)
  }

  #pass(event: GenerationEvent, emit: Emit): void {
    if (event.type === 'tool-input-start' && event.candidate === 0) this.#open = event.block
    else if (event.type === 'tool-input-end' && event.block === this.#open) this.#open = undefined
    emit(event)
  }

  /** What waits, up to a call that has not ended yet. */
  #release(emit: Emit): void {
    for (const [block, events] of this.#waiting) {
      if (this.#open !== undefined) return
      this.#waiting.delete(block)
      for (const event of events) this.#pass(event, emit)
    }
  }
}
