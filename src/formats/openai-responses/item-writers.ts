import { wrapSignature } from '@/formats/signature.ts'
import type { Citation, Signature } from '@/generation/part.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'
import { CALL_ITEMS, type Call, encodeCall } from './calls.ts'
import { encodeAnnotation } from './content.ts'
import type { EventLines } from './event-line.ts'
import { phaseOf } from './phase.ts'
import type { ItemStatus, StreamEventType } from './wire.ts'

/** Writes one output item, from `output_item.added` to `output_item.done`. */
export interface ItemWriter {
  /** True once every block of the item ended; the item stays open until it is known how the answer went on. */
  readonly ended: boolean
  /** The closing events. A cut answer's last item is incomplete, unless it can be seen to be whole. */
  close(cut: boolean): string
  /** The item as it stands. */
  item(): JsonObject
}

/** Where an item stands and how its events are numbered. */
export interface Place {
  lines: EventLines
  /** `output_index`. */
  index: number
  id: string
}

/** The fields by which an event names its item. */
function itemFields(place: Place): string {
  return `"item_id":${JSON.stringify(place.id)},"output_index":${place.index}`
}

function added(place: Place, item: JsonObject): string {
  return place.lines.line(
    'response.output_item.added',
    `"output_index":${place.index},"item":${JSON.stringify(item)}`,
  )
}

function done(place: Place, item: JsonObject): string {
  return place.lines.line(
    'response.output_item.done',
    `"output_index":${place.index},"item":${JSON.stringify(item)}`,
  )
}

/** A content part of a message that is being written. */
export interface ContentPart {
  kind: 'text' | 'refusal'
  index: number
  text: string
  annotations: JsonObject[]
  logprobs: JsonValue[]
  ended: boolean
  closed: boolean
  /** What stands before the text of each delta, made once. */
  head: string
}

/** A message. Neighbouring blocks of text are its content parts. */
export class MessageWriter implements ItemWriter {
  readonly #place: Place
  readonly #parts: ContentPart[] = []
  #status: ItemStatus = 'in_progress'
  #phase: string | undefined

  constructor(place: Place) {
    this.#place = place
  }

  get ended(): boolean {
    return this.#parts.every(part => part.ended)
  }

  /** Whether another block may still join: a message with a phase is one that the model closed itself. */
  get joinable(): boolean {
    return this.#phase === undefined && this.#status === 'in_progress'
  }

  /** The part that token log probabilities belong to: the last text. */
  get lastText(): ContentPart | undefined {
    return this.#parts.findLast(part => part.kind === 'text')
  }

  open(): string {
    return added(this.#place, this.item())
  }

  openPart(kind: ContentPart['kind']): { part: ContentPart; text: string } {
    const closing = this.#parts.map(part => (part.ended ? this.#closePart(part) : '')).join('')
    const index = this.#parts.length
    const head = `${itemFields(this.#place)},"content_index":${index}`
    const part: ContentPart = {
      kind,
      index,
      text: '',
      annotations: [],
      logprobs: [],
      ended: false,
      closed: false,
      head,
    }
    this.#parts.push(part)
    const opening = this.#line(
      'response.content_part.added',
      part,
      `"part":${JSON.stringify(wirePart(part))}`,
    )
    return { part, text: closing + opening }
  }

  delta(part: ContentPart, text: string): string {
    part.text += text
    return part.kind === 'text'
      ? this.#line('response.output_text.delta', part, `"delta":${JSON.stringify(text)},"logprobs":[]`)
      : this.#line('response.refusal.delta', part, `"delta":${JSON.stringify(text)}`)
  }

