import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

const [CHAT, RESPONSES, MESSAGES, GEMINI] = FORMATS

/** What of a caller's request an upstream of another format is not told. */
function lost(from: Format, to: Format, body: JsonObject): string[] {
  const request = CODECS[from].decodeRequest(body, { model: 'm', stream: false })
  const { losses } = lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
  return nameLosses(losses, CODECS[from], body)
}

const PNG = 'iVBORw0KGgo='
const chat = (content: JsonValue, role = 'user', more: JsonObject = {}) => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role, content, ...more },
  ],
})
const chatTool = (more: JsonObject) => ({ messages: [{ role: 'user', content: 'hi' }], ...more })
const responses = (...items: JsonObject[]) => ({ input: [{ role: 'user', content: 'hi' }, ...items] })
const messages = (...content: JsonObject[]) => ({ max_tokens: 90, messages: [{ role: 'user', content }] })
const said = (...content: JsonObject[]) => ({
  max_tokens: 90,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'and?' },
  ],
})
const gemini = (...parts: JsonObject[]) => ({
  contents: [{ role: 'user', parts: [{ text: 'hi' }, ...parts] }],
})
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const answered = { type: 'function_call_output', call_id: 'c', output: 'x' }
const use = { type: 'tool_use', id: 'c', name: 'f', input: {} }
const mark = { type: 'ephemeral', ttl: '5m' }

