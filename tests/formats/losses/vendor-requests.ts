import fc from 'fast-check'
import type { Format } from '@/generation/format.ts'
import { list, object, oneOf, type Saying, several, text } from './saying.ts'

const PNG = ['iVBORw0KGgo=', 'iVBORw0KGgoA'] as const
const PDF = ['JVBERi0=', 'JVBERi0x'] as const
const dataUri = (type: string, data: readonly string[]) =>
  oneOf(...data.map(base64 => `data:${type};base64,${base64}`))
const flag = oneOf(true, false)
const schema = object(
  { type: 'object', properties: object({ city: object({ type: 'string', description: text('city') }) }) },
  { required: list('city') },
)
const address = (kind: string) => oneOf(`https://a.example/1.${kind}`, `https://b.example/2.${kind}`)
const amount = oneOf(0.25, 0.5, 0.75)

// OpenAI's Chat Completions.

const breakpoint = {
  prompt_cache_breakpoint: object({ mode: 'explicit' }, { ttl: oneOf('30m', '12h') }),
}
const chatText = object({ type: 'text', text: text('text') }, breakpoint)
const chatParts = several(
  chatText,
  object(
    {
      type: 'image_url',
      image_url: object(
        { url: dataUri('image/png', PNG) },
        { detail: oneOf('auto', 'low', 'high', 'original') },
      ),
    },
    breakpoint,
  ),
  object({ type: 'image_url', image_url: object({ url: address('png') }) }),
  object(
    {
      type: 'file',
      file: object({ file_data: dataUri('application/pdf', PDF) }, { filename: text('file') }),
    },
    breakpoint,
  ),
)
const chatTool = object({
  type: 'function',
  function: object({ name: 'weather' }, { description: text('tool'), parameters: schema, strict: flag }),
})
const customTool = object({
  type: 'custom',
  custom: object(
    { name: 'patch' },
    {
      description: text('custom tool'),
      format: object({
        type: 'grammar',
        grammar: object({ syntax: oneOf('lark', 'regex'), definition: text('grammar') }),
      }),
    },
  ),
})
const chatHistory = list(
  object(
    { role: 'assistant' },
    { content: text('said before'), refusal: text('refused'), name: text('speaker') },
  ),
  object({ role: 'user', content: text('asked then') }),
  object(
    {
      role: 'assistant',
      tool_calls: list(
        object({
          id: oneOf('call_1'),
          type: 'function',
          function: object({ name: 'weather', arguments: oneOf('{"city":"Bonn"}', '{"city":"Ulm"}') }),
        }),
      ),
    },
    { content: text('said'), reasoning_content: text('thought') },
  ),
  object({ role: 'tool', tool_call_id: 'call_1', content: list(chatText) }),
)
const chat = object(
  {
    model: 'm',
    messages: list(
      object({ role: oneOf('system', 'developer'), content: text('system') }, { name: text('author') }),
      object({ role: 'user', content: chatParts }, { name: text('name') }),
      object({ role: 'assistant', content: list(chatText) }),
      object({ role: 'user', content: text('question') }),
    ),
  },
  {
    audio: object({ voice: oneOf('alloy', 'ash'), format: oneOf('mp3', 'wav') }),
    frequency_penalty: amount,
    logit_bias: object({ '50256': oneOf(-100, 50) }),
    max_completion_tokens: oneOf(2000, 3000),
    metadata: object({ team: text('team') }),
    moderation: object({ model: text('moderation') }),
    n: oneOf(2, 3),
    prediction: object({ type: 'content', content: text('predicted') }),
    presence_penalty: amount,
    prompt_cache_key: text('key'),
    prompt_cache_options: object({}, { mode: oneOf('implicit', 'explicit'), ttl: oneOf('30m', '12h') }),
    prompt_cache_retention: oneOf('in_memory', '24h'),
    reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    response_format: object({
      type: 'json_schema',
      json_schema: object(
        { name: oneOf('place', 'spot'), schema },
        { description: text('answer'), strict: flag },
      ),
    }),
    safety_identifier: text('person'),
    seed: oneOf(1, 2),
    service_tier: oneOf('auto', 'default', 'flex', 'scale', 'priority', 'fast'),
    stop: several(text('stop'), text('halt')),
    store: flag,
    temperature: amount,
    top_p: amount,
    user: text('user'),
    verbosity: oneOf('low', 'medium', 'high'),
    web_search_options: object(
      {},
      {
        search_context_size: oneOf('low', 'medium', 'high'),
        user_location: object({
          type: 'approximate',
          approximate: object(
            {},
            {
              city: text('city'),
              country: oneOf('DE', 'FR'),
              region: text('region'),
              timezone: text('zone'),
            },
          ),
        }),
      },
    ),
  },
)
const chatAgent = object(
  {
    model: 'm',
    messages: chatHistory,
    tools: list(chatTool, customTool),
  },
  {
    logprobs: oneOf(true, false),
    top_logprobs: oneOf(2, 3),
    parallel_tool_calls: flag,
    tool_choice: oneOf('auto', 'required', { type: 'function', function: { name: 'weather' } }),
  },
)

