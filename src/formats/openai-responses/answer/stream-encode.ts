import type { GatewayError } from '@/errors/gateway-error.ts'
import { BlockQueue } from '@/formats/block-queue.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { cutAnswer } from '@/formats/faults/fault.ts'
import { mediaWords } from '@/formats/media/media-words.ts'
import { outputFormatOf } from '@/formats/openai/image-type.ts'
import { itemOf } from '@/formats/openai-responses/items.ts'
import { FORMAT } from '@/formats/openai-responses/wire.ts'
import type { PlainWriter, StreamEncoder } from '@/formats/plain/plain-text.ts'
import { QueuedEncoder } from '@/formats/queued-encoder.ts'
import { phaseOf } from '@/formats/signatures/phase.ts'
import type { EmitText, EventOf, GenerationEvent } from '@/generation/event.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { Citation, MediaPart, OpaquePart, Signature } from '@/generation/part.ts'
import type { Finish } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { asNonEmpty, type JsonObject, type JsonValue } from '@/json/json.ts'
import { CallWriter } from './call-writer.ts'
import { encodeErrorFields, encodeFailure, responseId } from './error.ts'
import { EventLines } from './event-line.ts'
import { INCOMPLETE_REASON } from './finish.ts'
import { ID_PREFIXES, type ItemEnd, type ItemWriter, type Place } from './item-writer.ts'
import { encodeLogprobs } from './logprobs.ts'
import { type ContentPart, MessageWriter } from './message-writer.ts'
import { PairJoiner } from './pairs.ts'
import { ReasoningWriter } from './reasoning-writer.ts'
import { BEGUN, echo, type ReplyState, responseState } from './reply.ts'
import { encodeToolUsage, encodeUsage } from './usage.ts'
import { WholeWriter } from './whole-writer.ts'

/**
 * Writes a Responses stream with its whole lifecycle, each item and part added and done: strict readers want all of it.
 * One call is open at a time, as OpenAI has it: clients (agno) take what comes for the call that began last, and lose one
 * that is still open then. Upstreams that speak Chat end no call before the answer is over.
 */
export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new QueuedEncoder(new BlockQueue(QUEUED), new PairEncoder(context))
}

const QUEUED = new Set(['tool-input-start'] as const)

/** Writes an answer in which halves of surrogate pairs are whole again. */
class PairEncoder implements StreamEncoder {
  readonly #joiner = new PairJoiner()
  readonly #writer: ReplyWriter
  readonly #machine: StreamMachine<GenerationEvent, string>

  constructor(context: ReplyContext) {
    this.#writer = new ReplyWriter(context)
    this.#machine = compose(this.#joiner, this.#writer)
  }

  push(event: GenerationEvent, emit: EmitText): void {
    this.#machine.push(event, emit)
  }

  end(emit: EmitText): void {
    this.#machine.end(emit)
  }

  plainText(block: number): PlainWriter | undefined {
    return this.#joiner.isWaiting ? undefined : this.#writer.plainText(block)
  }
}

/** A block that is being written. */
type Open =
  | { type: 'content'; writer: MessageWriter; part: ContentPart }
  | { type: 'reasoning'; writer: ReasoningWriter }
  | { type: 'call'; writer: CallWriter }

/**
 * Writes an answer as events and keeps the response object that they add up to. An item's `done` waits until the
 * next one begins or the answer ends, because only then it is known whether the item was cut short.
 */
export class ReplyWriter implements StreamMachine<GenerationEvent, string> {
  readonly #context: ReplyContext
  readonly #lines = new EventLines()
  readonly #echo: JsonObject
  readonly #items: ItemWriter[] = []
  /** Those of the items that are not done, in their order. */
  readonly #undone = new Set<ItemWriter>()
  readonly #blocks = new Map<number, Open>()
  readonly #otherCandidates = new Set<number>()
  readonly #ids = new Set<string>()
  readonly #state: ReplyState
  #message: MessageWriter | undefined
  /** Those of tokens that are no text yet, such as the first of a character's bytes, or of a text that is done. */
  readonly #earlyLogprobs: JsonValue[] = []
  /** Sources of texts whose items are done. */
  readonly #lateCitations: Citation[] = []
  #refused = false
  #usage: Usage | undefined
  #finish: Finish | undefined
  #started = false
  #ended = false

