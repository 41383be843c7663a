import type { Part, ToolCallPart, ToolResultPart } from '@/generation/part.ts'

/** By the part itself, since several calls of a conversation may bear one id. */
interface Matching {
  resultOf: Map<ToolCallPart, ToolResultPart>
  /** The results that found their call. */
  matched: Set<ToolResultPart>
}

/**
 * Which result answers which call, by id. Results may come late, out of order or in several turns, but never before
 * their call; ids that several turns use mean the last such call, and within one turn the first still open.
 */
export function matchResults(groups: readonly (readonly Part[])[]): Matching {
  const resultOf = new Map<ToolCallPart, ToolResultPart>()
  const matched = new Set<ToolResultPart>()
  const open = new Map<string, { group: number; calls: ToolCallPart[] }>()
  for (const [group, parts] of groups.entries()) {
    for (const part of parts) {
      if (part.type === 'tool-call') {
        const known = open.get(part.callId)
        if (known?.group === group) known.calls.push(part)
        else open.set(part.callId, { group, calls: [part] })
      } else if (part.type === 'tool-result') {
        const call = open.get(part.callId)?.calls.shift()
        if (call === undefined) continue
        resultOf.set(call, part)
        matched.add(part)
      }
    }
  }
  return { resultOf, matched }
}
