import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callEvents, finish, reasoningEvents, START, textEvents } from '#tests/formats/events.ts'
import {
  CALL,
  codec,
  decodeBytes,
  encodeEvents,
  generationRequest,
  replyContext,
} from '#tests/formats/gemini-generate-content/fixtures.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import type { Signature } from '@/generation/part.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** The content of a chunk's first candidate. */
function contentOf(chunk: JsonObject): JsonObject | undefined {
  return asObject(asObject(asArray(chunk['candidates'])[0])?.['content'])
}

/** The parts of each chunk's first candidate. */
function partsOf(chunks: readonly JsonObject[]): JsonObject[][] {
  return chunks.map(chunk => asArray(contentOf(chunk)?.['parts']).map(part => asObject(part) ?? {}))
}

function lastCandidate(chunks: readonly JsonObject[]): JsonObject {
  return asObject(asArray(chunks.at(-1)?.['candidates'])[0]) ?? {}
}

test.each([
  ['default', undefined],
  ['flex', 'flex'],
  ['scale', undefined],
])('tells the tier %s as %s, whole and streamed', (serviceTier, told) => {
  const usage = { type: 'usage', usage: { ...NO_USAGE, outputText: 3 } } as const
  const start: GenerationEvent = { type: 'start', id: 'up', model: 'up', serviceTier }
  const events = [start, ...textEvents(0, 'Hel', 'lo'), finish('end'), usage]
  const tierOf = (reply: JsonObject | undefined) => asObject(reply?.['usageMetadata'])?.['serviceTier']
  expect(tierOf(encodeEvents(events).chunks.at(-1))).toBe(told)
  expect(tierOf(codec.encodeResponse(collect(events), replyContext()))).toBe(told)
})

