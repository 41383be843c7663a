import {
  isThinkingBlock,
  storedDetails,
  thinkingPart,
} from '@/formats/openai-chat-completions/reasoning-details.ts'
import { imageEntry } from '@/formats/openai-chat-completions/reply.ts'
import { signatureField } from '@/formats/openai-chat-completions/thought-signature.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { carrierOf } from '@/formats/signatures/carried-signature.ts'
import { signatureFor } from '@/formats/signatures/signature.ts'
import { argumentsText } from '@/formats/tools/call-input.ts'
import {
  type Part,
  type ReasoningPart,
  type Signature,
  type TextPart,
  type ToolCallPart,
  textPart,
} from '@/generation/part.ts'
import type { JsonObject } from '@/json/json.ts'
import { encodeText, encodeTexts } from './content-encode.ts'
import type { TargetRules } from './target-rules.ts'

/** Writes an assistant turn; undefined when nothing of it can be said. */
export function encodeAssistant(parts: readonly Part[], rules: TargetRules): JsonObject | undefined {
  const calls = parts.filter(part => part.type === 'tool-call')
  const carried = carriedSignatures(parts, rules)
  const message: JsonObject = {
    role: 'assistant',
    content: encodeContent(parts, rules),
    ...refusalField(parts, rules),
    ...reasoningFields(parts, calls.length > 0, rules),
    ...textSignatureField(parts, carried, rules),
    ...otherFields(parts, rules),
  }
  if (calls.length > 0) message['tool_calls'] = calls.map(call => encodeCall(call, carried.get(call), rules))
  if (message['content'] !== null) return message
  if (Object.values(message).every(value => value === 'assistant' || value === null || value === ''))
    return undefined
  // Null is for a message that speaks in one of these ways only.
  const isExcused = ['tool_calls', 'refusal', 'audio'].some(name => message[name] !== undefined)
  return isExcused ? message : { ...message, content: '' }
}

/**
 * Text, and refusals where the vendor knows none apart; null when there is neither. Where thoughts are parts they stand
 * where they were thought.
 */
function encodeContent(parts: readonly Part[], rules: TargetRules): string | JsonObject[] | null {
  if (rules.served.thinkingParts && parts.some(part => thoughtIn(part) !== '')) {
    return parts.flatMap(part => {
      const thought = thoughtIn(part)
      return thought === ''
        ? textsIn(part, rules).map(text => encodeText(text, rules))
        : [thinkingPart(thought)]
    })
  }
  const texts = parts.flatMap(part => textsIn(part, rules))
  return texts.length === 0 ? null : encodeTexts(texts, '', rules)
}

function textsIn(part: Part, rules: TargetRules): TextPart[] {
  if (part.type === 'text') return part.text === '' ? [] : [part]
  return part.type === 'refusal' && !rules.vendor.isOpenai ? [textPart(part.text)] : []
}

/** A thought in words; none of one that is sealed. */
function thoughtIn(part: Part): string {
  return part.type === 'reasoning' && !part.redacted
    ? part.texts.filter(text => text !== '').join('\n\n')
    : ''
}

function refusalField(parts: readonly Part[], rules: TargetRules): JsonObject {
  const refusals = parts.filter(part => part.type === 'refusal')
  if (refusals.length === 0 || !rules.vendor.isOpenai) return {}
  return { refusal: refusals.map(part => part.text).join('') }
}

/**
 * Reasoning goes back in the vendor's own entries where it made them, else as text within a tool loop: on messages
 * with calls, and on those always, so that the prompt's bytes stay the same from turn to turn. OpenAI takes none, and
 * from messages without calls the others leave it out themselves (Qwen's and GLM's templates); DeepSeek does so, too, but
 * for those of the turn that it is at.
 */
