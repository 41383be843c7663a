import { describe, expect, test } from 'bun:test'
import { chunk, codec, decodeChunks } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { decodeContext } from '#tests/transcripts/conversion.ts'
import { collect } from '@/generation/collect.ts'
import { runMachine } from '@/generation/machine.ts'
import { type JsonObject, present } from '@/json/json.ts'

const STOP = { finishReason: 'STOP' }
const call = (fields: JsonObject, more: JsonObject = {}): JsonObject => ({ functionCall: fields, ...more })

function answer(...chunks: (JsonObject | string)[]) {
  const response = collect(decodeChunks(...chunks))
  return { ...response, parts: response.candidates[0]?.parts ?? [], finish: response.candidates[0]?.finish }
}

test('edge 67: calls whole in one chunk, with and without id, without args, twice of the same name', () => {
  const { parts } = answer(
    chunk([call({ name: 'f', id: 'given', args: { a: 1 } }), call({ name: 'f' })]),
    chunk([call({ name: 'g', args: {} })], STOP),
  )
  expect(parts).toMatchObject([
    { type: 'tool-call', callId: 'given', name: 'f', input: '{"a":1}' },
    { type: 'tool-call', callId: 'call_made1', name: 'f', input: '{}' },
    { type: 'tool-call', callId: 'call_made2', name: 'g', input: '{}' },
  ])
})

test('edge 68: STOP after a functionCall means tool calls; other reasons stay', () => {
  expect(answer(chunk([call({ name: 'f' })]), chunk([{ text: '' }], STOP)).finish?.reason).toBe('tool-calls')
  const cut = answer(chunk([call({ name: 'f' })]), chunk([], { finishReason: 'MAX_TOKENS' }))
  expect(cut.finish?.reason).toBe('length')
})

test('edge 69: signatures on a call, on text, on an empty text part, missing on the second parallel call', () => {
  const { parts } = answer(
    chunk([{ text: 'plan', thought: true }]),
    chunk([{ text: 'Hel' }]),
    chunk([{ text: 'lo' }]),
    chunk([{ text: '', thoughtSignature: 'AA==' }]),
    chunk([{ text: 'more' }]),
    chunk([call({ name: 'f' }, { thoughtSignature: 'BB==' }), call({ name: 'g' })]),
    chunk([{ text: '', thoughtSignature: 'CC==' }], STOP),
  )
  const own = (value: string) => ({ format: codec.format, vendor: 'google', value })
  expect(parts).toMatchObject([
    { type: 'reasoning', texts: ['plan'], signature: undefined },
    { type: 'text', text: 'Hello', signature: own('AA==') },
    { type: 'text', text: 'more', signature: undefined },
    { type: 'tool-call', name: 'f', signature: own('BB==') },
    { type: 'tool-call', name: 'g', signature: undefined },
    { type: 'text', text: '', signature: own('CC==') },
  ])
})

test('edge 70: a blocked prompt without candidates, a candidate without content, content without parts', () => {
  const blocked = answer({ promptFeedback: { blockReason: 'SAFETY' } })
  expect(blocked.finish).toEqual({ reason: 'prompt-blocked', stopSequence: undefined, message: 'SAFETY' })
  expect(answer({ candidates: [{ finishReason: 'RECITATION' }] }).finish?.reason).toBe('content-filter')
  expect(answer({ candidates: [{ content: {}, ...STOP }] })).toMatchObject({
    parts: [],
    finish: { reason: 'end' },
  })
})

