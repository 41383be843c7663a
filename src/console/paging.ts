import { invalid } from './failure.ts'

/** A page of a list: what is there, and how to ask for what follows. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

const PRESET = 50

/** The rows of one page. One more than that is asked for, which tells whether there is another page. */
export async function readPage<Row>(
  query: { limit?: number },
  read: (limit: number) => PromiseLike<readonly Row[]>,
  cursorOf: (row: Row) => string,
): Promise<{ rows: Row[]; next: string | null }> {
  const limit = query.limit ?? PRESET
  const found = await read(limit + 1)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, next: found.length > limit && last !== undefined ? cursorOf(last) : null }
}

/** The cursor of a list by numbers or by request ids. */
export function cursorOf({ id }: { id: number | string }): string {
  return String(id)
}

/** The number that the page before ended with; undefined: from the newest. */
export function cursorId(query: { cursor?: string }): number | undefined {
  const text = cursorLike(/^\d{1,15}$/, query)?.[0]
  return text === undefined ? undefined : Number(text)
}

/** The request that the page before ended with; undefined: from the newest. */
export function cursorRequest(query: { cursor?: string }): string | undefined {
  return cursorLike(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/, query)?.[0]
}

/** Where a list goes on of which many rows have one moment: their hashes tell them apart. */
export interface HashPlace {
  /** To the millisecond. */
  at: Date
  hash: Uint8Array
}

/** The cursor of such a list. */
export function cursorOfHash({ at, hash }: HashPlace): string {
  return `${at.getTime()}-${Buffer.from(hash).toString('hex')}`
}

/** The place that the page before ended with; undefined: from the newest. */
export function cursorHash(query: { cursor?: string }): HashPlace | undefined {
  // No moment of more digits has a year of four, which is all that the database reads.
  const match = cursorLike(/^(\d{1,14})-([\da-f]{64})$/, query)
  if (match === undefined) return undefined
  const [, at, hash = ''] = match
  return { at: new Date(Number(at)), hash: new Uint8Array(Buffer.from(hash, 'hex')) }
}

/** @throws ConsoleError for a cursor that is not written so */
export function cursorLike(pattern: RegExp, { cursor }: { cursor?: string }): RegExpExecArray | undefined {
  if (cursor === undefined) return undefined
  const match = pattern.exec(cursor)
  if (match === null) throw invalid('cursor', 'This cursor is not one of ours')
  return match
}
