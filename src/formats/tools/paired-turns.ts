import { type Part, type ToolCallPart, type ToolResultPart, textPart } from '@/generation/part.ts'
import { isSilent, type Turn } from '@/generation/request.ts'
import { parseObject } from '@/json/json.ts'
import { DistinctIds } from './call-ids.ts'
import { resultInWords } from './results.ts'

/** What stands for a result that the conversation lost: vendors refuse a call without one. */
const NO_RESULT: Pick<ToolResultPart, 'type' | 'content' | 'isError' | 'cache'> = {
  type: 'tool-result',
  content: [textPart('No result was recorded for this call.')],
  isError: false,
  cache: undefined,
}

/** What the assistant says in a row, and what is said to it before it speaks again. */
interface Step {
  said: Turn[]
  heard: Turn[]
}

/**
 * The conversation with its calls answered as all vendors take it: right behind what the assistant says in a row there
 * is a turn of the user's with one result for each call, in the order of the calls. A result has its call's name and
 * kind, and both an id that names no other call. No word is lost: a result without a call, a second one and one that
 * comes after the next answer are told where they stood, and a call without a result has one that says so, but for one
 * that repeats an answered call: some clients say once more what they go on from (LiveKit, with `previous_response_id`).
 *
 * A longer conversation begins with the same turns, since prompt caches live on that.
 * @param fitCallId an id as the target takes it
 */
export function pairedTurns(turns: readonly Turn[], fitCallId: (id: string) => string): Turn[] {
  const ids = new DistinctIds(fitCallId)
  const paired: Turn[] = []
  const matched = new Set<Part>()
  for (const { said, heard } of stepsOf(turns)) {
    const open = resultsById(heard)
    const results: ToolResultPart[] = []
    const done = new Map<string, ToolCallPart>()
    const answered = (part: Part): Part | readonly Part[] => {
      if (part.type !== 'tool-call') return part
      const { name, kind } = part
      const result = open.get(part.callId)?.shift()
      if (result !== undefined) {
        matched.add(result)
        done.set(part.callId, part)
      } else if (isSaidAgain(part, done.get(part.callId))) return []
      const callId = ids.take(part.callId)
      results.push({ ...(result ?? NO_RESULT), callId, name, kind })
      return callId === part.callId ? part : { ...part, callId }
    }
    for (const { role, parts } of said) {
      const kept = parts.flatMap(answered)
      if (kept.length > 0) paired.push({ role, parts: kept })
    }
    if (results.length > 0) paired.push({ role: 'user', parts: results })
    for (const { role, parts } of heard) {
      const left = parts.filter(part => !matched.has(part))
      if (left.length > 0) paired.push({ role, parts: left.flatMap(inWords) })
    }
  }
  return paired
}

/** Whether a call is another one of its id, be its arguments written in another way. */
function isSaidAgain(call: ToolCallPart, before: ToolCallPart | undefined): boolean {
  if (before === undefined || before.name !== call.name || before.kind !== call.kind) return false
  if (before.input === call.input) return true
  const input = parseObject(before.input)
  return input !== undefined && Bun.deepEquals(input, parseObject(call.input))
}

/** Turns that say nothing stand between nobody. */
function stepsOf(turns: readonly Turn[]): Step[] {
  let step: Step = { said: [], heard: [] }
  const steps = [step]
  for (const turn of turns) {
    if (isSilent(turn)) continue
    if (turn.role === 'assistant' && step.heard.length > 0) {
      step = { said: [], heard: [] }
      steps.push(step)
    }
    const side = turn.role === 'assistant' ? step.said : step.heard
    side.push(turn)
  }
  return steps
}

function resultsById(turns: readonly Turn[]): Map<string, ToolResultPart[]> {
  const results = new Map<string, ToolResultPart[]>()
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type !== 'tool-result') continue
      const known = results.get(part.callId)
      if (known === undefined) results.set(part.callId, [part])
      else known.push(part)
    }
  }
  return results
}

/** A result whose call the conversation lost. */
function inWords(part: Part): Part | readonly Part[] {
  if (part.type !== 'tool-result') return part
  const { callId, name } = part
  return resultInWords(name === undefined ? `tool call ${callId}` : `tool ${name} (${callId})`, part)
}