describe('edge 71: ends without an answer', () => {
  test('MAX_TOKENS spent in thoughts', () => {
    const { parts, finish, usage } = answer({
      candidates: [{ content: { role: 'model' }, finishReason: 'MAX_TOKENS' }],
      usageMetadata: { promptTokenCount: 3, thoughtsTokenCount: 60, totalTokenCount: 63 },
    })
    expect(parts).toEqual([])
    expect(finish?.reason).toBe('length')
    expect(usage).toMatchObject({ inputUncached: 3, outputText: 0, reasoning: 60 })
  })

  test.each([
    ['MALFORMED_FUNCTION_CALL', 'malformed-tool-call'],
    ['MODEL_ARMOR', 'content-filter'],
    ['ESCALATION', 'content-filter'],
    ['PUP_LIMITED_DISABLED', 'content-filter'],
    ['SOMETHING_NEW', 'other'],
    [2, 'length'],
    [10, 'malformed-tool-call'],
    [99, 'other'],
  ])('finishReason %p', (finishReason, reason) => {
    expect(answer(chunk([{ text: 'x' }], { finishReason })).finish?.reason).toBe(reason as 'other')
  })

  test('an unspecified reason is none yet', () => {
    const events = decodeChunks(
      chunk([{ text: 'a' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' }),
      chunk([{ text: 'b' }], { finishReason: 0 }),
      chunk([{ text: 'c' }], STOP),
    )
    expect(collect(events).candidates[0]?.parts).toMatchObject([{ text: 'abc' }])
  })
})

test('edge 72: the JSON array stream as events: bracket alone, comma between, bracket at the end, error element', () => {
  const [a, b] = [JSON.stringify(chunk([{ text: 'a' }])), JSON.stringify(chunk([{ text: 'b' }], STOP))]
  const plain = decodeChunks(a, b)
  expect(decodeChunks('[', a, ',', b, ']')).toEqual(plain)
  expect(decodeChunks(`[${a}`, `,${b}`, ']')).toEqual(plain)
  expect(decodeChunks(`[${a},${b}]`)).toEqual(plain)
  expect(
    decodeChunks(`[${a}`, `,{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`).at(-1),
  ).toMatchObject({
    type: 'error',
    error: { kind: 'upstream_error' },
  })
})

describe('edge 74: streamed arguments', () => {
  const piece = (jsonPath: string, value: JsonObject, more: JsonObject = {}) => ({
    jsonPath,
    ...value,
    ...more,
  })
  const opened = chunk([call({ name: 'light', willContinue: true })])
  const pieces = chunk([
    call({
      partialArgs: [
        piece('$.room.name', { stringValue: 'ki' }, { willContinue: true }),
        piece('$.room.name', { stringValue: 'tchen' }),
        piece('$.levels[0]', { numberValue: 0.5 }),
        piece('$.levels[1]', { nullValue: 'NULL_VALUE' }),
        piece("$['odd key'].on", { boolValue: true }),
      ],
      willContinue: true,
    }),
  ])
  const input = '{"room":{"name":"kitchen"},"levels":[0.5,null],"odd key":{"on":true}}'

  test('nested paths, arrays and continued strings make one whole call', () => {
    const { parts, finish } = answer(opened, pieces, chunk([call({})]), chunk([], STOP))
    expect(parts).toMatchObject([{ type: 'tool-call', name: 'light', input }])
    expect(finish?.reason).toBe('tool-calls')
  })

  test('a missing terminal part is made up by the next call and by the end', () => {
    const { parts } = answer(opened, pieces, opened, chunk([], STOP))
    expect(parts).toMatchObject([{ input }, { input: '{}' }])
  })

  test('paths that lead into prototypes or nowhere do no harm', () => {
    const { parts } = answer(
      opened,
      chunk([
        call({
          partialArgs: [
            piece('$.__proto__.x', { numberValue: 1 }),
            piece('$', { numberValue: 2 }),
            piece('$.a[999999999]', { numberValue: 3 }),
            { jsonPath: '$.b' },
          ],
        }),
      ]),
      chunk([], STOP),
    )
    expect(parts).toMatchObject([{ input: '{"__proto__":{"x":1}}' }])
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  })
})

test('edge 75: two candidates, no index, a usage-only chunk, a total without the candidates count', () => {
  const events = decodeChunks(
    {
      candidates: [
        { content: { parts: [{ text: 'A' }] } },
        { index: 1, content: { parts: [{ text: 'B' }] } },
      ],
    },
    {
      candidates: [
        { index: 1, content: { parts: [{ text: '!' }] }, ...STOP },
        { content: { parts: [{ text: '?' }] }, ...STOP },
      ],
    },
    { usageMetadata: { promptTokenCount: 5, totalTokenCount: 9 } },
  )
  const response = collect(events)
  expect(response.candidates.map(one => one.parts)).toMatchObject([[{ text: 'A?' }], [{ text: 'B!' }]])
  expect(response.usage).toMatchObject({ inputUncached: 5, outputText: 4 })
  const half = decodeChunks({
    candidates: [
      { index: 0, ...STOP },
      { index: 1, content: { parts: [{ text: 'x' }] } },
    ],
  })
  expect(half.at(-1)?.type).toBe('error')
})

test('edge 77: an image, code and its result, and unknown parts', () => {
  const code = { executableCode: { language: 'PYTHON', code: '1' } }
  const { parts } = answer(
    chunk([code, { codeExecutionResult: { outcome: 'OUTCOME_OK' } }]),
    chunk([
      { inlineData: { mimeType: 'image/png', data: 'iVBOR' } },
      { inlineData: { data: 'x' }, thought: true },
    ]),
    chunk([{ tomorrow: { x: 1 } }, {}, { text: '' }], STOP),
  )
  expect(parts).toMatchObject([
    { type: 'opaque', format: codec.format, name: 'executableCode', value: code },
    { type: 'opaque', name: 'codeExecutionResult' },
    { type: 'media', kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'iVBOR' } },
    { type: 'opaque', name: 'inlineData' },
    { type: 'opaque', name: 'tomorrow' },
  ])
  expect(parts).toHaveLength(5)
})

test('edge 80: an error inside the stream, alone, wrapped in an array, with a retry delay', () => {
  const error = {
    error: {
      code: 429,
      message: 'Quota exceeded',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }],
    },
  }
  for (const data of [error, JSON.stringify([error])]) {
    const events = decodeChunks(data, chunk([{ text: 'late' }], STOP))
    expect(events).toMatchObject([{ type: 'error', error: { retryAfterMs: 34_400 } }])
  }
})

