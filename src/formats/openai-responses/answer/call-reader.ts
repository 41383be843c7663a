import { callInput, callKind, callName, linkOf } from '@/formats/openai-responses/calls.ts'
import type { Emit } from '@/generation/event.ts'
import { asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { ItemReader, StreamSource } from './item-reader.ts'
import { type ToldText, untold } from './told-text.ts'

/** A call that the client runs. Calls whose input is an object of their own kind are told whole, at their end. */
export class CallReader implements ItemReader {
  static fits(item: JsonObject): boolean {
    return callKind(item) !== undefined
  }

  readonly #source: StreamSource
  readonly #type: JsonValue
  #block: number | undefined
  /** Input that came before the call's name did. */
  #early = ''
  /** As the end of its input says it, where the item did not come. */
  #name: string | undefined
  readonly #told: ToldText = { length: 0, unreadBytes: 0 }
  ended = false

  constructor(source: StreamSource, item: JsonObject) {
    this.#source = source
    this.#type = item['type'] ?? null
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
    if (text === undefined || text === '' || this.ended) return
    if (this.#block === undefined) {
      this.#early += text
      return
    }
    this.#told.length += text.length
    emit({ type: 'tool-input-delta', block: this.#block, text })
  }

  /** So many UTF-16 units of input came past `delta`. */
  skip(length: number): void {
    this.#told.length += length
  }

  /** See PlainReader. */
  skipUnread(bytes: number): void {
    this.#told.unreadBytes += bytes
  }

  inputDone(event: JsonObject, emit: Emit): void {
    const whole = asString(event['arguments']) ?? asString(event['input'])
    if (whole === undefined) return
    if (this.#block !== undefined) return this.#fill(this.#block, whole, emit)
    this.#early = whole
    this.#name = asString(event['name'])
  }

  done(item: JsonObject, emit: Emit): void {
    const kind = callKind(item)
    if (this.ended || kind === undefined) return
    const block = this.#block ?? this.#start(item, emit)
    this.#fill(block, callInput(item, kind), emit)
    this.cut(emit)
  }

  cut(emit: Emit): void {
    if (this.ended) return
    // The item never came, but its input and its name did.
    if (this.#block === undefined && this.#name) this.#start({ type: this.#type, name: this.#name }, emit)
    this.ended = true
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
      callId: this.#source.callIds.take(linkOf(item)),
      name: callName(item, kind),
      namespace: asString(item['namespace']),
    })
    this.#fill(block, this.#early, emit)
    return block
  }

  #fill(block: number, whole: string, emit: Emit): void {
    const text = untold(whole, this.#told)
    if (this.ended || text === '') return
    this.#told.length += text.length
    emit({ type: 'tool-input-delta', block, text })
  }
}
