import { isDeepStrictEqual } from 'node:util'
import { phaseOf } from '@/formats/signatures/phase.ts'
import { unwrapSignature, unwrapThoughts } from '@/formats/signatures/signature.ts'
import {
  type OpaquePart,
  type Part,
  type ReasoningPart,
  reasoningPart,
  type Signature,
  textPart,
} from '@/generation/part.ts'
import { resultsFirst, type Turn } from '@/generation/request.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { DerivedCallIds } from './derived-call-ids.ts'
import { decodeResult } from './function-response.ts'
import { decodeMedia } from './media.ts'
import { isSignatureBypass } from './signature-bypass.ts'
import { FORMAT } from './wire.ts'

/**
 * A caller's `contents` as turns. Neighbouring contents of one role are one turn: the SDK keeps a streamed answer as
 * one content per chunk. Results come first in their turn.
 */
export function decodeContents(contents: readonly JsonValue[]): Turn[] {
  const ids = new DerivedCallIds()
  const turns: { role: 'user' | 'assistant'; parts: Part[] }[] = []
  for (const value of contents) {
    const content = asObject(value) ?? {}
    const role = content['role'] === 'model' ? 'assistant' : 'user'
    for (const part of saidOnce(asArray(content['parts']), ids.open)) {
      const wire = asObject(part) ?? {}
      const side = sideOf(wire) ?? role
      if (turns.at(-1)?.role !== side) turns.push({ role: side, parts: [] })
      const turn = turns.at(-1)
      if (turn === undefined) continue
      addThoughts(turn.parts, carriedThoughts(wire))
      turn.parts.push(...decodePart(wire, ids, turns.length))
    }
  }
  return turns.map(({ role, parts }) => ({
    role,
    parts: role === 'assistant' ? joinChunks(parts) : resultsFirst(parts),
  }))
}

/**
 * Gemini CLI's `--resume` says the results of a turn twice, media included. What comes once more as it was, with more
 * results than there are calls to answer, is nothing new.
 */
function saidOnce(parts: readonly JsonValue[], openCalls: number): readonly JsonValue[] {
  const results = parts.filter(part => asObject(asObject(part)?.['functionResponse']) !== undefined)
  if (results.length <= openCalls) return parts
  const half = parts.slice(0, parts.length / 2)
  return isDeepStrictEqual(half, parts.slice(half.length)) ? half : parts
}

/** Whose a part can only be, whatever the role of its content: a call is the model's, and its result the user's. */
function sideOf(wire: JsonObject): 'user' | 'assistant' | undefined {
  if (asObject(wire['functionResponse']) !== undefined) return 'user'
  return asObject(wire['functionCall']) === undefined ? undefined : 'assistant'
}

/** The thoughts that a call brings back for a client that dropped them (reply-parts.ts). */
function carriedThoughts(wire: JsonObject): ReasoningPart[] {
  return unwrapThoughts(asString(wire['thoughtSignature']) ?? '') ?? []
}

/**
 * Puts thoughts where they were, before the text that led to the call; a client that kept them has them already, but for
 * those that it had no part for. One that kept their text alone (Google's ADK for TypeScript, where it streams) has what
 * they replace.
 */
function addThoughts(parts: Part[], thoughts: readonly ReasoningPart[]): void {
  const isKept = (thought: ReasoningPart) => parts.some(part => isSigned(part, thought.signature))
  if (thoughts.every(isKept)) return
  const end = parts.findLastIndex(part => part.type !== 'text') + 1
  let start = end
  while (isOneOf(parts[start - 1], thoughts)) start -= 1
  parts.splice(start, end - start)
  const missing = thoughts.filter(thought => !isKept(thought))
  parts.splice(start, 0, ...missing)
}

/** Whether a part is what a client kept of one of these thoughts, be it without the signature. */
function isOneOf(part: Part | undefined, thoughts: readonly ReasoningPart[]): boolean {
  return isSigned(part, undefined) || thoughts.some(({ signature }) => isSigned(part, signature))
}

function isSigned(part: Part | undefined, signature: Signature | undefined): boolean {
  return part?.type === 'reasoning' && part.signature?.value === signature?.value
}

