import { describe, expect, test } from 'bun:test'
import { dataOf, replyContext, written } from '#tests/formats/anthropic-messages/fixtures.ts'
import { accumulate } from '#tests/formats/anthropic-messages/sdk.ts'
import {
  callEnd,
  callStart,
  finish,
  input,
  reasoningEvents,
  START,
  textEvents,
} from '#tests/formats/events.ts'
import { REQUEST_ID } from '#tests/transcripts/conversion.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { signatureFor, unwrapSignature } from '@/formats/signatures/signature.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { mediaPart, type Signature } from '@/generation/part.ts'
import { STOP_REASONS } from '@/generation/response.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

function kinds(stream: string): string[] {
  return dataOf(stream).map(data => {
    const inner = (data['content_block'] ?? data['delta']) as JsonObject | undefined
    const index = data['index'] === undefined ? '' : ` ${data['index']}`
    return `${data['type']}${index}${inner?.['type'] === undefined ? '' : ` ${inner['type']}`}`
  })
}

describe('grammar', () => {
  test('text: every event has its event line, its type and its index', () => {
    expect(written([START, ...textEvents(0, 'Hi', ' "there"\n'), finish()])).toBe(
      [
        `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_${REQUEST_ID.replaceAll('-', '')}","type":"message","role":"assistant","model":"the-model","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null,"usage":{"input_tokens":17,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":0,"output_tokens_details":null,"server_tool_use":null,"inference_geo":null,"speed":null,"service_tier":null}}}`,
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \\"there\\"\\n"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null},"usage":{"input_tokens":null,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"output_tokens":0,"output_tokens_details":null,"server_tool_use":null}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
        '',
      ].join('\n\n'),
    )
  })

  test('interleaved calls come one after the other, the first one at once', () => {
    const stream = written([
      START,
      callStart(0),
      callStart(1),
      input(0, '{"a"'),
      input(1, '{"b"'),
      input(0, ':1}'),
      input(1, ':2}'),
      callEnd(0),
      callEnd(1),
      finish('tool-calls'),
    ])
    expect(kinds(stream)).toEqual([
      'message_start',
      'content_block_start 0 tool_use',
      'content_block_delta 0 input_json_delta',
      'content_block_delta 0 input_json_delta',
      'content_block_stop 0',
      'content_block_start 1 tool_use',
      'content_block_delta 1 input_json_delta',
      'content_block_delta 1 input_json_delta',
      'content_block_stop 1',
      'message_delta',
      'message_stop',
    ])
  })

  test('the official SDK reads interleaved calls, thoughts and text', async () => {
    const stream = written([
      START,
      ...reasoningEvents(0, ['first', 'second']),
      { type: 'text-start', block: 1, candidate: 0 },
      callStart(2),
      { type: 'text-delta', block: 1, text: 'a' },
      callStart(3),
      input(3, '{"b":2}'),
      input(2, '{"a":1}'),
      callEnd(3),
      { type: 'text-delta', block: 1, text: 'b' },
      { type: 'text-end', block: 1, signature: undefined },
      callEnd(2),
      finish('end'),
      { type: 'usage', usage: { ...NO_USAGE, inputUncached: 5, cacheRead: 6, outputText: 7, reasoning: 8 } },
    ])
    const message = await accumulate(stream)
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'first\n\nsecond' },
      { type: 'text', text: 'ab' },
      { type: 'tool_use', id: 'call_2', input: { a: 1 } },
      { type: 'tool_use', id: 'call_3', input: { b: 2 } },
    ])
    expect(message.stop_reason).toBe('tool_use')
    expect(message.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 6, output_tokens: 15 })
  })

  test('a call without input says {}', async () => {
    const message = await accumulate(written([START, callStart(0), callEnd(0), finish('tool-calls')]))
    expect(message.content).toMatchObject([{ type: 'tool_use', input: {} }])
    expect(written([START, callStart(0), callEnd(0), finish()])).toContain('"partial_json":"{}"')
  })

  test('free text of a custom call becomes an object', async () => {
    const message = await accumulate(
      written([START, callStart(0, 'f', 'custom'), input(0, 'a "b"'), input(0, '\n'), callEnd(0), finish()]),
    )
    expect(message.content).toMatchObject([{ type: 'tool_use', input: { input: 'a "b"\n' } }])
  })

  test.each([
    [['get ', 'it'], { _raw: 'get it' }],
    [[' ', '[1', ']'], { _raw: ' [1]' }],
    [['"x"'], { _raw: '"x"' }],
    [['{"x'], { _raw: '{"x' }],
    [['{"x"', ':1}'], { x: 1 }],
  ])('input of %j, streamed, is the object that it is in a whole answer: %j', async (pieces, expected) => {
    const events = [
      START,
      callStart(0),
      ...pieces.map(piece => input(0, piece)),
      callEnd(0),
      finish('tool-calls'),
    ]
    expect((await accumulate(written(events))).content).toMatchObject([{ type: 'tool_use', input: expected }])
    const whole = anthropicMessages.encodeResponse(collect(events), replyContext({}))
    expect(whole['content']).toMatchObject([{ input: expected }])
  })

  test('blocks that are still open when the answer ends are closed', async () => {
    const message = await accumulate(
      written([
        START,
        { type: 'text-start', block: 0, candidate: 0 },
        { type: 'text-delta', block: 0, text: 'a' },
        callStart(1),
        input(1, '{"a":1}'),
        finish('length'),
      ]),
    )
    expect(message.content).toMatchObject([{ text: 'a' }, { input: { a: 1 } }])
    expect(message.stop_reason).toBe('max_tokens')
  })

  test('empty text writes no block, other candidates write nothing', () => {
    const other: GenerationEvent[] = [
      { type: 'text-start', block: 1, candidate: 1 },
      { type: 'text-delta', block: 1, text: 'other' },
      { type: 'text-end', block: 1, signature: undefined },
    ]
    expect(kinds(written([START, ...textEvents(0), ...other, finish()]))).toEqual([
      'message_start',
      'message_delta',
      'message_stop',
    ])
  })

  test('citations follow their text', async () => {
    const citation = {
      url: 'https://example.org',
      title: undefined,
      citedText: 'c',
      start: undefined,
      end: undefined,
      wire: undefined,
    }
    const message = await accumulate(
      written([
        START,
        { type: 'text-start', block: 0, candidate: 0 },
        { type: 'text-delta', block: 0, text: 'a' },
        { type: 'text-citation', block: 0, citation },
        { type: 'text-end', block: 0, signature: undefined },
        finish(),
      ]),
    )
    expect(message.content).toMatchObject([
      {
        text: 'a',
        citations: [{ type: 'web_search_result_location', url: 'https://example.org', cited_text: 'c' }],
      },
    ])
  })

  test('a generated image is markdown, another vendor`s own block is left out', async () => {
    const message = await accumulate(
      written([
        START,
        {
          type: 'media',
          block: 0,
          candidate: 0,
          media: mediaPart({
            kind: 'image',
            mediaType: 'image/png',
            source: { type: 'base64', data: 'AAAA' },
          }),
        },
        {
          type: 'opaque',
          block: 1,
          candidate: 0,
          part: { type: 'opaque', format: 'openai-responses', name: 'mcp_call', value: {} },
        },
        finish(),
      ]),
    )
    expect(message.content).toMatchObject([{ type: 'text', text: '![image](data:image/png;base64,AAAA)' }])
  })

  test('a refusal in words is text and a refusal', async () => {
    const message = await accumulate(
      written([
        START,
        { type: 'refusal-start', block: 0, candidate: 0 },
        { type: 'refusal-delta', block: 0, text: 'No.' },
        { type: 'refusal-end', block: 0 },
        finish(),
      ]),
    )
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'No.' }], stop_reason: 'refusal' })
  })

  test('edge 66: an id with other characters is mapped, the same each time', () => {
    const [first, second] = [
      written([START, { ...callStart(0), callId: 'call:1' }, callEnd(0), finish()]),
      written([START, { ...callStart(0), callId: 'call:1' }, callEnd(0), finish()]),
    ]
    expect(first).toBe(second)
    expect(first).toMatch(/"id":"call_[0-9a-f]{24}"/)
  })
})

