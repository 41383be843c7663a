import type { WireSchema } from '@/formats/gemini-generate-content/wire.ts'
import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { mergeSchemas } from '@/formats/schemas/merge.ts'
import { isRecursive } from '@/formats/schemas/recursion.ts'
import { resolveRef } from '@/formats/schemas/reference.ts'
import { isTooMuch, type Repetition } from '@/formats/schemas/repetition.ts'
import { unrolledSchema } from '@/formats/schemas/unrolled.ts'
import {
  asArray,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'
import {
  annotations,
  count,
  isNullable,
  namedTypes,
  realTypes,
  type SchemaType,
  typed,
  typeOf,
} from './schema-keywords.ts'

/** Deeper levels become a bare type, so that no schema can exhaust the stack. */
const MAX_DEPTH = 32
/** Most nodes of one lowered schema: references fan out, and a vendor refuses schemas of this size anyway. */
const MAX_NODES = 4000
/** Most nodes of all that references stand for in one request. */
const MAX_REFERRED_NODES = 20_000
/** How often one reference may stand inside itself before it is cut. */
const MAX_RECURSION = 2

interface Walk {
  root: JsonObject
  nodes: number
  repeated: Repetition
}

/**
 * JSON Schema as the OpenAPI subset of Gemini's older `parameters` and `responseSchema`. Keeps
 * bounds, unions, references and nullability; what the subset cannot say is left out. Never throws.
 * @param repeated one for all schemas of a request, which may be many and small and each refer to itself in many ways
 */
export function lowerSchema(
  schema: JsonValue | undefined,
  repeated: Repetition = { length: 0, nodes: 0 },
): WireSchema {
  const root = asObject(schema) ?? {}
  return lower(root, { root, nodes: 0, repeated }, [], 0)
}

/**
 * A schema as Gemini takes JSON Schema, which refuses the whole request for a reference that goes round or that leads
 * nowhere: the one is unrolled, the other, and one too large then, can be said in the older way alone, which has none.
 * https://github.com/google-gemini/gemini-cli/pull/5609, https://github.com/google-gemini/gemini-cli/issues/13326
 */
export function jsonSchema(schema: JsonObject, repeated: Repetition): JsonObject | undefined {
  return withoutRounds(schema, referencesIn(schema), repeated)
}

/** That of an answer, where Gemini takes references among `$defs` that go round by properties that are not required. */
export function answerJsonSchema(schema: JsonObject): JsonObject | undefined {
  const references = referencesIn(schema)
  const isTaken = references.every(
    ref => /^#\/\$defs\/[^/]+$/.test(ref) && resolveRef(schema, ref) !== undefined,
  )
  const $defs = isTaken ? changedSchema({ $defs: schema['$defs'] }, requiredAlone)['$defs'] : undefined
  if (isTaken && !isRecursive({ anyOf: references.map($ref => ({ $ref })), $defs })) return schema
  return withoutRounds(schema, references, { length: 0, nodes: 0 })
}

function withoutRounds(
  schema: JsonObject,
  references: readonly string[],
  repeated: Repetition,
): JsonObject | undefined {
  if (references.some(ref => resolveRef(schema, ref) === undefined)) return undefined
  return references.length > 0 && isRecursive(schema) ? unrolledSchema(schema, repeated) : schema
}

function requiredAlone(schema: JsonObject): JsonObject {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return schema
  const names = new Set(asArray(required))
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => names.has(name))),
  }
}

/** All references in a schema, each once. */
function referencesIn(schema: JsonObject): string[] {
  const found = new Set<string>()
  const collect = (value: JsonValue | undefined): void => {
    if (Array.isArray(value)) return value.forEach(collect)
    if (!isJsonObject(value)) return
    if (typeof value['$ref'] === 'string') found.add(value['$ref'])
    Object.values(value).forEach(collect)
  }
  collect(schema)
  return [...found]
}

/** True for a schema that takes no properties, or does not say that it does: Gemini wants the whole field left out then. */
export function isEmptyObjectSchema(schema: JsonObject | undefined): boolean {
  if (schema === undefined) return true
  const compound = ['$ref', 'allOf', 'anyOf', 'oneOf', 'additionalProperties', 'patternProperties']
  if (compound.some(key => isJsonObject(schema[key]) || Array.isArray(schema[key]))) return false
  if (typeof schema['$ref'] === 'string' || schema['additionalProperties'] === true) return false
  const type = asString(schema['type'])?.toLowerCase()
  if (type !== undefined && type !== 'object') return false
  return Object.keys(asObject(schema['properties']) ?? {}).length === 0
}

function lower(raw: JsonObject, walk: Walk, refs: readonly string[], depth: number): WireSchema {
  walk.nodes += 1
  if (refs.length > 0) walk.repeated.nodes += 1
  const { schema, path } = flatten(raw, walk, refs)
  const type = typeOf(schema)
  if (depth >= MAX_DEPTH || isTooLarge(walk, path) || tooRecursive(path)) return cut(schema, type)
  const branches = unionOf(schema)
  if (branches !== undefined) return lowerUnion(schema, branches, walk, path, depth)
  return present({
    ...annotations(schema),
    ...typed(schema, type),
    nullable: isNullable(schema) ? true : undefined,
    ...(type === 'object' ? objectKeywords(schema, walk, path, depth) : {}),
    ...(type === 'array' ? arrayKeywords(schema, walk, path, depth) : {}),
  })
}

