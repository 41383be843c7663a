import { pick, type Random } from '#tests/support/random.ts'
import type { Format } from '@/generation/format.ts'

/** A stream that is mostly text, in one vendor's habits, with this and that in between. */
export function madeUpStream(format: Format, random: Random): Buffer {
  const events = [...HEADS[format]]
  const spell = pick([JSON.stringify, spelledInAscii, spelledWithSlashes], random)
  for (let run = 0; run < 4; run += 1) {
    const begin = pick([() => PLAIN_TEXT[format], ...RUNS[format]], random)
    const { before, delta, after } = begin(events.length)
    events.push(...before)
    for (let count = random(12); count > 0; count -= 1) {
      events.push(delta(spell(anyText(random)), events.length))
    }
    events.push(...pick([[], after], random))
    events.push(...pick([OTHERS[format], NEAR_MISSES[format], COMMENTS], random)(random, events.length))
  }
  if (random(3) > 0) events.push(...ENDS[format])
  const text = events.join('')
  if (random(3) > 0) return Buffer.from(text)
  return Buffer.from(text.replaceAll('\n', pick(['\r\n', '\r', '\n'], random)))
}

/** Everything that JSON spells in a way of its own, halves of characters, and what looks like the end of an event. */
const PIECES = [
  'word',
  ' ',
  'a',
  '"',
  '\\',
  '\n',
  '\t\r\b\f',
  '\u0000',
  '\u001b[1m',
  '\u007f\u2028',
  '/',
  'é',
  '語',
  '👩‍🚀',
  '\ud83d',
  '\ude80',
  '"},"finish_reason":null}]}',
  '\\"',
  'data: ',
  '\n\n',
  '\\u0041',
]

function anyText(random: Random): string {
  return Array.from({ length: random(5) }, () => pick(PIECES, random)).join('')
}

function spelledInAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}

function spelledWithSlashes(text: string): string {
  return JSON.stringify(text).replaceAll('/', '\\/')
}

const data = (json: string) => `data: ${json}\n\n`
const named = (name: string, json: string) => `event: ${name}\ndata: ${json}\n\n`

/** Literals that no JSON string is, or that mean something else where they stand. */
const ODD_LITERALS = [
  '"raw\ttab"',
  '"bad \\x escape"',
  '"short \\u12"',
  '"half \\ud83d"',
  '""',
  'null',
  '7',
  '["a"]',
  '{}',
  '"a","b"',
  '"a"}',
  '"never ends',
  '"ends" "twice"',
]

const odd = (write: (literal: string, n: number) => string) => (random: Random, n: number) => [
  write(pick(ODD_LITERALS, random), n),
]

const chunk = (delta: string, more = '', finish = 'null') =>
  data(
    `{"id": "c","object":"chat.completion.chunk","created":${170 + (delta.length % 3)},"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]${more}}`,
  )

const geminiChunk = (candidate: string, n: number) =>
  data(
    `{"candidates": [{${candidate}}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":${n},"details":[{"tokenCount":${n}}]},"modelVersion":"m"}`,
  )
const geminiPart = (part: string, n: number, more = '') =>
  geminiChunk(`"content":{"parts":[${part}],"role":"model"},"index":0${more}`, n)

const textEvent = (literal: string, n: number, more = '') =>
  named(
    'response.output_text.delta',
    `{"type":"response.output_text.delta","sequence_number":${n},"item_id":"m","output_index":0,"content_index":0,"delta":${literal},"logprobs":[]${more},"obfuscation":"${'x'.repeat(n % 4)}"}`,
  )

const blockDelta = (literal: string, index = 0) =>
  named(
    'content_block_delta',
    `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${literal}}}`,
  )

/** How a stream begins. */
export const HEADS: Record<Format, string[]> = {
  'openai-chat-completions': [chunk('{"role":"assistant","content":""}')],
  'openai-responses': [
    named(
      'response.created',
      '{"type":"response.created","sequence_number":0,"response":{"id":"r","model":"m"}}',
    ),
    named(
      'response.output_item.added',
      '{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"m","type":"message","content":[]}}',
    ),
  ],
  'anthropic-messages': [
    named(
      'message_start',
      '{"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":3}}}',
    ),
    named(
      'content_block_start',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ),
  ],
  'gemini-generate-content': [],
}

