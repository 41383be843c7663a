import { describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import {
  callEnd,
  callStart,
  finish,
  input,
  reasoningEvents,
  START,
  textEvents,
} from '#tests/formats/events.ts'
import {
  dataOf,
  decodeRequest,
  deltasOf,
  encodeEvents,
} from '#tests/formats/openai-chat-completions/fixtures.ts'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { unwrapSignature } from '@/formats/signatures/signature.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { mediaPart, type Signature } from '@/generation/part.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

const USAGE: GenerationEvent = { type: 'usage', usage: { ...NO_USAGE, inputUncached: 3, outputText: 2 } }
const PHASES = ['phase:commentary', 'phase:final_answer']
const SIGNATURE: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'EqoB' }

/** The finish reasons written for candidate 0. */
function reasonsOf(stream: string): unknown[] {
  return dataOf(stream).flatMap(data => asObject(asArray(data['choices'])[0])?.['finish_reason'] ?? [])
}

describe('the stream', () => {
  test('is a role chunk, deltas, one finish chunk and [DONE]', () => {
    const stream = encodeEvents([START, ...textEvents(0, 'Hel', 'lo'), finish()])
    expect(deltasOf(stream)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Hel' },
      { content: 'lo' },
      {},
    ])
    expect(reasonsOf(stream)).toEqual(['stop'])
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test("has one id, time and model throughout, which are the gateway's", () => {
    const wire = { stream_options: { include_usage: true } }
    for (const data of dataOf(encodeEvents([START, ...textEvents(0, 'a'), finish(), USAGE], wire))) {
      expect(data).toMatchObject({
        id: 'chatcmpl-0198c0de000070008000000000000001',
        object: 'chat.completion.chunk',
        created: 1_763_650_800,
        model: 'm',
      })
    }
  })

  test.each([{ stream_options: { include_usage: true } }, { usage: { include: true } }])(
    'has a usage chunk without choices only if asked for, and null before: %j',
    asking => {
      const asked = dataOf(encodeEvents([START, USAGE, ...textEvents(0, 'a'), finish()], asking))
      expect(asked.at(-1)).toMatchObject({
        choices: [],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      })
      expect(asked.slice(0, -1).map(data => data['usage'])).toEqual(asked.slice(1).map(() => null))
      const unasked = dataOf(encodeEvents([START, USAGE, ...textEvents(0, 'a'), finish()]))
      expect(unasked.every(data => !('usage' in data) && asArray(data['choices']).length === 1)).toBe(true)
    },
  )

  test('with an empty answer still has role, finish and end', () => {
    expect(deltasOf(encodeEvents([START, finish()]))).toEqual([
      { role: 'assistant', content: '', refusal: null },
      {},
    ])
  })

  test('ends in the error and nothing else when the answer broke', () => {
    const error = new GatewayError('upstream_error', 'The upstream failed')
    const stream = encodeEvents([START, ...textEvents(0, 'a'), { type: 'error', error }, finish()])
    expect(dataOf(stream).at(-1)).toEqual({
      error: {
        message: 'The upstream failed (request id: 0198c0de-0000-7000-8000-000000000001)',
        type: 'api_error',
        param: null,
        code: 'upstream_error',
      },
    })
    expect(stream).not.toContain('[DONE]')
    expect(reasonsOf(stream)).toEqual([])
  })

  test('without a finish is no success', () => {
    const stream = encodeEvents([START, ...textEvents(0, 'a')])
    expect(dataOf(stream).at(-1)).toHaveProperty('error')
    expect(stream).not.toContain('[DONE]')
  })

  test('joins the halves of an emoji that were split over two deltas', () => {
    const deltas = deltasOf(encodeEvents([START, ...textEvents(0, 'a\ud83d', '\udc4bb'), finish()]))
    expect(deltas.map(delta => delta['content'])).toEqual(['', 'a', '\ud83d\udc4bb', undefined])
  })

  test('edge 30: keeps two candidates apart', () => {
    const events: GenerationEvent[] = [
      START,
      { type: 'text-start', block: 0, candidate: 0 },
      { type: 'text-start', block: 1, candidate: 1 },
      { type: 'text-delta', block: 1, text: 'b' },
      { type: 'text-delta', block: 0, text: 'a' },
      { type: 'text-end', block: 0, signature: undefined },
      { type: 'text-end', block: 1, signature: undefined },
      finish('end'),
      finish('length', {}, 1),
    ]
    const written = dataOf(encodeEvents(events)).map(data => asObject(asArray(data['choices'])[0]))
    expect(
      written.map(choice => [
        choice?.['index'],
        asObject(choice?.['delta'])?.['content'],
        choice?.['finish_reason'],
      ]),
    ).toEqual([
      [0, '', null],
      [1, '', null],
      [1, 'b', null],
      [0, 'a', null],
      [0, undefined, 'stop'],
      [1, undefined, 'length'],
    ])
  })
})

test("choices begin in the order of their numbers, whichever speaks first, as OpenAI's helper for Python takes them", () => {
  const late = textEvents(0, 'b').map(event => ('candidate' in event ? { ...event, candidate: 2 } : event))
  const stream = encodeEvents([START, ...late, finish(), finish('end', {}, 1), finish('end', {}, 2)])
  const chunks = dataOf(stream).map(data => asObject(asArray(data['choices'])[0]))
  expect(chunks.slice(0, 4).map(choice => [choice?.['index'], choice?.['delta']])).toEqual([
    [0, { role: 'assistant', content: '', refusal: null }],
    [1, { role: 'assistant', content: '', refusal: null }],
    [2, { role: 'assistant', content: '', refusal: null }],
    [2, { content: 'b' }],
  ])
})

test('a choice that the upstream skips ends as well, empty: SDKs take no answer with one that has no end', async () => {
  const late = textEvents(0, 'b').map(event => ('candidate' in event ? { ...event, candidate: 2 } : event))
  const stream = encodeEvents([START, ...late, finish('end', {}, 2)])
  expect(unlawful('openai-chat-completions', stream)).toEqual([])
  const headers = { 'content-type': 'text/event-stream' }
  const client = new OpenAI({ apiKey: 'x', fetch: async () => new Response(stream, { headers }) })
  const { choices } = await client.chat.completions
    .stream({ model: 'm', n: 3, messages: [] })
    .finalChatCompletion()
  expect(choices.map(choice => [choice.index, choice.message.content || null, choice.finish_reason])).toEqual(
    [
      [0, null, 'stop'],
      [1, null, 'stop'],
      [2, 'b', 'stop'],
    ],
  )
})

describe('reasoning', () => {
  test('comes as reasoning_content, paragraphs and thoughts with a blank line between', () => {
    const stream = encodeEvents([
      START,
      ...reasoningEvents(0, ['a', 'b']),
      ...reasoningEvents(1, ['c']),
      ...textEvents(2, 'x'),
      finish(),
    ])
    expect(
      deltasOf(stream)
        .map(delta => delta['reasoning_content'] ?? '')
        .join(''),
    ).toBe('a\n\nb\n\nc')
    expect(stream).not.toContain('reasoning_details')
  })

  test('comes back from the caller as it was, every thought with its signature', () => {
    const other: Signature = { format: 'gemini-generate-content', vendor: undefined, value: 'Zm9v' }
    const stream = encodeEvents([
      START,
      ...reasoningEvents(0, ['a', 'b'], SIGNATURE),
      ...reasoningEvents(1, ['c'], other),
      ...textEvents(2, 'x'),
      finish(),
    ])
    const reasoning_details = deltasOf(stream).flatMap(delta => asArray(delta['reasoning_details']))
    const message = { role: 'assistant', content: 'x', reasoning_content: 'a\n\nb\n\nc', reasoning_details }
    const request = decodeRequest({ messages: [{ role: 'user', content: 'q' }, message] })
    expect(request.turns[1]?.parts).toMatchObject([
      { type: 'reasoning', texts: ['a\n\nb'], redacted: false, signature: SIGNATURE },
      { type: 'reasoning', texts: ['c'], signature: other },
      { type: 'text', text: 'x' },
    ])
  })

  test.each([{ reasoning: { effort: 'low' } }, { usage: { include: true } }])(
    'comes as reasoning, too, to a caller of OpenRouter (%j), and in no entry once more',
    wire => {
      const deltas = deltasOf(
        encodeEvents(
          [START, ...reasoningEvents(0, ['a', 'b']), ...reasoningEvents(1, ['c'], SIGNATURE), finish()],
          wire,
        ),
      )
      for (const field of ['reasoning', 'reasoning_content']) {
        expect(deltas.map(delta => delta[field] ?? '').join('')).toBe('a\n\nb\n\nc')
      }
      const details = deltas.flatMap(delta => asArray(delta['reasoning_details']))
      expect(details).toMatchObject([{ type: 'reasoning.text', text: '', signature: expect.any(String) }])
    },
  )

  test('that the vendor hid comes back hidden', () => {
    const hidden: GenerationEvent[] = [
      { type: 'reasoning-start', block: 0, candidate: 0, id: 'rs_1', raw: false, redacted: true },
      { type: 'reasoning-end', block: 0, signature: SIGNATURE },
    ]
    const reasoning_details = deltasOf(encodeEvents([START, ...hidden, finish()])).flatMap(delta =>
      asArray(delta['reasoning_details']),
    )
    const request = decodeRequest({
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'x', reasoning_details },
      ],
    })
    expect(request.turns[1]?.parts[0]).toMatchObject({
      redacted: true,
      texts: [],
      signature: SIGNATURE,
      id: 'rs_1',
    })
  })

  test('is kept from a caller who excluded it, its signature is not', () => {
    const stream = encodeEvents(
      [START, ...reasoningEvents(0, ['secret'], SIGNATURE), ...textEvents(1, 'x'), finish()],
      {
        reasoning: { effort: 'low', exclude: true },
      },
    )
    expect(stream).not.toContain('secret')
    expect(stream).toContain('reasoning_details')
  })
})

