import type { GatewayError } from '@/errors/gateway-error.ts'
import { BlockQueue } from '@/formats/block-queue.ts'
import type { DecodeContext } from '@/formats/codec.ts'
import { complaintIn, cutAnswer, errorInAnswer, unreadableEvent } from '@/formats/faults/fault.ts'
import { AudioDeltas } from '@/formats/openai/audio-deltas.ts'
import { servedTier } from '@/formats/openai/shared-fields.ts'
import type { StreamEventType } from '@/formats/openai-responses/wire.ts'
import type { PlainNote, PlainReader, PlainShape, StreamDecoder } from '@/formats/plain/plain-text.ts'
import { CallIds } from '@/formats/tools/call-ids.ts'
import { type Emit, type EventOf, type GenerationEvent, withhold } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import { sliceMember } from '@/json/slice.ts'
import { type JsonEdit, spliceText } from '@/json/splice.ts'
import { formatEvent, type SseEvent } from '@/sse/event.ts'
import { CallReader } from './call-reader.ts'
import { responseError } from './error.ts'
import { decodeFinish, type Seen } from './finish.ts'
import type { ItemReader } from './item-reader.ts'
import { MessageReader } from './message-reader.ts'
import { PairJoiner } from './pairs.ts'
import { ReasoningReader } from './reasoning-reader.ts'
import { serviceTierOf, usageOf } from './usage.ts'
import { WholeReader } from './whole-reader.ts'

/**
 * Reads a Responses stream. Items are told apart by `output_index` alone, since Copilot changes their ids between
 * events; an item's `done` event fills in whatever its deltas did not say. Items may be written side by side here, which no
 * other format can say of texts: they are told one after another.
 */
export function createStreamDecoder(context: DecodeContext): StreamDecoder {
  return new ItemDecoder(context)
}

const QUEUED = new Set(['text-start', 'refusal-start', 'reasoning-start'] as const)

class ItemDecoder implements StreamDecoder, PlainReader {
  readonly #decoder: EventDecoder
  readonly #joiner = new PairJoiner()
  readonly #machine: StreamMachine<SseEvent, GenerationEvent>

  constructor(context: DecodeContext) {
    const joined = context.isPassed === true ? this.#joiner : compose(this.#joiner, new BlockQueue(QUEUED))
    this.#decoder = new EventDecoder(context)
    this.#machine = compose(this.#decoder, joined)
  }

  get plain(): PlainReader {
    return this
  }

  push(event: SseEvent, emit: Emit): void {
    this.#machine.push(event, emit)
  }

  end(emit: Emit): void {
    this.#machine.end(emit)
  }

  missingEnd(): string {
    return this.#decoder.missingEnd
  }

  get isFailing(): boolean {
    return this.#decoder.isFailing
  }

  servedTier(): string | undefined {
    return this.#decoder.servedTier
  }

  plainShape(): PlainShape | undefined {
    return this.#decoder.isPlain && !this.#joiner.isWaiting ? PLAIN : undefined
  }

  plainNote(): PlainNote {
    return { of: 'length', add: length => this.#decoder.skip(length) }
  }

  skipUsage(): void {}

  skipUnread(bytes: number): void {
    this.#decoder.skipUnread(bytes)
  }
}

/** Every event has its number, and padding so that its length says nothing. */
const PLAIN: PlainShape = {
  text: ['delta'],
  loose: [['sequence_number'], ['item_id'], ['obfuscation']],
  usage: undefined,
}

/** Reads the events of one response. */
export class EventDecoder implements StreamMachine<SseEvent, GenerationEvent> {
  readonly #context: DecodeContext
  readonly #items = new Map<number, ItemReader>()
  readonly #callIds: CallIds
  readonly #seen: Seen = { calls: false, refusal: false }
  /** The last event, if it was a delta, and the item that it belongs to. */
  #delta: JsonObject | undefined
  #growing: MessageReader | CallReader | ReasoningReader | undefined
  /** A spoken answer has no item. */
  readonly #sound = new AudioDeltas()
  #lastIndex = 0
  /** The items of a stream that does not number them, by their ids. */
  readonly #places = new Map<string, number>()
  /** The events that ended an item, by its place, where the answer passes: what they say may be missing in its last one. */
  readonly #doneItems = new Map<number, string>()
  /** How many items were read, also where several had one place. */
  #count = 0
  #blocks = 0
  #started: EventOf<'start'> | undefined
  #ended = false
  /** Why the response failed, where it says no more than that it did. */
  #failure: GatewayError | undefined
  /** See StreamDecoder. */
  servedTier: string | undefined
  /** The same. */
  missingEnd = ''

