import { describe, expect, test } from 'bun:test'
import { errorOf, eventsOf, sse } from '#tests/formats/anthropic-messages/fixtures.ts'
import { readUsage } from '@/formats/anthropic-messages/answer/usage.ts'
import { collect } from '@/generation/collect.ts'
import { MOST_COUNT } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'

const START: JsonObject = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  },
}
const PING: JsonObject = { type: 'ping' }
const STOP: JsonObject = { type: 'message_stop' }

function end(
  reason = 'end_turn',
  usage: JsonObject = { output_tokens: 5 },
  delta: JsonObject = {},
): JsonObject {
  return { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null, ...delta }, usage }
}

function open(index: number, content_block: JsonObject): JsonObject {
  return { type: 'content_block_start', index, content_block }
}

function delta(index: number, delta: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta }
}

function close(index: number): JsonObject {
  return { type: 'content_block_stop', index }
}

function text(index: number, ...texts: string[]): JsonObject[] {
  return [
    open(index, { type: 'text', text: '' }),
    ...texts.map(text => delta(index, { type: 'text_delta', text })),
    close(index),
  ]
}

function answer(...events: JsonObject[]) {
  return collect(eventsOf(sse(START, ...events)))
}

describe('pings', () => {
  test('edge 52: a ping before the first block, between deltas and after message_delta says nothing', () => {
    const quiet = eventsOf(sse(START, ...text(0, 'a', 'b'), end(), STOP))
    const [opened = {}, first = {}, second = {}, closed = {}] = text(0, 'a', 'b')
    const pinged = sse(PING, START, PING, opened, first, PING, second, PING, closed, PING, end(), PING, STOP)
    expect(eventsOf(pinged)).toEqual(quiet)
  })
})

describe('tool input', () => {
  const tool = open(0, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} })
  const input = (...pieces: string[]) =>
    pieces.map(piece => delta(0, { type: 'input_json_delta', partial_json: piece }))

  test.each([
    ['an empty first partial', input('', '{"a"', ':1}'), '{"a":1}'],
    ['only an empty partial', input(''), '{}'],
    ['no partial at all', [], '{}'],
    ['a cut inside a UTF-16 escape', input('{"a":"\\ud8', '3d\\ude00"}'), '{"a":"\\ud83d\\ude00"}'],
    ['a cut between the halves of a pair', input('{"a":"\ud83d', '\ude00"}'), '{"a":"\u{1f600}"}'],
  ])('edge 53: %s', (_what, deltas, expected) => {
    const { candidates } = answer(tool, ...deltas, close(0), end('tool_use'), STOP)
    expect(candidates[0]?.parts).toMatchObject([
      { type: 'tool-call', callId: 'toolu_1', name: 'f', input: expected },
    ])
  })

  test('edge 53: input that stands whole in the start', () => {
    const whole = open(0, { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } })
    expect(answer(whole, close(0), end('tool_use'), STOP).candidates[0]?.parts).toMatchObject([
      { input: '{"a":1}' },
    ])
  })

  test('edge 53: max_tokens in the middle, with the block still open at message_delta', () => {
    const { candidates } = answer(tool, ...input('', '{"a":"lo'), end('max_tokens'), STOP)
    expect(candidates[0]).toMatchObject({ parts: [{ input: '{"a":"lo' }], finish: { reason: 'length' } })
  })

  test.each([{}, { id: '' }, { id: null }])('a call without an id gets one: %j', id => {
    const nameless = open(0, { type: 'tool_use', name: 'f', input: {}, ...id })
    expect(answer(nameless, close(0), end('tool_use'), STOP).candidates[0]?.parts).toMatchObject([
      { callId: 'call_made1' },
    ])
  })
})

