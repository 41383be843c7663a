import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { call, chunk, decodeChunks, finish } from '#tests/formats/openai-chat-completions/fixtures.ts'
import { cutAnswer, faultOf } from '@/formats/faults/fault.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Part } from '@/generation/part.ts'
import type { Candidate } from '@/generation/response.ts'
import type { JsonObject } from '@/json/json.ts'

const DONE = '[DONE]'

function candidateOf(chunks: readonly (JsonObject | string)[], index = 0): Candidate {
  const candidate = collect(decodeChunks(chunks)).candidates[index]
  if (candidate === undefined) throw new Error('no such candidate')
  return candidate
}

/** The parts in short: their kind and what they say. */
function said(chunks: readonly (JsonObject | string)[], index = 0): string[] {
  return candidateOf(chunks, index).parts.map(inShort)
}

function inShort(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return `${part.type}: ${part.text}`
    case 'reasoning':
      return `reasoning: ${part.texts.join('|')}`
    case 'tool-call':
      return `${part.callId} ${part.name} ${part.input}`
    default:
      return part.type
  }
}

function typesOf(events: readonly GenerationEvent[]): string[] {
  return events.map(event => event.type)
}

function lastError(chunks: readonly (JsonObject | string)[]) {
  const last = decodeChunks(chunks).at(-1)
  return last?.type === 'error' ? last.error : undefined
}

const text = (content: string) => chunk({ content })

