import { describe, expect, test } from 'bun:test'
import { mutate, type Random, randomOf } from '#tests/support/fuzz.ts'
import { createRaiser, decodeContext, replyContext } from '#tests/transcripts/conversion.ts'
import { recordings } from '#tests/transcripts/recording.ts'
import { HubPipeline } from '@/exchange/hub-pipeline.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/json-array.ts'
import type { StreamDecoder } from '@/formats/plain-text.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

/*
 * The short way of text (formats/plain-text.ts) against the general one: the same bytes and the same reading of the
 * meter, whatever comes and however it is cut into reads.
 */

const PAIRS = FORMATS.flatMap(from => FORMATS.filter(to => to !== from).map(to => [from, to] as const))

const STREAMS = 150

describe.each(PAIRS)('%s for a caller of %s', (from, to) => {
  test(`${STREAMS} made-up streams come out as they do the general way`, () => {
    for (let seed = 0; seed < STREAMS; seed += 1) {
      const random = randomOf(seed)
      const stream = madeUpStream(from, random)
      expectSame(
        { from, to, stream, seed, framed: to === 'gemini-generate-content' && random(4) === 0 },
        random,
      )
    }
  })

  test('a stream of plain text is parsed only where it begins', () => {
    const texts = Array.from({ length: 100 }, (_, index) => `word ${index} "quoted"\n`)
    const stream = Buffer.from(
      [...HEADS[from], ...texts.map((text, index) => TEXTS[from](JSON.stringify(text), index))].join(''),
    )
    const { pushes } = run({ from, to, stream, framed: false }, 'short', [stream.length])
    expect(pushes).toBeLessThanOrEqual(HEADS[from].length + 2)
  })
})

test('recordings, whole and mutated, come out as they do the general way', () => {
  for (const [index, { format: from, stream: recorded }] of recordings().entries()) {
    for (const to of FORMATS) {
      for (let round = 0; round < 3; round += 1) {
        const seed = index * 100 + round
        const random = randomOf(seed)
        const stream = round === 0 ? recorded : mutate(recorded, random)
        if (from !== to) expectSame({ from, to, stream, seed, framed: false }, random)
      }
    }
  }
}, 60_000)

test.each(PAIRS)('%s for a caller of %s, cut at every byte', (from, to) => {
  const stream = madeUpStream(from, randomOf(7)).subarray(0, 3000)
  const expected = run({ from, to, stream, framed: false }, 'general', [stream.length])
  for (let at = 1; at < stream.length; at += 1) {
    const cut = run({ from, to, stream, framed: false }, 'short', [at, stream.length - at])
    expect({ at, ...atEnd(cut) }).toEqual({ at, ...atEnd(expected) })
  }
})

function atEnd({ text, error, cut, readings }: ReturnType<typeof run>) {
  return { text, error, cut, reading: readings.at(-1) }
}

interface Case {
  from: Format
  to: Format
  stream: Buffer
  /** The caller reads Gemini's JSON array. */
  framed: boolean
  /** The caller's request, where it matters. */
  wire?: JsonObject
}

function expectSame(given: Case & { seed: number }, random: Random): void {
  const sizes: number[] = []
  const largest = [1, 40, 700, 100_000][random(4)] ?? 1
  for (let rest = given.stream.length; rest > 0; rest -= sizes.at(-1) ?? rest) sizes.push(1 + random(largest))
  const { pushes, ...short } = run(given, 'short', sizes)
  const { pushes: all, ...general } = run(given, 'general', sizes)
  expect({ seed: given.seed, ...short }).toEqual({ seed: given.seed, ...general })
  expect(pushes).toBeLessThanOrEqual(all)
}

