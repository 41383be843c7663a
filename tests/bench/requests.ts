import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import { agentText } from './scenarios.ts'

/** Bodies of requests as agents send them, by size. */
export const SIZES = { '2 kB': 2_000, '200 kB': 200_000, '2 MB': 2_000_000 } as const

/** A request of about this size in the words of a format: a long talk with tool calls, their results, and tools. */
function requestBody(format: Format, bytes: number): Uint8Array {
  const chat = chatRequest(bytes)
  if (format === 'openai-chat-completions') return encode(chat)
  const call = { model: TARGETS['openai-chat-completions'].model, stream: true }
  const request = CODECS['openai-chat-completions'].decodeRequest(chat, call)
  const { body } = lowerRequest(request, CODECS[format], TARGETS[format], USUAL_HABITS)
  return encode(body)
}

/** The work of writing a caller's body anew for an upstream of another format. */
export function rewriting(caller: Format, upstream: Format, bytes: number): () => Uint8Array {
  const raw = requestBody(caller, bytes)
  const model = TARGETS[caller].model
  return () => {
    const json: unknown = JSON.parse(utf8Decoder.decode(raw))
    const request = CODECS[caller].decodeRequest(asObject(json) ?? {}, { model, stream: true })
    return encode(lowerRequest(request, CODECS[upstream], TARGETS[upstream], USUAL_HABITS).body)
  }
}

/** The work of handing a body on with another model name, once it was read. */
export function renaming(bytes: number): () => Uint8Array {
  const raw = requestBody('openai-chat-completions', bytes)
  const edits = [{ path: ['model'], value: 'another-model' }]
  const parsed = asObject(JSON.parse(utf8Decoder.decode(raw)))
  return () => spliceJson(raw, edits, parsed)
}

/** The work of one JSON.parse, as a yardstick. */
export function parsing(bytes: number): () => JsonValue {
  const text = utf8Decoder.decode(requestBody('openai-chat-completions', bytes))
  return () => JSON.parse(text)
}

const utf8Decoder = new TextDecoder()

function encode(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body))
}

/** A result of a tool is at most this long; a larger request has more of them. */
const RESULT_BYTES = 4_000

function chatRequest(bytes: number): JsonObject {
  const rounds = Math.max(1, Math.floor(bytes / (RESULT_BYTES + 400)))
  const resultBytes = Math.min(RESULT_BYTES, bytes * 0.6)
  const history = Array.from({ length: rounds }, (_, round) => roundOf(round, resultBytes)).flat()
  return {
    model: TARGETS['openai-chat-completions'].model,
    stream: true,
    messages: [
      { role: 'system', content: 'You are a coding agent. Answer in short sentences.' },
      { role: 'user', content: 'Find out why the test fails.' },
      ...history,
      { role: 'user', content: 'Go on.' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'read_file',
          description: 'Reads a file of the workspace.',
          parameters: {
            type: 'object',
            properties: { path: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
            required: ['path'],
          },
        },
      },
    ],
  }
}

function roundOf(round: number, resultBytes: number): JsonObject[] {
  const id = `call_${round}`
  const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/file-${round}.ts`, limit: 200 }) }
  return [
    {
      role: 'assistant',
      content: 'I look at the file.',
      tool_calls: [{ id, type: 'function', function: call }],
    },
    { role: 'tool', tool_call_id: id, content: agentText(resultBytes) },
  ]
}
