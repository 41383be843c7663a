/** A place on a roll; to be given back to `remove`. */
export interface Place<Item> {
  /** Undefined once it was given back. */
  item: Item | undefined
}

/**
 * Those who are there at the moment, in the order in which they came; for large objects that come and go with every
 * request.
 *
 * A Set or Map that is added to and deleted from without end moves to a new table every so often, and in JavaScriptCore
 * the old table points to the new one. An old table that has survived a collection thus keeps alive all that came after
 * it, and whoever was there when it was left, until the whole heap is collected: in one measurement a third of all that
 * streams allocated. Here it keeps empty places alive, and nothing else.
 */
export class Roll<Item> {
  readonly #places = new Set<Place<Item>>()

  get size(): number {
    return this.#places.size
  }

  add(item: Item): Place<Item> {
    const place: Place<Item> = { item }
    this.#places.add(place)
    return place
  }

  /** A second call does nothing. */
  remove(place: Place<Item>): void {
    place.item = undefined
    this.#places.delete(place)
  }

  /** The places that are taken; one that is given back meanwhile and was not come to yet is left out. */
  [Symbol.iterator](): Iterator<Place<Item>> {
    return this.#places.values()
  }
}