const MP3 = ['SUQzBAAA', 'SUQzBAAB'] as const
const chatMedia = object(
  {
    model: 'm',
    messages: list(
      object({
        role: 'user',
        content: several(
          chatText,
          object({
            type: 'input_audio',
            input_audio: object({ data: oneOf(...MP3), format: oneOf('mp3', 'wav') }),
          }),
          object({ type: 'video_url', video_url: object({ url: address('mp4') }) }),
          object({ type: 'file', file: object({ file_id: oneOf('file-1', 'file-2') }) }),
          object({ type: 'document_url', document_url: address('pdf') }),
          object(
            { type: 'file_url', file_url: object({ url: address('pdf') }) },
            { file_name: text('file') },
          ),
          object({ type: 'input_audio', input_audio: oneOf(...MP3) }),
          object({
            type: 'file',
            file: object({ file_data: address('pdf') }, { filename: text('file') }),
          }),
        ),
      }),
      object(
        { role: 'assistant' },
        { content: text('said'), audio: object({ id: oneOf('audio_1', 'audio_2') }) },
      ),
      object({ role: 'user', content: text('question') }),
    ),
  },
  { modalities: oneOf(['text'], ['text', 'audio']) },
)
const legacyFunction = object({ name: 'weather', parameters: schema }, { description: text('function') })
const chatLegacy = object(
  {
    model: 'm',
    messages: list(
      object({ role: 'user', content: text('question') }),
      object(
        {
          role: 'assistant',
          function_call: object({ name: 'weather', arguments: oneOf('{"city":"Bonn"}', '{"city":"Ulm"}') }),
        },
        { content: text('said') },
      ),
      object({ role: 'function', name: 'weather', content: text('result') }),
    ),
    functions: list(legacyFunction),
  },
  {
    function_call: oneOf('auto', 'none', { name: 'weather' }),
    max_tokens: oneOf(2000, 3000),
  },
)
// OpenRouter's additions, and those of vLLM and others.
const chatRouter = object(
  {
    model: 'm',
    messages: list(
      object({ role: 'user', content: text('question') }),
      object(
        { role: 'assistant', content: text('said') },
        {
          reasoning: text('thought'),
          images: list(object({ type: 'image_url', image_url: object({ url: dataUri('image/png', PNG) }) })),
        },
      ),
      object({ role: 'user', content: text('more') }),
    ),
  },
  {
    reasoning: object(
      {},
      { effort: oneOf('low', 'medium', 'high'), max_tokens: oneOf(2000, 9000), exclude: flag },
    ),
    provider: object({ order: list(text('provider')) }, { allow_fallbacks: flag }),
    transforms: list(oneOf('middle-out', 'other')),
    models: list(text('model')),
    route: oneOf('fallback', 'other'),
    usage: object({ include: flag }),
    plugins: list(object({ id: oneOf('web', 'file-parser') })),
    include_reasoning: flag,
    min_p: amount,
    top_a: amount,
    top_k: oneOf(10, 20),
    repetition_penalty: amount,
    chat_template_kwargs: object({ thinking: flag }),
    thinking: object({ type: oneOf('enabled', 'disabled', 'auto') }, { clear_thinking: flag }),
    enable_thinking: flag,
  },
)
// Kimi's, GLM's, DeepSeek's and Doubao's, and LiteLLM's.
const chatSwitch = object(
  {
    model: 'm',
    messages: list(object({ role: 'user', content: text('question') })),
    thinking: fc.oneof(
      object({ type: oneOf('enabled', 'disabled', 'auto') }, { clear_thinking: flag }),
      object({ type: 'enabled', budget_tokens: oneOf(2000, 9000) }),
    ),
  },
  { reasoning_effort: oneOf('low', 'high') },
)

