import { byType, oneOf, type Read, type ReadFields, unreadInside } from '@/formats/unsaid.ts'
import { EFFORTS } from '@/generation/request.ts'
import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

const MARK: ReadFields = { cache_control: { type: true, ttl: oneOf('5m', '1h') } }

const SOURCE: ReadFields = { type: true, media_type: true, data: true, url: true, file_id: true }

const TEXT: ReadFields = { type: true, text: true, citations: true, ...MARK }

const SEARCH_RESULT: ReadFields = {
  type: true,
  source: true,
  title: true,
  content: { type: true, text: true },
  citations: { enabled: oneOf(false) },
  ...MARK,
}

const BLOCKS: ReadFields = {
  text: TEXT,
  image: { type: true, source: SOURCE, ...MARK },
  document: {
    type: true,
    source: { ...SOURCE, content: { type: true, text: true, source: SOURCE } },
    title: true,
    context: true,
    citations: { enabled: true },
    ...MARK,
  },
  search_result: SEARCH_RESULT,
  thinking: { type: true, thinking: true, signature: true },
  redacted_thinking: { type: true, data: true },
  tool_use: { type: true, id: true, name: true, input: true, caller: { type: oneOf('direct') }, ...MARK },
  tool_result: { type: true, tool_use_id: true, content: readOfBlock, is_error: true, ...MARK },
}

function readOfBlock(block: JsonValue): Read {
  return byType(BLOCKS)(block)
}

/** Only text is read as an instruction, and not what it rests on. */
function readOfSystem(block: JsonValue): Read {
  const type = asObject(block)?.['type'] ?? 'text'
  if (type === 'search_result') return SEARCH_RESULT
  return type === 'text' ? { ...TEXT, citations: () => false } : false
}

/** A tool of another type is kept whole. */
function readOfTool(tool: JsonValue): Read {
  if ((asObject(tool)?.['type'] ?? 'custom') !== 'custom') return true
  return {
    type: true,
    name: true,
    description: true,
    input_schema: true,
    strict: true,
    allowed_callers: oneOf('direct'),
    // Deferred tools are sent at once, and input streams as it comes.
    defer_loading: true,
    eager_input_streaming: true,
    ...MARK,
  }
}

/** An answer of any other format than a JSON schema is not asked for. */
function readOfFormat(format: JsonValue): Read {
  const { type, schema } = asObject(format) ?? {}
  return type === 'json_schema' && asObject(schema) !== undefined && { type: true, schema: true }
}

const INSIDE: ReadFields = {
  // Plain text needs no block.
  system: system => typeof system === 'string' || readOfSystem(system),
  messages: { role: true, content: readOfBlock, clear_at: oneOf('never', 'next_user_message') },
  tools: readOfTool,
  tool_choice: { type: true, name: true, disable_parallel_tool_use: true },
  thinking: { type: true, budget_tokens: true, display: oneOf('summarized', 'omitted') },
  metadata: { user_id: true },
  output_format: readOfFormat,
}

/** What fields within others say that no other format is told. */
export function unsaidFields(body: JsonObject): string[] {
  const inside = { effort: oneOf(...EFFORTS), format: readOfFormat }
  return [
    ...unreadInside(body, INSIDE),
    ...unreadInside(asObject(body['output_config']), inside, 'output_config'),
  ]
}
