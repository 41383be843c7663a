import { asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import { addMedium, addText, type Prompt } from '@/simulator/prompt.ts'
import {
  refuseOpenai,
  refuseType,
  requireFilled,
  requireObject,
  requireOpenaiName,
  requireString,
} from '@/simulator/validate.ts'

/** Walks the messages in order, keeping the calls that still wait for their tool message. */
export function readMessages(body: JsonObject, prompt: Prompt): void {
  const messages = requireFilled(body['messages'], 'messages')
  let unanswered: string[] = []
  let callers: string[] = []
  for (const [index, value] of messages.entries()) {
    const param = `messages[${index}]`
    const message = requireObject(value, param)
    const role = message['role']
    if (role === 'tool') {
      unanswered = answerCall(message, callers, unanswered, param)
      prompt.toolResults.push(readContent(message, param, prompt, TEXT_ONLY))
      continue
    }
    if (unanswered.length > 0) refuseUnanswered(unanswered)
    if (role === 'assistant') prompt.toolResults = []
    callers = role === 'assistant' ? readAssistant(message, param, prompt) : []
    unanswered = callers
    if (role !== 'assistant') readOther(message, param, prompt)
  }
  if (unanswered.length > 0) refuseUnanswered(unanswered)
}

function answerCall(message: JsonObject, callers: string[], unanswered: string[], param: string): string[] {
  const id = requireString(message['tool_call_id'], `${param}.tool_call_id`)
  if (callers.length === 0) {
    refuseOpenai(
      "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
      `${param}.role`,
    )
  }
  if (!callers.includes(id))
    refuseOpenai(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      `${param}.tool_call_id`,
    )
  return unanswered.filter(call => call !== id)
}

function refuseUnanswered(ids: string[]): never {
  return refuseOpenai(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    'messages',
  )
}

function readAssistant(message: JsonObject, param: string, prompt: Prompt): string[] {
  const calls =
    message['tool_calls'] === undefined ? [] : requireFilled(message['tool_calls'], `${param}.tool_calls`)
  const says = message['content'] !== undefined && message['content'] !== null
  if (says) readContent(message, param, prompt, ['text', 'refusal'])
  const excused = calls.length > 0 || isJsonObject(message['function_call']) || isJsonObject(message['audio'])
  if (!says && !excused && typeof message['refusal'] !== 'string')
    refuseType(`${param}.content`, 'a string', message['content'] ?? null)
  return calls.map((call, index) =>
    readCall(requireObject(call, `${param}.tool_calls[${index}]`), `${param}.tool_calls[${index}]`, prompt),
  )
}

function readCall(call: JsonObject, param: string, prompt: Prompt): string {
  const id = requireString(call['id'], `${param}.id`)
  if (id.length > 40) {
    refuseOpenai(
      `Invalid '${param}.id': string too long. Expected a string with maximum length 40, but got a string with length ${id.length} instead.`,
      `${param}.id`,
      'string_above_max_length',
    )
  }
  if (call['type'] === 'custom') {
    const custom = requireObject(call['custom'], `${param}.custom`)
    const name = requireOpenaiName(custom['name'], `${param}.custom.name`)
    addText(prompt, `${name} ${requireString(custom['input'], `${param}.custom.input`)}`)
    return id
  }
  if (call['type'] !== 'function')
    refuseOpenai(
      `Invalid value: '${asString(call['type'])}'. Supported values are: 'function' and 'custom'.`,
      `${param}.type`,
    )
  const called = requireObject(call['function'], `${param}.function`)
  const name = requireOpenaiName(called['name'], `${param}.function.name`)
  addText(prompt, `${name} ${requireString(called['arguments'], `${param}.function.arguments`)}`)
  return id
}

function readOther(message: JsonObject, param: string, prompt: Prompt): void {
  switch (message['role']) {
    case 'user':
      prompt.lastUserText = readContent(message, param, prompt, USER_PARTS) || prompt.lastUserText
      return
    case 'system':
    case 'developer':
      readContent(message, param, prompt, TEXT_ONLY)
      return
    case 'function':
      prompt.toolResults = [readContent(message, param, prompt, TEXT_ONLY)]
      return
    default:
      refuseOpenai(
        `Invalid value: ${JSON.stringify(message['role'] ?? null)}. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
        `${param}.role`,
      )
  }
}

const TEXT_ONLY = ['text']
const USER_PARTS = ['text', 'image_url', 'input_audio', 'file', 'video_url']

/** Reads a message's content into segments and returns its text. */
function readContent(message: JsonObject, param: string, prompt: Prompt, kinds: string[]): string {
  const content = message['content']
  if (typeof content === 'string') {
    addText(prompt, content)
    return content
  }
  if (!Array.isArray(content)) return refuseType(`${param}.content`, 'a string or an array of parts', content)
  if (content.length === 0)
    refuseOpenai(`Invalid '${param}.content': empty array.`, `${param}.content`, 'empty_array')
  const texts = content.map((value, index) =>
    readPart(requireObject(value, `${param}.content[${index}]`), `${param}.content[${index}]`, prompt, kinds),
  )
  return texts.filter(text => text !== undefined).join('\n')
}

function readPart(part: JsonObject, param: string, prompt: Prompt, kinds: string[]): string | undefined {
  const type = asString(part['type']) ?? ''
  if (!kinds.includes(type)) {
    refuseOpenai(
      `Invalid value: '${type}'. Supported values are: ${kinds.map(kind => `'${kind}'`).join(', ')}.`,
      `${param}.type`,
    )
  }
  const mark =
    isJsonObject(part['prompt_cache_breakpoint']) || isJsonObject(part['cache_control']) ? '5m' : undefined
  if (type === 'text' || type === 'refusal') {
    const text = requireString(part[type], `${param}.${type}`)
    addText(prompt, text, mark)
    return text
  }
  const media = requireObject(part[type], `${param}.${type}`)
  if (type === 'image_url') requireString(media['url'], `${param}.image_url.url`)
  if (type === 'input_audio') requireString(media['data'], `${param}.input_audio.data`)
  addMedium(prompt, mark)
  return undefined
}
