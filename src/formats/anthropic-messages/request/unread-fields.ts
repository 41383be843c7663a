import {
  allOf,
  byType,
  list,
  object,
  oneOf,
  type Read,
  type ReadFields,
  SEARCH_SETTINGS,
  textOr,
  unreadInside,
} from '@/formats/unread-fields.ts'
import { EFFORTS } from '@/generation/request.ts'
import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { offersUnknown } from './tool-changes.ts'

const MARK: ReadFields = { cache_control: object({ type: 'string', ttl: oneOf('5m', '1h') }) }

/** Where each type of source has what it is about. */
const PLACES: ReadonlyMap<JsonValue | undefined, ReadFields> = new Map([
  ['base64', { data: 'string' }],
  ['text', { data: 'string' }],
  ['url', { url: 'string' }],
  ['file', { file_id: 'string' }],
  ['content', { content: textOr(list(readOfInner)) }],
])

function readOfSource(source: JsonValue): Read {
  if (!isJsonObject(source)) return 'object'
  return { type: 'string', media_type: 'string', ...PLACES.get(source['type']) }
}

const TEXT: ReadFields = { type: true, text: 'string', citations: list('object'), ...MARK }

const SEARCH_RESULT: ReadFields = {
  type: true,
  source: 'string',
  title: 'string',
  content: list(object({ type: 'string', text: 'string' })),
  citations: object({ enabled: enabled => enabled === false || (enabled !== true && 'boolean') }),
  ...MARK,
}

const BLOCKS: ReadFields = {
  text: TEXT,
  image: { type: true, source: readOfSource, ...MARK },
  document: {
    type: true,
    source: readOfSource,
    title: 'string',
    context: 'string',
    citations: object({ enabled: 'boolean' }),
    ...MARK,
  },
  search_result: SEARCH_RESULT,
  thinking: { type: true, thinking: 'string', signature: 'string' },
  redacted_thinking: { type: true, data: 'string' },
  tool_use: {
    type: true,
    id: true,
    name: true,
    input: true,
    caller: object({ type: oneOf('direct') }),
    ...MARK,
  },
  tool_result: {
    type: true,
    tool_use_id: true,
    content: textOr(list(readOfBlock)),
    is_error: 'boolean',
    ...MARK,
  },
  tool_addition: { type: true, tool: readOfChanged, ...MARK },
  tool_removal: { type: true, tool: readOfChanged, ...MARK },
}

/** The tool that a system message brings or takes away; one of another kind is named by its block. */
function readOfChanged(tool: JsonValue): Read {
  const type = asObject(tool)?.['type']
  if (type === 'tool_reference') return { type: true, name: 'string' }
  return type !== 'tool_definition' || { type: true, definition: readOfTool }
}

/** A block of a document of blocks. */
function readOfInner(content: JsonValue): Read {
  if (!isJsonObject(content)) return 'object'
  const { type } = content
  if (type === 'text') return { type: true, text: 'string' }
  return type === 'image' && { type: true, source: readOfSource, ...MARK }
}

function readOfBlock(block: JsonValue): Read {
  return byType(BLOCKS)(block)
}

/** Only text is read as an instruction, and not what it rests on. */
function readOfSystem(block: JsonValue): Read {
  const type = asObject(block)?.['type'] ?? 'text'
  if (type === 'search_result') return SEARCH_RESULT
  return type === 'text' ? { ...TEXT, citations: list(false) } : false
}

/** Of the vendor's own tools, what is read of any. */
const TYPED: ReadFields = {
  name: 'string',
  defer_loading: 'boolean',
  display_number: 'number',
  enable_zoom: 'boolean',
  ...SEARCH_SETTINGS,
}

/** A tool of another type is kept whole. */
function readOfTool(tool: JsonValue): Read {
  const type = asObject(tool)?.['type'] ?? 'custom'
  if (type !== 'custom' && typeof type === 'string') return { ...allOf(tool), ...TYPED }
  return {
    type: 'string',
    name: true,
    description: 'string',
    input_schema: readOfSchema,
    strict: 'boolean',
    allowed_callers: list(oneOf('direct')),
    // Deferred tools are sent at once, and input streams as it comes.
    defer_loading: 'boolean',
    eager_input_streaming: 'boolean',
    ...MARK,
  }
}

/** A tool's input is an object; what else its schema says is kept as it is. */
function readOfSchema(schema: JsonValue): Read {
  if (!isJsonObject(schema)) return 'object'
  const type = textOr(list('string'))
  return { ...allOf(schema), type, properties: 'object', required: list('string') }
}

/** An answer of any other format than a JSON schema is not asked for. */
function readOfFormat(format: JsonValue): Read {
  const { type, schema = null } = asObject(format) ?? {}
  return type === 'json_schema' && schema !== null && { type: true, schema: 'object' }
}

const MESSAGE: ReadFields = {
  role: true,
  content: textOr(list(readOfBlock)),
  clear_at: oneOf('never', 'next_user_message'),
}
const SYSTEM_MESSAGE: ReadFields = { ...MESSAGE, output_config: { effort: oneOf(...EFFORTS) } }

function readOfMessage(message: JsonValue): Read {
  return asObject(message)?.['role'] === 'system' ? SYSTEM_MESSAGE : MESSAGE
}

const INSIDE: ReadFields = {
  // Plain text needs no block.
  system: textOr(list(readOfSystem)),
  messages: list(readOfMessage),
  tools: list(readOfTool),
  tool_choice: { type: true, name: true, disable_parallel_tool_use: 'boolean' },
  thinking: {
    type: true,
    budget_tokens: 'number',
    display: oneOf('summarized', 'omitted'),
    block_binding: 'object',
  },
  metadata: { user_id: 'string' },
  output_format: readOfFormat,
}

/** What fields within others say that no other format is told. */
export function unreadFieldsOf(body: JsonObject): string[] {
  const inside = { effort: oneOf(...EFFORTS), format: readOfFormat }
  return [
    ...unreadInside(body, INSIDE),
    ...unreadInside(asObject(body['output_config']), inside, 'output_config'),
    ...(offersUnknown(asArray(body['tools']), asArray(body['messages'])) ? ['tool_addition'] : []),
  ]
}