  constructor(context: ReplyContext) {
    this.#context = context
    this.#echo = echo(context.wire)
    const { requestId, model, createdAt } = context
    this.#state = { ...BEGUN, id: responseId(requestId), model, createdAt, output: [] }
  }

  push(event: GenerationEvent, emit: EmitText): void {
    if (this.#ended || this.#isOther(event)) return
    // Some upstreams go on after they said why they would end, and say it again.
    if ('block' in event && 'candidate' in event) this.#finish = undefined
    switch (event.type) {
      case 'start':
        this.#state.serviceTier = event.serviceTier
        return this.#start(emit)
      case 'text-start':
        return this.#openContent(event.block, 'text', emit)
      case 'refusal-start':
        this.#refused = true
        return this.#openContent(event.block, 'refusal', emit)
      case 'text-delta':
      case 'refusal-delta': {
        const open = this.#blocks.get(event.block)
        if (open?.type === 'content' && event.text !== '') emit(open.writer.delta(open.part, event.text))
        return
      }
      case 'text-citation': {
        const open = this.#blocks.get(event.block)
        if (open?.type !== 'content') return
        if (open.part.closed) this.#lateCitations.push(event.citation)
        else emitSome(open.writer.cite(open.part, event.citation), emit)
        return
      }
      case 'text-end':
        return this.#endContent(event.block, event.signature, emit)
      case 'refusal-end':
        return this.#endContent(event.block, undefined, emit)
      case 'reasoning-start':
        return this.#openReasoning(event, emit)
      case 'reasoning-paragraph':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#writeReasoning(event, emit)
      case 'tool-input-start':
        return this.#openCall(event, emit)
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#writeCall(event, emit)
      case 'media':
        return this.#writeMedia(event.media, emit)
      case 'opaque':
        return this.#writeOpaque(event.part, emit)
      case 'logprobs': {
        const text = this.#message?.lastText
        const place = text === undefined || text.closed ? this.#earlyLogprobs : text.logprobs
        place.push(...encodeLogprobs(event.content))
        return
      }
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        this.#finish = event.finish
        return
      case 'withheld':
        return
      case 'error':
        return this.#fail(event.error, emit)
      default:
        event satisfies never
    }
  }

  end(emit: EmitText): void {
    if (this.#ended) return
    if (this.#finish !== undefined) return this.#complete(this.#finish, emit)
    this.#fail(cutAnswer(), emit)
  }

  /** See StreamEncoder. */
  plainText(block: number): PlainWriter | undefined {
    const open = this.#blocks.get(block)
    if (this.#ended || this.#otherCandidates.has(block)) return undefined
    return open?.type === 'content' ? open.writer.plainText(open.part) : open?.writer.plainText()
  }

  /** The response object as it stands. */
  response(): JsonObject {
    const output = this.#items.map(item => this.#asLeft(item.item()))
    const state = responseState({ ...this.#state, output, usage: encodeUsage(this.#usage) })
    const toolUsage = encodeToolUsage(this.#usage)
    return { ...this.#echo, ...state, ...(toolUsage !== undefined && { tool_usage: toolUsage }) }
  }

  /** An item of a failed answer that never came to its end; an `apply_patch_call` has no word for that (calls.ts). */
  #asLeft(item: JsonObject): JsonObject {
    const cut = this.#state.status === 'failed' && item['status'] === 'in_progress'
    return cut && item['type'] !== 'apply_patch_call' ? { ...item, status: 'incomplete' } : item
  }

  /** This format has one answer only. Blocks of another candidate are known by the start they had. */
  #isOther(event: GenerationEvent): boolean {
    if ('candidate' in event && event.candidate !== 0) {
      if ('block' in event) this.#otherCandidates.add(event.block)
      return true
    }
    return 'block' in event && this.#otherCandidates.has(event.block)
  }

  #start(emit: EmitText): void {
    if (this.#started) return
    this.#started = true
    const fields = `"response":${JSON.stringify(this.response())}`
    emit(this.#lines.line('response.created', fields) + this.#lines.line('response.in_progress', fields))
  }

  #place(kind: keyof typeof ID_PREFIXES, id?: string): Place {
    const index = this.#items.length
    const own = `${ID_PREFIXES[kind]}_${this.#context.requestId.replaceAll('-', '')}_${index}`
    // SDKs break off at an id that comes twice.
    const unique = id === undefined || this.#ids.has(id) ? own : id
    this.#ids.add(unique)
    return { lines: this.#lines, index, id: unique }
  }

  /** Begins an item after those that are over. */
  #begin(item: ItemWriter, emit: EmitText): void {
    this.#start(emit)
    const text = this.#closeEnded()
    this.#items.push(item)
    this.#undone.add(item)
    emit(text + item.open())
  }

  #closeEnded(): string {
    let text = ''
    for (const item of this.#undone) if (item.ended) text += this.#close(item, 'completed')
    return text
  }

  #close(item: ItemWriter, end: ItemEnd): string {
    this.#undone.delete(item)
    return item.close(end)
  }

  #openContent(block: number, kind: ContentPart['kind'], emit: EmitText): void {
    const writer = this.#joinMessage(kind, emit)
    const { part, text } = writer.openPart(kind)
    if (kind === 'text') part.logprobs.push(...this.#earlyLogprobs.splice(0))
    this.#blocks.set(block, { type: 'content', writer, part })
    emit(text)
  }

  /** The message at the end of the output, or a new one. */
  #joinMessage(kind: ContentPart['kind'], emit: EmitText): MessageWriter {
    const open = this.#message
    if (open?.takes(kind) === true && this.#items.at(-1) === open) return open
    const writer = new MessageWriter(this.#place('message'))
    this.#begin(writer, emit)
    this.#message = writer
    return writer
  }

  #endContent(block: number, signature: Signature | undefined, emit: EmitText): void {
    const open = this.#blocks.get(block)
    if (open?.type !== 'content') return
    open.writer.end(open.part, signature)
    if (phaseOf(signature) === undefined) this.#writeSeal(signature, emit)
  }

  /**
   * A signature on a text, a call or an image (Gemini's) has no field in their items: it travels as reasoning that shows
   * nothing, right behind them, and finds its part again by that.
   */
  #writeSeal(signature: Signature | undefined, emit: EmitText): void {
    if (signature === undefined || signature.value === '') return
    const writer = new ReasoningWriter(this.#place('reasoning'), { raw: false, redacted: true })
    this.#begin(writer, emit)
    emitSome(writer.end(signature), emit)
  }

  #openReasoning(event: EventOf<'reasoning-start'>, emit: EmitText): void {
    const id = event.id === '' ? undefined : event.id
    const writer = new ReasoningWriter(this.#place('reasoning', id), event)
    this.#blocks.set(event.block, { type: 'reasoning', writer })
    this.#begin(writer, emit)
  }

  #writeReasoning(
    event: EventOf<'reasoning-paragraph' | 'reasoning-delta' | 'reasoning-end'>,
    emit: EmitText,
  ): void {
    const open = this.#blocks.get(event.block)
    if (open?.type !== 'reasoning') return
    if (event.type === 'reasoning-paragraph') emit(open.writer.paragraph())
    else if (event.type === 'reasoning-end') emitSome(open.writer.end(event.signature), emit)
    else if (event.text !== '') emit(open.writer.delta(event.text))
  }

  #openCall(event: EventOf<'tool-input-start'>, emit: EmitText): void {
    const writer = new CallWriter(this.#place(event.kind), event)
    this.#blocks.set(event.block, { type: 'call', writer })
    this.#begin(writer, emit)
  }

  #writeCall(event: EventOf<'tool-input-delta' | 'tool-input-end'>, emit: EmitText): void {
    const open = this.#blocks.get(event.block)
    if (open?.type !== 'call') return
    if (event.type === 'tool-input-end') {
      emitSome(open.writer.end(), emit)
      this.#writeSeal(event.signature, emit)
    } else if (event.text !== '') emitSome(open.writer.delta(event.text), emit)
  }

  #writeMedia(media: MediaPart, emit: EmitText): void {
    if (media.kind === 'image' && media.source.type === 'base64') {
      const item = {
        type: 'image_generation_call',
        status: 'completed',
        output_format: outputFormatOf(media.mediaType),
        result: media.source.data,
      }
      this.#begin(new WholeWriter(this.#place('image'), item), emit)
      return this.#writeSeal(media.signature, emit)
    }
    this.#writeText('text', mediaWords(media), emit)
  }

  #writeOpaque(part: OpaquePart, emit: EmitText): void {
    const item = part.format === FORMAT ? itemOf(part.value) : undefined
    if (item === undefined) return
    const id = asNonEmpty(item['id'])
    this.#begin(new WholeWriter(this.#place('other', id), item), emit)
  }

  /** A whole content part. */
  #writeText(kind: ContentPart['kind'], text: string, emit: EmitText): void {
    const writer = this.#joinMessage(kind, emit)
    const opened = writer.openPart(kind)
    emit(opened.text)
    if (text !== '') emit(writer.delta(opened.part, text))
    writer.end(opened.part, undefined)
  }

