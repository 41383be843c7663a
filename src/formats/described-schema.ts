import type { OutputFormat } from '@/generation/request.ts'
import { asString, type JsonObject } from '@/json/json.ts'

/**
 * The schema of an answer with what the answer is for in its own description, for formats that have no other place for
 * it. Beside a reference nothing else may stand.
 * @param lose called where it can be said nowhere.
 */
export function describedSchema(
  { schema, description }: Extract<OutputFormat, { type: 'json-schema' }>,
  lose: () => void,
): JsonObject {
  if (description === undefined || description === '') return schema
  if (schema['$ref'] !== undefined) {
    lose()
    return schema
  }
  const own = asString(schema['description'])
  return { ...schema, description: own === undefined ? description : `${description}\n\n${own}` }
}
