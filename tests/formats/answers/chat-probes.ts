import type { JsonObject } from '@/json/json.ts'
import { type Probe, token } from './probe.ts'

const chatWhole = (message: JsonObject, finish = 'stop', more: JsonObject = {}, choice: JsonObject = {}) => ({
  id: 'chatcmpl-Ä',
  object: 'chat.completion',
  created: 1,
  model: 'zz',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, refusal: null, ...message },
      logprobs: null,
      finish_reason: finish,
      ...choice,
    },
  ],
  usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  ...more,
})
const chunk = (delta: JsonObject, more: JsonObject = {}, choice: JsonObject = {}) => ({
  id: 'chatcmpl-Ä',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'zz',
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
})
const fin = (reason = 'stop', more: JsonObject = {}) => [
  { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: reason }], ...more },
  { ...chunk({}), choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }, ...more },
]
const head = chunk({ role: 'assistant', content: '' })
const FILE_ANNOTATION = {
  type: 'file',
  file: { hash: 'h', name: 'a.pdf', content: [{ type: 'text', text: 'what it says' }] },
}
const EXECUTED = { index: 0, type: 'search', arguments: '{"query":"q"}', output: 'found' }

const PREDICTED_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: {
    cached_tokens: 30,
    cache_write_tokens: 20,
    audio_tokens: 5,
    image_tokens: 3,
    text_tokens: 92,
  },
  completion_tokens_details: {
    reasoning_tokens: 10,
    audio_tokens: 4,
    accepted_prediction_tokens: 2,
    rejected_prediction_tokens: 6,
    text_tokens: 30,
  },
}

