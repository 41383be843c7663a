import { asString, isJsonObject, type JsonObject, type JsonValue, MAX_LEVELS } from '@/json/json.ts'
import { resolveRef } from './reference.ts'

/** Whether a schema holds itself, or goes on by references deeper than any that is meant. */
export function isRecursive(schema: JsonObject): boolean {
  return goesRound(schema, { root: schema, refs: new Map() }, 0)
}

interface Walk {
  root: JsonObject
  /** The references met so far: `open` on the way to here, `done` when nothing in them comes back. */
  refs: Map<string, 'open' | 'done'>
}

function goesRound(value: JsonValue | undefined, walk: Walk, depth: number): boolean {
  if (depth > MAX_LEVELS) return true
  if (Array.isArray(value)) return value.some(item => goesRound(item, walk, depth + 1))
  if (!isJsonObject(value)) return false
  const { root, refs } = walk
  const ref = asString(value['$ref'])
  // Definitions count where they are used.
  const inside = Object.entries(value).some(
    ([key, inner]) => key !== '$defs' && key !== 'definitions' && goesRound(inner, walk, depth + 1),
  )
  if (inside || ref === undefined || refs.get(ref) === 'done') return inside
  if (ref === '#' || refs.get(ref) === 'open') return true
  refs.set(ref, 'open')
  const recursive = goesRound(resolveRef(root, ref), walk, depth + 1)
  refs.set(ref, 'done')
  return recursive
}
