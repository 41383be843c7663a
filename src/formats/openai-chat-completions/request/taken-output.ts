import { isObjectSchema, outputInWords } from '@/formats/schemas/output-format.ts'
import { textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { TargetRules } from './target-rules.ts'

/**
 * What a request asks of its answer, as the model can be held to it. What it cannot is said in words, which is a loss where
 * the caller said `strict`.
 */
export function takenOutput(request: GenerationRequest, { served, losses }: TargetRules): GenerationRequest {
  const { output, tools, instructions } = request
  if (output === undefined || output.type === 'text') return request
  const isHeld = served.outputBesideTools || tools.length === 0
  if (isHeld && (output.type === 'json' || served.output === 'schema')) return request
  if (output.type === 'json-schema' && output.strict === true) losses.add('outputStrict')
  const isJson = isHeld && output.type === 'json-schema' && isObjectSchema(output.schema)
  return {
    ...request,
    output: isJson ? { type: 'json' } : undefined,
    instructions: [...instructions, textPart(outputInWords(output))],
  }
}