test('a stream that ends without a finish reason is an error, whatever came before', () => {
  expect(decodeChunks().at(-1)).toMatchObject({ type: 'error' })
  expect(decodeChunks(chunk([{ text: 'x' }])).at(-1)).toMatchObject({ type: 'error' })
  expect(decodeChunks({ usageMetadata: { promptTokenCount: 1 } }).at(-1)).toMatchObject({ type: 'error' })
})

test.each([
  '{',
  'null',
  '"x"',
  '<html>',
  '{"candidates":7}',
  '{"candidates":[null,{"content":{"parts":[1,null]}}]}',
])('no exception escapes for %s', data => expect(decodeChunks(data).at(-1)).toMatchObject({ type: 'error' }))

test('edge 81: cached above the prompt, everything zero, thoughts and server tools beside', () => {
  const usage = (usageMetadata: JsonObject) => answer({ usageMetadata, candidates: [STOP] }).usage
  expect(usage({ promptTokenCount: 5, cachedContentTokenCount: 9, totalTokenCount: 5 })).toMatchObject({
    inputUncached: 0,
    cacheRead: 5,
  })
  expect(usage({ promptTokenCount: 0, totalTokenCount: 0 })).toMatchObject({
    inputUncached: 0,
    outputText: 0,
  })
  expect(usage({})).toBeUndefined()
  expect(
    usage({
      candidatesTokenCount: 10,
      thoughtsTokenCount: 20,
      toolUsePromptTokenCount: 5,
      totalTokenCount: 100,
    }),
  ).toMatchObject({ inputUncached: 70, outputText: 10, reasoning: 20 })
  const told = { promptTokenCount: 5, candidatesTokenCount: 2 }
  expect(usage({ ...told, toolUsePromptTokenCount: '20' })).toBeUndefined()
  expect(usage({ ...told, thoughtsTokenCount: -7 })).toBeUndefined()
  expect(
    usage({
      promptTokenCount: 100,
      toolUsePromptTokenCount: 20,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 50,
      thoughtsTokenCount: 7,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: 4, tokenCount: 40 }],
    }),
  ).toEqual({
    inputUncached: 80,
    cacheRead: 30,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    outputText: 10,
    reasoning: 7,
    audioInput: 10,
    audioOutput: 40,
    serverTools: {},
  })
})

