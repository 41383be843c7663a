import { asArray, asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { DialectRequest } from './exchange.ts'
import { Failure } from './failure.ts'
import { emptyPrompt, type OfferedTool, type Prompt, type ToolChoice } from './prompt.ts'
import { checkSignature } from './signature.ts'
import {
  optionalNumber,
  refuseOpenai,
  refuseType,
  requireArray,
  requireObject,
  requireOpenaiName,
  requireString,
  strictSchemaFault,
} from './validate.ts'

/** Fields of Chat Completions that a wrong conversion leaves behind; OpenAI refuses them by name. */
const CHAT_FIELDS = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'stop',
  'n',
  'reasoning_effort',
  'functions',
]

/** Reads a Responses request as strictly as OpenAI does where that catches a wrong conversion. */
export function readResponses({ body, counts }: DialectRequest): Prompt {
  const prompt = emptyPrompt(requireString(body['model'], 'model'), body['stream'] === true && !counts)
  const foreign = CHAT_FIELDS.find(name => body[name] !== undefined)
  if (foreign !== undefined)
    refuseOpenai(
      `Unsupported parameter: '${foreign}'. It is a parameter of Chat Completions.`,
      foreign,
      'unsupported_parameter',
    )
  refuseState(body)
  prompt.maxTokens = optionalNumber(body, 'max_output_tokens', 16)
  optionalNumber(body, 'temperature', 0, 2)
  optionalNumber(body, 'top_p', 0, 1)
  readLogprobs(body, prompt)
  readReasoning(body, prompt)
  prompt.output = readFormat(asObject(body['text'])?.['format'])
  addTools(body['tools'], 'tools', prompt)
  const instructions = body['instructions']
  if (instructions !== undefined && instructions !== null)
    addText(prompt, requireString(instructions, 'instructions'))
  readInput(body['input'], prompt)
  prompt.toolChoice = readToolChoice(body['tool_choice'], prompt.tools)
  prompt.parallelCalls = body['parallel_tool_calls'] !== false
  return prompt
}

/** The simulator keeps no responses. */
function refuseState(body: JsonObject): void {
  const previous = asString(body['previous_response_id'])
  if (previous !== undefined) {
    refuseOpenai(
      `Previous response with id '${previous}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    )
  }
  if (body['background'] === true)
    refuseOpenai('Background mode is not supported.', 'background', 'unsupported_parameter')
}

function readLogprobs(body: JsonObject, prompt: Prompt): void {
  const top = optionalNumber(body, 'top_logprobs', 0, 20)
  const included = asArray(body['include']).includes('message.output_text.logprobs')
  if (included || (top ?? 0) > 0) prompt.topLogprobs = top ?? 0
}

function readReasoning(body: JsonObject, prompt: Prompt): void {
  const reasoning = asObject(body['reasoning'])
  if (reasoning === undefined) return
  if (reasoning['effort'] === 'none') prompt.reasoning = 'off'
  else if ((reasoning['summary'] ?? reasoning['generate_summary'] ?? null) === null)
    prompt.reasoning = 'hidden'
}

function readFormat(format: JsonValue | undefined): Prompt['output'] {
  if (format === undefined || format === null) return undefined
  const object = requireObject(format, 'text.format')
  if (object['type'] === 'text') return undefined
  if (object['type'] === 'json_object') return 'any-object'
  if (object['type'] !== 'json_schema') {
    refuseOpenai(
      "Invalid value: supported values for 'text.format.type' are: 'text', 'json_object', and 'json_schema'.",
      'text.format.type',
    )
  }
  const name = requireOpenaiName(object['name'], 'text.format.name')
  const schema = requireObject(object['schema'], 'text.format.schema')
  const fault = object['strict'] === true ? strictSchemaFault(schema) : undefined
  if (fault !== undefined)
    refuseOpenai(
      `Invalid schema for response_format '${name}': ${fault}`,
      'text.format.schema',
      'invalid_json_schema',
    )
  return schema
}

/** Adds the tools of the request, or of an item that brings more of them. */
function addTools(value: JsonValue | undefined, param: string, prompt: Prompt): void {
  if (value === undefined || value === null) return
  for (const [index, entry] of requireArray(value, param).entries()) {
    const tool = requireObject(entry, `${param}[${index}]`)
    prompt.tools.push(...offeredIn(tool, `${param}[${index}]`, undefined))
    prompt.segments.push({ text: JSON.stringify(tool), media: 0, mark: undefined })
  }
}

/** The calls that a tool definition allows; the vendor's own tools allow none that the client would run. */
function offeredIn(tool: JsonObject, param: string, namespace: string | undefined): OfferedTool[] {
  switch (requireString(tool['type'], `${param}.type`)) {
    case 'function':
      return [readFunction(tool, param, namespace)]
    case 'custom':
      return [
        { name: requireOpenaiName(tool['name'], `${param}.name`), namespace, kind: 'custom', schema: {} },
      ]
    case 'namespace': {
      const name = requireOpenaiName(tool['name'], `${param}.name`)
      const members = requireArray(tool['tools'], `${param}.tools`)
      return members.flatMap((member, index) =>
        offeredIn(requireObject(member, `${param}.tools[${index}]`), `${param}.tools[${index}]`, name),
      )
    }
    default:
      return []
  }
}

function readFunction(tool: JsonObject, param: string, namespace: string | undefined): OfferedTool {
  const name = requireOpenaiName(tool['name'], `${param}.name`)
  const schema = tool['parameters'] ?? { type: 'object', properties: {} }
  if (!isJsonObject(schema)) return refuseType(`${param}.parameters`, 'an object', schema)
  const fault = tool['strict'] === true ? strictSchemaFault(schema) : undefined
  const wrongType = schema['type'] !== undefined && schema['type'] !== 'object'
  const message = wrongType
    ? `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema['type'])}'.`
    : fault
  if (message !== undefined)
    refuseOpenai(
      `Invalid schema for function '${name}': ${message}`,
      `${param}.parameters`,
      'invalid_function_parameters',
    )
  return { name, namespace, kind: 'function', schema }
}