describe('thoughts', () => {
  const foreign: Signature = { format: 'openai-responses', vendor: 'openai', value: 'enc' }

  function blocks(events: GenerationEvent[], context = replyContext()) {
    return dataOf(written([START, ...events, ...textEvents(9, 'x'), finish()], context))
      .filter(
        data =>
          data['type'] === 'content_block_start' || (data['delta'] as JsonObject | undefined)?.['signature'],
      )
      .map(data => (data['content_block'] ?? data['delta']) as JsonObject)
  }

  test('the signature is tagged and can be unwrapped again', () => {
    const [, delta] = blocks(reasoningEvents(0, ['hm'], foreign))
    expect(unwrapSignature(String(delta?.['signature']), 'anthropic-messages')).toEqual(foreign)
  })

  test('a thought without a signature gets one that is nobody`s', () => {
    const [, delta] = blocks(reasoningEvents(0, ['hm']))
    const signature = String(delta?.['signature'])
    expect(signature).not.toBe('')
    expect(
      signatureFor(unwrapSignature(signature, 'anthropic-messages'), 'anthropic-messages', 'anthropic'),
    ).toBeUndefined()
  })

  test('a redacted thought is whole in its start', () => {
    const [block] = blocks(reasoningEvents(0, [], foreign, true))
    expect(block?.['type']).toBe('redacted_thinking')
    expect(unwrapSignature(String(block?.['data']), 'anthropic-messages')).toEqual(foreign)
  })

  test('thinking disabled: no thought is shown', () => {
    const context = replyContext({
      reasoning: { effort: 'none', budgetTokens: undefined, summary: undefined },
    })
    expect(blocks(reasoningEvents(0, ['hm'], foreign), context)).toEqual([
      { type: 'text', text: '', citations: [] },
    ])
  })

  test('display omitted: an empty thought with its signature', () => {
    const context = replyContext({ reasoning: { effort: undefined, budgetTokens: -1, summary: 'none' } })
    const stream = written(
      [START, ...reasoningEvents(0, ['secret'], foreign), ...textEvents(9, 'x'), finish()],
      context,
    )
    expect(stream).not.toContain('secret')
    expect(kinds(stream).slice(1, 4)).toEqual([
      'content_block_start 0 thinking',
      'content_block_delta 0 signature_delta',
      'content_block_stop 0',
    ])
  })

  const gemini: Signature = { format: 'gemini-generate-content', vendor: 'google', value: 'c2ln' }

  test('the signature of a whole call stands in an empty thought before it', () => {
    const found = blocks([callStart(0), input(0, '{}'), callEnd(0, gemini)])
    expect(found.map(block => block['type'])).toEqual(['thinking', 'signature_delta', 'tool_use', 'text'])
    expect(unwrapSignature(String(found[1]?.['signature']), 'anthropic-messages')).toEqual(gemini)
  })

  /** Koog, Genkit and the AI SDK 4 fail on a thought that has a signature and no text, or follows another one. */
  test.each<[string, GenerationEvent[], string[]]>([
    ['is that of the thought before it', reasoningEvents(0, ['hm']), ['hm']],
    ['stands alone behind a thought that has its own', reasoningEvents(0, ['hm'], foreign), ['hm', '']],
    ['stands alone behind a text', [...reasoningEvents(0, ['hm']), ...textEvents(1, 'Hi')], ['hm', 'Hi', '']],
  ])('the signature of a call %s, whole and streamed', async (_name, before, said) => {
    const events = [START, ...before, callStart(2), input(2, '{}'), callEnd(2, gemini), finish('tool-calls')]
    const content = asArray(anthropicMessages.encodeResponse(collect(events), replyContext())['content'])
    expect((await accumulate(written(events))).content).toMatchObject(content)
    const blocks = content.map(block => asObject(block) ?? {})
    expect(blocks.slice(0, -1).map(block => block['thinking'] ?? block['text'])).toEqual(said)
    expect(unwrapSignature(String(blocks.at(-2)?.['signature']), 'anthropic-messages')).toEqual(gemini)
  })
})

