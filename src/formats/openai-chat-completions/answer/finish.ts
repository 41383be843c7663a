import type { GatewayError } from '@/errors/gateway-error.ts'
import { brokenAnswer, errorInAnswer } from '@/formats/faults/fault.ts'
import type { FinishReason } from '@/formats/openai-chat-completions/wire.ts'
import type { Finish, StopReason } from '@/generation/response.ts'
import { asString, type JsonObject } from '@/json/json.ts'

/** What an answer holds, as far as its finish reason depends on it. */
interface AnswerFacts {
  /** It has a tool call. */
  calls: boolean
  /** One of its tool calls can be run: its arguments are whole. */
  usable: boolean
  /** It has words of refusal, told apart from text. */
  refused: boolean
}

/** OpenAI's reasons and those that compatible vendors were seen to write. */
const READ: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['length', 'length'],
  ['content_filter', 'content-filter'],
  ['eos', 'end'],
  ['eos_token', 'end'],
  ['end_turn', 'end'],
  ['complete', 'end'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-calls'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  // https://github.com/theopenco/llmgateway/pull/1682
  ['incomplete', 'length'],
  ['model_length', 'context-length'],
  ['model_context_window_exceeded', 'context-length'],
  ['safety', 'content-filter'],
  ['sensitive', 'content-filter'],
  ['refusal', 'refusal'],
  ['pause_turn', 'pause'],
  ['malformed_function_call', 'malformed-tool-call'],
])

/** The reasons of an answer that was broken off: DeepSeek's, vLLM's and SGLang's, Z.ai's, and OpenRouter's for all others. */
const BROKEN: ReadonlySet<string> = new Set([
  'insufficient_system_resource',
  'abort',
  'network_error',
  'error',
])

/** The error that a choice ended in; undefined for one that goes on, or has come to an end. */
export function decodeBreak(choice: JsonObject): GatewayError | undefined {
  const { error, finish_reason: reason } = choice
  const isError = typeof error === 'object' ? error !== null : typeof error === 'string' && error !== ''
  if (isError) return errorInAnswer({ error })
  if (typeof reason !== 'string' || !BROKEN.has(reason.toLowerCase())) return undefined
  return brokenAnswer(`The upstream broke its answer off: ${reason}`)
}

const WRITTEN = {
  end: 'stop',
  'stop-sequence': 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'context-length': 'length',
  'content-filter': 'content_filter',
  'prompt-blocked': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  'malformed-tool-call': 'stop',
  other: 'stop',
} as const satisfies Record<StopReason, FinishReason>

/** The largest `n` that OpenAI takes. */
export const MOST_CHOICES = 128

/** How a choice ends that the upstream skipped. It is there since clients take a choice's place in the list for its number. */
export const SKIPPED: Finish = { reason: 'other', stopSequence: undefined, message: undefined }

/** Reads a choice's finish. Undefined and empty reasons are those of a stream that ended by its mark alone. */
export function decodeFinish(choice: JsonObject | undefined, facts: Omit<AnswerFacts, 'usable'>): Finish {
  const said = asString(choice?.['finish_reason']) ?? ''
  const matched = asString(choice?.['stop_reason']) ?? asString(choice?.['matched_stop'])
  const reason = READ.get(said.toLowerCase()) ?? (said === '' ? 'end' : 'other')
  // vLLM and SGLang name the stop sequence that was hit, or the number of a token.
  const isSequence = reason === 'end' && matched !== undefined && matched !== ''
  return {
    reason: settle(isSequence ? 'stop-sequence' : reason, facts),
    stopSequence: isSequence ? matched : undefined,
    message: undefined,
  }
}

/**
 * The reason that fits the answer: vendors say `stop` where calls wait to be run (OpenAI itself, on a forced call),
 * and an agent told of calls that are not there runs in circles.
 */
function settle(reason: StopReason, facts: Omit<AnswerFacts, 'usable'>): StopReason {
  const isNatural = reason === 'end' || reason === 'tool-calls' || reason === 'other'
  if (!isNatural) return reason
  if (facts.calls) return 'tool-calls'
  if (reason === 'tool-calls') return 'end'
  return reason === 'end' && facts.refused ? 'refusal' : reason
}

/** Writes a finish reason. @param legacy the caller speaks of `functions`. */
export function encodeFinish(reason: StopReason, facts: AnswerFacts, legacy: boolean): FinishReason {
  if (reason === 'refusal' && facts.refused) return 'stop'
  if (reason === 'malformed-tool-call' ? facts.usable : facts.calls && WAITING.has(reason)) {
    return legacy ? 'function_call' : 'tool_calls'
  }
  const word = WRITTEN[reason]
  return word === 'tool_calls' ? 'stop' : word
}

/** The reasons that, beside a tool call, leave it waiting to be run. */
const WAITING: ReadonlySet<StopReason> = new Set(['end', 'stop-sequence', 'tool-calls', 'other'])
