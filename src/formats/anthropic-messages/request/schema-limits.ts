import { isRecursive } from '@/formats/schemas/recursion.ts'
import { asObjects, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * Whether closing a schema (json-schema.ts) leaves its meaning: no recursion and no reference among what `allOf` says
 * together, which the grammar of structured outputs cannot hold, and no maps with free keys, which would become objects
 * that must be empty.
 */
export function canBeClosed(schema: JsonObject): boolean {
  return !isRecursive(schema) && !holds(isMap, schema) && !holds(mixesReference, schema)
}

/** Whether a schema, or one within it, is of a kind. */
function holds(isKind: (schema: JsonObject) => boolean, value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(item => holds(isKind, item))
  if (!isJsonObject(value)) return false
  return isKind(value) || Object.values(value).some(inner => holds(isKind, inner))
}

/** Keywords beside which an object need not name its properties itself. */
const ELSEWHERE = ['anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'const'] as const

/** An object that names none of its keys and may have some. */
function isMap(schema: JsonObject): boolean {
  const { type, additionalProperties: free, properties: named } = schema
  if (free === false || (isJsonObject(named) && Object.keys(named).length > 0)) return false
  if (free === true || isJsonObject(free)) return true
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  return isObject && ELSEWHERE.every(key => schema[key] === undefined)
}

/** Only one that stands alone is merged into what is said beside it: words about it. */
function mixesReference({ allOf, ...own }: JsonObject): boolean {
  const parts = asObjects(allOf)
  if (parts.every(part => part['$ref'] === undefined)) return false
  return parts.length > 1 || Object.keys(own).some(key => !WORDS.has(key))
}

const WORDS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  '$schema',
  '$id',
  '$defs',
  'definitions',
])
