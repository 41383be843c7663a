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

/**
 * Whether OpenAI can be told to hold a model to a schema that nobody asked it to be strict about: nothing but what it is
 * known to take, all objects closed and all properties required.
 */
export function isHoldable(schema: JsonObject, depth = 0): boolean {
  const { format, additionalProperties } = schema
  if (depth > MAX_DEPTH || !Object.keys(schema).every(key => KEYWORDS.has(key))) return false
  if (format !== undefined && !FORMATS.has(asString(format) ?? '')) return false
  if (isObject(schema) && additionalProperties !== false) return false
  return requiresAll(schema) && innerOf(schema).every(inner => isHoldable(inner, depth + 1))
}

/**
 * Whether OpenAI takes these parameters of a tool whose caller asks it to be strict: nothing that it is known to refuse,
 * and Anthropic, which is strict about all of that, does not.
 */
export function canBeStrict(schema: JsonObject): boolean {
  const { allOf, default: unsaid, format } = schema
  if (allOf !== undefined || unsaid !== undefined || format === 'uri') return false
  return requiresAll(schema) && innerOf(schema).every(canBeStrict)
}

function requiresAll({ properties, required }: JsonObject): boolean {
  const isRequired = new Set(asStrings(required))
  return Object.keys(asObject(properties) ?? {}).every(name => isRequired.has(name))
}

/** The schemas within a schema. */
function innerOf({ properties, items, anyOf, $defs, definitions }: JsonObject): JsonObject[] {
  const named = [properties, $defs, definitions].flatMap(members => Object.values(asObject(members) ?? {}))
  return [...named, items, ...asArray(anyOf)].filter(isJsonObject)
}

function isObject({ type, properties }: JsonObject): boolean {
  return properties !== undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
}
