import { encodeCitationHistory } from '@/formats/anthropic-messages/citation.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { Target } from '@/formats/codec.ts'
import { unsayableMedia } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { wrappedInput } from '@/formats/tools/call-input.ts'
import { tellFailure } from '@/formats/tools/results.ts'
import type {
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '@/generation/part.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'
import { marked } from './cache-marks.ts'
import { encodeMedia } from './media-encode.ts'
import { ownSignature } from './reasoning-history.ts'
import { isSpoken } from './spoken-turns.ts'

/** Of what a part's blocks depend on beside the part. */
interface PartContext {
  role: 'user' | 'assistant' | 'system'
  target: Target
  /** Whether this turn's thoughts are sent (reasoning-history.ts). */
  thoughts: boolean
  losses: Losses
}

/** A part as content blocks; none where it is empty or nothing that this API knows. */
export function encodePart(part: Part, context: PartContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      return encodeText(part, context.losses)
    case 'refusal':
      return isSpoken(part) ? [{ type: 'text', text: part.text }] : []
    case 'media':
      return [encodeTurnMedia(part, context)]
    case 'reasoning':
      return context.thoughts && context.role === 'assistant' ? encodeThought(part, context.target) : []
    case 'tool-call':
      return [encodeToolUse(part)]
    case 'tool-result':
      return [encodeToolResult(part, context)]
    case 'opaque':
      if (part.format === FORMAT && isJsonObject(part.value)) return [part.value]
      context.losses.add('extension', part.name)
      return []
    default:
      return part satisfies never
  }
}

/** Blocks of nothing but white space are refused by the API. */
function encodeText(part: TextPart, losses: Losses): JsonObject[] {
  if (!isSpoken(part)) return []
  const citations = part.citations.map(encodeCitationHistory).filter(citation => citation !== undefined)
  if (citations.length < part.citations.length) losses.add('citations')
  const block = { type: 'text', text: part.text, ...(citations.length > 0 && { citations }) }
  return [marked(block, part.cache)]
}

/** Assistant turns hold no media: there the model reads that it made something, but not what. */
function encodeTurnMedia(part: MediaPart, context: PartContext): JsonObject {
  if (context.role !== 'assistant') return encodeMedia(part, context.target, context.losses)
  context.losses.add('media')
  return { type: 'text', text: `[${part.kind}]` }
}

function encodeThought(part: ReasoningPart, target: Target): JsonObject[] {
  const signature = ownSignature(part, target)
  if (signature === undefined) return []
  if (part.redacted) return [{ type: 'redacted_thinking', data: signature }]
  return [{ type: 'thinking', thinking: part.texts.join('\n\n'), signature }]
}

function encodeToolUse(part: ToolCallPart): JsonObject {
  const block = {
    type: 'tool_use',
    id: part.callId,
    name: part.name,
    input: wrappedInput(part.kind, part.input),
  }
  return marked(block, part.cache)
}

function encodeToolResult(part: ToolResultPart, context: PartContext): JsonObject {
  const { content, isError } = failureAsTaken(part)
  const [only] = content
  const plain = content.length === 1 && only?.type === 'text' && only.cache === undefined
  const blocks = content.flatMap(inner =>
    inner.type === 'text'
      ? encodeText({ ...inner, citations: [] }, context.losses)
      : [resultMedia(inner, context)],
  )
  const block = {
    type: 'tool_result',
    tool_use_id: part.callId,
    ...(plain && only.text !== '' ? { content: only.text } : blocks.length > 0 && { content: blocks }),
    ...(isError && { is_error: true }),
  }
  return marked(block, part.cache)
}

/** The API wants words in a failed result and takes nothing else: one without any gets some, one with media is told in words. */
function failureAsTaken({ content, isError }: ToolResultPart): Pick<ToolResultPart, 'content' | 'isError'> {
  const spoken = content.filter(isSpoken)
  const isMixed = spoken.some(({ type }) => type === 'media')
  if (!isError || (spoken.length > 0 && !isMixed)) return { content, isError }
  return { content: [...tellFailure(spoken)], isError: !isMixed }
}

function resultMedia(part: MediaPart, { target, losses }: PartContext): JsonObject {
  if (part.kind === 'audio' || part.kind === 'video') {
    throw unsayableMedia(part, `holds ${part.kind} in a tool result, which this model does not take`)
  }
  return encodeMedia(part, target, losses)
}
