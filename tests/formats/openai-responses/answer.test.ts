import { describe, expect, test } from 'bun:test'
import { call } from '#tests/formats/parts.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { encodeUsage } from '@/formats/openai-responses/answer/usage.ts'
import { encodeCall } from '@/formats/openai-responses/calls.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import type { ToolCallKind } from '@/generation/part.ts'
import { inputTokens, NO_USAGE, outputTokens } from '@/generation/usage.ts'
import { asObject, type JsonObject } from '@/json/json.ts'
import { dataOf, decodeContext, sdkFinal } from './fixtures.ts'

const usageOf = (usage: JsonObject, rest: JsonObject = {}) =>
  openaiResponses.decodeResponse({ status: 'completed', output: [], usage, ...rest }, decodeContext()).usage

describe('edge 81: usage', () => {
  test('more cached than prompted is clamped', () => {
    expect(
      usageOf({ input_tokens: 10, input_tokens_details: { cached_tokens: 15 }, output_tokens: 1 }),
    ).toMatchObject({
      inputUncached: 0,
      cacheRead: 10,
      outputText: 1,
    })
  })

  test('reasoning outside of output_tokens is told by the total', () => {
    const usage = { input_tokens: 10, output_tokens: 5, output_tokens_details: { reasoning_tokens: 20 } }
    expect(usageOf({ ...usage, total_tokens: 35 })).toMatchObject({ outputText: 5, reasoning: 20 })
    expect(usageOf({ ...usage, output_tokens: 25, total_tokens: 35 })).toMatchObject({
      outputText: 5,
      reasoning: 20,
    })
  })

  test('what only the total tells of is thoughts, or the cache that it comes to', () => {
    const usage = { input_tokens: 10, output_tokens: 5 }
    expect(usageOf({ ...usage, total_tokens: 35 })).toMatchObject({ outputText: 5, reasoning: 20 })
    const input_tokens_details = { cached_tokens: 20 }
    expect(usageOf({ ...usage, input_tokens_details, total_tokens: 35 })).toMatchObject({
      ...{ inputUncached: 10, cacheRead: 20 },
      ...{ outputText: 5, reasoning: 0 },
    })
    const output_tokens_details = { reasoning_tokens: 3 }
    expect(usageOf({ ...usage, output_tokens_details, total_tokens: 35 })).toMatchObject({
      ...{ inputUncached: 10 },
      ...{ outputText: 2, reasoning: 3 },
    })
  })

  test('what was written to a cache, in the words of gateways', () => {
    const tokens = { input_tokens: 10, output_tokens: 1 }
    const written = { inputUncached: 3, cacheRead: 2, cacheWrite5m: 1, cacheWrite1h: 4 }
    const cache_creation_token_details = { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 4 }
    for (const usage of [
      { input_tokens_details: { cached_tokens: 2, cache_creation_tokens: 5, cache_creation_token_details } },
      {
        input_tokens_details: { cached_tokens: 2, cached_creation_tokens: 5 },
        claude_cache_creation_1_h_tokens: 4,
      },
    ])
      expect(usageOf({ ...tokens, ...usage })).toMatchObject(written)
  })

  test('zeros, absence and nonsense', () => {
    expect(usageOf({ input_tokens: 0, output_tokens: 0 })).toEqual(NO_USAGE)
    expect(usageOf({ input_tokens: 0, output_tokens: 0.5 })).toEqual(NO_USAGE)
    expect(usageOf({ input_tokens: 'x', output_tokens: 0.5 })).toBeUndefined()
    expect(usageOf({ input_tokens: 'x', output_tokens: -3 })).toBeUndefined()
    expect(usageOf({ input_tokens: null, output_tokens: null })).toBeUndefined()
    expect(usageOf({})).toBeUndefined()
    expect(openaiResponses.decodeResponse({ output: [], usage: null }, decodeContext()).usage).toBeUndefined()
  })

  test('counts calls that the vendor ran, searches by what it bills', () => {
    const output = [
      { type: 'web_search_call' },
      { type: 'web_search_call' },
      { type: 'code_interpreter_call' },
    ]
    expect(usageOf({ input_tokens: 1, output_tokens: 1 }, { output })?.serverTools).toEqual({
      web_search: 2,
      code_interpreter: 1,
    })
    expect(
      usageOf(
        { input_tokens: 1, output_tokens: 1 },
        { output, tool_usage: { web_search: { num_requests: 1 } } },
      )?.serverTools,
    ).toEqual({
      web_search: 1,
      code_interpreter: 1,
    })
    expect(
      usageOf(
        { input_tokens: 1, output_tokens: 1 },
        { output, tool_usage: { web_search: { num_requests: 0 } } },
      )?.serverTools,
    ).toEqual({ code_interpreter: 1 })
  })

  test("counts what xAI bills in place of its items, which are other tools' or none where they failed", () => {
    const output = [{ type: 'custom_tool_call', name: 'x_keyword_search' }, { type: 'web_search_call' }]
    const server_side_tool_usage_details = { web_search_calls: 0, x_search_calls: 2, x_posts_fetched: 7 }
    const usage = { input_tokens: 1, output_tokens: 1, server_side_tool_usage_details }
    expect(usageOf(usage, { output })?.serverTools).toEqual({ x_search: 2 })
  })
})