/** What one wire part says. A signature of another format is that of the thoughts before it (stream-encode.ts), but for a phase. */
function decodePart(wire: JsonObject, ids: DerivedCallIds, turn: number): Part[] {
  const value = asString(wire['thoughtSignature'])
  const says = value !== undefined && value !== '' && !isSignatureBypass(value)
  const signature = says && unwrapThoughts(value) === undefined ? unwrapSignature(value, FORMAT) : undefined
  const isOwn = signature?.format === FORMAT || wire['thought'] === true || phaseOf(signature) !== undefined
  const own = isOwn ? signature : undefined
  const foreign = signature === undefined || own !== undefined ? [] : [reasoningPart({ signature })]
  return [...foreign, ...decodeAll(wire, own, ids, turn)]
}

/** Google refuses a part with text and other data; where it is not asked, neither is lost. */
function decodeAll(
  wire: JsonObject,
  signature: Signature | undefined,
  ids: DerivedCallIds,
  turn: number,
): Part[] {
  const { text, ...data } = wire
  const isOne = !asString(text) || DATA.every(name => asObject(wire[name]) === undefined)
  if (isOne) return decodeData(wire, signature, ids, turn)
  const said = decodeData({ text, thought: wire['thought'] }, undefined, ids, turn)
  return [...said, ...decodeData(data, signature, ids, turn)]
}

function decodeData(
  wire: JsonObject,
  signature: Signature | undefined,
  ids: DerivedCallIds,
  turn: number,
): Part[] {
  const call = asObject(wire['functionCall'])
  if (call !== undefined) return [decodeCall(call, signature, ids, turn)]
  const response = asObject(wire['functionResponse'])
  if (response !== undefined) return [decodeResponse(response, ids)]
  const text = asString(wire['text']) ?? ''
  if (wire['thought'] === true) return decodeThought(text, signature)
  const media = decodeMedia(wire)
  if (media !== undefined) return [{ ...media, signature }]
  const opaque = decodeOpaque(wire)
  if (opaque !== undefined) return [opaque]
  return text === '' && signature === undefined ? [] : [{ ...textPart(text), signature }]
}

function decodeCall(
  call: JsonObject,
  signature: Signature | undefined,
  ids: DerivedCallIds,
  turn: number,
): Part {
  const name = asString(call['name']) ?? ''
  return {
    type: 'tool-call',
    kind: 'function',
    callId: ids.call(name, asString(call['id']), turn),
    name,
    namespace: undefined,
    input: JSON.stringify(call['args'] ?? {}),
    signature,
    cache: undefined,
  }
}

function decodeResponse(response: JsonObject, ids: DerivedCallIds): Part {
  const name = asString(response['name']) ?? ''
  const callId = ids.result(name, asString(response['id']))
  return { type: 'tool-result', kind: 'function', callId, name, ...decodeResult(response), cache: undefined }
}

function decodeThought(text: string, signature: Signature | undefined): Part[] {
  if (text === '') return signature === undefined ? [] : [reasoningPart({ signature })]
  return [reasoningPart({ texts: [text], signature })]
}

/** What a part may hold instead of text, and other formats know. Of several the first is read. */
export const DATA = ['functionCall', 'functionResponse', 'inlineData', 'fileData'] as const

/** Fields that stand beside a part's data. */
const BESIDE = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
])

/** A part of a kind that only Gemini has (`executableCode`, `toolCall`, tomorrow's); undefined for text. */
export function decodeOpaque(wire: JsonObject): OpaquePart | undefined {
  const name = Object.keys(wire).find(key => !BESIDE.has(key))
  return name === undefined || wire['text'] !== undefined
    ? undefined
    : { type: 'opaque', format: FORMAT, name, value: wire }
}

/** Joins what streaming had cut: thoughts up to their signature, and text that carries none. */
function joinChunks(parts: readonly Part[]): Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (last?.type === 'reasoning' && part.type === 'reasoning' && last.signature === undefined) {
      const text = [...last.texts, ...part.texts].join('')
      const { signature } = part
      joined[joined.length - 1] = reasoningPart({ texts: text === '' ? [] : [text], signature })
    } else if (last?.type === 'text' && part.type === 'text' && last.signature === undefined) {
      joined[joined.length - 1] = { ...textPart(last.text + part.text), signature: part.signature }
    } else {
      joined.push(part)
    }
  }
  return joined
}
