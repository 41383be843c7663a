import type { Target } from '@/formats/codec.ts'
import type { Losses } from '@/formats/losses.ts'
import { isObjectSchema, outputInWords } from '@/formats/output-format.ts'
import { withRootInPlace } from '@/formats/schema-ref.ts'
import { textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { isServedByOpenai } from './vendor.ts'

/**
 * The structured outputs of OpenAI itself are objects, in both of its formats: it refuses the schema of anything else,
 * which other vendors take. That is said in words, to which nothing holds the model.
 */
export function withObjectOutput(
  request: GenerationRequest,
  target: Target,
  losses: Losses,
): GenerationRequest {
  const { output, instructions } = request
  if (output?.type !== 'json-schema' || isObjectSchema(output.schema) || !isServedByOpenai(target))
    return request
  const schema = withRootInPlace(output.schema)
  if (isObjectSchema(schema)) return { ...request, output: { ...output, schema } }
  losses.add('output')
  return { ...request, output: undefined, instructions: [...instructions, textPart(outputInWords(output))] }
}
