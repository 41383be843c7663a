import fc from 'fast-check'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { signReasoning } from '@/simulator/script/signature.ts'

type Json = fc.Arbitrary<JsonValue>
type Fields = Readonly<Record<string, Json>>

/** An object with all of the first fields and some of the others. */
function object(required: Fields, optional: Fields = {}): fc.Arbitrary<JsonObject> {
  return fc.record<Record<string, JsonValue>, string>(
    { ...required, ...optional },
    { requiredKeys: Object.keys(required) },
  )
}

function oneOf(...values: readonly JsonValue[]): Json {
  return fc.constantFrom(...values)
}

/** A list of up to so many, of one or more where it may not be empty. */
function list(item: Json, maxLength: number, minLength = 0): Json {
  return fc.array(item, { minLength, maxLength })
}

const PNG = 'iVBORw0KGgo='
const INLINE_PNG = { inlineData: { mimeType: 'image/png', data: PNG } }
const MARK = { cache_control: { type: 'ephemeral' } }

/** What OpenAI sealed, and how a caller of another format was given it. */
const SEALED = signReasoning('openai-responses', '')
const wrapped = (format: Format) =>
  oneOf('c2ln', wrapSignature({ format: 'openai-responses', vendor: 'openai', value: SEALED }, format))

const text = oneOf('hi', '', ' ', '\n', '\0', '\u2028👋', '<think>a</think>', '{"a":1}', 'null')
const id = oneOf('call_1', 'call_2', 'toolu:3', 'a.b', 'ünï', 'x'.repeat(64), 'y'.repeat(90))
const name = oneOf('f', 'get.weather', 'mcp__a__b', 'a b', '1x', 'ünï', 'n'.repeat(64), 'm'.repeat(80))
const input = oneOf({}, { city: 'Bonn' }, { n: [1, { m: null }] })
const argumentsText = input.map(value => JSON.stringify(value))
const stop = list(oneOf('END', '\n'), 4, 1)

/** What servers of tools say of an argument. */
const argument = oneOf(
  { type: 'string', pattern: '^(?!__)[^\\p{Cc}]{1,200}$' },
  { type: 'array' },
  { type: ['array', 'null'], items: true },
  { anyOf: [{ type: 'object', properties: { a: { type: 'array' } } }, { type: 'null' }] },
  { type: 'object', additionalProperties: { type: 'string', pattern: '[\\w-.]+' } },
  {},
)
const parameters = fc.oneof(
  argument.map(a => ({ type: 'object', properties: { a } })),
  argument.map(a => ({ anyOf: [{ type: 'object', properties: { a } }] })),
  argument.map(a => ({ $ref: '#/$defs/b', $defs: { a, b: { properties: { a: { $ref: '#/$defs/a' } } } } })),
  oneOf({ type: 'object' }),
)

function tools(tool: (name: JsonValue, parameters: JsonValue) => JsonObject): Json {
  return list(
    fc.tuple(name, parameters).map(said => tool(...said)),
    4,
    1,
  )
}

// OpenAI's Chat Completions.

const texts = fc.oneof(text, list(object({ type: oneOf('text'), text }), 3, 1))
const chatCall = object({ id, type: oneOf('function'), function: object({ name, arguments: argumentsText }) })
const image = { url: `data:image/png;base64,${PNG}` }
const chatMessage = fc.oneof(
  object({ role: oneOf('user', 'system', 'developer'), content: texts }),
  object({ role: oneOf('user'), content: oneOf([{ type: 'image_url', image_url: image }]) }),
  object(
    { role: oneOf('assistant'), content: texts },
    { tool_calls: list(chatCall, 3, 1), refusal: text, reasoning_content: text },
  ),
  object({ role: oneOf('tool'), tool_call_id: id, content: texts }),
)
const chat = object(
  { messages: list(chatMessage, 7, 1) },
  {
    tools: tools((name, parameters) => ({ type: 'function', function: { name, parameters } })),
    tool_choice: oneOf('auto', 'none', 'required'),
    parallel_tool_calls: oneOf(true, false),
    stop,
    response_format: oneOf({ type: 'json_object' }, { type: 'text' }),
    user: oneOf('u'.repeat(200)),
    logprobs: oneOf(true, false),
    temperature: oneOf(0, 2),
  },
)

// OpenAI's Responses.

