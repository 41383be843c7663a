import {
  decodeReasoning,
  type ReasoningTextField,
  reasoningSignature,
  reasoningTexts,
} from '@/formats/openai-responses/items.ts'
import type { Emit } from '@/generation/event.ts'
import { asNumber, asString, type JsonObject } from '@/json/json.ts'
import type { ItemReader, StreamSource } from './item-reader.ts'
import { type ToldText, untold } from './told-text.ts'

/**
 * Reasoning: one block, begun with its first text or, where nothing is shown, with its end. Of an item with raw text and
 * a summary the block holds what comes first, and the raw text in any case.
 */
export class ReasoningReader implements ItemReader {
  readonly #source: StreamSource
  readonly #id: string | undefined
  #block: number | undefined
  /** Which texts are shown; decided by what comes first. */
  #field: ReasoningTextField = 'summary'
  /** The paragraph that is written now, and how much was emitted of each. */
  #paragraph = -1
  readonly #told = new Map<number, ToldText>()
  ended = false

  constructor(source: StreamSource, item: JsonObject) {
    this.#source = source
    this.#id = asString(item['id'])
  }

  reads(item: JsonObject): boolean {
    return item['type'] === 'reasoning'
  }

  added(): void {}

  part(field: ReasoningTextField, event: JsonObject, emit: Emit): void {
    this.#turnTo(field, indexIn(event, field), emit)
  }

  delta(field: ReasoningTextField, event: JsonObject, emit: Emit): void {
    this.#write(field, indexIn(event, field), asString(event['delta']), emit)
  }

  textDone(field: ReasoningTextField, event: JsonObject, emit: Emit): void {
    this.#fill(field, indexIn(event, field), asString(event['text']), emit)
  }

  /** So many UTF-16 units of the last paragraph came past its deltas. */
  skip(length: number): void {
    this.#toldOf(this.#paragraph).length += length
  }

  /** See PlainReader. */
  skipUnread(bytes: number): void {
    this.#toldOf(this.#paragraph).unreadBytes += bytes
  }

  done(item: JsonObject, emit: Emit): void {
    if (this.ended) return
    const whole = decodeReasoning(item, this.#source.vendor)
    if (whole !== undefined) {
      if (this.#block === undefined) this.#start(whole.raw ? 'content' : 'summary', whole.redacted, emit)
      for (const [index, text] of reasoningTexts(item, this.#field).entries()) {
        this.#fill(this.#field, index, text, emit)
      }
      if (whole.raw && this.#field === 'summary')
        this.#add(whole.texts, reasoningTexts(item, 'summary'), emit)
    }
    this.#end(asString(item['encrypted_content']), emit)
  }

  /** The raw text behind a summary that was shown before it came, unless it says the same. */
  #add(texts: readonly string[], shown: readonly string[], emit: Emit): void {
    if (this.#block === undefined || texts.join('') === shown.join('')) return
    for (const text of texts) {
      emit({ type: 'reasoning-paragraph', block: this.#block })
      emit({ type: 'reasoning-delta', block: this.#block, text })
    }
  }

  cut(emit: Emit): void {
    if (!this.ended) this.#end(undefined, emit)
  }

  #start(field: ReasoningTextField, redacted: boolean, emit: Emit): number {
    const block = this.#source.nextBlock()
    this.#block = block
    this.#field = field
    const raw = field === 'content'
    emit({ type: 'reasoning-start', block, candidate: 0, id: this.#id, raw, redacted })
    return block
  }

  /** Makes a paragraph the one that deltas belong to; undefined when this kind of text is not the one shown. */
  #turnTo(field: ReasoningTextField, index: number, emit: Emit): number | undefined {
    if (this.ended) return undefined
    const block = this.#block ?? this.#start(field, false, emit)
    if (this.#field !== field) return undefined
    if (this.#paragraph !== index) {
      this.#paragraph = index
      this.#toldOf(index)
      emit({ type: 'reasoning-paragraph', block })
    }
    return block
  }

  #write(field: ReasoningTextField, index: number, text: string | undefined, emit: Emit): void {
    if (text === undefined || text === '') return
    const block = this.#turnTo(field, index, emit)
    if (block === undefined) return
    this.#toldOf(index).length += text.length
    emit({ type: 'reasoning-delta', block, text })
  }

  #fill(field: ReasoningTextField, index: number, whole: string | undefined, emit: Emit): void {
    const told = this.#told.get(index)
    if (whole === undefined) return
    const rest = told === undefined ? whole : untold(whole, told)
    if (told !== undefined && rest === '') return
    const block = this.#turnTo(field, index, emit)
    if (block !== undefined) this.#write(field, index, rest, emit)
  }

  #toldOf(index: number): ToldText {
    const told = this.#told.get(index) ?? { length: 0, unreadBytes: 0 }
    this.#told.set(index, told)
    return told
  }

  #end(encrypted: string | undefined, emit: Emit): void {
    this.ended = true
    if (this.#block === undefined) return
    const signature =
      encrypted === undefined || encrypted === ''
        ? undefined
        : reasoningSignature(encrypted, this.#source.vendor)
    emit({ type: 'reasoning-end', block: this.#block, signature })
  }
}

const INDEX = { summary: 'summary_index', content: 'content_index' } as const

/** The paragraph that an event is about. */
function indexIn(event: JsonObject, field: ReasoningTextField): number {
  return asNumber(event[INDEX[field]]) ?? 0
}