// OpenAI's Responses.

const inputText = object({ type: 'input_text', text: text('text') }, breakpoint)
const inputParts = several(
  inputText,
  object(
    {
      type: 'input_image',
      image_url: dataUri('image/png', PNG),
      detail: oneOf('auto', 'low', 'high', 'original'),
    },
    breakpoint,
  ),
  object(
    { type: 'input_file', file_data: dataUri('application/pdf', PDF) },
    { filename: text('file'), detail: oneOf('auto', 'low', 'high'), ...breakpoint },
  ),
)
const status = oneOf('completed', 'incomplete')
const callers = {
  allowed_callers: several(oneOf('programmatic'), oneOf('direct')),
  async: flag,
  defer_loading: flag,
}
const functionTool = object(
  { type: 'function', name: 'weather', parameters: schema, strict: flag },
  { ...callers, description: text('tool'), output_schema: schema },
)
const freeTool = object(
  { type: 'custom', name: 'patch' },
  {
    ...callers,
    description: text('custom tool'),
    format: object({ type: 'grammar', syntax: oneOf('lark', 'regex'), definition: text('grammar') }),
  },
)
const userLocation = object(
  { type: 'approximate' },
  { city: text('city'), country: oneOf('DE', 'FR'), region: text('region'), timezone: text('zone') },
)
const responsesTools = several(
  functionTool,
  freeTool,
  object({
    type: 'namespace',
    name: 'group',
    description: text('group'),
    tools: list(
      object(
        { type: 'function', name: 'inner' },
        { description: text('inner tool'), parameters: schema, strict: flag },
      ),
    ),
  }),
  object({ type: 'local_shell' }),
  object({ type: 'apply_patch' }, { allowed_callers: callers.allowed_callers }),
  object(
    { type: 'web_search' },
    {
      external_web_access: flag,
      filters: object({ allowed_domains: list(oneOf('a.example', 'b.example')) }),
      search_context_size: oneOf('low', 'medium', 'high'),
      user_location: userLocation,
    },
  ),
  object({ type: 'code_interpreter', container: object({ type: 'auto' }) }),
  object(
    { type: 'file_search', vector_store_ids: list(oneOf('vs_1', 'vs_2')) },
    { max_num_results: oneOf(3, 4) },
  ),
  object(
    { type: 'tool_search' },
    { description: text('search'), execution: oneOf('client', 'server'), parameters: schema },
  ),
)
const responses = object(
  {
    model: 'm',
    input: list(
      object({ role: oneOf('user', 'developer'), content: list(inputText) }),
      object({ type: 'message', role: 'user', content: inputParts }),
    ),
  },
  {
    context_management: list(object({ type: 'compaction', compact_threshold: oneOf(1000, 2000) })),
    include: list(oneOf('code_interpreter_call.outputs', 'message.input_image.image_url')),
    instructions: text('system'),
    max_output_tokens: oneOf(2000, 3000),
    max_tool_calls: oneOf(3, 4),
    metadata: object({ team: text('team') }),
    moderation: object({ model: text('moderation') }),
    prompt_cache_key: text('key'),
    prompt_cache_options: object({}, { mode: oneOf('implicit', 'explicit'), ttl: oneOf('30m', '12h') }),
    prompt_cache_retention: oneOf('in_memory', '24h'),
    reasoning: object(
      {},
      {
        effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
        summary: oneOf('auto', 'concise', 'detailed'),
        context: oneOf('auto', 'all'),
        mode: oneOf('fast', 'deep'),
      },
    ),
    safety_identifier: text('person'),
    service_tier: oneOf('auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'),
    store: oneOf(false, true),
    temperature: amount,
    text: object(
      {},
      {
        format: object(
          { type: 'json_schema', name: oneOf('place', 'spot'), schema },
          { description: text('answer'), strict: flag },
        ),
        verbosity: oneOf('low', 'medium', 'high'),
      },
    ),
    top_logprobs: oneOf(2, 3),
    top_p: amount,
    truncation: oneOf('auto', 'disabled'),
    user: text('user'),
  },
)
const itemId = { id: text('item') }
const responsesAgent = object(
  {
    model: 'm',
    input: list(
      object(
        { type: 'reasoning', summary: list(object({ type: 'summary_text', text: text('thought') })) },
        itemId,
      ),
      object(
        {
          type: 'message',
          role: 'assistant',
          content: list(
            object(
              { type: 'output_text', text: text('said') },
              {
                annotations: list(
                  object({
                    type: 'url_citation',
                    url: address('html'),
                    title: text('title'),
                    start_index: 0,
                    end_index: 4,
                  }),
                ),
              },
            ),
            object({ type: 'refusal', refusal: text('refused') }),
          ),
        },
        { ...itemId, status, phase: oneOf('commentary', 'final_answer') },
      ),
      object(
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'weather',
          arguments: oneOf('{"city":"Bonn"}', '{"city":"Ulm"}'),
        },
        { ...itemId, status, async: flag },
      ),
      object({ type: 'function_call_output', call_id: 'call_1', output: inputParts }, { ...itemId, status }),
      object({ type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: text('input') }, itemId),
      object({ type: 'custom_tool_call_output', call_id: 'call_2', output: text('output') }, itemId),
      object({
        type: 'local_shell_call',
        call_id: 'call_3',
        id: 'lsh_1',
        status: 'completed',
        action: object(
          { type: 'exec', command: list(text('command')), env: object({ HOME: text('home') }) },
          { timeout_ms: oneOf(5, 6), user: text('user'), working_directory: text('directory') },
        ),
      }),
      object({ type: 'local_shell_call_output', call_id: 'call_3', output: text('shell output') }),
      object({
        type: 'apply_patch_call',
        call_id: 'call_4',
        status: 'completed',
        operation: object({ type: 'update_file', path: text('path'), diff: text('diff') }),
      }),
      object(
        { type: 'apply_patch_call_output', call_id: 'call_4', status: oneOf('completed', 'failed') },
        { output: text('patched') },
      ),
      object({
        type: 'shell_call',
        call_id: 'call_5',
        status: 'completed',
        action: object(
          { commands: list(text('command')) },
          { timeout_ms: oneOf(5, 6), max_output_length: oneOf(7, 8) },
        ),
      }),
      object(
        {
          type: 'shell_call_output',
          call_id: 'call_5',
          output: list(
            object({
              stdout: text('out'),
              stderr: text('err'),
              outcome: object({ type: 'exit', exit_code: oneOf(0, 1) }),
            }),
          ),
        },
        { max_output_length: oneOf(7, 8) },
      ),
      object({ role: 'user', content: text('question') }),
    ),
    tools: responsesTools,
  },
  {
    parallel_tool_calls: flag,
    tool_choice: oneOf('auto', 'required'),
    include: list(oneOf('message.output_text.logprobs', 'web_search_call.action.sources')),
  },
)