describe('thinking', () => {
  const thinking = (index: number, ...deltas: JsonObject[]) => [
    open(index, { type: 'thinking', thinking: '', signature: '' }),
    ...deltas.map(item => delta(index, item)),
    close(index),
  ]
  const signature = { type: 'signature_delta', signature: 'sig' }
  const own = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' }

  test('edge 54: thoughts, then their signature', () => {
    const parts = answer(...thinking(0, { type: 'thinking_delta', thinking: 'hm' }, signature), end(), STOP)
      .candidates[0]?.parts
    expect(parts).toMatchObject([{ type: 'reasoning', texts: ['hm'], redacted: false, signature: own }])
  })

  test('edge 54: omitted thinking has a signature and no text', () => {
    const parts = answer(...thinking(0, signature), end(), STOP).candidates[0]?.parts
    expect(parts).toMatchObject([{ type: 'reasoning', texts: [], signature: own }])
  })

  test('edge 54: redacted thinking', () => {
    const redacted = [open(0, { type: 'redacted_thinking', data: 'sig' }), close(0)]
    expect(answer(...redacted, end(), STOP).candidates[0]?.parts).toMatchObject([
      { type: 'reasoning', texts: [], redacted: true, signature: own },
    ])
  })

  test('edge 54: thinking between tool calls keeps its place', () => {
    const tool = (index: number) => [
      open(index, { type: 'tool_use', id: `t${index}`, name: 'f', input: {} }),
      close(index),
    ]
    const { candidates } = answer(
      ...thinking(0, signature),
      ...tool(1),
      ...thinking(2, signature),
      ...tool(3),
      end(),
      STOP,
    )
    expect(candidates[0]?.parts.map(part => part.type)).toEqual([
      'reasoning',
      'tool-call',
      'reasoning',
      'tool-call',
    ])
  })
})

describe('errors', () => {
  const overloaded: JsonObject = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }

  test('edge 55: an error before any content', () => {
    const events = eventsOf(sse(overloaded))
    expect(events).toHaveLength(1)
    expect(errorOf(events)).toMatchObject({ kind: 'upstream_error', retry: 'next-channel' })
    expect(errorOf(events)?.message).toContain('529')
  })

  test('edge 55: an error after content ends the stream', () => {
    const events = eventsOf(sse(START, ...text(0, 'a'), overloaded, ...text(1, 'b'), end(), STOP))
    expect(errorOf(events)?.message).toContain('Overloaded')
    expect(events.filter(event => event.type === 'text-delta')).toHaveLength(1)
  })

  test('an error object of another vendor is an error', () => {
    const events = eventsOf('data: {"error":{"message":"Rate limit reached","code":429}}\n\n')
    expect(errorOf(events)?.message).toContain('Rate limit reached')
  })

  test.each([
    ['before any event', ''],
    ['after the start', sse(START)],
    ['after text', sse(START, ...text(0, 'a'))],
    [
      'before the stop reason',
      sse(START, ...text(0, 'a'), { type: 'message_delta', delta: { stop_reason: null } }),
    ],
    ['in garbage', `${sse(START)}data: {"type":"content_blo\n\n`],
    ['in another JSON value', `${sse(START)}data: [1]\n\n`],
  ])('a stream that breaks off %s ends in an error', (_when, stream) => {
    const events = eventsOf(stream)
    expect(errorOf(events)?.kind).toBe('upstream_error')
    expect(events.some(event => event.type === 'finish')).toBe(false)
  })

  test('a lost message_stop after the stop reason is a normal end', () => {
    const events = eventsOf(sse(START, ...text(0, 'a'), end()))
    expect(events.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'end' } })
  })
})

