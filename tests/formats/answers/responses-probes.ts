import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import { type Probe, token } from './probe.ts'

function response(output: JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    id: 'resp_é',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'zz',
    output,
    error: null,
    incomplete_details: null,
    usage: {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 12,
    },
    ...more,
  }
}

/** The response as the vendor streams it. */
function streamOf(output: JsonObject[], more: JsonObject, last: string): JsonObject[] {
  const begun = { ...response([], more), status: 'in_progress', usage: null }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: unfilled(item) },
      ...filling(item).map(event => ({ output_index, item_id: item['id'] ?? null, ...event })),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: last, response: response(output, more) },
  ]
  return events.map((event, sequence_number) => ({ sequence_number, ...event }))
}

function unfilled(item: JsonObject): JsonObject {
  const begun = { ...item, status: 'in_progress' }
  switch (item['type']) {
    case 'message':
      return { ...begun, content: [] }
    case 'function_call':
      return { ...begun, arguments: '' }
    case 'custom_tool_call':
      return { ...begun, input: '' }
    case 'reasoning':
      return { id: item['id'], type: 'reasoning', summary: [], encrypted_content: '' }
    default:
      return begun
  }
}

function filling(item: JsonObject): JsonObject[] {
  switch (item['type']) {
    case 'message':
      return objects(item['content']).flatMap((part, content_index) =>
        [
          { type: 'response.content_part.added', part: emptied(part) },
          ...contentEvents(part),
          { type: 'response.content_part.done', part },
        ].map(event => ({ content_index, ...event })),
      )
    case 'function_call':
      return inputEvents('response.function_call_arguments', 'arguments', item['arguments'])
    case 'custom_tool_call':
      return inputEvents('response.custom_tool_call_input', 'input', item['input'])
    case 'reasoning':
      // Whoever gives both begins with the raw text.
      return [
        ...objects(item['content']).flatMap((part, content_index) => [
          { type: 'response.reasoning_text.delta', content_index, delta: part['text'] },
          { type: 'response.reasoning_text.done', content_index, text: part['text'] },
        ]),
        ...objects(item['summary']).flatMap((part, summary_index) => [
          {
            type: 'response.reasoning_summary_part.added',
            summary_index,
            part: { type: 'summary_text', text: '' },
          },
          { type: 'response.reasoning_summary_text.delta', summary_index, delta: part['text'] },
          { type: 'response.reasoning_summary_text.done', summary_index, text: part['text'] },
          { type: 'response.reasoning_summary_part.done', summary_index, part },
        ]),
      ]
    default:
      return []
  }
}

function emptied(part: JsonObject): JsonObject {
  return part['type'] === 'refusal' ? { ...part, refusal: '' } : { ...part, text: '', annotations: [] }
}

function contentEvents({ type, text, refusal, annotations, logprobs }: JsonObject): JsonObject[] {
  if (type === 'refusal') {
    return [
      { type: 'response.refusal.delta', delta: refusal },
      { type: 'response.refusal.done', refusal },
    ]
  }
  if (type !== 'output_text') return []
  return [
    ...pieces(text, 2).map(delta => ({ type: 'response.output_text.delta', delta, logprobs: [] })),
    ...objects(annotations).map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      annotation_index,
      annotation,
    })),
    { type: 'response.output_text.done', text, logprobs },
  ]
}

function inputEvents(name: string, field: string, input: JsonObject[string]): JsonObject[] {
  const deltas = pieces(input, 5).map(delta => ({ type: `${name}.delta`, delta }))
  return [...deltas, { type: `${name}.done`, [field]: input }]
}

function pieces(text: JsonObject[string], length: number): string[] {
  return String(text).match(new RegExp(`[\\s\\S]{1,${length}}`, 'gu')) ?? []
}

function objects(value: JsonObject[string]): JsonObject[] {
  return asArray(value)
    .map(asObject)
    .filter(each => each !== undefined)
}

