import type { ModelCall } from '@/formats/codec.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { decodeMetadata, endUser, olderUser, sharedHints } from '@/formats/openai/shared-fields.ts'
import { cacheMark } from '@/formats/openai-chat-completions/content-decode.ts'
import {
  decodeToolChoice,
  decodeTools,
  isLegacyRequest,
} from '@/formats/openai-chat-completions/tools-decode.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { schemaOutput } from '@/formats/schemas/output-format.ts'
import { assertShape } from '@/formats/shape.ts'
import {
  EFFORTS,
  type GenerationRequest,
  MODALITIES,
  type OutputFormat,
  type Reasoning,
  SUMMARIES,
  VERBOSITIES,
} from '@/generation/request.ts'
import {
  asArray,
  asBoolean,
  asNonEmpty,
  asNumber,
  asObject,
  asString,
  asStrings,
  asWord,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { decodeMessages } from './message-decode.ts'
import { REQUEST } from './request-schema.ts'
import { thinkingSwitch } from './thinking-switch.ts'
import { unreadFieldsOf } from './unread-fields.ts'

/**
 * Reads a request. Legacy `functions` become tools; fields that the neutral model has no word for are extensions.
 * @throws GatewayError `invalid_request`
 */
export function decodeRequest(body: JsonObject, call: ModelCall): GenerationRequest {
  assertShape(REQUEST, body)
  const isLegacy = isLegacyRequest(body)
  return {
    model: call.model,
    stream: call.stream,
    // OpenRouter's: https://openrouter.ai/docs/client-sdks/typescript/models/anthropiccachecontroldirective
    ...decodeMessages(asArray(body['messages']), cacheMark({ cache_control: body['cache_control'] })),
    tools: decodeTools(body),
    toolChoice: decodeToolChoice(body),
    // The legacy shape has room for one call an answer.
    parallelToolCalls: isLegacy ? false : asBoolean(body['parallel_tool_calls']),
    output: decodeOutput(asObject(body['response_format'])),
    verbosity: asWord(VERBOSITIES, body['verbosity']),
    reasoning: decodeReasoning(body),
    maxOutputTokens: asNumber(body['max_completion_tokens']) ?? asNumber(body['max_tokens']),
    temperature: asNumber(body['temperature']),
    topP: asNumber(body['top_p']),
    topK: asNumber(body['top_k']),
    // An empty one ends nothing.
    stop: (typeof body['stop'] === 'string' ? [body['stop']] : asStrings(body['stop'])).filter(Boolean),
    seed: asNumber(body['seed']),
    presencePenalty: asNumber(body['presence_penalty']),
    frequencyPenalty: asNumber(body['frequency_penalty']),
    logitBias: decodeLogitBias(asObject(body['logit_bias'])),
    logprobs: body['logprobs'] === true ? { top: asNumber(body['top_logprobs']) } : undefined,
    candidates: asNumber(body['n']),
    modalities: asArray(body['modalities']).flatMap(kind => asWord(MODALITIES, kind) ?? []),
    user: endUser(body),
    metadata: decodeMetadata(body),
    promptCacheKey: asNonEmpty(body['prompt_cache_key']),
    serviceTier: asString(body['service_tier']),
    store: asBoolean(body['store']),
    extensions: decodeExtensions(body),
    unread: unreadFieldsOf(body),
  }
}

function decodeOutput(format: JsonObject | undefined): OutputFormat | undefined {
  switch (format?.['type']) {
    case undefined:
      return undefined
    case 'text':
      return { type: 'text' }
    case 'json_object': {
      // Together, Fireworks and llama.cpp, and clients made for them, have the schema beside the type.
      const schema = asObject(format['schema'])
      return schema === undefined ? { type: 'json' } : schemaOutput(schema, {})
    }
    case 'json_schema': {
      const definition = asObject(format['json_schema'])
      if (definition === undefined) throw invalidRequest('response_format.json_schema', 'required')
      return schemaOutput(asObject(definition['schema']) ?? {}, definition)
    }
    default:
      throw invalidRequest('response_format.type', "expected 'text', 'json_object' or 'json_schema'")
  }
}

/**
 * `reasoning_effort`, or OpenRouter's `reasoning` with effort or budget, and with a wish not to see it, or a switch of
 * thinking. Whoever asks for thinking is shown it: the vendors of this format that have thoughts do so unasked.
 */
function decodeReasoning(body: JsonObject): Reasoning | undefined {
  const wide = asObject(body['reasoning'])
  const { word, fields } = thinkingSwitch(body) ?? {}
  const budget = asNumber(wide?.['max_tokens'] ?? fields?.['budget_tokens'])
  const isOn = wide?.['enabled'] === true || word === 'enabled'
  const effort =
    // The efforts beside a switch are those of thinking that is on.
    (word === 'disabled' ? 'none' : undefined) ??
    asWord(EFFORTS, body['reasoning_effort']) ??
    asWord(EFFORTS, wide?.['effort']) ??
    (wide?.['enabled'] === false ? 'none' : undefined) ??
    (isOn && budget === undefined ? 'medium' : undefined)
  const isOpen = effort === undefined && (word === 'auto' || word === 'adaptive')
  const budgetTokens = budget ?? (isOpen ? -1 : undefined)
  const hidden = wide?.['exclude'] === true
  const summary = asWord(SUMMARIES, wide?.['summary'])
  if (effort === undefined && budgetTokens === undefined && !hidden && summary === undefined) return undefined
  const shown = effort === 'none' ? undefined : (summary ?? 'auto')
  return { effort, budgetTokens, summary: hidden ? 'none' : shown }
}

function decodeLogitBias(bias: JsonObject | undefined): Record<string, number> | undefined {
  if (bias === undefined || Object.keys(bias).length === 0) return undefined
  return Object.fromEntries(Object.entries(bias).map(([token, weight]) => [token, asNumber(weight) ?? 0]))
}

/** The fields that are read above or that speak of the reply only; every other one is an extension. */
const NAMED: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['functions', 'function_call', 'response_format', 'verbosity', 'reasoning_effort', 'reasoning'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'stop', 'seed'],
  ...['presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'n', 'modalities'],
  ...['safety_identifier', 'metadata', 'prompt_cache_key', 'service_tier', 'store', 'web_search_options'],
  'cache_control',
])

function decodeExtensions(body: JsonObject): GenerationRequest['extensions'] {
  const unknown = Object.entries(body).filter(
    ([name, value]) => value !== null && !isKnown(name, value, body),
  )
  return {
    ...(unknown.length > 0 && { [FORMAT]: Object.fromEntries(unknown) }),
    ...sharedHints(body, 'openai-responses'),
  }
}

/** OpenRouter's wish for a usage, which the gateway fulfils itself (reply.ts). */
function asksForUsageAlone(value: JsonValue | undefined): boolean {
  const { include, ...others } = asObject(value) ?? {}
  return asBoolean(include) !== undefined && Object.keys(others).length === 0
}

/** A word that a vendor added to one of these is that vendor's to understand. */
function isKnown(name: string, value: JsonValue | undefined, body: JsonObject): boolean {
  if (name === 'reasoning_effort') return asWord(EFFORTS, value) !== undefined
  if (name === 'verbosity') return asWord(VERBOSITIES, value) !== undefined
  if (name === 'thinking') return thinkingSwitch(body) !== undefined
  if (name === 'user') return olderUser(body) === undefined
  if (name === 'usage') return asksForUsageAlone(value)
  return NAMED.has(name)
}
