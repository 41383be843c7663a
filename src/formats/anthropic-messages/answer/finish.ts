import type { RefusalStopDetails, StopReason } from '@/formats/anthropic-messages/wire.ts'
import type { Finish, StopReason as NeutralStopReason } from '@/generation/response.ts'
import { asNonEmpty, asObject, asString, isKeyOf, type JsonObject, type JsonValue } from '@/json/json.ts'

const DECODED: Record<StopReason, NeutralStopReason> = {
  end_turn: 'end',
  max_tokens: 'length',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  compaction: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context-length',
}

const ENCODED: Record<NeutralStopReason, StopReason> = {
  end: 'end_turn',
  'stop-sequence': 'stop_sequence',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'content-filter': 'refusal',
  'prompt-blocked': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  'malformed-tool-call': 'end_turn',
  other: 'end_turn',
}

/** `stop_reason`, `stop_sequence` and `stop_details`, wherever they stand (message or message_delta). */
export function decodeFinish(wire: JsonObject): Finish {
  const { category, explanation } = asObject(wire['stop_details']) ?? {}
  return {
    reason: decodeReason(wire['stop_reason']),
    stopSequence: asString(wire['stop_sequence']),
    message: [asNonEmpty(category), asNonEmpty(explanation)].filter(Boolean).join(': ') || undefined,
  }
}

function decodeReason(value: JsonValue | undefined): NeutralStopReason {
  return isKeyOf(DECODED, value) ? DECODED[value] : 'other'
}

/** What of an answer's content its stop reason depends on. */
export interface Written {
  toolUse: boolean
  refusal: boolean
}

/** The stop fields of an answer that holds this content. */
export function encodeFinish(finish: Finish, written: Written): JsonObject {
  const reason = encodeReason(finish, written)
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? (finish.stopSequence ?? null) : null,
    stop_details: reason === 'refusal' ? { type: 'refusal', ...encodeMessage(finish.message) } : null,
  }
}

/** A message as decoding wrote it, or another vendor's explanation. */
function encodeMessage(message = ''): Pick<RefusalStopDetails, 'category' | 'explanation'> {
  const category = CATEGORIES.find(name => message === name || message.startsWith(`${name}: `)) ?? null
  const explanation = category === null ? message : message.slice(category.length + 2)
  return { category, explanation: explanation === '' ? null : explanation }
}

const CATEGORIES = ['cyber', 'bio', 'frontier_llm', 'reasoning_extraction', 'general_harms'] as const

/**
 * A natural end after a tool call is `tool_use` here, whatever the source called it, and the other way round: an
 * agent waits for the one and loops on the other. A stop sequence must be named, so an unknown one is a natural end.
 */
function encodeReason(finish: Finish, written: Written): StopReason {
  const named = finish.reason !== 'stop-sequence' || finish.stopSequence !== undefined
  const reason = named ? ENCODED[finish.reason] : 'end_turn'
  if (reason !== 'end_turn' && reason !== 'tool_use') return reason
  if (written.toolUse) return 'tool_use'
  return written.refusal ? 'refusal' : 'end_turn'
}