describe('usage', () => {
  test('edge 56: the last message_delta wins, null leaves what is known', () => {
    const usage = answer(
      ...text(0, 'a'),
      end('end_turn', { output_tokens: 2 }),
      end('end_turn', { input_tokens: null, output_tokens: 7, cache_read_input_tokens: 3 }),
      STOP,
    ).usage
    expect(usage).toMatchObject({ inputUncached: 10, outputText: 7, cacheRead: 3 })
  })

  test('edge 56: message_delta may restate every count', () => {
    const usage = answer(...text(0, 'a'), end('end_turn', { input_tokens: 99, output_tokens: 7 }), STOP).usage
    expect(usage).toMatchObject({ inputUncached: 99, outputText: 7 })
  })

  test.each([
    [
      { input_tokens: 0, output_tokens: 7 },
      { inputUncached: 10, cacheRead: 0 },
    ],
    [
      { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 },
      { inputUncached: 10, cacheRead: 0 },
    ],
    [
      { input_tokens: 0, cache_read_input_tokens: 10, output_tokens: 7 },
      { inputUncached: 0, cacheRead: 10 },
    ],
  ])('edge 56: no prompt is empty: %j', (usage, counts) => {
    const told = answer(...text(0, 'a'), end('end_turn', usage), STOP).usage
    expect(told).toMatchObject({ ...counts, outputText: 7 })
  })

  test('edge 56: a second stop reason of null keeps the first', () => {
    const finish = answer(
      ...text(0, 'a'),
      end('max_tokens'),
      { type: 'message_delta', delta: { stop_reason: null } },
      STOP,
    ).candidates[0]?.finish
    expect(finish?.reason).toBe('length')
  })

  test('input counts are known from the first event, also of a stream that is cut', () => {
    const told = eventsOf(sse(START)).find(event => event.type === 'usage')
    expect(told).toMatchObject({ usage: { inputUncached: 10 }, soFar: true })
  })

  test('what stands beside the totals is added to them once, what is inside of them is not', () => {
    const iterations: JsonObject[] = [
      {
        type: 'compaction',
        input_tokens: 900,
        output_tokens: 40,
        cache_creation: { ephemeral_1h_input_tokens: 6 },
      },
      { type: 'message', input_tokens: 60, output_tokens: 4, cache_read_input_tokens: 2 },
      {
        type: 'advisor_message',
        model: 'other',
        input_tokens: 500,
        output_tokens: 30,
        cache_read_input_tokens: 8,
      },
      { type: 'message', input_tokens: 39, output_tokens: 3, cache_read_input_tokens: 1 },
    ]
    const totals = { input_tokens: 99, output_tokens: 7, cache_read_input_tokens: 3 }
    const told = { inputUncached: 1499, cacheRead: 11, cacheWrite5m: 0, cacheWrite1h: 6, outputText: 77 }
    const delta = end('end_turn', { ...totals, iterations })
    expect(
      answer(...text(0, 'a'), end('end_turn', { ...totals, iterations: [] }), delta, STOP).usage,
    ).toMatchObject(told)
    expect(readUsage({ ...totals, iterations })).toMatchObject(told)
    expect(readUsage({ ...totals, iterations: null })).toMatchObject({ inputUncached: 99, outputText: 7 })
  })

  test('more beside the totals than there can be is no report', () => {
    const iterations = [{ type: 'compaction', input_tokens: MOST_COUNT, output_tokens: 1 }]
    expect(readUsage({ input_tokens: 1, output_tokens: 1, iterations })).toBeUndefined()
    const below = [{ type: 'compaction', input_tokens: -50, output_tokens: -5 }]
    expect(readUsage({ input_tokens: 9, output_tokens: 7, iterations: below })).toMatchObject({
      inputUncached: 9,
      outputText: 7,
    })
  })

  test.each([
    ['a text', '100000'],
    ['below zero', -4],
  ])(
    'a cache count that is %s is no report: taken for none, it would make most of a prompt free',
    (_what, count) => {
      for (const name of ['cache_read_input_tokens', 'cache_creation_input_tokens']) {
        expect(readUsage({ input_tokens: 9, output_tokens: 7, [name]: count })).toBeUndefined()
        expect(readUsage({ input_tokens: 9, output_tokens: 7, [name]: null })).toMatchObject({
          outputText: 7,
        })
      }
    },
  )

  test('an upstream without usage gives none', () => {
    const bare: JsonObject = { type: 'message_start', message: { id: 'm', content: [] } }
    const stopped: JsonObject = { type: 'message_delta', delta: { stop_reason: 'end_turn' } }
    expect(collect(eventsOf(sse(bare, ...text(0, 'a'), stopped, STOP))).usage).toBeUndefined()
  })
})

