import { mergeSchemas } from '@/formats/schemas/merge.ts'
import { constraintText } from '@/formats/schemas/object-schema.ts'
import { nearestNumber } from '@/json/exact.ts'
import {
  asArray,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'

/** Keywords that structured outputs understand, beside those that `closedSchema` rewrites. */
const KEPT: ReadonlySet<string> = new Set(['title', 'enum', 'const', 'default', 'required', '$ref'])

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
const STRING_FORMATS: ReadonlySet<string> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

/**
 * A schema as structured outputs and strict tools want it: every object closed, and constraints that the grammar
 * cannot hold (`minLength`, `maximum`, ...) told in the description instead, so that the model still hears of them.
 * Of what `allOf` says together one schema is made: each part closed for itself would forbid what the others require.
 */
export function closedSchema(schema: JsonObject): JsonObject {
  const parts = partsOf(schema)
  if (parts.length > 1) return closedSchema(mergeSchemas(parts))
  const closed: JsonObject = present({ type: typeOf(schema) })
  const told: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || REPLACED.has(key)) continue
    if (!keep(closed, key, value)) told[key] = value
  }
  const items = itemsOf(schema)
  if (items !== undefined) closed['items'] = items
  if (isObjectSchema(schema) && !isSaidElsewhere(schema)) closed['additionalProperties'] = false
  const { description: _description, ...constraints } = told
  const description = [asString(schema['description']), constraintText(constraints)]
  const text = description.filter(line => line !== undefined).join('\n\n')
  if (text !== '') closed['description'] = text
  return closed
}

/** Keywords that are left out or written anew. */
const REPLACED: ReadonlySet<string> = new Set(['$schema', '$id', 'additionalProperties', 'type'])

/**
 * The type of a schema, which structured outputs want of each that names no values and is no reference or choice. Beside
 * values they take one type that all of these are of, and no list of types. https://github.com/BerriAI/litellm/issues/37881
 */
function typeOf(schema: JsonObject): JsonValue | undefined {
  const { type, enum: values, const: value } = schema
  if (isSaidElsewhere(schema)) return isObjectSchema(schema) ? undefined : type
  const named = values === undefined ? [value ?? null] : asArray(values)
  if (values !== undefined || value !== undefined) {
    return named.every(one => isOfType(one, type)) ? type : undefined
  }
  if (type !== undefined) return type
  if (schema['properties'] !== undefined) return 'object'
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? undefined : 'array'
}

function isOfType(value: JsonValue, type: JsonValue | undefined): boolean {
  if (value === null) return type === 'null'
  const number = nearestNumber(value)
  if (number === undefined) return typeof value === type
  return type === 'number' || (type === 'integer' && Number.isInteger(number))
}

/** Whether what an object's properties are is said by a reference or a choice alone: closed beside, it would have none. */
function isSaidElsewhere({ $ref, anyOf, oneOf, properties }: JsonObject): boolean {
  return properties === undefined && [$ref, anyOf, oneOf].some(said => said !== undefined)
}

/** What `allOf` says together, at whatever depth: the innermost first, since what stands outside is closer to the place. */
function partsOf(schema: JsonObject): JsonObject[] {
  const layers: JsonObject[][] = []
  for (let layer = [schema]; layer.length > 0; layer = layer.flatMap(({ allOf }) => asObjects(allOf))) {
    layers.unshift(layer.map(({ allOf, ...own }) => own))
  }
  return layers.flat()
}

/** Writes one keyword in its accepted form; false where there is none. */
function keep(closed: JsonObject, key: string, value: JsonValue): boolean {
  switch (key) {
    case 'properties':
    case '$defs':
    case 'definitions':
      closed[key] = closedMembers(value)
      return true
    case 'items':
      return isJsonObject(value)
    case 'anyOf':
    case 'oneOf':
      closed['anyOf'] = closedList(value)
      return true
    case 'format':
      if (!STRING_FORMATS.has(asString(value) ?? '')) return false
      closed[key] = value
      return true
    case 'minItems':
      if (value !== 0 && value !== 1) return false
      closed[key] = value
      return true
    default:
      if (!KEPT.has(key)) return false
      closed[key] = value
      return true
  }
}

/** Items of a list; those of a tuple are any of its members, as its order cannot be held. */
function itemsOf({ items, prefixItems }: JsonObject): JsonObject | undefined {
  if (isJsonObject(items) && prefixItems === undefined) return closedSchema(items)
  const members = [prefixItems, items].flatMap(value => (Array.isArray(value) ? value : [value ?? []]))
  const anyOf = closedList(members.filter(isJsonObject))
  return anyOf.length === 0 ? undefined : { anyOf }
}

function isObjectSchema(schema: JsonObject): boolean {
  const type = schema['type']
  return (
    type === 'object' ||
    (Array.isArray(type) && type.includes('object')) ||
    schema['properties'] !== undefined
  )
}

function closedMembers(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isJsonObject(member) ? closedSchema(member) : member,
    ]),
  )
}

function closedList(value: JsonValue): JsonValue[] {
  return asArray(value).map(member => (isJsonObject(member) ? closedSchema(member) : member))
}