test('what the total alone tells of are thoughts, or cached tokens where it is as many; beside thoughts it is nothing', () => {
  const usage = (usageMetadata: JsonObject) => answer({ usageMetadata, candidates: [STOP] }).usage
  const told = { promptTokenCount: 100, candidatesTokenCount: 50 }
  const thought = { inputUncached: 100, outputText: 50, reasoning: 40 }
  expect(usage({ ...told, totalTokenCount: 190 })).toMatchObject(thought)
  expect(usage({ ...told, thoughtsTokenCount: 0, totalTokenCount: 190 })).toMatchObject(thought)
  expect(usage({ ...told, thoughtsTokenCount: 40, totalTokenCount: 250 })).toMatchObject(thought)
  expect(usage({ ...told, thoughtsTokenCount: 40 })).toMatchObject(thought)
  expect(usage({ ...told, toolUsePromptTokenCount: 20, totalTokenCount: 150 })).toMatchObject({
    inputUncached: 120,
    reasoning: 0,
  })
  expect(usage({ ...told, cachedContentTokenCount: 40, totalTokenCount: 190 })).toMatchObject({
    inputUncached: 100,
    cacheRead: 40,
    reasoning: 0,
  })
  expect(usage({ ...told, totalTokenCount: 1e15 })).toMatchObject({ outputText: 50, reasoning: 0 })
})

test('thoughts that the total has no room for beside the candidates are among them, and counted once', () => {
  const usage = (usageMetadata: JsonObject) => answer({ usageMetadata, candidates: [STOP] }).usage
  const told = { promptTokenCount: 100, candidatesTokenCount: 50, thoughtsTokenCount: 40 }
  const within = { inputUncached: 100, outputText: 10, reasoning: 40 }
  expect(usage({ ...told, totalTokenCount: 150 })).toMatchObject(within)
  expect(usage({ ...told, toolUsePromptTokenCount: 20, totalTokenCount: 170 })).toMatchObject({
    ...within,
    inputUncached: 120,
  })
  expect(usage({ ...told, thoughtsTokenCount: 50, totalTokenCount: 150 })).toMatchObject({
    outputText: 0,
    reasoning: 50,
  })
  const spoken = { candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 8 }] }
  expect(usage({ ...told, ...spoken, totalTokenCount: 150 })).toMatchObject({
    outputText: 2,
    reasoning: 40,
    audioOutput: 8,
  })
  const beside = { inputUncached: 100, outputText: 50, reasoning: 40 }
  for (const totalTokenCount of [undefined, 0, 140, 149, 190, 250]) {
    expect(usage({ ...told, ...present({ totalTokenCount }) })).toMatchObject(beside)
  }
  expect(usage({ ...told, thoughtsTokenCount: 60, totalTokenCount: 150 })).toMatchObject({
    outputText: 50,
    reasoning: 60,
  })
})

