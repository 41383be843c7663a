import type { Format } from '@/generation/format.ts'
import { type Part, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asNonEmpty, asObject } from '@/json/json.ts'

/**
 * The request with the last summary in words of another format's compactions (Anthropic's) in place of all that stands in
 * front of it, which Anthropic drops too. It is the user's: for some vendors nobody else begins.
 */
export function withSummary(request: GenerationRequest, format: Format): GenerationRequest {
  const isSummary = (part: Part) => summaryIn(part, format) !== undefined
  const at = request.turns.findLastIndex(({ parts }) => parts.some(isSummary))
  const turn = request.turns[at]
  if (turn === undefined) return request
  const place = turn.parts.findLastIndex(isSummary)
  const words = summaryIn(turn.parts[place], format) ?? ''
  const rest = { ...turn, parts: turn.parts.slice(place + 1) }
  return {
    ...request,
    turns: [{ role: 'user', parts: [textPart(words)] }, rest, ...request.turns.slice(at + 1)],
  }
}

function summaryIn(part: Part | undefined, format: Format): string | undefined {
  if (part?.type !== 'opaque' || part.name !== 'compaction' || part.format === format) return undefined
  return asNonEmpty(asObject(part.value)?.['content'])
}