test.each<[ToolCallKind, string, JsonObject]>([
  [
    'local_shell',
    '{"command":["ls"],"workdir":"/"}',
    { action: { type: 'exec', command: ['ls'], working_directory: '/' } },
  ],
  ['local_shell', 'ls -l', { action: { type: 'exec', command: ['bash', '-lc', 'ls -l'], env: {} } }],
  ['shell', '{"commands":["ls"],"timeout_ms":9}', { action: { commands: ['ls'], timeout_ms: 9 } }],
  ['shell', 'ls -l', { action: { commands: ['ls -l'] } }],
  [
    'apply_patch',
    '{"operation":{"type":"delete_file","path":"a"}}',
    { operation: { type: 'delete_file', path: 'a' } },
  ],
  [
    'apply_patch',
    '{"type":"create_file","path":"a"}',
    { operation: { type: 'create_file', path: 'a', diff: '' } },
  ],
  ['apply_patch', '@@', { operation: { type: 'update_file', diff: '@@' } }],
  ['computer', '{"type":"screenshot"}', { action: { type: 'screenshot' }, pending_safety_checks: [] }],
  ['computer', '{"actions":[{"type":"wait"}]}', { actions: [{ type: 'wait' }] }],
  ['tool_search', '{"query":"mail"}', { execution: 'client', arguments: { query: 'mail' } }],
])('a call of %s with the input %j is an item that its client can run', (kind, input, says) => {
  const item = encodeCall(call('c', { kind, input, name: kind }), 'id', 'completed')
  expect(item).toMatchObject({ type: `${kind}_call`, id: 'id', call_id: 'c', status: 'completed', ...says })
})

test('edge 82: cache counts of Anthropic come through and back unchanged', () => {
  const usage = {
    ...NO_USAGE,
    inputUncached: 3,
    cacheRead: 50,
    cacheWrite5m: 7,
    cacheWrite1h: 11,
    outputText: 4,
    reasoning: 9,
  }
  const wire = encodeUsage(usage) ?? {}
  expect(wire).toMatchObject({
    input_tokens: 71,
    input_tokens_details: { cached_tokens: 50, cache_write_tokens: 18 },
    output_tokens: 13,
    total_tokens: 84,
  })
  expect(usageOf(wire)).toEqual(usage)
  expect(inputTokens(usage) + outputTokens(usage)).toBe(84)
  const both = { cached_tokens: 60, cache_write_tokens: 60 }
  expect(usageOf({ ...wire, input_tokens_details: both })).toMatchObject({
    inputUncached: 0,
    cacheRead: 11,
    cacheWrite5m: 60,
  })
})

