import { isAnthropicTool } from '@/formats/openai-chat-completions/anthropic-words.ts'
import { isEmpty } from '@/formats/openai-chat-completions/empty.ts'
import { isFlat, isSearch } from '@/formats/openai-chat-completions/tools-decode.ts'
import {
  allOf,
  byType,
  firstOf,
  list,
  object,
  oneOf,
  type Read,
  type ReadFields,
  readOfPlace,
  SEARCH_SETTINGS,
  textOr,
  unreadInside,
} from '@/formats/unread-fields.ts'
import { IMAGE_DETAILS } from '@/generation/part.ts'
import { EFFORTS, MODALITIES, SUMMARIES } from '@/generation/request.ts'
import { asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { thinkingSwitch } from './thinking-switch.ts'

const MARK = object({ type: 'string', ttl: oneOf('5m', '1h') })
const MARKS: ReadFields = {
  cache_control: MARK,
  prompt_cache_breakpoint: object({ mode: oneOf('explicit'), ttl: oneOf('30m', '12h') }),
}

const TEXT: ReadFields = { type: true, text: true, ...MARKS }

const IMAGE: ReadFields = {
  type: 'string',
  image_url: { url: true, detail: oneOf(...IMAGE_DETAILS) },
  // Clients bring back what an answer's image had.
  index: true,
}

const readOfPart = byType({
  text: TEXT,
  input_text: TEXT,
  output_text: TEXT,
  refusal: { type: true, refusal: true },
  image_url: { ...IMAGE, ...MARKS },
  input_audio: { type: true, input_audio: textOr({ data: true, format: true }), ...MARKS },
  file: { type: true, file: readOfFile, ...MARKS },
  document_url: { type: true, document_url: 'string', document_name: 'string', ...MARKS },
  file_url: { type: true, file_url: object({ url: 'string' }), file_name: 'string', ...MARKS },
  video_url: { type: true, video_url: { url: true }, ...MARKS },
  tool_use: { type: true, id: true, name: true, input: true, ...MARKS },
  tool_result: { type: true, tool_use_id: true, content: true, is_error: 'boolean', ...MARKS },
})

function readOfFile(file: JsonValue): ReadFields {
  return { ...firstOf(file, ['file_data', 'file_id']), filename: 'string' }
}

const SIGNED: ReadFields = {
  extra_content: object({
    google: object({ thought_signature: 'string' }),
    vertex: object({ thought_signature: 'string' }),
  }),
}
const CALLED: ReadFields = { name: true, arguments: true }

const MESSAGE: ReadFields = { role: true, content: textOr(list(readOfPart)), ...MARKS }
const RESULT: ReadFields = { ...MESSAGE, tool_call_id: true, name: 'string' }
const ANSWER: ReadFields = {
  ...MESSAGE,
  ...SIGNED,
  refusal: true,
  audio: 'object',
  // Clients of Mistral say of each answer that it is not the beginning of the next.
  prefix: oneOf(false),
  images: list(object({ ...IMAGE, ...SIGNED })),
  reasoning: 'string',
  reasoning_content: true,
  reasoning_details: true,
  provider_specific_fields: value => isJsonObject(value) && { reasoning_details: list(true) },
  function_call: CALLED,
  tool_calls: list({
    // The place of a call in its stream says no more than that in the list.
    index: true,
    id: true,
    type: true,
    function: CALLED,
    custom: { name: true, input: true },
    provider_specific_fields: object({ thought_signature: 'string' }),
    ...SIGNED,
  }),
  annotations: list(false),
}

function readOfMessage(message: JsonValue): Read {
  const role = asObject(message)?.['role']
  if (role === 'assistant') return ANSWER
  return role === 'tool' || role === 'function' ? RESULT : MESSAGE
}

const FUNCTION: ReadFields = { name: true, description: 'string', parameters: 'object', strict: 'boolean' }
const GRAMMAR: ReadFields = { type: 'string', syntax: oneOf('lark', 'regex'), definition: 'string' }

const CUSTOM_FORMAT: ReadFields = { ...GRAMMAR, grammar: object(GRAMMAR) }

/** A tool that is neither is kept whole. */
function readOfTool(value: JsonValue): Read {
  const tool = asObject(value)
  if (isAnthropicTool(value)) return { type: true, ...FUNCTION, input_schema: true, ...MARKS }
  if (isFlat(value)) return { type: true, ...FUNCTION, format: object(CUSTOM_FORMAT), ...MARKS }
  if (asObject(tool?.['function']) === undefined && asObject(tool?.['custom']) === undefined)
    return isJsonObject(value) && isSearch(value) ? { ...allOf(value), ...SEARCH_SETTINGS } : true
  return {
    type: true,
    function: FUNCTION,
    custom: { name: true, description: true, format: object(CUSTOM_FORMAT) },
    ...MARKS,
  }
}

const NAMED: ReadFields = { name: true }
const CHOICE: ReadFields = { type: true, function: NAMED, custom: NAMED, name: true }

const ALLOWED: ReadFields = { mode: 'string', tools: list(object(CHOICE)) }

const INSIDE: ReadFields = {
  cache_control: MARK,
  messages: list(readOfMessage),
  tools: list(readOfTool),
  functions: list(FUNCTION),
  tool_choice: { ...CHOICE, ...ALLOWED, allowed_tools: object(ALLOWED) },
  function_call: NAMED,
  response_format: byType({
    text: { type: true },
    json_object: { type: true, schema: 'object' },
    json_schema: {
      type: true,
      json_schema: { name: true, description: 'string', schema: true, strict: true },
    },
  }),
  reasoning: {
    max_tokens: 'number',
    exclude: 'boolean',
    enabled: 'boolean',
    effort: oneOf(...EFFORTS),
    summary: oneOf(...SUMMARIES),
  },
  thinking: { type: true, budget_tokens: 'number' },
  web_search_options: { search_context_size: 'string', user_location: readOfPlace },
  modalities: list(oneOf(...MODALITIES)),
}

/** Where log probabilities are not asked for, how many is said by none. */
const INSIDE_WITHOUT_LOGPROBS: ReadFields = { ...INSIDE, top_logprobs: oneOf(0) }

/** Fields that are not read where their newer name is given. */
const OLDER_NAMES = [
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
  ['max_tokens', 'max_completion_tokens'],
] as const

/** What fields within others say, and older names of others, that no other format is told. */
export function unreadFieldsOf(body: JsonObject): string[] {
  const passedOver = OLDER_NAMES.filter(names => !names.some(name => isEmpty(body[name])))
    .filter(([older, newer]) => body[older] !== body[newer])
    .map(([older]): string => older)
  const inside = body['logprobs'] === true ? INSIDE : INSIDE_WITHOUT_LOGPROBS
  const isOff = thinkingSwitch(body)?.word === 'disabled'
  if (isOff && !isEmpty(body['reasoning_effort'])) passedOver.push('reasoning_effort')
  return [...unreadInside(body, inside), ...passedOver]
}
