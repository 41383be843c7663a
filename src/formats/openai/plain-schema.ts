import { constraintText } from '@/formats/schemas/object-schema.ts'
import { asArray, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { isPlainPattern } from './plain-pattern.ts'

/**
 * A schema as OpenAI takes one even where it does not hold the model to it: a pattern that is not plain is told in the
 * description instead, and what is in a list is said by one schema. One with nothing to change comes back itself.
 */
export function plainSchema(schema: JsonObject): JsonObject {
  return withItems(withPlainPatterns(withPlainInside(schema)))
}

/** Keywords that hold schemas by names of the caller's. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Keywords that hold a schema, or a list of them. */
const INSIDE: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
])

function withPlainInside(schema: JsonObject): JsonObject {
  let plain = schema
  for (const key of Object.keys(schema)) {
    const within = BY_NAME.has(key) ? plainMembers : INSIDE.has(key) ? plainSchemas : undefined
    if (within === undefined) continue
    const value = schema[key]
    const inner = within(value)
    if (inner !== value) plain = { ...plain, [key]: inner }
  }
  return plain
}

function plainMembers(members: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(members)) return members
  const plain = Object.entries(members).map(([name, member]) => [name, plainSchemas(member)] as const)
  return plain.some(([name, member]) => member !== members[name]) ? Object.fromEntries(plain) : members
}

function plainSchemas(value: JsonValue | undefined): JsonValue | undefined {
  if (isJsonObject(value)) return plainSchema(value)
  if (!Array.isArray(value)) return value
  const plain = value.map(member => (isJsonObject(member) ? plainSchema(member) : member))
  return plain.some((member, place) => member !== value[place]) ? plain : value
}

function withPlainPatterns(schema: JsonObject): JsonObject {
  const { pattern, patternProperties } = schema
  if (pattern === undefined && patternProperties === undefined) return schema
  const told: JsonObject = {}
  if (typeof pattern === 'string' && !isPlainPattern(pattern)) told['pattern'] = pattern
  if (isJsonObject(patternProperties) && !Object.keys(patternProperties).every(isPlainPattern))
    told['patternProperties'] = patternProperties
  const words = constraintText(told)
  if (words === undefined) return schema
  const rest = Object.entries(schema).filter(([key]) => !Object.hasOwn(told, key))
  const description = [asString(schema['description']), words].filter(text => text !== undefined).join('\n\n')
  return { ...Object.fromEntries(rest), description }
}

/** A list whose members differ says so in the words of newer schemas, beside one of anything. */
function withItems(schema: JsonObject): JsonObject {
  const { type, items } = schema
  if (isJsonObject(items) || (type !== 'array' && !asArray(type).includes('array'))) return schema
  return { ...schema, ...(Array.isArray(items) && { prefixItems: items }), items: {} }
}
