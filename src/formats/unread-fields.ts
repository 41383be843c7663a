import { asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { invalidRequest } from './invalid.ts'

/** What a decoder reads of a value; what it does not read is a loss. */
export type Read =
  /** All of it (or it is kept as it is), or nothing. */
  | boolean
  /** All of it, which has to be of this type. */
  | Type
  /** These fields of an object; what is none is for somebody else to judge. */
  | ReadFields
  /** This of each value in a list. */
  | List
  /** That depends on the value. */
  | ((value: JsonValue) => Read)

type Type = 'string' | 'number' | 'boolean' | 'object' | 'array'

/** A field that is not named is not read. */
export interface ReadFields {
  readonly [field: string]: Read
}

class List {
  readonly item: Read

  constructor(item: Read) {
    this.item = item
  }
}

/** A list, and nothing else. */
export function list(item: Read): Read {
  return new List(item)
}

/** A text, or else this. */
export function textOr(read: Read): Read {
  return value => typeof value === 'string' || read
}

/** These values; any other is not read. */
export function oneOf(...words: readonly JsonValue[]): Read {
  return value => words.includes(value)
}

/** Of texts that mean the same, the first that says something; what the others say is not read. */
export function firstOf(value: JsonValue, names: readonly string[]): ReadFields {
  const said = names.find(name => !isSilent(asObject(value)?.[name]))
  return Object.fromEntries(names.map(name => [name, name === said ? 'string' : isSilent]))
}

function isSilent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** An object with these fields, and nothing else. */
export function object(fields: ReadFields): Read {
  return value => (isJsonObject(value) ? fields : 'object')
}

/** All fields of an object, each kept whole. */
export function allOf(value: JsonValue): ReadFields {
  return isJsonObject(value) ? Object.fromEntries(Object.keys(value).map(name => [name, true])) : {}
}

/**
 * What nobody reads inside of a value, each field once, under the names of those that hold it (`messages.content.tone`).
 * Nulls say nothing.
 * @throws GatewayError `invalid_request` for what is of another type than it is read as
 */
export function unreadFields(value: JsonValue | undefined, read: Read, path: string): string[] {
  const found = new Set<string>()
  collectUnread(value, read, [path], found)
  return [...found]
}

/** @param trail the names and places on the way to the value. */
function collectUnread(
  value: JsonValue | undefined,
  read: Read | undefined,
  trail: (string | number)[],
  found: Set<string>,
): void {
  if (value === null || value === undefined || read === true) return
  if (read === undefined || read === false)
    found.add(trail.filter(step => typeof step === 'string').join('.'))
  else if (typeof read === 'string') assertType(value, read, trail)
  else if (typeof read === 'function') collectUnread(value, read(value), trail, found)
  else if (read instanceof List) collectItems(value, read.item, trail, found)
  else if (isJsonObject(value)) collectInside(value, read, trail, found)
}

function collectItems(value: JsonValue, read: Read, trail: (string | number)[], found: Set<string>): void {
  if (!Array.isArray(value)) return assertType(value, 'array', trail)
  for (const [index, item] of value.entries()) {
    trail.push(index)
    collectUnread(item, read, trail, found)
    trail.pop()
  }
}

function collectInside(
  value: JsonObject,
  read: ReadFields,
  trail: (string | number)[],
  found: Set<string>,
): void {
  for (const name of Object.keys(value)) {
    trail.push(name)
    collectUnread(value[name], Object.hasOwn(read, name) ? read[name] : undefined, trail, found)
    trail.pop()
  }
}

function assertType(value: JsonValue, type: Type, trail: readonly (string | number)[]): void {
  const is = Array.isArray(value) ? 'array' : typeof value
  if (is === type) return
  const path = trail.map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
  throw invalidRequest(path.slice(1), `expected ${type}`)
}

/** As `unreadFields`, of some fields of an object; its others are for somebody else to judge. */
export function unreadInside(object: JsonObject | undefined, fields: ReadFields, path?: string): string[] {
  const found = new Set<string>()
  // The object's own names, since most requests say few of all the fields that there are.
  for (const name in object) {
    if (!Object.hasOwn(fields, name)) continue
    collectUnread(object[name], fields[name], path === undefined ? [name] : [path, name], found)
  }
  return [...found]
}

/** A reader of objects that their `type` tells apart; one of another type is kept whole. */
export function byType(types: ReadFields): (value: JsonValue) => Read {
  return value => {
    if (!isJsonObject(value)) return true
    const { type } = value
    if (typeof type !== 'string') return { ...allOf(value), type: 'string' }
    return Object.hasOwn(types, type) ? (types[type] ?? true) : true
  }
}

/** Where a search is made from: all of it is kept, and what is known of it has to be text. */
export function readOfPlace(place: JsonValue): Read {
  return isJsonObject(place) ? { ...allOf(place), ...PLACE } : 'object'
}

const PLACE: ReadFields = {
  type: 'string',
  city: 'string',
  region: 'string',
  country: 'string',
  timezone: 'string',
  approximate: readOfPlace,
}

/** Of a tool that searches the web, in Anthropic's words and in OpenAI's. */
export const SEARCH_SETTINGS: ReadFields = {
  max_uses: 'number',
  allowed_domains: list('string'),
  blocked_domains: list('string'),
  filters: filters =>
    isJsonObject(filters)
      ? { ...allOf(filters), allowed_domains: list('string'), blocked_domains: list('string') }
      : 'object',
  user_location: readOfPlace,
  search_context_size: 'string',
}
