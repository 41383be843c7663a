import { encodeCitation } from '@/formats/anthropic-messages/citation.ts'
import {
  DIRECT_CALLER,
  NO_CITATIONS,
  REPLY_NULLS,
  replyId,
  replySignature,
  thoughtDisplay,
} from '@/formats/anthropic-messages/reply.ts'
import { SearchBlocks } from '@/formats/anthropic-messages/search-blocks.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { DecodeContext, ReplyContext } from '@/formats/codec.ts'
import { brokenAnswer, complaintIn, errorInAnswer } from '@/formats/faults/fault.ts'
import { mediaWords } from '@/formats/media/media-words.ts'
import { CallIds, fitCallId } from '@/formats/tools/call-ids.ts'
import { wrappedInput } from '@/formats/tools/call-input.ts'
import { Collector } from '@/generation/collect.ts'
import type { MediaPart, Part, ReasoningPart, TextPart, ToolCallPart } from '@/generation/part.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import { asObject, asObjects, asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import { closeBlock, openBlock } from './block-reader.ts'
import { decodeFinish, encodeFinish, type Written } from './finish.ts'
import { encodeMessageUsage, readUsage, tierIn } from './usage.ts'

/**
 * Reads an upstream's whole answer, each of its blocks as one that is streamed in its first event alone.
 * @throws GatewayError when the body is an error that came with status 200, or no message at all.
 */
export function decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse {
  if (isFault(body)) throw errorInAnswer(body)
  if (!isMessage(body)) throw complaintIn(body) ?? brokenAnswer("The upstream's answer is not a message")
  const collector = new Collector()
  const emit = collector.push.bind(collector)
  const { id, model } = body
  const usage = asObject(body['usage'])
  emit({
    type: 'start',
    id: asString(id),
    model: asString(model),
    serviceTier: asString(usage?.['service_tier']),
  })
  const callIds = new CallIds(context)
  for (const [index, block] of asObjects(body['content']).entries()) {
    closeBlock(openBlock(block, index, callIds, emit), context, emit)
  }
  const told = readUsage(usage)
  if (told !== undefined) emit({ type: 'usage', usage: told })
  emit({ type: 'finish', candidate: 0, finish: decodeFinish(body) })
  return collector.response()
}

/** See Codec. */
export function reportedUsage(body: JsonObject): Usage | undefined {
  return isFault(body) || !isMessage(body) ? undefined : readUsage(asObject(body['usage']))
}

/** See Codec. */
export function servedTier(body: JsonObject): string | undefined {
  return tierIn(asObject(body['usage']))
}

function isFault(body: JsonObject): boolean {
  return body['type'] === 'error' || (body['content'] === undefined && body['error'] !== undefined)
}

/** Some servers write an empty list as null. */
function isMessage(body: JsonObject): boolean {
  const content = body['content'] ?? null
  return Array.isArray(content) || (content === null && body['type'] === 'message')
}

/** Writes a whole answer for the caller. This format has one candidate. */
export function encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject {
  const candidate = response.candidates[0]
  const parts = candidate?.parts ?? []
  const written: Written = {
    toolUse: parts.some(part => part.type === 'tool-call'),
    refusal: parts.some(part => part.type === 'refusal'),
  }
  const finish = candidate?.finish ?? { reason: 'other', stopSequence: undefined, message: undefined }
  return {
    id: replyId(context),
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: encodeContent(parts, context),
    ...encodeFinish(finish, written),
    ...REPLY_NULLS,
    usage: encodeMessageUsage(response.usage ?? NO_USAGE, response.serviceTier),
  }
}

function encodeContent(parts: readonly Part[], context: ReplyContext): JsonObject[] {
  const content: JsonObject[] = []
  const search = new SearchBlocks(context)
  for (const part of withSpaces(parts)) {
    if (part.type === 'text') part.citations.forEach(search.cite, search)
    if (part.type === 'opaque') search.search(part)
    if (part.type === 'tool-call' || part.type === 'media') signBefore(part, content, context)
    content.push(...encodeAnswerPart(part, context))
  }
  content.push(...search.blocks())
  return content
}

/** The parts without texts that say nothing, which the API does not take back; white space between two stands before the second. */
function withSpaces(parts: readonly Part[]): Part[] {
  let space = ''
  return parts.flatMap((part): Part[] => {
    const before = space
    space = ''
    if (part.type !== 'text' && part.type !== 'refusal') return [part]
    const text = before + part.text
    if (text.trim() !== '' || (part.type === 'text' && encodeCitations(part).length > 0))
      return [{ ...part, text }]
    space = text
    return []
  })
}

/**
 * A signature of Gemini's on a call or an image has no field in their blocks: it travels in the thought before them, or
 * in an empty one where that has its own.
 */
function signBefore(
  { signature }: ToolCallPart | MediaPart,
  content: JsonObject[],
  context: ReplyContext,
): void {
  if (signature === undefined || thoughtDisplay(context.request) === 'hidden') return
  const last = content.at(-1)
  const isUnsigned = last?.['type'] === 'thinking' && last['signature'] === replySignature(undefined)
  const thought = isUnsigned ? content.pop() : { type: 'thinking', thinking: '' }
  content.push({ ...thought, signature: replySignature(signature) })
}

/** A part as content blocks. */
function encodeAnswerPart(part: Part, context: ReplyContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, citations: encodeCitations(part) }]
    case 'refusal':
      return [{ type: 'text', text: part.text, ...NO_CITATIONS }]
    case 'reasoning':
      return encodeThought(part, context)
    case 'tool-call':
      return [encodeToolUse(part)]
    case 'media':
      return [{ type: 'text', text: mediaWords(part), ...NO_CITATIONS }]
    case 'opaque':
      return part.format === FORMAT && isJsonObject(part.value) ? [part.value] : []
    case 'tool-result':
      return []
    default:
      return part satisfies never
  }
}

function encodeCitations({ citations }: TextPart): JsonObject[] {
  return citations.map(encodeCitation).filter(citation => citation !== undefined)
}

function encodeThought(part: ReasoningPart, context: ReplyContext): JsonObject[] {
  const display = thoughtDisplay(context.request)
  if (display === 'hidden') return []
  if (part.redacted) {
    return part.signature === undefined
      ? []
      : [{ type: 'redacted_thinking', data: replySignature(part.signature) }]
  }
  const text = display === 'shown' ? part.texts.join('\n\n') : ''
  if (text === '' && part.signature === undefined && display === 'shown') return []
  return [{ type: 'thinking', thinking: text, signature: replySignature(part.signature) }]
}

function encodeToolUse(part: ToolCallPart): JsonObject {
  return {
    type: 'tool_use',
    id: fitCallId(part.callId),
    name: part.name,
    input: wrappedInput(part.kind, part.input),
    ...DIRECT_CALLER,
  }
}