/** An event that adds this text, as a literal. */
export const TEXTS: Record<Format, (literal: string, n: number) => string> = {
  'openai-chat-completions': literal => chunk(`{"content":${literal}}`, ',"obfuscation":"aZ/9"'),
  'openai-responses': textEvent,
  'anthropic-messages': literal => blockDelta(literal),
  'gemini-generate-content': (literal, n) => geminiPart(`{"text": ${literal}}`, n),
}

/** Events of one block: how it begins, what adds a text to it, given as a literal, and how it may end. */
interface Run {
  before: string[]
  delta: (literal: string, n: number) => string
  after: string[]
}

const PLAIN_TEXT: Record<Format, Run> = {
  'openai-chat-completions': { before: [], delta: TEXTS['openai-chat-completions'], after: [] },
  'openai-responses': { before: [], delta: TEXTS['openai-responses'], after: [] },
  'anthropic-messages': { before: [], delta: TEXTS['anthropic-messages'], after: [] },
  'gemini-generate-content': { before: [], delta: TEXTS['gemini-generate-content'], after: [] },
}

const toolCall = (call: string) => chunk(`{"tool_calls":[${call}]}`)
const thought = (literal: string) => chunk(`{"content":null,"reasoning_content":${literal}}`)

const item = (type: 'added' | 'done', n: number, fields: string) =>
  named(
    `response.output_item.${type}`,
    `{"type":"response.output_item.${type}","sequence_number":${n},"output_index":${n},"item":{${fields}}}`,
  )
const itemDelta = (type: string, at: number, fields: string) => (literal: string, n: number) =>
  named(
    type,
    `{"type":"${type}","sequence_number":${n},"item_id":"i","output_index":${at},${fields}"delta":${literal}}`,
  )

const openBlock = (n: number, block: string) =>
  named('content_block_start', `{"type":"content_block_start","index":${n},"content_block":${block}}`)
const closeBlock = (n: number) => named('content_block_stop', `{"type":"content_block_stop","index":${n}}`)
const addToBlock = (at: number, type: string, field: string) => (literal: string) =>
  named(
    'content_block_delta',
    `{"type":"content_block_delta","index":${at},"delta":{"type":"${type}","${field}":${literal}}}`,
  )

/** Calls and thoughts, numbered by where in the stream they begin. */
export const RUNS: Record<Format, ((n: number) => Run)[]> = {
  'openai-chat-completions': [
    () => ({ before: [], delta: thought, after: [] }),
    () => ({
      before: [],
      delta: literal => chunk(`{"reasoning":${literal}}`),
      after: [chunk('{"reasoning_details":[{"type":"reasoning.encrypted","data":"c2ln"}]}')],
    }),
    n => ({
      before: [
        toolCall(`{"index":${n},"id":"t${n}","type":"function","function":{"name":"f","arguments":""}}`),
      ],
      delta: literal => toolCall(`{"index":${n},"function":{"arguments":${literal}}}`),
      after: [toolCall(`{"index":${n},"function":{"arguments":"}"}}`)],
    }),
    n => ({
      before: [toolCall(`{"id":"t${n}","function":{"name":"f"}}`)],
      delta: literal => toolCall(`{"function":{"name":null,"arguments":${literal}}}`),
      after: [toolCall('{"function":{"name":"g","arguments":"{}"}}')],
    }),
    n => ({
      before: [toolCall(`{"index":${n},"id":"t${n}","type":"custom","custom":{"name":"patch","input":""}}`)],
      delta: literal => toolCall(`{"index":${n},"custom":{"input":${literal}}}`),
      after: [],
    }),
  ],
  'openai-responses': [
    n => ({
      before: [
        item('added', n, `"id":"i","type":"function_call","call_id":"c${n}","name":"f","arguments":""`),
      ],
      delta: itemDelta('response.function_call_arguments.delta', n, ''),
      after: [
        item(
          'done',
          n,
          `"id":"i","type":"function_call","call_id":"c${n}","name":"f","arguments":"${'{}'.repeat(40)}"`,
        ),
      ],
    }),
    n => ({
      before: [
        item('added', n, `"id":"i","type":"custom_tool_call","call_id":"c${n}","name":"patch","input":""`),
      ],
      delta: itemDelta('response.custom_tool_call_input.delta', n, ''),
      after: [],
    }),
    n => ({
      before: [item('added', n, '"id":"i","type":"reasoning","summary":[]')],
      delta: itemDelta('response.reasoning_summary_text.delta', n, '"summary_index":0,'),
      after: [item('done', n, '"id":"i","type":"reasoning","summary":[],"encrypted_content":"c2ln"')],
    }),
    n => ({
      before: [item('added', n, '"id":"i","type":"reasoning","summary":[]')],
      delta: itemDelta('response.reasoning_text.delta', n, '"content_index":0,'),
      after: [
        itemDelta('response.reasoning_text.delta', n, '"content_index":1,')('"another paragraph"', n),
        itemDelta('response.reasoning_text.delta', n, '"content_index":1,')('"of two events"', n),
      ],
    }),
  ],
  'anthropic-messages': [
    n => ({
      before: [openBlock(n, '{"type":"thinking","thinking":"","signature":""}')],
      delta: addToBlock(n, 'thinking_delta', 'thinking'),
      after: [addToBlock(n, 'signature_delta', 'signature')('"c2ln"'), closeBlock(n)],
    }),
    n => ({
      before: [openBlock(n, `{"type":"tool_use","id":"t${n}","name":"f","input":{}}`)],
      delta: addToBlock(n, 'input_json_delta', 'partial_json'),
      after: [closeBlock(n)],
    }),
    n => ({
      before: [openBlock(n, `{"type":"server_tool_use","id":"t${n}","name":"web_search","input":{}}`)],
      delta: addToBlock(n, 'input_json_delta', 'partial_json'),
      after: [closeBlock(n)],
    }),
  ],
  'gemini-generate-content': [
    n => ({
      before: [],
      delta: (literal, at) => geminiPart(`{"text":${literal},"thought":true}`, at),
      after: [geminiPart('{"text":"signed","thought":true,"thoughtSignature":"c2ln"}', n)],
    }),
  ],
}