const responsesMedia = object(
  {
    model: 'm',
    input: list(
      object({
        role: 'user',
        content: several(
          inputText,
          object({ type: 'input_image', image_url: address('png') }),
          object({ type: 'input_image', file_id: oneOf('file-1', 'file-2') }),
          object({ type: 'input_file', file_id: oneOf('file-1', 'file-2') }),
          object({ type: 'input_file', file_url: address('pdf') }),
          object({
            type: 'input_audio',
            input_audio: object({ data: oneOf(...MP3), format: oneOf('mp3', 'wav') }),
          }),
        ),
      }),
      object(
        {
          type: 'image_generation_call',
          id: 'ig_1',
          status: 'completed',
          result: oneOf(...PNG),
        },
        {
          action: oneOf('generate', 'edit'),
          background: oneOf('opaque', 'transparent'),
          output_format: oneOf('jpeg', 'webp'),
          quality: oneOf('low', 'high'),
          revised_prompt: text('prompt'),
          size: oneOf('1024x1024', '1024x1536'),
        },
      ),
      object({ role: 'user', content: text('question') }),
    ),
  },
  {
    prompt: object({ id: oneOf('pmpt_1', 'pmpt_2') }, { variables: object({ city: text('city') }) }),
    tools: list(
      object({ type: 'image_generation' }, { size: oneOf('1024x1024', 'auto') }),
      object({ type: 'mcp', server_label: text('label'), server_url: address('mcp') }),
    ),
  },
)

// Anthropic's Messages.

