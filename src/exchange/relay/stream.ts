import type { Clock } from '@/clock/clock.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { forgetAsked, freeSent, type Preparation } from '@/exchange/attempt/preparation.ts'
import type { Bill } from '@/exchange/billing/bill.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { Conversation } from '@/exchange/conversation.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/answer/json-array.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { AnswerPipeline } from './answer-pipeline.ts'
import { type Flow, relayFlow } from './flow.ts'
import type { OutletOptions } from './outlet.ts'
import { streamHeaders } from './reply.ts'

/**
 * A caller who wants a stream; see relayFlow.
 * @throws GatewayError when every route failed before any output
 */
export function relayStream(conversation: Conversation, onEnd: () => void): Promise<Response> {
  return relayFlow(conversation, new ConversationFlow(conversation), onEnd)
}

/** Of each format, what all of its streams write. */
const KEEPALIVES: Readonly<Record<Format, Uint8Array>> = {
  'openai-chat-completions': keepaliveOf('openai-chat-completions'),
  'openai-responses': keepaliveOf('openai-responses'),
  'anthropic-messages': keepaliveOf('anthropic-messages'),
  'gemini-generate-content': keepaliveOf('gemini-generate-content'),
}

function keepaliveOf(format: Format): Uint8Array {
  return Buffer.from(CODECS[format].keepalive)
}

/** One object for all that an open stream is asked, since thousands of them stay open for minutes. */
class ConversationFlow implements Flow<Preparation, AnswerPipeline>, OutletOptions {
  readonly clock: Clock
  readonly tellsAtEnd = true
  readonly #prompt: Prompt
  readonly #bill: Bill
  readonly #requestId: string

  constructor({ gateway, record, prompt, reservation }: Conversation) {
    this.clock = gateway.clock
    this.#prompt = prompt
    this.#bill = reservation.bill
    this.#requestId = record.id
  }

  get outlet(): OutletOptions {
    return this
  }

  get keepalive(): Uint8Array {
    return KEEPALIVES[this.#prompt.replyFormat]
  }

  get breakAfterError(): boolean {
    return this.#prompt.replyFormat === 'gemini-generate-content'
  }

  encodeError(error: GatewayError): Uint8Array {
    const createdAt = Math.floor(this.clock.now() / 1000)
    return Buffer.from(encodeLoneError(error, this.#prompt, { requestId: this.#requestId, createdAt }))
  }

  open(preparation: Preparation): AnswerPipeline {
    freeSent(preparation, this.#prompt)
    return new AnswerPipeline(this.#prompt, preparation, meter => this.#bill.usedUp(meter)?.usage)
  }

  committed(preparation: Preparation): void {
    forgetAsked(preparation, this.#prompt)
  }

  used(pipeline: AnswerPipeline): UsedUp | undefined {
    return this.#bill.usedUp(pipeline.meter)
  }

  look(pipeline: AnswerPipeline): GatewayError | undefined {
    return this.#bill.tick(pipeline.meter)
  }

  headers(): Record<string, string> {
    return streamHeaders(this.#prompt.framing)
  }
}

/** An error as all that a stream says. @param reply `createdAt` in seconds since 1970 */
function encodeLoneError(
  error: GatewayError,
  prompt: Prompt,
  reply: { requestId: string; createdAt: number },
): string {
  const response = { model: prompt.model, created_at: reply.createdAt }
  const event = CODECS[prompt.replyFormat].encodeErrorEvent(error, reply.requestId, { response })
  return prompt.framing === 'json-array' ? runMachine(createArrayFramer(), [event]).join('') : event
}
