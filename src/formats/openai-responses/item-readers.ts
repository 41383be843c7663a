import type { GenerationEvent } from '@/generation/event.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { callInput, callKind, callName, linkOf } from './calls.ts'
import { decodeAnnotation } from './content.ts'
import type { Seen } from './finish.ts'
import { decodeImageCall, decodeReasoning, type ItemSource, opaqueItem, reasoningSignature } from './items.ts'
import { phaseSignature } from './phase.ts'

type Emit = (event: GenerationEvent) => void

/** What every reader of a stream shares. */
export interface StreamSource extends ItemSource {
  /** Numbers the next part of the answer. */
  nextBlock: () => number
  /** What the answer held so far. */
  seen: Seen
}

/** Follows one item of a streamed output from its first event to its `done`. */
export interface ItemReader {
  /** Whether the item was told to its end. */
  readonly ended: boolean
  /** Whether this item is of the type that is read here. */
  reads(item: JsonObject): boolean
  added(item: JsonObject, emit: Emit): void
  /** The whole item came: what the deltas left out is told now. Only the first counts. */
  done(item: JsonObject, emit: Emit): void
  /** The answer ended without the item's `done`. */
  cut(emit: Emit): void
}

interface OpenText {
  block: number
  kind: 'text' | 'refusal'
  /** UTF-16 units emitted so far. */
  length: number
  citations: number
  logprobs: boolean
  ended: boolean
}

/** A message: one block for each of its content parts. */
export class MessageReader implements ItemReader {
  readonly #source: StreamSource
  readonly #parts = new Map<number, OpenText>()
  #open: OpenText | undefined
  #phase: JsonValue | undefined
  #ended = false

  constructor(source: StreamSource) {
    this.#source = source
  }

  get ended(): boolean {
    return this.#ended
  }

  reads(item: JsonObject): boolean {
    return item['type'] === 'message'
  }

  added(item: JsonObject): void {
    this.#phase = item['phase']
  }

  partAdded(event: JsonObject, part: JsonObject, emit: Emit): void {
    const kind = contentKind(part)
    if (kind !== undefined) this.#fill(this.#part(event, kind, emit), textOf(part), emit)
  }

