import { describe, expect, test } from 'bun:test'
import { call } from '#tests/formats/parts.ts'
import { decodeContext, REQUEST_ID } from '#tests/transcripts/conversion.ts'
import { type ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import { decodeFinish } from '@/formats/anthropic-messages/answer/finish.ts'
import { decodeUsage, encodeUsage } from '@/formats/anthropic-messages/answer/usage.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { textPart } from '@/generation/part.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import { asArray, asNumber, type JsonObject } from '@/json/json.ts'
import { dataOf, EMPTY_REQUEST, replyContext, target, thrown } from './fixtures.ts'

describe('usage', () => {
  test.each([
    [{ input_tokens: 5, output_tokens: 7 }],
    [{ input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 11, cache_creation_input_tokens: 13 }],
    [
      {
        input_tokens: 5,
        cache_creation_input_tokens: 13,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 10 },
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 4 },
      },
    ],
    [
      {
        input_tokens: 5,
        output_tokens: 7,
        server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
      },
    ],
    [{ input_tokens: 0, output_tokens: 0 }],
    [{ input_tokens: 900_000_000_000, output_tokens: 1 }],
  ])('edge 82: %j comes back as it went', wire => {
    const usage = decodeUsage(wire)
    expect(encodeUsage(usage)).toMatchObject(wire)
    expect(decodeUsage(encodeUsage(usage))).toEqual(usage)
    expect(outputTokens(usage)).toBe(wire.output_tokens)
    expect(inputTokens(usage)).toBe(
      ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
        .map(name => asNumber(new Map<string, unknown>(Object.entries(wire)).get(name)) ?? 0)
        .reduce((sum, count) => sum + count),
    )
  })

  test('a count of server tools has all that the SDK types as always there', () => {
    const { server_tool_use } = encodeUsage(
      decodeUsage({ server_tool_use: { image_generation_requests: 1 } }),
    )
    expect(server_tool_use).toEqual({
      web_search_requests: 0,
      web_fetch_requests: 0,
      image_generation_requests: 1,
    })
  })

  test('edge 65: writes are split by lifetime, and without a split all are short', () => {
    expect(
      decodeUsage({ cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 4 } }),
    ).toMatchObject({ cacheWrite5m: 5, cacheWrite1h: 4 })
    expect(decodeUsage({ cache_creation_input_tokens: 9 })).toMatchObject({
      cacheWrite5m: 9,
      cacheWrite1h: 0,
    })
    expect(
      decodeUsage({ cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 4 } }),
    ).toMatchObject({ cacheWrite5m: 2, cacheWrite1h: 4 })
  })

  test('edge 81: null, negative and impossible counts', () => {
    const usage = decodeUsage({
      input_tokens: null,
      output_tokens: 3,
      cache_read_input_tokens: -4,
      output_tokens_details: { thinking_tokens: 9 },
    })
    expect(usage).toMatchObject({ inputUncached: 0, cacheRead: 0, outputText: 0, reasoning: 3 })
  })
})

describe('errors', () => {
  test.each([
    ['invalid_request', undefined, 'invalid_request_error'],
    ['model_not_found', undefined, 'invalid_request_error'],
    ['invalid_api_key', undefined, 'authentication_error'],
    ['credit_exhausted', undefined, 'billing_error'],
    ['account_suspended', undefined, 'permission_error'],
    ['not_found', undefined, 'not_found_error'],
    ['body_too_large', undefined, 'request_too_large'],
    ['unsupported_encoding', undefined, 'invalid_request_error'],
    ['rate_limited', undefined, 'rate_limit_error'],
    ['upstream_error', undefined, 'api_error'],
    ['upstream_timeout', undefined, 'timeout_error'],
    ['no_channel', undefined, 'overloaded_error'],
    ['internal_error', undefined, 'api_error'],
    ['upstream_rejected', 529, 'overloaded_error'],
    ['upstream_rejected', 422, 'invalid_request_error'],
  ] as const)('edge 55: %s with status %s is %s', (kind: ErrorKind, status, type) => {
    expect(anthropicMessages.encodeError(new GatewayError(kind, 'Words', { status }), REQUEST_ID)).toEqual({
      type: 'error',
      error: { type, message: `Words (request id: ${REQUEST_ID})`, code: kind },
      request_id: REQUEST_ID,
    })
  })

  test('details are shown', () => {
    const error = new GatewayError('invalid_request', 'No', {
      details: { error_code: 'thread_unsupported_request' },
    })
    expect(anthropicMessages.encodeError(error, REQUEST_ID)['error']).toMatchObject({
      details: { error_code: 'thread_unsupported_request' },
    })
  })

  test('an error after output is one event', () => {
    const event = anthropicMessages.encodeErrorEvent(
      new GatewayError('upstream_error', 'It broke'),
      REQUEST_ID,
      undefined,
    )
    expect(event.startsWith('event: error\ndata: {')).toBe(true)
    expect(event.endsWith('\n\n')).toBe(true)
    expect(dataOf(event)).toMatchObject([{ type: 'error', error: { type: 'api_error' } }])
  })

  test('an error body with status 200 is no answer', () => {
    const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    expect(
      thrown(() => anthropicMessages.decodeResponse(body, decodeContext('anthropic-messages'))),
    ).toMatchObject({
      kind: 'upstream_error',
    })
  })

  test('a fault is read', () => {
    const body =
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1 > 0"}}'
    expect(anthropicMessages.decodeFault(400, body)).toMatchObject({
      status: 400,
      contextLength: true,
      code: 'invalid_request_error',
    })
  })
})