function reasoningFields(parts: readonly Part[], isCalling: boolean, rules: TargetRules): JsonObject {
  const thoughts = parts.filter(part => part.type === 'reasoning')
  if (rules.vendor.isOpenai) {
    if (thoughts.length > 0) rules.losses.add('reasoningHistory')
    return {}
  }
  const details = thoughts.flatMap(thought => ownEntries(thought, rules))
  if (details.length > 0) {
    reportLost(
      thoughts.filter(thought => ownEntries(thought, rules).length === 0),
      rules,
    )
    const { blocks = [], entries = [] } = Object.groupBy(details, detail =>
      isThinkingBlock(detail) ? 'blocks' : 'entries',
    )
    return {
      ...(entries.length > 0 && { reasoning_details: entries }),
      ...(blocks.length > 0 && { thinking_blocks: blocks }),
    }
  }
  const { needsReasoning } = rules.vendor
  const field = isCalling || needsReasoning === 'all' ? rules.reasoningField : undefined
  const isTold = field !== undefined || rules.served.thinkingParts
  reportLost(isTold ? thoughts.filter(({ redacted }) => redacted) : thoughts, rules)
  const text = thoughts
    .map(thoughtIn)
    .filter(thought => thought !== '')
    .join('\n\n')
  return field === undefined || (text === '' && needsReasoning === undefined) ? {} : { [field]: text }
}

/** Notes thoughts that are left out, if they say anything; a signature of this vendor's may travel on another part. */
function reportLost(thoughts: readonly ReasoningPart[], rules: TargetRules): void {
  const isLost = thoughts.some(
    ({ texts, signature }) =>
      texts.some(text => text !== '') || (signature?.value && ownSignature(signature, rules) === undefined),
  )
  if (isLost) rules.losses.add('reasoningHistory')
}

function ownEntries(thought: ReasoningPart, rules: TargetRules): JsonObject[] {
  const value = ownSignature(thought.signature, rules)
  return value === undefined ? [] : storedDetails(value)
}

function ownSignature(signature: Signature | undefined, rules: TargetRules): string | undefined {
  return signatureFor(signature, FORMAT, rules.vendorName)
}

/** Google's signatures on a text or a call, where they came back in reasoning parts of their own. */
function carriedSignatures(parts: readonly Part[], rules: TargetRules): Map<Part, string> {
  const carried = new Map<Part, string>()
  for (const part of parts) {
    if (part.type !== 'reasoning') continue
    const value = ownSignature(part.signature, rules)
    if (value === undefined || storedDetails(value).length > 0) continue
    const carrier = carrierOf(parts, part, place => carried.has(place))
    if (carrier !== undefined) carried.set(carrier, value)
  }
  return carried
}

function textSignatureField(
  parts: readonly Part[],
  carried: ReadonlyMap<Part, string>,
  rules: TargetRules,
): JsonObject {
  const value = parts
    .filter(part => part.type === 'text')
    .map(part => carried.get(part) ?? ownSignature(part.signature, rules))
    .findLast(signature => signature !== undefined)
  return signatureField(value)
}

/** What an assistant message holds beside words and calls. */
function otherFields(parts: readonly Part[], rules: TargetRules): JsonObject {
  const fields: JsonObject = {}
  const images: JsonObject[] = []
  for (const part of parts) {
    if (part.type === 'media') {
      const image = rules.vendor.isOpenrouter
        ? imageEntry({ ...part, signature: undefined }, images.length)
        : undefined
      if (image === undefined) rules.losses.add('media')
      else images.push(image)
    } else if (part.type === 'opaque') {
      if (part.format === FORMAT && part.name === 'audio') fields['audio'] = part.value
      else rules.losses.add('extension', part.name)
    }
  }
  if (images.length > 0) fields['images'] = images
  return fields
}

function encodeCall(call: ToolCallPart, carried: string | undefined, rules: TargetRules): JsonObject {
  if (call.cache !== undefined) rules.losses.add('cacheMark')
  const { callId: id } = call
  if (call.kind === 'custom') return { id, type: 'custom', custom: { name: call.name, input: call.input } }
  const value = carried ?? ownSignature(call.signature, rules)
  return {
    id,
    type: 'function',
    function: { name: call.name, arguments: argumentsText(call.kind, call.input, rules.isServedByOpenai) },
    ...signatureField(value),
  }
}
