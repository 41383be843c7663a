import { describe, expect, test } from 'bun:test'
import { request } from '#tests/formats/openai-responses/fixtures.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import { lowerTools } from '@/formats/tools/lower.ts'
import { textPart } from '@/generation/part.ts'
import type { JsonObject } from '@/json/json.ts'

test('a result behind a word of the user is a turn of its own', () => {
  const input = [
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { role: 'user', content: 'wait' },
    { type: 'function_call_output', call_id: 'c', output: 'done' },
  ]
  expect(request({ input }).turns).toMatchObject([
    { role: 'assistant', parts: [{ type: 'tool-call' }] },
    { role: 'user', parts: [{ type: 'text', text: 'wait' }] },
    { role: 'user', parts: [{ type: 'tool-result' }] },
  ])
})

test('a result says the name of its tool, which its call may no longer', () => {
  const input = [{ type: 'function_call_output', call_id: 'c', name: 'read', output: 'done' }]
  expect(request({ input }).turns[0]?.parts).toMatchObject([{ type: 'tool-result', name: 'read' }])
})

test('a result that nobody asked for is told as the user’s words, by the name of its tool', () => {
  const unasked = { type: 'function_call_output', output: [{ type: 'input_text', text: 'rain' }] }
  const input = [
    { ...unasked, call_id: null, name: 'read', namespace: 'weather' },
    { ...unasked, name: 'look', status: 'incomplete' },
  ]
  expect(request({ input }).turns).toMatchObject([
    { role: 'user', parts: [{ text: 'Result of tool weather__read:' }, { text: 'rain' }] },
    { role: 'user', parts: [{ text: 'Result of tool look, which failed:' }, { text: 'rain' }] },
  ])
  expect(refusal({ input: [{ type: 'custom_tool_call_output', output: 'x' }] }).param).toBe(
    'input[0].call_id',
  )
})

function refusal(body: JsonObject): GatewayError {
  try {
    request(body)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('was accepted')
}

const call = (id: string, name = 'f') => ({ type: 'function_call', call_id: id, name, arguments: '{}' })
const output = (id: string, value: JsonObject[string] = 'ok') => ({
  type: 'function_call_output',
  call_id: id,
  output: value,
})

describe('edge 46: tools in the middle of the input', () => {
  const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' }, strict: false })

  test('additional_tools join the tools, the first of a name wins, order is kept', () => {
    const decoded = request({
      tools: [tool('a')],
      input: [
        { type: 'additional_tools', role: 'developer', tools: [tool('a'), tool('b')] },
        { role: 'developer', content: 'rules' },
        { role: 'user', content: 'hi' },
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', tools: [tool('a')] }],
        },
      ],
    })
    const target = { model: 'm', vendor: 'openai', maxOutputTokens: undefined }
    const { tools } = lowerTools(decoded, openaiResponses.toolNames(target)).request
    expect(tools.map(entry => ('name' in entry ? entry.name : 0))).toEqual(['a', 'b', 'n__a'])
    expect(decoded.instructions).toEqual([textPart('rules')])
    expect(decoded.turns).toHaveLength(1)
  })

  test('tool_search_output brings its tools and answers its call briefly', () => {
    const decoded = request({
      tools: [{ type: 'tool_search', execution: 'client', description: 'd', parameters: {} }],
      input: [
        { role: 'user', content: 'mail?' },
        { type: 'tool_search_call', call_id: 'ts1', execution: 'client', arguments: { query: 'mail' } },
        { type: 'tool_search_output', call_id: 'ts1', execution: 'client', tools: [tool('send_mail')] },
      ],
    })
    expect(decoded.tools.map(entry => ('name' in entry ? entry.name : ''))).toEqual([
      'tool_search',
      'send_mail',
    ])
    expect(decoded.turns[1]?.parts).toMatchObject([
      { type: 'tool-call', kind: 'tool_search', callId: 'ts1', input: '{"query":"mail"}' },
    ])
    expect(decoded.turns[2]?.parts).toMatchObject([
      {
        type: 'tool-result',
        kind: 'tool_search',
        callId: 'ts1',
        content: [{ text: 'Tools now available: send_mail' }],
      },
    ])
  })

  test('a group that was found is announced by the names that its tools have elsewhere', () => {
    const group = { type: 'namespace', name: 'mail', tools: [tool('send'), tool('read')] }
    const decoded = request({
      input: [
        { type: 'tool_search_call', call_id: 'ts1', execution: 'client', arguments: {} },
        { type: 'tool_search_output', call_id: 'ts1', execution: 'client', tools: [group] },
      ],
    })
    expect(decoded.turns[1]?.parts).toMatchObject([
      { content: [{ text: 'Tools now available: mail__send, mail__read' }] },
    ])
  })
})