const CASES: readonly (readonly [Format, JsonObject, string])[] = [
  [
    CHAT,
    chatTool({ tools: [{ type: 'function', function: { name: 'f' } }], functions: [{ name: 'g' }] }),
    'functions',
  ],
  [
    CHAT,
    chatTool({
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'auto',
      function_call: 'none',
    }),
    'function_call',
  ],
  [CHAT, chatTool({ max_completion_tokens: 100, max_tokens: 50 }), 'max_tokens'],
  [CHAT, chatTool({ cache_control: { ...mark, scope: 'global' } }), 'cache_control.scope'],
  [
    MESSAGES,
    {
      ...messages({ type: 'text', text: 'hi' }),
      system: [{ type: 'text', text: 'a', citations: [{ type: 'char_location', cited_text: 'a' }] }],
    },
    'system.citations',
  ],
  [CHAT, chat([{ type: 'text', text: 'a', tone: 'dry' }]), 'messages.content.tone'],
  [
    CHAT,
    chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, crop: 1 } }]),
    'messages.content.image_url.crop',
  ],
  [
    CHAT,
    chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'ultra' } }]),
    'messages.content.image_url.detail',
  ],
  [
    CHAT,
    chat([{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', pages: '1-2' } }]),
    'messages.content.file.pages',
  ],
  [
    CHAT,
    chat([{ type: 'text', text: 'a', cache_control: { ...mark, scope: 'global' } }]),
    'messages.content.cache_control.scope',
  ],
  // Of two sources in one part the first that says something is read.
  [
    CHAT,
    chat([{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', file_id: 'f' } }]),
    'messages.content.file.file_id',
  ],
  [
    RESPONSES,
    responses({
      role: 'user',
      content: [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, file_id: 'f' }],
    }),
    'input.content.file_id',
  ],
  [
    RESPONSES,
    responses({
      role: 'user',
      content: [
        { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=', file_url: 'https://a.b/c' },
      ],
    }),
    'input.content.file_url',
  ],
  [
    MESSAGES,
    messages({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: PNG, url: 'https://a.b/c' },
    }),
    'messages.content.source.url',
  ],
  [
    MESSAGES,
    messages({ type: 'image', source: { type: 'url', url: 'https://a.b/c', file_id: 'f' } }),
    'messages.content.source.file_id',
  ],
  [
    GEMINI,
    gemini({
      inlineData: { mimeType: 'image/png', data: PNG },
      fileData: { mimeType: 'image/png', fileUri: 'https://a.b/c' },
    }),
    'contents.parts.fileData',
  ],
  [
    GEMINI,
    gemini({
      functionResponse: { name: 'f', response: {} },
      inlineData: { mimeType: 'image/png', data: PNG },
    }),
    'contents.parts.inlineData',
  ],
  [CHAT, chat('a', 'user', { weight: 2 }), 'messages.weight'],
  [CHAT, chat('a', 'user', { name: 'Ada' }), 'messages.name'],
  [
    CHAT,
    chat('a', 'assistant', { annotations: [{ type: 'url_citation', url_citation: {} }] }),
    'messages.annotations',
  ],
  [
    CHAT,
    chat(null, 'assistant', {
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}', parsed: {} } }],
    }),
    'messages.tool_calls.function.parsed',
  ],
  [CHAT, chatTool({ tool_choice: { type: 'none', why: 'x' } }), 'tool_choice.why'],
  [CHAT, chatTool({ functions: [{ name: 'f', returns: {} }] }), 'functions.returns'],
  [
    CHAT,
    chatTool({ functions: [{ name: 'f' }], function_call: { name: 'f', why: 'x' } }),
    'function_call.why',
  ],
  [CHAT, chatTool({ response_format: { type: 'json_object', indent: 2 } }), 'response_format.indent'],
  [
    CHAT,
    chatTool({ response_format: { type: 'json_object', json_schema: {} } }),
    'response_format.json_schema',
  ],
  [
    CHAT,
    chatTool({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object' }, version: 2 },
      },
    }),
    'response_format.json_schema.version',
  ],
  [
    CHAT,
    chatTool({
      tools: [
        {
          type: 'custom',
          custom: { name: 'a', format: { type: 'grammar', grammar: { syntax: 'ebnf', definition: 'x' } } },
        },
      ],
    }),
    'tools.custom.format.grammar.syntax',
  ],
  [
    RESPONSES,
    responses({ role: 'user', content: [{ type: 'input_text', text: 'a', tone: 'dry' }] }),
    'input.content.tone',
  ],
  [RESPONSES, responses({ role: 'user', content: 'a', weight: 2 }), 'input.weight'],
  [
    RESPONSES,
    responses({
      role: 'user',
      content: [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'ultra' }],
    }),
    'input.content.detail',
  ],
  [
    RESPONSES,
    responses({ ...call, caller: { type: 'program', caller_id: 'x' } }, answered),
    'input.caller.caller_id',
  ],
  [RESPONSES, responses(call, { ...answered, cost: 3 }), 'input.cost'],
  [
    RESPONSES,
    responses({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'a' }],
      content: [{ type: 'reasoning_text', text: 'b' }],
    }),
    'input.summary',
  ],
  [
    RESPONSES,
    {
      input: 'hi',
      tools: [{ type: 'namespace', name: 'n', icon: 'x', tools: [{ name: 'f', parameters: {} }] }],
    },
    'tools.icon',
  ],
  [
    RESPONSES,
    {
      input: 'hi',
      tools: [{ type: 'namespace', name: 'n', tools: [{ name: 'f', parameters: {}, output_schema: {} }] }],
    },
    'tools.tools.output_schema',
  ],
  [
    RESPONSES,
    responses({
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'function', name: 'f', icon: 'x' }],
    }),
    'input.tools.icon',
  ],
  [RESPONSES, { input: 'hi', text: { format: { type: 'json_object', indent: 2 } } }, 'text.format.indent'],
  [MESSAGES, messages({ type: 'text', text: 'a', tone: 'dry' }), 'messages.content.tone'],
  [
    MESSAGES,
    messages({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG, crop: 1 } }),
    'messages.content.source.crop',
  ],
  [
    MESSAGES,
    messages({ type: 'text', text: 'a', cache_control: { ...mark, scope: 'global' } }),
    'messages.content.cache_control.scope',
  ],
  [
    MESSAGES,
    messages({ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '2h' } }),
    'messages.content.cache_control.ttl',
  ],
  [
    MESSAGES,
    messages({
      type: 'search_result',
      source: 's',
      title: 't',
      content: [{ type: 'text', text: 'a' }],
      citations: { enabled: true },
    }),
    'messages.content.citations.enabled',
  ],
  [
    MESSAGES,
    { ...said({ ...use, caller: { type: 'code_execution_20250825', tool_id: 'x' } }) },
    'messages.content.caller.tool_id',
  ],
  [
    MESSAGES,
    { ...messages({ type: 'text', text: 'a' }), system: [{ type: 'text', text: 'b', tone: 'dry' }] },
    'system.tone',
  ],
  [
    MESSAGES,
    {
      ...messages({ type: 'text', text: 'a' }),
      system: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
    },
    'system',
  ],
  [
    MESSAGES,
    { ...messages({ type: 'text', text: 'a' }), tool_choice: { type: 'auto', why: 'x' } },
    'tool_choice.why',
  ],
  [
    MESSAGES,
    {
      ...messages({ type: 'text', text: 'a' }),
      tools: [{ name: 'f', input_schema: {}, allowed_callers: ['code_execution_20250825'] }],
    },
    'tools.allowed_callers',
  ],
  [
    MESSAGES,
    {
      ...messages({ type: 'text', text: 'a' }),
      output_config: { format: { type: 'json_schema', schema: { type: 'object' }, version: 2 } },
    },
    'output_config.format.version',
  ],
  [GEMINI, gemini({ text: 'a', tone: 'dry' }), 'contents.parts.tone'],
  [
    GEMINI,
    gemini({ inlineData: { mimeType: 'image/png', data: PNG, crop: 1 } }),
    'contents.parts.inlineData.crop',
  ],
  [
    GEMINI,
    gemini({ inlineData: { mimeType: 'image/png', data: PNG }, video_metadata: { fps: 1 } }),
    'contents.parts.videoMetadata',
  ],
  [
    GEMINI,
    gemini({ functionResponse: { name: 'f', response: {}, scheduling: 'WHEN_IDLE' } }),
    'contents.parts.functionResponse.scheduling',
  ],
  [GEMINI, { contents: [{ parts: [{ text: 'a' }], weight: 2 }] }, 'contents.weight'],
  [
    GEMINI,
    { ...gemini(), systemInstruction: { parts: [{ text: 'a', tone: 'dry' }] } },
    'systemInstruction.parts.tone',
  ],
  [
    GEMINI,
    {
      contents: [
        { role: 'model', parts: [{ thought: true, inlineData: { mimeType: 'image/png', data: PNG } }] },
        ...gemini().contents,
      ],
    },
    'contents.parts.inlineData',
  ],
]

