import { decodeContext as decodeContextOf, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import type { ReplyContext, Target } from '@/formats/codec.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'

export const decodeContext = () => decodeContextOf('openai-chat-completions', 'upstream.example')

export function decodeRequest(body: JsonObject): GenerationRequest {
  return openaiChatCompletions.decodeRequest(body, { model: 'm', stream: body['stream'] === true })
}

/** A request with one user message and these fields. */
export function requestOf(fields: JsonObject): GenerationRequest {
  return decodeRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields })
}

export function targetOf(model: string, vendor = 'upstream.example'): Target {
  return { model, vendor, maxOutputTokens: undefined }
}

export function replyContext(wire: JsonObject = {}): ReplyContext {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...wire }
  return {
    requestId: REQUEST_ID,
    createdAt: 1_763_650_800,
    model: 'm',
    request: decodeRequest(body),
    wire: body,
    estimatedInputTokens: undefined,
  }
}

/** The events of a stream in these pieces. */
export function decodeBytes(chunks: Iterable<Uint8Array>): GenerationEvent[] {
  const decoder = openaiChatCompletions.createStreamDecoder(decodeContext())
  return runMachine(compose(createSseParser(), decoder), chunks)
}

/** The events of these chunks; a string stands for itself. */
export function decodeChunks(chunks: readonly (JsonObject | string)[]): GenerationEvent[] {
  const events = chunks.map(
    (chunk): SseEvent => ({
      event: undefined,
      data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
    }),
  )
  return runMachine(openaiChatCompletions.createStreamDecoder(decodeContext()), events)
}

/** A chunk with one choice. */
export function chunk(delta: JsonObject, fields: JsonObject = {}): JsonObject {
  return { id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: null, ...fields }] }
}

/** The chunk that ends a choice. */
export function finish(reason: string, fields: JsonObject = {}): JsonObject {
  return chunk({}, { finish_reason: reason, ...fields })
}

/** A delta with one tool call entry. */
export function call(entry: JsonObject): JsonObject {
  return chunk({ tool_calls: [entry] })
}

export function encodeEvents(events: Iterable<GenerationEvent>, wire: JsonObject = {}): string {
  return runMachine(openaiChatCompletions.createStreamEncoder(replyContext(wire)), events).join('')
}

/** The data objects of a written stream, without `[DONE]`. */
export function dataOf(stream: string): JsonObject[] {
  return runMachine(createSseParser(), [Buffer.from(stream)])
    .map(event => parseObject(event.data))
    .filter(data => data !== undefined)
}

/** The deltas of candidate 0. */
export function deltasOf(stream: string): JsonObject[] {
  return dataOf(stream)
    .map(data => asObject(asArray(data['choices'])[0]))
    .map(choice => asObject(choice?.['delta']))
    .filter(delta => delta !== undefined)
}