describe('events', () => {
  test('come in lawful order, the finish after the last block', () => {
    const events = decodeChunks([chunk({ role: 'assistant', content: '' }), text('a'), finish('stop'), DONE])
    expect(typesOf(events)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish'])
  })

  test('an emoji whose halves are in two deltas stays whole', () => {
    const events = decodeChunks([text('a\ud83d'), text('\udc4bb'), finish('stop')])
    expect(events.flatMap(event => (event.type === 'text-delta' ? event.text : []))).toEqual([
      'a',
      '\ud83d\udc4bb',
    ])
  })

  test('a half emoji that never gets its other half is not lost', () => {
    expect(said([text('a\ud83d'), finish('stop')])).toEqual(['text: a\ud83d'])
  })

  test('an emoji split over argument deltas stays whole', () => {
    const chunks = [
      call({ index: 0, id: 'c1', function: { name: 'f', arguments: '"\ud83d' } }),
      call({ index: 0, function: { arguments: '\udc4b"' } }),
      finish('tool_calls'),
    ]
    expect(said(chunks)).toEqual(['c1 f "\ud83d\udc4b"'])
  })

  test('nothing follows the end', () => {
    const events = decodeChunks([text('a'), finish('stop'), DONE, text('b'), DONE])
    expect(events.at(-1)?.type).toBe('finish')
    expect(typesOf(events).filter(type => type === 'finish')).toHaveLength(1)
  })

  test('text that is no JSON keeps the connection alive and says nothing', () => {
    expect(said(['ping', text('a'), finish('stop')])).toEqual(['text: a'])
  })

  test('broken JSON in the middle is an error, as output is lost', () => {
    expect(lastError([text('a'), '{"choices":[{"ind', text('b'), finish('stop')])?.kind).toBe(
      'upstream_error',
    )
  })
})

describe('edge cases of this format', () => {
  test('edge 14: [DONE] may be missing, have spaces, come twice, and nothing after it counts', () => {
    expect(said([text('a'), finish('stop')])).toEqual(['text: a'])
    expect(decodeChunks([text('a'), finish('stop'), ' [DONE] ', DONE]).at(-1)?.type).toBe('finish')
    expect(candidateOf([text('a'), DONE]).finish.reason).toBe('end')
    expect(said([text('a'), finish('stop'), DONE, text('b')])).toEqual(['text: a'])
  })

  test.each([
    ['role alone first', [chunk({ role: 'assistant' }), text('a')]],
    ['no role', [text('a')]],
    [
      'role in every chunk',
      [chunk({ role: 'assistant', content: '' }), chunk({ role: 'assistant', content: 'a' })],
    ],
  ])('edge 15: %s', (_name, chunks) => {
    expect(said([...chunks, finish('stop')])).toEqual(['text: a'])
  })

  test('edge 16: null and empty content beside tool calls make no text', () => {
    const entry = { index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }
    const chunks = [
      chunk({ content: null, tool_calls: [entry] }),
      chunk({ content: '', tool_calls: [{ index: 0, function: { arguments: '' } }] }),
      finish('tool_calls'),
    ]
    expect(said(chunks)).toEqual(['c1 f {}'])
  })

  test("edge 17: Azure's first chunk without choices, and the usage chunk", () => {
    const events = decodeChunks([
      { id: '', model: '', object: '', choices: [], prompt_filter_results: [] },
      { ...text('a'), id: 'real', model: 'gpt' },
      finish('stop'),
      { id: 'real', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
      DONE,
    ])
    expect(events[0]).toMatchObject({ type: 'start', id: 'real', model: 'gpt' })
    expect(collect(events).usage?.inputUncached).toBe(3)
  })

  test('edge 18: a finish together with content', () => {
    expect(said([chunk({ content: 'a' }, { finish_reason: 'stop' }), DONE])).toEqual(['text: a'])
  })

  test('edge 19: of two finish chunks the first counts, and what is between is kept', () => {
    const chunks = [text('a'), finish('length'), text('b'), finish('stop'), DONE]
    expect(candidateOf(chunks).finish.reason).toBe('length')
    expect(said(chunks)).toEqual(['text: ab'])
    expect(typesOf(decodeChunks(chunks)).filter(type => type === 'finish')).toHaveLength(1)
  })

  test('edge 20: usage beside choices, in every chunk, before the finish: the last counts', () => {
    const counted = (count: number) => ({
      usage: { prompt_tokens: 5, completion_tokens: count, total_tokens: 5 + count },
    })
    const chunks = [
      { ...text('a'), ...counted(1) },
      { ...text('b'), ...counted(2) },
      { ...finish('stop'), ...counted(3) },
    ]
    expect(collect(decodeChunks(chunks)).usage?.outputText).toBe(3)
    expect(collect(decodeChunks([{ ...text('a'), ...counted(1) }, finish('stop')])).usage?.outputText).toBe(1)
  })

  test('edge 20: usage at Groq and at Moonshot stands elsewhere', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
    expect(collect(decodeChunks([{ ...finish('stop'), x_groq: { usage } }])).usage?.outputText).toBe(2)
    expect(collect(decodeChunks([finish('stop', { usage })])).usage?.outputText).toBe(2)
  })

  test('edge 21: usage that is null or absent stays unknown', () => {
    expect(collect(decodeChunks([{ ...text('a'), usage: null }, finish('stop')])).usage).toBeUndefined()
  })

  test('edge 22: two parallel calls with interleaved arguments', () => {
    const chunks = [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '' } }),
      call({ index: 1, id: 'b', function: { name: 'g', arguments: '' } }),
      call({ index: 1, function: { arguments: '{"y"' } }),
      call({ index: 0, function: { arguments: '{"x":' } }),
      call({ index: 1, function: { arguments: ':2}' } }),
      call({ index: 0, function: { arguments: '1}' } }),
      finish('tool_calls'),
    ]
    expect(said(chunks)).toEqual(['a f {"x":1}', 'b g {"y":2}'])
  })

  test.each([
    ['""', [call({ index: 0, id: 'a', function: { name: 'f', arguments: '' } })], 'a f {}'],
    ['{}', [call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } })], 'a f {}'],
    [
      '{} in front of those that follow',
      [
        call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 0, function: { arguments: ':1}' } }),
      ],
      'a f {"x":1}',
    ],
    ['absent', [call({ index: 0, id: 'a', function: { name: 'f' } })], 'a f {}'],
    [
      'whole in one delta',
      [call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } })],
      'a f {"x":1}',
    ],
    [
      'a name in two pieces',
      [
        call({ index: 0, id: 'a', function: { name: 'get_', arguments: '' } }),
        call({ index: 0, function: { name: 'time', arguments: '' } }),
        call({ index: 0, function: { arguments: '{}' } }),
      ],
      'a get_time {}',
    ],
    [
      'a name that is repeated',
      [
        call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        call({ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }),
      ],
      'a f {"x":1}',
    ],
  ])('edge 23: arguments %s', (_name, chunks, expected) => {
    expect(said([...chunks, finish('tool_calls')])).toEqual([expected])
  })

  test.each([
    [
      'no index, ids',
      [
        { id: 'a', function: { name: 'f', arguments: '{}' } },
        { id: 'b', function: { name: 'g', arguments: '{}' } },
      ],
      ['a f {}', 'b g {}'],
    ],
    [
      'no index, ids repeated',
      [
        { id: 'a', function: { name: 'f', arguments: '{"x"' } },
        { id: 'a', function: { arguments: ':1}' } },
      ],
      ['a f {"x":1}'],
    ],
    [
      'no index, id once',
      [{ id: 'a', function: { name: 'f', arguments: '{"x"' } }, { function: { arguments: ':1}' } }],
      ['a f {"x":1}'],
    ],
    [
      'neither index nor id',
      [{ function: { name: 'f', arguments: '{"x":1}' } }, { function: { name: 'f', arguments: '{}' } }],
      ['call_made1 f {"x":1}', 'call_made2 f {}'],
    ],
    ['index from 1', [{ index: 1, id: 'a', function: { name: 'f', arguments: '{}' } }], ['a f {}']],
    [
      'indexes with a gap',
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
        { index: 4, id: 'b', function: { name: 'g', arguments: '{}' } },
      ],
      ['a f {}', 'b g {}'],
    ],
    [
      'every call at index 0',
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
        { index: 0, id: 'b', function: { name: 'f', arguments: '{}' } },
      ],
      ['a f {}', 'b f {}'],
    ],
    ['no id', [{ index: 0, function: { name: 'f', arguments: '{}' } }], ['call_made1 f {}']],
    ['an empty id', [{ index: 0, id: '', function: { name: 'f', arguments: '{}' } }], ['call_made1 f {}']],
    [
      'one id for two calls',
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
        { index: 1, id: 'a', function: { name: 'g', arguments: '{}' } },
      ],
      ['a f {}', 'call_made1 g {}'],
    ],
  ])('edge 24: %s', (_name, entries, expected) => {
    expect(said([...entries.map(call), finish('tool_calls')])).toEqual(expected)
  })

  test('edge 24: several whole calls in one delta without index or id', () => {
    const tool_calls = [
      { function: { name: 'f', arguments: '{}' } },
      { function: { name: 'f', arguments: '{}' } },
    ]
    expect(said([chunk({ tool_calls }), finish('stop')])).toEqual(['call_made1 f {}', 'call_made2 f {}'])
  })

  test('edge 25: arguments as an object', () => {
    const entry = { index: 0, id: 'a', function: { name: 'f', arguments: { x: [1] } } }
    expect(said([call(entry), finish('tool_calls')])).toEqual(['a f {"x":[1]}'])
  })

  test.each([
    ['before content', [chunk({ reasoning_content: 't' }), text('a')], ['reasoning: t', 'text: a']],
    ['in the same chunk', [chunk({ reasoning_content: 't', content: 'a' })], ['reasoning: t', 'text: a']],
    ['after content', [text('a'), chunk({ reasoning_content: 't' })], ['text: a', 'reasoning: t']],
    ['under its other name', [chunk({ reasoning: 't' }), text('a')], ['reasoning: t', 'text: a']],
    ['under both names', [chunk({ reasoning: 't', reasoning_content: 't' })], ['reasoning: t']],
    [
      'with details that say it again',
      [
        chunk({ reasoning: 't', reasoning_details: [{ type: 'reasoning.text', text: 't', index: 0 }] }),
        text('a'),
      ],
      ['reasoning: t', 'text: a'],
    ],
    [
      'in details alone',
      [chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 's', index: 0 }] }), text('a')],
      ['reasoning: s', 'text: a'],
    ],
  ])('edge 26: reasoning %s', (_name, chunks, expected) => {
    expect(said([...chunks, finish('stop')])).toEqual(expected)
  })

  test('edge 26: the pieces of reasoning_details are kept whole as the signature', () => {
    const detail = (fields: JsonObject) =>
      chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] })
    const chunks = [
      detail({ text: 'a' }),
      detail({ text: 'b' }),
      detail({ signature: 'sig' }),
      text('x'),
      finish('stop'),
    ]
    expect(candidateOf(chunks).parts[0]).toMatchObject({
      texts: ['ab'],
      signature: {
        format: 'openai-chat-completions',
        vendor: 'upstream.example',
        value: '[{"type":"reasoning.text","index":0,"text":"ab","signature":"sig"}]',
      },
    })
  })

  test('edge 26: pieces of reasoning_details that come by turns are put together by their numbers', () => {
    const piece = (index: number, text: string) =>
      chunk({ reasoning_details: [{ type: 'reasoning.text', index, text, signature: `s${index}` }] })
    const chunks = [piece(0, 'a'), piece(1, 'b'), piece(0, 'c'), chunk({ reasoning_details: [] }), text('x')]
    const entries = [
      { type: 'reasoning.text', index: 0, text: 'ac', signature: 's0' },
      { type: 'reasoning.text', index: 1, text: 'b', signature: 's1' },
    ]
    const { parts } = candidateOf([...chunks, finish('stop')])
    expect(parts).toMatchObject([{ signature: { value: JSON.stringify(entries) } }, { text: 'x' }])
  })

  test('reasoning_details without an entry are no thought', () => {
    const { parts } = candidateOf([chunk({ content: 'x', reasoning_details: [] }), finish('stop')])
    expect(parts).toMatchObject([{ type: 'text', text: 'x' }])
  })

  test('encrypted reasoning is kept as the signature, though nobody signed it', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'gAAA', id: 'rs_1', index: 0 }]
    const [thought] = candidateOf([chunk({ reasoning_details: details }), text('x'), finish('stop')]).parts
    expect(thought).toMatchObject({ texts: [], signature: { value: JSON.stringify(details) } })
  })

  test('edge 28: content as parts, thinking among them', () => {
    const chunks = [
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 't' }] }] }),
      chunk({ content: [{ type: 'text', text: 'a' }] }),
      text('b'),
      finish('stop'),
    ]
    expect(said(chunks)).toEqual(['reasoning: t', 'text: ab'])
  })

  test('edge 29: refusal deltas', () => {
    const chunks = [chunk({ refusal: 'No' }), chunk({ refusal: '.' }), finish('stop')]
    expect(said(chunks)).toEqual(['refusal: No.'])
    expect(candidateOf(chunks).finish.reason).toBe('refusal')
  })

  test('edge 29: content_filter with partial text, and without any text or delta', () => {
    expect(candidateOf([text('a'), finish('content_filter')])).toMatchObject({
      parts: [{ text: 'a' }],
      finish: { reason: 'content-filter' },
    })
    const bare = {
      id: 'c',
      choices: [{ index: 0, finish_reason: 'content_filter', content_filter_results: {} }],
    }
    expect(candidateOf([bare])).toMatchObject({ parts: [], finish: { reason: 'content-filter' } })
  })

  test('edge 30: two choices, interleaved', () => {
    const chunks = [
      chunk({ content: 'a' }),
      chunk({ content: 'x' }, { index: 1 }),
      chunk({ content: 'b' }),
      chunk({ content: 'y' }, { index: 1 }),
      finish('length', { index: 1 }),
      finish('stop'),
    ]
    expect(said(chunks)).toEqual(['text: ab'])
    expect(said(chunks, 1)).toEqual(['text: xy'])
    expect(candidateOf(chunks, 1).finish.reason).toBe('length')
  })

  test.each([
    ['in the first line', [{ error: { message: 'slow down', code: 429 } }], 'slow down'],
    ['in the middle', [text('a'), { error: { message: 'broke', type: 'server_error' } }, text('b')], 'broke'],
    ['after the finish', [text('a'), finish('stop'), { error: { message: 'late' } }], 'late'],
    ['as text', [{ error: 'plain' }], 'plain'],
    ['as a bare message', [{ object: 'error', message: 'vllm', code: 400 }], 'vllm'],
  ])('edge 31: an error %s', (_name, chunks, message) => {
    expect(lastError(chunks)?.kind).toBe('upstream_error')
    expect(lastError(chunks)?.message).toContain(message)
  })

  test('edge 31: the error names the status that it stands for', () => {
    const error = lastError([{ error: { message: 'm', code: 429 } }])
    expect(error && faultOf(error)).toMatchObject({ status: 429 })
  })

  test('edge 32: legacy function_call deltas', () => {
    const chunks = [
      chunk({ role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{"x"' } }),
      chunk({ function_call: { arguments: ':1}' } }),
      finish('function_call'),
    ]
    expect(said(chunks)).toEqual(['call_made1 f {"x":1}'])
    expect(candidateOf(chunks).finish.reason).toBe('tool-calls')
  })

  test('a call that is written out empty is none, beside text and beside another', () => {
    const none = { function_call: { name: '', arguments: '' } }
    expect(said([chunk({ content: '4', ...none }), finish('')])).toEqual(['text: 4'])
    expect(candidateOf([chunk({ content: '4', ...none }), finish('stop')]).finish.reason).toBe('end')
    const custom = { name: '', input: '' }
    const called = { index: 0, id: 'a', type: 'function', custom, function: { name: 'f', arguments: '{}' } }
    expect(said([chunk({ tool_calls: [called], ...none }), finish('')])).toEqual(['a f {}'])
    const typed = { index: 0, id: 'a', type: 'custom', custom: { name: 'p', input: 'x' } }
    const both = { ...typed, function: { name: '', arguments: '' } }
    expect(said([chunk({ tool_calls: [both] }), finish('')])).toEqual(['a p x'])
  })

  test('edge 33: the model changes between chunks; the first name and the first id that is one count', () => {
    const events = decodeChunks([
      { ...text('a'), model: 'one' },
      { ...finish('stop'), model: 'two', id: 'other' },
    ])
    expect(events.filter(event => event.type === 'start')).toEqual([
      { type: 'start', id: 'c', model: 'one', serviceTier: undefined },
    ])
    expect(decodeChunks([{ ...finish('stop'), id: '' }])[0]).toMatchObject({ id: undefined })
  })

  test.each([
    ['before any chunk', []],
    ['before any choice', [{ id: 'c', choices: [] }]],
    ['after text', [text('a')]],
    ['in the middle of arguments', [call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } })]],
    ['after one of two choices', [text('a'), chunk({ content: 'b' }, { index: 1 }), finish('stop')]],
    ['by [DONE] before any answer', [DONE]],
    [
      'by [DONE] in the middle of arguments',
      [call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } }), DONE],
    ],
    ['by [DONE] in the middle of thought', [chunk({ reasoning_content: 'hm' }), DONE]],
    ['by [DONE] in the middle of later thought', [text('a'), chunk({ reasoning_content: 'hm' }), DONE]],
  ])('edge 34: cut %s is an error', (_name, chunks) => {
    expect(lastError(chunks)?.message).toBe(cutAnswer().message)
  })

  test('edge 34: [DONE] after thought that its vendor ended, or that led to text, is an end', () => {
    const thought = chunk({ reasoning_content: 'hm' })
    for (const chunks of [
      [thought, finish('stop'), DONE],
      [thought, text('a'), DONE],
    ])
      expect(candidateOf(chunks).finish.reason).toBe('end')
  })

  test('edge 34: cut after the finish, before usage, is a whole answer', () => {
    const events = decodeChunks([text('a'), finish('stop')])
    expect(events.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'end' } })
  })
})

