import { FORMAT, type ItemStatus, type StreamEventType } from '@/formats/openai-responses/wire.ts'
import type { PlainWriter } from '@/formats/plain/plain-text.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { ReasoningPart, Signature } from '@/generation/part.ts'
import { type JsonObject, present } from '@/json/json.ts'
import { lineStart } from './event-line.ts'
import { type ItemEnd, type ItemWriter, itemEvent, itemFields, type Place } from './item-writer.ts'

/** Reasoning: paragraphs are summary parts, or `reasoning_text` contents where the thought itself is shown. */
export class ReasoningWriter implements ItemWriter {
  readonly #place: Place
  readonly #raw: boolean
  readonly #redacted: boolean
  readonly #texts: string[] = []
  #open = false
  #encrypted: string | undefined
  #status: ItemStatus = 'in_progress'
  ended = false

  constructor(place: Place, { raw, redacted }: Pick<ReasoningPart, 'raw' | 'redacted'>) {
    this.#place = place
    this.#raw = raw
    this.#redacted = redacted
  }

  open(): string {
    return itemEvent('added', this.#place, this.item())
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
    this.#add(text)
    return opening + this.#line(this.#deltaType, `"delta":${JSON.stringify(text)}`)
  }

  /** See StreamEncoder. */
  plainText(): PlainWriter | undefined {
    if (!this.#open) return undefined
    return {
      before: lineStart(this.#deltaType),
      numbered: { between: `,${this.#fields()},"delta":"`, counter: this.#place.lines },
      after: '"}\n\n',
      held: undefined,
      note: { of: 'text', add: text => this.#add(text) },
    }
  }

  end(signature: Signature | undefined): string {
    this.ended = true
    if (signature === undefined) return this.#closeParagraph()
    this.#encrypted = wrapSignature(signature, FORMAT)
    // Without any paragraph it reads as redacted, which Anthropic's omitted thinking is not: keep them apart.
    const omitted = this.#texts.length === 0 && !this.#redacted && signature.format !== FORMAT
    return (omitted ? this.paragraph() : '') + this.#closeParagraph()
  }

  close(end: ItemEnd): string {
    const closing = this.#closeParagraph()
    this.#status = end
    return closing + itemEvent('done', this.#place, this.item())
  }

  item(): JsonObject {
    const parts = this.#texts.map(text => this.#part(text))
    return present({
      id: this.#place.id,
      type: 'reasoning',
      status: this.#status,
      summary: this.#raw ? [] : parts,
      content: this.#raw ? parts : undefined,
      encrypted_content: this.#encrypted,
    })
  }

  get #deltaType(): StreamEventType {
    return this.#raw ? 'response.reasoning_text.delta' : 'response.reasoning_summary_text.delta'
  }

  #add(text: string): void {
    const last = this.#texts.length - 1
    this.#texts[last] = (this.#texts[last] ?? '') + text
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
    return this.#place.lines.line(type, `${this.#fields()},${fields}`)
  }

  /** What every event of the paragraph says of where it belongs. */
  #fields(): string {
    const index = `"${this.#raw ? 'content' : 'summary'}_index":${this.#texts.length - 1}`
    return `${itemFields(this.#place)},${index}`
  }
}
