import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseObject,
} from '@/json/json.ts'
import { roughRequest } from './rough.ts'

type Must = (holds: boolean, rule: string) => void

/** What a vendor refuses of its models, as it documents that or as its complaints say. */
interface Known {
  vendor: string
  model: string
  law: (body: JsonObject, must: Must) => void
}

const VENDORS: readonly Known[] = [
  { vendor: 'api.deepseek.com', model: 'deepseek-v4-pro', law: deepseek },
  { vendor: 'api.moonshot.ai', model: 'kimi-k2.6', law: kimi },
  { vendor: 'api.moonshot.ai', model: 'kimi-k3', law: kimi },
  { vendor: 'dashscope.aliyuncs.com', model: 'qwen3.5-plus', law: qwen },
  { vendor: 'localhost', model: 'Qwen/Qwen3.6-27B', law: systemFirst },
  { vendor: 'api.mistral.ai', model: 'mistral-large-latest', law: mistral },
  { vendor: 'api.mistral.ai', model: 'mistral-medium-3-5', law: mistral },
  { vendor: 'api.minimax.io', model: 'MiniMax-M3', law: minimax },
  { vendor: 'api.z.ai', model: 'glm-5.2', law: ({ temperature }, must) => between(temperature, 0, 1, must) },
  { vendor: 'api.x.ai', model: 'grok-4-fast-reasoning', law: xai },
  { vendor: 'api.groq.com', model: 'openai/gpt-oss-120b', law: groq },
  { vendor: 'api.groq.com', model: 'llama-3.3-70b-versatile', law: groq },
]

/** None of these signs its thoughts. */
const SIGNED = { format: 'openai-chat-completions', vendor: 'openrouter.ai', value: 'U0lH' } as const

test.each(VENDORS)('what $vendor is sent for a rough request to $model is a request that it takes', known => {
  const { vendor, model, law } = known
  const target = { model, vendor, maxOutputTokens: undefined }
  fc.assert(
    fc.property(roughRequest(SIGNED), beside, (request, more) => {
      const asked = { ...request, ...more }
      const { body } = lowerRequest(asked, openaiChatCompletions, target, USUAL_HABITS)
      const found = new Set<string>()
      const must = (holds: boolean, rule: string) => {
        if (!holds) found.add(rule)
      }
      everybody(body, must)
      law(body, must)
      expect([...found]).toEqual([])
    }),
    { numRuns: 250 },
  )
})

const schema = { type: 'object', properties: { a: { type: 'string' } } }
const asked = { type: 'json-schema', name: 'o', description: undefined, strict: true } as const

/** What OpenAI has and others have less of. */
const beside = fc.record({
  output: fc.constantFrom(
    undefined,
    { type: 'json' } as const,
    { ...asked, schema },
    { ...asked, schema: { type: 'array', items: schema } },
  ),
  temperature: fc.constantFrom(undefined, 0, 0.3, 1, 2),
  presencePenalty: fc.constantFrom(undefined, 1),
  stop: fc.constantFrom([], ['x']),
  promptCacheKey: fc.constantFrom(undefined, 'k'),
})

function messagesOf(body: JsonObject) {
  return asObjects(body['messages']).map(fields => ({
    fields,
    role: asString(fields['role']),
    calls: asObjects(fields['tool_calls']),
  }))
}

/** What nobody takes. */
function everybody(body: JsonObject, must: Must): void {
  let open: string[] = []
  for (const { role, calls, fields } of messagesOf(body)) {
    const { content, tool_call_id: answered } = fields
    if (role === 'tool') must(open.shift() === answered, 'results stand behind their calls, in order')
    else must(open.length === 0, 'every call has a result')
    if (role === 'assistant') open = calls.map(({ id }) => String(id))
    const isSaid = typeof content === 'string' || (Array.isArray(content) && content.length > 0)
    must(isSaid || calls.length > 0, `${role} says something`)
    for (const call of calls) must(argumentsOf(call) !== undefined, 'arguments are a JSON object')
  }
  must(open.length === 0, 'every call has a result')
  must(body['tool_choice'] === undefined || asObjects(body['tools']).length > 0, 'a choice is one of tools')
}

/** Chat templates take them apart: vLLM, SGLang, llama.cpp and Alibaba refuse a conversation with others. */
function argumentsOf(call: JsonObject): JsonObject | undefined {
  return parseObject(asString(asObject(call['function'])?.['arguments']) ?? '')
}

function isForced({ tool_choice: choice }: JsonObject): boolean {
  return choice === 'required' || isJsonObject(choice)
}

function formatOf({ response_format: format }: JsonObject): string | undefined {
  return asString(asObject(format)?.['type'])
}

function between(value: JsonObject[string], least: number, most: number, must: Must): void {
  const number = asNumber(value) ?? 1
  must(number >= least && number <= most, `between ${least} and ${most}`)
}

