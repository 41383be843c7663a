import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import { tellFailure, withDocumentTexts, withMark } from '@/formats/tools/results.ts'
import { type MediaPart, type Part, type TextPart, type ToolResultPart, textPart } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { asArray, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { encodeAssistant } from './assistant-encode.ts'
import { encodeParts, encodeTexts } from './content-encode.ts'
import type { TargetRules } from './target-rules.ts'

/** What the user says where the assistant had the last word and cannot go on from it. */
const GO_ON = 'Continue.'

/**
 * Writes the conversation. Every call is followed at once by its result, as the format wants it. System text that it
 * begins with is one message, of which many chat templates know no more, and neither does a model that takes none later.
 */
export function encodeMessages(
  instructions: readonly TextPart[],
  turns: readonly Turn[],
  rules: TargetRules,
): JsonObject[] {
  const messages: JsonObject[] = []
  const paired = mergeAssistants(pairedTurns(turns, rules.vendor.fitCallId))
  const opening = rules.isServedByOpenai ? [] : paired.slice(0, leadingSystem(paired))
  const told = opening.flatMap(({ parts }) => parts.flatMap(part => systemText(part, rules)))
  const system = [...instructions.filter(({ text }) => text !== ''), ...told]
  if (system.length > 0) messages.push(systemMessage(system, rules))
  for (const { role, parts } of paired.slice(opening.length)) {
    if (role === 'assistant') {
      const message = encodeAssistant(parts, rules)
      if (message !== undefined) messages.push(message)
    } else if (role === 'system') {
      const texts = parts.flatMap(part => systemText(part, rules))
      if (texts.length > 0) messages.push(laterSystemMessage(texts, rules))
    } else {
      messages.push(...resultMessages(parts, rules), ...userMessages(parts, rules))
    }
  }
  if (!rules.vendor.prefill && messages.at(-1)?.['role'] === 'assistant')
    messages.push({ role: 'user', content: GO_ON })
  // An empty conversation is refused everywhere; clients send one to see whether a model is there.
  if (messages.length === 0) return [{ role: 'user', content: '' }]
  return rules.vendor.isPerplexity ? alternating(messages) : messages
}

/** What the user says in several messages, in one: two in a row are a 400. https://github.com/perplexityai/api-discussion/issues/265 */
function alternating(messages: readonly JsonObject[]): JsonObject[] {
  const turns: JsonObject[] = []
  let said: JsonValue[] = []
  for (const message of messages) {
    if (message['role'] === 'user' && turns.at(-1)?.['role'] === 'user') {
      said.push(...contentParts(message))
      turns[turns.length - 1] = { role: 'user', content: said }
    } else {
      said = contentParts(message)
      turns.push(message)
    }
  }
  return turns
}

function contentParts({ content }: JsonObject): JsonValue[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [...asArray(content)]
}

/** System text is all that a system message takes. */
function systemText(part: Part, rules: TargetRules): TextPart[] {
  if (part.type === 'text') return part.text === '' ? [] : [part]
  if (part.type === 'opaque') rules.losses.add('extension', part.name)
  else if (part.type === 'media') rules.losses.add('media')
  return []
}

/** Text goes on as `system`, which all vendors know; OpenAI's newer models call it `developer`. */
function systemMessage(texts: readonly TextPart[], rules: TargetRules): JsonObject {
  const role = rules.model.isNewer ? 'developer' : 'system'
  return { role, content: encodeTexts(texts, '\n\n', rules) }
}

/** Where system text is refused behind other messages it keeps its place as the user's. */
function laterSystemMessage(texts: readonly TextPart[], rules: TargetRules): JsonObject {
  const message = systemMessage(texts, rules)
  return rules.model.systemFirst || rules.vendor.isPerplexity ? { ...message, role: 'user' } : message
}

/** How many turns of system text a conversation begins with. */
function leadingSystem(turns: readonly Turn[]): number {
  const first = turns.findIndex(({ role }) => role !== 'system')
  return first < 0 ? turns.length : first
}

/** Neighbouring assistant turns as one, since calls that belong together must stand in one message. */
function mergeAssistants(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = []
  let last: { parts: Part[]; speaks: boolean } | undefined
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      last = undefined
      merged.push(turn)
      continue
    }
    if (last === undefined) {
      last = { parts: [], speaks: false }
      merged.push({ role: 'assistant', parts: last.parts })
    }
    const speaks = hasText(turn.parts)
    if (last.speaks && speaks) last.parts.push(textPart('\n\n'))
    for (const part of turn.parts) last.parts.push(part)
    last.speaks ||= speaks
  }
  return merged
}

function hasText(parts: readonly Part[]): boolean {
  return parts.some(part => part.type === 'text' && part.text !== '')
}

/** A `tool` message for every result, then what a tool message cannot hold. */
function resultMessages(parts: readonly Part[], rules: TargetRules): JsonObject[] {
  const messages: JsonObject[] = []
  const hoisted: (TextPart | MediaPart)[] = []
  for (const part of parts) {
    if (part.type !== 'tool-result') continue
    const result = withDocumentTexts(part, rules.losses)
    const content = encodeTexts(resultTexts(result), '\n', rules)
    const name = rules.vendor.namesResults ? result.name : undefined
    messages.push(present({ role: 'tool', tool_call_id: result.callId, name, content }))
    hoisted.push(...hoistedParts(result))
  }
  if (hoisted.length > 0) messages.push({ role: 'user', content: encodeParts(hoisted, rules) })
  return messages
}

/** A result's text: a word in place of its media, and of the failure that no field tells. */
function resultTexts(result: ToolResultPart): readonly TextPart[] {
  const texts = result.content.filter(part => part.type === 'text')
  const media = result.content.filter(part => part.type === 'media')
  if (media.length > 0) {
    const kinds = media.map(part => part.kind).join(', ')
    texts.push(textPart(`[The ${kinds} of this result: see the next user message]`))
  }
  const told = result.isError ? tellFailure(texts) : texts
  // An empty result has no part for its mark.
  return withMark(told.length === 0 ? [textPart('')] : told, result.cache)
}

function hoistedParts({ callId, content }: ToolResultPart): (TextPart | MediaPart)[] {
  const media = content.filter(part => part.type === 'media')
  return media.length === 0 ? [] : [textPart(`Result of tool call ${callId}:`), ...media]
}

function userMessages(parts: readonly Part[], rules: TargetRules): JsonObject[] {
  const content = encodeParts(parts, rules)
  return content.length === 0 ? [] : [{ role: 'user', content }]
}
