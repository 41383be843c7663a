import {
  asArray,
  asNumber,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import type { DialectRequest } from '@/simulator/exchange.ts'
import { Failure, refuse } from '@/simulator/failure.ts'
import {
  addText,
  emptyPrompt,
  type OfferedTool,
  type Prompt,
  type Segment,
  type ToolChoice,
} from '@/simulator/prompt.ts'
import { markOf, readTurns } from './validate-turns.ts'

/** Reads a Messages request as strictly as Anthropic does where that catches a wrong conversion. */
export function readMessages({ body, headers, counts }: DialectRequest): Prompt {
  if (!headers.get('anthropic-version')) refuse('anthropic-version: header is required')
  const prompt = emptyPrompt(
    requireField(asString(body['model']), 'model'),
    body['stream'] === true && !counts,
  )
  refuseThread(body)
  if (!counts) prompt.maxTokens = readMaxTokens(body['max_tokens'])
  readSampling(body, headers)
  const thinks = readThinking(body, prompt)
  readTools(body, prompt)
  prompt.toolChoice = readToolChoice(body, prompt, thinks)
  readSystem(body['system'], prompt)
  readTurns(body, prompt, headers.get('anthropic-version') ?? '', thinks)
  prompt.output = readFormat(body)
  markLast(body, prompt)
  checkMarks(prompt.segments)
  return prompt
}

function requireField<T>(value: T | undefined, path: string): T {
  return value ?? refuse(`${path}: Field required`)
}

/** The simulator keeps no threads; this answer makes the vendor's SDK send full histories. */
function refuseThread(body: JsonObject): void {
  if (body['thread'] === undefined) return
  throw new Failure(400, 'thread: message threads are not supported.', {
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

function readMaxTokens(value: JsonValue | undefined): number {
  const maxTokens = requireField(value, 'max_tokens')
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens))
    return refuse('max_tokens: Input should be a valid integer')
  return maxTokens >= 0 ? maxTokens : refuse('max_tokens: Input should be greater than or equal to 0')
}

function readSampling(body: JsonObject, headers: Headers): void {
  const sampling = ['temperature', 'top_p', 'top_k'].find(name => body[name] !== undefined)
  if (sampling !== undefined && headers.get('anthropic-version') === '2026-10-21')
    refuse(`${sampling}: Extra inputs are not permitted`)
  for (const name of ['temperature', 'top_p']) {
    const value = body[name]
    if (value !== undefined && (typeof value !== 'number' || value < 0 || value > 1))
      refuse(`${name}: range: 0..1`)
  }
}

/** True when thinking was asked for. */
function readThinking(body: JsonObject, prompt: Prompt): boolean {
  const thinking = asObject(body['thinking'])
  prompt.stopSequences = asArray(body['stop_sequences']).map(readStopSequence)
  if (thinking === undefined) return false
  if (thinking['type'] === 'disabled') {
    prompt.reasoning = 'off'
    return false
  }
  if (thinking['display'] === 'omitted') prompt.reasoning = 'hidden'
  if (thinking['type'] === 'enabled') checkBudget(asNumber(thinking['budget_tokens']), prompt.maxTokens)
  const temperature = body['temperature']
  if (temperature !== undefined && temperature !== 1)
    refuse('`temperature` may only be set to 1 when thinking is enabled.')
  if (body['top_k'] !== undefined) refuse('`top_k` must be unset when thinking is enabled.')
  const topP = asNumber(body['top_p'])
  if (topP !== undefined && topP < 0.95)
    refuse('`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.')
  return true
}

function checkBudget(budget: number | undefined, maxTokens: number | undefined): void {
  const tokens = requireField(budget, 'thinking.enabled.budget_tokens')
  if (tokens < 1024) refuse('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  if (maxTokens !== undefined && tokens >= maxTokens)
    refuse('`max_tokens` must be greater than `thinking.budget_tokens`.')
}

function readStopSequence(value: JsonValue): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  return refuse('stop_sequences: each stop sequence must contain non-whitespace')
}

function readTools(body: JsonObject, prompt: Prompt): void {
  const names = new Set<JsonValue | undefined>()
  for (const [index, value] of asArray(body['tools']).entries()) {
    const tool = asObject(value) ?? refuse(`tools.${index}: Input should be a valid dictionary`)
    addText(prompt, JSON.stringify({ ...tool, cache_control: undefined }), markOf(tool))
    const { type, name } = tool
    if (name !== undefined && names.has(name)) refuse('tools: Tool names must be unique.')
    names.add(name)
    if (type !== undefined && type !== 'custom') continue
    prompt.tools.push(readTool(tool, `tools.${index}.custom`))
  }
  changeTools(body, prompt)
}

/** A system message may bring a tool, another one of the same name, or take one away. */
function changeTools(body: JsonObject, prompt: Prompt): void {
  const known = new Map(prompt.tools.map(tool => [tool.name, tool]))
  const offered = new Map(known)
  for (const [index, message] of asArray(body['messages']).map(asObject).entries()) {
    if (message?.['role'] !== 'system') continue
    for (const [at, block] of asArray(message['content']).map(asObject).entries()) {
      if (block?.['type'] !== 'tool_addition' && block?.['type'] !== 'tool_removal') continue
      const path = `messages.${index}.content.${at}.tool`
      const tool = requireField(asObject(block['tool']), path)
      const definition = asObject(tool['definition'])
      const brought = definition && readTool(definition, `${path}.tool_definition.definition`)
      if (brought !== undefined) known.set(brought.name, brought)
      const name = brought?.name ?? requireField(asString(tool['name']), `${path}.tool_reference.name`)
      const changed = known.get(name) ?? refuse(`${path}: no tool is named '${name}'`)
      if (block['type'] === 'tool_addition') offered.set(name, changed)
      else offered.delete(name)
    }
  }
  prompt.tools = [...offered.values()]
}

const KEY = /^[a-zA-Z0-9_.-]{1,64}$/

function readTool(tool: JsonObject, path: string): OfferedTool {
  const name = requireField(asString(tool['name']), `${path}.name`)
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name))
    refuse(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  const schema = requireField(asObject(tool['input_schema']), `${path}.input_schema`)
  if (schema['type'] === undefined) refuse(`${path}.input_schema.type: Field required`)
  if (schema['type'] !== 'object') refuse(`${path}.input_schema.type: Input should be 'object'`)
  const keys = Object.keys(asObject(schema['properties']) ?? {})
  if (!keys.every(key => KEY.test(key)))
    refuse(`${path}.input_schema.properties: Property keys should match pattern '${KEY.source}'`)
  return { name, kind: 'function', schema }
}

function readToolChoice(body: JsonObject, prompt: Prompt, thinks: boolean): ToolChoice {
  if (body['tool_choice'] === undefined) return { mode: 'auto', allowed: undefined }
  const choice = asObject(body['tool_choice']) ?? refuse('tool_choice: Input should be a valid dictionary')
  if (asArray(body['tools']).length === 0) refuse('tool_choice may only be specified while providing tools')
  prompt.parallelCalls = choice['disable_parallel_tool_use'] !== true
  const type = choice['type']
  if (type === 'auto' || type === 'none') return { mode: type, allowed: undefined }
  if (thinks) refuse('Thinking may not be enabled when tool_choice forces tool use.')
  if (type === 'any') return { mode: 'required', allowed: undefined }
  if (type !== 'tool')
    refuse("tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'")
  const name = requireField(asString(choice['name']), 'tool_choice.tool.name')
  // A tool of a type of its own can be forced, too (Claude Code's web search).
  const isTyped = (tool: JsonObject | undefined) => (tool?.['type'] ?? 'custom') !== 'custom'
  const typed = asArray(body['tools']).map(asObject).filter(isTyped)
  if (![...typed.map(tool => tool?.['name']), ...prompt.tools.map(tool => tool.name)].includes(name))
    refuse(`Tool '${name}' not found in provided tools`)
  return { mode: 'required', allowed: [name] }
}

function readSystem(system: JsonValue | undefined, prompt: Prompt): void {
  if (system === undefined) return
  if (typeof system === 'string') return addText(prompt, system)
  if (!Array.isArray(system)) refuse('system: Input should be a valid string or list')
  for (const [index, value] of asArray(system).entries()) {
    const block = asObject(value) ?? refuse(`system.${index}: Input should be a valid dictionary`)
    if (block['type'] !== 'text') refuse(`system.${index}.type: Input should be 'text'`)
    const text = requireField(asString(block['text']), `system.${index}.text`)
    if (text === '') refuse('system: text content blocks must be non-empty')
    addText(prompt, text, markOf(block))
  }
}

function readFormat(body: JsonObject): Prompt['output'] {
  const format = asObject(asObject(body['output_config'])?.['format'] ?? body['output_format'])
  if (format === undefined) return undefined
  if (format['type'] !== 'json_schema') refuse("output_config.format.type: Input should be 'json_schema'")
  const schema = requireField(asObject(format['schema']), 'output_config.format.schema')
  checkOutputSchema(schema)
  return schema
}

const UNSUPPORTED_KEYWORDS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
]