// https://developers.openai.com/api/docs/guides/reasoning#change-reasoning-mid-conversation
test('an effort and a form that the input sets hold for the answer, each until it sets another', () => {
  const update = (fields: object) => ({ type: 'configuration_update', ...fields })
  const format = { type: 'json_schema', name: 'o', schema: { type: 'object' } }
  const decoded = request({
    reasoning: { effort: 'low', summary: 'auto' },
    input: [
      update({ reasoning: { effort: 'max' } }),
      { role: 'user', content: 'a' },
      update({ id: 'cu_1', text: { format } }),
      { role: 'assistant', content: 'b' },
      update({ reasoning: { effort: 'high' }, text: null }),
      { role: 'user', content: 'c' },
      update({ reasoning: { effort: null } }),
    ],
  })
  expect(decoded.reasoning).toEqual({ effort: 'high', budgetTokens: undefined, summary: 'auto' })
  expect(decoded.output).toMatchObject({ type: 'json-schema', name: 'o' })
  expect(decoded.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(decoded.unread).toEqual([])
  const other = [update({ reasoning: { effort: 'low', summary: 'auto' } })]
  expect(request({ input: other }).unread).toEqual(['input.reasoning.summary'])
})

describe('edge 47: short spellings', () => {
  test('a plain string is one user message', () => {
    expect(request({ input: 'hi' }).turns).toEqual([{ role: 'user', parts: [textPart('hi')] }])
  })

  test('items without a type, and an assistant message with plain content', () => {
    const decoded = request({
      input: [
        { role: 'system', content: 'sys' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'developer', content: 'later' },
        { role: 'user', content: [{ type: 'input_text', text: 'c' }] },
      ],
    })
    expect(decoded.instructions).toEqual([textPart('sys')])
    expect(decoded.turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'system', 'user'])
  })

  test('an empty input is no input but not an error', () => {
    expect(request({ input: [], max_output_tokens: 1 }).turns).toEqual([])
  })
})

