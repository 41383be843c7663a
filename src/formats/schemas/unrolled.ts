import { asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { changedInside } from './changed-schema.ts'
import { resolveRef } from './reference.ts'
import { isTooMuch, type Repetition } from './repetition.ts'

/** How often one reference may stand inside itself before it is cut. */
const MAX_RECURSION = 2
/** References within references, and schemas in all, beyond which each is cut. */
const MAX_DEPTH = 32
const MAX_SCHEMAS = 1000

interface Walk {
  root: JsonObject
  schemas: number
  repeated: Repetition
  isTooLarge: boolean
}

/**
 * A schema that holds itself as one that does not: with what its references lead to, and some levels deep anything of that
 * type. Undefined where that is too much.
 * @param repeated one for all schemas of a request
 */
export function unrolledSchema(root: JsonObject, repeated: Repetition): JsonObject | undefined {
  const walk = { root, schemas: 0, repeated, isTooLarge: false }
  const schema = unrolled(root, walk, [])
  return walk.isTooLarge ? undefined : schema
}

function unrolled(schema: JsonObject, walk: Walk, path: readonly string[]): JsonObject {
  walk.schemas += 1
  const { $defs: _defs, definitions: _definitions, ...own } = schema
  const ref = asString(own['$ref'])
  const target = ref === undefined ? undefined : resolveRef(walk.root, ref)
  if (ref === undefined || target === undefined) {
    return changedInside(own, inner => unrolled(inner, walk, path))
  }
  if (isTooMuch(walk.repeated, target, 1)) {
    walk.isTooLarge = true
    return {}
  }
  const { $ref: _ref, ...beside } = own
  const isCut = path.length === MAX_DEPTH || walk.schemas > MAX_SCHEMAS || isDeep(ref, path)
  return isCut ? { ...cut(target), ...beside } : unrolled({ ...target, ...beside }, walk, [...path, ref])
}

function isDeep(ref: string, path: readonly string[]): boolean {
  return path.filter(one => one === ref).length === MAX_RECURSION
}

function cut({ type, items, description }: JsonObject): JsonObject {
  const isList = type === 'array' || (type === undefined && items !== undefined)
  const kind: JsonValue = isList ? 'array' : (type ?? 'object')
  return {
    type: kind,
    ...(isList && { items: { type: 'object' } }),
    ...(description !== undefined && { description }),
  }
}