describe('the end', () => {
  test.each(STOP_REASONS.map(reason => [reason]))(
    'edge 62: %s is a reason that the SDK knows',
    async reason => {
      const message = await accumulate(written([START, ...textEvents(0, 'a'), finish(reason)]))
      expect([
        'end_turn',
        'max_tokens',
        'stop_sequence',
        'tool_use',
        'pause_turn',
        'refusal',
        'model_context_window_exceeded',
      ]).toContain(String(message.stop_reason))
    },
  )

  test('edge 62: a stop sequence is named, an unknown one is a natural end', () => {
    expect(
      written([START, ...textEvents(0, 'a'), finish('stop-sequence', { stopSequence: 'END' })]),
    ).toContain('"stop_reason":"stop_sequence","stop_sequence":"END"')
    expect(written([START, ...textEvents(0, 'a'), finish('stop-sequence')])).toContain(
      '"stop_reason":"end_turn","stop_sequence":null',
    )
  })

  test('tool_use follows the content, whatever the source called its end', () => {
    expect(written([START, callStart(0), callEnd(0), finish('end')])).toContain('"stop_reason":"tool_use"')
    expect(written([START, ...textEvents(0, 'a'), finish('tool-calls')])).toContain(
      '"stop_reason":"end_turn"',
    )
    expect(written([START, callStart(0), callEnd(0), finish('length')])).toContain(
      '"stop_reason":"max_tokens"',
    )
  })

  test('an error is an event, and nothing follows', () => {
    const error = new GatewayError('upstream_error', 'It broke')
    const stream = written([
      START,
      ...textEvents(0, 'a'),
      { type: 'error', error },
      ...textEvents(1, 'b'),
      finish(),
    ])
    const events = dataOf(stream)
    expect(stream).toContain('event: error\n')
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'api_error' },
      request_id: REQUEST_ID,
    })
    expect(events.some(event => event['type'] === 'message_stop')).toBe(false)
  })

  test('an answer that never finished is no success', () => {
    expect(dataOf(written([START, ...textEvents(0, 'a')])).at(-1)?.['type']).toBe('error')
    expect(dataOf(written([])).at(-1)?.['type']).toBe('error')
  })

  test('the SDK throws on the error event', async () => {
    const error = new GatewayError('upstream_timeout', 'Too slow')
    expect(accumulate(written([START, ...textEvents(0, 'a'), { type: 'error', error }]))).rejects.toThrow(
      'Too slow',
    )
  })
})

