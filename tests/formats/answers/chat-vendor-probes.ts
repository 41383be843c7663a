import type { JsonObject } from '@/json/json.ts'
import type { Probe } from './probe.ts'

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

const chunk = (delta: JsonObject, more: JsonObject = {}, choice: JsonObject = {}): JsonObject => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'zz',
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
})

const whole = (message: JsonObject, more: JsonObject = {}, finish = 'stop'): JsonObject => ({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'zz',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage: USAGE,
  ...more,
})

const end = (more: JsonObject = {}, finish = 'stop', delta: JsonObject = {}): JsonObject =>
  chunk(delta, { usage: USAGE, ...more }, { finish_reason: finish })

const AZURE = {
  citations: [
    { content: '¤ found', title: '¤ Title', url: 'https://a.example/¤', filepath: 'x.pdf', chunk_id: '0' },
    { content: '¤ bare', title: null, url: null, filepath: 'y.pdf', chunk_id: '1' },
  ],
  intent: '["¤ intent"]',
}

const SONAR = {
  citations: ['https://a.example/¤', 'https://b.example/¤'],
  search_results: [
    { title: '¤ A', url: 'https://a.example/¤', date: '2026-01-01', snippet: 'a' },
    { title: '¤ B', url: 'https://b.example/¤', date: null },
  ],
  images: [{ image_url: 'https://i.example/¤.png', origin_url: 'https://o.example', height: 1, width: 2 }],
  related_questions: ['¤ why?'],
}

const MCP = {
  id: 'c',
  type: 'mcp',
  mcp: { id: 'm', type: 'mcp_call', name: '¤ find', server_label: 's', arguments: '{}', output: '¤ found' },
}

const BLOCK = { type: 'thinking', thinking: '¤ think', signature: 'signature' }

/**
 * Answers of vendors who speak Chat with words of their own. What is marked with a ¤ is part of the answer: it reaches
 * the caller, or the name of its field does.
 */