test('edge 88: numbers of arguments keep their digits', () => {
  const data = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890,"e":1e400,"z":-0}}}]},"finishReason":"STOP"}]}`
  expect(answer(data).parts).toMatchObject([{ input: '{"n":12345678901234567890,"e":1e400,"z":-0}' }])
})

test('citations count in UTF-16 units what Google counts in bytes', () => {
  const text = '👋🏽 Η Αθήνα.'
  const { parts } = answer(
    chunk([{ text }], {
      ...STOP,
      groundingMetadata: {
        groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
        groundingSupports: [
          {
            segment: { startIndex: 9, endIndex: Buffer.byteLength(text), text: 'Η Αθήνα.' },
            groundingChunkIndices: [0, 7],
          },
        ],
      },
    }),
  )
  expect(parts).toMatchObject([
    {
      citations: [
        { url: 'https://a.example', title: 'A', citedText: 'Η Αθήνα.', start: 5, end: text.length },
      ],
    },
  ])
})

test('log probabilities become OpenAI tokens with bytes', () => {
  const { candidates } = answer(
    chunk([{ text: 'ü' }], {
      ...STOP,
      logprobsResult: {
        chosenCandidates: [{ token: 'ü', logProbability: -0.5 }],
        topCandidates: [{ candidates: [{ token: 'u', logProbability: -1 }] }],
      },
    }),
  )
  expect(candidates[0]?.logprobs).toEqual([
    {
      token: 'ü',
      logprob: -0.5,
      bytes: [195, 188],
      top_logprobs: [{ token: 'u', logprob: -1, bytes: [117] }],
    },
  ])
})

describe('a whole answer', () => {
  test('is complete without a finish reason', () => {
    const response = codec.decodeResponse(chunk([{ text: 'x' }]), decodeContext(codec.format))
    expect(response.candidates[0]).toMatchObject({ parts: [{ text: 'x' }], finish: { reason: 'other' } })
  })

  test('that is an error or nothing is thrown', () => {
    const decode = (body: JsonObject) => () => codec.decodeResponse(body, decodeContext(codec.format))
    expect(decode({ error: { code: 500, message: 'boom' } })).toThrow('boom')
    expect(decode({})).toThrow('ended early')
  })
})

test('an index that is no place in a list is the first', () => {
  const events = decodeChunks(
    chunk([{ text: 'a' }], { index: -1 }),
    chunk([{ text: 'b' }], { index: 0.5, finishReason: 'STOP' }),
  )
  expect(collect(events).candidates).toMatchObject([{ parts: [{ text: 'ab' }] }])
})

describe('candidates without a number', () => {
  const without = (text: string, finishReason?: string): JsonObject => ({
    content: { parts: [{ text }] },
    ...(finishReason !== undefined && { finishReason }),
  })
  const texts = (...chunks: JsonObject[]) =>
    collect(decodeChunks(...chunks)).candidates.map(
      ({ parts, finish }) => `${parts.map(part => part.type === 'text' && part.text)} ${finish.reason}`,
    )

  test('are told apart by their place where none has one', () => {
    const whole = { candidates: [without('a', 'STOP'), without('b', 'MAX_TOKENS')] }
    expect(texts(whole)).toEqual(['a end', 'b length'])
    expect(codec.decodeResponse(whole, decodeContext(codec.format)).candidates).toHaveLength(2)
  })

  test('are the first where others have one: proto JSON leaves out a zero', () => {
    const chunks = { candidates: [{ ...without('b', 'STOP'), index: 1 }, without('a', 'STOP')] }
    expect(texts(chunks)).toEqual(['a end', 'b end'])
  })
})

describe('FINISH_REASON_UNSPECIFIED', () => {
  test.each(['FINISH_REASON_UNSPECIFIED', 0])('%p is an end where it is the last word', finishReason => {
    const last = chunk([{ text: 'x' }], { finishReason })
    expect(answer(chunk([{ text: 'w' }]), last).finish?.reason).toBe('other')
    expect(codec.decodeResponse(last, decodeContext(codec.format)).candidates[0]?.finish.reason).toBe('other')
  })

  test('says nothing where every chunk says it: such a stream can be cut', () => {
    const vague = { finishReason: 'FINISH_REASON_UNSPECIFIED' }
    const events = decodeChunks(chunk([{ text: 'w' }], vague), chunk([{ text: 'x' }], vague))
    expect(events.at(-1)?.type).toBe('error')
    expect(answer(chunk([{ text: 'w' }], vague), chunk([{ text: 'x' }], STOP)).finish?.reason).toBe('end')
  })
})

describe('sources', () => {
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
    groundingSupports: [{ segment: { endIndex: 3 }, groundingChunkIndices: [0] }],
  }
  const cited = [{ url: 'https://a.example', start: 0, end: 3 }]

  test('that every chunk repeats are one source', () => {
    const chunks = [
      chunk([{ text: 'abc' }], { groundingMetadata }),
      chunk([{ text: 'def' }], { ...STOP, groundingMetadata }),
    ]
    expect(answer(...chunks).parts).toMatchObject([{ text: 'abcdef', citations: cited }])
    expect(answer(...chunks).parts[0]).toHaveProperty('citations.length', 1)
  })

  test('that come with a call are those of the text before it', () => {
    const last = chunk([call({ name: 'f' })], { ...STOP, groundingMetadata })
    expect(answer(chunk([{ text: 'abc' }]), last).parts).toMatchObject([{ citations: cited }, { name: 'f' }])
    const whole = chunk([{ text: 'abc' }, call({ name: 'f' })], { ...STOP, groundingMetadata })
    expect(codec.decodeResponse(whole, decodeContext(codec.format)).candidates[0]?.parts).toMatchObject([
      { citations: cited },
      { name: 'f' },
    ])
  })

  test('of words that the text has twice are of those that the numbers name', () => {
    const segment = { startIndex: 4, endIndex: 7, text: 'abc' }
    const groundingSupports = [{ segment, groundingChunkIndices: [0] }]
    const end = { ...STOP, groundingMetadata: { ...groundingMetadata, groundingSupports } }
    expect(answer(chunk([{ text: 'abc abc' }], end)).parts).toMatchObject([
      { citations: [{ start: 4, end: 7 }] },
    ])
  })

  test('that come behind a call are those of the text before it', () => {
    const chunks = [
      chunk([{ text: 'abc' }]),
      chunk([call({ name: 'f' })]),
      chunk([], { ...STOP, groundingMetadata }),
    ]
    expect(answer(...chunks).parts).toMatchObject([{ text: 'abc', citations: cited }, { name: 'f' }])
  })

  const parts = [{ text: 'hm', thought: true }, { text: 'first' }, call({ name: 'f' }), { text: 'later on' }]
  const grounded = (segment: JsonObject) => ({
    ...STOP,
    groundingMetadata: { ...groundingMetadata, groundingSupports: [{ segment, groundingChunkIndices: [0] }] },
  })

  test.each<[string, JsonObject, number, [number, number]]>([
    ['its part index', { partIndex: 1, startIndex: 1, endIndex: 3 }, 1, [1, 3]],
    ['the index of a later part', { partIndex: 3, startIndex: 0, endIndex: 5 }, 3, [0, 5]],
    ['its words, where no index is said', { startIndex: 0, endIndex: 5, text: 'first' }, 1, [0, 5]],
    ['its words, where the numbers are of another', { partIndex: 9, endIndex: 2, text: 'on' }, 3, [6, 8]],
    ['being last, where nothing else tells', { endIndex: 5, text: 'nowhere' }, 3, [0, 5]],
  ])('of several texts are of the one that is told by %s', (_, segment, at, [start, end]) => {
    const streamed = answer(...parts.map(part => chunk([part])), chunk([], grounded(segment)))
    const whole = codec.decodeResponse(chunk(parts, grounded(segment)), decodeContext(codec.format))
    expect(streamed.parts[at]).toMatchObject({ citations: [{ url: 'https://a.example', start, end }] })
    expect(streamed.candidates).toEqual(whole.candidates)
  })
})

test('log probabilities that come with the end of a text come before it', () => {
  const logprobsResult = { chosenCandidates: [{ token: 'a', logProbability: -0.5 }], topCandidates: [] }
  const events = decodeChunks(chunk([{ text: 'a' }, call({ name: 'f' })], { ...STOP, logprobsResult }))
  const types = events.map(event => event.type)
  expect(types.indexOf('logprobs')).toBeGreaterThan(-1)
  expect(types.indexOf('logprobs')).toBeLessThan(types.indexOf('text-end'))
})

test('a tier that only the last chunk tells is the tier of the answer', () => {
  const usageMetadata = { promptTokenCount: 1, totalTokenCount: 2, serviceTier: 'flex' }
  const last = { ...chunk([{ text: 'b' }], STOP), usageMetadata }
  expect(answer(chunk([{ text: 'a' }]), last).serviceTier).toBe('flex')
})

test('a tier that only the first chunk tells is the tier that is paid', () => {
  const decoder = codec.createStreamDecoder(decodeContext(codec.format))
  const first = { ...chunk([{ text: 'a' }]), usageMetadata: { promptTokenCount: 1, serviceTier: 'flex' } }
  const last = { ...chunk([{ text: 'b' }], STOP), usageMetadata: { promptTokenCount: 1, totalTokenCount: 2 } }
  runMachine(
    decoder,
    [first, last].map(data => ({ event: undefined, data: JSON.stringify(data) })),
  )
  expect(decoder.servedTier()).toBe('flex')
})

describe.each([
  ['text', {}],
  ['reasoning', { thought: true }],
] as const)('an emoji whose halves are in two chunks, in %s', (kind, more) => {
  const said = (...texts: string[]) => {
    const chunks = texts.map((text, index) =>
      chunk([{ text, ...more }], index === texts.length - 1 ? STOP : {}),
    )
    const events = decodeChunks(...chunks)
    return events.flatMap(event => (event.type === `${kind}-delta` && 'text' in event ? event.text : []))
  }

  test('stays whole, whoever writes it', () => {
    expect(said('a', 'b\ud83d', '\ude00c')).toEqual(['a', 'b', '\ud83d\ude00c'])
  })

  test('is not lost if the other half never comes', () => {
    expect(said('a', '\ud83d')).toEqual(['a', '\ud83d'])
  })
})

test('sources of an answer without a text, as one that searched and then calls, have an empty text of their own', () => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }] }
  const citationMetadata = { citations: [{ uri: 'https://a.example' }] }
  for (const sources of [{ groundingMetadata }, { citationMetadata }]) {
    const { parts } = answer(chunk([call({ name: 'f' })], sources), chunk([], STOP))
    const cited = { text: '', citations: [{ url: 'https://a.example' }] }
    expect(parts).toMatchObject([{ type: 'tool-call' }, cited])
    expect(answer(chunk([{ text: 'a' }, call({ name: 'f' })], { ...sources, ...STOP })).parts).toMatchObject([
      { citations: [{ url: 'https://a.example' }] },
      { type: 'tool-call' },
    ])
  }
})

describe('sources that Google ties to no passage', () => {
  const groundingChunks = [
    { web: { uri: 'https://a.example', title: 'A' } },
    { image: { sourceUri: 'https://b.example', imageUri: 'https://b.example/1.png', title: 'B' } },
  ]

  test('are those of all the answer', () => {
    const { parts } = answer(
      chunk([{ text: 'Grüße' }]),
      chunk([], { ...STOP, groundingMetadata: { groundingChunks } }),
    )
    expect(parts).toMatchObject([
      {
        text: 'Grüße',
        citations: [
          { url: 'https://a.example', title: 'A', start: undefined, end: undefined },
          { url: 'https://b.example', title: 'B', start: undefined, end: undefined },
        ],
      },
    ])
  })

  test('are told once their passages may not follow any more', () => {
    const groundingSupports = [{ segment: { endIndex: 3, text: 'abc' }, groundingChunkIndices: [0] }]
    const { parts } = answer(
      chunk([{ text: 'abcdef' }], { groundingMetadata: { groundingChunks } }),
      chunk([], { ...STOP, groundingMetadata: { groundingChunks, groundingSupports } }),
    )
    expect(parts).toMatchObject([{ citations: [{ url: 'https://a.example', start: 0, end: 3 }] }])
  })
})

test('a voice has its words beside it, and words without sound are text', () => {
  const { parts } = answer(
    chunk([{ audioTranscription: { text: 'well, ' } }]),
    chunk([
      { inlineData: { mimeType: 'audio/wav', data: 'UklGRgAA' }, audioTranscription: { text: 'hello' } },
    ]),
    chunk([], STOP),
  )
  expect(parts).toMatchObject([
    { type: 'text', text: 'well, ' },
    { type: 'media', kind: 'audio', context: 'hello' },
  ])
})