describe('tool calls', () => {
  test('have id and name first, then arguments by index', () => {
    const stream = encodeEvents([
      START,
      callStart(0),
      input(0, '{"x"'),
      input(0, ':1}'),
      callEnd(0),
      finish('tool-calls'),
    ])
    expect(deltasOf(stream)).toEqual([
      { role: 'assistant', content: null, refusal: null },
      { tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      {},
    ])
    expect(reasonsOf(stream)).toEqual(['tool_calls'])
  })

  test('edge 22: keep their indexes when they interleave', () => {
    const events = [
      START,
      callStart(0),
      callStart(1, 'g'),
      input(1, 'b1'),
      input(0, 'a1'),
      input(1, 'b2'),
      input(0, 'a2'),
      callEnd(0),
      callEnd(1),
      finish('tool-calls'),
    ]
    const texts = ['', '']
    const names = ['', '']
    for (const delta of deltasOf(encodeEvents(events))) {
      const entry = asObject(asArray(delta['tool_calls'])[0])
      const body = asObject(entry?.['function'])
      const index = Number(entry?.['index'])
      if (entry !== undefined) texts[index] += String(body?.['arguments'])
      if (body?.['name'] !== undefined) names[index] += String(body['name'])
    }
    expect({ names, texts }).toEqual({ names: ['f', 'g'], texts: ['a1a2', 'b1b2'] })
  })

  test('are written one after another when they come at once, since SDKs take a call for whole when the next begins', () => {
    const events = [
      START,
      callStart(0),
      callStart(1, 'g'),
      callStart(2, 'h'),
      input(1, 'b1'),
      input(0, 'a1'),
      input(2, 'c1'),
      input(1, 'b2'),
      callEnd(1),
      input(0, 'a2'),
      callEnd(0),
      input(2, 'c2'),
      finish('tool-calls'),
    ]
    const written = deltasOf(encodeEvents(events)).flatMap(delta =>
      asArray(delta['tool_calls']).map(call => {
        const body = asObject(asObject(call)?.['function'])
        return `${asObject(call)?.['index']}:${body?.['name'] ?? ''}${body?.['arguments']}`
      }),
    )
    expect(written).toEqual(['0:f', '0:a1', '0:a2', '1:g', '1:b1b2', '2:h', '2:c1', '2:c2'])
  })

  test('edge 23: without input have {} and never an empty string', () => {
    const deltas = deltasOf(encodeEvents([START, callStart(0), callEnd(0), finish('tool-calls')]))
    expect(deltas[2]).toEqual({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] })
  })

  test('that are custom have the type custom and free text', () => {
    const deltas = deltasOf(
      encodeEvents([START, callStart(0, 'p', 'custom'), input(0, 'a"b'), callEnd(0), finish('tool-calls')]),
    )
    expect(deltas.slice(1, 3)).toEqual([
      { tool_calls: [{ index: 0, id: 'call_0', type: 'custom', custom: { name: 'p', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'a"b' } }] },
    ])
  })

  test("carry Gemini's signature on the chunk that starts them, wrapped", () => {
    const signature: Signature = { format: 'gemini-generate-content', vendor: 'gemini', value: 'c2ln' }
    const deltas = deltasOf(
      encodeEvents([START, callStart(0), input(0, '{}'), callEnd(0, signature), finish('tool-calls')]),
    )
    const entry = asObject(asArray(deltas[1]?.['tool_calls'])[0])
    const google = asObject(asObject(entry?.['extra_content'])?.['google'])
    expect(entry?.['id']).toBe('call_0')
    expect(unwrapSignature(String(google?.['thought_signature']), 'openai-chat-completions')).toEqual(
      signature,
    )
  })

  test('carry a signature that comes later on a chunk of its own', () => {
    const deltas = deltasOf(
      encodeEvents([
        START,
        callStart(0),
        input(0, '{'),
        input(0, '}'),
        callEnd(0, SIGNATURE),
        finish('tool-calls'),
      ]),
    )
    expect(deltas.at(-2)).toMatchObject({
      tool_calls: [{ index: 0, function: { arguments: '' }, extra_content: {} }],
    })
  })

  test('carry a signature that comes later only as what they are: no function for one of text, nothing for functions', () => {
    const pieces = [input(0, 'a'), input(0, 'b'), callEnd(0, SIGNATURE), finish('tool-calls')]
    const custom = deltasOf(encodeEvents([START, callStart(0, 'patch', 'custom'), ...pieces]))
    expect(asObject(asArray(custom.at(-2)?.['tool_calls'])[0])).toEqual({
      index: 0,
      custom: { input: '' },
      extra_content: expect.anything(),
    })
    const legacy = encodeEvents([START, callStart(0), ...pieces], { functions: [{ name: 'f' }] })
    expect(legacy).not.toContain('tool_calls')
  })

  test('are one function_call for a caller who speaks of functions', () => {
    const wire: JsonObject = { functions: [{ name: 'f' }] }
    const stream = encodeEvents(
      [START, callStart(0), input(0, '{}'), callEnd(0), callStart(1), callEnd(1), finish('tool-calls')],
      wire,
    )
    expect(deltasOf(stream).slice(1)).toEqual([
      { function_call: { name: 'f', arguments: '' } },
      { function_call: { arguments: '{}' } },
      {},
    ])
    expect(reasonsOf(stream)).toEqual(['function_call'])
  })
})