function checkOutputSchema(schema: JsonValue | undefined): void {
  if (!isJsonObject(schema)) return
  const where = 'output_config.format.schema'
  if (schema['type'] === 'object' && schema['additionalProperties'] !== false) {
    refuse(`${where}: For 'object' type, 'additionalProperties' must be explicitly set to false`)
  }
  const unsupported = UNSUPPORTED_KEYWORDS.filter(name => schema[name] !== undefined)
  if (unsupported.length > 0)
    refuse(`${where}: For '${schema['type']}' type, properties ${unsupported.join(', ')} are not supported`)
  if (!['type', 'enum', 'const', 'anyOf', 'allOf', '$ref'].some(name => schema[name] !== undefined)) {
    refuse(`${where}: Invalid schema: Schema type is missing for schema: ${JSON.stringify(schema)}`)
  }
  const { type, enum: values } = schema
  if (values !== undefined && asArray(values).length === 0) {
    refuse(`${where}: Invalid schema: Enum must be a non-empty array`)
  }
  if (Array.isArray(type) && values !== undefined) {
    refuse(`${where}: Invalid schema: Enum value does not match declared type '${JSON.stringify(type)}'`)
  }
  for (const property of Object.values(asObject(schema['properties']) ?? {})) checkOutputSchema(property)
  for (const definition of Object.values(asObject(schema['$defs']) ?? {})) checkOutputSchema(definition)
  for (const choice of asArray(schema['anyOf'])) checkOutputSchema(choice)
  checkOutputSchema(schema['items'])
}

/** A mark at the top level stands for one on the last block. */
function markLast(body: JsonObject, prompt: Prompt): void {
  const last = prompt.segments.at(-1)
  if (last !== undefined) last.mark ??= markOf(body)
}

function checkMarks(segments: Segment[]): void {
  const marks = segments.map(segment => segment.mark).filter(mark => mark !== undefined)
  if (marks.length > 4)
    refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`)
  const firstShort = marks.indexOf('5m')
  if (firstShort >= 0 && marks.lastIndexOf('1h') > firstShort) {
    refuse("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
  }
}
