import { decodeContext, eventsOf, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import type { Codec, ReplyContext, Target } from '@/formats/codec.ts'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'

export const codec: Codec = geminiGenerateContent

/** A JSON object of a fixture; a fixture that is none is a broken test. */
export function parse(text: string): JsonObject {
  const value: unknown = JSON.parse(text)
  if (!isJsonObject(value)) throw new Error(`not a JSON object: ${text.slice(0, 80)}`)
  return value
}

export function target(model: string): Target {
  return { model, vendor: 'google', maxOutputTokens: undefined }
}

export const CALL = { model: 'gemini-2.5-flash', stream: true }

/** A request that says nothing but these fields. */
export function generationRequest(fields: Partial<GenerationRequest> = {}): GenerationRequest {
  return { ...codec.decodeRequest({ contents: [{ parts: [{ text: 'hi' }] }] }, CALL), ...fields }
}

export function replyContext(request: GenerationRequest = generationRequest()): ReplyContext {
  return {
    requestId: REQUEST_ID,
    createdAt: 1_790_000_000,
    model: 'my/model:1',
    request,
    wire: {},
    estimatedInputTokens: undefined,
  }
}

/** What the decoder makes of a stream's bytes. */
export function decodeBytes(chunks: readonly Uint8Array[]): GenerationEvent[] {
  return eventsOf('gemini-generate-content', chunks)
}

/** What the decoder makes of these chunks, each one event. */
export function decodeChunks(...chunks: (JsonObject | string)[]): GenerationEvent[] {
  const events = chunks.map(
    (chunk): SseEvent => ({
      event: undefined,
      data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
    }),
  )
  return runMachine(codec.createStreamDecoder(decodeContext('gemini-generate-content')), events)
}

/** One chunk with one candidate. */
export function chunk(parts: JsonObject[], more: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { role: 'model', parts }, ...more }], responseId: 'r', modelVersion: 'm' }
}

/** What the encoder writes for these events, as text and as the objects inside. */
export function encodeEvents(
  events: readonly GenerationEvent[],
  request?: GenerationRequest,
): { text: string; chunks: JsonObject[] } {
  const text = runMachine(codec.createStreamEncoder(replyContext(request)), events).join('')
  const parsed = runMachine(createSseParser(), [Buffer.from(text)])
  return { text, chunks: parsed.map(event => parse(event.data)) }
}
