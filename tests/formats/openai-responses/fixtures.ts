import OpenAI from 'openai'
import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { decodeContext as decodeContextOf, eventsOf } from '#tests/transcripts/conversion.ts'
import { recordings } from '#tests/transcripts/recording.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asArray, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'

const FORMAT = 'openai-responses'

/** Every recording, behind its name. */
export const RECORDINGS = recordings(FORMAT).map(recorded => [recorded.name, recorded] as const)

export const decodeContext = () => decodeContextOf(FORMAT)

/** The events of a stream given as the data objects of its events. */
export function decodeData(data: readonly JsonObject[]): GenerationEvent[] {
  const events = data.map(entry => ({ event: asString(entry['type']), data: JSON.stringify(entry) }))
  return runMachine(openaiResponses.createStreamDecoder(decodeContext()), events)
}

export function decodeStream(bytes: Uint8Array): GenerationEvent[] {
  return eventsOf(FORMAT, [bytes])
}

export function request(body: JsonObject): GenerationRequest {
  return openaiResponses.decodeRequest(
    { model: 'm', ...body },
    { model: asString(body['model']) ?? 'm', stream: body['stream'] === true },
  )
}

export function replyContext(wire: JsonObject = { model: 'm', input: 'hi' }): ReplyContext {
  return {
    requestId: '0198f7a2-0000-7000-8000-00000000000a',
    createdAt: 1_763_600_000,
    model: asString(wire['model']) ?? 'm',
    request: request(wire),
    wire,
    estimatedInputTokens: undefined,
  }
}

export function encodeStream(events: Iterable<GenerationEvent>, wire?: JsonObject): string {
  return runMachine(openaiResponses.createStreamEncoder(replyContext(wire)), events).join('')
}

/** The data objects of an encoded stream. */
export function dataOf(text: string): JsonObject[] {
  return runMachine(createSseParser(), [Buffer.from(text)]).map(event => parseObject(event.data) ?? {})
}

/** The items of the final response of an encoded stream. */
export function finalOutput(text: string): JsonObject[] {
  const response = asObject(dataOf(text).at(-1)?.['response'])
  return asArray(response?.['output']).map(item => asObject(item) ?? {})
}

/** What the official SDK's own accumulator makes of these bytes. */
export async function sdkFinal(text: string) {
  const client = new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
  })
  const body: ResponseCreateParamsStreaming = { model: 'm', input: 'hi', stream: true }
  return await client.responses.stream(body).finalResponse()
}
