import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** What a decoder reads of a value, or of each value in a list. */
export type Read =
  /** All of it (or it is kept as it is), or nothing. */
  | boolean
  /** These fields of an object. */
  | ReadFields
  /** That depends on the value. */
  | ((value: JsonValue) => Read)

/** A field that is not named is not read. */
export interface ReadFields {
  readonly [field: string]: Read
}

/** One of these words is read; another one is passed over. */
export function oneOf(...words: readonly JsonValue[]): Read {
  return value => words.includes(value)
}

/**
 * What nobody reads inside of a value, each field once, under the names of those that hold it (`messages.content.tone`).
 * Nulls say nothing.
 */
export function unreadFields(value: JsonValue | undefined, read: Read, path: string): string[] {
  const found = new Set<string>()
  collectUnread(value, read, path, found)
  return [...found]
}

function collectUnread(
  value: JsonValue | undefined,
  read: Read | undefined,
  path: string,
  found: Set<string>,
): void {
  if (value === null || value === undefined || read === true) return
  if (read === undefined || read === false) found.add(path)
  else for (const item of Array.isArray(value) ? value : [value]) collectInside(item, read, path, found)
}

function collectInside(
  value: JsonValue,
  read: ReadFields | ((value: JsonValue) => Read),
  path: string,
  found: Set<string>,
): void {
  if (typeof read === 'function') return collectUnread(value, read(value), path, found)
  if (!isJsonObject(value)) return
  for (const name of Object.keys(value)) {
    const known = Object.hasOwn(read, name) ? read[name] : undefined
    collectUnread(value[name], known, `${path}.${name}`, found)
  }
}

/** As `unreadFields`, of some fields of an object; its others are for somebody else to judge. */
export function unreadInside(object: JsonObject | undefined, fields: ReadFields, path?: string): string[] {
  return Object.entries(fields).flatMap(([name, read]) =>
    unreadFields(object?.[name], read, path === undefined ? name : `${path}.${name}`),
  )
}

/** A reader of objects that their `type` tells apart; one of another type is kept whole. */
export function byType(types: ReadFields): (value: JsonValue) => Read {
  return value => {
    const type = isJsonObject(value) ? value['type'] : undefined
    return typeof type === 'string' && Object.hasOwn(types, type) ? (types[type] ?? true) : true
  }
}