describe('the other parts', () => {
  test('a refusal comes as refusal, and its finish is stop', () => {
    const events: GenerationEvent[] = [
      START,
      { type: 'refusal-start', block: 0, candidate: 0 },
      { type: 'refusal-delta', block: 0, text: 'No.' },
      { type: 'refusal-end', block: 0 },
      finish('refusal'),
    ]
    const stream = encodeEvents(events)
    expect(deltasOf(stream)[1]).toEqual({ refusal: 'No.' })
    expect(reasonsOf(stream)).toEqual(['stop'])
  })

  test('an image comes in images', () => {
    const source = { type: 'base64', data: 'AQ==' } as const
    const media = mediaPart({ kind: 'image', mediaType: 'image/png', source })
    const stream = encodeEvents([START, { type: 'media', block: 0, candidate: 0, media }, finish()])
    expect(deltasOf(stream)[1]).toEqual({
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AQ==' }, index: 0 }],
    })
  })

  test('a citation is an annotation whose span counts from the start of the whole content', () => {
    const citation = {
      url: 'https://e.com',
      title: 'E',
      citedText: undefined,
      start: 1,
      end: 3,
      wire: undefined,
    }
    const events: GenerationEvent[] = [
      START,
      ...textEvents(0, 'abc'),
      { type: 'text-start', block: 1, candidate: 0 },
      { type: 'text-delta', block: 1, text: 'defg' },
      { type: 'text-citation', block: 1, citation },
      { type: 'text-citation', block: 1, citation: { ...citation, url: undefined } },
      { type: 'text-end', block: 1, signature: undefined },
      finish(),
    ]
    const annotations = deltasOf(encodeEvents(events)).flatMap(delta => asArray(delta['annotations']))
    expect(annotations).toEqual([
      {
        type: 'url_citation',
        url_citation: { start_index: 4, end_index: 6, title: 'E', url: 'https://e.com' },
      },
    ])
  })

  test("annotations come in one delta, since OpenAI's SDKs keep the last one's or fail", () => {
    const cited = (block: number, url: string): GenerationEvent[] => [
      { type: 'text-start', block, candidate: 0 },
      { type: 'text-delta', block, text: 'ab' },
      {
        type: 'text-citation',
        block,
        citation: { url, title: 'E', citedText: undefined, start: 0, end: 2, wire: undefined },
      },
      { type: 'text-end', block, signature: undefined },
    ]
    const stream = encodeEvents([START, ...cited(0, 'https://a.com'), ...cited(1, 'https://b.com'), finish()])
    const told = deltasOf(stream).filter(delta => delta['annotations'] !== undefined)
    expect(told).toMatchObject([
      {
        annotations: [
          { url_citation: { url: 'https://a.com', start_index: 0 } },
          { url_citation: { url: 'https://b.com', start_index: 2 } },
        ],
      },
    ])
  })

  test('logprobs come in their place', () => {
    const content = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }]
    const stream = encodeEvents([
      START,
      ...textEvents(0, 'a'),
      { type: 'logprobs', candidate: 0, content },
      finish(),
    ])
    const logprobs = dataOf(stream).map(data => asObject(asArray(data['choices'])[0])?.['logprobs'])
    expect(logprobs).toEqual([null, null, { content, refusal: null }, null])
  })
})

