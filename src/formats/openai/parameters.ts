import { objectSchema } from '@/formats/object-schema.ts'
import type { JsonObject } from '@/json/json.ts'

/** A function's parameters as OpenAI takes them: it refuses an object that does not say its properties. */
export function functionParameters(parameters: JsonObject): JsonObject {
  const schema = objectSchema(parameters)
  return schema['properties'] === undefined ? { type: 'object', properties: {}, ...schema } : schema
}