describe('the finish', () => {
  const whole = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } })
  const broken = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } })

  test.each([
    ['stop beside a call waits for the call', [whole, finish('stop')], 'tool-calls'],
    ['tool_calls without a call is an end', [text('a'), finish('tool_calls')], 'end'],
    ['[DONE] after a whole call', [whole, DONE], 'tool-calls'],
    ['an invented word', [text('a'), finish('whatever')], 'other'],
    ['an invented word beside a call', [whole, finish('eos')], 'tool-calls'],
    ['a word of Object', [text('a'), finish('constructor')], 'other'],
    ['length beside a broken call', [broken, finish('length')], 'length'],
    ['an empty word is none', [chunk({ content: 'a' }, { finish_reason: '' }), finish('stop')], 'end'],
  ] as const)('%s', (_name, chunks, reason) => {
    expect(candidateOf(chunks).finish.reason).toBe(reason)
  })

  test.each([
    ['vLLM', 'stop_reason'],
    ['SGLang', 'matched_stop'],
  ])('%s names the stop sequence', (_vendor, name) => {
    expect(candidateOf([finish('stop', { [name]: 'END' })]).finish).toEqual({
      reason: 'stop-sequence',
      stopSequence: 'END',
      message: undefined,
    })
    expect(candidateOf([finish('stop', { [name]: 151_645 })]).finish.reason).toBe('end')
  })
})

