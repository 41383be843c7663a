import { type Part, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'

const TASK = `Summarise the conversation above, so that it can be gone on with from your summary alone. Keep what the user wants, every decision and constraint, names, numbers, file paths, code that matters, results of tools, and what is left to do. Answer with the summary and nothing else.`

/** The request that asks a model for the summary; in place of an item that asks for it in a vendor's own way, if there is one. */
export function summarising(request: GenerationRequest): GenerationRequest {
  return {
    ...request,
    turns: [
      ...request.turns.filter(turn => !turn.parts.every(isTrigger)),
      { role: 'user', parts: [textPart(TASK)] },
    ],
    tools: request.tools,
    toolChoice: request.tools.length === 0 ? undefined : { type: 'none' },
    output: undefined,
  }
}

function isTrigger(part: Part): boolean {
  return part.type === 'opaque' && part.name === 'compaction_trigger'
}
