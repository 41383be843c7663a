import type { JsonObject } from '@/json/json.ts'
import { type ItemWriter, itemEvent, type Place } from './item-writer.ts'

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
    return itemEvent('added', this.#place, 'result' in begun ? { ...begun, result: null } : begun)
  }

  close(): string {
    return itemEvent('done', this.#place, this.#item)
  }

  item(): JsonObject {
    return this.#item
  }
}
