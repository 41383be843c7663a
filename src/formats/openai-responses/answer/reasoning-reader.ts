import { decodeReasoning, reasoningSignature, reasoningTexts } from '@/formats/openai-responses/items.ts'
import type { Emit } from '@/generation/event.ts'
import { asNumber, asString, type JsonObject } from '@/json/json.ts'
import type { ItemReader, StreamSource } from './item-reader.ts'

/**
 * Reasoning: one block, begun with its first text or, where nothing is shown, with its end. Of an item with raw text and
 * a summary the block holds what comes first, and the raw text in any case.
 */
export class ReasoningReader implements ItemReader {
  readonly #source: StreamSource
  readonly #id: string | undefined
  #block: number | undefined
  #raw = false
  /** The paragraph that is written now, and how much was emitted of each. */
  #paragraph = -1
  readonly #lengths = new Map<number, number>()
  ended = false

  constructor(source: StreamSource, item: JsonObject) {
    this.#source = source
    this.#id = asString(item['id'])
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

  /** So many UTF-16 units of the last paragraph came past its deltas. */
  skip(length: number): void {
    this.#count(this.#paragraph, length)
  }

  rawDone(event: JsonObject, emit: Emit): void {
    this.#fill(asNumber(event['content_index']) ?? 0, true, asString(event['text']), emit)
  }

  done(item: JsonObject, emit: Emit): void {
    if (this.ended) return
    const whole = decodeReasoning(item, this.#source.vendor)
    if (whole !== undefined) {
      if (this.#block === undefined) this.#start(whole.raw, whole.redacted, emit)
      for (const [index, text] of reasoningTexts(item, this.#raw).entries()) {
        this.#fill(index, this.#raw, text, emit)
      }
      if (whole.raw && !this.#raw) this.#add(whole.texts, reasoningTexts(item, false), emit)
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

  #start(raw: boolean, redacted: boolean, emit: Emit): number {
    const block = this.#source.nextBlock()
    this.#block = block
    this.#raw = raw
    emit({ type: 'reasoning-start', block, candidate: 0, id: this.#id, raw, redacted })
    return block
  }

  /** Makes a paragraph the one that deltas belong to; undefined when this kind of text is not the one shown. */
  #turnTo(index: number, raw: boolean, emit: Emit): number | undefined {
    if (this.ended) return undefined
    const block = this.#block ?? this.#start(raw, false, emit)
    if (this.#raw !== raw) return undefined
    if (this.#paragraph !== index) {
      this.#paragraph = index
      this.#count(index, 0)
      emit({ type: 'reasoning-paragraph', block })
    }
    return block
  }

  #delta(index: number, raw: boolean, text: string | undefined, emit: Emit): void {
    if (text === undefined || text === '') return
    const block = this.#turnTo(index, raw, emit)
    if (block === undefined) return
    this.#count(index, text.length)
    emit({ type: 'reasoning-delta', block, text })
  }

  #fill(index: number, raw: boolean, whole: string | undefined, emit: Emit): void {
    const told = this.#lengths.get(index)
    if (whole === undefined || (told !== undefined && whole.length <= told)) return
    const block = this.#turnTo(index, raw, emit)
    if (block !== undefined) this.#delta(index, raw, whole.slice(told), emit)
  }

  #count(index: number, length: number): void {
    this.#lengths.set(index, (this.#lengths.get(index) ?? 0) + length)
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
