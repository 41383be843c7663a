import { objectSchema } from '@/formats/object-schema.ts'
import { asArray, asObject, asStrings, isJsonObject, type JsonObject } from '@/json/json.ts'

/** A function's parameters as OpenAI takes them: it refuses an object that does not say its properties. */
export function functionParameters(parameters: JsonObject): JsonObject {
  const schema = objectSchema(parameters)
  return schema['properties'] === undefined ? { type: 'object', properties: {}, ...schema } : schema
}

/**
 * Whether OpenAI can hold a model to these parameters. In what it is strict about every property is required, parts are
 * not put together, and neither defaults nor addresses are known; Anthropic is strict about all of that.
 */
export function canBeStrict(schema: JsonObject): boolean {
  const { properties, required, allOf, items, anyOf, $defs, definitions, default: unsaid, format } = schema
  const named = asObject(properties) ?? {}
  const isRequired = new Set(asStrings(required))
  if (allOf !== undefined || unsaid !== undefined || format === 'uri') return false
  if (!Object.keys(named).every(name => isRequired.has(name))) return false
  const inner = [named, $defs, definitions].flatMap(members => Object.values(asObject(members) ?? {}))
  return [...inner, items, ...asArray(anyOf)].every(value => !isJsonObject(value) || canBeStrict(value))
}
