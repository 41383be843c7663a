import type { Format } from '@/generation/format.ts'
import { type Part, type TextPart, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asNonEmpty, asObject } from '@/json/json.ts'

/**
 * The request with the summaries that another format's compactions have in words (Anthropic's) as text: what they sum
 * up may be gone from the conversation.
 */
export function withSummaries(request: GenerationRequest, format: Format): GenerationRequest {
  const turns = request.turns.map(turn => ({
    ...turn,
    parts: turn.parts.map(part => summaryOf(part, format) ?? part),
  }))
  return { ...request, turns }
}

function summaryOf(part: Part, format: Format): TextPart | undefined {
  if (part.type !== 'opaque' || part.name !== 'compaction' || part.format === format) return undefined
  const words = asNonEmpty(asObject(part.value)?.['content'])
  return words === undefined ? undefined : textPart(words)
}
