import type { JsonSchemaOutput, OutputFormat } from '@/generation/request.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import type { Losses } from './losses.ts'

/**
 * The schema of an answer with what the answer is for in its own description, for formats that have no other place for
 * it. Beside a reference nothing else may stand, so that there it is lost.
 */
export function describedSchema({ schema, description }: JsonSchemaOutput, losses: Losses): JsonObject {
  if (description === undefined || description === '') return schema
  if (schema['$ref'] !== undefined) {
    losses.add('output', 'description')
    return schema
  }
  const own = asString(schema['description'])
  return { ...schema, description: own === undefined ? description : `${description}\n\n${own}` }
}

/** The schema's name in the signs that every vendor takes; `unnamed` where it has none. */
export function schemaName({ name = '' }: JsonSchemaOutput, maxLength: number, unnamed: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxLength) || unnamed
}

/**
 * What an answer is called where it is asked for in words. A schema may have another root than an object, and one that
 * does not say which may have any.
 */
export function jsonInWords(output: Exclude<OutputFormat, { type: 'text' }>): string {
  if (output.type === 'json') return 'JSON object'
  const { type, properties } = output.schema
  if (type === 'object' || (type === undefined && properties !== undefined)) return 'JSON object'
  return type === 'array' ? 'JSON array' : 'JSON value'
}
