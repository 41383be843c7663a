import {
  asArray,
  asNumber,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { mergeSchemas } from './schema-merge.ts'
import { resolveRef } from './schema-ref.ts'
import { present, type WireSchema } from './wire.ts'

/** Deeper levels become a bare type, so that no schema can exhaust the stack. */
const MAX_DEPTH = 32
/** Most nodes of one lowered schema: references fan out, and a vendor refuses schemas of this size anyway. */
const MAX_NODES = 4000
/** How often one reference may stand inside itself before it is cut. */
const MAX_RECURSION = 2

interface Walk {
  root: JsonObject
  nodes: number
}

/**
 * JSON Schema as the OpenAPI subset of Gemini's older `parameters` and `responseSchema` (wire-formats 7.4). Keeps
 * bounds, unions, references and nullability; what the subset cannot say is left out. Never throws.
 */
export function lowerSchema(schema: JsonValue | undefined): WireSchema {
  const root = asObject(schema) ?? {}
  return lower(root, { root, nodes: 0 }, [], 0)
}

/** True for a schema that takes no properties: Gemini wants the whole field left out then. */
export function isEmptyObjectSchema(schema: JsonObject | undefined): boolean {
  if (schema === undefined) return true
  const compound = ['$ref', 'allOf', 'anyOf', 'oneOf', 'additionalProperties', 'patternProperties']
  if (compound.some(key => isJsonObject(schema[key]) || Array.isArray(schema[key]))) return false
  if (typeof schema['$ref'] === 'string') return false
  const type = asString(schema['type'])?.toLowerCase()
  if (type !== undefined && type !== 'object') return false
  return Object.keys(asObject(schema['properties']) ?? {}).length === 0
}

function lower(raw: JsonObject, walk: Walk, refs: readonly string[], depth: number): WireSchema {
  walk.nodes += 1
  const { schema, path } = flatten(raw, walk, refs)
  const type = typeOf(schema)
  if (depth >= MAX_DEPTH || walk.nodes > MAX_NODES || tooRecursive(path)) return cut(schema, type)
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
    const parts = asArray(schema['allOf']).filter(isJsonObject)
    if (ref === undefined && parts.length === 0) break
    // Merged parts may hold further parts, which would double with every step.
    walk.nodes += parts.length
    if (walk.nodes > MAX_NODES) break
    const { $ref: _ref, allOf: _allOf, ...siblings } = schema
    if (ref !== undefined) path.push(ref)
    const target = ref === undefined || tooRecursive(path) ? [] : [resolveRef(walk.root, ref)]
    // What stands beside a reference is closer to the place and wins.
    schema = mergeSchemas([...target, ...parts, siblings])
  }
  return { schema, path }
}

function tooRecursive(path: readonly string[]): boolean {
  const last = path.at(-1)
  return path.filter(ref => ref === last).length > MAX_RECURSION
}

function cut(schema: JsonObject, type: SchemaType): WireSchema {
  const items = type === 'array' ? { items: { type: 'STRING' } } : {}
  return present({ ...annotations(schema), type: type.toUpperCase(), ...items })
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const
type SchemaType = (typeof TYPES)[number]

/** The types a schema names, `null` included, in lower case. */
function namedTypes(schema: JsonObject): string[] {
  const type = schema['type']
  const names = Array.isArray(type) ? type : [type]
  return names.flatMap(name => (typeof name === 'string' ? [name.toLowerCase()] : []))
}

function realTypes(schema: JsonObject): SchemaType[] {
  const names = namedTypes(schema)
  return TYPES.filter(type => names.includes(type))
}

/** The one type of a schema: as named, else as its keywords imply; the subset must have one. */
function typeOf(schema: JsonObject): SchemaType {
  const [named] = realTypes(schema)
  if (named !== undefined) return named
  if (schema['properties'] !== undefined || schema['additionalProperties'] !== undefined) return 'object'
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array'
  const values = enumValues(schema)
  if (values.length > 0 && values.every(value => typeof value === 'boolean')) return 'boolean'
  if (values.length > 0) return 'string'
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
  return bounds.some(key => typeof schema[key] === 'number') ? 'number' : 'string'
}

function isNullable(schema: JsonObject): boolean {
  return (
    schema['nullable'] === true ||
    namedTypes(schema).includes('null') ||
    schema['const'] === null ||
    asArray(schema['enum']).includes(null)
  )
}

function annotations(schema: JsonObject): WireSchema {
  const examples = asArray(schema['examples'])
  return {
    title: asString(schema['title']),
    description: asString(schema['description']),
    default: schema['default'] ?? undefined,
    example: schema['example'] ?? examples[0] ?? undefined,
  }
}

/** `const` and `enum` as one list without null, which `nullable` says. */
function enumValues(schema: JsonObject): JsonValue[] {
  const constant = schema['const']
  const values = constant === undefined ? asArray(schema['enum']) : [constant]
  return values.filter(value => value !== null)
}

/** The type with the keywords that belong to it. The subset knows enums of strings only, and no empty string. */
function typed(schema: JsonObject, type: SchemaType): WireSchema {
  const values = enumValues(schema)
  if (values.length > 0 && type !== 'boolean' && type !== 'object' && type !== 'array') {
    const texts = values.map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
    const choices = [...new Set(texts)].filter(value => value !== '')
    if (choices.length > 0) return { type: 'STRING', format: 'enum', enum: choices }
  }
  switch (type) {
    case 'string':
      return { type: 'STRING', ...stringKeywords(schema) }
    case 'number':
    case 'integer':
      return { type: type.toUpperCase(), ...numberKeywords(schema, type) }
    default:
      return { type: type.toUpperCase() }
  }
}

function stringKeywords(schema: JsonObject): WireSchema {
  return {
    format: schema['format'] === 'date-time' ? 'date-time' : undefined,
    pattern: asString(schema['pattern']),
    minLength: count(schema['minLength']),
    maxLength: count(schema['maxLength']),
  }
}

const NUMBER_FORMATS = { integer: ['int32', 'int64'], number: ['float', 'double'] } as const

function numberKeywords(schema: JsonObject, type: 'integer' | 'number'): WireSchema {
  const format = NUMBER_FORMATS[type].find(name => name === schema['format'])
  const step = type === 'integer' ? 1 : 0
  return {
    format,
    minimum: bound(schema, 'minimum', 'exclusiveMinimum', step),
    maximum: bound(schema, 'maximum', 'exclusiveMaximum', -step),
  }
}

/**
 * The inclusive bound. An exclusive one moves to the next integer; for other numbers it stays, being as near as the
 * subset allows. Draft 4 writes `exclusiveMinimum: true` beside `minimum`.
 */
function bound(schema: JsonObject, name: string, exclusiveName: string, step: number): number | undefined {
  const inclusive = asNumber(schema[name])
  const exclusive = schema[exclusiveName] === true ? inclusive : asNumber(schema[exclusiveName])
  if (exclusive === undefined) return inclusive
  const moved = step === 0 ? exclusive : (step > 0 ? Math.floor(exclusive) : Math.ceil(exclusive)) + step
  if (inclusive === undefined) return moved
  return name === 'minimum' ? Math.max(inclusive, moved) : Math.min(inclusive, moved)
}

function count(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : asNumber(value)
  return number !== undefined && Number.isInteger(number) && number >= 0 ? number : undefined
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
  const tuple = [...asArray(schema['prefixItems']), ...asArray(schema['items'])].filter(isJsonObject)
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
    const branches = asArray(schema[key]).filter(isJsonObject)
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