const SEARCH: JsonObject = { search_context_size: 'low' }
/** With which models of OpenAI's refuse log probabilities. */
const THINKING: JsonObject = { thinkingConfig: { thinkingBudget: 2000 } }
const EFFORT: JsonObject = {
  thinking: { type: 'enabled', budget_tokens: 2048 },
  output_config: { effort: 'low' },
}

test.each<[Format, Format, JsonObject, string]>([
  [CHAT, MESSAGES, chatTool({ top_logprobs: 2 }), 'top_logprobs'],
  [CHAT, GEMINI, chatTool({ web_search_options: SEARCH }), 'web_search_options.search_context_size'],
  [RESPONSES, CHAT, { input: 'hi', reasoning: { effort: 'low', summary: 'concise' } }, 'reasoning.summary'],
  [RESPONSES, GEMINI, { input: 'hi', user: 'u', safety_identifier: 's' }, 'safety_identifier'],
  [
    RESPONSES,
    CHAT,
    { input: 'hi', reasoning: { effort: 'low' }, include: ['message.output_text.logprobs'] },
    'include',
  ],
  [MESSAGES, CHAT, { ...messages({ type: 'text', text: 'a' }), ...EFFORT }, 'thinking.budget_tokens'],
  [MESSAGES, RESPONSES, { ...messages({ type: 'text', text: 'a' }), ...EFFORT }, 'thinking.budget_tokens'],
  [MESSAGES, GEMINI, { ...messages({ type: 'text', text: 'a' }), ...EFFORT }, 'output_config.effort'],
  [GEMINI, RESPONSES, { ...gemini(), generationConfig: { logprobs: 2 } }, 'generationConfig.logprobs'],
  [
    GEMINI,
    RESPONSES,
    { ...gemini(), tools: [{ googleSearch: { excludeDomains: ['a.example'] } }] },
    'tools.googleSearch.excludeDomains',
  ],
  [
    GEMINI,
    MESSAGES,
    gemini({ fileData: { fileUri: 'https://a.example/a.png', displayName: 'a' } }),
    'contents.parts.fileData.displayName',
  ],
  [
    GEMINI,
    CHAT,
    { ...gemini(), toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['f'] } } },
    'toolConfig.functionCallingConfig.allowedFunctionNames',
  ],
  [
    GEMINI,
    CHAT,
    {
      ...gemini(),
      generation_config: { ...THINKING, response_schema: { type: 'OBJECT' }, responseLogprobs: true },
    },
    'generationConfig.responseLogprobs',
  ],
])('%s to %s: a loss is called as the caller called it', (from, to, body, name) => {
  expect(lost(from, to, body)).toContain(name)
})

