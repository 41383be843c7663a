import type { JsonObject, JsonValue } from '@/json/json.ts'
import { CLOCK, PIXEL, WEATHER } from './cell.ts'
import type { Side } from './talk.ts'

/** One field of a surface's request, as a caller would set it. */
export interface Field {
  /** Its name in a loss report, which is the caller's own spelling. */
  name: string
  /** Laid over the surface's plain request; a key's value replaces the plain one. */
  set: JsonObject
  /** Upstreams that are not told, because the gateway does what the field asks. */
  emulated?: readonly Side[]
  /** What else of the plain request the field needs, without being the field. */
  needs?: JsonObject
}

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

function field(name: string, value: JsonValue, more: Partial<Field> = {}): Field {
  return { name, set: { [name]: value }, ...more }
}

/** A request that says nothing but what it must. */
export const PLAIN: Record<Side, JsonObject> = {
  chat: {
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ type: 'function', function: { ...WEATHER } }],
  },
  responses: {
    input: 'Hello',
    store: false,
    tools: [{ type: 'function', strict: false, ...WEATHER }],
  },
  messages: {
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.parameters }],
  },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    tools: [{ functionDeclarations: [geminiTool(WEATHER)] }],
  },
}

function geminiTool({ name, description, parameters }: typeof WEATHER): JsonObject {
  return { name, description, parametersJsonSchema: parameters }
}

function chatUser(part: JsonObject): JsonObject {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, part] }] }
}