const inputPart = fc.oneof(
  object({ type: oneOf('input_text'), text }),
  oneOf({ type: 'input_image', image_url: image.url, detail: 'auto' }),
)
const item = fc.oneof(
  object({ role: oneOf('user', 'system', 'developer', 'assistant'), content: text }),
  object({ role: oneOf('user'), content: list(inputPart, 3, 1) }),
  object(
    { type: oneOf('reasoning'), id: oneOf('rs_1'), summary: oneOf([{ type: 'summary_text', text: 's' }]) },
    { encrypted_content: oneOf(SEALED) },
  ),
  object({ type: oneOf('function_call'), call_id: id, name, arguments: argumentsText }),
  object({
    type: oneOf('function_call_output'),
    call_id: id,
    output: fc.oneof(text, list(inputPart, 3, 1)),
  }),
  object({ type: oneOf('custom_tool_call'), call_id: id, name, input: text }),
  object({ type: oneOf('custom_tool_call_output'), call_id: id, output: text }),
  oneOf({ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }),
)
const responses = object(
  { input: list(item, 8, 1) },
  {
    instructions: text,
    tools: tools((name, parameters) => ({ type: 'function', name, parameters, strict: false })),
    tool_choice: oneOf('auto', 'none', 'required'),
    text: oneOf({ format: { type: 'json_object' } }, { verbosity: 'medium' }),
    reasoning: oneOf({ effort: 'high', summary: 'auto' }, { effort: 'none' }),
    max_output_tokens: oneOf(16, 9000),
  },
)

// Anthropic's Messages.

const block = fc.oneof(
  object({ type: oneOf('text'), text }, { cache_control: oneOf(MARK.cache_control) }),
  oneOf(
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' } },
  ),
)
const result = object(
  { type: oneOf('tool_result'), tool_use_id: id },
  { content: fc.oneof(text, list(block, 3)), is_error: oneOf(true, false) },
)
const said = fc.oneof(
  object({ type: oneOf('text'), text }),
  object({ type: oneOf('tool_use'), id, name, input }),
  object({ type: oneOf('thinking'), thinking: text, signature: wrapped('anthropic-messages') }),
  oneOf(
    { type: 'redacted_thinking', data: 'abc' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
  ),
)
const messages = object(
  {
    max_tokens: oneOf(1, 32_000),
    messages: list(
      fc.oneof(
        object({ role: oneOf('user'), content: fc.oneof(text, list(fc.oneof(block, result), 4)) }),
        object({ role: oneOf('assistant'), content: fc.oneof(text, list(said, 4)) }),
      ),
      7,
      1,
    ),
  },
  {
    system: fc.oneof(
      text,
      list(
        text.map(words => ({ type: 'text', text: words, ...MARK })),
        3,
      ),
    ),
    tools: tools((name, input_schema) => ({ name, input_schema, description: name })),
    tool_choice: oneOf({ type: 'any' }, { type: 'auto', disable_parallel_tool_use: true }),
    stop_sequences: stop,
    thinking: oneOf({ type: 'enabled', budget_tokens: 2000 }, { type: 'adaptive' }),
    metadata: oneOf({ user_id: 'u'.repeat(200) }, { user_id: null }),
    output_config: argument.map(a => ({
      format: { type: 'json_schema', schema: { type: 'object', properties: { a } } },
    })),
  },
)

// Google's Gemini.

const part = fc.oneof(
  object({ text }, { thought: oneOf(true), thoughtSignature: wrapped('gemini-generate-content') }),
  oneOf(INLINE_PNG, { executableCode: { language: 'PYTHON', code: '1' } }),
  object(
    { functionCall: object({ name, args: input }, { id }) },
    { thoughtSignature: wrapped('gemini-generate-content') },
  ),
  object({
    functionResponse: object(
      { name, response: oneOf({ output: '' }, { error: 'bad' }, {}) },
      { id, parts: oneOf([INLINE_PNG]) },
    ),
  }),
)
const gemini = object(
  { contents: list(object({ role: oneOf('user', 'model'), parts: list(part, 4) }), 7, 1) },
  {
    systemInstruction: object({ parts: list(object({ text }), 3) }),
    tools: tools((name, parametersJsonSchema) => ({
      functionDeclarations: [{ name, parametersJsonSchema }],
    })),
    toolConfig: oneOf(...['ANY', 'NONE'].map(mode => ({ functionCallingConfig: { mode } }))),
    generationConfig: object(
      {},
      {
        responseMimeType: oneOf('application/json', 'text/plain'),
        thinkingConfig: oneOf({ includeThoughts: true }, { thinkingBudget: 0 }),
        stopSequences: stop,
        maxOutputTokens: oneOf(1, 9000),
      },
    ),
    labels: oneOf(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, 'v']))),
  },
)

/** What each caller's own vendor takes and hardly another does: odd texts, ids, names and schemas, calls without results and the reverse. */
export const HOSTILE: Record<Format, fc.Arbitrary<JsonObject>> = {
  'openai-chat-completions': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'gemini-generate-content': gemini,
}
