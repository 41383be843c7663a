import { invalid } from './failure.ts'

/** A page of a list: what is there, and how to ask for what follows. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

const PRESET = 50

/** How many a caller wants. */
export function limitOf(query: { limit?: number }): number {
  return query.limit ?? PRESET
}

/** The id that the page before ended with; undefined: from the newest. */
export function cursorId(query: { cursor?: string }): number | undefined {
  if (query.cursor === undefined) return undefined
  if (/^\d{1,15}$/.test(query.cursor)) return Number(query.cursor)
  throw invalid('cursor', 'This cursor is not one of ours')
}

/** The request that the page before ended with; undefined: from the newest. */
export function cursorRequest(query: { cursor?: string }): string | undefined {
  const { cursor } = query
  if (cursor === undefined || /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(cursor)) return cursor
  throw invalid('cursor', 'This cursor is not one of ours')
}

/** One row more than the page was read, which tells whether there is another page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  itemOf: (row: Row) => Item,
  cursorOf: (row: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last !== undefined ? cursorOf(last) : null
  return { items: shown.map(itemOf), next }
}