  constructor(context: DecodeContext) {
    this.#context = context
    this.#callIds = new CallIds(context)
  }

  /** See StreamDecoder. */
  get isFailing(): boolean {
    return this.#failure !== undefined
  }

  /** See PlainReader. */
  get isPlain(): boolean {
    return this.#delta !== undefined && asArray(this.#delta['logprobs']).length === 0
  }

  /** See PlainReader. */
  skip(length: number): void {
    this.#growing?.skip(length)
  }

  /** The same. */
  skipUnread(bytes: number): void {
    this.#growing?.skipUnread(bytes)
  }

  push(input: SseEvent, emit: Emit): void {
    this.#delta = undefined
    if (this.#ended) return
    const event = parseObject(input.data)
    if (event === undefined) return this.#unreadable(input, emit)
    const name = eventType(event, input)
    switch (name) {
      case 'response.output_text.delta':
        return this.#grow(event, this.#message(event, emit))?.textDelta(event, emit)
      case 'response.refusal.delta':
        return this.#message(event, emit)?.refusalDelta(event, emit)
      case 'response.output_text.done':
        return this.#message(event, emit)?.textDone(event, emit)
      case 'response.refusal.done':
        return this.#message(event, emit)?.refusalDone(event, emit)
      case 'response.content_part.added':
        return this.#partAdded(event, emit)
      case 'response.output_text.annotation.added':
        return this.#message(event, emit)?.annotation(event, emit)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#grow(event, this.#call(event, name, emit))?.delta(event, emit)
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return this.#call(event, name, emit)?.inputDone(event, emit)
      case 'response.reasoning_summary_part.added':
        return this.#reasoning(event, emit)?.part('summary', event, emit)
      case 'response.reasoning_summary_text.delta':
        return this.#grow(event, this.#reasoning(event, emit))?.delta('summary', event, emit)
      case 'response.reasoning_summary_text.done':
        return this.#reasoning(event, emit)?.textDone('summary', event, emit)
      case 'response.reasoning_text.delta':
        return this.#grow(event, this.#reasoning(event, emit))?.delta('content', event, emit)
      case 'response.reasoning_text.done':
        return this.#reasoning(event, emit)?.textDone('content', event, emit)
      case 'response.audio.delta':
        return this.#sound.push({ data: event['delta'] }, emit)
      case 'response.audio.transcript.delta':
        return this.#sound.push({ transcript: event['delta'] }, emit)
      case 'response.output_item.added':
        return this.#itemAdded(event, emit)
      case 'response.output_item.done':
        return this.#itemDone(event, input.data, emit)
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return this.#start(asObject(event['response']), emit)
      case 'response.done':
      case 'response.completed':
      case 'response.incomplete':
        if (this.#context.isPassed === true)
          this.missingEnd = usualEnd(name, input.data, asObject(event['response']), this.#doneItems)
        return this.finish(asObject(event['response']) ?? {}, emit, name === 'response.incomplete')
      case 'response.failed':
      case 'response.cancelled':
        return this.#failResponse({ status: name.slice(9), ...asObject(event['response']) }, emit)
      case 'error':
        // Flat in the types, nested under `error` in traffic.
        return this.#fail(errorInAnswer(event), emit)
      case 'response.code_interpreter_call_code.delta':
      case 'response.mcp_call_arguments.delta':
      case 'response.shell_call_command.delta':
        return withhold(asString(event['delta']), emit)
      // What follows repeats what a done item says, pads the stream, or tells of a hosted tool at work.
      case 'keepalive':
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done':
      case 'response.audio.done':
      case 'response.audio.transcript.done':
      case 'response.code_interpreter_call_code.done':
      case 'response.code_interpreter_call.completed':
      case 'response.code_interpreter_call.in_progress':
      case 'response.code_interpreter_call.interpreting':
      case 'response.compaction.compacting':
      case 'response.file_search_call.completed':
      case 'response.file_search_call.in_progress':
      case 'response.file_search_call.searching':
      case 'response.shell_call_command.added':
      case 'response.shell_call_command.done':
      case 'response.shell_call_output_content.delta':
      case 'response.shell_call_output_content.done':
      case 'response.web_search_call.completed':
      case 'response.web_search_call.in_progress':
      case 'response.web_search_call.searching':
      case 'response.image_generation_call.completed':
      case 'response.image_generation_call.generating':
      case 'response.image_generation_call.in_progress':
      case 'response.image_generation_call.partial_image':
      case 'response.mcp_call_arguments.done':
      case 'response.mcp_call.completed':
      case 'response.mcp_call.failed':
      case 'response.mcp_call.in_progress':
      case 'response.mcp_list_tools.completed':
      case 'response.mcp_list_tools.failed':
      case 'response.mcp_list_tools.in_progress':
        return
      case undefined:
        return this.#complain(event, emit)
      default:
        // Tomorrow's events arrive here at run time, today's are all above.
        name satisfies never
        this.#complain(event, emit)
    }
  }

  /** Broken JSON is lost output; other text may be what keeps the connection alive. */
  #unreadable(input: SseEvent, emit: Emit): void {
    if (input.event === 'error' || /^\s*\{/.test(input.data)) this.#fail(unreadableEvent(input.data), emit)
  }

  /** An error in place of an event, as gateways in between write it. */
  #complain(event: JsonObject, emit: Emit): void {
    const complaint = complaintIn(event)
    if (complaint !== undefined) this.#fail(complaint, emit)
  }

  /** Takes note of a delta and the item that it belongs to. */
  #grow<T extends MessageReader | CallReader | ReasoningReader>(
    event: JsonObject,
    item: T | undefined,
  ): T | undefined {
    this.#delta = event
    this.#growing = item
    return item
  }

  end(emit: Emit): void {
    if (this.#ended) return
    this.#fail(this.#failure ?? cutAnswer(), emit)
  }

  /** The response's last event may name the tier that its first one left open. */
  #start(response: JsonObject | undefined, emit: Emit): void {
    const known = this.#started
    this.servedTier = (response && servedTier(response)) ?? this.servedTier
    if (known !== undefined && response === undefined) return
    const start = {
      type: 'start',
      id: known?.id ?? asString(response?.['id']),
      model: known?.model ?? asString(response?.['model']),
      serviceTier: (response && serviceTierOf(response)) ?? known?.serviceTier,
    } as const
    if (known !== undefined && known.serviceTier === start.serviceTier) return
    this.#started = start
    emit(start)
  }

  #itemAdded(event: JsonObject, emit: Emit): void {
    const item = asObject(event['item'])
    if (item === undefined) return
    const index = this.#index(event)
    this.#replace(index, item, 'added', emit)
    this.#reader(index, item, emit)?.added(item, emit)
  }