const CHAT: Field[] = [
  field('max_completion_tokens', 777),
  { name: 'max_completion_tokens', set: { max_tokens: 777 } },
  field('temperature', 0.5),
  field('top_p', 0.5),
  field('top_k', 40),
  field('frequency_penalty', 0.5),
  field('presence_penalty', 0.5),
  field('seed', 7),
  field('logit_bias', { 50256: -100 }),
  field('n', 2),
  field('stop', ['END'], { emulated: ['responses'] }),
  field('logprobs', true),
  { name: 'logprobs', set: { logprobs: true, top_logprobs: 3 } },
  field('tool_choice', 'required'),
  { name: 'tool_choice', set: { tool_choice: { type: 'function', function: { name: WEATHER.name } } } },
  field('parallel_tool_calls', false),
  field('response_format', { type: 'json_object' }),
  {
    name: 'response_format',
    set: { response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } } },
  },
  field('reasoning_effort', 'low'),
  field('verbosity', 'low'),
  { name: 'reasoning.effort', set: { reasoning: { effort: 'utmost' } } },
  {
    name: 'reasoning.tone',
    set: { reasoning: { tone: 'dry', effort: 'low' } },
    needs: { reasoning: { effort: 'low' } },
  },
  { name: 'modalities', set: { modalities: ['text', 'scent'] } },
  { name: 'messages.name', set: { messages: [{ role: 'user', content: 'Hello', name: 'Ada' }] } },
  {
    name: 'messages.content.tone',
    set: chatUser({ type: 'text', text: 'there', tone: 'dry' }),
    needs: chatUser({ type: 'text', text: 'there' }),
  },
  {
    name: 'tools.function.output',
    set: { tools: [{ type: 'function', function: { ...WEATHER, output: {} } }] },
  },
  field('prediction', { type: 'content', content: 'Hello back' }),
  field('modalities', ['text', 'audio'], { needs: { audio: { voice: 'alloy', format: 'mp3' } } }),
  field('web_search_options', {}),
  field('user', 'user-1'),
  field('safety_identifier', 'person-1'),
  field('prompt_cache_key', 'talk-1'),
  field('prompt_cache_retention', '24h'),
  field('prompt_cache_options', { mode: 'explicit', ttl: '30m' }),
  field('cache_control', { type: 'ephemeral' }),
  field('metadata', { team: 'red' }),
  field('store', true),
  field('service_tier', 'flex'),
  field('moderation', { model: 'omni-moderation-latest' }),
  field('a_field_of_tomorrow', { deep: [1] }),
  {
    name: 'tools.function.strict',
    set: { tools: [{ type: 'function', function: { ...WEATHER, strict: true } }] },
  },
  {
    name: 'tools',
    set: {
      tools: [
        { type: 'function', function: { ...WEATHER } },
        { type: 'custom', custom: { name: 'patch' } },
      ],
    },
  },
  {
    name: 'messages',
    set: {
      messages: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'Hello' },
      ],
    },
  },
  {
    name: 'image_url.detail',
    set: chatUser({ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}`, detail: 'low' } }),
    needs: chatUser({ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }),
  },
  {
    name: 'file.filename',
    set: chatUser({
      type: 'file',
      file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'bill.pdf' },
    }),
    needs: chatUser({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } }),
  },
  {
    name: 'prompt_cache_breakpoint',
    set: chatUser({ type: 'text', text: 'there', prompt_cache_breakpoint: { mode: 'explicit' } }),
    needs: chatUser({ type: 'text', text: 'there' }),
  },
]

function input(...parts: JsonObject[]): JsonObject {
  return { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }, ...parts] }] }
}

const IMAGE = `data:image/png;base64,${PIXEL}`

const RESPONSES: Field[] = [
  field('instructions', 'Be kind.'),
  field('max_output_tokens', 777),
  field('max_tool_calls', 3),
  field('temperature', 0.5),
  field('top_p', 0.5),
  field('top_logprobs', 3),
  field('tool_choice', 'required'),
  field('parallel_tool_calls', false),
  { name: 'text.format', set: { text: { format: { type: 'json_object' } } } },
  {
    name: 'text.format',
    set: { text: { format: { type: 'json_schema', name: 'place', schema: SCHEMA } } },
  },
  // Gemini holds its answers to any schema.
  {
    name: 'text.format.strict',
    set: { text: { format: { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true } } },
    needs: { text: { format: { type: 'json_schema', name: 'place', schema: SCHEMA } } },
    emulated: ['gemini'],
  },
  { name: 'text.verbosity', set: { text: { verbosity: 'low' } } },
  { name: 'text.verbosity', set: { text: { verbosity: 'ultra' } } },
  { name: 'reasoning.summary', set: { reasoning: { summary: 'epic' } } },
  {
    name: 'user',
    set: { user: 'user-1', safety_identifier: 'person-1' },
    needs: { safety_identifier: 'person-1' },
  },
  {
    name: 'tools.output_schema',
    set: { tools: [{ type: 'function', strict: false, ...WEATHER, output_schema: {} }] },
  },
  { name: 'reasoning', set: { reasoning: { effort: 'low' } } },
  {
    name: 'reasoning.summary',
    set: { reasoning: { effort: 'low', summary: 'detailed' } },
    needs: { reasoning: { effort: 'low' } },
  },
  field('truncation', 'auto'),
  field('context_management', [{ type: 'compaction', compact_threshold: 1000 }]),
  field('service_tier', 'flex'),
  field('metadata', { team: 'red' }),
  field('user', 'user-1'),
  field('safety_identifier', 'person-1'),
  field('prompt_cache_key', 'talk-1'),
  field('prompt_cache_retention', '24h'),
  field('prompt_cache_options', { mode: 'explicit' }),
  field('prompt_cache_options', { comparison_response_id: 'resp_1' }),
  field('store', true, { emulated: ['chat', 'messages', 'gemini'] }),
  field('background', true),
  field('previous_response_id', 'resp_1'),
  field('conversation', 'conv_1'),
  field('prompt', { id: 'pmpt_1' }),
  field('moderation', { model: 'omni-moderation-latest' }),
  field('a_field_of_tomorrow', { deep: [1] }),
  { name: 'tools.strict', set: { tools: [{ type: 'function', strict: true, ...WEATHER }] } },
  {
    name: 'tools',
    set: {
      tools: [
        { type: 'function', strict: false, ...WEATHER },
        { type: 'custom', name: 'patch' },
      ],
    },
  },
  ...['web_search', 'code_interpreter', 'file_search', 'image_generation', 'mcp'].map(type => ({
    name: `tools.${type}`,
    set: { tools: [{ type: 'function', strict: false, ...WEATHER }, hosted(type)] },
  })),
  {
    name: 'input.content.tone',
    set: input({ type: 'input_text', text: 'there', tone: 'dry' }),
    needs: input({ type: 'input_text', text: 'there' }),
  },
  {
    name: 'tools.icon',
    set: {
      tools: [
        {
          type: 'namespace',
          name: 'sky',
          icon: 'sun',
          tools: [{ type: 'function', strict: false, ...WEATHER }],
        },
      ],
    },
    needs: {
      tools: [{ type: 'namespace', name: 'sky', tools: [{ type: 'function', strict: false, ...WEATHER }] }],
    },
  },
  {
    name: 'tools.description',
    set: {
      tools: [
        {
          type: 'namespace',
          name: 'sky',
          description: 'Of the sky.',
          tools: [{ type: 'function', strict: false, ...WEATHER }],
        },
      ],
    },
    needs: {
      tools: [{ type: 'namespace', name: 'sky', tools: [{ type: 'function', strict: false, ...WEATHER }] }],
    },
  },
  {
    name: 'input_image.detail',
    set: input({ type: 'input_image', image_url: IMAGE, detail: 'low' }),
    needs: input({ type: 'input_image', image_url: IMAGE }),
  },
  {
    name: 'input_file.filename',
    set: input({
      type: 'input_file',
      file_data: 'data:application/pdf;base64,JVBERi0=',
      filename: 'bill.pdf',
    }),
    needs: input({ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }),
  },
  {
    name: 'prompt_cache_breakpoint',
    set: input({ type: 'input_text', text: 'there', prompt_cache_breakpoint: { mode: 'explicit' } }),
    needs: input({ type: 'input_text', text: 'there' }),
  },
]

function hosted(type: string): JsonObject {
  const needs: Record<string, JsonObject> = {
    code_interpreter: { container: { type: 'auto' } },
    file_search: { vector_store_ids: ['vs_1'] },
    mcp: { server_label: 'docs', server_url: 'https://mcp.example.com' },
  }
  return { type, ...needs[type] }
}

function content(...blocks: JsonObject[]): JsonObject {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, ...blocks] }] }
}

const MESSAGES_TOOL: JsonObject = {
  name: WEATHER.name,
  description: WEATHER.description,
  input_schema: WEATHER.parameters,
}
const DOCUMENT: JsonObject = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
}

const MESSAGES: Field[] = [
  field('system', 'Be kind.'),
  field('max_tokens', 777),
  field('temperature', 0.5),
  field('top_p', 0.5),
  field('top_k', 40),
  field('stop_sequences', ['END'], { emulated: ['responses'] }),
  field('tool_choice', { type: 'any' }),
  {
    name: 'tool_choice.disable_parallel_tool_use',
    set: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    needs: { tool_choice: { type: 'auto' } },
  },
  field('thinking', { type: 'enabled', budget_tokens: 2048 }),
  field('thinking', { type: 'disabled' }),
  { name: 'output_config.effort', set: { output_config: { effort: 'low' } } },
  { name: 'output_config.effort', set: { output_config: { effort: 'utmost' } } },
  { name: 'output_config.format', set: { output_config: { format: { type: 'grammar', grammar: 'x' } } } },
  {
    name: 'thinking.tone',
    set: { thinking: { type: 'disabled', tone: 'dry' } },
    needs: { thinking: { type: 'disabled' } },
  },
  { name: 'metadata.team', set: { metadata: { team: 'red' } } },
  { name: 'tools.input_examples', set: { tools: [{ ...MESSAGES_TOOL, input_examples: [{}] }] } },
  {
    name: 'output_config.format',
    set: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  },
  { name: 'metadata.user_id', set: { metadata: { user_id: 'user-1' } } },
  field('service_tier', 'standard_only'),
  field('speed', 'fast'),
  field('inference_geo', 'eu'),
  field('container', 'container_1'),
  field('cache_control', { type: 'ephemeral' }),
  field('mcp_servers', [{ type: 'url', url: 'https://mcp.example.com', name: 'docs' }]),
  field('context_management', { edits: [{ type: 'clear_tool_uses_20250919' }] }),
  field('diagnostics', { previous_message_id: 'msg_1' }),
  field('a_field_of_tomorrow', { deep: [1] }),
  { name: 'tools.strict', set: { tools: [{ ...MESSAGES_TOOL, strict: true }] } },
  { name: 'cache_control', set: { tools: [{ ...MESSAGES_TOOL, cache_control: { type: 'ephemeral' } }] } },
  { name: 'tools', set: { tools: [MESSAGES_TOOL, { type: 'bash_20250124', name: 'bash' }] } },
  ...['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825'].map(type => ({
    name: `tools.${type}`,
    set: { tools: [MESSAGES_TOOL, { type, name: type.replace(/_\d+$/, '') }] },
  })),
  {
    name: 'cache_control',
    set: content({ type: 'text', text: 'there', cache_control: { type: 'ephemeral' } }),
    needs: content({ type: 'text', text: 'there' }),
  },
  {
    name: 'messages.content.tone',
    set: content({ type: 'text', text: 'there', tone: 'dry' }),
    needs: content({ type: 'text', text: 'there' }),
  },
  { name: 'messages.content.title', set: content({ ...DOCUMENT, title: 'Bill' }), needs: content(DOCUMENT) },
  {
    name: 'messages.content.context',
    set: content({ ...DOCUMENT, context: 'From May' }),
    needs: content(DOCUMENT),
  },
  {
    name: 'messages.content.citations',
    set: content({ ...DOCUMENT, citations: { enabled: true } }),
    needs: content(DOCUMENT),
  },
]

function config(name: string, value: JsonValue, more: JsonObject = {}, rest: Partial<Field> = {}): Field {
  return {
    name: `generationConfig.${name}`,
    set: { generationConfig: { [name]: value, ...more } },
    ...(Object.keys(more).length === 0 ? {} : { needs: { generationConfig: more } }),
    ...rest,
  }
}

const CALLING = 'toolConfig.functionCallingConfig'
const INLINE: JsonObject = { inlineData: { mimeType: 'image/png', data: PIXEL } }

const GEMINI: Field[] = [
  field('systemInstruction', { parts: [{ text: 'Be kind.' }] }),
  config('temperature', 0.5),
  config('topP', 0.5),
  config('topK', 40),
  config('candidateCount', 2),
  config('maxOutputTokens', 777),
  config('stopSequences', ['END'], {}, { emulated: ['responses'] }),
  config('seed', 7),
  config('presencePenalty', 0.5),
  config('frequencyPenalty', 0.5),
  config('responseMimeType', 'application/json'),
  config('responseJsonSchema', SCHEMA, { responseMimeType: 'application/json' }),
  config('responseFormat', [{ text: { mimeType: 'application/json', schema: SCHEMA } }]),
  config('responseFormat', [{ audio: { mimeType: 'audio/mp3' } }]),
  config(
    'responseSchema',
    { type: 'OBJECT', properties: { city: { type: 'STRING' } } },
    { responseMimeType: 'application/json' },
  ),
  config('responseLogprobs', true),
  config('responseModalities', ['TEXT', 'IMAGE']),
  config('speechConfig', { languageCode: 'de-DE' }),
  config('imageConfig', { aspectRatio: '16:9' }),
  config('mediaResolution', 'MEDIA_RESOLUTION_LOW'),
  config('thinkingConfig', { thinkingBudget: 2048 }),
  config('thinkingConfig', { thinkingBudget: 0 }),
  {
    name: 'generationConfig.thinkingConfig.thinkingLevel',
    set: { generationConfig: { thinkingConfig: { thinkingLevel: 'UTMOST' } } },
  },
  {
    name: 'generationConfig.thinkingConfig.tone',
    set: { generationConfig: { thinkingConfig: { tone: 'dry' } } },
  },
  {
    name: 'generationConfig.responseModalities',
    set: { generationConfig: { responseModalities: ['TEXT', 'SCENT'] } },
    needs: { generationConfig: { responseModalities: ['TEXT'] } },
  },
  {
    name: `${CALLING}.streamFunctionCallArguments`,
    set: { toolConfig: { functionCallingConfig: { mode: 'AUTO', streamFunctionCallArguments: true } } },
    needs: { toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
  },
  {
    name: 'tools.functionDeclarations.response',
    set: { tools: [{ functionDeclarations: [{ ...geminiTool(WEATHER), response: { type: 'OBJECT' } }] }] },
  },
  {
    name: 'contents.parts.tone',
    set: { contents: [{ parts: [{ text: 'Hello', tone: 'dry' }] }] },
    needs: { contents: [{ parts: [{ text: 'Hello' }] }] },
  },
  {
    name: 'contents.parts.mediaResolution',
    set: { contents: [{ parts: [{ ...INLINE, mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } }] }] },
    needs: { contents: [{ parts: [INLINE] }] },
  },
  {
    name: 'systemInstruction.parts',
    set: { systemInstruction: { parts: [{ text: 'Be kind.' }, INLINE] } },
    needs: { systemInstruction: { parts: [{ text: 'Be kind.' }] } },
  },
  // Chat vendors that have thoughts show them unasked.
  config('thinkingConfig', { includeThoughts: true }, {}, { emulated: ['chat'] }),
  { name: CALLING, set: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } } },
  {
    name: CALLING,
    set: {
      tools: [{ functionDeclarations: [geminiTool(WEATHER), geminiTool(CLOCK)] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [CLOCK.name] } },
    },
    needs: { tools: [{ functionDeclarations: [geminiTool(WEATHER), geminiTool(CLOCK)] }] },
  },
  {
    name: 'toolConfig.retrievalConfig',
    set: { toolConfig: { retrievalConfig: { languageCode: 'de' } } },
  },
  field('safetySettings', [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]),
  field('cachedContent', 'cachedContents/1'),
  field('labels', { team: 'red' }),
  field('serviceTier', 'flex'),
  field('store', true),
  field('aFieldOfTomorrow', { deep: [1] }),
  config('aFieldOfTomorrow', 1),
  ...['googleSearch', 'codeExecution', 'urlContext', 'googleMaps'].map(type => ({
    name: `tools.${type}`,
    set: { tools: [{ functionDeclarations: [geminiTool(WEATHER)] }, { [type]: {} }] },
  })),
]

export const FIELDS: Record<Side, readonly Field[]> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
  gemini: GEMINI,
}
