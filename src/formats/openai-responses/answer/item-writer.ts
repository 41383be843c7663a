import type { ItemStatus } from '@/formats/openai-responses/wire.ts'
import type { ToolCallKind } from '@/generation/part.ts'
import type { JsonObject } from '@/json/json.ts'
import type { EventLines } from './event-line.ts'

/** How an item is left. */
export type ItemEnd = Exclude<ItemStatus, 'in_progress'>

/** Writes one output item, from `output_item.added` to `output_item.done`. */
export interface ItemWriter {
  /** True once every block of the item ended; the item stays open until it is known how the answer went on. */
  readonly ended: boolean
  /** The event that opens it. */
  open(): string
  /** The closing events. An item is left incomplete where the answer was cut in it, unless it can be seen to be whole. */
  close(end: ItemEnd): string
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

/** The event that opens or closes an item. */
export function itemEvent(what: 'added' | 'done', { lines, index }: Place, item: JsonObject): string {
  return lines.line(`response.output_item.${what}`, `"output_index":${index},"item":${JSON.stringify(item)}`)
}

/** What the ids of items begin with. */
export const ID_PREFIXES = {
  message: 'msg',
  reasoning: 'rs',
  image: 'ig',
  function: 'fc',
  custom: 'ctc',
  local_shell: 'lsh',
  shell: 'sh',
  apply_patch: 'apc',
  tool_search: 'tsc',
  computer: 'cu',
  other: 'item',
} as const satisfies Record<ToolCallKind | 'message' | 'reasoning' | 'image' | 'other', string>
