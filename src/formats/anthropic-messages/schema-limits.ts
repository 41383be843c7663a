import { resolveRef } from '@/formats/schema-ref.ts'
import { asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * Whether closing a schema (json-schema.ts) leaves its meaning: no recursion, which the grammar of structured outputs
 * cannot hold, and no maps with free keys, which would become objects that must be empty.
 */
export function canBeClosed(schema: JsonObject): boolean {
  return !isRecursive(schema, schema, new Map()) && !holdsMap(schema)
}

/** @param refs the references met so far: `open` on the way to here, `done` when nothing in them comes back. */
function isRecursive(
  value: JsonValue | undefined,
  root: JsonObject,
  refs: Map<string, 'open' | 'done'>,
): boolean {
  if (Array.isArray(value)) return value.some(item => isRecursive(item, root, refs))
  if (!isJsonObject(value)) return false
  const ref = asString(value['$ref'])
  // Definitions count where they are used.
  const inside = Object.entries(value).some(
    ([key, inner]) => key !== '$defs' && key !== 'definitions' && isRecursive(inner, root, refs),
  )
  if (inside || ref === undefined || refs.get(ref) === 'done') return inside
  if (ref === '#' || refs.get(ref) === 'open') return true
  refs.set(ref, 'open')
  const recursive = isRecursive(resolveRef(root, ref), root, refs)
  refs.set(ref, 'done')
  return recursive
}

function holdsMap(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(holdsMap)
  if (!isJsonObject(value)) return false
  const free = value['additionalProperties']
  const named = value['properties']
  const isMap =
    (free === true || isJsonObject(free)) && (!isJsonObject(named) || Object.keys(named).length === 0)
  return isMap || Object.values(value).some(holdsMap)
}