function readToolChoice(choice: JsonValue | undefined, tools: OfferedTool[]): ToolChoice {
  if (choice === undefined || choice === null || choice === 'auto')
    return { mode: 'auto', allowed: undefined }
  if (choice === 'none') return { mode: 'none', allowed: undefined }
  if (choice === 'required') return { mode: 'required', allowed: undefined }
  const object = requireObject(choice, 'tool_choice')
  if (object['type'] === 'allowed_tools') {
    const allowed = requireArray(object['tools'], 'tool_choice.tools').map(
      tool => asString(asObject(tool)?.['name']) ?? '',
    )
    return { mode: object['mode'] === 'required' ? 'required' : 'auto', allowed }
  }
  if (object['type'] !== 'function' && object['type'] !== 'custom')
    return { mode: 'auto', allowed: undefined }
  const name = requireString(object['name'], 'tool_choice.name')
  if (!tools.some(tool => tool.name === name))
    refuseOpenai(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice')
  return { mode: 'required', allowed: [name] }
}

function readInput(input: JsonValue | undefined, prompt: Prompt): void {
  if (typeof input === 'string') {
    addText(prompt, input)
    prompt.lastUserText = input
    return
  }
  if (!Array.isArray(input)) return refuseType('input', 'a string or an array of items', input)
  const calls = new Map<string, string>()
  const outputs = new Set<string>()
  for (const [index, value] of input.entries())
    readItem(requireObject(value, `input[${index}]`), `input[${index}]`, prompt, calls, outputs)
  for (const [id] of calls) {
    if (!outputs.has(id)) refuseOpenai(`No tool output found for function call ${id}.`, 'input')
  }
}

/** The start that OpenAI demands of an item's id. */
const ID_PREFIX: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
}

function readItem(
  item: JsonObject,
  param: string,
  prompt: Prompt,
  calls: Map<string, string>,
  outputs: Set<string>,
): void {
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
      return readCall(item, type, param, prompt, calls)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return readOutput(item, type, param, prompt, calls, outputs)
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
  const text = readContent(item['content'], `${param}.content`, kinds, prompt)
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

function readCall(
  item: JsonObject,
  type: string,
  param: string,
  prompt: Prompt,
  calls: Map<string, string>,
): void {
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
  prompt: Prompt,
  calls: Map<string, string>,
  outputs: Set<string>,
): void {
  const id = requireCallId(item, param)
  const kind = type.startsWith('custom') ? 'custom tool call' : 'function call'
  if (calls.get(id) !== type.replace('_output', ''))
    refuseOpenai(`No tool call found for ${kind} output with call_id ${id}.`, 'input')
  outputs.add(id)
  prompt.toolResults.push(
    readContent(item['output'], `${param}.output`, ['input_text', 'input_image', 'input_file'], prompt),
  )
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

/** Reads text or parts into segments and returns the text. */
function readContent(content: JsonValue | undefined, param: string, kinds: string[], prompt: Prompt): string {
  if (typeof content === 'string') {
    addText(prompt, content)
    return content
  }
  if (!Array.isArray(content)) return refuseType(param, 'a string or an array of parts', content)
  const texts = content.map((value, index) =>
    readPart(requireObject(value, `${param}[${index}]`), `${param}[${index}]`, kinds, prompt),
  )
  return texts.filter(text => text !== undefined).join('\n')
}

function readPart(part: JsonObject, param: string, kinds: string[], prompt: Prompt): string | undefined {
  const type = requireString(part['type'], `${param}.type`)
  if (!kinds.includes(type)) {
    refuseOpenai(
      `Invalid value: '${type}'. Supported values are: ${kinds.map(kind => `'${kind}'`).join(', ')}.`,
      `${param}.type`,
    )
  }
  const mark = isJsonObject(part['prompt_cache_breakpoint']) ? '5m' : undefined
  if (type === 'input_text' || type === 'output_text' || type === 'refusal') {
    const field = type === 'refusal' ? 'refusal' : 'text'
    const text = requireString(part[field], `${param}.${field}`)
    prompt.segments.push({ text, media: 0, mark })
    return text
  }
  if (type === 'input_image' && part['file_id'] === undefined)
    requireString(part['image_url'], `${param}.image_url`)
  prompt.segments.push({ text: '', media: 1, mark })
  return undefined
}

function addText(prompt: Prompt, text: string): void {
  prompt.segments.push({ text, media: 0, mark: undefined })
}
