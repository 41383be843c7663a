import { asArray, asObject, asString, asStrings, isJsonObject, type JsonObject } from '@/json/json.ts'

/** How deep schemas may lie within one another. */
const MAX_DEPTH = 10

/** What OpenAI is known to take: https://developers.openai.com/api/docs/guides/structured-outputs */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', '$ref', '$defs', 'definitions', 'title', 'description', 'type', 'enum', 'const', 'anyOf'],
  ...['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems', 'pattern', 'format'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
])

/** The formats of strings that it knows. */
const FORMATS: ReadonlySet<string> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
])

/** Whether OpenAI can hold a model to a schema: nothing but what it takes, all objects closed and all properties required. */
export function isHoldable(schema: JsonObject, depth = 0): boolean {
  const { properties, required, additionalProperties, format, items, anyOf, $defs, definitions } = schema
  if (depth > MAX_DEPTH || !Object.keys(schema).every(key => KEYWORDS.has(key))) return false
  if (format !== undefined && !FORMATS.has(asString(format) ?? '')) return false
  const named = asObject(properties) ?? {}
  const isRequired = new Set(asStrings(required))
  if (isObject(schema) && additionalProperties !== false) return false
  if (!Object.keys(named).every(name => isRequired.has(name))) return false
  const inner = [named, $defs, definitions].flatMap(members => Object.values(asObject(members) ?? {}))
  return [...inner, items, ...asArray(anyOf)].every(
    value => !isJsonObject(value) || isHoldable(value, depth + 1),
  )
}

function isObject({ type, properties }: JsonObject): boolean {
  return properties !== undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
}
