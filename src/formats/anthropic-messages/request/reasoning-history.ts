import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { Target } from '@/formats/codec.ts'
import { signatureFor } from '@/formats/signatures/signature.ts'
import type { Part, ReasoningPart } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { isSpoken } from './spoken-turns.ts'

/** Which thoughts of the conversation may go back to this upstream. */
interface ReasoningHistory {
  /** Indexes of the turns whose thoughts are sent. */
  kept: ReadonlySet<number>
  /** True when thoughts were left out because somebody else had them. */
  lost: boolean
  /** True when the talk waits for the model after tool results, and the thought that led to the calls is missing. */
  openLoopLacksThought: boolean
  /** True when the thought before calls is missing, wherever they are. */
  lacksThought: boolean
}

/**
 * Thoughts go back only to their maker, and an assistant's stretch (from one word of the user to the next, tool
 * results between) goes with all of its thoughts or with none: the API refuses a stretch that lost some.
 * @param turns paired (tools/paired-turns.ts)
 */
export function reasoningHistory(turns: readonly Turn[], target: Target): ReasoningHistory {
  const kept = new Set<number>()
  let lost = false
  let lacking = false
  let lacksThought = false
  for (const stretch of stretches(turns)) {
    const parts = stretch.flatMap(index => turns[index]?.parts ?? [])
    const thoughts = parts.filter(part => part.type === 'reasoning')
    const own = thoughts.length > 0 && thoughts.every(part => ownSignature(part, target) !== undefined)
    if (own) for (const index of stretch) kept.add(index)
    else if (thoughts.length > 0) lost = true
    const called = parts.some(part => part.type === 'tool-call')
    if (stretch.length > 0) lacking = called && !(own && beginsWithThought(parts))
    lacksThought ||= lacking
  }
  const answer = turns.findLastIndex(turn => turn.role === 'assistant')
  const openLoopLacksThought = lacking && turns.slice(answer + 1).some(answersCalls)
  return { kept, lost, openLoopLacksThought, lacksThought }
}

/** The signature to send, if this upstream made it. One of ours without content is nobody's. */
export function ownSignature(part: ReasoningPart, target: Target): string | undefined {
  const value = signatureFor(part.signature, FORMAT, target.vendor)
  return value === '' ? undefined : value
}

/**
 * Indexes of the assistant turns of each stretch. What the user says behind results stands in one message with them; what
 * the system says behind the assistant is the user's.
 */
function stretches(turns: readonly Turn[]): number[][] {
  const found: number[][] = [[]]
  let isAnswered = false
  for (const [index, turn] of turns.entries()) {
    if (turn.role === 'assistant') {
      found.at(-1)?.push(index)
      isAnswered = false
    } else if (answersCalls(turn)) isAnswered = true
    else if (!isAnswered) found.push([])
  }
  return found
}

function answersCalls(turn: Turn): boolean {
  return turn.role === 'user' && turn.parts.some(part => part.type === 'tool-result')
}

function beginsWithThought(parts: readonly Part[]): boolean {
  return parts.find(part => part.type === 'reasoning' || isSpoken(part))?.type === 'reasoning'
}