test('edge 48: an output may hold images and files', () => {
  const decoded = request({
    input: [
      call('c1'),
      output('c1', [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
      ]),
    ],
  })
  expect(decoded.turns[1]?.parts).toMatchObject([
    {
      type: 'tool-result',
      content: [
        { type: 'text', text: 'see' },
        { kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' }, detail: 'high' },
        { kind: 'document', filename: 'a.pdf', source: { type: 'base64', data: 'BBBB' } },
      ],
    },
  ])
})

describe('edge 50: server state', () => {
  test.each([
    [{ previous_response_id: 'resp_x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ background: true }, 'unsupported_parameter', 'background'],
    [{ conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'unsupported_parameter', 'prompt'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'unsupported_parameter', 'input[0]'],
  ])('%j is a 400 with its code', (body, code, param) => {
    expect(refusal({ input: 'x', ...body })).toMatchObject({ status: 400, code, param })
  })

  test('store false, background false and nulls are nothing', () => {
    const decoded = request({
      input: 'x',
      store: false,
      background: false,
      previous_response_id: null,
      conversation: null,
      tools: null,
      reasoning: null,
      text: null,
      metadata: null,
      truncation: 'disabled',
    })
    expect(decoded).toMatchObject({ store: false, tools: [], reasoning: undefined, output: undefined })
    expect(decoded.extensions['openai-responses']).toEqual({})
  })

  test('references to reasoning are dropped, typed or not', () => {
    const decoded = request({
      input: [{ type: 'item_reference', id: 'rs_1' }, { id: 'rs_2' }, { role: 'user', content: 'x' }],
    })
    expect(decoded.turns).toHaveLength(1)
  })
})

describe('edge 87: bodies that break the rules name the field', () => {
  test.each([
    [{}, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: ['x'] }, 'input[0]'],
    [{ input: 'x', stream: 'yes' }, 'stream'],
    [{ input: 'x', instructions: 7 }, 'instructions'],
    [{ input: [{ type: 'message', role: 'robot', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ role: 'user' }] }, 'input[0].content'],
    [{ input: [{ role: 'user', content: [7] }] }, 'input[0].content[0]'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input[0].content[0]'],
    [{ input: [{ content: 'x' }] }, 'input[0].type'],
    [{ input: [{ type: 'function_call', name: 'f' }] }, 'input[0].call_id'],
    [{ input: [{ type: 'function_call', call_id: 'c' }] }, 'input[0].name'],
    [{ input: [{ type: 'function_call_output', output: '' }] }, 'input[0].call_id'],
    [{ input: 'x', tools: [{ name: 'f' }] }, 'tools[0].type'],
    [{ input: 'x', tools: [{ type: 'function' }] }, 'tools[0].name'],
    [
      { input: 'x', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'custom' }] }] },
      'tools[0].tools[0].name',
    ],
    [{ input: 'x', tool_choice: 'sometimes' }, 'tool_choice'],
    [{ input: 'x', tool_choice: { type: 'function', name: 'gone' } }, 'tool_choice'],
    [{ input: 'x', temperature: 3 }, 'temperature'],
    [{ input: 'x', max_output_tokens: 0 }, 'max_output_tokens'],
    [{ input: 'x', metadata: { a: 1 } }, 'metadata.a'],
    [{ input: 'x', text: { format: { type: 'json_schema', name: 'n' } } }, 'text.format.schema'],
  ])('%j', (body, param) => {
    const error = refusal(body)
    expect(error).toMatchObject({ kind: 'invalid_request', param })
    expect(error.message).toContain(param)
  })

  test('a __proto__ key and unknown fields do no harm', () => {
    const body: JsonObject = JSON.parse('{"input":"x","__proto__":{"stream":true},"future":{"a":1}}')
    const decoded = request(body)
    expect(decoded.stream).toBe(false)
    expect(decoded.extensions['openai-responses']?.['future']).toEqual({ a: 1 })
  })
})

