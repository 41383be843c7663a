import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Type } from '@sinclair/typebox/type'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { ModelCall } from '@/formats/codec.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { decodeMetadata, endUser, olderUser, sharedHints } from '@/formats/openai/shared-fields.ts'
import { ENCRYPTED, FORMAT, LOGPROBS } from '@/formats/openai-responses/wire.ts'
import { schemaOutput } from '@/formats/schemas/output-format.ts'
import { assertShape, open } from '@/formats/shape.ts'
import { textPart } from '@/generation/part.ts'
import {
  EFFORTS,
  type GenerationRequest,
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
  asWord,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withoutNulls,
} from '@/json/json.ts'
import { configurationOf } from './configuration.ts'
import { decodeInput } from './input.ts'
import { decodeToolChoice } from './tool-choice.ts'
import { decodeTools } from './tools.ts'
import { unreadFieldsOf } from './unread-fields.ts'

const text = Type.Optional(Type.String())
const flag = Type.Optional(Type.Boolean())
const object = Type.Optional(open({}))

/** A field that is null is a field that is not there, so nulls are taken out before a body is held to this. */
const SHAPE = TypeCompiler.Compile(
  open({
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    parallel_tool_calls: flag,
    store: flag,
    stream: flag,
    background: flag,
    tools: Type.Optional(Type.Array(open({}))),
    text: object,
    reasoning: object,
    metadata: object,
    include: Type.Optional(Type.Array(Type.String())),
    user: text,
    safety_identifier: text,
    prompt_cache_key: text,
    service_tier: text,
    previous_response_id: text,
  }),
)

/** Reads a Responses request. Throws as `Codec.decodeRequest` says. */
export function decodeRequest(body: JsonObject, call: ModelCall): GenerationRequest {
  assertShape(SHAPE, withoutNulls(body))
  refuseServerState(body)
  assertItems(body['input'], 'input')
  const input = decodeInput(body['input'], 'input')
  const own = decodeInstructions(body)
  const tools = [...decodeTools(body['tools'], 'tools'), ...input.tools]
  const { reasoning, text: config } = configurationOf(body)
  return {
    model: call.model,
    stream: call.stream,
    instructions: [...own.instructions, ...input.instructions],
    turns: [...own.turns, ...input.turns],
    tools,
    toolChoice: decodeToolChoice(body['tool_choice'], tools),
    parallelToolCalls: asBoolean(body['parallel_tool_calls']),
    output: decodeFormat(config),
    verbosity: asWord(VERBOSITIES, config?.['verbosity']),
    reasoning: decodeReasoningRequest(reasoning),
    maxOutputTokens: asNumber(body['max_output_tokens']),
    temperature: asNumber(body['temperature']),
    topP: asNumber(body['top_p']),
    topK: undefined,
    stop: [],
    seed: undefined,
    presencePenalty: undefined,
    frequencyPenalty: undefined,
    logitBias: undefined,
    logprobs: decodeLogprobs(body),
    candidates: undefined,
    modalities: [],
    user: endUser(body),
    metadata: decodeMetadata(body),
    promptCacheKey: asNonEmpty(body['prompt_cache_key']),
    serviceTier: asString(body['service_tier']),
    store: asBoolean(body['store']),
    extensions: {
      [FORMAT]: decodeExtensions(body),
      ...sharedHints(body, 'openai-chat-completions'),
    },
    unread: unreadFieldsOf(body),
  }
}

/** Text or a list of objects; a schema's union could not say which of its items is wrong. */
function assertItems(wire: JsonValue | undefined, path: string): void {
  if (typeof wire === 'string') return
  if (!Array.isArray(wire)) throw invalidRequest(path, 'expected string or array')
  const wrong = wire.findIndex(item => !isJsonObject(item))
  if (wrong >= 0) throw invalidRequest(`${path}[${wrong}]`, 'expected object')
}

