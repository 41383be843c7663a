import { GatewayError } from '@/errors/gateway-error.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'
import type { Signature } from '@/generation/part.ts'
import {
  asArray,
  asNumber,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseObject,
} from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import type { DecodeContext } from '../codec.ts'
import { decodeFaultValue, faultError } from '../fault.ts'
import { decodeOpaque } from './block-decode.ts'
import { decodeCitation, decodeCitations } from './citation.ts'
import { decodeFinish } from './stop-reason.ts'
import { decodeUsage, overlay } from './usage.ts'
import { type DeltaType, FORMAT, type StreamEventType } from './wire.ts'

type Emit = (event: GenerationEvent) => void

/** A block that has begun. `held` is the first half of a surrogate pair whose second half is yet to come. */
type OpenBlock =
  | { kind: 'text'; block: number; held: string }
  | { kind: 'thinking'; block: number; held: string; signature: string; begun: boolean }
  | { kind: 'redacted'; block: number; data: string }
  | { kind: 'tool'; block: number; held: string; input: JsonValue | undefined; written: boolean }
  | { kind: 'opaque'; block: number; value: JsonObject; partialInput: string }

/**
 * Reads an upstream's stream by the grammar of wire-formats 4.3, with what vendors really send: pings anywhere, a
 * message_start that is repeated or already holds content, several message_deltas, blocks left open at the end.
 */
export function createStreamDecoder(context: DecodeContext): StreamMachine<SseEvent, GenerationEvent> {
  return new StreamDecoder(context)
}

class StreamDecoder implements StreamMachine<SseEvent, GenerationEvent> {
  readonly #context: DecodeContext
  readonly #open = new Map<number, OpenBlock>()
  #started = false
  #done = false
  #messageId: string | undefined
  #lastIndex = 0
  #blocks = 0
  /** `delta` of the message_deltas so far. */
  #stop: JsonObject = {}
  /** `usage` so far; undefined until the upstream gave any. */
  #usage: JsonObject | undefined

  constructor(context: DecodeContext) {
    this.#context = context
  }

