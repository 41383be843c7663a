import { isDeeperThan } from './depth.ts'

/** A JSON value as `JSON.parse` gives it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject

/** A JSON object. Keys may be anything, `__proto__` included (`JSON.parse` makes it an own key). */
export interface JsonObject {
  [key: string]: JsonValue | undefined
}

/** True for `{...}`, false for arrays, null and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value as an object, or undefined when it is anything else. */
export function asObject(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}

/** The value as an array of JSON values, or an empty array when it is anything else. */
export function asArray(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** The objects of an array; what else stands in it is left out. */
export function asObjects(value: JsonValue | undefined): JsonObject[] {
  return asArray(value).filter(isJsonObject)
}

/** The strings of an array; what else stands in it is left out. */
export function asStrings(value: JsonValue | undefined): string[] {
  return asArray(value).filter(item => typeof item === 'string')
}

/** The value as a string, or undefined when it is anything else. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The value as a string that is not empty, or undefined when it is anything else. */
export function asNonEmpty(value: unknown): string | undefined {
  return asString(value) || undefined
}

/** The value as one of these words, or undefined when it is anything else. */
export function asWord<Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  return words.find(word => word === value)
}

/** The value as a finite number, or undefined when it is anything else. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The value as a place in a list, or undefined when it is anything else. */
export function asIndex(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The value as a boolean, or undefined when it is anything else. */
export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Whether a value is one of a table's own keys. */
export function isKeyOf<Key extends string>(
  table: Readonly<Record<Key, unknown>>,
  value: unknown,
): value is Key {
  return typeof value === 'string' && Object.hasOwn(table, value)
}

/** The keys of a table whose type lists all of them. */
export function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table) as Key[]
}

/** The object without its undefined keys (it is changed in place), so that what is compared and counted is what will be written. */
export function present<T extends JsonObject>(object: T): T {
  for (const key of Object.keys(object)) if (object[key] === undefined) delete object[key]
  return object
}

/** The object without its null fields, where null is a field that is not there. */
export function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

/** Deeper than anything that is meant: what takes a value apart or writes it may recurse. */
export const MAX_LEVELS = 1000

/** More objects, arrays and members than anything that is meant: a document of these keeps a process busy for a second. */
export const MAX_PARTS = 1_000_000

/** The same of the values that stand beside others, each of them a quarter of the work. */
export const MAX_VALUES = 4 * MAX_PARTS

/**
 * JSON.parse for what a stranger wrote.
 * @throws SyntaxError when the text is no JSON, or nested deeper than any code here could follow
 */
export function parseJson(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text)
  // A level takes two characters at least, so the short texts of a stream need no second look.
  if (text.length > 2 * MAX_LEVELS && isDeeperThan(value, MAX_LEVELS)) {
    throw new SyntaxError(`The JSON is nested more than ${MAX_LEVELS} levels deep`)
  }
  return value
}

/** Parses text to a JSON object; undefined when it is not JSON (see `parseJson`) or not an object. Never throws. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(parseJson(text))
  } catch {
    return undefined
  }
}