export const CHAT: readonly Probe[] = [
  {
    name: 'audio with transcript',
    whole: chatWhole({ audio: { id: 'a', data: 'UklGRgAA', expires_at: 9, transcript: 'Grüß Gott 👋' } }),
    stream: [
      head,
      chunk({ audio: { id: 'a', transcript: 'Grüß ' } }),
      chunk({ audio: { data: 'UklG' } }),
      chunk({ audio: { data: 'RgAA', transcript: 'Gott 👋' } }),
      chunk({ audio: { expires_at: 9 } }),
      ...fin(),
    ],
  },
  {
    name: 'audio transcript only',
    whole: chatWhole({ audio: { id: 'a', data: '', expires_at: 9, transcript: 'only words' } }),
    stream: [head, chunk({ audio: { id: 'a', transcript: 'only words' } }), ...fin()],
  },
  {
    name: 'audio and text and call',
    whole: chatWhole(
      {
        content: 'see',
        audio: { id: 'a', data: 'UklGRgAA', expires_at: 9, transcript: 'hört' },
        tool_calls: [
          { id: 'c:1', type: 'function', function: { name: 'f.x', arguments: '{"ü":12345678901234567890}' } },
        ],
      },
      'tool_calls',
    ),
    stream: [
      head,
      chunk({ content: 'see' }),
      chunk({ audio: { data: 'UklGRgAA', transcript: 'hört' } }),
      chunk({
        tool_calls: [{ index: 0, id: 'c:1', type: 'function', function: { name: 'f.x', arguments: '' } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"ü":1234567890' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '1234567890}' } }] }),
      ...fin('tool_calls'),
    ],
  },
  {
    name: 'refusal with logprobs',
    whole: chatWhole(
      { refusal: 'Nein.' },
      'stop',
      {},
      { logprobs: { content: null, refusal: [token('Nein'), token('.')] } },
    ),
    stream: [
      head,
      chunk({ refusal: 'Nein' }, {}, { logprobs: { content: null, refusal: [token('Nein')] } }),
      chunk({ refusal: '.' }, {}, { logprobs: { content: null, refusal: [token('.')] } }),
      ...fin(),
    ],
  },
  {
    name: 'text, then refusal',
    whole: chatWhole({ content: 'Hm, ', refusal: 'no' }),
    stream: [head, chunk({ content: 'Hm, ' }), chunk({ refusal: 'no' }), ...fin()],
  },
  {
    name: 'logprobs',
    whole: chatWhole(
      { content: 'é🎈' },
      'stop',
      {},
      { logprobs: { content: [token('é'), token('🎈')], refusal: null } },
    ),
    stream: [
      head,
      chunk({ content: 'é' }, {}, { logprobs: { content: [token('é')] } }),
      chunk({ content: '🎈' }, {}, { logprobs: { content: [token('🎈')] } }),
      ...fin(),
    ],
  },
  {
    name: 'three parallel, middle empty',
    whole: chatWhole(
      {
        tool_calls: [
          { id: 'A', type: 'function', function: { name: 'a', arguments: '{"q":"\\u0000\\n"}' } },
          { id: 'B', type: 'function', function: { name: 'b', arguments: '' } },
          { id: 'C', type: 'custom', custom: { name: 'p', input: '*** "x"\n\\' } },
        ],
      },
      'tool_calls',
    ),
    stream: [
      chunk({ role: 'assistant', content: null }),
      chunk({
        tool_calls: [
          { index: 0, id: 'A', type: 'function', function: { name: 'a', arguments: '' } },
          { index: 1, id: 'B', type: 'function', function: { name: 'b', arguments: '' } },
        ],
      }),
      chunk({ tool_calls: [{ index: 2, id: 'C', type: 'custom', custom: { name: 'p', input: '' } }] }),
      chunk({ tool_calls: [{ index: 2, custom: { input: '*** "x"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"q":"\\u00' } }] }),
      chunk({
        tool_calls: [
          { index: 2, custom: { input: '\n\\' } },
          { index: 0, function: { arguments: '00\\n"}' } },
        ],
      }),
      ...fin('tool_calls'),
    ],
  },
  {
    name: 'annotations',
    whole: chatWhole({
      content: 'aß[1]',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { start_index: 0, end_index: 2, title: 'Ö', url: 'https://ö.example/?a=b#c' },
        },
      ],
    }),
    stream: [
      head,
      chunk({ content: 'aß[1]' }),
      chunk({
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 0, end_index: 2, title: 'Ö', url: 'https://ö.example/?a=b#c' },
          },
        ],
      }),
      ...fin(),
    ],
  },
  {
    name: 'file annotation',
    whole: chatWhole({
      content: 'x',
      annotations: [{ type: 'file', file: { hash: 'h', name: 'a.pdf', content: [] } }],
    }),
    stream: [
      head,
      chunk({ content: 'x' }),
      chunk({ annotations: [{ type: 'file', file: { hash: 'h', name: 'a.pdf', content: [] } }] }),
      ...fin(),
    ],
  },
  {
    name: 'reasoning, empty content',
    whole: chatWhole({ content: '', reasoning_content: 'hmm\n\nwell' }),
    stream: [head, chunk({ reasoning_content: 'hmm\n' }), chunk({ reasoning_content: '\nwell' }), ...fin()],
  },
  {
    name: 'mistral parts',
    whole: chatWhole({
      content: [
        {
          type: 'thinking',
          thinking: [
            { type: 'text', text: 'T1' },
            { type: 'reference', reference_ids: [1] },
          ],
        },
        { type: 'text', text: 'A' },
        { type: 'reference', reference_ids: [1, 2] },
        { type: 'text', text: 'B' },
      ],
    }),
    stream: [
      chunk({ role: 'assistant', content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'T1' }] }] }),
      chunk({
        content: [
          { type: 'text', text: 'A' },
          { type: 'reference', reference_ids: [1, 2] },
        ],
      }),
      chunk({ content: 'B' }),
      ...fin(),
    ],
  },
  {
    name: 'two choices',
    whole: {
      ...chatWhole({ content: 'one' }),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'one', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
        {
          index: 1,
          message: { role: 'assistant', content: 'zwei', refusal: null },
          logprobs: null,
          finish_reason: 'length',
        },
      ],
    },
    stream: [
      { ...head, choices: [{ index: 1, delta: { role: 'assistant', content: 'zw' }, finish_reason: null }] },
      chunk({ role: 'assistant', content: 'on' }),
      {
        ...head,
        choices: [
          { index: 1, delta: { content: 'ei' }, finish_reason: 'length' },
          { index: 0, delta: { content: 'e' }, finish_reason: null },
        ],
      },
      ...fin(),
    ],
  },
  {
    name: 'tier and fingerprint',
    whole: chatWhole({ content: 'x' }, 'stop', { service_tier: 'flex', system_fingerprint: 'fp' }),
    stream: [
      { ...head, service_tier: 'flex', system_fingerprint: 'fp' },
      chunk({ content: 'x' }, { service_tier: 'flex', system_fingerprint: 'fp' }),
      ...fin('stop', { service_tier: 'flex' }),
    ],
  },
  {
    name: 'images',
    whole: chatWhole({
      content: 'here',
      images: [
        { type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRgAA' } },
        { type: 'image_url', image_url: { url: 'https://x.example/p.png' } },
      ],
    }),
    stream: [
      head,
      chunk({ content: 'here' }),
      chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRgAA' } }] }),
      chunk({ images: [{ type: 'image_url', image_url: { url: 'https://x.example/p.png' } }] }),
      ...fin(),
    ],
  },
  {
    name: 'moderation',
    whole: chatWhole({ content: 'x' }, 'stop', {
      moderation: {
        input: { type: 'moderation_results', model: 'o', results: [] },
        output: { type: 'error', code: 'c', message: 'm' },
      },
    }),
    stream: [
      head,
      chunk({ content: 'x' }),
      {
        ...chunk({}),
        choices: [],
        moderation: {
          input: { type: 'moderation_results', model: 'o', results: [] },
          output: { type: 'error', code: 'c', message: 'm' },
        },
      },
      ...fin(),
    ],
  },
  {
    // Mistral's
    name: 'references in the text',
    whole: chatWhole({
      content: [
        { type: 'text', text: 'Paris' },
        { type: 'reference', reference_ids: [0, 2] },
        { type: 'text', text: ' it is.' },
      ],
    }),
    stream: [
      head,
      chunk({ content: 'Par' }),
      chunk({ content: [{ type: 'text', text: 'is' }] }),
      chunk({ content: [{ type: 'reference', reference_ids: [0, 2] }] }),
      chunk({ content: ' it is.' }),
      ...fin(),
    ],
  },
  {
    // OpenRouter's, for files that it read for the model
    name: 'file annotation',
    whole: chatWhole({ content: 'x', annotations: [FILE_ANNOTATION] }),
    stream: [head, chunk({ content: 'x' }), chunk({ annotations: [FILE_ANNOTATION] }), ...fin()],
  },
  {
    // Groq's
    name: 'tools that the vendor ran',
    whole: chatWhole({ content: 'x', executed_tools: [EXECUTED] }),
    stream: [head, chunk({ executed_tools: [EXECUTED] }), chunk({ content: 'x' }), ...fin()],
  },
  {
    name: 'unknown finish',
    whole: chatWhole({ content: 'x' }, 'telepathy'),
    stream: [head, chunk({ content: 'x' }), ...fin('telepathy')],
  },
  {
    name: 'finish null whole',
    whole: {
      ...chatWhole({ content: 'x' }),
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: null }],
    },
    stream: [
      head,
      chunk({ content: 'x' }),
      {
        id: 'chatcmpl-Ä',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'zz',
        choices: [],
        usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
      },
    ],
  },
  {
    name: 'length mid call',
    whole: chatWhole(
      { tool_calls: [{ id: 'A', type: 'function', function: { name: 'a', arguments: '{"q":"wo' } }] },
      'length',
    ),
    stream: [
      chunk({ role: 'assistant', content: null }),
      chunk({
        tool_calls: [{ index: 0, id: 'A', type: 'function', function: { name: 'a', arguments: '{"q":"wo' } }],
      }),
      ...fin('length'),
    ],
  },
  {
    name: 'content filter nothing',
    whole: chatWhole({ content: '' }, 'content_filter'),
    stream: [head, ...fin('content_filter')],
  },
  {
    name: 'search results',
    whole: chatWhole({ content: 'abc' }, 'stop', {
      search_results: [{ title: 'S', url: 'https://s.example' }],
      citations: ['https://s.example'],
    }),
    stream: [
      head,
      chunk(
        { content: 'abc' },
        { search_results: [{ title: 'S', url: 'https://s.example' }], citations: ['https://s.example'] },
      ),
      ...fin('stop', { search_results: [{ title: 'S', url: 'https://s.example' }] }),
    ],
  },
  {
    name: 'predicted tokens usage',
    whole: chatWhole({ content: 'x' }, 'stop', { usage: PREDICTED_USAGE }),
    stream: [
      head,
      chunk({ content: 'x' }),
      ...fin().slice(0, 1),
      { ...chunk({}), choices: [], usage: PREDICTED_USAGE },
    ],
  },
]
