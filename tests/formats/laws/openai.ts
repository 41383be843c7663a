import {
  asArray,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { readChat } from '@/simulator/chat/validate.ts'
import { Failure } from '@/simulator/failure.ts'
import { readResponses } from '@/simulator/responses/validate.ts'

const READERS = { 'openai-chat-completions': readChat, 'openai-responses': readResponses } as const

/** What OpenAI would refuse of a request in one of its formats: what the simulator does, and what that lets pass. */
export function refusedByOpenai(format: keyof typeof READERS, body: JsonObject): string[] {
  const law = new Law()
  if (format === 'openai-chat-completions') chat(body, law)
  else responses(body, law)
  common(body, law)
  const read = READERS[format]
  const request = {
    pathModel: '',
    pathStreams: false,
    counts: false,
    headers: new Headers(),
    query: new URLSearchParams(),
    body,
  }
  try {
    read(request)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    law.must(false, error.message)
  }
  return law.broken
}

class Law {
  readonly broken: string[] = []

  must(holds: boolean, rule: string): void {
    if (!holds) this.broken.push(rule)
  }
}

function common(body: JsonObject, law: Law): void {
  const { tools, tool_choice, parallel_tool_calls, metadata } = body
  const isChoosing = tool_choice !== undefined || parallel_tool_calls !== undefined
  law.must(!isChoosing || asArray(tools).length > 0, 'a choice without tools')
  const functions = asObjects(tools).map(tool => asObject(tool['function']) ?? tool)
  law.must(isDistinct(functions.map(({ name }) => name)), 'two tools of one name')
  for (const { parameters } of functions) schema(parameters, law)
  for (const key of ['user', 'safety_identifier', 'prompt_cache_key'])
    law.must((asString(body[key]) ?? '').length <= 64, `${key} is too long`)
  law.must(Object.keys(asObject(metadata) ?? {}).length <= 16, 'too much metadata')
}

/** Of a schema that OpenAI does not hold the model to. */
function schema(value: JsonValue | undefined, law: Law): void {
  if (Array.isArray(value)) for (const inner of value) schema(inner, law)
  if (!isJsonObject(value)) return
  const { type, items, pattern } = value
  const isList = type === 'array' || asArray(type).includes('array')
  law.must(!isList || isJsonObject(items), 'array schema missing items')
  if (typeof pattern === 'string')
    law.must(!/\(\?<?[=!]|\\p|\[[^\]]*\\w-[^\]]/.test(pattern), `'${pattern}' is not a 'regex'`)
  for (const inner of Object.values(value)) schema(inner, law)
}

/** A wish for any JSON is refused where this does not say the word. */
function word(format: JsonValue | undefined, prompt: JsonValue | undefined, law: Law): void {
  const isAsked = asObject(format)?.['type'] === 'json_object'
  law.must(!isAsked || /json/i.test(JSON.stringify(prompt)), "the word 'json' is missing")
}

function chat(body: JsonObject, law: Law): void {
  const { messages, response_format } = body
  word(response_format, messages, law)
  schema(asObject(asObject(response_format)?.['json_schema'])?.['schema'], law)
  const ids: JsonValue[] = []
  for (const { role, content, tool_calls, refusal, tool_call_id } of asObjects(messages)) {
    const isExcused = role === 'assistant' && (tool_calls !== undefined || refusal !== undefined)
    law.must(typeof content === 'string' || isExcused || asArray(content).length > 0, `${role} says nothing`)
    const calls = asObjects(tool_calls).map(({ id = null }) => id)
    law.must(tool_calls === undefined || calls.length > 0, 'no calls')
    ids.push(...calls)
    for (const id of [...calls, tool_call_id ?? '']) law.must(String(id).length <= 40, `${id} is too long`)
  }
  law.must(isDistinct(ids), 'two calls of one id')
}

function responses(body: JsonObject, law: Law): void {
  const { input, text, instructions } = body
  const format = asObject(text)?.['format']
  word(format, input, law)
  schema(asObject(format)?.['schema'], law)
  law.must(input !== undefined && asArray(input).length > 0, 'no input')
  law.must(instructions !== '', 'empty instructions')
  const items = asObjects(input)
  const ids: JsonValue[] = []
  for (const [place, { type, content, call_id, output }] of items.entries()) {
    law.must(!Array.isArray(content) || content.length > 0, `${type} says nothing`)
    law.must(!Array.isArray(output) || output.length > 0, 'an empty output')
    if (call_id !== undefined) law.must(/^[\w-]{1,64}$/.test(String(call_id)), `call_id ${call_id}`)
    if (call_id !== undefined && output === undefined) ids.push(call_id)
    const next = items[place + 1]
    const leads =
      next !== undefined && (next['role'] ?? 'assistant') === 'assistant' && next['output'] === undefined
    law.must(type !== 'reasoning' || leads, 'reasoning without its required following item')
  }
  law.must(isDistinct(ids), 'two calls of one id')
}

function isDistinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length
}