const mark = { cache_control: object({ type: 'ephemeral' }, { ttl: oneOf('5m', '1h') }) }
const cited = object(
  {
    type: 'char_location',
    cited_text: text('cited'),
    document_index: oneOf(0, 1),
    start_char_index: 0,
    end_char_index: 4,
  },
  { document_title: text('title') },
)
const block = object({ type: 'text', text: text('text') }, mark)
const documentSource = (source: Saying) =>
  object(
    { type: 'document', source },
    { title: text('title'), context: text('context'), citations: object({ enabled: flag }), ...mark },
  )
const searchResult = object(
  {
    type: 'search_result',
    source: address('html'),
    title: text('title'),
    content: list(object({ type: 'text', text: text('found') })),
  },
  { citations: object({ enabled: flag }), ...mark },
)
const base64Image = object({ type: 'base64', media_type: 'image/png', data: oneOf(...PNG) })
const blocks = [
  block,
  object(
    { type: 'image', source: base64Image },
    { transformations: object({ oversized_image: oneOf('downsize', 'error') }), ...mark },
  ),
  documentSource(object({ type: 'base64', media_type: 'application/pdf', data: oneOf(...PDF) })),
  documentSource(object({ type: 'text', media_type: 'text/plain', data: text('document') })),
  documentSource(
    object({ type: 'content', content: list(block, object({ type: 'image', source: base64Image }, mark)) }),
  ),
  searchResult,
] as const
const serverTool = {
  ...mark,
  allowed_callers: several(oneOf('code_execution_20250825')),
  defer_loading: flag,
  strict: flag,
}
const domains = list(oneOf('a.example', 'b.example'))
const examples = list(object({ city: text('example') }))
const messagesTools = several(
  object(
    { name: 'weather', input_schema: schema },
    { ...serverTool, description: text('tool'), eager_input_streaming: flag, input_examples: examples },
  ),
  object({ type: 'bash_20250124', name: 'bash' }, { ...serverTool, input_examples: examples }),
  object(
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    { ...serverTool, input_examples: examples, max_characters: oneOf(1000, 2000) },
  ),
  object({ type: 'memory_20250818', name: 'memory' }, serverTool),
  object(
    { type: 'web_search_20250305', name: 'web_search' },
    { ...serverTool, allowed_domains: domains, max_uses: oneOf(3, 4), user_location: userLocation },
  ),
  object(
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { ...serverTool, max_content_tokens: oneOf(300, 400), max_uses: oneOf(3, 4) },
  ),
  object({ type: 'code_execution_20250825', name: 'code_execution' }, serverTool),
)
const messages = object(
  {
    model: 'm',
    max_tokens: oneOf(9000, 9500),
    messages: list(
      object({ role: 'user', content: several(...blocks) }),
      object({ role: 'assistant', content: list(block) }),
      object({ role: 'user', content: text('question') }),
    ),
  },
  {
    ...mark,
    diagnostics: object({ previous_message_id: text('message') }),
    inference_geo: oneOf('us', 'global'),
    metadata: object({ user_id: text('user') }),
    output_config: object(
      {},
      {
        effort: oneOf('low', 'medium', 'high', 'xhigh', 'max'),
        format: object({ type: 'json_schema', schema }),
        task_budget: object({ type: 'tokens', total: oneOf(1000, 2000) }),
      },
    ),
    service_tier: oneOf('auto', 'standard_only'),
    speed: oneOf('standard', 'fast'),
    stop_sequences: several(text('stop'), text('halt')),
    system: several(block, block),
    temperature: amount,
    thinking: object(
      { type: 'enabled', budget_tokens: oneOf(2048, 9000, 20000) },
      { display: oneOf('summarized', 'omitted') },
    ),
    top_k: oneOf(10, 20),
    top_p: amount,
    user_profile_id: text('profile'),
    context_management: object({ edits: list(object({ type: oneOf('clear_tool_uses_20250919', 'x') })) }),
    mcp_servers: list(object({ type: 'url', url: address('mcp'), name: text('server') })),
  },
)
const messagesAgent = object(
  {
    model: 'm',
    max_tokens: 9000,
    messages: list(
      object({ role: 'user', content: text('question') }),
      object({
        role: 'assistant',
        content: list(
          object({ type: 'thinking', thinking: text('thought'), signature: text('signature') }),
          object({ type: 'text', text: text('said') }, { citations: list(cited), ...mark }),
          object(
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: object({ city: text('place') }) },
            { ...mark, toolset_name: text('toolset') },
          ),
        ),
      }),
      object({
        role: 'user',
        content: list(
          object(
            { type: 'tool_result', tool_use_id: 'toolu_1', content: several(...blocks) },
            { is_error: flag, toolset_name: text('toolset'), ...mark },
          ),
        ),
      }),
    ),
    tools: messagesTools,
  },
  { tool_choice: object({ type: oneOf('auto', 'any') }, { disable_parallel_tool_use: flag }) },
)