/** Refuses what only a server with the caller's earlier answers could do. */
function refuseServerState(body: JsonObject): void {
  const previous = body['previous_response_id']
  if (previous !== undefined && previous !== null) {
    throw new GatewayError(
      'previous_response_not_found',
      'No response is stored here under the given previous_response_id: send the whole conversation as input',
      { param: 'previous_response_id' },
    )
  }
  if (body['background'] === true) {
    throw unsupported('background', 'is not supported: responses are not stored here')
  }
  for (const field of ['conversation', 'prompt']) {
    if (body[field] !== undefined && body[field] !== null) {
      throw unsupported(field, 'refers to state that is not stored here: send the items themselves')
    }
  }
}

/** `instructions`: text, or (in the echo of a stored answer) a list of items. */
function decodeInstructions(body: JsonObject): Pick<GenerationRequest, 'instructions' | 'turns'> {
  const wire = body['instructions']
  if (wire === undefined || wire === null) return { instructions: [], turns: [] }
  assertItems(wire, 'instructions')
  if (typeof wire !== 'string') return decodeInput(wire, 'instructions')
  return { instructions: wire === '' ? [] : [textPart(wire)], turns: [] }
}

function decodeFormat(config: JsonObject | undefined): OutputFormat | undefined {
  const format = asObject(config?.['format'])
  if (format === undefined) return undefined
  switch (format['type']) {
    case 'text':
      return { type: 'text' }
    case 'json_object':
      return { type: 'json' }
    case 'json_schema': {
      const schema = asObject(format['schema'])
      if (schema === undefined) throw invalidRequest('text.format.schema', 'expected object')
      return schemaOutput(schema, format)
    }
    default:
      throw invalidRequest('text.format.type', 'expected text, json_object or json_schema')
  }
}

function decodeReasoningRequest(wire: JsonObject | undefined): Reasoning | undefined {
  if (wire === undefined) return undefined
  return {
    effort: asWord(EFFORTS, wire['effort']),
    budgetTokens: undefined,
    summary: asWord(SUMMARIES, wire['summary'] ?? wire['generate_summary']),
  }
}

function decodeLogprobs(body: JsonObject): GenerationRequest['logprobs'] {
  const top = asNumber(body['top_logprobs'])
  if (!asArray(body['include']).includes(LOGPROBS) && (top === undefined || top === 0)) return undefined
  return { top }
}

/**
 * Fields with a neutral name, and three that are no wish about the answer: `stream_options` pads the stream,
 * `background` is refused unless false, `client_metadata` (Codex) describes the caller's machine and stays here.
 */
const NAMED: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'stream', 'stream_options', 'background', 'client_metadata'],
  ...['previous_response_id', 'conversation', 'prompt', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['text', 'reasoning', 'include', 'max_output_tokens', 'temperature', 'top_p', 'top_logprobs'],
  ...['user', 'safety_identifier', 'metadata', 'prompt_cache_key', 'service_tier', 'store'],
])

/** What has no neutral name. A field inside `reasoning` or `text` is keyed with a dot, as `reasoning.context`. */
function decodeExtensions(body: JsonObject): JsonObject {
  // As entries, for a key may be `__proto__`.
  const extensions: [string, JsonValue | undefined][] = Object.entries(body).filter(
    ([key, value]) => !NAMED.has(key) && !saysNothing(key, value),
  )
  for (const [key, value] of Object.entries(asObject(body['reasoning']) ?? {})) {
    const read =
      key === 'summary' || key === 'generate_summary' || (key === 'effort' && asWord(EFFORTS, value))
    if (value !== null && !read) extensions.push([`reasoning.${key}`, value])
  }
  for (const [key, value] of Object.entries(asObject(body['text']) ?? {})) {
    if (value !== null && key !== 'format' && key !== 'verbosity') extensions.push([`text.${key}`, value])
  }
  const include = asArray(body['include']).filter(entry => entry !== ENCRYPTED && entry !== LOGPROBS)
  if (include.length > 0) extensions.push(['include', include])
  const older = olderUser(body)
  if (older !== undefined) extensions.push(['user', older])
  return Object.fromEntries(extensions)
}

/** Cursor sends `messages` beside the input, with nothing in it. */
function saysNothing(key: string, value: JsonValue | undefined): boolean {
  if (key === 'truncation') return value === null || value === 'disabled'
  return value === null || (key === 'messages' && Array.isArray(value) && value.length === 0)
}
