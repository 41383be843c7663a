import { EMPTY_REQUEST as NOTHING_ASKED } from '#tests/formats/empty-request.ts'
import { eventsOf as decoded, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import type { GatewayError } from '@/errors/gateway-error.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import type { ReplyContext, Target } from '@/formats/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'

export const EMPTY_REQUEST: GenerationRequest = { ...NOTHING_ASKED, model: 'claude-sonnet-4-5' }

export function replyContext(request: Partial<GenerationRequest> = {}): ReplyContext {
  return {
    requestId: REQUEST_ID,
    createdAt: 1_763_600_000,
    model: 'the-model',
    request: { ...EMPTY_REQUEST, ...request },
    wire: {},
    estimatedInputTokens: 17,
  }
}

export function target(model = 'claude-sonnet-4-5', fields: Partial<Target> = {}): Target {
  return { model, vendor: 'anthropic', maxOutputTokens: undefined, ...fields }
}

/** A request as the codec reads it from this body. */
export function decode(body: JsonObject): GenerationRequest {
  const whole: JsonObject = {
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
    ...body,
  }
  return anthropicMessages.decodeRequest(whole, { model: 'm', stream: whole['stream'] === true })
}

/** The same as an upstream of this format is sent it. */
export function encode(request: Partial<GenerationRequest>, to: Target = target()) {
  return anthropicMessages.encodeRequest({ ...EMPTY_REQUEST, ...request }, to)
}

/** Events of a stream given as text or bytes; `split` cuts the bytes there. */
export function eventsOf(sse: string, split?: number): GenerationEvent[] {
  const bytes = Buffer.from(sse)
  const reads = split === undefined ? [bytes] : [bytes.subarray(0, split), bytes.subarray(split)]
  return decoded('anthropic-messages', reads)
}

/** A stream of these events, named by their type. */
export function sse(...events: JsonObject[]): string {
  return events.map(event => `event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

/** What the caller is sent for these events. */
export function written(events: Iterable<GenerationEvent>, context = replyContext()): string {
  return runMachine(anthropicMessages.createStreamEncoder(context), events).join('')
}

/** The data objects of a written stream. */
export function dataOf(stream: string): JsonObject[] {
  return stream
    .split('\n')
    .filter(line => line.startsWith('data: '))
    .map(line => {
      const value: unknown = JSON.parse(line.slice('data: '.length))
      if (!isJsonObject(value)) throw new Error(`no object: ${line}`)
      return value
    })
}

export function errorOf(events: readonly GenerationEvent[]): GatewayError | undefined {
  const last = events.at(-1)
  return last?.type === 'error' ? last.error : undefined
}

/** The error that this call throws. */
export function thrown(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