const messagesMedia = object(
  {
    model: 'm',
    max_tokens: 9000,
    messages: list(
      object({
        role: 'user',
        content: several(
          block,
          object({ type: 'image', source: object({ type: 'url', url: address('png') }) }),
          object({ type: 'image', source: object({ type: 'file', file_id: oneOf('file_1', 'file_2') }) }),
          documentSource(object({ type: 'url', url: address('pdf') })),
          documentSource(object({ type: 'file', file_id: oneOf('file_1', 'file_2') })),
          object({ type: 'container_upload', file_id: oneOf('file_1', 'file_2') }),
        ),
      }),
      object({
        role: 'system',
        content: text('note'),
        output_config: object({ effort: oneOf('low', 'medium', 'high', 'xhigh', 'max') }),
      }),
      object({
        role: 'assistant',
        content: list(
          object({ type: 'redacted_thinking', data: text('cipher') }),
          object({
            type: 'text',
            text: oneOf(...PNG.map(data => `![image](data:image/png;base64,${data})`)),
          }),
        ),
      }),
      object({ role: oneOf('system', 'user'), content: text('in the middle') }),
    ),
  },
  { container: text('container') },
)

// Google's Gemini.

const beside = {
  mediaResolution: object({ level: oneOf('MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_HIGH') }),
  partMetadata: object({ page: oneOf(1, 2) }),
}
const inlineData = object({ mimeType: 'image/png', data: oneOf(...PNG) }, { displayName: text('name') })
const geminiParts = several(
  object({ text: text('text') }, beside),
  object({ inlineData }, beside),
  object({
    inlineData: object({ mimeType: 'application/pdf', data: oneOf(...PDF) }, { displayName: text('name') }),
  }),
  object({
    fileData: object(
      { fileUri: address('png'), mimeType: oneOf('image/png', 'image/webp') },
      { displayName: text('name') },
    ),
  }),
)
const openapiSchema = object(
  {
    type: 'OBJECT',
    properties: object({
      city: object({ type: 'STRING' }, { description: text('city') }),
      unit: { type: 'STRING' },
    }),
  },
  { propertyOrdering: oneOf(['city', 'unit'], ['unit', 'city']), required: list('city') },
)
const geminiTools = several(
  object({
    functionDeclarations: list(
      object(
        { name: 'weather', parametersJsonSchema: schema },
        {
          description: text('tool'),
          behavior: oneOf('BLOCKING', 'NON_BLOCKING'),
          responseJsonSchema: schema,
        },
      ),
      object({ name: 'clock', parameters: openapiSchema }, { response: openapiSchema }),
      { name: 'radio' },
    ),
  }),
  object({
    googleSearch: object(
      {},
      { excludeDomains: domains, timeRangeFilter: object({ startTime: text('time') }) },
    ),
  }),
  object({ googleMaps: object({}, { enableWidget: flag }) }),
  object({ codeExecution: object({}) }),
  object({ urlContext: object({}) }),
  object({ fileSearch: object({ fileSearchStoreNames: list(text('store')) }) }),
)
const gemini = object(
  {
    contents: list(
      object({ role: 'user', parts: geminiParts }),
      object({ role: 'model', parts: list(object({ text: text('said') })) }),
      object({ parts: list(object({ text: text('question') })) }),
    ),
  },
  {
    generationConfig: object(
      {},
      {
        temperature: amount,
        topP: amount,
        topK: oneOf(10, 20),
        candidateCount: oneOf(2, 3),
        maxOutputTokens: oneOf(2000, 3000),
        stopSequences: several(text('stop'), text('halt')),
        seed: oneOf(1, 2),
        presencePenalty: amount,
        frequencyPenalty: amount,
        responseMimeType: oneOf('application/json', 'text/plain'),
        responseModalities: list('TEXT', oneOf('VIDEO', 'SCENT')),
        speechConfig: object({
          voiceConfig: object({ prebuiltVoiceConfig: object({ voiceName: text('voice') }) }),
        }),
        imageConfig: object({ aspectRatio: oneOf('1:1', '16:9') }),
        mediaResolution: oneOf('MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_HIGH'),
        audioTimestamp: flag,
        enableEnhancedCivicAnswers: flag,
        thinkingConfig: object(
          {},
          { includeThoughts: flag, thinkingLevel: oneOf('MINIMAL', 'LOW', 'MEDIUM', 'HIGH') },
        ),
      },
    ),
    labels: object({ team: text('team') }),
    safetySettings: list(
      object({
        category: 'HARM_CATEGORY_HARASSMENT',
        threshold: oneOf('BLOCK_NONE', 'BLOCK_ONLY_HIGH'),
      }),
    ),
    serviceTier: oneOf('flex', 'standard', 'priority'),
    store: flag,
    systemInstruction: object({ parts: list(object({ text: text('system') })) }),
    modelArmorConfig: object({ promptTemplateName: text('template') }),
  },
)
const geminiAgent = object(
  {
    contents: list(
      object({ role: 'user', parts: list(object({ text: text('question') })) }),
      object({
        role: 'model',
        parts: list(
          object({ text: text('thought'), thought: true }),
          object({ text: text('said') }),
          object(
            {
              functionCall: object(
                { name: 'weather', args: object({ city: text('place') }) },
                { id: oneOf('c1') },
              ),
            },
            { thoughtSignature: oneOf('c2lnbmF0dXJl', 'c2lnbmVk') },
          ),
        ),
      }),
      object({
        role: 'user',
        parts: list(
          object({
            functionResponse: object(
              { name: 'weather', response: object({ temperature: text('degrees') }) },
              {
                parts: list(object({ inlineData })),
                willContinue: flag,
                scheduling: oneOf('SILENT', 'WHEN_IDLE'),
              },
            ),
          }),
        ),
      }),
    ),
    tools: geminiTools,
  },
  {
    generationConfig: object(
      {},
      {
        responseJsonSchema: schema,
        responseLogprobs: oneOf(true),
        logprobs: oneOf(2, 3),
        thinkingConfig: object({ thinkingBudget: oneOf(0, 2000, 20000) }, { includeThoughts: flag }),
      },
    ),
    toolConfig: object(
      {},
      {
        functionCallingConfig: object(
          { mode: oneOf('AUTO', 'ANY', 'NONE', 'VALIDATED') },
          { allowedFunctionNames: list('weather', 'clock'), streamFunctionCallArguments: flag },
        ),
        retrievalConfig: object({ languageCode: oneOf('de', 'en') }),
        includeServerSideToolInvocations: flag,
      },
    ),
  },
)

