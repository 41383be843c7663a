import type { JsonSchemaOutput, OutputFormat } from '@/generation/request.ts'
import { asBoolean, asString, type JsonObject } from '@/json/json.ts'
import { withRootInPlace } from './reference.ts'

/** An answer of this schema, with what is said of it beside. */
export function schemaOutput(
  schema: JsonObject,
  { name, description, strict }: JsonObject,
): JsonSchemaOutput {
  return {
    type: 'json-schema',
    name: asString(name),
    description: asString(description),
    schema,
    strict: asBoolean(strict),
  }
}

/** An answer of this schema, for a caller whose format holds every answer to its schema. */
export function heldOutput(schema: JsonObject): JsonSchemaOutput {
  return { ...schemaOutput(schema, {}), strict: 'where-possible' }
}

/** The schema of an answer with what the answer is for in its own description, for formats that have no other place for it. */
export function describedSchema({ schema, description }: JsonSchemaOutput): JsonObject {
  if (description === undefined || description === '') return schema
  // Beside a reference nothing else may stand.
  const root = withRootInPlace(schema)
  const own = asString(root['description'])
  return { ...root, description: own === undefined ? description : `${description}\n\n${own}` }
}

/** The schema's name in the signs that every vendor takes; `unnamed` where it has none. */
export function schemaName({ name = '' }: JsonSchemaOutput, maxLength: number, unnamed: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxLength) || unnamed
}

/** Asks for an answer in words, where nothing else can ask for it. */
export function outputInWords(output: Exclude<OutputFormat, { type: 'text' }>): string {
  const asked = `Reply with one valid ${jsonInWords(output)} and nothing else: no prose, no code fence.`
  if (output.type === 'json') return asked
  const { schema, description } = output
  const words = description === undefined || description === '' ? '' : `${description}\n`
  return `${asked} It must fit this JSON Schema:\n${words}${JSON.stringify(schema)}`
}

/** Whether what fits a schema is an object. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema['type'] === 'object' || (schema['type'] === undefined && schema['properties'] !== undefined)
}

/**
 * What an answer is called where it is asked for in words. A schema may have another root than an object, and one that
 * does not say which may have any.
 */
export function jsonInWords(output: Exclude<OutputFormat, { type: 'text' }>): string {
  if (output.type === 'json') return 'JSON object'
  if (isObjectSchema(output.schema)) return 'JSON object'
  return output.schema['type'] === 'array' ? 'JSON array' : 'JSON value'
}
