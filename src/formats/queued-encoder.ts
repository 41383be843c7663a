import type { EmitText, GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { BlockQueue } from './block-queue.ts'
import type { PlainWriter, StreamEncoder } from './plain/plain-text.ts'

/** An encoder that is given its blocks as a queue lets them through. */
export class QueuedEncoder implements StreamEncoder {
  readonly #encoder: StreamEncoder
  readonly #machine: StreamMachine<GenerationEvent, string>

  constructor(queue: BlockQueue, encoder: StreamEncoder) {
    this.#encoder = encoder
    this.#machine = compose(queue, encoder)
  }

  push(event: GenerationEvent, emit: EmitText): void {
    this.#machine.push(event, emit)
  }

  end(emit: EmitText): void {
    this.#machine.end(emit)
  }

  plainText(block: number): PlainWriter | undefined {
    return this.#encoder.plainText(block)
  }
}
