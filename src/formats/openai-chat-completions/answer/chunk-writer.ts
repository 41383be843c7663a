import type { ReplyContext } from '@/formats/codec.ts'
import { onePiece } from '@/formats/one-piece.ts'
import { openaiTier } from '@/formats/openai/shared-fields.ts'
import { replyId, wantsUsage } from '@/formats/openai-chat-completions/reply.ts'
import type { FinishReason } from '@/formats/openai-chat-completions/wire.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/** The two halves of a chunk around one value of its delta. */
export interface Around {
  before: string
  after: string
}

/** Writes whole chunks; what is constant in them was put together before. */
export class ChunkWriter {
  readonly #start: string
  readonly #end: string

  constructor(context: ReplyContext, serviceTier: string | undefined) {
    const head: JsonObject = {
      id: replyId(context),
      object: 'chat.completion.chunk',
      created: context.createdAt,
      model: context.model,
      ...openaiTier(serviceTier),
    }
    this.#start = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
    this.#end = wantsUsage(context.wire) ? '],"usage":null}\n\n' : ']}\n\n'
  }

  around(index: number, before: string, after: string): Around {
    return {
      before: onePiece(`${this.#open(index)}${before}`),
      after: onePiece(`${after}${this.#close()}`),
    }
  }

  delta(index: number, delta: JsonObject): string {
    return `${this.#open(index)}${JSON.stringify(delta)}${this.#close()}`
  }

  last(index: number, reason: FinishReason): string {
    return `${this.#open(index)}{},"logprobs":null,"finish_reason":"${reason}"}${this.#end}`
  }

  logprobs(index: number, content: readonly JsonValue[]): string {
    const logprobs = JSON.stringify({ content, refusal: null })
    return `${this.#open(index)}{},"logprobs":${logprobs},"finish_reason":null}${this.#end}`
  }

  usage(usage: JsonObject): string {
    return `${this.#start}],"usage":${JSON.stringify(usage)}}\n\n`
  }

  #open(index: number): string {
    return `${this.#start}{"index":${index},"delta":`
  }

  #close(): string {
    return `,"logprobs":null,"finish_reason":null}${this.#end}`
  }
}
