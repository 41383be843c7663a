import { asObject, type JsonObject } from '@/json/json.ts'

/** A format's own fields, with those that are kept under a dotted name (`text.tone`) back in the objects they stood in. */
export function nestExtensions(own: JsonObject | undefined, parents: readonly string[]): JsonObject {
  const nested: JsonObject = {}
  for (const [key, value] of Object.entries(own ?? {})) {
    const parent = parents.find(name => key.startsWith(`${name}.`))
    if (parent === undefined) nested[key] = value
    else nested[parent] = { ...asObject(nested[parent]), [key.slice(parent.length + 1)]: value }
  }
  return nested
}