describe('whatever the upstream sends', () => {
  const names = [
    'content',
    'reasoning',
    'reasoning_details',
    'refusal',
    'tool_calls',
    'function_call',
    'images',
  ]
  const json = fc.jsonValue({ maxDepth: 3 })
  const entry = fc.record(
    { index: json, id: json, type: json, function: fc.record({ name: json, arguments: json }), custom: json },
    { requiredKeys: [] },
  )
  const delta = fc.dictionary(fc.constantFrom(...names), fc.oneof(json, fc.array(entry)))
  const choice = fc.record({ index: json, delta, finish_reason: json, logprobs: json }, { requiredKeys: [] })
  const anyChunk = fc.record(
    { id: json, choices: fc.array(choice), usage: json, error: json },
    { requiredKeys: [] },
  )

  test('no exception escapes, and the answer ends once', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            anyChunk.map(chunk => JSON.stringify(chunk)),
          ),
        ),
        chunks => {
          const events = decodeChunks(chunks)
          const open = new Set<number>()
          for (const event of events) {
            if (event.type.endsWith('-start') && 'block' in event) open.add(event.block)
            if (event.type.endsWith('-end') && 'block' in event) expect(open.delete(event.block)).toBe(true)
            if (event.type.endsWith('-delta') && 'block' in event) expect(open.has(event.block)).toBe(true)
          }
          const last = events.at(-1)?.type
          expect(last === 'error' || (last === 'finish' && open.size === 0)).toBe(true)
        },
      ),
    )
  }, 60_000)
})

