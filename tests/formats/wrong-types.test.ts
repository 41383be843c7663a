import { expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

const [CHAT, RESPONSES, MESSAGES, GEMINI] = FORMATS

const chat = (more: JsonObject) => ({ messages: [{ role: 'user', content: 'hi' }], ...more })
const input = (item: JsonObject) => ({ input: [{ role: 'user', content: 'hi' }, item] })
const said = (part: JsonObject) => input({ role: 'user', content: [part] })
const responses = (more: JsonObject) => ({ input: 'hi', ...more })
const messages = (more: JsonObject) => ({
  max_tokens: 90,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})
const block = (content: JsonObject) => messages({ messages: [{ role: 'user', content: [content] }] })
const gemini = (more: JsonObject) => ({ contents: [{ parts: [{ text: 'hi' }] }], ...more })
const schema = { type: 'object' }
const custom = (format: JsonValue) => [{ type: 'custom', custom: { name: 'f', format } }]

/** Each with the one thing in it that is of a wrong type. Read as nothing, it would be lost without a word. */
const CASES: readonly (readonly [Format, string, JsonObject])[] = [
  [CHAT, 'web_search_options.user_location', chat({ web_search_options: { user_location: 'here' } })],
  [
    CHAT,
    'tools[0].allowed_domains',
    chat({ tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: 'a.example' }] }),
  ],
  [CHAT, 'tools[0].filters', chat({ tools: [{ type: 'web_search', filters: ['a.example'] }] })],
  [CHAT, 'tools[0].custom.format', chat({ tools: custom('lark') })],
  [
    CHAT,
    'tools[0].custom.format.grammar.definition',
    chat({ tools: custom({ type: 'grammar', grammar: { syntax: 'lark', definition: 5 } }) }),
  ],
  [
    CHAT,
    'response_format.json_schema.description',
    chat({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema, description: 5 } } }),
  ],
  [
    CHAT,
    'messages[0].content[0].prompt_cache_breakpoint',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', prompt_cache_breakpoint: true }] }] },
  ],
  [
    CHAT,
    'web_search_options.user_location.approximate.city',
    chat({ web_search_options: { user_location: { type: 'approximate', approximate: { city: 5 } } } }),
  ],
  [CHAT, 'tools[0].custom.format.type', chat({ tools: custom({ type: 5 }) })],
  [CHAT, 'reasoning.max_tokens', chat({ reasoning: { max_tokens: '2000' } })],
  [CHAT, 'reasoning.exclude', chat({ reasoning: { exclude: 'yes' } })],
  [
    CHAT,
    'messages[0].content[0].file.filename',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f', filename: 5 } }] }] },
  ],
  [
    CHAT,
    'messages[0].content[0].cache_control',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: [{}] }] }] },
  ],
  [CHAT, 'messages[0].images', { messages: [{ role: 'assistant', content: 'a', images: 'b' }] }],
  [
    CHAT,
    'messages[0].extra_content.google.thought_signature',
    {
      messages: [
        { role: 'assistant', content: 'a', extra_content: { google: { thought_signature: ['c2ln'] } } },
      ],
    },
  ],
  [CHAT, 'safety_identifier', chat({ safety_identifier: 5 })],
  [CHAT, 'stream_options.include_obfuscation', chat({ stream_options: { include_obfuscation: 'no' } })],
  [
    RESPONSES,
    'stream_options.include_obfuscation',
    responses({ stream_options: { include_obfuscation: 1 } }),
  ],
  [RESPONSES, 'input[1].name', input({ type: 'function_call_output', call_id: 'c', name: 5, output: 'a' })],
  [
    RESPONSES,
    'input[1].output_format',
    input({ type: 'image_generation_call', id: 'i', status: 'completed', result: 'aQ==', output_format: 5 }),
  ],
  [
    RESPONSES,
    'input[1].action.type',
    input({ type: 'local_shell_call', call_id: 'c', action: { type: 5, command: ['ls'], env: {} } }),
  ],
  [
    RESPONSES,
    'tools[0].environment.type',
    responses({ tools: [{ type: 'shell', environment: { type: ['container_auto'] } }] }),
  ],
  [RESPONSES, 'input[1].type', input({ type: 5, role: 'user', content: 'a' })],
  [RESPONSES, 'input[1].content[0].type', said({ type: 5, text: 'a' })],
  [RESPONSES, 'input[1].tools', input({ type: 'additional_tools', role: 'developer', tools: {} })],
  [RESPONSES, 'input[1].content', input({ type: 'reasoning', summary: [], content: {} })],
  [
    RESPONSES,
    'input[1].output[0].stdout',
    input({ type: 'shell_call_output', call_id: 'c', output: [{ stdout: ['a'], stderr: '' }] }),
  ],
  [RESPONSES, 'instructions[0].type', { input: 'hi', instructions: [{}] }],
  [
    RESPONSES,
    'tools[0].filters.allowed_domains',
    responses({ tools: [{ type: 'web_search', filters: { allowed_domains: 'a.example' } }] }),
  ],
  [RESPONSES, 'tools[0].environment', responses({ tools: [{ type: 'shell', environment: 'local' }] })],
  [RESPONSES, 'stream_options', responses({ stream_options: true })],
  [RESPONSES, 'input[1].content[0].text', said({ type: 'input_text', text: 5 })],
  [RESPONSES, 'input[1].content[0].refusal', said({ type: 'refusal', refusal: ['no'] })],
  [RESPONSES, 'input[1].content[0].filename', said({ type: 'input_file', file_id: 'f', filename: 5 })],
  [RESPONSES, 'input[1].output', input({ type: 'function_call_output', call_id: 'c', output: 5 })],
  [RESPONSES, 'input[1].call_id', input({ type: 'function_call_output', id: 'i', call_id: 5, output: 'a' })],
  [
    RESPONSES,
    'input[1].summary[0].text',
    input({ type: 'reasoning', summary: [{ type: 'summary_text', text: {} }] }),
  ],
  [RESPONSES, 'text.format', responses({ text: { format: 'json' } })],
  [
    RESPONSES,
    'text.format.strict',
    responses({ text: { format: { type: 'json_schema', name: 'a', schema, strict: 'yes' } } }),
  ],
  [
    RESPONSES,
    'tools[0].parameters',
    responses({ tools: [{ type: 'function', name: 'f', parameters: 'x' }] }),
  ],
  [RESPONSES, 'tools[0].strict', responses({ tools: [{ type: 'function', name: 'f', strict: 1 }] })],
  [RESPONSES, 'tools[0].tools', responses({ tools: [{ type: 'namespace', name: 'n', tools: 'f' }] })],
  [
    RESPONSES,
    'tools[0].filters.allowed_domains[0]',
    responses({ tools: [{ type: 'web_search', filters: { allowed_domains: [5] } }] }),
  ],
  [
    MESSAGES,
    'messages[0].content[0].title',
    block({ type: 'document', source: { type: 'text', data: 'a' }, title: 5 }),
  ],
  [MESSAGES, 'messages[0].content[0].cache_control', block({ type: 'text', text: 'a', cache_control: true })],
  [
    MESSAGES,
    'messages[0].content[0].source.content[0].text',
    block({ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 5 }] } }),
  ],
  [
    MESSAGES,
    'messages[0].content[0].content[0]',
    block({ type: 'search_result', source: 's', title: 't', content: ['a'] }),
  ],
  [
    MESSAGES,
    'messages[0].content[0].is_error',
    block({ type: 'tool_result', tool_use_id: 'c', is_error: 'no' }),
  ],
  [MESSAGES, 'metadata.user_id', messages({ metadata: { user_id: 5 } })],
  [MESSAGES, 'thinking.budget_tokens', messages({ thinking: { type: 'enabled', budget_tokens: '2048' } })],
  [
    MESSAGES,
    'output_config.format.schema',
    messages({ output_config: { format: { type: 'json_schema', schema: '{}' } } }),
  ],
  [MESSAGES, 'tools[0].input_schema', messages({ tools: [{ name: 'f', input_schema: '{}' }] })],
  [
    MESSAGES,
    'tools[0].input_schema.properties',
    messages({ tools: [{ name: 'f', input_schema: { type: 'object', properties: ['a'] } }] }),
  ],
  [
    MESSAGES,
    'tools[0].input_schema.required',
    messages({ tools: [{ name: 'f', input_schema: { type: 'object', required: 'a' } }] }),
  ],
  [MESSAGES, 'tools[0].input_schema.type', messages({ tools: [{ name: 'f', input_schema: { type: 5 } }] })],
  [
    MESSAGES,
    'tools[0].defer_loading',
    messages({ tools: [{ type: 'bash_20250124', name: 'bash', defer_loading: 'no' }] }),
  ],
  [MESSAGES, 'tools[0].type', messages({ tools: [{ type: 5, name: 'f', input_schema: {} }] })],
  [
    MESSAGES,
    'tools[0].max_uses',
    messages({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: '3' }] }),
  ],
  [
    MESSAGES,
    'tool_choice.disable_parallel_tool_use',
    messages({ tool_choice: { type: 'auto', disable_parallel_tool_use: 'yes' } }),
  ],
  [
    MESSAGES,
    'messages[0].content[0].source.content[0]',
    block({ type: 'document', source: { type: 'content', content: ['a'] } }),
  ],
  [
    MESSAGES,
    'messages[0].content[0].content',
    block({ type: 'search_result', source: 's', title: 't', content: {} }),
  ],
  [
    MESSAGES,
    'tools[0].allowed_domains',
    messages({
      tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: 'a.example' }],
    }),
  ],
  [
    MESSAGES,
    'tools[0].user_location.city',
    messages({
      tools: [
        {
          type: 'web_search_20250305',
          name: 'web_search',
          user_location: { type: 'approximate', city: 5 },
        },
      ],
    }),
  ],
  [
    GEMINI,
    'tools[0].googleSearch.excludeDomains',
    gemini({ tools: [{ googleSearch: { excludeDomains: 'a' } }] }),
  ],
  [
    GEMINI,
    'tools[0].googleSearch.searchTypes',
    gemini({ tools: [{ googleSearch: { searchTypes: 'web' } }] }),
  ],
  [
    GEMINI,
    'generationConfig.responseFormat.text.schema',
    gemini({
      generationConfig: { responseFormat: { text: { mimeType: 'APPLICATION_JSON', schema: '{}' } } },
    }),
  ],
  [GEMINI, 'generationConfig.topP', gemini({ generationConfig: { topP: 1.5 } })],
  [GEMINI, 'generation_config.temperature', gemini({ generation_config: { temperature: 3 } })],
  [
    GEMINI,
    'tools[0].googleSearch.excludeDomains[0]',
    gemini({ tools: [{ googleSearch: { excludeDomains: [5] } }] }),
  ],
]