test('writes CRLF events of whole responses, reason and usage in the last, no names, comments or [DONE]', () => {
  const usage = { ...NO_USAGE, inputUncached: 5, cacheRead: 2, outputText: 3, reasoning: 4 }
  // The usage of OpenAI upstreams comes after the reason.
  const { text: wire, chunks } = encodeEvents([
    START,
    ...textEvents(0, 'Hel', 'lo'),
    finish('end'),
    { type: 'usage', usage },
  ])
  for (const event of wire.split('\r\n\r\n').slice(0, -1)) expect(event).toMatch(/^data: \{[^\r\n]*\}$/)
  expect(chunks.at(-1)).toEqual({
    candidates: [{ content: { parts: [{ text: 'o' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: 7,
      candidatesTokenCount: 3,
      totalTokenCount: 14,
      cachedContentTokenCount: 2,
      thoughtsTokenCount: 4,
    },
    modelVersion: 'my/model:1',
    responseId: '0198c0de-0000-7000-8000-000000000001',
  })
  expect(chunks.slice(0, -1).every(chunk => !('usageMetadata' in chunk))).toBe(true)
})

test('text flows: each delta writes all but its last character', () => {
  const encoder = codec.createStreamEncoder(replyContext())
  const written: string[] = []
  for (const event of textEvents(0, 'Hello', ' wor', 'ld').slice(0, -1))
    encoder.push(event, piece => written.push(piece))
  expect(written.map(piece => /"text":("[^"]*")/.exec(piece)?.[1])).toEqual(['"Hell"', '"o wo"', '"rl"'])
})

test('no chunk has an empty part or no part, and no surrogate pair is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 4 })), deltas => {
      const { chunks } = encodeEvents([START, ...textEvents(0, ...deltas), finish('end')])
      const parts = partsOf(chunks).flat()
      expect(parts.map(part => part['text']).join('')).toBe(deltas.join(''))
      for (const part of parts) expect(part['text']).not.toBe('')
      if (deltas.join('') !== '') expect(partsOf(chunks).every(list => list.length === 1)).toBe(true)
    }),
  )
  const { chunks } = encodeEvents([START, ...textEvents(0, 'a👋', '🏽', 'b'), finish('end')])
  expect(
    partsOf(chunks)
      .flat()
      .map(part => part['text']),
  ).toEqual(['a', '👋', '🏽', 'b'])
})

describe('calls', () => {
  test('are written whole, in a part with their id, the last one with the reason', () => {
    const { chunks } = encodeEvents([
      START,
      ...textEvents(0, 'Hm'),
      ...callEvents(1, 'f', '{"a"', ':1}'),
      ...callEvents(2, 'g'),
      finish('tool-calls'),
    ])
    expect(partsOf(chunks)).toEqual([
      [{ text: 'H' }],
      [{ text: 'm' }],
      [{ functionCall: { id: 'call_1', name: 'f', args: { a: 1 } } }],
      [{ functionCall: { id: 'call_2', name: 'g', args: {} } }],
    ])
    expect(lastCandidate(chunks)['finishReason']).toBe('STOP')
  })

  test('keep the digits of their numbers', () => {
    const { text: wire } = encodeEvents([
      START,
      ...callEvents(0, 'f', '{"n":12345678901234567890,\n"x":1.0e400}'),
      finish('tool-calls'),
    ])
    expect(wire).toContain('"args":{"n":12345678901234567890,"x":1.0e400}')
  })

  test.each(['{"a":', 'nonsense', '[1]', '"x"'])('with the input %s are MALFORMED_FUNCTION_CALL', input => {
    const { chunks } = encodeEvents([
      START,
      ...textEvents(0, 'Hm'),
      ...callEvents(1, 'f', input),
      finish('tool-calls'),
    ])
    expect(lastCandidate(chunks)).toMatchObject({
      content: { parts: [{ text: 'm' }] },
      finishReason: 'MALFORMED_FUNCTION_CALL',
    })
  })

  test('cut by the length limit are MAX_TOKENS', () => {
    const { chunks } = encodeEvents([START, ...callEvents(0, 'f', '{"a"'), finish('length')])
    expect(lastCandidate(chunks)).toEqual({ finishReason: 'MAX_TOKENS', index: 0 })
  })
})

describe('thoughts', () => {
  const claude: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig/=' }
  const openai: Signature = { format: 'openai-responses', vendor: 'openai', value: 'enc' }
  const asked = generationRequest({
    reasoning: { effort: undefined, budgetTokens: undefined, summary: 'auto' },
  })

  test('are written only when the caller asked for them', () => {
    const events = [START, ...reasoningEvents(0, ['because']), ...textEvents(1, 'ok'), finish('end')]
    const unwanted = generationRequest({
      reasoning: { effort: undefined, budgetTokens: undefined, summary: 'none' },
    })
    for (const request of [undefined, unwanted]) {
      expect(partsOf(encodeEvents(events, request).chunks).flat()).toEqual([{ text: 'o' }, { text: 'k' }])
    }
    expect(partsOf(encodeEvents(events, asked).chunks).flat()).toEqual([
      { text: 'becaus', thought: true },
      { text: 'e', thought: true },
      { text: 'o' },
      { text: 'k' },
    ])
  })

  test('come back with their signature from the history that the SDK keeps', () => {
    for (const [signature, request, texts] of [
      [claude, asked, ['because']],
      [openai, asked, ['because']],
      [openai, undefined, []],
    ] as const) {
      const events = [
        START,
        ...reasoningEvents(0, ['because'], signature),
        ...callEvents(1, 'f', '{}'),
        finish('tool-calls'),
      ]
      const { chunks } = encodeEvents(events, request)
      const contents = chunks.map(chunk => contentOf(chunk) ?? {})
      const back = codec.decodeRequest(
        { contents: [{ role: 'user', parts: [{ text: 'q' }] }, ...contents] },
        CALL,
      )
      expect(back.turns[1]?.parts).toMatchObject([
        { type: 'reasoning', texts, signature },
        { type: 'tool-call', name: 'f', callId: 'call_1', signature: undefined },
      ])
    }
  })

  test('that are hidden lose a signature which needs them, redacted ones have no slot', () => {
    for (const events of [reasoningEvents(0, ['because'], claude), reasoningEvents(0, [], claude, true)]) {
      const { text: wire } = encodeEvents([START, ...events, ...textEvents(1, 'ok'), finish('end')])
      expect(wire).not.toContain('thoughtSignature')
    }
  })

  test('keep their paragraphs apart', () => {
    const events: GenerationEvent[] = [
      { type: 'reasoning-start', block: 0, candidate: 0, id: undefined, raw: false, redacted: false },
      { type: 'reasoning-paragraph', block: 0 },
      { type: 'reasoning-delta', block: 0, text: 'one' },
      { type: 'reasoning-paragraph', block: 0 },
      { type: 'reasoning-delta', block: 0, text: 'two' },
      { type: 'reasoning-delta', block: 0, text: '!' },
      { type: 'reasoning-end', block: 0, signature: undefined },
      finish('end'),
    ]
    const parts = partsOf(encodeEvents(events, asked).chunks).flat()
    expect(parts.map(part => part['text']).join('')).toBe('one\n\ntwo!')
  })
})

describe('ends', () => {
  test.each([
    ['end', 'STOP'],
    ['stop-sequence', 'STOP'],
    ['tool-calls', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['context-length', 'MAX_TOKENS'],
    ['content-filter', 'SAFETY'],
    ['refusal', 'SAFETY'],
    ['pause', 'STOP'],
    ['malformed-tool-call', 'MALFORMED_FUNCTION_CALL'],
    ['other', 'OTHER'],
  ] as const)('%s is %s', (reason, wire) => {
    const { chunks } = encodeEvents([START, ...textEvents(0, 'x'), finish(reason)])
    expect(lastCandidate(chunks)['finishReason']).toBe(wire)
  })

  const refusalInWords: GenerationEvent[] = [
    { type: 'refusal-start', block: 0, candidate: 0 },
    { type: 'refusal-delta', block: 0, text: 'No.' },
    { type: 'refusal-end', block: 0 },
  ]
  test.each<[string, GenerationEvent[], string]>([
    ['in words is an answer', refusalInWords, 'STOP'],
    ['that cut an answer off is SAFETY', textEvents(0, 'First, '), 'SAFETY'],
    ['without a word is SAFETY', [], 'SAFETY'],
  ])('a refusal %s, whole and streamed', (_name, said, finishReason) => {
    const events = [START, ...said, finish('refusal')]
    const whole = codec.encodeResponse(collect(events), replyContext())
    expect(lastCandidate([whole])).toMatchObject({ finishReason })
    expect(lastCandidate(encodeEvents(events).chunks)).toMatchObject({ finishReason })
  })

  test.each([
    ['length', { role: 'model' }],
    ['end', { role: 'model' }],
    ['content-filter', undefined],
  ] as const)(
    'a whole answer of nothing that ended by %s has content %j, as Google has it',
    (reason, content) => {
      const whole = codec.encodeResponse(collect([START, finish(reason)]), replyContext())
      expect(lastCandidate([whole])['content']).toEqual(content)
    },
  )

  test('a blocked prompt is promptFeedback', () => {
    const { chunks } = encodeEvents([START, finish('prompt-blocked', { message: 'BLOCKLIST: no' })])
    expect(chunks[0]).toMatchObject({ promptFeedback: { blockReason: 'BLOCKLIST' } })
    expect(chunks[0]).not.toHaveProperty('candidates')
  })

  test('an error is the last event, after what was held back', () => {
    const error = new GatewayError('upstream_timeout', 'Too slow')
    const { chunks } = encodeEvents([
      START,
      ...textEvents(0, 'ab').slice(0, -1),
      { type: 'error', error },
      finish('end'),
    ])
    expect(partsOf(chunks).flat()).toEqual([{ text: 'a' }, { text: 'b' }])
    expect(chunks.at(-1)).toMatchObject({ error: { code: 504, status: 'DEADLINE_EXCEEDED' } })
    expect(chunks).toHaveLength(3)
  })

  test('a stream without a finish ends in nothing', () => {
    expect(runMachine(codec.createStreamEncoder(replyContext()), [START])).toEqual([])
  })
})

test('sources come in the last chunk, counted in bytes, and are read back', () => {
  const cited = 'Η Αθήνα'
  const citation = {
    url: 'https://a.example',
    title: 'A',
    citedText: cited,
    start: 3,
    end: 10,
    wire: undefined,
  }
  const events: GenerationEvent[] = [
    START,
    { type: 'text-start', block: 0, candidate: 0 },
    { type: 'text-delta', block: 0, text: `👋 ${cited}.` },
    { type: 'text-citation', block: 0, citation },
    { type: 'text-end', block: 0, signature: undefined },
    finish('end'),
  ]
  const back = collect(decodeBytes([Buffer.from(encodeEvents(events).text)]))
  expect(back.candidates[0]?.parts).toMatchObject([
    { text: `👋 ${cited}.`, citations: [{ ...citation, wire: {} }] },
  ])
})

test('a source without an address is a retrieved document, and no page of the web', () => {
  const citation = { title: 'A', citedText: 'hi', start: 0, end: 2, wire: undefined }
  const { chunks } = encodeEvents([
    START,
    { type: 'text-start', block: 0, candidate: 0 },
    { type: 'text-delta', block: 0, text: 'hi' },
    { type: 'text-citation', block: 0, citation: { ...citation, url: undefined } },
    { type: 'text-citation', block: 0, citation: { ...citation, url: 'https://a.example' } },
    { type: 'text-end', block: 0, signature: undefined },
    finish('end'),
  ])
  expect(lastCandidate(chunks)).toMatchObject({
    groundingMetadata: {
      groundingChunks: [
        { retrievedContext: { title: 'A' } },
        { web: { uri: 'https://a.example', title: 'A' } },
      ],
    },
  })
})

test('sources of an empty text, which is no part of the answer, are told of none', () => {
  const citation = { url: 'https://a.example', title: 'A', citedText: 'x', start: 0, end: 0, wire: undefined }
  const { chunks } = encodeEvents([
    START,
    { type: 'text-start', block: 0, candidate: 0 },
    { type: 'text-citation', block: 0, citation },
    { type: 'text-end', block: 0, signature: undefined },
    ...textEvents(1, 'hi'),
    finish('end'),
  ])
  expect(lastCandidate(chunks)).not.toHaveProperty('groundingMetadata')
})

test('sources are told of whole characters, whatever the upstream counts', () => {
  const citation = {
    url: 'https://a.example',
    title: 'A',
    citedText: undefined,
    start: 1,
    end: 4,
    wire: undefined,
  }
  const { chunks } = encodeEvents([
    START,
    { type: 'text-start', block: 0, candidate: 0 },
    { type: 'text-delta', block: 0, text: '👋b😀!' },
    { type: 'text-citation', block: 0, citation },
    { type: 'text-end', block: 0, signature: undefined },
    finish('end'),
  ])
  expect(lastCandidate(chunks)['groundingMetadata']).toMatchObject({
    groundingSupports: [{ segment: { startIndex: 4, endIndex: 9, text: 'b😀' } }],
  })
})

test('the signature of hidden thoughts stands on what follows them, not on the text before', () => {
  const sealed = { format: 'openai-responses', vendor: 'openai', value: 'E' } as const
  const parts = (...more: GenerationEvent[]) =>
    asArray(
      encodeEvents([
        START,
        ...textEvents(0, 'first'),
        ...reasoningEvents(1, [], sealed),
        ...more,
        finish('end'),
      ]).chunks.flatMap(chunk =>
        asArray(asObject(asObject(asArray(chunk['candidates'])[0])?.['content'])?.['parts']),
      ),
    ).map(part => [asObject(part)?.['text'], asObject(part)?.['thoughtSignature'] !== undefined])
  expect(parts(...textEvents(2, 'second'))).toEqual([
    ['firs', false],
    ['t', false],
    ['secon', true],
    ['d', false],
  ])
  expect(parts()).toEqual([
    ['firs', false],
    ['t', false],
  ])
  expect(parts(...textEvents(2, 'b'), ...reasoningEvents(3, [], sealed), ...textEvents(4, 'c'))).toEqual([
    ['firs', false],
    ['t', false],
    ['b', true],
    ['c', true],
  ])
})

test('sources name the place of their text among the parts that were written', () => {
  const citation = {
    url: 'https://a.example',
    title: 'A',
    citedText: 'hi',
    start: 0,
    end: 2,
    wire: undefined,
  }
  const sealed = { format: 'openai-responses', vendor: 'openai', value: 'E' } as const
  const { chunks } = encodeEvents(
    [
      START,
      ...reasoningEvents(0, [], sealed, true),
      ...textEvents(1),
      ...textEvents(2, 'hi'),
      { type: 'text-citation', block: 2, citation },
      finish('end'),
    ],
    generationRequest({ reasoning: { effort: undefined, budgetTokens: undefined, summary: 'auto' } }),
  )
  expect(lastCandidate(chunks)?.['groundingMetadata']).toMatchObject({
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 2, text: 'hi' } }],
  })
  expect(JSON.stringify(chunks)).not.toContain('partIndex')
})

test('candidates keep their index', () => {
  const { chunks } = encodeEvents([
    START,
    { type: 'text-start', block: 0, candidate: 0 },
    { type: 'text-start', block: 1, candidate: 1 },
    { type: 'text-delta', block: 1, text: 'B1' },
    { type: 'text-delta', block: 0, text: 'A1' },
    { type: 'text-end', block: 0, signature: undefined },
    { type: 'text-end', block: 1, signature: undefined },
    finish('end'),
    finish('length', {}, 1),
  ])
  expect(chunks.at(-1)?.['candidates']).toMatchObject([
    { index: 0, finishReason: 'STOP', content: { parts: [{ text: '1' }] } },
    { index: 1, finishReason: 'MAX_TOKENS', content: { parts: [{ text: '1' }] } },
  ])
})
