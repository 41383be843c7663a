import type { Part } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { mayBeSigned } from './carried-signature.ts'
import { phaseOf } from './phase.ts'

/** A conversation without what was thought in it, and without what signs that. */
export function withoutReasoning(request: GenerationRequest): GenerationRequest {
  const turns = request.turns.map(({ role, parts }) => ({
    role,
    parts: parts.filter(part => part.type !== 'reasoning').map(unsigned),
  }))
  return {
    ...request,
    turns: turns.filter(({ parts }, index) => parts.length > 0 || request.turns[index]?.parts.length === 0),
  }
}

/** A message's phase is no reasoning. */
function unsigned(part: Part): Part {
  if (!mayBeSigned(part)) return part
  return phaseOf(part.signature) === undefined ? { ...part, signature: undefined } : part
}
