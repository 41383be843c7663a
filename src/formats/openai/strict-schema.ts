import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { asArray, asObject, asStrings, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

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
  if (JSON.stringify(schema).length > MAX_LENGTH || !isTaken(schema, 0)) return undefined
  return changedSchema(schema, closed)
}

function isTaken(schema: JsonValue | undefined, nested: number): boolean {
  if (!isJsonObject(schema) || !Object.keys(schema).every(key => KEYWORDS.has(key))) return false
  const { type, enum: values, const: value, $ref, $defs, definitions, properties, items, anyOf } = schema
  // Beside a reference nothing else may stand.
  if ($ref !== undefined) return Object.keys(schema).length === 1
  const types = typeof type === 'string' ? [type] : asArray(type)
  const isObject = types.includes('object')
  if (isObject && (nested === MAX_NESTED || !requiresAll(schema))) return false
  if (types.includes('array') && items === undefined) return false
  const choices = asArray(anyOf)
  // Of objects to choose from it wants the first properties to differ.
  if (choices.filter(choice => asObject(choice)?.['properties'] !== undefined).length > 1) return false
  if ([type, values, value, anyOf].every(said => said === undefined)) return false
  const members = [properties, $defs, definitions].flatMap(named => Object.values(asObject(named) ?? {}))
  const inner = items === undefined ? members : [...members, items]
  return (
    [...asArray(values), value].every(one => typeof one !== 'object' || one === null) &&
    choices.every(choice => isTaken(choice, nested)) &&
    inner.every(part => isTaken(part, isObject ? nested + 1 : nested))
  )
}

/** Whether an object says its properties, all of which it has, and no others are allowed in so many words. */
function requiresAll({ properties, required, additionalProperties = false }: JsonObject): boolean {
  const isRequired = new Set(asStrings(required))
  return (
    isJsonObject(properties) &&
    additionalProperties === false &&
    Object.keys(properties).every(name => isRequired.has(name))
  )
}

function closed(schema: JsonObject): JsonObject {
  return schema['properties'] === undefined ? schema : { ...schema, additionalProperties: false }
}
