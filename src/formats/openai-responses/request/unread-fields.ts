import {
  allOf,
  byType,
  firstOf,
  list,
  object,
  oneOf,
  type Read,
  type ReadFields,
  SEARCH_SETTINGS,
  textOr,
  unreadInside,
} from '@/formats/unread-fields.ts'
import { IMAGE_DETAILS } from '@/generation/part.ts'
import { EFFORTS, SUMMARIES, VERBOSITIES } from '@/generation/request.ts'
import { asArray, asNonEmpty, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

const MARK: ReadFields = {
  prompt_cache_breakpoint: object({ mode: oneOf('explicit'), ttl: oneOf('30m', '12h') }),
}

/** What the model said of its text is no wish of the caller's. */
const TEXT: ReadFields = {
  type: true,
  text: 'string',
  annotations: list('object'),
  logprobs: 'array',
  ...MARK,
}

function readOfInputImage(image: JsonValue): ReadFields {
  const source = firstOf(image, ['image_url', 'file_id'])
  return { type: true, ...source, detail: oneOf(...IMAGE_DETAILS), ...MARK }
}

function readOfFile(file: JsonValue): ReadFields {
  const source = firstOf(file, ['file_data', 'file_url', 'file_id'])
  return { type: true, ...source, filename: 'string', ...MARK }
}

const readOfPart = byType({
  input_text: TEXT,
  output_text: TEXT,
  text: TEXT,
  refusal: { type: true, refusal: 'string' },
  input_image: readOfInputImage,
  computer_screenshot: readOfInputImage,
  input_file: readOfFile,
  input_audio: {
    type: true,
    input_audio: object({ data: 'string', format: 'string' }),
    data: 'string',
    format: 'string',
  },
})

/** Text, or a part; one or several of them. */
function readOfOutput(output: JsonValue): Read {
  if (Array.isArray(output)) return list(readOfOutput)
  return isJsonObject(output) ? readOfPart(output) : 'string'
}

/** What a shell wrote of each command, or one text. */
function readOfShell(output: JsonValue): Read {
  if (Array.isArray(output)) return list(readOfShell)
  return isJsonObject(output) && output['type'] === undefined ? SHELL : readOfOutput(output)
}

const SHELL: ReadFields = {
  stdout: 'string',
  stderr: 'string',
  outcome: object({ type: 'string', exit_code: 'number' }),
  created_by: true,
}

/** How far an item came, and who made it, is known to whoever reads the conversation. */
const ITEM: ReadFields = { type: 'string', id: 'string', status: 'string', created_by: true }
const CALL: ReadFields = { ...ITEM, call_id: 'string', caller: object({ type: oneOf('direct') }) }
const NAMED_CALL: ReadFields = { ...CALL, name: true, namespace: 'string' }
/** Whose result it is says its call. */
const OUTPUT: ReadFields = { ...CALL, name: 'string', namespace: 'string', output: readOfOutput }

const MESSAGE: ReadFields = { ...ITEM, role: true, phase: 'string', content: textOr(list(readOfPart)) }

/** Of a system message only its text is read. */
const SYSTEM_MESSAGE: ReadFields = {
  ...MESSAGE,
  content: textOr(list(part => asObject(part)?.['text'] !== undefined && readOfPart(part))),
}

const OUTPUT_FORMAT = object({
  type: true,
  name: 'string',
  description: 'string',
  schema: true,
  strict: 'boolean',
})

const ITEMS: ReadFields = {
  message: MESSAGE,
  function_call: { ...NAMED_CALL, arguments: true },
  function_call_output: OUTPUT,
  custom_tool_call: { ...NAMED_CALL, input: true },
  custom_tool_call_output: OUTPUT,
  local_shell_call: { ...CALL, action: readOfAction },
  local_shell_call_output: OUTPUT,
  shell_call: { ...CALL, action: true, environment: object({ type: oneOf('local') }) },
  shell_call_output: { ...OUTPUT, output: readOfShell, max_output_length: 'number' },
  apply_patch_call: { ...CALL, operation: true },
  apply_patch_call_output: OUTPUT,
  computer_call: { ...CALL, action: true, actions: true, pending_safety_checks: list(false) },
  computer_call_output: { ...OUTPUT, acknowledged_safety_checks: list(false) },
  tool_search_call: { ...CALL, execution: 'string', arguments: true },
  tool_search_output: { ...CALL, execution: 'string', tools: list(readOfTool) },
  additional_tools: { ...ITEM, role: 'string', tools: list(readOfTool) },
  image_generation_call: readOfImage,
  configuration_update: {
    ...ITEM,
    reasoning: object({ effort: oneOf(...EFFORTS) }),
    text: object({ format: OUTPUT_FORMAT }),
  },
}

/** Of an image only itself is told; a call that has none is kept whole. */
function readOfImage(item: JsonValue): Read {
  const { result } = asObject(item) ?? {}
  return asNonEmpty(result) === undefined || { ...ITEM, result: true, output_format: 'string' }
}

/** Where it runs is kept whole. */
function readOfAction(action: JsonValue): Read {
  return { ...allOf(action), type: 'string', env: 'object' }
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
  const texts = list(object({ type: 'string', text: 'string' }))
  const summary = asArray(content).length > 0 ? list(false) : texts
  return { ...ITEM, encrypted_content: 'string', content: texts, summary }
}

/** Deferred tools are sent at once, which needs no word. */
const TOOL: ReadFields = { type: true, name: true, description: 'string', defer_loading: 'boolean' }

const CLIENT: ReadFields = {
  description: 'string',
  parameters: 'object',
  execution: 'string',
  // It says whose shell it is.
  environment: place => (isJsonObject(place) ? { ...allOf(place), type: 'string' } : 'object'),
}

/** A tool of another type is kept whole; a group's need not say theirs. */
function readOfTool(tool: JsonValue): Read {
  if (!isJsonObject(tool)) return 'object'
  switch (tool['type'] ?? 'function') {
    case 'function':
      return { ...TOOL, parameters: 'object', strict: 'boolean' }
    case 'custom':
      return {
        ...TOOL,
        format: object({ type: 'string', syntax: oneOf('lark', 'regex'), definition: 'string' }),
      }
    case 'namespace':
      return { ...TOOL, tools: list(readOfTool) }
    case 'web_search':
    case 'web_search_preview':
      return { ...allOf(tool), ...SEARCH_SETTINGS }
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
    case 'tool_search':
      return { ...allOf(tool), ...CLIENT }
    default:
      return true
  }
}

const NAMED: ReadFields = { type: true, name: true, namespace: true, server_label: true }

const INSIDE: ReadFields = {
  input: textOr(list(readOfItem)),
  instructions: textOr(list(readOfItem)),
  tools: list(readOfTool),
  tool_choice: { ...NAMED, mode: 'string', tools: list(object(NAMED)) },
  stream_options: options =>
    isJsonObject(options) ? { ...allOf(options), include_obfuscation: 'boolean' } : 'object',
}

/** What fields within others say that no other format is told. */
export function unreadFieldsOf(body: JsonObject): string[] {
  const summary = oneOf(...SUMMARIES)
  return [
    ...unreadInside(body, INSIDE),
    ...unreadInside(
      asObject(body['text']),
      { format: OUTPUT_FORMAT, verbosity: oneOf(...VERBOSITIES) },
      'text',
    ),
    ...unreadInside(asObject(body['reasoning']), { summary, generate_summary: summary }, 'reasoning'),
  ]
}
