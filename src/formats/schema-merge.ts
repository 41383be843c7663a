import { nearestNumber } from '@/json/exact.ts'
import { asArray, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * One schema that says what all of these say together, as `allOf` means it: properties and requirements are united,
 * bounds and enums narrowed; for anything else the later schema wins.
 */
export function mergeSchemas(schemas: readonly JsonObject[]): JsonObject {
  const merged = new Map<string, JsonValue | undefined>()
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema))
      merged.set(key, mergeKeyword(key, merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

function mergeKeyword(
  key: string,
  left: JsonValue | undefined,
  right: JsonValue | undefined,
): JsonValue | undefined {
  if (left === undefined) return right
  if (right === undefined) return left
  switch (key) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return mergeProperties(asObject(left) ?? {}, asObject(right) ?? {})
    case 'required':
      return [...new Set([...asArray(left), ...asArray(right)])]
    case 'allOf':
      return [...asArray(left), ...asArray(right)]
    case 'enum':
      return narrow(asArray(left), asArray(right))
    case 'type':
      return narrowTypes(left, right)
    case 'minimum':
    case 'exclusiveMinimum':
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return extreme(left, right, Math.max)
    case 'maximum':
    case 'exclusiveMaximum':
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return extreme(left, right, Math.min)
    default:
      return right
  }
}

function mergeProperties(left: JsonObject, right: JsonObject): JsonObject {
  const entries = Object.entries(right).map(([name, value]): [string, JsonValue | undefined] => {
    const known = Object.hasOwn(left, name) ? asObject(left[name]) : undefined
    const added = asObject(value)
    // Left to the walk, which merges `allOf` at its own depth.
    const isNew = known === undefined || added === undefined || known === added
    return [name, isNew ? value : { allOf: [known, added] }]
  })
  return Object.fromEntries([...Object.entries(left), ...entries])
}

function narrow(left: readonly JsonValue[], right: readonly JsonValue[]): JsonValue[] {
  const known = new Set(left.map(value => JSON.stringify(value)))
  const common = right.filter(value => known.has(JSON.stringify(value)))
  return common.length > 0 ? common : [...right]
}

/** The types both sides allow; an integer is a number. Sides that contradict each other leave the later one. */
function narrowTypes(left: JsonValue, right: JsonValue): JsonValue {
  const first = Array.isArray(left) ? left : [left]
  const second = Array.isArray(right) ? right : [right]
  const common = [
    ...second.filter(type => allows(first, type)),
    ...first.filter(type => allows(second, type)),
  ]
  const types = [...new Set(common)]
  return types.length > 1 ? types : (types[0] ?? right)
}

function allows(types: readonly JsonValue[], type: JsonValue): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'))
}

function extreme(left: JsonValue, right: JsonValue, pick: (a: number, b: number) => number): JsonValue {
  const [a, b] = [nearestNumber(left), nearestNumber(right)]
  if (a === undefined || b === undefined) return right
  return pick(a, b) === b ? right : left
}
