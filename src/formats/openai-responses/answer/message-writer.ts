import { onePiece } from '@/formats/one-piece.ts'
import { encodeAnnotation } from '@/formats/openai-responses/content.ts'
import type { ItemStatus, StreamEventType } from '@/formats/openai-responses/wire.ts'
import type { PlainWriter } from '@/formats/plain/plain-text.ts'
import { phaseOf } from '@/formats/signatures/phase.ts'
import type { Citation, Signature } from '@/generation/part.ts'
import { type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { lineStart } from './event-line.ts'
import { type ItemEnd, type ItemWriter, itemEvent, itemFields, type Place } from './item-writer.ts'

/** A content part of a message that is being written. */
export interface ContentPart {
  kind: 'text' | 'refusal'
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
  /** How many of the first parts are all closed. */
  #closed = 0
  #status: ItemStatus = 'in_progress'
  #phase: string | undefined

  constructor(place: Place) {
    this.#place = place
  }

  get ended(): boolean {
    return this.#parts.every(part => part.ended)
  }

  /**
   * Whether another block may still join: a message with a phase is one that the model closed itself. Words of refusal
   * have their own, since Codex drops every message that has some: all parts are of one kind.
   */
  takes(kind: ContentPart['kind']): boolean {
    const isOpen = this.#phase === undefined && this.#status === 'in_progress'
    return isOpen && (this.#parts[0]?.kind ?? kind) === kind
  }

  /** The part that token log probabilities belong to: the last text. */
  get lastText(): ContentPart | undefined {
    return this.#parts.findLast(part => part.kind === 'text')
  }

  open(): string {
    return itemEvent('added', this.#place, this.item())
  }

  openPart(kind: ContentPart['kind']): { part: ContentPart; text: string } {
    const closing = this.#closeEnded()
    const head = onePiece(`${itemFields(this.#place)},"content_index":${this.#parts.length}`)
    const part: ContentPart = {
      kind,
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

  /** See StreamEncoder. */
  plainText(part: ContentPart): PlainWriter | undefined {
    if (part.kind !== 'text') return undefined
    return {
      before: lineStart('response.output_text.delta'),
      numbered: { between: `,${part.head},"delta":"`, counter: this.#place.lines },
      after: '","logprobs":[]}\n\n',
      held: undefined,
      note: {
        of: 'text',
        add: text => {
          part.text += text
        },
      },
    }
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

  close(end: ItemEnd): string {
    const closing = this.#parts.map(part => this.#closePart(part)).join('')
    this.#status = end
    return closing + itemEvent('done', this.#place, this.item())
  }

  item(): JsonObject {
    return present({
      id: this.#place.id,
      type: 'message',
      status: this.#status,
      role: 'assistant',
      content: this.#parts.map(wirePart),
      phase: this.#phase,
    })
  }

  #closeEnded(): string {
    let closing = ''
    for (let at = this.#closed; at < this.#parts.length; at += 1) {
      const part = this.#parts[at]
      if (part?.ended === true) closing += this.#closePart(part)
    }
    while (this.#parts[this.#closed]?.closed === true) this.#closed += 1
    return closing
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
