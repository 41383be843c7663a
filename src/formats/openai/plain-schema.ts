import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { constraintText } from '@/formats/schemas/object-schema.ts'
import { asArray, asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import { isPlainPattern } from './plain-pattern.ts'

/**
 * A schema as OpenAI takes one even where it does not hold the model to it: a pattern that is not plain is told in the
 * description instead, and what is in a list is said by one schema. One with nothing to change comes back itself.
 */
export function plainSchema(schema: JsonObject): JsonObject {
  return changedSchema(schema, plain)
}

/**
 * A schema as the vendors and servers take one that check patterns, or make a grammar of them: z.ai knows no `\p{L}`, and
 * llama.cpp, LM Studio and Ollama only what spans the whole text, without lookaround and without an escape of `-` or `/`.
 * https://github.com/zai-org/feedback/issues/593 https://github.com/openclaw/openclaw/issues/110202
 * https://github.com/ollama/ollama/issues/18226
 */
export function wholePatterns(schema: JsonObject): JsonObject {
  return changedSchema(schema, inner =>
    withPatterns(inner, pattern => WHOLE.test(pattern) && isPlainPattern(pattern)),
  )
}

const WHOLE = /^\^(?:[^\\]|\\[^-/])*\$$/

function plain(schema: JsonObject): JsonObject {
  return withItems(withPatterns(schema, isPlainPattern))
}

function withPatterns(schema: JsonObject, isTaken: (pattern: string) => boolean): JsonObject {
  const { pattern, patternProperties } = schema
  if (pattern === undefined && patternProperties === undefined) return schema
  const told: JsonObject = {}
  if (typeof pattern === 'string' && !isTaken(pattern)) told['pattern'] = pattern
  if (isJsonObject(patternProperties) && !Object.keys(patternProperties).every(isPlainPattern))
    told['patternProperties'] = patternProperties
  const words = constraintText(told)
  if (words === undefined) return schema
  const rest = Object.entries(schema).filter(([key]) => !Object.hasOwn(told, key))
  const description = [asString(schema['description']), words].filter(text => text !== undefined).join('\n\n')
  return { ...Object.fromEntries(rest), description }
}

/** A list whose members differ says so in the words of newer schemas, beside one of anything. */
function withItems(schema: JsonObject): JsonObject {
  const { type, items } = schema
  if (isJsonObject(items) || (type !== 'array' && !asArray(type).includes('array'))) return schema
  return { ...schema, ...(Array.isArray(items) && { prefixItems: items }), items: {} }
}
