import { resolveRef } from '@/formats/schemas/reference.ts'
import {
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_LEVELS,
} from '@/json/json.ts'

/**
 * Whether closing a schema (json-schema.ts) leaves its meaning: no recursion and no reference among what `allOf` says
 * together, which the grammar of structured outputs cannot hold, and no maps with free keys, which would become objects
 * that must be empty.
 */
export function canBeClosed(schema: JsonObject): boolean {
  return (
    !isRecursive(schema, { root: schema, refs: new Map() }, 0) &&
    !holds(isMap, schema) &&
    !holds(mixesReference, schema)
  )
}

interface Walk {
  root: JsonObject
  /** The references met so far: `open` on the way to here, `done` when nothing in them comes back. */
  refs: Map<string, 'open' | 'done'>
}

/** Whether a schema holds itself, or goes on by references deeper than any that is meant. */
function isRecursive(value: JsonValue | undefined, walk: Walk, depth: number): boolean {
  if (depth > MAX_LEVELS) return true
  if (Array.isArray(value)) return value.some(item => isRecursive(item, walk, depth + 1))
  if (!isJsonObject(value)) return false
  const { root, refs } = walk
  const ref = asString(value['$ref'])
  // Definitions count where they are used.
  const inside = Object.entries(value).some(
    ([key, inner]) => key !== '$defs' && key !== 'definitions' && isRecursive(inner, walk, depth + 1),
  )
  if (inside || ref === undefined || refs.get(ref) === 'done') return inside
  if (ref === '#' || refs.get(ref) === 'open') return true
  refs.set(ref, 'open')
  const recursive = isRecursive(resolveRef(root, ref), walk, depth + 1)
  refs.set(ref, 'done')
  return recursive
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
