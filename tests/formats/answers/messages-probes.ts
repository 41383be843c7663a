import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import type { Probe } from './probe.ts'

function message(content: JsonObject[], stop_reason: string | null, more: JsonObject): JsonObject {
  return {
    id: 'msg_ü',
    type: 'message',
    role: 'assistant',
    model: 'zz',
    content,
    stop_reason,
    stop_sequence: null,
    stop_details: null,
    usage: { input_tokens: 7, output_tokens: 5 },
    ...more,
  }
}

/** The message as the vendor streams it. */
function streamOf(content: JsonObject[], stop_reason: string, more: JsonObject): JsonObject[] {
  const { usage, stop_sequence = null, stop_details = null, ...rest } = more
  const counts = asObject(usage)
  const begun = message([], null, { ...rest, usage: { input_tokens: 7, output_tokens: 1, ...counts } })
  return [
    { type: 'message_start', message: begun },
    { type: 'ping' },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: unfilled(block) },
      ...deltasOf(block).map(delta => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence, stop_details },
      usage: { output_tokens: 5, ...counts },
    },
    { type: 'message_stop' },
  ]
}

function unfilled(block: JsonObject): JsonObject {
  if (block['type'] === 'text') return { type: 'text', text: '' }
  if (block['type'] === 'compaction') return { type: 'compaction', content: null }
  if (block['type'] === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  return block['input'] === undefined ? block : { ...block, input: {} }
}

function deltasOf(block: JsonObject): JsonObject[] {
  const { type, text, citations, thinking, signature, input } = block
  if (type === 'text') {
    return [
      ...asArray(citations).map(citation => ({ type: 'citations_delta', citation })),
      ...pieces(String(text)).map(piece => ({ type: 'text_delta', text: piece })),
    ]
  }
  if (type === 'thinking') {
    return [
      ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
      ...(signature === '' ? [] : [{ type: 'signature_delta', signature }]),
    ]
  }
  if (type === 'compaction') return [{ type: 'compaction_delta', content: block['content'] ?? null }]
  if (input === undefined) return []
  const json = JSON.stringify(input)
  const written = json === '{}' ? [''] : ['', ...pieces(json)]
  return written.map(partial_json => ({ type: 'input_json_delta', partial_json }))
}

function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,3}/gu) ?? []
}

function both(name: string, content: JsonObject[], stop = 'end_turn', more: JsonObject = {}): Probe {
  return { name, whole: message(content, stop, more), stream: streamOf(content, stop, more) }
}

