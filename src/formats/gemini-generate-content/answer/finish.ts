import type { WireFinishReason } from '@/formats/gemini-generate-content/wire.ts'
import type { StopReason } from '@/generation/response.ts'
import { isKeyOf, type JsonValue } from '@/json/json.ts'

/** What each of the vendor's reasons means. STOP with calls is decided by who saw the calls. */
const DECODED: Readonly<Record<WireFinishReason, StopReason>> = {
  FINISH_REASON_UNSPECIFIED: 'other',
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  LANGUAGE: 'content-filter',
  OTHER: 'other',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  ESCALATION: 'content-filter',
  // The vendor has limited the account for what it was used for.
  PUP_LIMITED_DISABLED: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  IMAGE_OTHER: 'content-filter',
  NO_IMAGE: 'other',
  MALFORMED_FUNCTION_CALL: 'malformed-tool-call',
  UNEXPECTED_TOOL_CALL: 'malformed-tool-call',
  TOO_MANY_TOOL_CALLS: 'malformed-tool-call',
  MISSING_THOUGHT_SIGNATURE: 'malformed-tool-call',
  MALFORMED_RESPONSE: 'malformed-tool-call',
  // The request's own token limit, with a token to go on that only this API takes.
  CONTINUATION: 'length',
}

/** The reasons by their number in the public proto, for `enum-encoding=int`. */
const NUMBERED: readonly WireFinishReason[] = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'IMAGE_SAFETY',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_OTHER',
  'NO_IMAGE',
  'IMAGE_RECITATION',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]

/** The reason in neutral words; undefined when none is given yet (absent, empty, unspecified). */
export function decodeFinishReason(value: JsonValue | undefined): StopReason | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const name = typeof value === 'number' ? NUMBERED[value] : value
  if (name === 'FINISH_REASON_UNSPECIFIED') return undefined
  return isKeyOf(DECODED, name) ? DECODED[name] : 'other'
}

/** The reason that says none, where it is said. */
export function isVague(value: JsonValue | undefined): boolean {
  return value === 0 || value === 'FINISH_REASON_UNSPECIFIED'
}

const ENCODED: Readonly<Record<StopReason, WireFinishReason>> = {
  end: 'STOP',
  'stop-sequence': 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'content-filter': 'SAFETY',
  'prompt-blocked': 'PROHIBITED_CONTENT',
  refusal: 'SAFETY',
  pause: 'STOP',
  'malformed-tool-call': 'MALFORMED_FUNCTION_CALL',
  other: 'OTHER',
}

/**
 * The reason in the vendor's words. A refusal in words is an answer here; Anthropic's has none, but cuts off what was
 * being said (its `stop_reason: refusal` is a classifier's), and must not look like a success.
 */
export function encodeFinishReason(reason: StopReason, refusedInWords: boolean): WireFinishReason {
  return reason === 'refusal' && refusedInWords ? 'STOP' : ENCODED[reason]
}

const BLOCK_REASONS = [
  'BLOCKED_REASON_UNSPECIFIED',
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
]

/** `promptFeedback.blockReason` as a name; undefined when the prompt was not blocked. */
export function decodeBlockReason(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return value === 0 ? undefined : (BLOCK_REASONS[value] ?? 'OTHER')
  return typeof value === 'string' && value !== '' && value !== BLOCK_REASONS[0] ? value : undefined
}

/** The block reason that a finish message names, as decoding wrote it; SAFETY for other vendors' refusals. */
export function encodeBlockReason(message: string | undefined): string {
  return BLOCK_REASONS.find((reason, index) => index > 0 && message?.startsWith(reason)) ?? 'SAFETY'
}