/** What comes out of reads of these sizes, what the meter says, and how many events were decoded. */
function run({ from, to, stream, framed, wire }: Case, way: 'short' | 'general', sizes: readonly number[]) {
  const decoder = CODECS[from].createStreamDecoder(decodeContext(from))
  let pushes = 0
  const counted: StreamDecoder = {
    plain: way === 'short' ? decoder.plain : undefined,
    push(event, emit) {
      pushes += 1
      decoder.push(event, emit)
    },
    end: emit => decoder.end(emit),
  }
  const pipeline = new HubPipeline({
    decoder: counted,
    raiser: wire && createRaiser(from, to, wire),
    encoder: CODECS[to].createStreamEncoder(replyContext(to, wire ?? REQUESTS[to])),
    framer: framed ? createArrayFramer() : undefined,
  })
  const written: Uint8Array[] = []
  const readings: unknown[] = []
  let at = 0
  for (const size of sizes) {
    if (pipeline.meter.error !== undefined) break
    pipeline.push(stream.subarray(at, at + size), bytes => written.push(bytes))
    at += size
    const { output, finished, usage, estimatedOutput } = pipeline.meter
    readings.push([output, finished, usage, estimatedOutput])
  }
  if (pipeline.meter.error === undefined) pipeline.end(bytes => written.push(bytes))
  const { error, cut } = pipeline.meter
  return { text: Buffer.concat(written).toString('utf8'), error: error?.message, cut, readings, pushes }
}

const REQUESTS: Record<Format, JsonObject> = {
  'openai-chat-completions': { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  'openai-responses': { model: 'm', input: 'Hello' },
  'anthropic-messages': { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'Hello' }] },
  'gemini-generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
}

/** A stream that is mostly text, in one vendor's habits, with this and that in between. */
function madeUpStream(format: Format, random: Random): Buffer {
  const events = [...HEADS[format]]
  const spell = pick([JSON.stringify, spelledInAscii, spelledWithSlashes], random)
  for (let run = 0; run < 4; run += 1) {
    for (let count = random(12); count > 0; count -= 1) {
      events.push(TEXTS[format](spell(anyText(random)), events.length))
    }
    events.push(...pick([OTHERS[format], NEAR_MISSES[format], COMMENTS], random)(random, events.length))
  }
  if (random(3) > 0) events.push(...ENDS[format])
  const text = events.join('')
  if (random(3) > 0) return Buffer.from(text)
  return Buffer.from(text.replaceAll('\n', pick(['\r\n', '\r', '\n'], random)))
}

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random(items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
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

const HEADS: Record<Format, string[]> = {
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
const TEXTS: Record<Format, (literal: string, n: number) => string> = {
  'openai-chat-completions': literal => chunk(`{"content":${literal}}`, ',"obfuscation":"aZ/9"'),
  'openai-responses': textEvent,
  'anthropic-messages': literal => blockDelta(literal),
  'gemini-generate-content': (literal, n) => geminiPart(`{"text": ${literal}}`, n),
}

const COMMENTS = (random: Random) => [pick([': ping\n\n', '\n', 'id: 7\n\n', 'event: ping\n\n'], random)]

/** What belongs into a stream beside text. */
const OTHERS: Record<Format, (random: Random, n: number) => string[]> = {
  'openai-chat-completions': random => [
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

const ENDS: Record<Format, string[]> = {
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

const TOOLS = { tools: [{ type: 'custom', name: 'patch' }] }

describe("what is done to the answer in the upstream's stead", () => {
  const [from, to] = ['openai-responses', 'openai-chat-completions'] as const
  const texts = Array.from({ length: 50 }, (_, index) => `step ${index}, `)
  const events = [...HEADS[from], ...texts.map((text, index) => TEXTS[from](JSON.stringify(text), index))]
  const stream = Buffer.from([...events, ...ENDS[from]].join(''))

  test('a stop sequence is found across plain events', () => {
    const wire = { ...REQUESTS[to], stop: ['0, step 41'] }
    const short = run({ from, to, stream, framed: false, wire }, 'short', [stream.length])
    expect(short).toEqual(run({ from, to, stream, framed: false, wire }, 'general', [stream.length]))
    expect(short.text).toContain('step 39')
    expect(short.text).not.toContain('step 41')
  })

  test('tools that were lowered leave the short way open', () => {
    const chat = 'openai-chat-completions'
    const text = Buffer.from(
      [...HEADS[chat], ...texts.map(said => TEXTS[chat](JSON.stringify(said), 0))].join(''),
    )
    const given: Case = {
      from: chat,
      to: from,
      stream: text,
      framed: false,
      wire: { ...REQUESTS[from], ...TOOLS },
    }
    const { pushes, ...short } = run(given, 'short', [text.length])
    const { pushes: all, ...general } = run(given, 'general', [text.length])
    expect(short).toEqual(general)
    expect(pushes).toBeLessThan(all / 5)
  })
})
