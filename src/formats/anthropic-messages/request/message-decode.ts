import { decodeBlock } from '@/formats/anthropic-messages/block-decode.ts'
import { withoutSearchBlocks } from '@/formats/anthropic-messages/search-blocks.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { withoutMediaWords } from '@/formats/media/media-words.ts'
import { type Part, type TextPart, textPart } from '@/generation/part.ts'
import { resultsFirst, type Turn } from '@/generation/request.ts'
import { asArray, asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { toolChange } from './tool-changes.ts'

/**
 * Claude Code writes a header as its first system block. It is for Anthropic's billing, differs between kinds of
 * requests, and so would spoil another vendor's prompt cache.
 */
const BILLING_HEADER = 'x-anthropic-billing-header:'

/** `system`: a string or text blocks. Blocks of other kinds have nothing to say to another vendor. */
export function decodeSystem(system: JsonValue | undefined): TextPart[] {
  return contentParts(system, 'system')
    .filter(part => part.type === 'text')
    .filter(part => !part.text.startsWith(BILLING_HEADER))
}

/** `messages`, one turn each. Neighbours of one role stay apart: encoders merge where their format wants it. */
export function decodeMessages(messages: readonly JsonValue[]): Turn[] {
  const lastUser = messages.findLastIndex(message => asObject(message)?.['role'] === 'user')
  return messages.flatMap((message, index) => {
    const wire = asObject(message) ?? {}
    // Text for one turn stays in the array, and is not shown any more once the user speaks again.
    const isCleared =
      wire['role'] === 'system' && wire['clear_at'] === 'next_user_message' && index < lastUser
    return isCleared ? [] : [decodeMessage(wire, `messages[${index}]`)]
  })
}

function decodeMessage(wire: JsonObject, path: string): Turn {
  // System text may be left out where the message only sets something.
  const isSilent = wire['role'] === 'system' && (wire['content'] ?? undefined) === undefined
  const parts = isSilent ? [] : contentParts(wire['content'], `${path}.content`)
  switch (wire['role']) {
    case 'user':
      refuseKind(parts, 'tool-call', `${path}.content`, 'tool_use blocks stand in assistant messages')
      refuseKind(parts, 'reasoning', `${path}.content`, 'thinking blocks stand in assistant messages')
      return { role: 'user', parts: resultsFirst(parts) }
    case 'assistant':
      refuseKind(parts, 'tool-result', `${path}.content`, 'tool_result blocks stand in user messages')
      return { role: 'assistant', parts: withoutSearchBlocks(parts).map(withoutMediaWords) }
    // Claude Code writes system text in the middle of the talk.
    case 'system':
      return { role: 'system', parts: parts.filter(part => !isToolChange(part)) }
    default:
      throw invalidRequest(`${path}.role`, "expected 'user', 'assistant' or 'system'")
  }
}

/** It is read with `tools`, which other formats have in one place. */
function isToolChange(part: Part): boolean {
  return part.type === 'opaque' && toolChange(asObject(part.value) ?? {}) !== undefined
}

/** Somebody else's part, which no other format has a place for; the API refuses it as well. */
function refuseKind(parts: readonly Part[], kind: Part['type'], path: string, problem: string): void {
  if (parts.some(part => part.type === kind)) throw invalidRequest(path, problem)
}

function contentParts(content: JsonValue | undefined, path: string): Part[] {
  if (content === undefined || content === null) {
    if (path === 'system') return []
    throw invalidRequest(path, 'expected a string or an array of content blocks')
  }
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  if (!Array.isArray(content)) throw invalidRequest(path, 'expected a string or an array of content blocks')
  return asArray(content).flatMap((block, index) => {
    const at = `${path}[${index}]`
    if (!isJsonObject(block) || asString(block['type']) === undefined) {
      throw invalidRequest(at, "expected a content block with a 'type'")
    }
    return decodeBlock(block, at)
  })
}