describe('message_start', () => {
  test('edge 57: a repeated one is ignored', () => {
    const events = eventsOf(sse(START, ...text(0, 'a'), START, ...text(1, 'b'), end(), STOP))
    expect(events.filter(event => event.type === 'start')).toHaveLength(1)
    expect(collect(events).candidates[0]?.parts).toMatchObject([{ text: 'a' }, { text: 'b' }])
  })

  test('edge 57: a second message in one stream is a fault', () => {
    const other: JsonObject = { type: 'message_start', message: { id: 'msg_2', content: [] } }
    expect(errorOf(eventsOf(sse(START, ...text(0, 'a'), other)))?.kind).toBe('upstream_error')
  })

  test('edge 57: one that already holds content and a stop reason', () => {
    const full: JsonObject = {
      type: 'message_start',
      message: {
        id: 'msg_1',
        content: [
          { type: 'text', text: 'done' },
          { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 1, output_tokens: 2 },
      },
    }
    expect(collect(eventsOf(sse(full, STOP)))).toMatchObject({
      candidates: [
        { parts: [{ text: 'done' }, { callId: 't', input: '{"a":1}' }], finish: { reason: 'tool-calls' } },
      ],
    })
  })

  test('a missing one does not lose the answer', () => {
    const events = eventsOf(sse(delta(0, { type: 'text_delta', text: 'a' }), end(), STOP))
    expect(collect(events).candidates[0]?.parts).toMatchObject([{ text: 'a' }])
    expect(events[0]?.type).toBe('start')
  })
})

describe('stop reasons', () => {
  test.each([
    ['end_turn', 'end'],
    ['max_tokens', 'length'],
    ['stop_sequence', 'stop-sequence'],
    ['tool_use', 'tool-calls'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['model_context_window_exceeded', 'context-length'],
    ['of_tomorrow', 'other'],
    ['toString', 'other'],
  ] as const)('edge 62: %s', (wire, reason) => {
    expect(answer(...text(0, 'a'), end(wire), STOP).candidates[0]?.finish.reason).toBe(reason)
  })

  test('edge 62: the sequence that was hit, and why it was refused', () => {
    const hit = answer(...text(0, 'a'), end('stop_sequence', {}, { stop_sequence: 'END' }), STOP)
    expect(hit.candidates[0]?.finish.stopSequence).toBe('END')
    const details = { stop_details: { type: 'refusal', category: 'cyber', explanation: 'Because.' } }
    const refused = answer(...text(0, 'a'), end('refusal', {}, details), STOP)
    expect(refused.candidates[0]?.finish).toMatchObject({ reason: 'refusal', message: 'cyber: Because.' })
  })
})

describe('server tools and citations', () => {
  test('edge 63: citations_delta', () => {
    const citation = {
      type: 'web_search_result_location',
      url: 'https://example.org',
      title: 'T',
      cited_text: 'c',
      encrypted_index: 'e',
    }
    const parts = answer(
      open(0, { type: 'text', text: '' }),
      delta(0, { type: 'citations_delta', citation }),
      delta(0, { type: 'text_delta', text: 'a' }),
      close(0),
      end(),
      STOP,
    ).candidates[0]?.parts
    expect(parts).toMatchObject([
      {
        text: 'a',
        citations: [{ url: 'https://example.org', title: 'T', citedText: 'c', wire: { value: citation } }],
      },
    ])
  })

  test('edge 63: a server tool call with its streamed input, and its result, stay what they are', () => {
    const result = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const parts = answer(
      open(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":' }),
      delta(0, { type: 'input_json_delta', partial_json: '"q"}' }),
      close(0),
      open(1, result),
      close(1),
      end(),
      STOP,
    ).candidates[0]?.parts
    expect(parts).toMatchObject([
      { type: 'opaque', name: 'server_tool_use', value: { id: 's', input: { query: 'q' } } },
      { type: 'opaque', name: 'web_search_tool_result', value: result },
    ])
  })

  test('edge 63: a compaction block is put together', () => {
    const parts = answer(
      open(0, { type: 'compaction', content: '' }),
      delta(0, { type: 'compaction_delta', content: 'so ' }),
      delta(0, { type: 'compaction_delta', content: 'far', encrypted_content: 'c2VhbGVk' }),
      close(0),
      end(),
      STOP,
    ).candidates[0]?.parts
    const value = { content: 'so far', encrypted_content: 'c2VhbGVk' }
    expect(parts).toMatchObject([{ type: 'opaque', name: 'compaction', value }])
  })

  test('unknown events and deltas are passed by', () => {
    const parts = answer(
      { type: 'of_tomorrow', data: 1 },
      open(0, { type: 'text', text: '' }),
      delta(0, { type: 'delta_of_tomorrow', x: 1 }),
      delta(0, { type: 'text_delta', text: 'a' }),
      close(0),
      close(7),
      end(),
      STOP,
    ).candidates[0]?.parts
    expect(parts).toMatchObject([{ text: 'a' }])
  })
})
