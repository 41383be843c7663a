import { asObject, asObjects, asString, asStrings, type JsonObject, type JsonValue } from '@/json/json.ts'
import { resolveRef, withRootInPlace } from './reference.ts'

/** Most that is put together of a choice. References fan out, and vendors refuse schemas of this size anyway. */
const MAX_MERGED = 10_000

/**
 * A schema of a tool's input as vendors take it: an object at the top, and neither a reference nor a choice there, which
 * OpenAI and Anthropic refuse; Google asks for an object with properties. What is referred to stands in its place. A
 * choice is one object with the properties of all that can be chosen, and its description says which go together. One
 * that is too large for that stays as it is.
 */
export function objectSchema(given: JsonObject): JsonObject {
  const root = withRootInPlace(given)
  const { anyOf, oneOf, allOf, not, enum: values, ...rest } = root
  if (isTooLarge([allOf, anyOf, oneOf].flatMap(asObjects), root)) return { ...root, type: 'object' }
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
    properties: Object.fromEntries(
      [anyProperties(choices.flat()), ...all.map(propertiesOf)].flatMap(Object.entries),
    ),
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

function isTooLarge(branches: readonly JsonObject[], root: JsonObject): boolean {
  let merged = 0
  return branches.some(branch => {
    for (const part of [branch, resolveRef(root, asString(branch['$ref']) ?? '') ?? {}]) {
      merged += Object.keys(part).length + Object.keys(propertiesOf(part)).length + requiredOf(part).length
    }
    return merged > MAX_MERGED
  })
}

function branchesOf(list: JsonValue | undefined, root: JsonObject): JsonObject[] {
  return asObjects(list).map(branch => {
    const ref = asString(branch['$ref'])
    return ref === undefined ? branch : { ...resolveRef(root, ref), ...branch }
  })
}

/** The properties of every branch; one on which they differ may be what any of them says. */
function anyProperties(branches: readonly JsonObject[]): JsonObject {
  const said = new Map<string, Set<JsonValue>>()
  for (const branch of branches) {
    for (const [name, property = true] of Object.entries(propertiesOf(branch))) {
      said.set(name, (said.get(name) ?? new Set()).add(property))
    }
  }
  return Object.fromEntries(
    [...said].map(([name, values]) => {
      const all = [...new Map([...values].map(value => [JSON.stringify(value), value])).values()]
      return [name, all.length === 1 ? all[0] : { anyOf: all }]
    }),
  )
}

function propertiesOf(schema: JsonObject): JsonObject {
  return asObject(schema['properties']) ?? {}
}

/** What every one of several branches requires. */
function requiredByAll(branches: readonly JsonObject[]): string[] {
  const [first = [], ...others] = branches.map(requiredOf)
  const sets = others.map(names => new Set(names))
  return first.filter(name => sets.every(names => names.has(name)))
}

function requiredOf(schema: JsonObject): string[] {
  return asStrings(schema['required'])
}