describe('turns', () => {
  test('what the model wrote is one turn, outputs one, each user message its own', () => {
    const decoded = request({
      input: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: 'enc',
        },
        { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'look' }] },
        call('c1'),
        call('c2'),
        output('c1'),
        output('c2'),
        { role: 'user', content: 'c' },
      ],
    })
    expect(decoded.turns.map(turn => [turn.role, turn.parts.map(part => part.type)])).toEqual([
      ['user', ['text']],
      ['user', ['text']],
      ['assistant', ['reasoning', 'text', 'tool-call', 'tool-call']],
      ['user', ['tool-result', 'tool-result']],
      ['user', ['text']],
    ])
    expect(decoded.turns[2]?.parts[0]).toEqual({
      type: 'reasoning',
      texts: ['hm'],
      raw: false,
      redacted: false,
      id: 'rs_1',
      signature: { format: 'openai-responses', vendor: undefined, value: 'enc' },
    })
  })

  test('calls of every kind carry what the tool is given', () => {
    const decoded = request({
      input: [
        { type: 'custom_tool_call', call_id: 'a', name: 'exec', namespace: 'functions', input: 'raw "text"' },
        {
          type: 'local_shell_call',
          id: 'lsh_1',
          call_id: 'b',
          action: { type: 'exec', command: ['ls'], env: {} },
        },
        { type: 'shell_call', call_id: 'c', action: { commands: ['pwd'] } },
        { type: 'apply_patch_call', call_id: 'd', operation: { type: 'delete_file', path: 'x' } },
        { type: 'computer_call', call_id: 'e', action: { type: 'screenshot' } },
        { type: 'function_call', call_id: 'f', name: 'read', namespace: 'mcp', arguments: { path: 'x' } },
        { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'done' }] },
        { type: 'function_call_output', call_id: 'b', output: 'listed' },
        {
          type: 'shell_call_output',
          call_id: 'c',
          output: [{ stdout: '/tmp', stderr: 'warn', outcome: { type: 'exit', exit_code: 1 } }],
        },
        { type: 'apply_patch_call_output', call_id: 'd', status: 'failed', output: 'no such file' },
        {
          type: 'computer_call_output',
          call_id: 'e',
          output: { type: 'computer_screenshot', image_url: 'https://i' },
        },
      ],
    })
    expect(decoded.turns[0]?.parts).toMatchObject([
      { kind: 'custom', name: 'exec', namespace: 'functions', input: 'raw "text"' },
      { kind: 'local_shell', name: 'local_shell', callId: 'b', input: '{"command":["ls"]}' },
      { kind: 'shell', input: '{"commands":["pwd"]}' },
      { kind: 'apply_patch', input: '{"type":"delete_file","path":"x"}' },
      { kind: 'computer', input: '{"type":"screenshot"}' },
      { kind: 'function', namespace: 'mcp', input: '{"path":"x"}' },
    ])
    expect(decoded.turns[1]?.parts).toMatchObject([
      { kind: 'custom', content: [{ text: 'done' }] },
      { kind: 'local_shell', callId: 'b', content: [{ text: 'listed' }] },
      { kind: 'shell', content: [{ text: '/tmp\nstderr:\nwarn\nexit code: 1' }] },
      { kind: 'apply_patch', isError: true, content: [{ text: 'no such file' }] },
      { kind: 'computer', content: [{ kind: 'image', source: { type: 'url', url: 'https://i' } }] },
    ])
  })

  test('what an agent of Codex tells another is read where no model of OpenAI sealed it', () => {
    const told = (payload: string) => ({
      type: 'agent_message',
      author: '/root',
      recipient: '/root/list_files',
      content: [
        { type: 'input_text', text: 'Message Type: NEW_TASK\nPayload:\n' },
        { type: 'encrypted_content', encrypted_content: payload },
      ],
    })
    const sealed = told(`gAAAAABo${'x_-9'.repeat(20)}==`)
    expect(request({ input: [told('List the files.'), sealed] }).turns).toMatchObject([
      {
        role: 'user',
        parts: [{ type: 'text', text: 'Message Type: NEW_TASK\nPayload:\nList the files.' }],
      },
      { role: 'user', parts: [{ type: 'opaque', name: 'agent_message', value: sealed }] },
    ])
  })

  test('items that only this format knows are kept whole', () => {
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'x' }
    const decoded = request({
      input: [compaction, { type: 'agent_message', text: 'hi' }, { type: 'compaction_trigger' }],
    })
    expect(decoded.turns).toMatchObject([
      { role: 'assistant', parts: [{ type: 'opaque', name: 'compaction', value: compaction }] },
      { role: 'user', parts: [{ type: 'opaque', name: 'agent_message' }] },
      { role: 'user', parts: [{ type: 'opaque', name: 'compaction_trigger' }] },
    ])
  })
})

