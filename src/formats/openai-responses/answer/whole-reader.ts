import { decodeImageCall, opaqueItem } from '@/formats/openai-responses/items.ts'
import type { Emit } from '@/generation/event.ts'
import { asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { ItemReader, StreamSource } from './item-reader.ts'

/** An item that only this format knows, or an image: told whole when it is done. */
export class WholeReader implements ItemReader {
  readonly #source: StreamSource
  #type: JsonValue | undefined
  ended = false

  constructor(source: StreamSource) {
    this.#source = source
  }

  reads(item: JsonObject): boolean {
    return this.#type === undefined || this.#type === item['type']
  }

  added(item: JsonObject): void {
    this.#type = item['type']
  }

  done(item: JsonObject, emit: Emit): void {
    const type = asString(item['type'])
    if (this.ended || type === undefined) return
    this.ended = true
    const part = type === 'image_generation_call' ? decodeImageCall(item) : opaqueItem(item, type)
    const at = { block: this.#source.nextBlock(), candidate: 0 }
    if (part.type === 'media') emit({ type: 'media', ...at, media: part })
    else emit({ type: 'opaque', ...at, part })
  }

  cut(): void {
    this.ended = true
  }
}
