import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { withPrefixItems } from '@/formats/schemas/prefix-items.ts'
import { resolveRef } from '@/formats/schemas/reference.ts'
import { asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * A function's parameters as Moonshot takes them, whose validator refuses what says the same in another way.
 * https://github.com/vercel/ai/pull/18921, https://github.com/MoonshotAI/kimi-cli/issues/2061, https://github.com/can1357/oh-my-pi/issues/5952
 */
export function moonshotParameters(parameters: JsonObject): JsonObject {
  const root = objectSchema(parameters)
  return changedSchema(root, schema =>
    withOwnWords(withTypedChoice(withObjectProperties(withPrefixItems(schema))), root),
  )
}

/** A property of which nothing is said is an empty object. */
function withObjectProperties(schema: JsonObject): JsonObject {
  const properties = asObject(schema['properties'])
  if (properties === undefined || !Object.values(properties).includes(true)) return schema
  const named = Object.entries(properties).map(
    ([name, value]) => [name, value === true ? {} : value] as const,
  )
  return { ...schema, properties: Object.fromEntries(named) }
}

/** The type of a choice is said by each that can be chosen. */
function withTypedChoice(schema: JsonObject): JsonObject {
  const { type, anyOf, ...rest } = schema
  if (type === undefined || !Array.isArray(anyOf)) return schema
  return { ...rest, anyOf: anyOf.map(branch => withType(branch, type)) }
}

function withType(branch: JsonValue, type: JsonValue): JsonValue {
  const isTyped = !isJsonObject(branch) || branch['type'] !== undefined || branch['$ref'] !== undefined
  return isTyped ? branch : { type, ...branch }
}

/** What a reference leads to says of itself is not said beside it. */
function withOwnWords(schema: JsonObject, root: JsonObject): JsonObject {
  const ref = asString(schema['$ref'])
  const target = ref === undefined ? undefined : resolveRef(root, ref)
  if (target === undefined || !Object.keys(schema).some(key => Object.hasOwn(target, key))) return schema
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !Object.hasOwn(target, key)))
}
