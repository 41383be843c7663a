import { asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'
import {
  readContent,
  refuseOpenai,
  refuseType,
  requireArray,
  requireKind,
  requireObjects,
  requireOpenaiName,
  requireString,
} from '@/simulator/openai/validate.ts'
import { addMedium, addText, type Prompt } from '@/simulator/prompt.ts'
import { checkSignature } from '@/simulator/script/signature.ts'
import { addTools } from './validate-tools.ts'

/** An input that is being read: what it tells the model, and which calls of tools were made and answered so far. */
interface Reading {
  prompt: Prompt
  /** The types of the calls, by id. */
  calls: Map<string, string>
  /** The ids of those that have an output. */
  outputs: Set<string>
}

/** Checks and reads `input`. */
export function readInput(input: JsonValue | undefined, prompt: Prompt): void {
  if (typeof input === 'string') {
    addText(prompt, input)
    prompt.lastUserText = input
    return
  }
  if (!Array.isArray(input)) return refuseType('input', 'a string or an array of items', input)
  const reading: Reading = { prompt, calls: new Map(), outputs: new Set() }
  for (const [item, param] of requireObjects(input, 'input')) readItem(item, param, reading)
  for (const id of reading.calls.keys()) {
    if (!reading.outputs.has(id)) refuseOpenai(`No tool output found for function call ${id}.`, 'input')
  }
}

/** The start that OpenAI demands of an item's id. */
const ID_PREFIX: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
}

function readItem(item: JsonObject, param: string, reading: Reading): void {
  const { prompt } = reading
  const type = asString(item['type']) ?? 'message'
  const prefix = item['role'] === 'assistant' || type !== 'message' ? ID_PREFIX[type] : undefined
  if (typeof item['id'] === 'string' && prefix !== undefined && !item['id'].startsWith(prefix)) {
    refuseOpenai(
      `Invalid '${param}.id': '${item['id']}'. Expected an ID that begins with '${prefix}'.`,
      `${param}.id`,
    )
  }
  switch (type) {
    case 'message':
      return readMessage(item, param, prompt)
    case 'reasoning':
      return readReasoningItem(item, param)
    case 'function_call':
    case 'custom_tool_call':
      return readCall(item, type, param, reading)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return readOutput(item, type, param, reading)
    case 'additional_tools':
    case 'tool_search_output':
      return addTools(item['tools'], `${param}.tools`, prompt)
    case 'item_reference':
      throw new Failure(
        404,
        `Item with id '${asString(item['id'])}' not found. Items are not persisted when \`store\` is set to false.`,
        { param: 'input' },
      )
    default:
      return addText(prompt, JSON.stringify(item))
  }
}

function readMessage(item: JsonObject, param: string, prompt: Prompt): void {
  const role = requireString(item['role'], `${param}.role`)
  if (!['user', 'assistant', 'system', 'developer'].includes(role)) {
    refuseOpenai(
      `Invalid value: '${role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
      `${param}.role`,
    )
  }
  const kinds =
    role === 'assistant'
      ? ['output_text', 'refusal']
      : ['input_text', 'input_image', 'input_file', 'input_audio']
  const text = readParts(item['content'], `${param}.content`, kinds, prompt)
  if (role === 'user' && text !== '') prompt.lastUserText = text
  if (role === 'assistant') prompt.toolResults = []
}

function readReasoningItem(item: JsonObject, param: string): void {
  requireArray(item['summary'], `${param}.summary`)
  const sealed = item['encrypted_content']
  if (sealed === undefined || sealed === null) return
  if (
    checkSignature('openai-responses', requireString(sealed, `${param}.encrypted_content`), undefined) !==
    'valid'
  ) {
    throw new Failure(
      400,
      `The encrypted content for item ${asString(item['id']) ?? param} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      { code: 'invalid_encrypted_content' },
    )
  }
}

function readCall(item: JsonObject, type: string, param: string, { prompt, calls }: Reading): void {
  const id = requireCallId(item, param)
  const name = requireOpenaiName(item['name'], `${param}.name`)
  const field = type === 'custom_tool_call' ? 'input' : 'arguments'
  addText(prompt, `${name} ${requireString(item[field], `${param}.${field}`)}`)
  calls.set(id, type)
  prompt.toolResults = []
}

function readOutput(
  item: JsonObject,
  type: string,
  param: string,
  { prompt, calls, outputs }: Reading,
): void {
  const isUnasked = type === 'function_call_output' && (item['call_id'] ?? undefined) === undefined
  if (!isUnasked) {
    const id = requireCallId(item, param)
    const kind = type.startsWith('custom') ? 'custom tool call' : 'function call'
    if (calls.get(id) !== type.replace('_output', ''))
      refuseOpenai(`No tool call found for ${kind} output with call_id ${id}.`, 'input')
    outputs.add(id)
  }
  const text = readParts(
    item['output'],
    `${param}.output`,
    ['input_text', 'input_image', 'input_file'],
    prompt,
  )
  if (!isUnasked) prompt.toolResults.push(text)
}

function requireCallId(item: JsonObject, param: string): string {
  const id = requireString(item['call_id'], `${param}.call_id`)
  if (id !== '' && id.length <= 64) return id
  return refuseOpenai(
    `Invalid '${param}.call_id': expected a string of 1 to 64 characters, but got one with length ${id.length} instead.`,
    `${param}.call_id`,
    'string_above_max_length',
  )
}

function readParts(content: JsonValue | undefined, param: string, kinds: string[], prompt: Prompt): string {
  return readContent(content, param, prompt, (part, at) => readPart(part, at, kinds, prompt))
}

function readPart(part: JsonObject, param: string, kinds: string[], prompt: Prompt): string | undefined {
  const type = requireKind(part, param, kinds)
  const mark = isJsonObject(part['prompt_cache_breakpoint']) ? '5m' : undefined
  if (type === 'input_text' || type === 'output_text' || type === 'refusal') {
    const field = type === 'refusal' ? 'refusal' : 'text'
    const text = requireString(part[field], `${param}.${field}`)
    addText(prompt, text, mark)
    return text
  }
  if (type === 'input_image' && part['file_id'] === undefined)
    requireString(part['image_url'], `${param}.image_url`)
  addMedium(prompt, mark)
  return undefined
}