const COMMENTS = (random: Random) => [pick([': ping\n\n', '\n', 'id: 7\n\n', 'event: ping\n\n'], random)]

/** Of the second one it is known already what it belongs to. */
const twice = (event: () => string) => [event(), event(), event()]

/** What belongs into a stream beside text. */
const OTHERS: Record<Format, (random: Random, n: number) => string[]> = {
  'openai-chat-completions': random => [
    ...pick([[], twice(() => chunk('{"content":"other"}').replace('"index":0', '"index":1'))], random),
    pick(
      [
        chunk('{"reasoning_content":"hm"}'),
        chunk('{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]}'),
        chunk('{"content":"u"}', ',"usage":{"prompt_tokens":3,"completion_tokens":4}'),
        chunk('{"refusal":"no"}'),
        chunk('{"content":"other"}').replace('"index":0', '"index":1'),
        chunk('{"content":"p"}').replace(
          '"finish_reason"',
          '"logprobs":{"content":[{"token":"p","logprob":0}]},"finish_reason"',
        ),
        chunk('{}', '', '"stop"'),
        chunk(
          '{"annotations":[{"type":"url_citation","url_citation":{"url":"https://a.b","start_index":0,"end_index":1}}]}',
        ),
      ],
      random,
    ),
  ],
  'openai-responses': (random, n) => [
    ...pick(
      [[], twice(() => textEvent('"other"', n).replace('"content_index":0', '"content_index":1'))],
      random,
    ),
    pick(
      [
        textEvent('"p"', n, ',"logprobs":[{"token":"p","logprob":0}]'),
        textEvent('"second part"', n).replace('"content_index":0', '"content_index":1'),
        textEvent('"second item"', n).replace('"output_index":0', '"output_index":1'),
        named(
          'response.output_text.done',
          `{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"${'all of it '.repeat(40)}"}`,
        ),
        named(
          'response.output_item.added',
          '{"type":"response.output_item.added","output_index":1,"item":{"id":"f","type":"function_call","call_id":"c","name":"f","arguments":"{}"}}',
        ),
        named(
          'response.reasoning_summary_text.delta',
          '{"type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":0,"delta":"hm"}',
        ),
        named(
          'response.output_item.done',
          '{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[]}}',
        ),
      ],
      random,
    ),
  ],
  'anthropic-messages': random => [
    ...pick([[], twice(() => blockDelta('"other"', 2))], random),
    pick(
      [
        named('ping', '{"type":"ping"}'),
        named('message_delta', '{"type":"message_delta","delta":{},"usage":{"output_tokens":5}}'),
        named('content_block_stop', '{"type":"content_block_stop","index":0}'),
        named(
          'content_block_start',
          '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
        ),
        named(
          'content_block_start',
          '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"anew"}}',
        ),
        blockDelta('"of another block"', 2),
        named(
          'content_block_delta',
          '{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.b"}}}',
        ),
      ],
      random,
    ),
  ],
  'gemini-generate-content': (random, n) => [
    ...pick([[], twice(() => geminiPart('{"text":"other"}', n).replace('"index":0', '"index":1'))], random),
    pick(
      [
        geminiPart('{"text":"hm","thought":true}', n),
        geminiPart('{"text":"signed","thoughtSignature":"c2ln"}', n),
        geminiPart('{"thoughtSignature":"c2ln"}', n),
        geminiPart('{"functionCall":{"name":"f","args":{"a":1.50}}}', n),
        geminiPart('{"text":"a"},{"text":"b"}', n),
        geminiPart(
          '{"text":"c"}',
          n,
          ',"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a.b"}}],"groundingSupports":[{"segment":{"startIndex":1,"endIndex":9},"groundingChunkIndices":[0]}]}',
        ),
        geminiPart('{"text":"other"}', n).replace('"index":0', '"index":1'),
        geminiPart('{"text":"last"}', n, ',"finishReason":"STOP"'),
      ],
      random,
    ),
  ],
}