describe('the finish reason', () => {
  test.each([
    ['end', 'stop'],
    ['stop-sequence', 'stop'],
    ['tool-calls', 'stop'],
    ['length', 'length'],
    ['context-length', 'length'],
    ['content-filter', 'content_filter'],
    ['prompt-blocked', 'content_filter'],
    ['refusal', 'content_filter'],
    ['pause', 'stop'],
    ['malformed-tool-call', 'stop'],
    ['other', 'stop'],
  ] as const)('of a text that ended by %s is %s', (reason, word) => {
    expect(reasonsOf(encodeEvents([START, ...textEvents(0, 'a'), finish(reason)]))).toEqual([word])
  })

  test.each([
    ['end', 'tool_calls'],
    ['other', 'tool_calls'],
    ['malformed-tool-call', 'tool_calls'],
    ['length', 'length'],
    ['content-filter', 'content_filter'],
  ] as const)('of a call that ended by %s is %s', (reason, word) => {
    expect(
      reasonsOf(encodeEvents([START, callStart(0), input(0, '{}'), callEnd(0), finish(reason)])),
    ).toEqual([word])
  })

  test('of a broken call is stop', () => {
    const events = [START, callStart(0), input(0, '{"x'), callEnd(0), finish('malformed-tool-call')]
    expect(reasonsOf(encodeEvents(events))).toEqual(['stop'])
  })
})

test('an error in a passthrough stream is one event', () => {
  const event = openaiChatCompletions.encodeErrorEvent(
    new GatewayError('upstream_timeout', 'Too slow'),
    'r',
    undefined,
  )
  expect(event).toBe(
    'data: {"error":{"message":"Too slow (request id: r)","type":"api_error","param":null,"code":"upstream_timeout"}}\n\n',
  )
})

test('a message with several signed texts tells the last signature, once: SDKs join what is told twice', () => {
  const signed = PHASES.flatMap((value, block) => [
    ...textEvents(block, 'a').slice(0, -1),
    { type: 'text-end', block, signature: { format: 'openai-responses', vendor: undefined, value } } as const,
  ])
  const holders = deltasOf(encodeEvents([START, ...signed, finish()]))
    .map(delta => asObject(asObject(delta['extra_content'])?.['google']))
    .filter(holder => holder !== undefined)
  expect(holders).toHaveLength(1)
  expect(unwrapSignature(String(holders[0]?.['thought_signature']), 'openai-chat-completions').value).toBe(
    'phase:final_answer',
  )
})
