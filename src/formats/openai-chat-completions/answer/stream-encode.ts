import type { GatewayError } from '@/errors/gateway-error.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { cutAnswer } from '@/formats/faults/fault.ts'
import { wantsUsage } from '@/formats/openai-chat-completions/reply.ts'
import type { PlainWriter, StreamEncoder } from '@/formats/plain/plain-text.ts'
import type { EmitText, EventOf, GenerationEvent } from '@/generation/event.ts'
import type { Finish } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { CandidateEncoder } from './candidate-encode.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { encodeErrorEvent } from './error.ts'
import { MOST_CHOICES, SKIPPED } from './finish.ts'
import { encodeUsage } from './usage.ts'

/** Writes a stream of chunks: constant id, created and model; usage only if asked for; `[DONE]` at a true end. */
export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new ChunkEncoder(context)
}

class ChunkEncoder implements StreamEncoder {
  readonly #context: ReplyContext
  readonly #candidates: CandidateEncoder[] = []
  /** Which candidate each block belongs to. */
  readonly #owners: CandidateEncoder[] = []
  #serviceTier: string | undefined
  #writer: ChunkWriter | undefined
  #usage: Usage | undefined
  #isOver = false
  /** Written when the upstream has ended: some go on after they said why they would end. */
  readonly #finishes = new Map<number, Finish>()

  constructor(context: ReplyContext) {
    this.#context = context
  }

  push(event: GenerationEvent, emit: EmitText): void {
    if (this.#isOver) return
    switch (event.type) {
      case 'start':
        // The chunks that are begun keep their head; a tier told late stands in the last.
        if (event.serviceTier !== this.#serviceTier) this.#writer = undefined
        this.#serviceTier = event.serviceTier
        return
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
      case 'tool-input-start':
      case 'media':
        return this.#own(event, emit).push(event, emit)
      case 'text-delta':
      case 'text-citation':
      case 'text-end':
      case 'refusal-delta':
      case 'refusal-end':
      case 'reasoning-paragraph':
      case 'reasoning-delta':
      case 'reasoning-end':
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#owners[event.block]?.push(event, emit)
      // A server tool's doings, which this format has no word for, and what is held back of an answer.
      case 'opaque':
      case 'withheld':
        return
      case 'logprobs':
        return this.#candidate(event.candidate, emit).logprobs(event.content, emit)
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        this.#finishes.set(event.candidate, event.finish)
        return
      case 'error':
        return this.#fail(event.error, emit)
      default:
        event satisfies never
    }
  }

  end(emit: EmitText): void {
    if (this.#isOver) return
    // Every decoder tells of a cut answer itself; this keeps a silent one from looking like a success.
    if (this.#finishes.size === 0) {
      return this.#fail(cutAnswer(), emit)
    }
    this.#isOver = true
    for (const [index, finish] of this.#finishes) this.#candidate(index, emit).finish(finish, emit)
    // A choice that the upstream skipped began for those behind it, and OpenAI's helpers throw at one without an end.
    for (let index = 0; index < Math.min(this.#candidates.length, MOST_CHOICES); index += 1)
      if (!this.#finishes.has(index)) this.#candidates[index]?.finish(SKIPPED, emit)
    if (wantsUsage(this.#context.wire) && this.#usage !== undefined) {
      emit(this.#chunks().usage(encodeUsage(this.#usage)))
    }
    emit('data: [DONE]\n\n')
  }

  plainText(block: number): PlainWriter | undefined {
    return this.#isOver ? undefined : this.#owners[block]?.plainText(block)
  }

  #fail(error: GatewayError, emit: EmitText): void {
    this.#isOver = true
    emit(encodeErrorEvent(error, this.#context.requestId))
  }

  #own(
    event: EventOf<'text-start' | 'refusal-start' | 'reasoning-start' | 'tool-input-start' | 'media'>,
    emit: EmitText,
  ): CandidateEncoder {
    const owner = this.#candidate(event.candidate, emit)
    this.#owners[event.block] = owner
    return owner
  }

  /** Those before it begin first: OpenAI's helper for Python takes the order of first chunks for that of the choices. */
  #candidate(index: number, emit: EmitText): CandidateEncoder {
    let candidate = this.#candidates[index]
    if (candidate === undefined) {
      for (let before = this.#candidates.length; before < Math.min(index, MOST_CHOICES); before += 1)
        this.#candidate(before, emit).begin(emit)
      candidate = new CandidateEncoder(index, this.#context, this.#chunks())
      this.#candidates[index] = candidate
    }
    return candidate
  }

  #chunks(): ChunkWriter {
    this.#writer ??= new ChunkWriter(this.#context, this.#serviceTier)
    return this.#writer
  }
}
