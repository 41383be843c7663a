import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** What becomes of a schema, apart from those in it; itself where nothing does. */
type Change = (schema: JsonObject) => JsonObject

/** A schema with each that is in it changed, the innermost first. One with nothing to change comes back itself. */
export function changedSchema(schema: JsonObject, change: Change): JsonObject {
  return change(changedInside(schema, inner => changedSchema(inner, change)))
}

/** A schema with each changed that is directly in it; itself where nothing is. */
export function changedInside(schema: JsonObject, change: Change): JsonObject {
  let changed = schema
  for (const key of Object.keys(schema)) {
    const within = BY_NAME.has(key) ? changedMembers : INSIDE.has(key) ? changedSchemas : undefined
    if (within === undefined) continue
    const value = schema[key]
    const inner = within(value, change)
    if (inner !== value) changed = { ...changed, [key]: inner }
  }
  return changed
}

/** Keywords that hold schemas by names of the caller's. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Keywords that hold a schema, or a list of them. */
const INSIDE: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
])

function changedMembers(members: JsonValue | undefined, change: Change): JsonValue | undefined {
  if (!isJsonObject(members)) return members
  const changed = Object.entries(members).map(
    ([name, member]) => [name, changedSchemas(member, change)] as const,
  )
  return changed.some(([name, member]) => member !== members[name]) ? Object.fromEntries(changed) : members
}

function changedSchemas(value: JsonValue | undefined, change: Change): JsonValue | undefined {
  if (isJsonObject(value)) return change(value)
  if (!Array.isArray(value)) return value
  const changed = value.map(member => (isJsonObject(member) ? change(member) : member))
  return changed.some((member, place) => member !== value[place]) ? changed : value
}
