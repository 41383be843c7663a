import { endsInHalfPair } from '@/formats/surrogates.ts'
import type { Emit, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'

/**
 * Keeps both halves of a surrogate pair in one delta. Readers that are strict about UTF-8 (Codex is written in Rust)
 * refuse the whole event that holds half a character; a half that stays alone becomes U+FFFD.
 */
export class PairJoiner implements StreamMachine<GenerationEvent, GenerationEvent> {
  /** The last delta of a block, for as long as its last half waits for the other. */
  readonly #waiting = new Map<number, Extract<GenerationEvent, { text: string }>>()

  /** True when a half waits, so that the next text may not pass as it is. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0
  }

  push(event: GenerationEvent, emit: Emit): void {
    if (!('text' in event)) {
      if (this.#waiting.size > 0 && 'block' in event) this.#release(event.block, emit)
      return emit(event)
    }
    const waiting = this.#waiting.get(event.block)
    if (waiting === undefined && !endsInHalfPair(event.text) && event.text.isWellFormed()) return emit(event)
    const text = (waiting?.text ?? '') + event.text
    this.#waiting.delete(event.block)
    const whole = endsInHalfPair(text) ? text.slice(0, -1) : text
    if (whole !== '') emit({ ...event, text: whole.toWellFormed() })
    if (whole !== text) this.#waiting.set(event.block, { ...event, text: text.slice(-1) })
  }

  end(emit: Emit): void {
    for (const block of [...this.#waiting.keys()]) this.#release(block, emit)
  }

  #release(block: number, emit: Emit): void {
    const waiting = this.#waiting.get(block)
    if (waiting === undefined) return
    this.#waiting.delete(block)
    emit({ ...waiting, text: waiting.text.toWellFormed() })
  }
}