describe('whole answers', () => {
  function respond(
    candidate: Partial<GenerationResponse['candidates'][number]>,
    fields: Partial<GenerationResponse> = {},
  ) {
    const finish = { reason: 'end', stopSequence: undefined, message: undefined } as const
    const answer = { index: 0, parts: [], finish, logprobs: [], ...candidate }
    const response = {
      id: 'x',
      model: 'y',
      candidates: [answer],
      usage: undefined,
      serviceTier: undefined,
      ...fields,
    }
    return anthropicMessages.encodeResponse(response, replyContext())
  }

  test('edge 63: citations of another vendor become web search results', () => {
    const citation = {
      url: 'https://x.org',
      title: 'T',
      citedText: undefined,
      start: 0,
      end: 1,
      wire: undefined,
    }
    expect(respond({ parts: [{ ...textPart('a'), citations: [citation] }] })['content']).toEqual([
      {
        type: 'text',
        text: 'a',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://x.org',
            title: 'T',
            cited_text: '',
            encrypted_index: expect.any(String),
          },
        ],
      },
    ])
  })

  test('a source without a title has its address for one: the AI SDK up to version 6 refuses null', () => {
    const citation = { citedText: undefined, start: 0, end: 1, wire: undefined, title: undefined }
    const text = { ...textPart('a'), citations: [{ ...citation, url: 'https://x.org' }] }
    const [block] = asArray(respond({ parts: [text] })['content'])
    expect(block).toMatchObject({ citations: [{ url: 'https://x.org', title: 'https://x.org' }] })
  })

  test.each([
    [{ category: 'bio', explanation: 'Not this.' }],
    [{ category: 'cyber', explanation: null }],
    [{ category: null, explanation: 'Not this.' }],
    [{ category: null, explanation: null }],
  ] as const)('why it was refused comes back as it was: %j', ({ category, explanation }) => {
    const stop_details = { type: 'refusal', category, explanation }
    const finish = decodeFinish({ stop_reason: 'refusal', stop_details })
    expect(respond({ parts: [], finish })['stop_details']).toEqual(stop_details)
  })

  test('every key of a message is there', () => {
    expect(respond({ parts: [textPart('a'), textPart('')] }, { serviceTier: 'default' })).toEqual({
      id: `msg_${REQUEST_ID.replaceAll('-', '')}`,
      type: 'message',
      role: 'assistant',
      model: 'the-model',
      content: [{ type: 'text', text: 'a', citations: [] }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: null,
        server_tool_use: null,
        inference_geo: null,
        speed: null,
        service_tier: 'standard',
      },
    })
  })

  test('edge 88: tool input that is no object is wrapped, big numbers keep their digits', () => {
    const content = JSON.stringify(
      respond({
        parts: [call('call.1', { input: 'oops' }), call('call.1', { input: '{"n":9007199254740993}' })],
      })['content'],
    )
    expect(content).toContain('{"_raw":"oops"}')
    expect(content).toContain('{"n":9007199254740993}')
  })

  test('edge 66: ids that the API would refuse are mapped', () => {
    const answer = respond({ parts: [call('functions.f:0', { input: '' })] })
    expect(answer).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', input: {} }] })
    expect(String((answer['content'] as JsonObject[])[0]?.['id'])).toMatch(/^[a-zA-Z0-9_-]+$/)
  })
})

describe('the small things', () => {
  test('a count is asked for without what concerns the answer', () => {
    const request = {
      ...EMPTY_REQUEST,
      temperature: 0.5,
      stop: ['x'],
      stream: true,
      user: 'u',
      turns: [{ role: 'user' as const, parts: [textPart('hi')] }],
    }
    const count = anthropicMessages.tokenCount
    expect(count?.encodeRequest(request, target())).toEqual({
      model: 'claude-sonnet-4-5',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    })
    expect(count?.decodeResponse({ input_tokens: 5 })).toBe(5)
    expect(count?.decodeResponse({})).toBeUndefined()
    expect(count?.encodeResponse(5)).toEqual({ input_tokens: 5 })
  })

  test.each([
    ['{"type":"message_start","message":{}}', true],
    ['{ "type" : "message_delta" }', true],
    ['{"type":"message_stop" }', true],
    ['{"type" :"error", "error":{}}', true],
    ['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"an \\"error\\""}}', false],
    ['{"type":"content_block_stop","index":0}', false],
    ['{"type":"ping"}', false],
  ])('%s is telling: %s', (data, expected) => {
    expect(anthropicMessages.isTelling(Buffer.from(`data: ${data}\n\n`))).toBe(expected)
  })

  test('the keepalive is a ping that the decoder passes by', () => {
    expect(anthropicMessages.keepalive).toBe('event: ping\ndata: {"type":"ping"}\n\n')
  })
})
