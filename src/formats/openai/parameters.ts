import type { JsonObject } from '@/json/json.ts'

/** A function's parameters as OpenAI takes them: it refuses a schema without a type, and an object without properties. */
export function functionParameters(schema: JsonObject): JsonObject {
  const isWhole = schema['type'] !== undefined && schema['properties'] !== undefined
  return isWhole ? schema : { type: 'object', properties: {}, ...schema }
}
