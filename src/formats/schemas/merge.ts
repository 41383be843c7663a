import { nearestNumber } from '@/json/exact.ts'
import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * One schema that says what all of these say together, as `allOf` means it: properties and requirements are united,
 * bounds and enums narrowed; for anything else the later schema wins.
 */
export function mergeSchemas(schemas: readonly JsonObject[]): JsonObject {
  const said = new Map<string, JsonValue[]>()
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema)) if (value !== undefined) add(said, key, value)
  }
  return Object.fromEntries([...said].map(([key, values]) => [key, mergeKeyword(key, values)]))
}

/** One call for all that is said of a keyword: put together two by two, a list of n would be copied n times. */
function mergeKeyword(key: string, values: readonly JsonValue[]): JsonValue {
  switch (key) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return values.length === 1 ? (values[0] ?? {}) : mergeProperties(values)
    case 'required':
      return values.length === 1 ? (values[0] ?? []) : [...new Set(values.flatMap(asArray))]
    case 'allOf':
      return values.length === 1 ? (values[0] ?? []) : values.flatMap(asArray)
    default:
      return values.reduce((left, right) => mergeTwo(key, left, right))
  }
}

function mergeTwo(key: string, left: JsonValue, right: JsonValue): JsonValue {
  switch (key) {
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

function mergeProperties(values: readonly JsonValue[]): JsonObject {
  const said = new Map<string, JsonValue[]>()
  for (const value of values) {
    for (const [name, schema] of Object.entries(asObject(value) ?? {})) {
      if (schema !== undefined) add(said, name, schema)
    }
  }
  return Object.fromEntries([...said].map(([name, schemas]) => [name, mergeProperty(schemas)]))
}

/** Left to the walk, which merges `allOf` at its own depth. One that is no object leaves the last. */
function mergeProperty(schemas: readonly JsonValue[]): JsonValue | undefined {
  const parts = new Set(schemas)
  return parts.size > 1 && schemas.every(isJsonObject) ? { allOf: [...parts] } : schemas.at(-1)
}

function add(said: Map<string, JsonValue[]>, key: string, value: JsonValue): void {
  const values = said.get(key)
  if (values === undefined) said.set(key, [value])
  else values.push(value)
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
  const common = [...second.filter(allowedBy(first)), ...first.filter(allowedBy(second))]
  const types = [...new Set(common)]
  return types.length > 1 ? types : (types[0] ?? right)
}

function allowedBy(types: readonly JsonValue[]): (type: JsonValue) => boolean {
  const allowed = new Set(types)
  return type => allowed.has(type) || (type === 'integer' && allowed.has('number'))
}

function extreme(left: JsonValue, right: JsonValue, pick: (a: number, b: number) => number): JsonValue {
  const [a, b] = [nearestNumber(left), nearestNumber(right)]
  if (a === undefined || b === undefined) return right
  return pick(a, b) === b ? right : left
}
