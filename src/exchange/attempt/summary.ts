import { textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'

const TASK = `Summarise the conversation above, so that it can be gone on with from your summary alone. Keep what the user wants, every decision and constraint, names, numbers, file paths, code that matters, results of tools, and what is left to do. Answer with the summary and nothing else.`

/** The request that asks a model for the summary. */
export function summarising(request: GenerationRequest): GenerationRequest {
  return {
    ...request,
    turns: [...request.turns, { role: 'user', parts: [textPart(TASK)] }],
    tools: request.tools,
    toolChoice: request.tools.length === 0 ? undefined : { type: 'none' },
    output: undefined,
  }
}