test.each([
  ['default', 'standard'],
  ['priority', 'priority'],
  ['flex', undefined],
])('a service tier %s stands in message_start as %s, as it does in the whole answer', (serviceTier, told) => {
  const start = dataOf(written([{ type: 'start', id: undefined, model: undefined, serviceTier }]))[0]
  expect(start).toMatchObject({ message: { usage: { input_tokens: 17 } } })
  expect(JSON.stringify(start).includes(`"service_tier":"${told}"`)).toBe(told !== undefined)
})

test('white space alone is no text, and none is lost before words: streamed as well as whole', async () => {
  const events = [
    START,
    ...textEvents(0, '\n', '\n'),
    callStart(1),
    input(1, '{}'),
    callEnd(1),
    ...textEvents(2, ' \n', 'word', ' '),
    finish(),
  ]
  const content = [
    { type: 'tool_use', id: 'call_1', name: 'f', input: {}, caller: { type: 'direct' } },
    { type: 'text', text: ' \nword ', citations: [] },
  ]
  expect((await accumulate(written(events))).content).toMatchObject(content)
  expect(anthropicMessages.encodeResponse(collect(events), replyContext())['content']).toEqual(content)
})

test('white space between two texts, as among those that rest on sources, stands before the second: streamed as well as whole', async () => {
  const events: GenerationEvent[] = [
    START,
    ...textEvents(0, 'one.'),
    ...textEvents(1, ' '),
    ...textEvents(2, 'two.'),
    ...textEvents(3, '\n'),
    { type: 'refusal-start', block: 4, candidate: 0 },
    { type: 'refusal-delta', block: 4, text: 'no.' },
    { type: 'refusal-end', block: 4 },
    ...textEvents(5, ' '),
    finish(),
  ]
  const content = [
    { type: 'text', text: 'one.', citations: [] },
    { type: 'text', text: ' two.', citations: [] },
    { type: 'text', text: '\nno.' },
  ]
  expect((await accumulate(written(events))).content).toMatchObject(content)
  expect(anthropicMessages.encodeResponse(collect(events), replyContext())['content']).toMatchObject(content)
})