  #complete(finish: Finish, emit: EmitText): void {
    this.#start(emit)
    // Clients read an answer without any message as no answer at all.
    const silent = this.#items.every(item => item instanceof ReasoningWriter)
    const reason = INCOMPLETE_REASON[finish.reason]
    if (finish.reason === 'refusal' && !this.#refused) {
      this.#writeText('refusal', finish.message ?? 'The model declined to answer.', emit)
    } else if (this.#items.length === 0 || (silent && reason === null)) this.#writeText('text', '', emit)
    const last = this.#items.at(-1)
    this.#writeLate(emit)
    let text = ''
    for (const item of this.#undone) {
      const isCut = reason !== null && (item === last || !item.ended)
      text += this.#close(item, isCut ? 'incomplete' : 'completed')
    }
    this.#state.status = reason === null ? 'completed' : 'incomplete'
    this.#state.incompleteReason = reason
    emit(text + this.#terminal(reason === null ? 'response.completed' : 'response.incomplete'))
  }

  /** What came of a text when its item was done: an empty text of its own holds it. */
  #writeLate(emit: EmitText): void {
    const logprobs = this.#message?.lastText === undefined ? [] : this.#earlyLogprobs.splice(0)
    if (this.#lateCitations.length + logprobs.length === 0) return
    const writer = this.#joinMessage('text', emit)
    const { part, text } = writer.openPart('text')
    part.logprobs.push(...logprobs)
    // The places that they name are in another text.
    const cited = this.#lateCitations.map(citation =>
      writer.cite(part, { ...citation, start: undefined, end: undefined }),
    )
    emit(text + cited.join(''))
    writer.end(part, undefined)
  }

  #fail(error: GatewayError, emit: EmitText): void {
    this.#start(emit)
    this.#state.status = 'failed'
    this.#state.error = encodeFailure(error, this.#context.requestId)
    const fields = JSON.stringify(encodeErrorFields(error, this.#context.requestId)).slice(1, -1)
    emit(this.#lines.line('error', fields) + this.#terminal('response.failed'))
  }

  #terminal(type: 'response.completed' | 'response.incomplete' | 'response.failed'): string {
    this.#ended = true
    return this.#lines.line(type, `"response":${JSON.stringify(this.response())}`)
  }
}

/** Emits what there is. */
function emitSome(text: string, emit: EmitText): void {
  if (text !== '') emit(text)
}
