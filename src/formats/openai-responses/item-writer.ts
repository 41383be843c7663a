import type { JsonObject } from '@/json/json.ts'
import { CALL_ITEMS, type Call } from './calls.ts'
import type { EventLines } from './event-line.ts'

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
export function itemFields(place: Place): string {
  return `"item_id":${JSON.stringify(place.id)},"output_index":${place.index}`
}

/** The event that opens an item. */
export function itemAdded(place: Place, item: JsonObject): string {
  return place.lines.line(
    'response.output_item.added',
    `"output_index":${place.index},"item":${JSON.stringify(item)}`,
  )
}

/** The event that closes an item. */
export function itemDone(place: Place, item: JsonObject): string {
  return place.lines.line(
    'response.output_item.done',
    `"output_index":${place.index},"item":${JSON.stringify(item)}`,
  )
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