  push(event: SseEvent, emit: Emit): void {
    if (this.#done || event.data === '' || event.data.trim() === '[DONE]') return
    const data = parseObject(event.data)
    if (data === undefined) return this.#fail(brokenEvent(), emit)
    const type = eventType(data, event.event)
    switch (type) {
      case 'content_block_delta':
        return this.#delta(data, emit)
      case 'content_block_start':
        return this.#startBlock(
          indexOf(data, this.#lastIndex + 1),
          asObject(data['content_block']) ?? {},
          emit,
        )
      case 'content_block_stop':
        return this.#stopBlock(indexOf(data, this.#lastIndex), emit)
      case 'message_start':
        return this.#startMessage(asObject(data['message']) ?? {}, emit)
      case 'message_delta':
        this.#stop = overlay(this.#stop, asObject(data['delta']))
        return this.#addUsage(asObject(data['usage']), emit)
      case 'message_stop':
        return this.#finish(emit)
      case 'error':
        return this.#fail(faultError(decodeFaultValue(200, data)), emit)
      case 'ping':
      case undefined:
        return
      default:
        return type satisfies never
    }
  }

  end(emit: Emit): void {
    if (this.#done) return
    // A stop reason is the answer's end, even if message_stop got lost; without one the answer was cut.
    if (asString(this.#stop['stop_reason']) !== undefined) this.#finish(emit)
    else this.#fail(truncated(), emit)
  }

  #startMessage(message: JsonObject, emit: Emit): void {
    const id = asString(message['id'])
    if (this.#messageId !== undefined && id !== undefined && id !== this.#messageId) {
      return this.#fail(secondMessage(), emit)
    }
    if (this.#started) return this.#addUsage(asObject(message['usage']), emit)
    const usage = asObject(message['usage'])
    this.#messageId = id
    this.#begin(emit, id, asString(message['model']), asString(usage?.['service_tier']))
    this.#addUsage(usage, emit)
    this.#stop = overlay(this.#stop, stopFields(message))
    // Seen with programmatic tool calls: the whole answer in the first event.
    for (const [index, block] of asArray(message['content']).filter(isJsonObject).entries()) {
      this.#startBlock(index, block, emit)
      this.#stopBlock(index, emit)
    }
  }

  #begin(emit: Emit, id?: string, model?: string, serviceTier?: string): void {
    if (this.#started) return
    this.#started = true
    emit({ type: 'start', id, model, serviceTier })
  }

  #addUsage(usage: JsonObject | undefined, emit: Emit): void {
    if (usage === undefined) return
    this.#begin(emit)
    this.#usage = overlay(this.#usage ?? {}, usage)
    emit({ type: 'usage', usage: decodeUsage(this.#usage) })
  }

  #startBlock(index: number, content: JsonObject, emit: Emit): void {
    this.#begin(emit)
    this.#stopBlock(index, emit)
    this.#lastIndex = index
    const opened = openBlock(content, this.#blocks, this.#context, emit)
    this.#blocks += 1
    this.#open.set(index, opened)
  }

  #delta(data: JsonObject, emit: Emit): void {
    const delta = asObject(data['delta'])
    if (delta === undefined) return
    const index = indexOf(data, this.#lastIndex)
    let open = this.#open.get(index)
    if (open === undefined) {
      const content = impliedBlock(delta['type'])
      if (content === undefined) return
      this.#startBlock(index, content, emit)
      open = this.#open.get(index)
    }
    if (open !== undefined) addDelta(open, delta, emit)
  }

  #stopBlock(index: number, emit: Emit): void {
    const open = this.#open.get(index)
    if (open === undefined) return
    this.#open.delete(index)
    closeBlock(open, this.#context, emit)
  }

  #finish(emit: Emit): void {
    this.#begin(emit)
    for (const index of [...this.#open.keys()]) this.#stopBlock(index, emit)
    this.#done = true
    emit({ type: 'finish', candidate: 0, finish: decodeFinish(this.#stop) })
  }

  #fail(error: GatewayError, emit: Emit): void {
    this.#done = true
    emit({ type: 'error', error })
  }
}

const EVENT_TYPES: Record<StreamEventType, true> = {
  message_start: true,
  content_block_start: true,
  content_block_delta: true,
  content_block_stop: true,
  message_delta: true,
  message_stop: true,
  ping: true,
  error: true,
}

/** The event's type; `error` for another vendor's error object; undefined for types of tomorrow. */
function eventType(data: JsonObject, name: string | undefined): StreamEventType | undefined {
  const type = asString(data['type']) ?? name
  if (type !== undefined && isEventType(type)) return type
  return data['error'] !== undefined && data['error'] !== null ? 'error' : undefined
}

function isEventType(type: string): type is StreamEventType {
  return Object.hasOwn(EVENT_TYPES, type)
}

function indexOf(data: JsonObject, otherwise: number): number {
  return asNumber(data['index']) ?? otherwise
}

function stopFields(message: JsonObject): JsonObject {
  const { stop_reason, stop_sequence, stop_details } = message
  return { stop_reason, stop_sequence, stop_details }
}

/** The block that a delta without a start must belong to, where the delta says it all. */
function impliedBlock(type: JsonValue | undefined): JsonObject | undefined {
  switch (type) {
    case 'text_delta':
      return { type: 'text', text: '' }
    case 'thinking_delta':
      return { type: 'thinking', thinking: '' }
    default:
      return undefined
  }
}

function openBlock(content: JsonObject, block: number, context: DecodeContext, emit: Emit): OpenBlock {
  const at = { block, candidate: 0 }
  switch (content['type']) {
    case 'text': {
      emit({ type: 'text-start', ...at })
      const text = asString(content['text']) ?? ''
      if (text !== '') emit({ type: 'text-delta', block, text })
      for (const citation of decodeCitations(content['citations']))
        emit({ type: 'text-citation', block, citation })
      return { kind: 'text', block, held: '' }
    }
    case 'thinking': {
      emit({ type: 'reasoning-start', ...at, id: undefined, raw: false, redacted: false })
      const signature = asString(content['signature']) ?? ''
      const open: OpenBlock = { kind: 'thinking', block, held: '', signature, begun: false }
      addThought(open, asString(content['thinking']) ?? '', emit)
      return open
    }
    case 'redacted_thinking':
      emit({ type: 'reasoning-start', ...at, id: undefined, raw: false, redacted: true })
      return { kind: 'redacted', block, data: asString(content['data']) ?? '' }
    case 'tool_use':
      emit({
        type: 'tool-input-start',
        ...at,
        kind: 'function',
        callId: asString(content['id']) ?? context.newId(),
        name: asString(content['name']) ?? '',
        namespace: undefined,
      })
      return { kind: 'tool', block, held: '', input: content['input'], written: false }
    default:
      return { kind: 'opaque', block, value: content, partialInput: '' }
  }
}

function addDelta(open: OpenBlock, delta: JsonObject, emit: Emit): void {
  const type = asString(delta['type']) ?? ''
  if (!isDeltaType(type)) return
  switch (type) {
    case 'text_delta':
      if (open.kind === 'text') addText(open, asString(delta['text']) ?? '', emit)
      return
    case 'input_json_delta':
      return addInput(open, asString(delta['partial_json']) ?? '', emit)
    case 'thinking_delta':
      if (open.kind === 'thinking') addThought(open, asString(delta['thinking']) ?? '', emit)
      return
    case 'signature_delta':
      if (open.kind === 'thinking') open.signature = asString(delta['signature']) ?? ''
      return
    case 'citations_delta': {
      const citation = asObject(delta['citation'])
      if (open.kind !== 'text' || citation === undefined) return
      return emit({ type: 'text-citation', block: open.block, citation: decodeCitation(citation) })
    }
    case 'compaction_delta':
      if (open.kind === 'opaque') open.value = withContent(open.value, asString(delta['content']))
      return
    default:
      return type satisfies never
  }
}

const DELTA_TYPES: Record<DeltaType, true> = {
  text_delta: true,
  input_json_delta: true,
  thinking_delta: true,
  signature_delta: true,
  citations_delta: true,
  compaction_delta: true,
}

function isDeltaType(type: string): type is DeltaType {
  return Object.hasOwn(DELTA_TYPES, type)
}

function addText(open: Extract<OpenBlock, { kind: 'text' }>, piece: string, emit: Emit): void {
  const text = whole(open, piece)
  if (text !== '') emit({ type: 'text-delta', block: open.block, text })
}

function addThought(open: Extract<OpenBlock, { kind: 'thinking' }>, piece: string, emit: Emit): void {
  const text = whole(open, piece)
  if (text === '') return
  if (!open.begun) emit({ type: 'reasoning-paragraph', block: open.block })
  open.begun = true
  emit({ type: 'reasoning-delta', block: open.block, text })
}

function addInput(open: OpenBlock, piece: string, emit: Emit): void {
  if (open.kind === 'opaque') open.partialInput += piece
  if (open.kind !== 'tool') return
  const text = whole(open, piece)
  if (text === '') return
  open.written = true
  emit({ type: 'tool-input-delta', block: open.block, text })
}

function withContent(value: JsonObject, more: string | undefined): JsonObject {
  return more === undefined ? value : { ...value, content: (asString(value['content']) ?? '') + more }
}

/** The text that may be passed on: a surrogate pair is never torn apart. */
function whole(open: { held: string }, piece: string): string {
  const text = open.held === '' ? piece : open.held + piece
  const lastUnit = text.charCodeAt(text.length - 1)
  if (lastUnit < 0xd800 || lastUnit > 0xdbff) {
    open.held = ''
    return text
  }
  open.held = text.slice(-1)
  return text.slice(0, -1)
}

function closeBlock(open: OpenBlock, context: DecodeContext, emit: Emit): void {
  const { block } = open
  switch (open.kind) {
    case 'text':
      if (open.held !== '') emit({ type: 'text-delta', block, text: open.held })
      return emit({ type: 'text-end', block, signature: undefined })
    case 'thinking':
      if (open.held !== '') emit({ type: 'reasoning-delta', block, text: open.held })
      return emit({ type: 'reasoning-end', block, signature: made(open.signature, context) })
    case 'redacted':
      return emit({ type: 'reasoning-end', block, signature: made(open.data, context) })
    case 'tool': {
      const rest = open.written ? open.held : JSON.stringify(open.input ?? {})
      if (rest !== '') emit({ type: 'tool-input-delta', block, text: rest })
      return emit({ type: 'tool-input-end', block, signature: undefined })
    }
    case 'opaque':
      return emit({ type: 'opaque', block, candidate: 0, part: decodeOpaque(withInput(open)) })
    default:
      return open satisfies never
  }
}

function made(value: string, context: DecodeContext): Signature | undefined {
  return value === '' ? undefined : { format: FORMAT, vendor: context.vendor, value }
}

/** A server tool's call with its streamed input, as the whole answer would show it. */
function withInput(open: Extract<OpenBlock, { kind: 'opaque' }>): JsonObject {
  const input = parseObject(open.partialInput)
  return input === undefined ? open.value : { ...open.value, input }
}

function truncated(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed the stream before the answer was complete', {
    retry: 'next-channel',
  })
}

function brokenEvent(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent an event that is not a JSON object', {
    retry: 'next-channel',
  })
}

function secondMessage(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream began a second message in the same stream', {
    retry: 'next-channel',
  })
}
