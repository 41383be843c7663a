import { readdirSync, readFileSync } from 'node:fs'
import type { Codec, DecodeContext, ReplyContext, Target } from '@/formats/codec.ts'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, runMachine } from '@/generation/machine.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'

export const codec: Codec = geminiGenerateContent

const ROOT = new URL('../../transcripts/gemini-generate-content/', import.meta.url)

export const CASES = readdirSync(ROOT).sort()

export interface Transcript {
  request: JsonObject
  response: JsonObject | undefined
  stream: Uint8Array
}

export function transcript(name: string): Transcript {
  const folder = new URL(`${name}/`, ROOT)
  const files = readdirSync(folder)
  const json = (file: string): JsonObject => parse(readFileSync(new URL(file, folder), 'utf8'))
  return {
    request: json('request.json'),
    response: files.includes('response.json') ? json('response.json') : undefined,
    stream: readFileSync(new URL('stream.sse', folder)),
  }
}

/** A JSON object of a fixture; a fixture that is none is a broken test. */
export function parse(text: string): JsonObject {
  const value: unknown = JSON.parse(text)
  if (!isJsonObject(value)) throw new Error(`not a JSON object: ${text.slice(0, 80)}`)
  return value
}

export function decodeContext(): DecodeContext {
  let count = 0
  return {
    vendor: 'google',
    newId: () => {
      count += 1
      return `call_${count}`
    },
  }
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
    requestId: '0198c0de-0000-7000-8000-000000000001',
    createdAt: 1_790_000_000,
    model: 'my/model:1',
    request,
    wire: {},
    estimatedInputTokens: undefined,
  }
}

/** What the decoder makes of a stream's bytes. */
export function decodeBytes(chunks: Iterable<Uint8Array>): GenerationEvent[] {
  return runMachine(compose(createSseParser(), codec.createStreamDecoder(decodeContext())), chunks)
}

/** What the decoder makes of these chunks, each one event. */
export function decodeChunks(...chunks: (JsonObject | string)[]): GenerationEvent[] {
  const events = chunks.map(
    (chunk): SseEvent => ({
      event: undefined,
      data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
    }),
  )
  return runMachine(codec.createStreamDecoder(decodeContext()), events)
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
