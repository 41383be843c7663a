import { allOf, byType, object, oneOf, type Read, type ReadFields, unreadInside } from '@/formats/unsaid.ts'
import { IMAGE_DETAILS } from '@/generation/part.ts'
import { SUMMARIES, VERBOSITIES } from '@/generation/request.ts'
import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

const MARK: ReadFields = {
  prompt_cache_breakpoint: object({ mode: oneOf('explicit'), ttl: oneOf('30m', '12h') }),
}

/** What the model said of its text is no wish of the caller's. */
const TEXT: ReadFields = { type: true, text: 'string', annotations: () => 'object', logprobs: true, ...MARK }

const IMAGE: ReadFields = {
  type: true,
  image_url: 'string',
  file_id: 'string',
  detail: oneOf(...IMAGE_DETAILS),
  ...MARK,
}

const readOfPart = byType({
  input_text: TEXT,
  output_text: TEXT,
  text: TEXT,
  refusal: { type: true, refusal: 'string' },
  input_image: IMAGE,
  computer_screenshot: IMAGE,
  input_file: {
    type: true,
    file_data: 'string',
    file_url: 'string',
    file_id: 'string',
    filename: 'string',
    ...MARK,
  },
  input_audio: {
    type: true,
    input_audio: object({ data: 'string', format: 'string' }),
    data: 'string',
    format: 'string',
  },
})

/** Text, parts, or what a shell wrote. */
function readOfOutput(output: JsonValue): Read {
  return typeof output === 'string' || (isJsonObject(output) ? readOfPart(output) : 'string')
}

/** How far an item came, and who made it, is known to whoever reads the conversation. */
const ITEM: ReadFields = { type: true, id: true, status: true, created_by: true }
const CALL: ReadFields = { ...ITEM, call_id: 'string', caller: { type: oneOf('direct') } }
const NAMED_CALL: ReadFields = { ...CALL, name: true, namespace: 'string' }
const OUTPUT: ReadFields = { ...CALL, name: true, output: readOfOutput }

const MESSAGE: ReadFields = { ...ITEM, role: true, phase: true, content: readOfPart }

/** Of a system message only its text is read. */
const SYSTEM_MESSAGE: ReadFields = {
  ...MESSAGE,
  content: part => typeof part === 'string' || (asObject(part)?.['text'] !== undefined && readOfPart(part)),
}

const ITEMS: ReadFields = {
  message: MESSAGE,
  function_call: { ...NAMED_CALL, arguments: true },
  function_call_output: OUTPUT,
  custom_tool_call: { ...NAMED_CALL, input: true },
  custom_tool_call_output: OUTPUT,
  local_shell_call: { ...CALL, action: true },
  local_shell_call_output: OUTPUT,
  shell_call: { ...CALL, action: true, environment: true },
  shell_call_output: { ...OUTPUT, max_output_length: true },
  apply_patch_call: { ...CALL, operation: true },
  apply_patch_call_output: OUTPUT,
  computer_call: { ...CALL, action: true, actions: true, pending_safety_checks: () => false },
  computer_call_output: { ...OUTPUT, acknowledged_safety_checks: () => false },
  tool_search_call: { ...CALL, execution: true, arguments: true },
  tool_search_output: { ...CALL, execution: true, tools: readOfTool },
  additional_tools: { ...ITEM, role: true, tools: readOfTool },
}

function readOfItem(item: JsonValue): Read {
  const { type, role } = asObject(item) ?? {}
  if (type === 'reasoning') return readOfReasoning(asObject(item) ?? {})
  const isMessage = type === undefined || type === 'message'
  if (isMessage && (role === 'system' || role === 'developer')) return SYSTEM_MESSAGE
  return byType(ITEMS)(type === undefined && role !== undefined ? { type: 'message' } : item)
}

/** Where there is raw text the summary is not read (items.ts). */
function readOfReasoning({ content }: JsonObject): ReadFields {
  const texts = object({ type: true, text: 'string' })
  const summary = asArray(content).length > 0 ? () => false : texts
  return { ...ITEM, encrypted_content: 'string', content: texts, summary }
}

/** Deferred tools are sent at once, which needs no word. */
const TOOL: ReadFields = { type: true, name: true, description: 'string', defer_loading: true }

const SEARCH: ReadFields = {
  filters: filters =>
    isJsonObject(filters) ? { ...allOf(filters), allowed_domains: () => 'string' } : 'object',
  user_location: 'object',
  search_context_size: 'string',
}

/** A tool of another type is kept whole; a group's need not say theirs. */
function readOfTool(tool: JsonValue): Read {
  if (!isJsonObject(tool)) return 'object'
  switch (tool['type'] ?? 'function') {
    case 'function':
      return { ...TOOL, parameters: 'object', strict: 'boolean' }
    case 'custom':
      return { ...TOOL, format: object({ type: true, syntax: oneOf('lark', 'regex'), definition: 'string' }) }
    case 'namespace':
      return { ...TOOL, tools: readOfTool }
    case 'web_search':
    case 'web_search_preview':
      return { ...allOf(tool), ...SEARCH }
    default:
      return true
  }
}

const NAMED: ReadFields = { type: true, name: true, namespace: true, server_label: true }

const INSIDE: ReadFields = {
  input: readOfItem,
  instructions: readOfItem,
  tools: readOfTool,
  tool_choice: { ...NAMED, mode: true, tools: NAMED },
}

/** What fields within others say that no other format is told. */
export function unsaidFields(body: JsonObject): string[] {
  const summary = oneOf(...SUMMARIES)
  const format = object({
    type: true,
    name: 'string',
    description: 'string',
    schema: true,
    strict: 'boolean',
  })
  const { user, safety_identifier: person } = body
  return [
    ...unreadInside(body, INSIDE),
    ...unreadInside(asObject(body['text']), { format, verbosity: oneOf(...VERBOSITIES) }, 'text'),
    ...unreadInside(asObject(body['reasoning']), { summary, generate_summary: summary }, 'reasoning'),
    ...(typeof user === 'string' && typeof person === 'string' && user !== person ? ['user'] : []),
  ]
}
