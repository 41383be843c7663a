import { openaiTier } from '@/formats/openai/shared-fields.ts'
import { asArray, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** The keys of a response object that repeat the caller's request, with the documented default of each. */
const ECHOED = {
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  prompt_cache_retention: null,
  safety_identifier: null,
  service_tier: 'default',
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
} as const satisfies JsonObject

/** What a response says about the request. Strict readers want every key, said or not. */
export function echo(wire: JsonObject): JsonObject {
  const echoed: JsonObject = {}
  for (const [key, fallback] of Object.entries(ECHOED)) echoed[key] = wire[key] ?? fallback
  // Asking for `auto` leaves the tier to the vendor, whose answer is never `auto`.
  if (echoed['service_tier'] === 'auto') echoed['service_tier'] = 'default'
  return {
    ...echoed,
    // Whom a vendor lets do more is the vendor's affair.
    access_programs: null,
    frequency_penalty: 0,
    presence_penalty: 0,
    reasoning: { effort: null, summary: null, ...asObject(wire['reasoning']) },
    // Nothing is kept here, whatever was asked.
    store: false,
    text: { verbosity: 'medium', ...asObject(wire['text']), format: echoFormat(wire['text']) },
    tools: asArray(wire['tools']).map(echoTool),
  }
}

function echoFormat(text: JsonValue | undefined): JsonObject {
  const format = asObject(asObject(text)?.['format'])
  if (format === undefined) return { type: 'text' }
  return format['type'] === 'json_schema' ? { description: null, strict: false, ...format } : format
}

function echoTool(value: JsonValue): JsonValue {
  const tool = asObject(value)
  if (tool === undefined || tool['type'] !== 'function') return value
  return { description: null, parameters: null, ...tool, strict: tool['strict'] ?? true }
}

/** What a response says about itself and its answer. */
export interface ReplyState {
  id: string
  model: string
  createdAt: number
  status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed'
  incompleteReason: string | null
  error: JsonObject | null
  output: JsonObject[]
  usage: JsonObject | null
  serviceTier: string | undefined
}

/** The response object, without what it repeats of the request. */
export function responseState(state: ReplyState): JsonObject {
  return {
    id: state.id,
    object: 'response',
    created_at: state.createdAt,
    completed_at: state.status === 'completed' ? state.createdAt : null,
    status: state.status,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    model: state.model,
    output: state.output,
    usage: state.usage,
    ...openaiTier(state.serviceTier),
  }
}

/** What it says when it begins. */
export const BEGUN = {
  status: 'in_progress',
  incompleteReason: null,
  error: null,
  usage: null,
  serviceTier: undefined,
} as const satisfies Partial<ReplyState>

/** A response object without any output; `wire` is the request that it repeats, if that is known. */
export function emptyResponse(
  id: string,
  model: string,
  { wire = {}, ...known }: Partial<ReplyState> & { wire?: JsonObject } = {},
): JsonObject {
  return { ...echo(wire), ...responseState({ ...BEGUN, id, model, createdAt: 0, output: [], ...known }) }
}