/** The numbers of a field that its API takes last, and those that it refuses first. */
const RANGES: readonly (readonly [Format, string, (value: number) => JsonObject, number[], number[]])[] = [
  [CHAT, 'temperature', temperature => chat({ temperature }), [0, 2], [-0.1, 2.1]],
  [CHAT, 'top_p', top_p => chat({ top_p }), [0, 1], [-0.1, 1.1]],
  [RESPONSES, 'temperature', temperature => responses({ temperature }), [0, 2], [-0.1, 2.1]],
  [RESPONSES, 'top_p', top_p => responses({ top_p }), [0, 1], [-0.1, 1.1]],
  [RESPONSES, 'top_logprobs', top_logprobs => responses({ top_logprobs }), [0, 20], [-1, 21]],
  [CHAT, 'top_logprobs', top_logprobs => chat({ logprobs: true, top_logprobs }), [0, 20], [-1, 21]],
  [MESSAGES, 'temperature', temperature => messages({ temperature }), [0, 1], [-0.1, 1.1]],
  [MESSAGES, 'top_p', top_p => messages({ top_p }), [0, 1], [-0.1, 1.1]],
  [MESSAGES, 'top_k', top_k => messages({ top_k }), [0, 500], [-1]],
]

test.each(RANGES)(
  '%s: %s is taken as far as the API takes it, and no further',
  (format, param, body, taken, refused) => {
    const read = (value: number) => CODECS[format].decodeRequest(body(value), { model: 'm', stream: false })
    for (const value of taken) expect(() => read(value)).not.toThrow()
    for (const value of refused) {
      expect(() => read(value)).toThrow(expect.objectContaining({ kind: 'invalid_request', param }))
    }
  },
)

test.each(CASES)('%s: a wrong type of %s is refused by this name', (format, param, body) => {
  expect(() => CODECS[format].decodeRequest(body, { model: 'm', stream: false })).toThrow(
    expect.objectContaining({
      kind: 'invalid_request',
      param,
      message: expect.stringContaining(`Invalid value for '${param}': `),
    }),
  )
})
