import type { GatewayError } from '@/errors/gateway-error.ts'
import { DATA_KEYS, type StreamEventType } from '@/formats/anthropic-messages/wire.ts'
import { BlockQueue } from '@/formats/block-queue.ts'
import type { DecodeContext } from '@/formats/codec.ts'
import {
  brokenAnswer,
  complaintIn,
  cutAnswer,
  errorInAnswer,
  unreadableEvent,
} from '@/formats/faults/fault.ts'
import {
  type Ending,
  NO_NOTE,
  type PlainNote,
  type PlainReader,
  type PlainShape,
  type StreamDecoder,
} from '@/formats/plain/plain-text.ts'
import { CallIds } from '@/formats/tools/call-ids.ts'
import type { Emit, GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import { withDigits } from '@/json/exact.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  isKeyOf,
  type JsonObject,
  parseObject,
} from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { addDelta, closeBlock, impliedBlock, isOfOther, type OpenBlock, openBlock } from './block-reader.ts'
import { decodeFinish } from './finish.ts'
import { overlay, overlayUsage, readUsage, tierIn } from './usage.ts'

/**
 * Reads an upstream's stream by the API's own grammar, with what vendors really send: pings anywhere, a
 * message_start that is repeated or already holds content, several message_deltas, blocks left open at the end. Blocks that
 * a proxy writes side by side are told one after another.
 */
export function createStreamDecoder(context: DecodeContext): StreamDecoder {
  const decoder = new EventDecoder(context)
  return context.isPassed === true ? decoder : new QueuedDecoder(decoder)
}

const QUEUED = new Set(['text-start', 'reasoning-start'] as const)

class QueuedDecoder implements StreamDecoder {
  readonly plain: EventDecoder
  readonly #machine: StreamMachine<SseEvent, GenerationEvent>

  constructor(decoder: EventDecoder) {
    this.plain = decoder
    this.#machine = compose(decoder, new BlockQueue(QUEUED))
  }

  get ending(): Ending | undefined {
    return this.plain.ending
  }

  push(event: SseEvent, emit: Emit): void {
    this.#machine.push(event, emit)
  }

  end(emit: Emit): void {
    this.#machine.end(emit)
  }

  servedTier(): string | undefined {
    return this.plain.servedTier()
  }

  missingEnd(): string {
    return this.plain.missingEnd()
  }
}

const shapeOf = (field: string): PlainShape => ({ text: ['delta', field], loose: [], usage: undefined })

/** Deltas of these blocks are plain. */
const PLAIN = { text: shapeOf('text'), thinking: shapeOf('thinking'), tool: shapeOf('partial_json') } as const

class EventDecoder implements StreamDecoder, PlainReader {
  readonly #context: DecodeContext
  readonly #callIds: CallIds
  readonly #open = new Map<number, OpenBlock>()
  /** The block that the last event added to, if it was a delta. */
  #added: OpenBlock | undefined
  #started = false
  #done = false
  /** Whether it was the format's own last event that ended the answer. */
  #hasStopped = false
  #messageId: string | undefined
  #lastIndex = 0
  #blocks = 0
  /** `delta` of the message_deltas so far. */
  #stop: JsonObject = {}
  /** A message_delta said why it ends, and no block began since. Some say in message_start already what they expect. */
  #isEnding = false
  /** `usage` so far; undefined until the upstream gave any. */
  #usage: JsonObject | undefined

  constructor(context: DecodeContext) {
    this.#context = context
    this.#callIds = new CallIds(context)
  }

  get plain(): PlainReader {
    return this
  }