describe('what other vendors add', () => {
  test("a call of Z.ai's own asks for nothing to be run, also where a later delta of it has no type", () => {
    const mcp = (entry: JsonObject) => chunk({ tool_calls: [{ index: 0, ...entry }] })
    const begun = mcp({ id: 'c', type: 'mcp', mcp: { name: 'find', arguments: '{}' } })
    const { parts, finish: end } = candidateOf([begun, mcp({ mcp: { output: 'found' } }), finish('stop')])
    expect(parts.map(part => part.type)).toEqual(['opaque', 'opaque'])
    expect(end?.reason).toBe('end')
  })

  test("a thought signature on a call is its vendor's", () => {
    const extra_content = { google: { thought_signature: 'sig' } }
    const entry = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content }
    expect(candidateOf([call(entry), finish('stop')]).parts[0]).toMatchObject({
      signature: { format: 'openai-chat-completions', vendor: 'upstream.example', value: 'sig' },
    })
  })

  test("a thought signature on a text is its vendor's", () => {
    const extra_content = { google: { thought_signature: 'sig' } }
    const chunks = [text('a'), chunk({ content: '', extra_content }), finish('stop')]
    expect(candidateOf(chunks).parts).toMatchObject([
      {
        text: 'a',
        signature: { format: 'openai-chat-completions', vendor: 'upstream.example', value: 'sig' },
      },
    ])
  })

  test("LiteLLM's thinking_blocks are thoughts with their signatures", () => {
    const block = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const chunks = [chunk({ thinking_blocks: [block] }), text('a'), finish('stop')]
    expect(candidateOf(chunks).parts[0]).toMatchObject({
      texts: ['hm'],
      signature: { value: JSON.stringify([block]) },
    })
  })

  test('a refusal among the parts of a content is told as one', () => {
    expect(said([chunk({ content: [{ type: 'refusal', refusal: 'No.' }] }), finish('stop')])).toEqual([
      'refusal: No.',
    ])
  })

  test("Perplexity's sources are citations of the text", () => {
    const end = { ...finish('stop'), search_results: [{ title: 'T', url: 'https://example.com' }] }
    expect(candidateOf([text('a'), end]).parts[0]).toMatchObject({
      citations: [{ url: 'https://example.com', title: 'T' }],
    })
  })

  test('sources of which only the address is said are citations of the text', () => {
    const urls = ['https://a.example', 'https://b.example']
    const answer = candidateOf([text('x'), { ...finish('stop'), citations: urls }])
    expect(answer.parts).toMatchObject([
      { text: 'x', citations: urls.map(url => ({ url, title: undefined })) },
    ])
  })

  test('a whole message in the place of a delta', () => {
    const whole = {
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }],
    }
    expect(said([whole, DONE])).toEqual(['text: a'])
  })

  test('a spoken answer in pieces', () => {
    const part = candidateOf([
      chunk({ audio: { id: 'x', transcript: 'Hi' } }),
      chunk({ audio: { data: 'AQ==' } }),
      chunk({ audio: { data: 'Ag==', transcript: '!' } }),
      finish('stop'),
    ]).parts[0]
    expect(part).toMatchObject({ kind: 'audio', context: 'Hi!', source: { type: 'base64', data: 'AQI=' } })
  })
})

