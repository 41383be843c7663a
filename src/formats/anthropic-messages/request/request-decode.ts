import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Type } from '@sinclair/typebox/type'
import { GatewayError } from '@/errors/gateway-error.ts'
import { BLOCK_BINDING, FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { ModelCall } from '@/formats/codec.ts'
import { heldOutput } from '@/formats/schemas/output-format.ts'
import { assertShape, open } from '@/formats/shape.ts'
import {
  EFFORTS,
  type Effort,
  type GenerationRequest,
  type OutputFormat,
  type Reasoning,
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
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withoutNulls,
} from '@/json/json.ts'
import { decodeMessages, decodeSystem } from './message-decode.ts'
import { decodeToolChoice, decodeTools } from './tools-decode.ts'
import { turnEffort } from './turn-effort.ts'
import { unreadFieldsOf } from './unread-fields.ts'

/**
 * The fields that the gateway acts on, as far as their shape is one type. Content (string or blocks) is judged block
 * by block in message-decode.ts, so that an error names the block. Nulls are silence and taken out before.
 */
const SHAPE = TypeCompiler.Compile(
  open({
    max_tokens: Type.Integer({ minimum: 0 }),
    messages: Type.Array(open({ role: Type.String() }), { minItems: 1 }),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: Type.Optional(Type.Integer({ minimum: 0 })),
    stop_sequences: Type.Optional(Type.Array(Type.String())),
    stream: Type.Optional(Type.Boolean()),
    tools: Type.Optional(Type.Array(open({}))),
    tool_choice: Type.Optional(open({ type: Type.String() })),
    thinking: Type.Optional(open({ type: Type.String() })),
    output_config: Type.Optional(open({})),
    output_format: Type.Optional(open({})),
    metadata: Type.Optional(open({})),
    service_tier: Type.Optional(Type.String()),
  }),
)

/** Fields that `GenerationRequest` has a name for; every other one is an extension. */
const NAMED: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'system', 'temperature', 'top_p', 'top_k', 'stop_sequences'],
  ...['stream', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format', 'metadata'],
  ...['service_tier', 'thread'],
])

/** Reads a caller's request. Values of tomorrow (an unknown effort, block or tool) are no fault of the caller's. */
export function decodeRequest(wire: JsonObject, call: ModelCall): GenerationRequest {
  const body = withoutNulls(wire)
  refuseThread(body)
  assertShape(SHAPE, body)
  const messages = asArray(body['messages'])
  const tools = decodeTools(asArray(body['tools']), messages)
  const toolChoice = asObject(body['tool_choice'])
  const effort = turnEffort(messages) ?? asWord(EFFORTS, asObject(body['output_config'])?.['effort'])
  return {
    model: call.model,
    stream: call.stream,
    instructions: decodeSystem(body['system']),
    turns: decodeMessages(messages),
    tools,
    toolChoice: decodeToolChoice(toolChoice, tools),
    parallelToolCalls: inverse(asBoolean(toolChoice?.['disable_parallel_tool_use'])),
    output: decodeOutput(body),
    verbosity: undefined,
    reasoning: decodeReasoning(asObject(body['thinking']), effort),
    maxOutputTokens: asNumber(body['max_tokens']),
    temperature: asNumber(body['temperature']),
    topP: asNumber(body['top_p']),
    topK: asNumber(body['top_k']),
    // An empty one ends nothing.
    stop: asStrings(body['stop_sequences']).filter(Boolean),
    seed: undefined,
    presencePenalty: undefined,
    frequencyPenalty: undefined,
    logitBias: undefined,
    logprobs: undefined,
    candidates: undefined,
    modalities: [],
    user: asNonEmpty(asObject(body['metadata'])?.['user_id']),
    metadata: undefined,
    promptCacheKey: undefined,
    serviceTier: decodeTier(asString(body['service_tier'])),
    store: undefined,
    extensions: decodeExtensions(body),
    unread: unreadFieldsOf(body),
  }
}

/**
 * Message threads keep the history at the vendor. The SDK's tool runner tries them first and goes on with whole
 * histories when it reads exactly this answer.
 */
function refuseThread(body: JsonObject): void {
  if (body['thread'] === undefined) return
  throw new GatewayError('invalid_request', "'thread' is not supported here; send the whole conversation", {
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

function inverse(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value
}

/** `output_config.format`, or `output_format` as its beta called it. */
function decodeOutput(body: JsonObject): OutputFormat | undefined {
  const format = asObject(asObject(body['output_config'])?.['format']) ?? asObject(body['output_format'])
  const schema = asObject(format?.['schema'])
  return format?.['type'] !== 'json_schema' || schema === undefined ? undefined : heldOutput(schema)
}

function decodeReasoning(
  thinking: JsonObject | undefined,
  effort: Effort | undefined,
): Reasoning | undefined {
  if (thinking === undefined) {
    return effort === undefined ? undefined : { effort, budgetTokens: undefined, summary: undefined }
  }
  const summary = thinking['display'] === 'omitted' ? 'none' : 'auto'
  switch (thinking['type']) {
    case 'disabled':
      return { effort: 'none', budgetTokens: undefined, summary: undefined }
    case 'enabled':
      return { effort, budgetTokens: asNumber(thinking['budget_tokens']), summary }
    default:
      // adaptive, between_tools and whatever comes: the model decides how much.
      return { effort, budgetTokens: -1, summary }
  }
}

/** `standard_only` is what the others call `default`. */
function decodeTier(tier: string | undefined): string | undefined {
  return tier === 'standard_only' ? 'default' : tier
}

function decodeExtensions(body: JsonObject): GenerationRequest['extensions'] {
  const own: JsonObject = {}
  for (const [key, value] of Object.entries(body))
    if (!NAMED.has(key) && !saysNothing(key, value)) own[key] = value
  const config = body['output_config']
  if (isJsonObject(config)) {
    const { effort: _effort, format: _format, ...rest } = withoutNulls(config)
    if (Object.keys(rest).length > 0) own['output_config'] = rest
  }
  const binding = withoutNulls(asObject(asObject(body['thinking'])?.['block_binding']) ?? {})
  if (Object.keys(binding).length > 0) own[BLOCK_BINDING] = binding
  return Object.keys(own).length === 0 ? {} : { [FORMAT]: own }
}

/** Every model's speed, unless another is asked for. */
function saysNothing(key: string, value: JsonValue | undefined): boolean {
  return key === 'speed' && value === 'standard'
}