test('how many log probabilities are told is no loss beside that of all', () => {
  const asked = { ...gemini(), generationConfig: { ...THINKING, responseLogprobs: true, logprobs: 2 } }
  expect(lost(GEMINI, CHAT, asked)).toEqual(['generationConfig.responseLogprobs'])
})

describe('a field inside of another that no other format is told is a loss', () => {
  const named = CASES.map(([format, body, name]) => [format, name, body] as const)
  test.each(named)('%s: %s', (from, name, body) => {
    for (const to of FORMATS) if (to !== from) expect([to, ...lost(from, to, body)]).toContain(name)
  })
})

test.each<[Format, JsonObject, string]>([
  [
    RESPONSES,
    responses({
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'a', annotations: [{ type: 'url_citation', url: 'https://a.example' }] },
      ],
    }),
    'annotations',
  ],
  [
    MESSAGES,
    said({
      type: 'text',
      text: 'a',
      citations: [{ type: 'char_location', cited_text: 'x', document_index: 0 }],
    }),
    'messages.content.citations',
  ],
])(
  "sources of an earlier answer are a loss where their format is not the upstream's: %s",
  (from, body, name) => {
    for (const to of FORMATS) expect([to, ...lost(from, to, body)]).toEqual(to === from ? [to] : [to, name])
  },
)

const cache_control = { type: 'ephemeral' }
const toolResult = (more: JsonObject) => ({
  max_tokens: 90,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', ...more }] },
  ],
})

test.each<[string, JsonObject]>([
  ['a call', said({ ...use, cache_control })],
  ['a result', toolResult({ content: 'x', cache_control })],
  ['an empty result', toolResult({ cache_control })],
  [
    'a result without text',
    toolResult({
      content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
      cache_control,
    }),
  ],
  ['the text of a result', toolResult({ content: [{ type: 'text', text: 'x', cache_control }] })],
])('a cache mark on %s is a loss where the upstream has none', (_, body) => {
  for (const to of FORMATS)
    if (to !== MESSAGES) expect([to, ...lost(MESSAGES, to, body)]).toEqual([to, 'cache_control'])
})

test.each<JsonObject>([{ type: 'enabled', budget_tokens: 2000 }, { type: 'adaptive' }, { type: 'disabled' }])(
  'what becomes of thoughts of another conversation goes with the wish for thought: %j',
  thinking => {
    const block_binding = { prefix_mismatch_behavior: 'drop_block' }
    const body = { ...said({ type: 'text', text: 'a' }), max_tokens: 9000 }
    const asked = { ...body, thinking: { ...thinking, block_binding } }
    const isOn = thinking['type'] !== 'disabled'
    for (const to of FORMATS) {
      const isKept = to === MESSAGES && isOn
      expect([to, ...lost(MESSAGES, to, asked)]).toEqual(isKept ? [to] : [to, 'thinking.block_binding'])
    }
    const request = CODECS[MESSAGES].decodeRequest(asked, { model: 'm', stream: false })
    const sent = lowerRequest(request, CODECS[MESSAGES], TARGETS[MESSAGES], USUAL_HABITS).body
    expect(asObject(sent['thinking'])?.['block_binding']).toEqual(isOn ? block_binding : undefined)
    expect(sent).not.toHaveProperty(['thinking.block_binding'])
    for (const silent of [null, {}, { prefix_mismatch_behavior: null }])
      expect(lost(MESSAGES, MESSAGES, { ...body, thinking: { ...thinking, block_binding: silent } })).toEqual(
        [],
      )
  },
)