  servedTier(): string | undefined {
    return tierIn(this.#usage)
  }

  plainShape(): PlainShape | undefined {
    const added = this.#added
    return added === undefined || !('held' in added) || added.held !== '' ? undefined : PLAIN[added.kind]
  }

  plainNote(): PlainNote {
    return NO_NOTE
  }

  skipUsage(): void {}

  push(event: SseEvent, emit: Emit): void {
    this.#added = undefined
    if (this.#done || event.data === '' || event.data.trim() === '[DONE]') return
    const data = parseObject(event.data)
    if (data === undefined) return this.#fail(unreadableEvent(event.data), emit)
    const type = eventType(data, event.event)
    switch (type) {
      case 'content_block_delta':
        return this.#delta(data, emit)
      case 'content_block_start':
        return this.#startBlock(
          indexOf(data, this.#lastIndex + 1),
          asObject(withDigits(data, () => event.data, DATA_KEYS)['content_block']) ?? {},
          emit,
        )
      case 'content_block_stop':
        return this.#stopBlock(indexOf(data, this.#lastIndex), emit)
      case 'message_start':
        return this.#startMessage(asObject(data['message']) ?? {}, emit)
      case 'message_delta':
        this.#stop = overlay(this.#stop, asObject(data['delta']))
        this.#isEnding = this.#hasReason
        return this.#addUsage(asObject(data['usage']), emit, !countsOutput(asObject(data['usage'])))
      case 'message_stop':
        if (this.#isCutInCall) return this.#fail(cutAnswer(), emit)
        this.#hasStopped = true
        return this.#finish(emit)
      case 'error':
        return this.#fail(errorInAnswer(data), emit)
      case 'ping':
        return
      case undefined: {
        // An error in place of an event, or a type of tomorrow.
        const complaint = complaintIn(data)
        if (complaint !== undefined) this.#fail(complaint, emit)
        return
      }
      default:
        return type satisfies never
    }
  }

  end(emit: Emit): void {
    if (this.#done) return
    // A stop reason is the answer's end, even if message_stop got lost; without one the answer was cut.
    if (this.#hasReason) this.#finish(emit)
    else this.#fail(cutAnswer(), emit)
  }

  /** Clients take an answer for cut until they have seen it. */
  missingEnd(): string {
    return this.#hasStopped ? '' : 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  }

  get ending(): Ending | undefined {
    return this.#isEnding ? 'all' : undefined
  }

  /** Whether it is known why the answer ended. */
  get #hasReason(): boolean {
    return asString(this.#stop['stop_reason']) !== undefined
  }

  /** Whether a call has no end, and nothing says why. */
  get #isCutInCall(): boolean {
    if (this.#hasReason) return false
    for (const { kind } of this.#open.values()) if (kind === 'tool') return true
    return false
  }

  #startMessage(message: JsonObject, emit: Emit): void {
    const id = asString(message['id'])
    if (this.#messageId !== undefined && id !== undefined && id !== this.#messageId) {
      return this.#fail('The upstream began a second message in the same stream', emit)
    }
    if (this.#started) return this.#addUsage(asObject(message['usage']), emit, true)
    const usage = asObject(message['usage'])
    this.#messageId = id
    this.#begin(emit, id, asString(message['model']), asString(usage?.['service_tier']))
    this.#stop = overlay(this.#stop, stopFields(message))
    this.#addUsage(usage, emit, !this.#hasReason)
    // Seen with programmatic tool calls: the whole answer in the first event.
    for (const [index, block] of asObjects(message['content']).entries()) {
      this.#startBlock(index, block, emit)
      this.#stopBlock(index, emit)
    }
  }

  #begin(emit: Emit, id?: string, model?: string, serviceTier?: string): void {
    if (this.#started) return
    this.#started = true
    emit({ type: 'start', id, model, serviceTier })
  }

  #addUsage(usage: JsonObject | undefined, emit: Emit, soFar: boolean): void {
    if (usage === undefined) return
    this.#begin(emit)
    this.#usage = overlayUsage(this.#usage ?? {}, usage)
    // What an answer begins with may leave its output out.
    const told = readUsage(soFar ? { output_tokens: 0, ...this.#usage } : this.#usage)
    if (told !== undefined) emit({ type: 'usage', usage: told, ...(soFar && { soFar }) })
  }

  #startBlock(index: number, content: JsonObject, emit: Emit): void {
    this.#begin(emit)
    this.#stopBlock(index, emit)
    this.#isEnding = false
    this.#lastIndex = index
    const opened = openBlock(content, this.#blocks, this.#callIds, emit)
    this.#blocks += 1
    this.#open.set(index, opened)
  }

  #delta(data: JsonObject, emit: Emit): void {
    const delta = asObject(data['delta'])
    if (delta === undefined) return
    const index = indexOf(data, this.#lastIndex)
    let open = this.#open.get(index) ?? this.#onlyCall(delta)
    if (open === undefined || isOfOther(open, delta['type'])) {
      const content = impliedBlock(delta['type'])
      if (content === undefined) return
      this.#startBlock(index, content, emit)
      open = this.#open.get(index)
    }
    this.#added = open
    if (open !== undefined) addDelta(open, delta, emit)
  }

  /** Input under a number that no block has can only be that of the one that is open. */
  #onlyCall({ type }: JsonObject): OpenBlock | undefined {
    const [open, ...others] = type === 'input_json_delta' ? this.#open.values() : []
    return others.length === 0 ? open : undefined
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

  #fail(problem: GatewayError | string, emit: Emit): void {
    this.#done = true
    emit({ type: 'error', error: typeof problem === 'string' ? brokenAnswer(problem) : problem })
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

/** The event's type; `error` for another vendor's error object; undefined for what has none that is known. */
function eventType(data: JsonObject, name: string | undefined): StreamEventType | undefined {
  const type = asString(data['type']) ?? name
  if (isKeyOf(EVENT_TYPES, type)) return type
  return data['error'] !== undefined && data['error'] !== null ? 'error' : undefined
}

function indexOf(data: JsonObject, otherwise: number): number {
  return asNumber(data['index']) ?? otherwise
}

function stopFields(message: JsonObject): JsonObject {
  const { stop_reason, stop_sequence, stop_details } = message
  return { stop_reason, stop_sequence, stop_details }
}

function countsOutput(usage: JsonObject | undefined): boolean {
  return typeof usage?.['output_tokens'] === 'number'
}