/** The schema with its references and `allOf` parts merged in, and the references that were followed. */
function flatten(
  raw: JsonObject,
  walk: Walk,
  refs: readonly string[],
): { schema: JsonObject; path: string[] } {
  const path = [...refs]
  let schema = raw
  for (let step = 0; step < MAX_DEPTH; step += 1) {
    const ref = asString(schema['$ref'])
    const parts = asObjects(schema['allOf'])
    if (ref === undefined && parts.length === 0) break
    // Merged parts may hold further parts, which would double with every step.
    walk.nodes += parts.length
    if (isTooLarge(walk, path)) break
    const { $ref: _ref, allOf: _allOf, ...siblings } = schema
    if (ref !== undefined) path.push(ref)
    const referred = ref === undefined || tooRecursive(path) ? {} : (resolveRef(walk.root, ref) ?? {})
    if (isTooMuch(walk.repeated, referred, 1)) break
    // What stands beside a reference is closer to the place and wins.
    schema = mergeSchemas([referred, ...parts, siblings])
  }
  return { schema, path }
}

function isTooLarge({ nodes, repeated }: Walk, path: readonly string[]): boolean {
  return nodes > MAX_NODES || (path.length > 0 && repeated.nodes > MAX_REFERRED_NODES)
}

function tooRecursive(path: readonly string[]): boolean {
  const last = path.at(-1)
  return path.filter(ref => ref === last).length > MAX_RECURSION
}

function cut(schema: JsonObject, type: SchemaType): WireSchema {
  const items = type === 'array' ? { items: { type: 'STRING' } } : {}
  return present({ ...annotations(schema), type: type.toUpperCase(), ...items })
}

function objectKeywords(schema: JsonObject, walk: Walk, refs: readonly string[], depth: number): WireSchema {
  const given = Object.entries(asObject(schema['properties']) ?? {})
  const properties = given.map(
    ([name, value]) => [name, lower(asObject(value) ?? {}, walk, refs, depth + 1)] as const,
  )
  const names = new Set(properties.map(([name]) => name))
  const known = (list: JsonValue | undefined) =>
    [...new Set(asArray(list))].flatMap(name => (typeof name === 'string' && names.has(name) ? [name] : []))
  const required = known(schema['required'])
  const ordering = known(schema['propertyOrdering'])
  return {
    properties: properties.length === 0 ? undefined : Object.fromEntries(properties),
    required: required.length === 0 ? undefined : required,
    propertyOrdering: ordering.length === 0 ? undefined : ordering,
    minProperties: count(schema['minProperties']),
    maxProperties: count(schema['maxProperties']),
  }
}

function arrayKeywords(schema: JsonObject, walk: Walk, refs: readonly string[], depth: number): WireSchema {
  // A tuple becomes a list of any of its members: `prefixItems`, or an array of `items` before draft 2020.
  const tuple = [...asObjects(schema['prefixItems']), ...asObjects(schema['items'])]
  const items: JsonObject = tuple.length === 0 ? (asObject(schema['items']) ?? {}) : { anyOf: tuple }
  return {
    items: lower(items, walk, refs, depth + 1),
    minItems: count(schema['minItems']),
    maxItems: count(schema['maxItems']),
  }
}

/** The branches of a union: `anyOf`, `oneOf`, or several types; undefined when the schema is none. */
function unionOf(schema: JsonObject): JsonObject[] | undefined {
  for (const key of ['anyOf', 'oneOf']) {
    const branches = asObjects(schema[key])
    if (branches.length > 0) return branches
  }
  const types = realTypes(schema)
  return types.length > 1 ? types.map(type => ({ type })) : undefined
}

/** The subset wants `anyOf` to stand alone, so what stood beside it moves into each branch. */
function lowerUnion(
  schema: JsonObject,
  branches: readonly JsonObject[],
  walk: Walk,
  refs: readonly string[],
  depth: number,
): WireSchema {
  const {
    anyOf,
    oneOf,
    title,
    description,
    default: _default,
    example,
    examples,
    nullable,
    ...shared
  } = schema
  const base: JsonObject = realTypes(schema).length > 1 ? { ...shared, type: undefined } : shared
  const rest: JsonObject = anyOf !== undefined && oneOf !== undefined ? { ...base, oneOf } : base
  const real = branches.filter(branch => !isOnlyNull(branch))
  if (isTooMuch(walk.repeated, rest, real.length)) return cut(schema, typeOf(schema))
  const canBeNull = isNullable(schema) || real.length < branches.length
  const lowered = real.map(branch => lower(mergeSchemas([rest, branch]), walk, refs, depth + 1))
  const [only] = lowered
  if (only === undefined) return present({ ...annotations(schema), type: 'STRING', nullable: true })
  if (lowered.length === 1) {
    return present({ ...only, ...present(annotations(schema)), ...(canBeNull ? { nullable: true } : {}) })
  }
  return present({ ...annotations(schema), anyOf: lowered, nullable: canBeNull ? true : undefined })
}

function isOnlyNull(branch: JsonObject): boolean {
  const types = namedTypes(branch)
  return (types.length > 0 && types.every(type => type === 'null')) || branch['const'] === null
}
