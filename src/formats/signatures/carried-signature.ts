import type { Part, ReasoningPart } from '@/generation/part.ts'

/**
 * The text, call or image that a reasoning part's signature belongs to, where formats without a slot on those brought it back
 * in a part of its own. One with thoughts was written before its part, and so was an empty one (Messages); one that is
 * hidden stands behind it (Responses). Undefined where nothing beside it is without a signature.
 */
export function carrierOf(
  parts: readonly Part[],
  reasoning: ReasoningPart,
  isTaken: (part: Part) => boolean,
): Part | undefined {
  const at = parts.indexOf(reasoning)
  const [before, after] = [parts[at - 1], parts[at + 1]]
  const isEmpty = reasoning.texts.join('') === ''
  const places = !isEmpty ? [after] : reasoning.redacted ? [before, after] : [after, before]
  return places.find(place => canCarry(place) && !isTaken(place))
}

function canCarry(part: Part | undefined): part is Part {
  return part !== undefined && mayBeSigned(part) && part.signature === undefined
}

/** The parts on which a maker puts signatures, beside its thoughts. */
export function mayBeSigned(part: Part): part is Extract<Part, { type: 'text' | 'tool-call' | 'media' }> {
  return part.type === 'text' || part.type === 'tool-call' || part.type === 'media'
}
