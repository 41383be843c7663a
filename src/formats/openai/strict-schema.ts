import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { asArray, asObject, asStrings, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * Whether OpenAI's strict mode takes a schema: it wants every property required and everything of a type, and
 * knows neither `allOf` nor defaults nor addresses. Anthropic's takes all of those.
 */
export function canBeStrict(schema: JsonObject): boolean {
  const { properties, required, allOf, items, anyOf, $defs, definitions, default: fallback, format } = schema
  const named = asObject(properties) ?? {}
  const isRequired = new Set(asStrings(required))
  if (allOf !== undefined || fallback !== undefined || format === 'uri') return false
  if (!Object.keys(named).every(name => isRequired.has(name))) return false
  const inner = [named, $defs, definitions].flatMap(members => Object.values(asObject(members) ?? {}))
  return [...inner, items, ...asArray(anyOf)].every(
    value => !isJsonObject(value) || (Object.keys(value).length > 0 && canBeStrict(value)),
  )
}

/** Objects within objects, and letters, of which OpenAI's older models take no more. */
const MAX_NESTED = 5
const MAX_LENGTH = 15_000

/** What every model with structured outputs takes. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', 'title', 'description', 'type', 'enum', 'const', '$ref', '$defs', 'definitions'],
  ...['properties', 'required', 'additionalProperties', 'items', 'anyOf'],
])

/**
 * The schema of an answer as OpenAI's strict mode takes it, which wants every object closed; undefined for one that it
 * may refuse. https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  const isHeld = JSON.stringify(schema).length <= MAX_LENGTH && canBeStrict(schema) && isPlain(schema, 0)
  return isHeld ? changedSchema(schema, closed) : undefined
}

/** Whether a schema says nothing but what every model takes. */
function isPlain(schema: JsonValue | undefined, nested: number): boolean {
  if (!isJsonObject(schema) || !Object.keys(schema).every(key => KEYWORDS.has(key))) return false
  const { type, enum: values, const: value, $ref, $defs, definitions, properties, items, anyOf } = schema
  // Beside a reference nothing else may stand.
  if ($ref !== undefined) return Object.keys(schema).length === 1
  const types = typeof type === 'string' ? [type] : asArray(type)
  const isObject = types.includes('object')
  if (isObject && (nested === MAX_NESTED || !isClosable(schema))) return false
  if (types.includes('array') && items === undefined) return false
  const choices = asArray(anyOf)
  // Of objects to choose from it wants the first properties to differ.
  if (choices.filter(choice => asObject(choice)?.['properties'] !== undefined).length > 1) return false
  if ([type, values, value, anyOf].every(said => said === undefined)) return false
  const members = [properties, $defs, definitions].flatMap(named => Object.values(asObject(named) ?? {}))
  const inner = items === undefined ? members : [...members, items]
  return (
    [...asArray(values), value].every(one => typeof one !== 'object' || one === null) &&
    choices.every(choice => isPlain(choice, nested)) &&
    inner.every(part => isPlain(part, isObject ? nested + 1 : nested))
  )
}

/** Whether an object says its properties, and allows no others in so many words. */
function isClosable({ properties, additionalProperties = false }: JsonObject): boolean {
  return isJsonObject(properties) && additionalProperties === false
}

function closed(schema: JsonObject): JsonObject {
  return schema['properties'] === undefined ? schema : { ...schema, additionalProperties: false }
}
