import { asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import {
  readContent,
  refuseOpenai,
  refuseType,
  requireFilled,
  requireKind,
  requireObject,
  requireObjects,
  requireOpenaiName,
  requireString,
} from '@/simulator/openai/validate.ts'
import { addMedium, addText, type Prompt } from '@/simulator/prompt.ts'

/** Walks the messages in order, keeping the calls that still wait for their tool message. */
export function readMessages(body: JsonObject, prompt: Prompt): void {
  const messages = requireFilled(body['messages'], 'messages')
  let unanswered = new Set<string>()
  let callers = new Set<string>()
  for (const [message, param] of requireObjects(messages, 'messages')) {
    const role = message['role']
    if (role === 'tool') {
      unanswered.delete(answeredCall(message, callers, param))
      prompt.toolResults.push(readParts(message, param, prompt, TEXT_ONLY))
      continue
    }
    if (unanswered.size > 0) refuseUnanswered(unanswered)
    if (role === 'assistant') prompt.toolResults = []
    callers = new Set(role === 'assistant' ? readAssistant(message, param, prompt) : [])
    unanswered = new Set(callers)
    if (role !== 'assistant') readOther(message, param, prompt)
  }
  if (unanswered.size > 0) refuseUnanswered(unanswered)
}

function answeredCall(message: JsonObject, callers: ReadonlySet<string>, param: string): string {
  const id = requireString(message['tool_call_id'], `${param}.tool_call_id`)
  if (callers.size === 0) {
    refuseOpenai(
      "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
      `${param}.role`,
    )
  }
  if (!callers.has(id))
    refuseOpenai(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      `${param}.tool_call_id`,
    )
  return id
}

function refuseUnanswered(ids: Iterable<string>): never {
  return refuseOpenai(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
    'messages',
  )
}

function readAssistant(message: JsonObject, param: string, prompt: Prompt): string[] {
  const calls =
    message['tool_calls'] === undefined ? [] : requireFilled(message['tool_calls'], `${param}.tool_calls`)
  const says = message['content'] !== undefined && message['content'] !== null
  if (says) readParts(message, param, prompt, ['text', 'refusal'])
  const excused = calls.length > 0 || isJsonObject(message['function_call']) || isJsonObject(message['audio'])
  if (!says && !excused && typeof message['refusal'] !== 'string')
    refuseType(`${param}.content`, 'a string', message['content'] ?? null)
  return requireObjects(calls, `${param}.tool_calls`).map(([call, place]) => readCall(call, place, prompt))
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
      prompt.lastUserText = readParts(message, param, prompt, USER_PARTS) || prompt.lastUserText
      return
    case 'system':
    case 'developer':
      readParts(message, param, prompt, TEXT_ONLY)
      return
    case 'function':
      prompt.toolResults = [readParts(message, param, prompt, TEXT_ONLY)]
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

function readParts({ content }: JsonObject, param: string, prompt: Prompt, kinds: string[]): string {
  const place = `${param}.content`
  if (Array.isArray(content) && content.length === 0)
    refuseOpenai(`Invalid '${place}': empty array.`, place, 'empty_array')
  return readContent(content, place, prompt, (part, at) => readPart(part, at, prompt, kinds))
}

function readPart(part: JsonObject, param: string, prompt: Prompt, kinds: string[]): string | undefined {
  const type = requireKind(part, param, kinds)
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