export const CHAT_VENDORS: readonly Probe[] = [
  {
    name: "Azure, of the operator's documents",
    whole: whole({ content: '¤ Hi [doc1]', context: AZURE, end_turn: true }),
    stream: [
      {
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
      },
      chunk({ role: 'assistant', context: AZURE }, {}, { end_turn: null }),
      chunk({ content: '¤ Hi [doc1]' }, {}, { content_filter_results: { hate: { filtered: false } } }),
      { ...chunk({}), choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] },
      end(),
    ],
  },
  {
    name: 'Perplexity, which says all of it again in each chunk',
    whole: whole({ content: '¤ Paris' }, SONAR),
    stream: [
      chunk({ role: 'assistant', content: '¤ Pa' }, SONAR, { message: { content: '¤ Pa' } }),
      chunk({ role: 'assistant', content: 'ris' }, SONAR, { message: { content: '¤ Paris' } }),
      {
        ...end(SONAR, 'stop', { role: 'assistant', content: '' }),
        object: 'chat.completion.done',
      },
    ],
  },
  {
    name: 'Perplexity, with the steps of its search',
    whole: whole({ content: 'Paris', reasoning_steps: [{ thought: '¤ look', type: 'web_search' }] }),
    stream: [
      {
        ...chunk({ role: 'assistant', content: '', reasoning_steps: [{ thought: '¤ look' }] }),
        object: 'chat.reasoning',
      },
      chunk({ content: 'Paris' }),
      end(),
    ],
  },
  {
    name: 'Z.ai, with a search of the web',
    whole: whole(
      { content: 'A' },
      {
        web_search: [{ title: '¤ T', link: 'https://z.example/¤', content: 'c', media: 'm', refer: 'ref_1' }],
      },
    ),
    stream: [
      chunk({ role: 'assistant', content: 'A' }),
      end({ web_search: [{ title: '¤ T', link: 'https://z.example/¤', content: 'c', media: 'm' }] }),
    ],
  },
  {
    name: 'Z.ai, with a call of MCP that it has made',
    whole: whole({ content: '¤ Hi', tool_calls: [MCP] }),
    stream: [
      chunk({ role: 'assistant', tool_calls: [{ index: 0, ...MCP }] }),
      chunk({ content: '¤ Hi' }),
      end(),
    ],
  },
  {
    name: 'LiteLLM, with what Anthropic thought and cited',
    whole: whole({
      content: '¤ A',
      reasoning_content: '¤ think',
      thinking_blocks: [BLOCK],
      provider_specific_fields: {
        citations: [[{ url: 'https://q.example', cited_text: '¤ cited' }]],
        thinking_blocks: [BLOCK],
        refusal: null,
      },
    }),
    stream: [
      chunk({
        role: 'assistant',
        content: '',
        reasoning_content: '¤ thi',
        thinking_blocks: [{ type: 'thinking', thinking: '¤ thi', signature: null }],
        provider_specific_fields: { thinking_blocks: [BLOCK] },
      }),
      chunk({
        content: '',
        reasoning_content: 'nk',
        thinking_blocks: [{ type: 'thinking', thinking: 'nk', signature: '' }],
      }),
      chunk({ reasoning_content: '', thinking_blocks: [{ ...BLOCK, thinking: '' }] }),
      chunk({ content: '¤ A', provider_specific_fields: { citations: [[{ url: 'https://q.example' }]] } }),
      end(),
    ],
  },
  {
    name: 'Vertex, with the signature of a call',
    whole: whole(
      {
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            extra_content: { vertex: { thought_signature: 'signature' } },
            function: { name: 'f', arguments: '{"a":1}' },
          },
        ],
      },
      {},
      'tool_calls',
    ),
    stream: [
      chunk({
        role: 'assistant',
        tool_calls: [
          {
            index: 0,
            id: 'c1',
            type: 'function',
            extra_content: { vertex: { thought_signature: 'signature' } },
            function: { name: 'f', arguments: '{"a":1}' },
          },
        ],
      }),
      end({}, 'tool_calls', { role: 'assistant', content: '' }),
    ],
  },
  {
    name: 'LiteLLM, with the signature that Gemini gave a call',
    whole: whole(
      {
        tool_calls: [
          {
            id: 'call_1__thought__signature',
            type: 'function',
            provider_specific_fields: { thought_signature: 'signature' },
            function: { name: 'f', arguments: '{"a":1}' },
          },
        ],
      },
      {},
      'tool_calls',
    ),
    stream: [
      chunk({
        role: 'assistant',
        tool_calls: [
          {
            index: 0,
            id: 'call_1__thought__signature',
            type: 'function',
            provider_specific_fields: { thought_signature: 'signature' },
            function: { name: 'f', arguments: '{"a":1}' },
          },
        ],
      }),
      end({}, 'tool_calls'),
    ],
  },
  {
    name: 'MiniMax, which ends with all of the message',
    whole: whole(
      { content: '¤ Hello', name: 'MiniMax AI', audio_content: '' },
      { base_resp: { status_code: 0 } },
    ),
    stream: [
      chunk(
        { role: 'assistant', name: 'MiniMax AI', audio_content: '', content: '¤ Hel' },
        { base_resp: null },
      ),
      chunk({ role: 'assistant', name: 'MiniMax AI', content: 'lo' }, {}, { finish_reason: 'stop' }),
      whole({ content: '¤ Hello', name: 'MiniMax AI' }, { base_resp: { status_code: 0, status_msg: '' } }),
    ],
  },
  {
    name: 'Groq, whose thoughts have a channel',
    whole: whole({ content: '¤ A', channel: 'final', reasoning: '¤ R' }, { x_groq: { id: 'req' } }),
    stream: [
      chunk({ role: 'assistant', content: '' }, { x_groq: { id: 'req' } }),
      chunk({ channel: 'analysis', reasoning: '¤ R' }),
      chunk({ channel: 'final', content: '¤ A' }),
      end({ x_groq: { id: 'req', usage: USAGE } }),
    ],
  },
  {
    name: 'Copilot, whose thoughts have a name of their own',
    whole: whole({ content: '¤ A', reasoning_text: '¤ R', reasoning_opaque: '¤ sealed' }),
    stream: [
      { choices: [], created: 0, id: '', prompt_filter_results: [] },
      chunk({ role: 'assistant', content: null, reasoning_text: '¤ R', reasoning_opaque: '¤ sealed' }),
      chunk({ role: 'assistant', content: '¤ A' }),
      end(),
    ],
  },
  {
    name: 'DeepSeek, with null for what it does not say',
    whole: whole({ content: '¤ A', reasoning_content: '¤ R', tool_calls: null, prefix: false }),
    stream: [
      chunk({ role: 'assistant', content: null, reasoning_content: '' }, { usage: null }),
      chunk({ content: null, reasoning_content: '¤ R' }, { usage: null }),
      chunk({ content: '¤ A', reasoning_content: null }, { usage: null }),
      end({}, 'stop', { content: '', reasoning_content: null }),
    ],
  },
]
