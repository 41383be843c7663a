import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** A format's own fields, with those that are kept under a dotted name (`text.tone`) back in the objects they stood in. */
export function nestExtensions(own: JsonObject | undefined, parents: readonly string[]): JsonObject {
  // A map, since a name may be one that every object has by nature.
  const nested = new Map<string, JsonValue | undefined>()
  for (const [key, value] of Object.entries(own ?? {})) {
    const parent = parents.find(name => key.startsWith(`${name}.`))
    if (parent === undefined) nested.set(key, value)
    else nested.set(parent, { ...asObject(nested.get(parent)), [key.slice(parent.length + 1)]: value })
  }
  return Object.fromEntries(nested)
}