describe('errors', () => {
  test('have the shape of the surface', () => {
    const error = new GatewayError('credit_exhausted', 'No credit left')
    expect(openaiResponses.encodeError(error, 'r1')).toEqual({
      error: {
        message: 'No credit left (request id: r1)',
        type: 'insufficient_quota',
        param: null,
        code: 'credit_exhausted',
      },
    })
  })

  test.each([
    [{ sequence_number: 41, type: 'response.output_text.delta' }, 42],
    // Of an upstream that does not number its events.
    [{ response: { id: 'resp_1' } }, 0],
  ])('continue a passthrough stream after %j', (last, number) => {
    const error = new GatewayError('upstream_timeout', 'Too slow')
    const text = openaiResponses.encodeErrorEvent(error, 'r1', last)
    expect(text).toStartWith('event: error\ndata: ')
    const [told, event] = dataOf(text)
    const said = { code: 'server_error', message: 'Too slow (request id: r1)' }
    expect(told).toMatchObject({ type: 'error', sequence_number: number, ...said, error: said })
    expect(event).toMatchObject({ type: 'response.failed', sequence_number: number + 1 })
    expect(asObject(event?.['response'])).toMatchObject({ status: 'failed', error: said })
  })

  test('that are all there is are announced first, so that the SDK tells them', async () => {
    const error = new GatewayError('upstream_timeout', 'Too slow')
    const response = { model: 'm', created_at: 7 }
    const text = openaiResponses.encodeErrorEvent(error, 'r1', { response })
    expect(dataOf(text).map(event => [event['type'], event['sequence_number']])).toEqual([
      ['response.created', 0],
      ['response.in_progress', 1],
      ['error', 2],
      ['response.failed', 3],
    ])
    const said = { code: 'server_error', message: 'Too slow (request id: r1)' }
    expect(dataOf(text).at(-1)?.['response']).toMatchObject({
      id: 'resp_r1',
      model: 'm',
      created_at: 7,
      status: 'failed',
      error: said,
    })
    await expect(sdkFinal(text)).rejects.toMatchObject(said)
  })

  test('edge 86: a context that is too long is told so that Codex compacts', () => {
    const machine = openaiResponses.createStreamDecoder(decodeContext())
    let code: unknown
    machine.push(
      { event: 'error', data: '{"type":"error","code":"context_length_exceeded","message":"too long"}' },
      event => {
        if (event.type !== 'error') return
        const failed = dataOf(openaiResponses.encodeErrorEvent(event.error, 'r', undefined)).at(-1)
        code = asObject(asObject(failed?.['response'])?.['error'])?.['code']
      },
    )
    expect(code).toBe('context_length_exceeded')
  })
})

describe('telling events', () => {
  const event = (data: string) => Buffer.from(`event: x\ndata: ${data}\n\n`)
  test.each([
    ['{"type":"response.completed","response":{"id":"r"}}', true],
    ['{ "type" : "response.completed", "response" : { } }', true],
    ['{"type":"error","message":"m"}', true],
    ['{"error":{"message":"m"}}', true],
    ['{"type":"response.output_text.delta","delta":"hello"}', false],
    [JSON.stringify({ type: 'response.output_text.delta', delta: '{"response":{"error":"x"}}' }), false],
  ])('%s', (data, telling) => {
    expect(openaiResponses.isTelling(event(data))).toBe(telling)
  })
})

test('an answer that is not complete yet, or of tomorrow, is carried past', () => {
  const answer = openaiResponses.decodeResponse(
    {
      id: 'r',
      status: 'completed',
      output: [
        { type: 'new_thing', x: 1 },
        { type: 'message', content: [{ type: 'new' }] },
      ],
    },
    decodeContext(),
  )
  expect(answer.candidates[0]).toMatchObject({
    parts: [
      { type: 'opaque', name: 'new_thing' },
      { type: 'opaque', name: 'new' },
    ],
    finish: { reason: 'end' },
  })
})
