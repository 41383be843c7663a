import type { WireSchema } from '@/formats/gemini-generate-content/wire.ts'
import { nearestNumber } from '@/json/exact.ts'
import { asArray, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const
/** A JSON Schema type other than null, which Gemini's own schemas say as `nullable`. */
export type SchemaType = (typeof TYPES)[number]

/** The types a schema names, `null` included, in lower case. */
export function namedTypes(schema: JsonObject): string[] {
  const type = schema['type']
  const names = Array.isArray(type) ? type : [type]
  return names.flatMap(name => (typeof name === 'string' ? [name.toLowerCase()] : []))
}

/** The types that a schema allows beside null. */
export function realTypes(schema: JsonObject): SchemaType[] {
  const names = namedTypes(schema)
  return TYPES.filter(type => names.includes(type))
}

/** The one type of a schema: as named, else as its keywords imply; the subset must have one. */
export function typeOf(schema: JsonObject): SchemaType {
  const [named] = realTypes(schema)
  if (named !== undefined) return named
  if (schema['properties'] !== undefined || schema['additionalProperties'] !== undefined) return 'object'
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array'
  const values = enumValues(schema)
  if (values.length > 0 && values.every(value => typeof value === 'boolean')) return 'boolean'
  if (values.length > 0) return 'string'
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
  return bounds.some(key => nearestNumber(schema[key]) !== undefined) ? 'number' : 'string'
}

/** Whether a schema allows null, in whichever way it says so. */
export function isNullable(schema: JsonObject): boolean {
  return (
    schema['nullable'] === true ||
    namedTypes(schema).includes('null') ||
    schema['const'] === null ||
    asArray(schema['enum']).includes(null)
  )
}

/** What a schema says to people, in Gemini's words. */
export function annotations(schema: JsonObject): WireSchema {
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
export function typed(schema: JsonObject, type: SchemaType): WireSchema {
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
function bound(schema: JsonObject, name: string, exclusiveName: string, step: number): JsonValue | undefined {
  const inclusive = nearestNumber(schema[name])
  const isFlag = schema[exclusiveName] === true
  const exclusive = isFlag ? inclusive : nearestNumber(schema[exclusiveName])
  if (exclusive === undefined) return inclusive === undefined ? undefined : schema[name]
  const moved = (step > 0 ? Math.floor(exclusive) : Math.ceil(exclusive)) + step
  // One step is nothing to a number that is larger than those that a double tells apart.
  const isMoved = step !== 0 && Number.isSafeInteger(moved)
  const inner = isMoved ? moved : schema[isFlag ? name : exclusiveName]
  if (inclusive === undefined || isFlag) return inner
  const isInside = name === 'minimum' ? inclusive > exclusive : inclusive < exclusive
  return isInside ? schema[name] : inner
}

/** A bound as a number: Gemini's own are strings of digits. */
export function count(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : nearestNumber(value)
  return number !== undefined && Number.isInteger(number) && number >= 0 ? number : undefined
}