/** Qwen's and MiniMax's templates: "System message must be at the beginning." DeepSeek's puts it there, before what was cached. */
function systemFirst(body: JsonObject, must: Must): void {
  const later = messagesOf(body).slice(1)
  must(
    later.every(({ role }) => role !== 'system'),
    'system text comes first',
  )
}

function deepseek(body: JsonObject, must: Must): void {
  systemFirst(body, must)
  const thinks = asObject(body['thinking'])?.['type'] !== 'disabled'
  must(!isForced(body) || !thinks, 'Thinking mode does not support this tool_choice')
  must(formatOf(body) !== 'json_schema', 'This response_format type is unavailable now')
  const messages = messagesOf(body)
  const turn = messages.findLastIndex(({ role }) => role === 'user')
  for (const [place, message] of messages.entries()) {
    const isNeeded = message.role === 'assistant' && (place > turn || message.calls.length > 0)
    const isThere = typeof message.fields['reasoning_content'] === 'string'
    must(!isNeeded || isThere, 'The reasoning_content in the thinking mode must be passed back')
  }
}

function kimi(body: JsonObject, must: Must): void {
  const { temperature, presence_penalty, top_p, model, thinking, tool_choice, tools } = body
  for (const tool of asObjects(tools)) {
    const name = String(asObject(tool['function'])?.['name'])
    must(/^[a-zA-Z][a-zA-Z0-9_-]*$/.test(name), 'function name is invalid, must start with a letter')
    const parameters = asObject(asObject(tool['function'])?.['parameters'])
    must(parameters === undefined || parameters['type'] === 'object', 'parameters are an object')
    moonshotSchema(parameters, must)
  }
  must(temperature === undefined, 'invalid temperature: only 1 is allowed for this model')
  must(presence_penalty === undefined && top_p === undefined, 'sampling is set')
  const isOff = asObject(thinking)?.['type'] === 'disabled'
  const isTaken = model === 'kimi-k3' ? tool_choice === 'required' : isOff && tool_choice !== 'required'
  must(!isForced(body) || isTaken, "tool_choice 'specified' is incompatible with thinking enabled")
}

/** Why it would be "not a valid moonshot flavored json schema". */
function moonshotSchema(schema: JsonValue | undefined, must: Must): void {
  if (Array.isArray(schema)) for (const inner of schema) moonshotSchema(inner, must)
  if (!isJsonObject(schema)) return
  const { type, anyOf, items } = schema
  must(type === undefined || !Array.isArray(anyOf), 'type should be defined in anyOf items')
  must(!Array.isArray(items), 'items must be an object')
  for (const inner of Object.values(schema)) moonshotSchema(inner, must)
}

function qwen(body: JsonObject, must: Must): void {
  systemFirst(body, must)
  must(!isForced(body) || body['enable_thinking'] === false, 'no forced call in thinking mode')
}

function mistral(body: JsonObject, must: Must): void {
  between(body['temperature'], 0, 1.5, must)
  must(!('stream_options' in body) && !('seed' in body), 'Extra inputs are not permitted')
  const messages = messagesOf(body)
  must(messages.at(-1)?.role !== 'assistant', 'Expected last role User or Tool')
  const thinks = body['model'] === 'mistral-medium-3-5'
  const efforts = thinks ? [undefined, 'none', 'high'] : [undefined]
  must(
    efforts.includes(asString(body['reasoning_effort'])),
    'reasoning_effort is not supported for this model',
  )
  const parts = messages.flatMap(({ fields }) => asObjects(fields['content']))
  must(thinks || parts.every(({ type }) => type !== 'thinking'), 'Reasoning input is not enabled')
  for (const { calls } of messages)
    for (const { id } of calls) must(/^[a-zA-Z0-9]{9}$/.test(String(id)), 'Tool call id was not nine signs')
}

function minimax(body: JsonObject, must: Must): void {
  systemFirst(body, must)
  between(body['temperature'], 0.01, 1, must)
}

function xai(body: JsonObject, must: Must): void {
  for (const name of ['presence_penalty', 'stop', 'reasoning_effort'])
    must(body[name] === undefined, `Argument not supported on this model: ${name}`)
}

function groq(body: JsonObject, must: Must): void {
  const hasTools = asObjects(body['tools']).length > 0
  const isOpen = String(body['model']).includes('gpt-oss')
  must(!hasTools || formatOf(body) === undefined, 'json mode cannot be combined with tool/function calling')
  must(isOpen || formatOf(body) !== 'json_schema', 'does not support response format `json_schema`')
  must(isOpen || body['reasoning_effort'] === undefined, '`reasoning_effort` is not supported')
  must(
    asObjects(body['messages']).every(message => !('reasoning_content' in message)),
    'reasoning_content is unsupported',
  )
}
