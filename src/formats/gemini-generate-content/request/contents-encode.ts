import { encodeResult } from '@/formats/gemini-generate-content/function-response.ts'
import { encodeMedia } from '@/formats/gemini-generate-content/media.ts'
import { SIGNATURE_BYPASS } from '@/formats/gemini-generate-content/signature-bypass.ts'
import type { WireContent, WirePart } from '@/formats/gemini-generate-content/wire.ts'
import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import { withDocumentTexts } from '@/formats/tools/results.ts'
import type { MediaPart, Part, ToolResultPart } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { present } from '@/json/json.ts'
import { encodeModelParts, encodeUserPart, type PartDestination } from './parts-encode.ts'

/** The user's turn where the conversation has none to begin with. */
const OPENING: WirePart = { text: '.' }
/** The user's turn behind one of the model's that the model does not go on with by itself. */
const GO_ON: WirePart = { text: 'Continue.' }

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
  const groups = groupTurns(pairedTurns(turns, id => id))
  const contents: WireContent[] = []
  for (const { model, parts } of groups) {
    if (model) append(contents, 'model', encodeModelParts(parts, to))
    else append(contents, 'user', encodeUserParts(parts, to))
  }
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [OPENING] })
  if (to.traits.callIds) signCurrentTurn(contents)
  if (!to.traits.prefill && contents.at(-1)?.role === 'model') contents.push({ role: 'user', parts: [GO_ON] })
  return contents
}

/** Puts what stands for a signature on the first call of each step of the turn that the model is still working on. */
function signCurrentTurn(contents: readonly WireContent[]): void {
  const steps = contents.slice(contents.findLastIndex(beginsTurn) + 1)
  for (const { parts } of steps) {
    const call = parts.find(part => part.functionCall !== undefined)
    if (call !== undefined) call.thoughtSignature ??= SIGNATURE_BYPASS
  }
}

/**
 * Whether the user took the word here. Text beside a result does not count, be it a made-up one: Claude Code adds
 * reminders to every result, and a stand-in for a signature too many is harmless where one too few is a 400.
 */
function beginsTurn({ role, parts }: WireContent): boolean {
  return role === 'user' && parts.every(part => part.functionResponse === undefined)
}

function groupTurns(turns: readonly Turn[]): Group[] {
  const groups: Group[] = []
  for (const { role, parts } of turns) {
    const model = role === 'assistant'
    const last = groups.at(-1)
    if (last?.model === model) last.parts.push(...parts)
    else groups.push({ model, parts: [...parts] })
  }
  return groups
}

function append(contents: WireContent[], role: 'user' | 'model', parts: WirePart[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else contents.push({ role, parts })
}

/** The user's parts, of which results come first. Media that the model takes in none stand behind all of them. */
function encodeUserParts(parts: readonly Part[], to: PartDestination): WirePart[] {
  const responses: WirePart[] = []
  const media: WirePart[] = []
  const said: WirePart[] = []
  for (const part of parts) {
    if (part.type === 'tool-result') responses.push(encodeResponse(part, media, to))
    else said.push(...encodeUserPart(part, to))
  }
  return [...responses, ...media, ...said]
}

/** @param following where media go that the model does not take in a result */
function encodeResponse(part: ToolResultPart, following: WirePart[], to: PartDestination): WirePart {
  const result = withDocumentTexts(part, to.losses)
  if (isMarked(result)) to.losses.add('cacheMark')
  const media = resultMedia(result).map(item => encodeMedia(item, to))
  if (!to.traits.mediaInResults) following.push(...media.splice(0))
  const functionResponse = present({
    id: to.traits.callIds ? result.callId : undefined,
    name: result.name,
    response: encodeResult(result),
    parts: media.length === 0 ? undefined : media,
  })
  return { functionResponse }
}

/** Whether a cache mark stands on a result or on its text; media tell of theirs themselves. */
function isMarked({ cache, content }: ToolResultPart): boolean {
  return cache !== undefined || content.some(part => part.type === 'text' && part.cache !== undefined)
}

function resultMedia(result: ToolResultPart): MediaPart[] {
  return result.content.filter(part => part.type === 'media')
}