test('what says nothing is no loss', () => {
  const body = {
    ...messages({ type: 'text', text: 'a' }),
    mcp_servers: [],
    container: null,
    output_config: { effort: null, task_budget: null },
    speed: 'standard',
  }
  for (const context_management of [null, {}, { edits: [] }])
    for (const to of FORMATS)
      expect([to, ...lost(MESSAGES, to, { ...body, context_management })]).toEqual([to])
  const older = chatTool({ functions: [{ name: 'f' }], tools: [], max_tokens: 90, max_completion_tokens: 90 })
  for (const to of [RESPONSES, MESSAGES]) expect([to, ...lost(CHAT, to, older)]).toEqual([to])
  const empty = {
    ...gemini(),
    safetySettings: [],
    labels: {},
    cachedContent: '',
    toolConfig: { retrievalConfig: {} },
    generationConfig: { imageConfig: {} },
  }
  for (const to of FORMATS) expect([to, ...lost(GEMINI, to, empty)]).toEqual([to])
  const noThought = { parts: [{ text: 'Be brief.', thought: false }] }
  const plain = { contents: [{ role: 'user', ...noThought }], systemInstruction: noThought }
  for (const to of FORMATS) expect([to, ...lost(GEMINI, to, plain)]).toEqual([to])
  const anyTool = {
    ...gemini(),
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [] } },
  }
  for (const to of FORMATS) expect([to, ...lost(GEMINI, to, anyTool)]).toEqual([to])
  const answered = {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'a', prefix: false },
    ],
  }
  for (const to of FORMATS) expect([to, ...lost(CHAT, to, answered)]).toEqual([to])
  const usual = { ...chat('hi'), verbosity: 'medium' }
  for (const to of FORMATS) expect([to, ...lost(CHAT, to, usual)]).toEqual([to])
})

test.each(['UNSPECIFIED', 0])("an enum of Gemini's that says nothing is no loss: %p", nothing => {
  const named = (name: string) => (nothing === 0 ? 0 : `${name}_${nothing}`)
  const body = {
    contents: [{ parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: named('MODE') } },
    generationConfig: {
      thinkingConfig: { thinkingLevel: named('THINKING_LEVEL') },
      responseModalities: [named('MODALITY')],
    },
  }
  for (const to of FORMATS) expect([to, ...lost(GEMINI, to, body)]).toEqual([to])
})

test('how a tool is loaded and its input streamed is no loss: it is there at once, and its input streams anyway', () => {
  const tool = {
    name: 'f',
    input_schema: { type: 'object' },
    defer_loading: true,
    eager_input_streaming: true,
  }
  const body = { ...messages({ type: 'text', text: 'a' }), tools: [tool] }
  for (const to of FORMATS) expect([to, ...lost(MESSAGES, to, body)]).toEqual([to])
})

test('a change of tools in a system message is no loss, but one of an MCP server is', () => {
  const removal = (tool: JsonValue) => ({
    max_tokens: 90,
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: [{ type: 'tool_removal', tool }] },
    ],
  })
  const one = removal({ type: 'tool_reference', name: 'f' })
  const toolset = removal({ type: 'mcp_toolset_reference', server_name: 's' })
  for (const to of FORMATS) {
    expect([to, ...lost(MESSAGES, to, one)]).toEqual([to])
    if (to !== MESSAGES) expect([to, ...lost(MESSAGES, to, toolset)]).toEqual([to, 'tool_removal'])
  }
})