const geminiMedia = object({
  contents: list(
    object({
      role: 'user',
      parts: several(
        object({ text: text('text') }),
        object({ inlineData: object({ mimeType: oneOf('audio/mp3', 'audio/wav'), data: oneOf(...MP3) }) }),
        object(
          { fileData: object({ fileUri: address('mp4'), mimeType: 'video/mp4' }) },
          { videoMetadata: object({ startOffset: oneOf('1s', '2s') }, { fps: oneOf(1, 2) }) },
        ),
        object({
          fileData: object({
            fileUri: oneOf(
              'https://generativelanguage.googleapis.com/v1beta/files/a',
              'https://generativelanguage.googleapis.com/v1beta/files/b',
            ),
            mimeType: 'application/pdf',
          }),
        }),
      ),
    }),
    object({
      role: 'model',
      parts: list(
        object({ executableCode: object({ language: 'PYTHON', code: text('code') }) }),
        object({ codeExecutionResult: object({ outcome: 'OUTCOME_OK', output: text('output') }) }),
        object({ inlineData }, { thoughtSignature: oneOf('c2lnbmF0dXJl', 'c2lnbmVk') }),
        object({ text: text('said') }),
      ),
    }),
    object({ role: 'user', parts: list(object({ text: text('more') })) }),
  ),
})

/** Requests that a vendor's documentation allows: many fields at once, and an agent's history. */
export const REQUESTS: Readonly<Record<Format, readonly Saying[]>> = {
  'openai-chat-completions': [chat, chatAgent, chatMedia, chatLegacy, chatRouter, chatSwitch],
  'openai-responses': [responses, responsesAgent, responsesMedia],
  'anthropic-messages': [messages, messagesAgent, messagesMedia],
  'gemini-generate-content': [gemini, geminiAgent, geminiMedia],
}
