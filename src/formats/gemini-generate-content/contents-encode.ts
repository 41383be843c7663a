import { NO_RESULT, orphanParts, withDocumentTexts } from '@/formats/tools/results.ts'
import type { MediaPart, Part, ToolCallPart, ToolResultPart } from '@/generation/part.ts'
import { isSilent, type Turn } from '@/generation/request.ts'
import { present } from '@/json/json.ts'
import { encodeResult } from './function-response.ts'
import { encodeMedia } from './media.ts'
import { encodeModelParts, encodeUserPart, type PartDestination } from './parts-encode.ts'
import { matchResults } from './result-matching.ts'
import type { WireContent, WirePart } from './wire.ts'

/** The user's turn where the conversation has none to begin with. */
const OPENING: WirePart = { text: '.' }

/** Neighbouring turns of one side. System text in the middle of the talk stays in its place as the user's. */
interface Group {
  model: boolean
  parts: Part[]
}

/**
 * The conversation as Gemini wants it: user and model alternate, the user begins, and the results of a model turn
 * stand together behind it, one for each call in the order of the calls.
 */
export function encodeContents(turns: readonly Turn[], to: PartDestination): WireContent[] {
  const groups = groupTurns(turns)
  const { resultOf, matched } = matchResults(groups.map(group => group.parts))
  const current = groups.findLastIndex((group, index) => beginsTurn(group, groups[index - 1], matched))
  const contents: WireContent[] = []
  for (const [index, group] of groups.entries()) {
    if (!group.model) {
      const parts = group.parts.filter(part => part.type !== 'tool-result' || !matched.has(part))
      append(
        contents,
        'user',
        parts.flatMap(part => userParts(part, to)),
      )
      continue
    }
    append(contents, 'model', encodeModelParts(group.parts, to, index > current))
    const calls = group.parts.filter(part => part.type === 'tool-call')
    append(contents, 'user', encodeResults(calls, resultOf, to))
  }
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [OPENING] })
  return contents
}

function groupTurns(turns: readonly Turn[]): Group[] {
  const groups: Group[] = []
  for (const turn of turns) {
    // One that says nothing stands between nobody.
    if (isSilent(turn)) continue
    const model = turn.role === 'assistant'
    const last = groups.at(-1)
    if (last?.model === model) last.parts.push(...turn.parts)
    else groups.push({ model, parts: [...turn.parts] })
  }
  return groups
}

/**
 * Whether the user took the word here. Text beside a result does not count, be it a made-up one: Claude Code adds
 * reminders to every result, and a stand-in for a signature too many is harmless where one too few is a 400.
 */
function beginsTurn(group: Group, before: Group | undefined, matched: ReadonlySet<Part>): boolean {
  if (group.model || group.parts.length === 0) return false
  const answersCalls = before?.parts.some(part => part.type === 'tool-call') === true
  return !answersCalls && !group.parts.some(part => matched.has(part))
}

function append(contents: WireContent[], role: 'user' | 'model', parts: WirePart[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else contents.push({ role, parts })
}

/** A part of a user's turn; a result without a call becomes text. */
function userParts(part: Part, to: PartDestination): WirePart[] {
  if (part.type !== 'tool-result') return encodeUserPart(part, to)
  return orphanParts(part).flatMap(said => encodeUserPart(said, to))
}

function encodeResults(
  calls: readonly ToolCallPart[],
  resultOf: ReadonlyMap<ToolCallPart, ToolResultPart>,
  to: PartDestination,
): WirePart[] {
  const responses: WirePart[] = []
  const following: WirePart[] = []
  for (const call of calls) {
    const found = resultOf.get(call)
    const result = found && withDocumentTexts(found, to.losses)
    if (result !== undefined && isMarked(result)) to.losses.add('cacheMark')
    const media = result === undefined ? [] : resultMedia(result).map(item => encodeMedia(item, to))
    const inside = to.traits.mediaInResults ? media : []
    if (!to.traits.mediaInResults) following.push(...media)
    const functionResponse = present({
      id: to.traits.callIds ? call.callId : undefined,
      name: call.name,
      response: result === undefined ? { result: NO_RESULT } : encodeResult(result),
      parts: inside.length === 0 ? undefined : inside,
    })
    responses.push({ functionResponse })
  }
  return [...responses, ...following]
}

/** Whether a cache mark stands on a result or on its text; media tell of theirs themselves. */
function isMarked({ cache, content }: ToolResultPart): boolean {
  return cache !== undefined || content.some(part => part.type === 'text' && part.cache !== undefined)
}

function resultMedia(result: ToolResultPart): MediaPart[] {
  return result.content.filter(part => part.type === 'media')
}
