import { isDeepStrictEqual } from 'node:util'
import { asObject, asObjects, asString, asStrings, type JsonObject, type JsonValue } from '@/json/json.ts'
import { resolveRef, withRootInPlace } from './schema-ref.ts'

/**
 * A schema of a tool's input as vendors take it: an object at the top, and neither a reference nor a choice there, which
 * OpenAI and Anthropic refuse. What is referred to stands in its place. A choice is one object with the properties of all
 * that can be chosen, and its description says which go together.
 */
export function objectSchema(given: JsonObject): JsonObject {
  const root = withRootInPlace(given)
  const { anyOf, oneOf, allOf, not, enum: values, ...rest } = root
  const told = constraintText({ anyOf, oneOf, not, enum: values })
  const every = branchesOf(allOf, root)
  if (told === undefined && every.length === 0)
    return rest['type'] === 'object' ? rest : { ...rest, type: 'object' }
  const choices = [branchesOf(anyOf, root), branchesOf(oneOf, root)]
  const all = [...every, rest]
  const required = [...choices.map(requiredByAll), ...all.map(requiredOf)].flat()
  const description = [asString(rest['description']), told].filter(text => text !== undefined).join('\n\n')
  return {
    ...rest,
    type: 'object',
    properties: Object.assign(anyProperties(choices.flat()), ...all.map(propertiesOf)),
    ...(required.length > 0 && { required: [...new Set(required)] }),
    ...(description !== '' && { description }),
  }
}

/** Constraints in words, for where a schema cannot hold them. */
export function constraintText(constraints: JsonObject): string | undefined {
  const entries = Object.entries(constraints).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return undefined
  return `{${entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(', ')}}`
}

function branchesOf(list: JsonValue | undefined, root: JsonObject): JsonObject[] {
  return asObjects(list).map(branch => {
    const ref = asString(branch['$ref'])
    return ref === undefined ? branch : { ...resolveRef(root, ref), ...branch }
  })
}

/** The properties of every branch; one on which they differ may be what any of them says. */
function anyProperties(branches: readonly JsonObject[]): JsonObject {
  const said = new Map<string, JsonValue[]>()
  for (const branch of branches) {
    for (const [name, property = true] of Object.entries(propertiesOf(branch))) {
      const known = said.get(name) ?? []
      if (!known.some(other => isDeepStrictEqual(other, property))) said.set(name, [...known, property])
    }
  }
  return Object.fromEntries(
    [...said].map(([name, all]) => [name, all.length === 1 ? all[0] : { anyOf: all }]),
  )
}

function propertiesOf(schema: JsonObject): JsonObject {
  return asObject(schema['properties']) ?? {}
}

/** What every one of several branches requires. */
function requiredByAll([first, ...others]: readonly JsonObject[]): string[] {
  if (first === undefined) return []
  return requiredOf(first).filter(name => others.every(other => requiredOf(other).includes(name)))
}

function requiredOf(schema: JsonObject): string[] {
  return asStrings(schema['required'])
}