function both(name: string, output: JsonObject[], more: JsonObject = {}, last = 'response.completed'): Probe {
  return { name, whole: response(output, more), stream: streamOf(output, more, last) }
}

const text = (t: string, more: JsonObject = {}) => ({
  type: 'output_text',
  text: t,
  annotations: [],
  logprobs: [],
  ...more,
})
const msg = (id: string, content: JsonObject[], more: JsonObject = {}) => ({
  id,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content,
  ...more,
})
export const RESPONSES: readonly Probe[] = [
  both('two texts in one message', [msg('m', [text('α'), text('βγδ')])]),
  both('text + refusal', [msg('m', [text('Hm. '), { type: 'refusal', refusal: 'Nein' }])]),
  both('empty text', [msg('m', [text('')])]),
  both('no content at all', [msg('m', [])]),
  both('no output', []),
  both('phases', [
    msg('m', [text('plan')], { phase: 'commentary' }),
    { id: 'f', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', status: 'completed' },
    msg('m2', [text('done')], { phase: 'final_answer' }),
  ]),
  both('annotations of all kinds', [
    msg('m', [
      text('Größe 1', {
        annotations: [
          { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 5 },
          { type: 'file_citation', file_id: 'file_1', filename: 'a.pdf', index: 3 },
          {
            type: 'container_file_citation',
            container_id: 'k',
            file_id: 'file_2',
            filename: 'b.png',
            start_index: 1,
            end_index: 2,
          },
          { type: 'file_path', file_id: 'file_3', index: 4 },
        ],
      }),
    ]),
  ]),
  both('logprobs', [msg('m', [text('ab', { logprobs: [token('a'), token('b')] })])]),
  both('reasoning summary two parts + encrypted', [
    {
      id: 'rs',
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
      encrypted_content: 'ENC',
    },
    msg('m', [text('x')]),
  ]),
  both('reasoning raw and summary', [
    {
      id: 'rs',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'sum' }],
      content: [{ type: 'reasoning_text', text: 'raw' }],
    },
    msg('m', [text('x')]),
  ]),
  both('reasoning only encrypted', [
    { id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'ENC' },
    msg('m', [text('x')]),
  ]),
  both('reasoning empty', [{ id: 'rs', type: 'reasoning', summary: [] }, msg('m', [text('x')])]),
  both('reasoning empty part', [
    { id: 'rs', type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
    { id: 'rs2', type: 'reasoning', summary: [{ type: 'summary_text', text: '' }] },
    msg('m', [text('x')]),
  ]),
  both('reasoning between calls', [
    { id: 'r1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
    {
      id: 'f',
      type: 'function_call',
      call_id: 'c1',
      name: 'f',
      arguments: '{"n":1e400,"z":-0}',
      status: 'completed',
    },
    { id: 'r2', type: 'reasoning', summary: [{ type: 'summary_text', text: 'b' }] },
    { id: 'g', type: 'function_call', call_id: 'c2', name: 'g', arguments: '', status: 'completed' },
  ]),
  both('hosted calls', [
    { id: 'ws', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
    { id: 'fs', type: 'file_search_call', status: 'completed', queries: ['q'], results: null },
    {
      id: 'ci',
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'print(1)',
      container_id: 'c',
      outputs: [{ type: 'logs', logs: '1' }],
    },
    { id: 'mc', type: 'mcp_call', name: 't', arguments: '{}', server_label: 's', output: 'o' },
    { id: 'ml', type: 'mcp_list_tools', server_label: 's', tools: [] },
    { id: 'ma', type: 'mcp_approval_request', arguments: '{}', name: 'n', server_label: 's' },
    msg('m', [text('x')]),
  ]),
  both('image', [
    {
      id: 'ig',
      type: 'image_generation_call',
      status: 'completed',
      result: 'iVBORw0KGgo=',
      output_format: 'png',
    },
  ]),
  both('image empty', [
    { id: 'ig', type: 'image_generation_call', status: 'failed', result: null },
    msg('m', [text('sorry')]),
  ]),
  both('custom call', [
    {
      id: 'ct',
      type: 'custom_tool_call',
      call_id: 'c',
      name: 'apply',
      input: '"\\u00e9"\n\t🎉',
      status: 'completed',
    },
  ]),
  both('namespaced calls', [
    {
      id: 'f1',
      type: 'function_call',
      call_id: 'c1',
      name: 'get',
      namespace: 'n1',
      arguments: '{}',
      status: 'completed',
    },
    {
      id: 'f2',
      type: 'function_call',
      call_id: 'c2',
      name: 'get',
      namespace: 'n2',
      arguments: '{}',
      status: 'completed',
    },
  ]),
  both('client calls', [
    {
      id: 'ls',
      type: 'local_shell_call',
      call_id: 'c1',
      action: { type: 'exec', command: ['ls', '-l'], env: {} },
      status: 'completed',
    },
    {
      id: 'sh',
      type: 'shell_call',
      call_id: 'c2',
      action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
      status: 'completed',
    },
    {
      id: 'ap',
      type: 'apply_patch_call',
      call_id: 'c3',
      operation: { type: 'delete_file', path: 'x' },
      status: 'completed',
    },
    {
      id: 'ts',
      type: 'tool_search_call',
      call_id: 'c4',
      execution: 'client',
      arguments: { q: 1 },
      status: 'completed',
    },
    {
      id: 'cc',
      type: 'computer_call',
      call_id: 'c5',
      action: { type: 'screenshot' },
      pending_safety_checks: [],
      status: 'completed',
    },
  ]),
  both(
    'incomplete length mid call',
    [{ id: 'f', type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":"b', status: 'incomplete' }],
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    'response.incomplete',
  ),
  both(
    'incomplete filter',
    [msg('m', [text('par')], { status: 'incomplete' })],
    { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
    'response.incomplete',
  ),
  both(
    'incomplete steered',
    [msg('m', [text('par')], { status: 'incomplete' })],
    { status: 'incomplete', incomplete_details: { reason: 'steered' } },
    'response.incomplete',
  ),
  both('unknown item and part', [
    { id: 'z', type: 'hologram', data: 1 },
    msg('m', [{ type: 'output_smell', smell: 'rose' }, text('x')]),
  ]),
  both('compaction', [{ id: 'cmp', type: 'compaction', encrypted_content: 'E' }, msg('m', [text('x')])]),
  both('tier', [msg('m', [text('x')])], { service_tier: 'priority' }),
  both('program', [
    { id: 'p', type: 'program', code: 'x', call_id: 'c', fingerprint: 'f' },
    { id: 'po', type: 'program_output', call_id: 'c', result: 'r', status: 'completed' },
    msg('m', [text('x')]),
  ]),
  both('outputs of calls', [
    { id: '1', type: 'function_call_output', call_id: 'a', output: 'ü', status: 'completed' },
    { id: '2', type: 'computer_call_output', call_id: 'b', output: { type: 'computer_screenshot' } },
    { id: '3', type: 'tool_search_output', call_id: 'c', execution: 'server', tools: [] },
    { id: '4', type: 'additional_tools', role: 'developer', tools: [] },
    { id: '5', type: 'local_shell_call_output', call_id: 'd', output: '{}' },
    { id: '6', type: 'shell_call_output', call_id: 'e', output: [] },
    { id: '7', type: 'apply_patch_call_output', call_id: 'f', status: 'completed' },
    { id: '8', type: 'mcp_approval_response', approval_request_id: 'g', approve: true },
    { id: '9', type: 'custom_tool_call_output', call_id: 'h', output: 'x' },
    msg('m', [text('x')]),
  ]),
  both('counted searches', [msg('m', [text('x')])], {
    tool_usage: { image_gen: { input_tokens: 0, output_tokens: 0 }, web_search: { num_requests: 3 } },
  }),
]
