import { do_not_optimize } from 'mitata'
import { decodeContext, replyContext } from '#tests/transcripts/conversion.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { formatEvent, type SseEvent } from '@/sse/event.ts'

/** A stream of one format in pieces: how it begins, and one event that can come any number of times. */
interface Stream {
  head: readonly SseEvent[]
  delta: SseEvent
}

type DeltaKind = 'text' | 'tool'

/** Pushes before a machine is made anew, since some keep all that they were told. */
const STREAM_LENGTH = 1000

const utf8 = new TextEncoder()

/** The work of one delta from bytes to bytes, as the exchange does it: parse, decode, hub, encode, serialise. */
export function conversion(upstream: Format, caller: Format, kind: DeltaKind = 'text'): () => void {
  const { head, delta } = STREAMS[upstream][kind]
  const start = bytesOf(...head)
  const chunk = bytesOf(delta)
  const request = replyContext(caller, REQUESTS[caller])
  return renewed(
    () => {
      const pipeline = new HubPipeline({
        decoder: CODECS[upstream].createStreamDecoder(decodeContext(upstream)),
        raiser: undefined,
        encoder: CODECS[caller].createStreamEncoder(request),
        framer: undefined,
        caller: CODECS[caller],
        count: () => undefined,
      })
      pipeline.push(start, do_not_optimize)
      return pipeline
    },
    pipeline => pipeline.push(chunk, do_not_optimize),
  )
}

/** The work of one parsed event up to the neutral model. */
export function decoding(format: Format, kind: DeltaKind): () => void {
  const { head, delta } = STREAMS[format][kind]
  return renewed(
    () => {
      const decoder = CODECS[format].createStreamDecoder(decodeContext(format))
      for (const event of head) decoder.push(event, do_not_optimize)
      return decoder
    },
    decoder => decoder.push(delta, do_not_optimize),
  )
}

/** The work of one neutral event up to text. */
export function encoding(format: Format, kind: DeltaKind): () => void {
  const request = replyContext(format, REQUESTS[format])
  const delta: GenerationEvent =
    kind === 'text'
      ? { type: 'text-delta', block: 0, text: TEXT }
      : { type: 'tool-input-delta', block: 0, text: ARGUMENTS }
  return renewed(
    () => {
      const encoder = CODECS[format].createStreamEncoder(request)
      for (const event of neutralHead(kind)) encoder.push(event, do_not_optimize)
      return encoder
    },
    encoder => encoder.push(delta, do_not_optimize),
  )
}

/** The bytes of a text delta as an upstream of the format writes it. */
export function deltaBytes(format: Format): Uint8Array {
  return bytesOf(STREAMS[format].text.delta)
}

function renewed<Machine>(create: () => Machine, step: (machine: Machine) => void): () => void {
  let machine = create()
  let steps = 0
  return () => {
    if (steps === STREAM_LENGTH) {
      machine = create()
      steps = 0
    }
    steps += 1
    step(machine)
  }
}

function bytesOf(...events: readonly SseEvent[]): Uint8Array {
  return utf8.encode(events.map(({ event, data }) => formatEvent(event, data)).join(''))
}

function neutralHead(kind: DeltaKind): GenerationEvent[] {
  const start: GenerationEvent = { type: 'start', id: 'x', model: 'm', serviceTier: undefined }
  if (kind === 'text') return [start, { type: 'text-start', block: 0, candidate: 0 }]
  const call = { kind: 'function', callId: 'call_1', name: 'search', namespace: undefined } as const
  return [start, { type: 'tool-input-start', block: 0, candidate: 0, ...call }]
}

/** A token or two, and a piece of arguments. */
const TEXT = ' the "quick" brown'
const ARGUMENTS = '"city":"Par'

const data = (value: JsonObject): SseEvent => ({ event: undefined, data: JSON.stringify(value) })
const named = (value: JsonObject & { type: string }): SseEvent => ({
  event: value.type,
  data: JSON.stringify(value),
})

const chunk = (delta: JsonObject): SseEvent =>
  data({
    id: 'chatcmpl-0123456789',
    object: 'chat.completion.chunk',
    created: 1_763_650_800,
    model: 'gpt-5.1-2025-11-13',
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  })

const geminiChunk = (part: JsonObject): SseEvent =>
  data({
    candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 4, totalTokenCount: 16 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r1',
  })

const block = (value: JsonObject) => named({ type: 'content_block_start', index: 0, content_block: value })
const blockDelta = (delta: JsonObject) => named({ type: 'content_block_delta', index: 0, delta })

const messageStart = named({
  type: 'message_start',
  message: {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 1 },
  },
})

const responseCreated = named({
  type: 'response.created',
  sequence_number: 0,
  response: { id: 'resp_1', object: 'response', model: 'gpt-5.1', status: 'in_progress', output: [] },
})

const itemAdded = (item: JsonObject) =>
  named({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item })

const STREAMS: Record<Format, Record<DeltaKind, Stream>> = {
  'openai-chat-completions': {
    text: { head: [chunk({ role: 'assistant', content: '' })], delta: chunk({ content: TEXT }) },
    tool: {
      head: [
        chunk({
          role: 'assistant',
          content: null,
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name: 'search', arguments: '' } },
          ],
        }),
      ],
      delta: chunk({ tool_calls: [{ index: 0, function: { arguments: ARGUMENTS } }] }),
    },
  },
  'openai-responses': {
    text: {
      head: [
        responseCreated,
        itemAdded({ id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }),
        named({
          type: 'response.content_part.added',
          sequence_number: 2,
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          part: { type: 'output_text', text: '', annotations: [] },
        }),
      ],
      delta: named({
        type: 'response.output_text.delta',
        sequence_number: 3,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: TEXT,
        logprobs: [],
        obfuscation: 'x1y2z3',
      }),
    },
    tool: {
      head: [
        responseCreated,
        itemAdded({
          id: 'fc_1',
          type: 'function_call',
          status: 'in_progress',
          call_id: 'call_1',
          name: 'search',
          arguments: '',
        }),
      ],
      delta: named({
        type: 'response.function_call_arguments.delta',
        sequence_number: 2,
        item_id: 'fc_1',
        output_index: 0,
        delta: ARGUMENTS,
      }),
    },
  },
  'anthropic-messages': {
    text: {
      head: [messageStart, block({ type: 'text', text: '' })],
      delta: blockDelta({ type: 'text_delta', text: TEXT }),
    },
    tool: {
      head: [messageStart, block({ type: 'tool_use', id: 'toolu_1', name: 'search', input: {} })],
      delta: blockDelta({ type: 'input_json_delta', partial_json: ARGUMENTS }),
    },
  },
  // Gemini's calls come whole, so a delta is a call.
  'gemini-generate-content': {
    text: { head: [geminiChunk({ text: 'First' })], delta: geminiChunk({ text: TEXT }) },
    tool: {
      head: [geminiChunk({ text: 'First' })],
      delta: geminiChunk({ functionCall: { name: 'search', args: { city: 'Paris' } } }),
    },
  },
}

/** The callers' requests. */
const REQUESTS: Record<Format, JsonObject> = {
  'openai-chat-completions': { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  'openai-responses': { model: 'm', input: 'Hello' },
  'anthropic-messages': { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'Hello' }] },
  'gemini-generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
}