/** What looks like an event of text, but is none, or not quite. */
const NEAR_MISSES: Record<Format, (random: Random, n: number) => string[]> = {
  'openai-chat-completions': (random, n) =>
    pick(
      [
        odd(TEXTS['openai-chat-completions']),
        () => [chunk('{"content":"a","content":"b"}'), chunk('{"content":"c","content":"b"}')],
        () => [chunk('{"content":"a","cont\\u0065nt":"b"}'), chunk('{"content":"c","cont\\u0065nt":"b"}')],
        () => [
          chunk('{"content":"a","audio":{"data":"aaaa"}}'),
          chunk('{"content":"b","audio":{"data":"aaaa"}}'),
        ],
        () => [chunk('{"content":"a"}', ',"error":null'), chunk('{"content":"b"}', ',"error":"x"')],
        () => [chunk('{"content":"a"}').trimEnd(), '\n', 'data: \n\n'],
      ],
      random,
    )(random, n),
  'openai-responses': (random, n) =>
    pick(
      [
        odd(textEvent),
        () => [
          textEvent('"a"', n),
          textEvent('"b"', n).replace(/"sequence_number":\d+/, '"sequence_number":007'),
        ],
        () => [
          textEvent('"a"', n),
          textEvent('"b"', n).replace(/"sequence_number":\d+/, '"sequence_number":-1.5e3'),
        ],
        () => [textEvent('"a"', n), textEvent('"b"', n).replace(/"obfuscation":"/, '"obfuscation":"\\u00zz')],
        () => [textEvent('"a"', n, ',"delta":"b"'), textEvent('"c"', n, ',"delta":"b"')],
      ],
      random,
    )(random, n),
  'anthropic-messages': (random, n) =>
    pick(
      [
        odd(blockDelta),
        () => [blockDelta('"a"').replace('event: content_block_delta', 'event: ping')],
        () => [blockDelta('"a"').replace('data: ', 'data: \ndata: ')],
        () => [blockDelta('"a","text":"b"'), blockDelta('"c","text":"b"')],
      ],
      random,
    )(random, n),
  'gemini-generate-content': (random, n) =>
    pick(
      [
        odd(TEXTS['gemini-generate-content']),
        () => [
          geminiPart('{"text":"a"}', n),
          geminiPart('{"text":"b"}', n).replace('"promptTokenCount":12', '"promptTokenCount":1e3'),
        ],
        () => [geminiPart('{"text":"a"}', n).replace('data: {', 'data: [{').replace('}\n', '}]\n')],
        () => [
          geminiPart('{"text":"a"}', n, ',"finishReason":null'),
          geminiPart('{"text":"b"}', n, ',"finishReason":"STOP"'),
        ],
      ],
      random,
    )(random, n),
}

/** How it ends. */
export const ENDS: Record<Format, string[]> = {
  'openai-chat-completions': [
    chunk('{}', '', '"stop"'),
    data('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9}}'),
    data('[DONE]'),
  ],
  'openai-responses': [
    named(
      'response.completed',
      '{"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":3,"output_tokens":9}}}',
    ),
  ],
  'anthropic-messages': [
    named('content_block_stop', '{"type":"content_block_stop","index":0}'),
    named(
      'message_delta',
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}',
    ),
    named('message_stop', '{"type":"message_stop"}'),
  ],
  'gemini-generate-content': [geminiPart('{"text":"end"}', 99, ',"finishReason":"STOP"')],
}