describe('tools', () => {
  test('each kind becomes what can be done with it elsewhere', () => {
    const { tools } = request({
      input: 'x',
      tools: [
        { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' } },
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
        { type: 'tool_search', execution: 'client' },
        { type: 'tool_search', execution: 'server' },
        { type: 'tool_search' },
        { type: 'local_shell' },
        { type: 'shell', environment: { type: 'local' } },
        { type: 'shell', environment: { type: 'container_auto' } },
        { type: 'apply_patch' },
        { type: 'web_search', filters: { allowed_domains: ['a.org'] }, user_location: { country: 'NO' } },
        { type: 'code_interpreter', container: { type: 'auto' } },
        { type: 'file_search', vector_store_ids: ['v'] },
        { type: 'mcp', server_label: 's' },
        { type: 'computer' },
      ],
    })
    expect(tools.map(tool => [tool.type, tool.type === 'hosted' ? tool.kind : tool.name])).toEqual([
      ['function', 'f'],
      ['custom', 'p'],
      ['client', 'tool_search'],
      ['hosted', 'other'],
      ['hosted', 'other'],
      ['client', 'local_shell'],
      ['client', 'shell'],
      ['hosted', 'other'],
      ['client', 'apply_patch'],
      ['hosted', 'web_search'],
      ['hosted', 'code_execution'],
      ['hosted', 'file_search'],
      ['hosted', 'other'],
      ['hosted', 'other'],
    ])
    expect(tools[0]).toMatchObject({ strict: undefined })
    expect(tools[1]).toMatchObject({ grammar: { syntax: 'lark', definition: 'start: "a"' } })
    expect(tools[9]).toMatchObject({
      webSearch: { allowedDomains: ['a.org'], userLocation: { country: 'NO' } },
    })
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'required' }],
    [
      { type: 'function', name: 'f' },
      { type: 'tool', name: 'f', kind: 'function', namespace: 'g' },
    ],
    [{ type: 'apply_patch' }, { type: 'tool', name: 'apply_patch', kind: 'apply_patch' }],
    [
      { type: 'web_search_preview' },
      { type: 'tool', kind: { hosted: 'web_search', wireType: 'web_search_preview' } },
    ],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
      { type: 'allowed', mode: 'required', tools: [{ name: 'f', namespace: undefined }] },
    ],
  ])('choice %j', (wire, choice) => {
    const tools = [{ type: 'namespace', name: 'g', tools: [{ type: 'function', name: 'f' }] }]
    expect(request({ input: 'x', tools, tool_choice: wire }).toolChoice).toMatchObject(choice)
  })
})

test('every other field finds its neutral name', () => {
  const decoded = request({
    input: 'x',
    instructions: 'be kind',
    temperature: 0.5,
    top_p: 0.9,
    top_logprobs: 2,
    max_output_tokens: 100,
    parallel_tool_calls: false,
    reasoning: { effort: 'high', summary: 'auto', context: 'all_turns' },
    text: {
      verbosity: 'low',
      format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true },
    },
    include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    user: 'u',
    safety_identifier: 's',
    metadata: { k: 'v' },
    prompt_cache_key: 'pck',
    service_tier: 'flex',
    max_tool_calls: 3,
    truncation: 'auto',
    client_metadata: { path: '/home' },
    stream_options: { include_obfuscation: false },
  })
  expect(decoded).toMatchObject({
    instructions: [textPart('be kind')],
    temperature: 0.5,
    topP: 0.9,
    logprobs: { top: 2 },
    maxOutputTokens: 100,
    parallelToolCalls: false,
    reasoning: { effort: 'high', budgetTokens: undefined, summary: 'auto' },
    verbosity: 'low',
    output: { type: 'json-schema', name: 's', schema: { type: 'object' }, strict: true },
    user: 's',
    metadata: { k: 'v' },
    promptCacheKey: 'pck',
    serviceTier: 'flex',
  })
  expect(decoded.extensions['openai-responses']).toEqual({
    'reasoning.context': 'all_turns',
    include: ['web_search_call.action.sources'],
    max_tool_calls: 3,
    truncation: 'auto',
    user: 'u',
  })
})
