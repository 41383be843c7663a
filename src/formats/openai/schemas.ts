import type { Target } from '@/formats/codec.ts'
import type { Losses } from '@/formats/losses.ts'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { isObjectSchema, outputInWords } from '@/formats/schemas/output-format.ts'
import { withRootInPlace } from '@/formats/schemas/reference.ts'
import { type Part, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'
import { plainSchema } from './plain-schema.ts'
import { strictSchema } from './strict-schema.ts'
import { isServedByOpenai } from './vendor.ts'

/** A function's parameters as OpenAI takes them: it refuses an object that does not say its properties. */
export function functionParameters(parameters: JsonObject): JsonObject {
  const schema = plainSchema(objectSchema(parameters))
  return schema['properties'] === undefined ? { type: 'object', properties: {}, ...schema } : schema
}

/**
 * What a request asks of its answer, as both of OpenAI's formats take it. JSON of any kind is refused where no message says
 * the word, by other vendors of Chat too. OpenAI's own structured outputs are objects: the schema of anything else, which
 * other vendors take, is said in words, to which nothing holds the model.
 */
export function fitOutput(request: GenerationRequest, target: Target, losses: Losses): GenerationRequest {
  const { output, instructions, turns } = request
  if (output?.type === 'json') {
    const isSaid = saysJson(instructions) || turns.some(({ parts }) => saysJson(parts))
    return isSaid ? request : { ...request, instructions: [...instructions, textPart(outputInWords(output))] }
  }
  if (output?.type !== 'json-schema' || !isServedByOpenai(target)) return request
  const root = isObjectSchema(output.schema) ? output.schema : withRootInPlace(output.schema)
  if (isObjectSchema(root)) {
    const held = output.strict === 'where-possible' ? strictSchema(root) : undefined
    if (held !== undefined) return { ...request, output: { ...output, schema: held, strict: true } }
    const schema = output.strict === true ? root : plainSchema(root)
    return schema === output.schema ? request : { ...request, output: { ...output, schema } }
  }
  losses.add('output')
  return { ...request, output: undefined, instructions: [...instructions, textPart(outputInWords(output))] }
}

function saysJson(parts: readonly Part[]): boolean {
  return parts.some(part => {
    if (part.type === 'tool-result') return saysJson(part.content)
    return part.type === 'text' && /json/i.test(part.text)
  })
}