  cite(part: ContentPart, citation: Citation): string {
    const annotation = encodeAnnotation(citation, part.text.length)
    if (annotation === undefined) return ''
    const index = part.annotations.push(annotation) - 1
    return this.#line(
      'response.output_text.annotation.added',
      part,
      `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`,
    )
  }

  end(part: ContentPart, signature: Signature | undefined): void {
    part.ended = true
    this.#phase = phaseOf(signature) ?? this.#phase
  }

  close(cut: boolean): string {
    const closing = this.#parts.map(part => this.#closePart(part)).join('')
    this.#status = cut ? 'incomplete' : 'completed'
    return closing + done(this.#place, this.item())
  }

  item(): JsonObject {
    return {
      id: this.#place.id,
      type: 'message',
      status: this.#status,
      role: 'assistant',
      content: this.#parts.map(wirePart),
      ...(this.#phase === undefined ? {} : { phase: this.#phase }),
    }
  }

  #closePart(part: ContentPart): string {
    if (part.closed) return ''
    part.closed = true
    const text = JSON.stringify(part.text)
    const whole =
      part.kind === 'text'
        ? this.#line(
            'response.output_text.done',
            part,
            `"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`,
          )
        : this.#line('response.refusal.done', part, `"refusal":${text}`)
    return whole + this.#line('response.content_part.done', part, `"part":${JSON.stringify(wirePart(part))}`)
  }

  #line(type: StreamEventType, part: ContentPart, fields: string): string {
    return this.#place.lines.line(type, `${part.head},${fields}`)
  }
}

function wirePart(part: ContentPart): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  return { type: 'output_text', text: part.text, annotations: part.annotations, logprobs: part.logprobs }
}

/** Reasoning: paragraphs are summary parts, or `reasoning_text` contents where the thought itself is shown. */
export class ReasoningWriter implements ItemWriter {
  readonly #place: Place
  readonly #raw: boolean
  readonly #redacted: boolean
  readonly #texts: string[] = []
  #open = false
  #encrypted: string | undefined
  #status: ItemStatus = 'in_progress'
  #ended = false

  constructor(place: Place, raw: boolean, redacted: boolean) {
    this.#place = place
    this.#raw = raw
    this.#redacted = redacted
  }

  get ended(): boolean {
    return this.#ended
  }

