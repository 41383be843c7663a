import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** Deeper levels are passed on as they are. */
const MAX_DEPTH = 64

/** Keywords whose JSON Schema name differs, snake_case spellings included. */
const RENAMED: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
  property_ordering: 'propertyOrdering',
}

/** The types by their number in the proto, where 0 is none; Google's older SDK for Python writes them so. */
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']

/** Counts that proto JSON writes as text (`"minItems": "1"`), being 64 bits wide. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])

/**
 * Gemini's OpenAPI schema as JSON Schema: types in lower case, `nullable` as a type, `example` as `examples`,
 * properties in the order that `propertyOrdering` names. Unknown keywords stay.
 */
export function liftSchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) return schema
  const keyword = (key: string) => RENAMED[key] ?? key
  const given: JsonObject = Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => (value === null ? [] : [[keyword(key), value]])),
  )
  const { nullable, propertyOrdering, example, ...rest } = given
  const entries = Object.entries(rest).map(([key, value]): [string, JsonValue | undefined] => [
    key,
    liftKeyword(key, value, depth, propertyOrdering),
  ])
  const lifted: JsonObject = Object.fromEntries(entries)
  if (example !== undefined && lifted['examples'] === undefined) lifted['examples'] = [example]
  return nullable === true ? withNull(lifted) : lifted
}

function liftKeyword(
  key: string,
  value: JsonValue | undefined,
  depth: number,
  ordering: JsonValue | undefined,
): JsonValue | undefined {
  if (key === 'type') return liftType(value)
  if (key === 'properties' && isJsonObject(value)) return liftProperties(value, ordering, depth)
  if (key === 'anyOf' && Array.isArray(value)) return value.map(item => liftItem(item, depth))
  if (key === 'items' && isJsonObject(value)) return liftSchema(value, depth + 1)
  if (COUNTS.has(key) && typeof value === 'string' && /^\d+$/.test(value)) return Number(value)
  return value
}

function liftType(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'number') return TYPES[value - 1]
  return typeof value === 'string' ? value.toLowerCase() : value
}

function liftItem(value: JsonValue, depth: number): JsonValue {
  return isJsonObject(value) ? liftSchema(value, depth + 1) : value
}

function liftProperties(properties: JsonObject, ordering: JsonValue | undefined, depth: number): JsonObject {
  const first = asArray(ordering).filter(name => typeof name === 'string' && Object.hasOwn(properties, name))
  const names = new Set([...first.map(String), ...Object.keys(properties)])
  return Object.fromEntries(
    [...names].map(name => {
      const property = asObject(properties[name])
      return [name, property === undefined ? properties[name] : liftSchema(property, depth + 1)]
    }),
  )
}

function withNull(schema: JsonObject): JsonObject {
  const values = asArray(schema['enum'])
  const enumeration = values.length === 0 ? {} : { enum: [...values, null] }
  if (typeof schema['type'] === 'string') return { ...schema, type: [schema['type'], 'null'], ...enumeration }
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] }
  return { ...schema, ...enumeration }
}