export const MESSAGES: readonly Probe[] = [
  both('citations of all kinds', [
    {
      type: 'text',
      text: 'Grüße',
      citations: [
        {
          type: 'char_location',
          cited_text: 'a',
          document_index: 0,
          document_title: 'D',
          start_char_index: 0,
          end_char_index: 1,
          file_id: null,
        },
        {
          type: 'page_location',
          cited_text: 'b',
          document_index: 0,
          document_title: null,
          start_page_number: 1,
          end_page_number: 2,
          file_id: null,
        },
        {
          type: 'content_block_location',
          cited_text: 'c',
          document_index: 1,
          document_title: 'E',
          start_block_index: 0,
          end_block_index: 1,
          file_id: null,
        },
        {
          type: 'search_result_location',
          cited_text: 'd',
          search_result_index: 0,
          source: 'https://s.example',
          title: 'S',
          start_block_index: 0,
          end_block_index: 1,
        },
        {
          type: 'search_result_location',
          cited_text: 'd',
          search_result_index: 0,
          source: 'kb/7',
          title: 'S7',
          start_block_index: 0,
          end_block_index: 1,
        },
        {
          type: 'web_search_result_location',
          cited_text: 'e',
          url: 'https://w.example',
          title: null,
          encrypted_index: 'k',
        },
      ],
    },
  ]),
  both('server tools', [
    { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'ä' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srv',
      content: [
        { type: 'web_search_result', url: 'https://w', title: 'W', encrypted_content: 'x', page_age: null },
      ],
    },
    { type: 'text', text: 'x' },
  ]),
  both(
    'code execution',
    [
      { type: 'server_tool_use', id: 's', name: 'bash_code_execution', input: { command: 'ls' } },
      {
        type: 'bash_code_execution_tool_result',
        tool_use_id: 's',
        content: { type: 'bash_code_execution_result', stdout: 'o', stderr: '', return_code: 0, content: [] },
      },
      { type: 'container_upload', file_id: 'f' },
      { type: 'text', text: 'x' },
    ],
    'end_turn',
    { container: { id: 'c', expires_at: 'z', skills: null } },
  ),
  both('mcp', [
    { type: 'mcp_tool_use', id: 's', name: 'n', server_name: 'sv', input: { a: 1 } },
    { type: 'mcp_tool_result', tool_use_id: 's', is_error: false, content: [{ type: 'text', text: 'r' }] },
    { type: 'text', text: 'x' },
  ]),
  both(
    'interleaved thinking',
    [
      { type: 'thinking', thinking: 'eins', signature: 'S1' },
      { type: 'text', text: 'A' },
      { type: 'thinking', thinking: '', signature: 'S2' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: [1, { b: null }] } },
      { type: 'redacted_thinking', data: 'R' },
      { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
    ],
    'tool_use',
  ),
  both('thinking without a signature', [
    { type: 'thinking', thinking: 'hm', signature: '' },
    { type: 'text', text: 'x' },
  ]),
  both('refusal with explanation', [], 'refusal', {
    stop_details: { type: 'refusal', category: 'bio', explanation: 'Not this.' },
  }),
  both('refusal after text', [{ type: 'text', text: 'Well, ' }], 'refusal', {
    stop_details: { type: 'refusal', category: 'cyber', explanation: null },
  }),
  both('refusal bare', [], 'refusal'),
  both('stop sequence', [{ type: 'text', text: 'abc' }], 'stop_sequence', { stop_sequence: '§END§' }),
  both('pause', [{ type: 'text', text: 'abc' }], 'pause_turn'),
  both('window', [{ type: 'text', text: 'abc' }], 'model_context_window_exceeded'),
  both('unknown stop', [{ type: 'text', text: 'abc' }], 'sleepy'),
  both(
    'whitespace',
    [
      { type: 'text', text: '\n\n' },
      { type: 'tool_use', id: 't', name: 'f', input: { x: '  ' } },
    ],
    'tool_use',
  ),
  both('empty', []),
  both('two texts', [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]),
  both(
    'text after call',
    [
      { type: 'tool_use', id: 't', name: 'f', input: {} },
      { type: 'text', text: 'b' },
    ],
    'tool_use',
  ),
  both(
    'caller of call',
    [
      {
        type: 'tool_use',
        id: 't',
        name: 'f',
        input: {},
        caller: { type: 'code_execution_20250825', tool_id: 's' },
      },
    ],
    'tool_use',
  ),
  both('usage', [{ type: 'text', text: 'x' }], 'end_turn', {
    usage: {
      input_tokens: 10,
      output_tokens: 20,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 40,
      cache_creation: { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 25 },
      output_tokens_details: { thinking_tokens: 4 },
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
      service_tier: 'priority',
      inference_geo: 'us',
      speed: 'fast',
      iterations: [{ type: 'message', input_tokens: 10, output_tokens: 20 }],
    },
  }),
  both('unknown block', [
    { type: 'aura', colour: 'blue' },
    { type: 'text', text: 'x' },
  ]),
  both('length mid tool', [{ type: 'tool_use', id: 't', name: 'f', input: {} }], 'max_tokens'),
  both('results of server tools', [
    { type: 'web_fetch_tool_result', tool_use_id: 'a', content: { type: 'web_fetch_tool_result_error' } },
    { type: 'code_execution_tool_result', tool_use_id: 'b', content: { type: 'code_execution_result' } },
    { type: 'text_editor_code_execution_tool_result', tool_use_id: 'c', content: {} },
    { type: 'tool_search_tool_result', tool_use_id: 'd', content: {} },
    { type: 'advisor_tool_result', tool_use_id: 'e', content: { type: 'advisor_result', text: 'a' } },
    { type: 'text', text: 'x' },
  ]),
  both("the server's own doing", [
    { type: 'compaction', content: 'what was said' },
    { type: 'fallback', from: { model: 'a' }, to: { model: 'b' }, trigger: { type: 'refusal' } },
    { type: 'mcp_tool_listing', mcp_server_name: 's', tools: [] },
    { type: 'text', text: 'x' },
  ]),
]