describe('sources', () => {
  const annotation = (url: string) => ({
    type: 'url_citation',
    url_citation: { url, title: 'A', start_index: 0, end_index: 3 },
  })

  test("that come before the text are the text's", () => {
    const chunks = [chunk({ annotations: [annotation('https://a.example')] }), text('abc'), finish('stop')]
    expect(candidateOf(chunks).parts).toMatchObject([
      { text: 'abc', citations: [{ url: 'https://a.example', start: 0, end: 3 }] },
    ])
  })

  const cited = { annotations: [annotation('https://a.example')] }
  const beside = { search_results: [{ title: 'A', url: 'https://a.example' }] }
  const usage = { id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }

  test.each<[string, JsonObject[]]>([
    ['in the finish chunk', [text('abc'), chunk(cited, { finish_reason: 'stop' })]],
    ['after the finish chunk', [text('abc'), finish('stop'), chunk(cited), usage]],
    [
      'beside the choices of a chunk in the middle',
      [{ ...text('ab'), ...beside }, text('c'), finish('stop')],
    ],
    [
      'beside the choices of every chunk',
      [
        { ...text('abc'), ...beside },
        { ...finish('stop'), ...beside },
      ],
    ],
    ['in the usage chunk', [text('abc'), finish('stop'), { ...usage, ...beside }]],
  ])("that come %s are the text's, once", (_, chunks) => {
    expect(candidateOf([...chunks, DONE]).parts).toMatchObject([
      { text: 'abc', citations: [{ url: 'https://a.example', title: 'A' }] },
    ])
  })

  const called = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } })

  test('that come behind a tool call are those of the text before it', () => {
    const parts = candidateOf([text('abc'), called, finish('tool_calls'), chunk(cited), DONE]).parts
    expect(parts).toMatchObject([
      { text: 'abc', citations: [{ url: 'https://a.example' }] },
      { type: 'tool-call' },
    ])
  })

  test('that come without a text are kept, in one of their own', () => {
    const parts = candidateOf([called, finish('tool_calls'), chunk(cited), DONE]).parts
    expect(parts).toMatchObject([
      { type: 'tool-call' },
      { text: '', citations: [{ url: 'https://a.example' }] },
    ])
  })
})

test('a tier that only the last chunk tells is the tier of the answer', () => {
  const chunks = [text('a'), { ...finish('stop'), service_tier: 'flex' }, DONE]
  expect(collect(decodeChunks(chunks)).serviceTier).toBe('flex')
})

test.each(['message', 'msg', 'detail'])(
  'a chunk that says something under %j beside its choices is no error',
  name => {
    const chunks = [{ ...chunk({ content: 'hi' }), [name]: 'all is well' }, finish('stop')]
    expect(said(chunks)).toEqual(['text: hi'])
  },
)