  open(): string {
    return added(this.#place, this.item())
  }

  paragraph(): string {
    const closing = this.#closeParagraph()
    this.#texts.push('')
    this.#open = true
    const type = this.#raw ? 'response.content_part.added' : 'response.reasoning_summary_part.added'
    return closing + this.#line(type, `"part":${JSON.stringify(this.#part(''))}`)
  }

  delta(text: string): string {
    const opening = this.#open ? '' : this.paragraph()
    const last = this.#texts.length - 1
    this.#texts[last] = (this.#texts[last] ?? '') + text
    const type = this.#raw ? 'response.reasoning_text.delta' : 'response.reasoning_summary_text.delta'
    return opening + this.#line(type, `"delta":${JSON.stringify(text)}`)
  }

  end(signature: Signature | undefined): string {
    this.#ended = true
    if (signature === undefined) return this.#closeParagraph()
    this.#encrypted = wrapSignature(signature, 'openai-responses')
    // Without any paragraph it reads as redacted, which Anthropic's omitted thinking is not: keep them apart.
    const omitted = this.#texts.length === 0 && !this.#redacted && signature.format !== 'openai-responses'
    return (omitted ? this.paragraph() : '') + this.#closeParagraph()
  }

  close(cut: boolean): string {
    const closing = this.#closeParagraph()
    this.#status = cut ? 'incomplete' : 'completed'
    return closing + done(this.#place, this.item())
  }

  item(): JsonObject {
    const parts = this.#texts.map(text => this.#part(text))
    return {
      id: this.#place.id,
      type: 'reasoning',
      status: this.#status,
      summary: this.#raw ? [] : parts,
      ...(this.#raw ? { content: parts } : {}),
      ...(this.#encrypted === undefined ? {} : { encrypted_content: this.#encrypted }),
    }
  }

  #closeParagraph(): string {
    if (!this.#open) return ''
    this.#open = false
    const text = this.#texts.at(-1) ?? ''
    const whole = this.#raw ? 'response.reasoning_text.done' : 'response.reasoning_summary_text.done'
    const part = this.#raw ? 'response.content_part.done' : 'response.reasoning_summary_part.done'
    return (
      this.#line(whole, `"text":${JSON.stringify(text)}`) +
      this.#line(part, `"part":${JSON.stringify(this.#part(text))}`)
    )
  }

  #part(text: string): JsonObject {
    return { type: this.#raw ? 'reasoning_text' : 'summary_text', text }
  }

  #line(type: StreamEventType, fields: string): string {
    const index = `"${this.#raw ? 'content' : 'summary'}_index":${this.#texts.length - 1}`
    return this.#place.lines.line(type, `${itemFields(this.#place)},${index},${fields}`)
  }
}

/** A call that the client runs. Only functions and custom tools have deltas; the other kinds come whole. */
export class CallWriter implements ItemWriter {
  readonly #place: Place
  readonly #call: Call
  readonly #head: string
  #status: ItemStatus = 'in_progress'
  #ended = false

  constructor(place: Place, call: Omit<Call, 'input'>) {
    this.#place = place
    this.#call = { ...call, input: '' }
    this.#head = itemFields(place)
  }

  get ended(): boolean {
    return this.#ended
  }

  open(): string {
    return added(this.#place, this.item())
  }

  delta(text: string): string {
    this.#call.input += text
    const type = DELTA_EVENTS[this.#call.kind]
    if (type === undefined) return ''
    return this.#place.lines.line(type, `${this.#head},"delta":${JSON.stringify(text)}`)
  }

  /** No arguments are an empty object, never an empty text: agents parse it. */
  end(): string {
    this.#ended = true
    return this.#call.kind === 'function' && this.#call.input === '' ? this.delta('{}') : ''
  }

  close(cut: boolean): string {
    const cutHere = cut && (this.#call.kind === 'custom' || parseObject(this.#call.input) === undefined)
    this.#status = cutHere ? 'incomplete' : 'completed'
    return this.#inputDone() + done(this.#place, this.item())
  }

  item(): JsonObject {
    return encodeCall(this.#call, this.#place.id, this.#status)
  }

  #inputDone(): string {
    const { kind, input, name } = this.#call
    if (kind === 'function') {
      const fields = `${this.#head},"name":${JSON.stringify(name)},"arguments":${JSON.stringify(input)}`
      return this.#place.lines.line('response.function_call_arguments.done', fields)
    }
    if (kind !== 'custom') return ''
    return this.#place.lines.line(
      'response.custom_tool_call_input.done',
      `${this.#head},"input":${JSON.stringify(input)}`,
    )
  }
}

const DELTA_EVENTS: Readonly<Partial<Record<Call['kind'], StreamEventType>>> = {
  function: 'response.function_call_arguments.delta',
  custom: 'response.custom_tool_call_input.delta',
}

/** An item that comes whole: a generated image, or one that only this format knows. */
export class WholeWriter implements ItemWriter {
  readonly ended = true
  readonly #place: Place
  readonly #item: JsonObject

  constructor(place: Place, item: JsonObject) {
    this.#place = place
    this.#item = { ...item, id: place.id }
  }

  open(): string {
    const begun = 'status' in this.#item ? { ...this.#item, status: 'in_progress' } : this.#item
    return added(this.#place, 'result' in begun ? { ...begun, result: null } : begun)
  }

  close(): string {
    return done(this.#place, this.#item)
  }

  item(): JsonObject {
    return this.#item
  }
}

/** What an item's id begins with. */
export function idPrefix(kind: Call['kind'] | 'message' | 'reasoning' | 'image' | 'other'): string {
  switch (kind) {
    case 'message':
      return 'msg'
    case 'reasoning':
      return 'rs'
    case 'image':
      return 'ig'
    case 'other':
      return 'item'
    default:
      return CALL_ITEMS[kind].idPrefix
  }
}

/** The item inside an opaque part of this format; undefined when it holds none. */
export function itemOf(value: JsonValue): JsonObject | undefined {
  return isJsonObject(value) && typeof value['type'] === 'string' ? value : undefined
}
