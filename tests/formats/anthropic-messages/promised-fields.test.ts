import { expect, test } from 'bun:test'
import type {
  Message,
  MessageDeltaUsage,
  RawMessageDeltaEvent,
  TextBlock,
  ToolUseBlock,
  Usage,
} from '@anthropic-ai/sdk/resources/messages/messages'
import { call } from '#tests/formats/parts.ts'
import { encodeResponse } from '@/formats/anthropic-messages/answer/response.ts'
import { createStreamEncoder } from '@/formats/anthropic-messages/answer/stream-encode.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { asArray, asObject, type JsonValue } from '@/json/json.ts'

/** The names that the SDK's types promise; the type checker names one that is missing. */
type Promised<T> = Record<{ [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T], true>

const USAGE: Promised<Usage> = {
  cache_creation: true,
  cache_creation_input_tokens: true,
  cache_read_input_tokens: true,
  inference_geo: true,
  input_tokens: true,
  output_tokens: true,
  output_tokens_details: true,
  server_tool_use: true,
  service_tier: true,
  speed: true,
}
const MESSAGE: Promised<Message> = {
  id: true,
  container: true,
  content: true,
  diagnostics: true,
  model: true,
  role: true,
  stop_details: true,
  stop_reason: true,
  stop_sequence: true,
  type: true,
  usage: true,
}
const DELTA_USAGE: Promised<MessageDeltaUsage> = {
  cache_creation_input_tokens: true,
  cache_read_input_tokens: true,
  input_tokens: true,
  output_tokens: true,
  output_tokens_details: true,
  server_tool_use: true,
}
const DELTA: Promised<RawMessageDeltaEvent.Delta> = {
  container: true,
  stop_details: true,
  stop_reason: true,
  stop_sequence: true,
}
const TEXT: Promised<TextBlock> = { citations: true, text: true, type: true }
/** `input` is `unknown`, which may be undefined. */
const CALL: Promised<Omit<ToolUseBlock, 'input'>> = { caller: true, id: true, name: true, type: true }

const CONTEXT: ReplyContext = {
  requestId: 'r',
  createdAt: 0,
  model: 'm',
  request: { reasoning: undefined },
  wire: {},
  estimatedInputTokens: undefined,
}

/** An answer as a vendor that is not Anthropic gives it; nobody told its usage. */
const ANSWER: GenerationResponse = {
  id: undefined,
  model: undefined,
  candidates: [
    {
      index: 0,
      parts: [textPart('Let me look.'), call('c', { name: 'weather', input: '{"city":"Paris"}' })],
      finish: { reason: 'tool-calls', stopSequence: undefined, message: undefined },
      logprobs: [],
    },
  ],
  usage: undefined,
  serviceTier: undefined,
}

/** Java's SDK throws where one is read that is not there. */
test('a whole answer has every field that the official SDK promises', () => {
  const message = encodeResponse(ANSWER, CONTEXT)
  expectFields(message, MESSAGE)
  expectFields(message['usage'], USAGE)
  const [text, toolUse] = Array.isArray(message['content']) ? message['content'] : []
  expectFields(text, TEXT)
  expectFields(toolUse, CALL)
  expect(asObject(toolUse)?.['caller']).toEqual({ type: 'direct' })
})

test('a streamed answer has every field that the official SDK promises', () => {
  const frames: string[] = []
  const encoder = createStreamEncoder(CONTEXT)
  for (const event of replay(ANSWER)) encoder.push(event, frame => frames.push(frame))
  encoder.end(frame => frames.push(frame))
  const events = frames.map(frame => asObject(JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7))) ?? {})
  const [start] = events.filter(event => event['type'] === 'message_start')
  expectFields(start?.['message'], MESSAGE)
  expectFields(asObject(start?.['message'])?.['usage'], USAGE)
  const [text, toolUse] = events.filter(event => event['type'] === 'content_block_start')
  expectFields(text?.['content_block'], TEXT)
  expectFields(toolUse?.['content_block'], CALL)
  const [end] = events.filter(event => event['type'] === 'message_delta')
  expectFields(end?.['delta'], DELTA)
  expectFields(end?.['usage'], DELTA_USAGE)
})

/** The AI SDK, up to its version 6, refuses null there, and with it the whole answer. */
test('a text without sources has an empty list of them', () => {
  const { content } = encodeResponse(ANSWER, CONTEXT)
  expect(asArray(content)[0]).toEqual({ type: 'text', text: 'Let me look.', citations: [] })
})

function expectFields(value: JsonValue | undefined, fields: Readonly<Record<string, true>>): void {
  expect(Object.keys(asObject(value) ?? {})).toEqual(expect.arrayContaining(Object.keys(fields)))
}