test('a tool offered by a name that no tool has is a loss; one declared, defined before or taken away is none', () => {
  const reference = (name: string) => ({ type: 'tool_reference', name })
  const definition = { type: 'tool_definition', definition: { name: 'g', input_schema: { type: 'object' } } }
  const offered = (...tools: JsonObject[]) => ({
    max_tokens: 90,
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: tools.map(tool => ({ type: 'tool_addition', tool })) },
    ],
  })
  for (const to of FORMATS) {
    if (to === MESSAGES) continue
    expect([to, ...lost(MESSAGES, to, offered(reference('f'), definition, reference('g')))]).toEqual([to])
    expect([to, ...lost(MESSAGES, to, offered(reference('h')))]).toEqual([to, 'tool_addition'])
  }
})

test('an image in a system message is a loss, its text is none', () => {
  const text = { type: 'input_text', text: 'a' }
  const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` }
  const system = (content: JsonValue) => responses({ role: 'developer', content })
  for (const to of FORMATS) {
    if (to === RESPONSES) continue
    expect([to, ...lost(RESPONSES, to, system([text, image]))]).toEqual([to, 'input.content'])
    expect([to, ...lost(RESPONSES, to, system([text]))]).toEqual([to])
    expect([to, ...lost(RESPONSES, to, system('a'))]).toEqual([to])
  }
})

const place = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false }
const shaped = (schema: JsonObject) => ({
  messages: [{ role: 'user', content: 'hi' }],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'place', description: 'Where it is.', schema },
  },
})

test.each(FORMATS)('what an answer is for reaches an upstream of %s', to => {
  const named = { $ref: '#/$defs/place', $defs: { place } }
  for (const schema of [place, { ...place, description: 'A place.' }, named]) {
    const request = CODECS[CHAT].decodeRequest(shaped(schema), { model: 'm', stream: false })
    const { body, losses } = lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS)
    expect(JSON.stringify(body)).toContain('Where it is.')
    expect(losses).toEqual([])
  }
})

describe('a conversation as clients bring it back loses nothing that they did not write', () => {
  test('of Chat', () => {
    const body = {
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          audio: null,
          function_call: null,
          tool_calls: [{ id: 'c', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', name: 'f', content: [{ type: 'text', text: 'x' }] },
      ],
    }
    for (const to of FORMATS) expect([to, ...lost(CHAT, to, body)]).toEqual([to])
  })

  test('of Responses', () => {
    const text = { type: 'output_text', text: 'a', annotations: [], logprobs: [] }
    const body = responses(
      { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', phase: null, content: [text] },
      { ...call, namespace: 'n', id: 'fc_1', status: 'completed', caller: { type: 'direct' } },
      { ...answered, name: 'f', namespace: 'n', id: 'fco_1', status: 'completed' },
    )
    for (const to of FORMATS) expect([to, ...lost(RESPONSES, to, body)]).toEqual([to])
  })

  test('of Messages', () => {
    const texts = [null, []].map(citations => ({ type: 'text', text: 'a', citations }))
    const result = {
      type: 'tool_result',
      tool_use_id: 'c',
      content: [{ type: 'text', text: 'x' }],
      is_error: false,
    }
    const body = {
      max_tokens: 90,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [...texts, { ...use, caller: { type: 'direct' } }] },
        { role: 'user', content: [result] },
      ],
    }
    for (const to of FORMATS) expect([to, ...lost(MESSAGES, to, body)]).toEqual([to])
  })

  test('of Gemini', () => {
    const contents = [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {}, id: 'c' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', id: 'c', response: { result: 'x' } } }] },
    ]
    for (const to of FORMATS) expect([to, ...lost(GEMINI, to, { contents })]).toEqual([to])
  })
})

test.each(FORMATS)('what is said of a group of tools reaches an upstream of %s with each of them', to => {
  const members = [
    { type: 'function', name: 'f', description: 'Reads.', parameters: {} },
    { type: 'custom', name: 'g' },
  ]
  const body = {
    input: 'hi',
    tools: [{ type: 'namespace', name: 'n', description: 'About files.', tools: members }],
  }
  const request = CODECS[RESPONSES].decodeRequest(body, { model: 'm', stream: false })
  const sent = JSON.stringify(lowerRequest(request, CODECS[to], TARGETS[to], USUAL_HABITS).body)
  expect(sent).toContain('"Reads.\\n\\nAbout files."')
  expect(sent).toContain('"About files."')
})