  #itemDone(event: JsonObject, data: string, emit: Emit): void {
    const item = asObject(event['item'])
    if (item === undefined) return
    const index = this.#index(event)
    if (this.#context.isPassed === true) this.#doneItems.set(index, data)
    this.#replace(index, item, 'done', emit)
    this.#reader(index, item, emit)?.done(item, emit)
  }

  /** Makes room where an upstream numbers two items alike: the second one is no repetition of the first. */
  #replace(index: number, item: JsonObject, what: 'added' | 'done', emit: Emit): void {
    const known = this.#items.get(index)
    if (known === undefined || (known.reads(item) && !(what === 'added' && known.ended))) return
    known.cut(emit)
    this.#items.delete(index)
  }

  #partAdded(event: JsonObject, emit: Emit): void {
    const part = asObject(event['part'])
    if (part?.['type'] === 'reasoning_text') this.#reasoning(event, emit)?.part('content', event, emit)
    else if (part !== undefined) this.#message(event, emit)?.partAdded(event, part, emit)
  }

  /** The reader of this place in the output, made for what first stands there. */
  #reader(index: number, item: JsonObject, emit: Emit): ItemReader | undefined {
    this.#start(undefined, emit)
    const known = this.#items.get(index)
    if (known !== undefined) return known.reads(item) ? known : undefined
    const reader = this.#newReader(item)
    this.#count += 1
    this.#items.set(index, reader)
    return reader
  }

  #newReader(item: JsonObject): ItemReader {
    const [callIds, seen] = [this.#callIds, this.#seen]
    const source = { ...this.#context, nextBlock: () => this.#blocks++, callIds, seen }
    if (item['type'] === 'message') return new MessageReader(source)
    if (item['type'] === 'reasoning') return new ReasoningReader(source, item)
    return CallReader.fits(item) ? new CallReader(source, item) : new WholeReader(source)
  }

  #message(event: JsonObject, emit: Emit): MessageReader | undefined {
    const reader = this.#reader(this.#index(event), { type: 'message' }, emit)
    return reader instanceof MessageReader ? reader : undefined
  }

  #reasoning(event: JsonObject, emit: Emit): ReasoningReader | undefined {
    const reader = this.#reader(this.#index(event), { type: 'reasoning', id: event['item_id'] }, emit)
    return reader instanceof ReasoningReader ? reader : undefined
  }

  #call(event: JsonObject, name: StreamEventType, emit: Emit): CallReader | undefined {
    const type = name.startsWith('response.custom') ? 'custom_tool_call' : 'function_call'
    const reader = this.#reader(this.#index(event), { type }, emit)
    return reader instanceof CallReader ? reader : undefined
  }

  #index(event: JsonObject): number {
    this.#lastIndex = asNumber(event['output_index']) ?? this.#placeById(event)
    return this.#lastIndex
  }

  /** Where nothing but its id tells which item an event is about; one without either is about the last. */
  #placeById(event: JsonObject): number {
    const item = asObject(event['item'])
    const id = asString(event['item_id']) ?? asString(item?.['id'])
    const known = id === undefined ? undefined : this.#places.get(id)
    const begins = event['type'] === 'response.output_item.added'
    if (id === undefined || known !== undefined || !begins) return known ?? this.#lastIndex
    const place = this.#places.size
    this.#places.set(id, place)
    return place
  }

  /** Ends the answer with the whole response, and tells what of that was not streamed. */
  finish(response: JsonObject, emit: Emit, isIncomplete = false): void {
    const status = response['status']
    if (status === 'failed' || status === 'cancelled') return this.#fail(responseError(response), emit)
    this.#start(response, emit)
    this.#settle(response, emit)
    this.#tellSound(emit)
    this.#ended = true
    const usage = usageOf(response)
    if (usage !== undefined) emit({ type: 'usage', usage })
    const named = isIncomplete ? { ...response, status: 'incomplete' } : response
    emit({ type: 'finish', candidate: 0, finish: decodeFinish(named, this.#seen) })
  }

  /** Ends what is open, and tells of what the final output has beyond what was streamed: some backends leave it empty. */
  #settle(response: JsonObject, emit: Emit): void {
    const output = asArray(response['output'])
    for (const [index, reader] of this.#items) {
      const item = asObject(output[index])
      if (item !== undefined && reader.reads(item)) reader.done(item, emit)
      else reader.cut(emit)
    }
    if (output.length <= this.#count) return
    for (const [index, value] of output.entries()) {
      const item = asObject(value)
      if (item !== undefined && !this.#items.has(index)) this.#reader(index, item, emit)?.done(item, emit)
    }
  }

  #tellSound(emit: Emit): void {
    const sound = this.#sound.take(emit)
    if (sound === undefined) return
    const at = { block: this.#blocks++, candidate: 0 }
    if (typeof sound === 'object') return emit({ type: 'media', ...at, media: sound })
    emit({ type: 'text-start', ...at })
    emit({ type: 'text-delta', block: at.block, text: sound })
    emit({ type: 'text-end', block: at.block, signature: undefined })
  }

  /** Azure says only behind the response why it failed (https://github.com/maximhq/bifrost/issues/6419). */
  #failResponse(response: JsonObject, emit: Emit): void {
    const error = responseError(response)
    if (asObject(response['error']) === undefined) this.#failure = error
    else this.#fail(error, emit)
  }

  #fail(error: GatewayError, emit: Emit): void {
    this.#ended = true
    emit({ type: 'error', error })
  }
}

/**
 * The last event as clients wait for it, where it is not: some backends call it `response.done`, some leave out the output
 * that they streamed, which OpenAI's SDK takes from there alone. Empty if nothing is missing.
 * @param items the events that ended an item, by its place
 */
function usualEnd(
  name: 'response.done' | 'response.completed' | 'response.incomplete',
  data: string,
  response: JsonObject | undefined,
  items: ReadonlyMap<number, string>,
): string {
  const lacksOutput = items.size > 0 && asArray(response?.['output']).length === 0
  if (name !== 'response.done' && !lacksOutput) return ''
  const ended = response?.['status'] === 'incomplete' ? 'response.incomplete' : 'response.completed'
  const type = name === 'response.done' ? ended : name
  const edits: JsonEdit[] = [{ path: ['type'], value: type }]
  if (lacksOutput) edits.push({ path: ['response', 'output'], text: `[${texts(items).join(',')}]` })
  return formatEvent(type, spliceText(data, edits).replaceAll('\n', ' '))
}

/** The items of these events as they are spelled. */
function texts(events: ReadonlyMap<number, string>): string[] {
  return [...events]
    .sort(([one], [other]) => one - other)
    .flatMap(([, data]) => sliceMember(Buffer.from(data), 'item') ?? [])
}

/** The type of an event; only the SDK's events can be told apart statically, any text may come. */
function eventType(event: JsonObject, input: SseEvent): StreamEventType | undefined {
  const type = asString(event['type']) ?? (input.event === 'message' ? undefined : input.event)
  return type as StreamEventType | undefined
}
