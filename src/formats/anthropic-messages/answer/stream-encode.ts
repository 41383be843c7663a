import type { GatewayError } from '@/errors/gateway-error.ts'
import { REPLY_NULLS, replyId, thoughtDisplay } from '@/formats/anthropic-messages/reply.ts'
import { SearchBlocks } from '@/formats/anthropic-messages/search-blocks.ts'
import { BlockQueue } from '@/formats/block-queue.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { cutAnswer } from '@/formats/faults/fault.ts'
import type { PlainWriter, StreamEncoder } from '@/formats/plain/plain-text.ts'
import { QueuedEncoder } from '@/formats/queued-encoder.ts'
import type { BlockEvent, EmitText, GenerationEvent } from '@/generation/event.ts'
import type { Finish } from '@/generation/response.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import { formatEvent } from '@/sse/event.ts'
import { BlockWriter } from './block-writer.ts'
import { encodeErrorEvent } from './error.ts'
import { encodeFinish } from './finish.ts'
import { encodeMessageUsage, encodeUsage, UNTOLD_USAGE } from './usage.ts'

/**
 * Writes a stream for the caller. The format has one block open at a time: what begins meanwhile waits until that one has
 * ended, while its own deltas flow at once. The end is written when the upstream has ended, because the true usage may
 * come after the finish.
 */
export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new QueuedEncoder(new BlockQueue(QUEUED), new EventEncoder(context))
}

const QUEUED = new Set([
  'text-start',
  'refusal-start',
  'reasoning-start',
  'tool-input-start',
  'media',
  'opaque',
] as const)

class EventEncoder implements StreamEncoder {
  readonly #context: ReplyContext
  readonly #writer: BlockWriter
  readonly #thoughts: boolean
  /** The texts of the answer, and the sources that came when theirs was over. */
  readonly #texts = new Set<number>()
  readonly #lateCitations: BlockEvent[] = []
  #started = false
  #failed = false
  #finish: Finish | undefined
  #usage: Usage | undefined

  constructor(context: ReplyContext) {
    const display = thoughtDisplay(context.request)
    this.#context = context
    this.#thoughts = display !== 'hidden'
    this.#writer = new BlockWriter(display, new SearchBlocks(context))
  }

  push(event: GenerationEvent, emit: EmitText): void {
    if (this.#failed) return
    switch (event.type) {
      case 'start':
        return this.#start(emit, event.serviceTier)
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        if (event.candidate === 0) this.#finish = event.finish
        return
      case 'error':
        return this.#fail(event.error, emit)
      case 'logprobs':
      case 'withheld':
        return
      default:
        this.#start(emit)
        this.#write(event, emit)
    }
  }

  end(emit: EmitText): void {
    if (this.#failed) return
    const finish = this.#finish
    if (finish === undefined) return this.#fail(cutAnswer(), emit)
    this.#start(emit)
    this.#writer.close(emit)
    this.#writeLate(emit)
    this.#writer.end(emit)
    emit(formatEvent('message_delta', JSON.stringify(this.#messageDelta(finish))))
    emit('event: message_stop\ndata: {"type":"message_stop"}\n\n')
  }

  plainText(block: number): PlainWriter | undefined {
    return this.#failed ? undefined : this.#writer.plainText(block)
  }

  #start(emit: EmitText, serviceTier?: string): void {
    if (this.#started) return
    this.#started = true
    const { model, estimatedInputTokens = 0 } = this.#context
    const message = {
      id: replyId(this.#context),
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      ...REPLY_NULLS,
      usage: encodeMessageUsage({ ...NO_USAGE, inputUncached: estimatedInputTokens }, serviceTier),
    }
    emit(formatEvent('message_start', JSON.stringify({ type: 'message_start', message })))
  }

  /** Into the open block or a new one. Sources may come when theirs has ended. */
  #write(event: BlockEvent, emit: EmitText): void {
    if ('candidate' in event) {
      if (!this.#isShown(event)) return
      if (event.type === 'text-start') this.#texts.add(event.block)
      // One that never ended does so here.
      this.#writer.close(emit)
      this.#writer.write(event, emit)
    } else if (event.block === this.#writer.block) this.#writer.write(event, emit)
    else if (event.type === 'text-citation' && this.#texts.has(event.block)) this.#lateCitations.push(event)
  }

  /** Blocks of other candidates and hidden thoughts are left out with all of their events. */
  #isShown(event: Extract<BlockEvent, { candidate: number }>): boolean {
    return event.candidate === 0 && (this.#thoughts || event.type !== 'reasoning-start')
  }

  /** A block that has ended takes no more: an empty text of their own holds its late sources. */
  #writeLate(emit: EmitText): void {
    const block = this.#lateCitations[0]?.block
    if (block === undefined) return
    this.#writer.write({ type: 'text-start', block, candidate: 0 }, emit)
    for (const event of this.#lateCitations) this.#writer.write(event, emit)
  }

  #messageDelta(finish: Finish): object {
    return {
      type: 'message_delta',
      delta: { ...encodeFinish(finish, this.#writer.written), container: null },
      usage: this.#usage === undefined ? UNTOLD_USAGE : encodeUsage(this.#usage),
    }
  }

  #fail(error: GatewayError, emit: EmitText): void {
    this.#failed = true
    emit(encodeErrorEvent(error, this.#context.requestId))
  }
}
