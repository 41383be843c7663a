import { decodeAnnotation, isText } from '@/formats/openai-responses/content.ts'
import { messageContents, strangeContent } from '@/formats/openai-responses/items.ts'
import { phaseSignature } from '@/formats/signatures/phase.ts'
import type { Emit } from '@/generation/event.ts'
import type { OpaquePart } from '@/generation/part.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { ItemReader, StreamSource } from './item-reader.ts'
import { type ToldText, untold } from './told-text.ts'

interface OpenText extends ToldText {
  block: number
  /** Its place in the message, by which its events name it. */
  index: number
  kind: 'text' | 'refusal'
  /** What the part was announced with, until it is known whether its deltas say that again. */
  announced: string
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
  ended = false

  constructor(source: StreamSource) {
    this.#source = source
  }

  reads(item: JsonObject): boolean {
    return item['type'] === 'message'
  }

  added(item: JsonObject): void {
    this.#phase = item['phase']
  }

  partAdded(event: JsonObject, part: JsonObject, emit: Emit): void {
    const kind = contentKind(part)
    const begun = kind && this.#part(event, kind, emit)
    if (begun?.length === 0) begun.announced = textOf(part) ?? ''
  }

  textDelta(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'text', emit)
    if (part === undefined) return
    this.#grow(part, event, emit)
    this.#logprobs(part, event['logprobs'], emit)
  }

  /** So many UTF-16 units of the open part came past `textDelta`. */
  skip(length: number): void {
    if (this.#open !== undefined) this.#open.length += length
  }

  /** See PlainReader. */
  skipUnread(bytes: number): void {
    if (this.#open !== undefined) this.#open.unreadBytes += bytes
  }

  refusalDelta(event: JsonObject, emit: Emit): void {
    const part = this.#part(event, 'refusal', emit)
    if (part !== undefined) this.#grow(part, event, emit)
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
    const part = this.ended ? this.#parts.get(placeOf(event)) : this.#part(event, 'text', emit)
    if (part !== undefined) this.#cite(part, event['annotation'], emit)
  }

  done(item: JsonObject, emit: Emit): void {
    if (this.ended) return this.#citeLate(item, emit)
    this.#phase = item['phase'] ?? this.#phase
    const strange: OpaquePart[] = []
    const contents = messageContents(item).map(value => asObject(value) ?? {})
    for (const [index, content] of contents.entries()) {
      const kind = contentKind(content)
      if (kind === undefined) {
        strange.push(strangeContent(content))
        continue
      }
      const part = this.#part({ content_index: this.#indexOf(kind, index, contents) }, kind, emit)
      if (part === undefined) continue
      this.#fill(part, textOf(content), emit)
      this.#citeRest(part, content, emit)
      if (!part.logprobs) this.#logprobs(part, content['logprobs'], emit)
    }
    this.cut(emit)
    for (const part of strange) emit({ type: 'opaque', block: this.#source.nextBlock(), candidate: 0, part })
  }

  cut(emit: Emit): void {
    if (this.ended) return
    this.ended = true
    this.#endOpen(emit)
  }

  /** Sources that are named only when the message is done. */
  #citeLate(item: JsonObject, emit: Emit): void {
    for (const [index, value] of messageContents(item).entries()) {
      const part = this.#parts.get(index)
      const content = asObject(value)
      if (part !== undefined && content !== undefined) this.#citeRest(part, content, emit)
    }
  }

  #citeRest(part: OpenText, content: JsonObject, emit: Emit): void {
    for (const annotation of asArray(content['annotations']).slice(part.citations)) {
      this.#cite(part, annotation, emit)
    }
  }

  /** The part that an event is about. A part begins when its first event comes, announced or not. */
  #part(event: JsonObject, kind: OpenText['kind'], emit: Emit): OpenText | undefined {
    if (this.ended) return undefined
    const index = placeOf(event)
    const place = placeAs(kind, index)
    const known = this.#parts.get(place)
    if (known !== undefined) return known
    const part = {
      block: 0,
      index,
      kind,
      announced: '',
      length: 0,
      unreadBytes: 0,
      citations: 0,
      logprobs: false,
      ended: true,
    }
    this.#parts.set(place, part)
    this.#begin(part, emit)
    return part
  }

  /** By which number the events named a part that now stands here: servers were seen that call them all 0. */
  #indexOf(kind: OpenText['kind'], index: number, contents: readonly JsonObject[]): number {
    if (this.#parts.has(placeAs(kind, index))) return index
    const isHere = (part: OpenText) => part.kind === kind && contentKind(contents[part.index] ?? {}) !== kind
    return this.#parts.values().find(isHere)?.index ?? index
  }

  /** One part is open at a time: a part that goes on behind another one does so in a block of its own. */
  #begin(part: OpenText, emit: Emit): void {
    this.#endOpen(emit)
    part.block = this.#source.nextBlock()
    part.ended = false
    this.#open = part
    if (part.kind === 'refusal') this.#source.seen.refusal = true
    emit({ type: part.kind === 'text' ? 'text-start' : 'refusal-start', block: part.block, candidate: 0 })
  }

  /** OpenAI announces a part empty; LiteLLM, where it makes up a stream, with all the text that its deltas then say. */
  #grow(part: OpenText, event: JsonObject, emit: Emit): void {
    const delta = asString(event['delta']) ?? ''
    if (delta === '') return
    if (!part.announced.startsWith(delta)) this.#say(part, part.announced, emit)
    part.announced = ''
    this.#say(part, delta, emit)
  }

  #say(part: OpenText, text: string, emit: Emit): void {
    if (text === '') return
    if (part.ended) this.#begin(part, emit)
    part.length += text.length
    emit({ type: part.kind === 'text' ? 'text-delta' : 'refusal-delta', block: part.block, text })
  }

  #fill(part: OpenText | undefined, whole: string | undefined, emit: Emit): void {
    if (part !== undefined && whole !== undefined) this.#say(part, untold(whole, part), emit)
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
    if (part.length === 0) this.#say(part, part.announced, emit)
    part.ended = true
    this.#open = undefined
    if (part.kind === 'refusal') emit({ type: 'refusal-end', block: part.block })
    else emit({ type: 'text-end', block: part.block, signature: phaseSignature(this.#phase) })
  }
}

function placeOf(event: JsonObject): number {
  return asNumber(event['content_index']) ?? 0
}

/** A refusal may have the number of a text. */
function placeAs(kind: OpenText['kind'], index: number): number {
  return kind === 'text' ? index : -1 - index
}

function contentKind(part: JsonObject): OpenText['kind'] | undefined {
  if (part['type'] === 'refusal') return 'refusal'
  return isText(part) ? 'text' : undefined
}

function textOf(part: JsonObject): string | undefined {
  return asString(part['type'] === 'refusal' ? part['refusal'] : part['text'])
}