  textDelta(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'text', emit)
    const text = asString(event['delta'])
    if (part !== undefined && text !== undefined && text !== '') {
      part.length += text.length
      emit({ type: 'text-delta', block: part.block, text })
    }
    if (part !== undefined) this.#logprobs(part, event['logprobs'], emit)
  }

  refusalDelta(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'refusal', emit)
    const text = asString(event['delta'])
    if (part === undefined || text === undefined || text === '') return
    part.length += text.length
    emit({ type: 'refusal-delta', block: part.block, text })
  }

  textDone(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'text', emit)
    this.#fill(part, asString(event['text']), emit)
    if (part !== undefined && !part.logprobs) this.#logprobs(part, event['logprobs'], emit)
  }

  refusalDone(event: JsonObject, emit: Emit): void {
    this.#fill(this.#part(event, 'refusal', emit), asString(event['refusal']), emit)
  }

  annotation(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'text', emit)
    if (part !== undefined) this.#cite(part, event['annotation'], emit)
  }

  done(item: JsonObject, emit: Emit): void {
    if (this.#ended) return
    this.#phase = item['phase'] ?? this.#phase
    for (const [index, value] of asArray(item['content']).entries()) {
      const content = asObject(value)
      const kind = content === undefined ? undefined : contentKind(content)
      if (content === undefined || kind === undefined) continue
      const part = this.#part({ content_index: index }, kind, emit)
      if (part === undefined) continue
      this.#fill(part, textOf(content), emit)
      for (const annotation of asArray(content['annotations']).slice(part.citations)) {
        this.#cite(part, annotation, emit)
      }
      if (!part.logprobs) this.#logprobs(part, content['logprobs'], emit)
    }
    this.cut(emit)
  }

  cut(emit: Emit): void {
    if (this.#ended) return
    this.#ended = true
    this.#endOpen(emit)
  }

  /** The part that an event is about. A part begins when its first event comes, announced or not. */
  #part(event: JsonObject, kind: OpenText['kind'], emit: Emit): OpenText | undefined {
    const index = asNumber(event['content_index']) ?? 0
    const known = this.#parts.get(index)
    if (known !== undefined) return known.kind === kind && !known.ended ? known : undefined
    if (this.#ended) return undefined
    this.#endOpen(emit)
    const block = this.#source.nextBlock()
    const part = { block, kind, length: 0, citations: 0, logprobs: false, ended: false }
    this.#parts.set(index, part)
    this.#open = part
    if (kind === 'refusal') this.#source.seen.refusal = true
    emit({ type: kind === 'text' ? 'text-start' : 'refusal-start', block, candidate: 0 })
    return part
  }

  #fill(part: OpenText | undefined, whole: string | undefined, emit: Emit): void {
    if (part === undefined || whole === undefined || whole.length <= part.length) return
    const text = whole.slice(part.length)
    part.length = whole.length
    emit({ type: part.kind === 'text' ? 'text-delta' : 'refusal-delta', block: part.block, text })
  }

  #cite(part: OpenText, annotation: JsonValue | undefined, emit: Emit): void {
    part.citations += 1
    for (const citation of decodeAnnotation(annotation ?? null)) {
      emit({ type: 'text-citation', block: part.block, citation })
    }
  }

  #logprobs(part: OpenText, wire: JsonValue | undefined, emit: Emit): void {
    const content = asArray(wire)
    if (content.length === 0) return
    part.logprobs = true
    emit({ type: 'logprobs', candidate: 0, content })
  }

  #endOpen(emit: Emit): void {
    const part = this.#open
    if (part === undefined) return
    part.ended = true
    this.#open = undefined
    if (part.kind === 'refusal') emit({ type: 'refusal-end', block: part.block })
    else emit({ type: 'text-end', block: part.block, signature: phaseSignature(this.#phase) })
  }
}

function contentKind(part: JsonObject): OpenText['kind'] | undefined {
  if (part['type'] === 'refusal') return 'refusal'
  return part['type'] === 'output_text' || part['type'] === 'text' ? 'text' : undefined
}

function textOf(part: JsonObject): string | undefined {
  return asString(part['type'] === 'refusal' ? part['refusal'] : part['text'])
}

/** Reasoning: one block, begun with its first text or, where nothing is shown, with its end. */
export class ReasoningReader implements ItemReader {
  readonly #source: StreamSource
  readonly #id: string | undefined
  #block: number | undefined
  #raw = false
  /** The paragraph that is written now, and how much of it was emitted. */
  #paragraph: number | undefined
  #length = 0
  #paragraphs = 0
  #ended = false

  constructor(source: StreamSource, item: JsonObject) {
    this.#source = source
    this.#id = asString(item['id'])
  }

  get ended(): boolean {
    return this.#ended
  }

  reads(item: JsonObject): boolean {
    return item['type'] === 'reasoning'
  }

  added(): void {}

  summaryPart(event: JsonObject, emit: Emit): void {
    this.#turnTo(asNumber(event['summary_index']) ?? 0, false, emit)
  }

  summaryDelta(event: JsonObject, emit: Emit): void {
    this.#delta(asNumber(event['summary_index']) ?? 0, false, asString(event['delta']), emit)
  }

  summaryDone(event: JsonObject, emit: Emit): void {
    this.#fill(asNumber(event['summary_index']) ?? 0, false, asString(event['text']), emit)
  }

  rawPart(event: JsonObject, emit: Emit): void {
    this.#turnTo(asNumber(event['content_index']) ?? 0, true, emit)
  }

  rawDelta(event: JsonObject, emit: Emit): void {
    this.#delta(asNumber(event['content_index']) ?? 0, true, asString(event['delta']), emit)
  }

  rawDone(event: JsonObject, emit: Emit): void {
    this.#fill(asNumber(event['content_index']) ?? 0, true, asString(event['text']), emit)
  }

  done(item: JsonObject, emit: Emit): void {
    if (this.#ended) return
    const whole = decodeReasoning(item, this.#source.vendor)
    if (whole !== undefined) {
      if (this.#block === undefined) this.#start(whole.raw, whole.redacted, emit)
      if (whole.raw === this.#raw) {
        for (const [index, text] of whole.texts.entries()) {
          if (index >= this.#paragraphs - 1) this.#fill(index, whole.raw, text, emit)
        }
      }
    }
    this.#end(asString(item['encrypted_content']), emit)
  }

  cut(emit: Emit): void {
    if (!this.#ended) this.#end(undefined, emit)
  }

  #start(raw: boolean, redacted: boolean, emit: Emit): number {
    const block = this.#source.nextBlock()
    this.#block = block
    this.#raw = raw
    emit({ type: 'reasoning-start', block, candidate: 0, id: this.#id, raw, redacted })
    return block
  }

  /** Makes a paragraph the one that deltas belong to; undefined when this kind of text is not the one shown. */
  #turnTo(index: number, raw: boolean, emit: Emit): number | undefined {
    if (this.#ended) return undefined
    const block = this.#block ?? this.#start(raw, false, emit)
    if (this.#raw !== raw) return undefined
    if (this.#paragraph !== index) {
      this.#paragraph = index
      this.#length = 0
      this.#paragraphs += 1
      emit({ type: 'reasoning-paragraph', block })
    }
    return block
  }

  #delta(index: number, raw: boolean, text: string | undefined, emit: Emit): void {
    if (text === undefined || text === '') return
    const block = this.#turnTo(index, raw, emit)
    if (block === undefined) return
    this.#length += text.length
    emit({ type: 'reasoning-delta', block, text })
  }

  #fill(index: number, raw: boolean, whole: string | undefined, emit: Emit): void {
    if (whole === undefined) return
    const block = this.#turnTo(index, raw, emit)
    if (block !== undefined) this.#delta(index, raw, whole.slice(this.#length), emit)
  }

  #end(encrypted: string | undefined, emit: Emit): void {
    this.#ended = true
    if (this.#block === undefined) return
    const signature =
      encrypted === undefined || encrypted === ''
        ? undefined
        : reasoningSignature(encrypted, this.#source.vendor)
    emit({ type: 'reasoning-end', block: this.#block, signature })
  }
}

/** A call that the client runs. Calls whose input is an object of their own kind are told whole, at their end. */
export class CallReader implements ItemReader {
  static fits(item: JsonObject): boolean {
    return callKind(item) !== undefined
  }

  readonly #source: StreamSource
  readonly #type: JsonValue | undefined
  #block: number | undefined
  /** Input that came before the call's name did. */
  #early = ''
  #length = 0
  #ended = false

  constructor(source: StreamSource, item: JsonObject) {
    this.#source = source
    this.#type = item['type']
  }

  get ended(): boolean {
    return this.#ended
  }

  reads(item: JsonObject): boolean {
    return item['type'] === this.#type
  }

  added(item: JsonObject, emit: Emit): void {
    const kind = callKind(item)
    const streamed = kind === 'function' || kind === 'custom'
    if (streamed && callName(item, kind) !== '' && linkOf(item) !== undefined) this.#start(item, emit)
  }

  delta(event: JsonObject, emit: Emit): void {
    const text = asString(event['delta'])
    if (text === undefined || text === '' || this.#ended) return
    if (this.#block === undefined) {
      this.#early += text
      return
    }
    this.#length += text.length
    emit({ type: 'tool-input-delta', block: this.#block, text })
  }

  inputDone(event: JsonObject, emit: Emit): void {
    const whole = asString(event['arguments']) ?? asString(event['input'])
    if (this.#block !== undefined && whole !== undefined) this.#fill(this.#block, whole, emit)
  }

  done(item: JsonObject, emit: Emit): void {
    const kind = callKind(item)
    if (this.#ended || kind === undefined) return
    const block = this.#block ?? this.#start(item, emit)
    this.#fill(block, callInput(item, kind), emit)
    this.cut(emit)
  }

  cut(emit: Emit): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#block !== undefined) emit({ type: 'tool-input-end', block: this.#block, signature: undefined })
  }

  #start(item: JsonObject, emit: Emit): number {
    const kind = callKind(item) ?? 'function'
    const block = this.#source.nextBlock()
    this.#block = block
    this.#source.seen.calls = true
    emit({
      type: 'tool-input-start',
      block,
      candidate: 0,
      kind,
      callId: linkOf(item) ?? this.#source.newId(),
      name: callName(item, kind),
      namespace: asString(item['namespace']),
    })
    this.#fill(block, this.#early, emit)
    return block
  }

  #fill(block: number, whole: string, emit: Emit): void {
    if (this.#ended || whole.length <= this.#length) return
    const text = whole.slice(this.#length)
    this.#length = whole.length
    emit({ type: 'tool-input-delta', block, text })
  }
}

/** An item that only this format knows, or an image: told whole when it is done. */
export class WholeReader implements ItemReader {
  readonly #source: StreamSource
  #type: JsonValue | undefined
  #ended = false

  constructor(source: StreamSource) {
    this.#source = source
  }

  get ended(): boolean {
    return this.#ended
  }

  reads(item: JsonObject): boolean {
    return this.#type === undefined || this.#type === item['type']
  }

  added(item: JsonObject): void {
    this.#type = item['type']
  }

  done(item: JsonObject, emit: Emit): void {
    const type = asString(item['type'])
    if (this.#ended || type === undefined) return
    this.#ended = true
    const part = type === 'image_generation_call' ? decodeImageCall(item) : opaqueItem(item, type)
    const at = { block: this.#source.nextBlock(), candidate: 0 }
    if (part.type === 'media') emit({ type: 'media', ...at, media: part })
    else emit({ type: 'opaque', ...at, part })
  }

  cut(): void {
    this.#ended = true
  }
}
