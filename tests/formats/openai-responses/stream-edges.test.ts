import { describe, expect, test } from 'bun:test'
import {
  callEnd,
  callEvents,
  callStart,
  finish,
  input,
  reasoningEvents,
  START,
  textEvents,
} from '#tests/formats/events.ts'
import { FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { recording } from '#tests/transcripts/recording.ts'
import { faultOf } from '@/formats/faults/fault.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import { reasoningPart, type Signature } from '@/generation/part.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import {
  dataOf,
  decodeContext,
  decodeData,
  decodeStream,
  encodeStream,
  finalOutput,
  RECORDINGS,
  request,
  sdkFinal,
} from './fixtures.ts'

const END = finish()
const CUT = finish('length')
const SEALED: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' }

const created = { type: 'response.created', response: { id: 'resp_1', model: 'up' } }
const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } }

const partsOf = (data: readonly JsonObject[]) => collect(decodeData(data)).candidates[0]?.parts ?? []

describe('edge 35: sequence numbers', () => {
  test.each(RECORDINGS)('increase from 0 by 1 over every event of %s', (_name, { stream }) => {
    const numbers = dataOf(encodeStream(decodeStream(stream))).map(event => event['sequence_number'])
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })
})

describe('edge 36: text', () => {
  test('in the done events, the done item and the final output equals the deltas', () => {
    const deltas = ['Hé', 'llo \u{1f44b}\u{1f3fd}', ' "q" \\ \n', '\u2028end']
    const data = dataOf(encodeStream([START, ...textEvents(0, ...deltas), END]))
    const whole = deltas.join('')
    const of = (type: string) => data.find(event => event['type'] === type)
    const said = data.filter(event => event['type'] === 'response.output_text.delta')
    expect(said.map(event => event['delta']).join('')).toBe(whole)
    expect(of('response.output_text.done')?.['text']).toBe(whole)
    expect(asObject(of('response.content_part.done')?.['part'])?.['text']).toBe(whole)
    const final = asArray(asObject(of('response.completed')?.['response'])?.['output'])
    expect(final).toEqual([of('response.output_item.done')?.['item'] ?? null])
  })

  test('that is empty still has a message item', async () => {
    const text = encodeStream([START, END])
    expect(finalOutput(text)).toMatchObject([
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: '' }] },
    ])
    expect((await sdkFinal(text)).output_text).toBe('')
  })

  test('an answer of reasoning alone gets a message too, unless it was cut', () => {
    const thought = reasoningEvents(0, ['hm'])
    expect(finalOutput(encodeStream([START, ...thought, END])).map(item => item['type'])).toEqual([
      'reasoning',
      'message',
    ])
    expect(finalOutput(encodeStream([START, ...thought, CUT])).map(item => item['type'])).toEqual([
      'reasoning',
    ])
  })
})

test('edge 37: reasoning without summary is its encrypted content, there and back', () => {
  const item = { id: 'rs_9', type: 'reasoning', summary: [], encrypted_content: 'gAAAsecret==' }
  const done = { type: 'response.output_item.done', output_index: 0, item }
  const events = decodeData([created, done, completed])
  expect(collect(events).candidates[0]?.parts).toEqual([
    reasoningPart({
      redacted: true,
      id: 'rs_9',
      signature: { format: 'openai-responses', vendor: 'openai', value: 'gAAAsecret==' },
    }),
  ])
  const [reply] = finalOutput(encodeStream(events))
  expect(reply).toMatchObject({ id: 'rs_9', summary: [] })
  expect(reply?.['encrypted_content']).not.toBe('gAAAsecret==')
  const input = [reply ?? {}, { role: 'assistant', content: 'ok' }, { role: 'user', content: 'go on' }]
  const target = { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined }
  const again = openaiResponses.encodeRequest(request({ input }), target)
  expect(asArray(again.body['input'])[0]).toEqual(item)
  const foreign = openaiResponses.encodeRequest(request({ input }), { ...target, vendor: 'azure' })
  expect(foreign.losses).toContainEqual({ field: 'reasoningHistory', name: undefined })
})

describe('edge 38: reasoning', () => {
  test('has a summary part for each paragraph, and stands between two calls', async () => {
    const text = encodeStream([
      START,
      ...callEvents(0, 'a', '{}'),
      ...reasoningEvents(1, ['first', 'second'], SEALED),
      ...callEvents(2, 'b', '{}'),
      END,
    ])
    const output = finalOutput(text)
    expect(output.map(item => item['type'])).toEqual(['function_call', 'reasoning', 'function_call'])
    expect(output[1]?.['summary']).toEqual([
      { type: 'summary_text', text: 'first' },
      { type: 'summary_text', text: 'second' },
    ])
    expect((await sdkFinal(text)).output).toHaveLength(3)
  })

  test('that is raw is reasoning_text with its content part', async () => {
    const [start, ...rest] = reasoningEvents(0, ['thought'])
    const text = encodeStream([
      START,
      { ...start, raw: true } as GenerationEvent,
      ...rest,
      ...textEvents(1, 'x'),
      END,
    ])
    expect(finalOutput(text)[0]).toMatchObject({
      summary: [],
      content: [{ type: 'reasoning_text', text: 'thought' }],
    })
    expect(collect(decodeStream(Buffer.from(text))).candidates[0]?.parts[0]).toMatchObject({
      raw: true,
      texts: ['thought'],
    })
    expect((await sdkFinal(text)).output).toHaveLength(2)
  })

  test.each([
    ['the same words twice', 'I see.', 'I see.'],
    ['raw text and its summary', 'First this, then that.', 'Two steps'],
  ])('with %s shows the raw text, streamed as well as whole', (_, raw, summary) => {
    const item: JsonObject = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: summary }],
      content: [{ type: 'reasoning_text', text: raw }],
      encrypted_content: 'sealed',
    }
    const event = (type: string, fields: JsonObject) => ({
      type,
      output_index: 0,
      item_id: 'rs_1',
      ...fields,
    })
    const said = (kind: string, text: string) =>
      [...text].map(delta => event(`response.${kind}.delta`, { content_index: 0, summary_index: 0, delta }))
    // As servers of open weights do: each piece of raw text, and the same piece of the summary after it.
    const [texts, summaries] = [said('reasoning_text', raw), said('reasoning_summary_text', summary)]
    const mixed = texts.flatMap((delta, index) => [delta, ...(summaries[index] ? [summaries[index]] : [])])
    const response = { id: 'r', model: 'up', status: 'completed', output: [item] }
    const streamed = collect(
      decodeData([
        { type: 'response.created', response: { id: 'r', model: 'up' } },
        event('response.output_item.added', { item: { type: 'reasoning', id: 'rs_1', summary: [] } }),
        ...mixed,
        event('response.output_item.done', { item }),
        { type: 'response.completed', response },
      ]),
    )
    const whole = openaiResponses.decodeResponse(response, decodeContext())
    expect(whole.candidates[0]?.parts).toMatchObject([{ type: 'reasoning', texts: [raw], raw: true }])
    expect(streamed.candidates).toEqual(whole.candidates)
  })

  test.each([
    [
      'is followed by the raw text that came after it',
      'First this, then that.',
      ['Two', 'steps', 'First this, then that.'],
    ],
    ['is not followed by the same words', 'Twosteps', ['Two', 'steps']],
  ])('whose summary is told first %s', (_, raw, texts) => {
    const summary = ['Two', 'steps'].map(text => ({ type: 'summary_text', text }))
    const item = { type: 'reasoning', id: 'rs_1', summary, content: [{ type: 'reasoning_text', text: raw }] }
    const at = { output_index: 0, item_id: 'rs_1' }
    const streamed = collect(
      decodeData([
        { type: 'response.created', response: { id: 'r', model: 'up' } },
        { type: 'response.output_item.added', ...at, item: { type: 'reasoning', id: 'rs_1', summary: [] } },
        ...summary.map(({ text: delta }, summary_index) => ({
          type: 'response.reasoning_summary_text.delta',
          ...at,
          summary_index,
          delta,
        })),
        { type: 'response.reasoning_text.delta', ...at, content_index: 0, delta: raw },
        { type: 'response.output_item.done', ...at, item },
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item] } },
      ]),
    )
    expect(streamed.candidates[0]?.parts).toMatchObject([{ type: 'reasoning', texts, id: 'rs_1' }])
  })

  test('carried on a text or a call stands right behind it, hidden', async () => {
    const signature = { format: 'gemini-generate-content', vendor: 'google', value: 'sig' } as const
    const signed = (event: GenerationEvent) => (event.type.endsWith('-end') ? { ...event, signature } : event)
    const events = [...textEvents(0, 'a'), ...callEvents(1, 'f', '{}')].map(signed) as GenerationEvent[]
    const text = encodeStream([START, ...events, ...callEvents(2, 'g', '{}'), END])
    expect(finalOutput(text).map(item => item['type'])).toEqual([
      'message',
      'reasoning',
      'function_call',
      'reasoning',
      'function_call',
    ])
    const [turn] = request({ input: finalOutput(text) }).turns
    expect(turn?.parts[1]).toMatchObject({ type: 'reasoning', texts: [], signature })
    expect((await sdkFinal(text)).output).toHaveLength(5)
  })

  test.each([
    [
      'gemini-generate-content',
      'is of the call before it',
      ['tool-call+reasoning', 'tool-result', 'tool-call', 'tool-result'],
    ],
    [
      'anthropic-messages',
      'is a thought about the result',
      ['tool-call', 'tool-result', 'reasoning+tool-call', 'tool-result'],
    ],
  ] as const)('of %s, behind a result that a client put right behind its call, %s', (format, _, expected) => {
    const signature = { format, vendor: 'v', value: 'sig' }
    const thought = [
      { type: 'reasoning-start', block: 1, id: '', raw: false, redacted: true },
      { type: 'reasoning-end', block: 1, signature },
    ] as GenerationEvent[]
    const sealed = callEvents(0, 'f', '{}').map(event =>
      event.type === 'tool-input-end' ? { ...event, signature } : event,
    )
    const first = format === 'gemini-generate-content' ? sealed : [...callEvents(0, 'f', '{}'), ...thought]
    const output = finalOutput(encodeStream([START, ...first, ...callEvents(2, 'g', '{}'), END]))
    const input = output.flatMap(item =>
      item['type'] === 'function_call'
        ? [item, { type: 'function_call_output', call_id: String(item['call_id']), output: 'done' }]
        : [item],
    )
    expect(request({ input }).turns.map(turn => turn.parts.map(part => part.type).join('+'))).toEqual([
      ...expected,
    ])
  })

  test('omitted by Anthropic and redacted by Anthropic stay apart', () => {
    const [start, ...rest] = reasoningEvents(0, [], SEALED)
    const read = (redacted: boolean) => {
      const events = [START, { ...start, redacted } as GenerationEvent, ...rest, END]
      const [turn] = request({ input: finalOutput(encodeStream(events)) }).turns
      return turn?.parts[0]
    }
    const signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' }
    expect(read(true)).toMatchObject({ redacted: true, texts: [], signature })
    expect(read(false)).toMatchObject({ redacted: false, texts: [''], signature })
  })
})

describe('edge 39: several items', () => {
  test('a call before and after a message keeps its place', () => {
    const text = encodeStream([
      START,
      ...callEvents(0, 'a', '{}'),
      ...textEvents(1, 'between'),
      ...callEvents(2, 'b', '{}'),
      END,
    ])
    expect(finalOutput(text).map(item => item['type'])).toEqual(['function_call', 'message', 'function_call'])
  })

  test('two messages keep their phases, to the next upstream request too', () => {
    const { stream } = recording('openai-responses', 'phases')
    const output = finalOutput(encodeStream(decodeStream(stream)))
    expect(output.map(item => item['phase'])).toEqual(['commentary', 'final_answer'])
    const target = { model: 'gpt-5.4', vendor: 'openai', maxOutputTokens: undefined }
    const input = openaiResponses.encodeRequest(request({ input: output }), target).body['input']
    expect(asArray(input).map(item => asObject(item)?.['phase'])).toEqual(['commentary', 'final_answer'])
  })

  test('neighbouring texts of one message stay one message', () => {
    const [message, ...others] = finalOutput(
      encodeStream([START, ...textEvents(0, 'a'), ...textEvents(1, 'b'), END]),
    )
    expect(others).toEqual([])
    expect(asArray(message?.['content']).map(part => asObject(part)?.['text'])).toEqual(['a', 'b'])
  })
})

describe('edge 40: incomplete in the middle of a call', () => {
  test('is read as length', () => {
    const { stream } = recording('openai-responses', 'length')
    expect(collect(decodeStream(stream)).candidates[0]?.finish.reason).toBe('length')
  })

  test('marks the cut call and only it', async () => {
    const events = [START, ...callEvents(0, 'a', '{"x":1}'), ...callEvents(1, 'b', '{"x"'), CUT]
    const text = encodeStream(events)
    const last = dataOf(text).at(-1)
    expect(last?.['type']).toBe('response.incomplete')
    expect(asObject(last?.['response'])?.['incomplete_details']).toEqual({ reason: 'max_output_tokens' })
    expect(finalOutput(text).map(item => item['status'])).toEqual(['completed', 'incomplete'])
    expect((await sdkFinal(text)).status).toBe('incomplete')
  })

  test('a call that ended whole is not called cut', () => {
    const text = encodeStream([START, ...callEvents(0, 'a', '{"x":1}'), CUT])
    expect(finalOutput(text).map(item => item['status'])).toEqual(['completed'])
  })
})

describe('edge 41: errors', () => {
  const error = { code: 'rate_limit_exceeded', message: 'Slow down. Please try again in 2s.' }
  test.each([
    [
      'response.failed as second event',
      [created, { type: 'response.failed', response: { status: 'failed', error } }],
    ],
    [
      'error then response.failed',
      [created, { type: 'error', ...error }, { type: 'response.failed', response: { error } }],
    ],
    ['a flat error', [created, { type: 'error', ...error, param: null }]],
    ['a nested error', [created, { type: 'error', error: { type: 'requests', ...error } }]],
    ['an error object without a type', [created, { error }]],
    [
      'response.failed that does not say why, then error',
      [
        created,
        { type: 'response.failed', response: { status: 'failed', error: null } },
        { type: 'error', code: null, message: null, param: null, error },
      ],
    ],
    [
      'a completed response whose status is failed',
      [created, { type: 'response.completed', response: { status: 'failed', error } }],
    ],
  ])('%s is one error event', (_, data) => {
    const events = decodeData(data)
    expect(events.map(event => event.type)).toEqual(['start', 'error'])
    const last = events.at(-1)
    expect(last?.type === 'error' && last.error.message).toContain('Slow down')
    expect(last?.type === 'error' && faultOf(last.error)).toMatchObject({ status: 429, retryAfterMs: 2000 })
  })

  test('response.failed alone, which does not say why, is an error', () => {
    const failed = { type: 'response.failed', response: { status: 'failed', error: null } }
    expect(decodeData([created, failed]).map(event => event.type)).toEqual(['start', 'error'])
    expect(decodeData([created, failed]).at(-1)).toMatchObject({
      error: { message: expect.stringContaining('The response was failed') },
    })
  })

  test('a stream without a terminal event is an error', () => {
    expect(decodeData([created]).at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_error' } })
    expect(decodeData([])).toMatchObject([{ type: 'error' }])
  })

  test('a cancelled response is an error, and a whole failed one throws', () => {
    expect(decodeData([created, { type: 'response.cancelled', response: {} }]).at(-1)?.type).toBe('error')
    expect(() => openaiResponses.decodeResponse({ status: 'failed', error }, decodeContext())).toThrow(
      'Slow down',
    )
  })

  test('is written as response.failed after whatever was said', async () => {
    const [failure] = decodeData([{ type: 'error', error }])
    if (failure === undefined) throw new Error('no event')
    const text = encodeStream([START, ...textEvents(0, 'half'), failure])
    const last = dataOf(text).at(-1)
    expect(last).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'rate_limit_exceeded' },
        output: [{ status: 'incomplete' }],
      },
    })
    expect(asString(asObject(asObject(last?.['response'])?.['error'])?.['message'])).toContain(
      '(request id: 0198f7a2-0000-7000-8000-00000000000a)',
    )
    await expect(sdkFinal(text)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('Slow down'),
    })
  })

  test("stands before response.failed, nested as in OpenAI's traffic and flat as in its types", () => {
    const [failure] = decodeData([{ type: 'error', error }])
    if (failure === undefined) throw new Error('no event')
    const [told] = dataOf(encodeStream([START, failure])).slice(-2)
    const message = expect.stringContaining('Slow down')
    const fields = { code: 'rate_limit_exceeded', message, param: null }
    expect(told).toEqual({
      type: 'error',
      sequence_number: 2,
      ...fields,
      error: { type: 'rate_limit_exceeded', ...fields },
    })
  })

  test('before anything was said still begins with response.created', () => {
    const [failure] = decodeData([{ type: 'error', error }])
    if (failure === undefined) throw new Error('no event')
    expect(dataOf(encodeStream([failure])).map(event => event['type'])).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ])
  })

  test('an answer that just stops is never told as complete', () => {
    const text = encodeStream([START, ...textEvents(0, 'half')])
    expect(dataOf(text).at(-1)?.['type']).toBe('response.failed')
  })
})

test('edge 42: item ids that change between events are of no account', () => {
  const item = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '' }
  const parts = partsOf([
    created,
    { type: 'response.output_item.added', output_index: 0, item: { ...item, id: 'a1' } },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'zz9', delta: '{"a"' },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'qq7', delta: ':1}' },
    { type: 'response.output_item.done', output_index: 0, item: { ...item, id: 'b2', arguments: '{"a":1}' } },
    completed,
  ])
  expect(parts).toMatchObject([{ type: 'tool-call', callId: 'call_1', name: 'f', input: '{"a":1}' }])
})

describe('edge 43 and 44: custom tool input', () => {
  const input = 'say "hi" \\ back\nnew\ttab \\u0041 \u{1f600} {"input": 1}'
  const custom = (deltas: string[]): GenerationEvent[] => [
    START,
    { ...callStart(0, 'exec', 'custom'), namespace: 'functions' },
    ...deltas.map(text => ({ type: 'tool-input-delta', block: 0, text }) as const),
    { type: 'tool-input-end', block: 0, signature: undefined },
    finish('tool-calls'),
  ]

  test('is written as it is however it was cut, with its namespace', async () => {
    for (let at = 0; at <= input.length; at += 1) {
      const text = encodeStream(custom([input.slice(0, at), input.slice(at)]))
      expect(finalOutput(text)).toMatchObject([
        { type: 'custom_tool_call', call_id: 'call_0', name: 'exec', namespace: 'functions', input },
      ])
    }
    const read = await sdkFinal(encodeStream(custom([...input])))
    expect(read.output[0]).toMatchObject({ type: 'custom_tool_call', input })
  })

  test('is read from its own delta events', () => {
    const { stream, response } = recording('openai-responses', 'custom-tool')
    const [call] = asArray(response?.['output'])
    expect(collect(decodeStream(stream)).candidates[0]?.parts).toMatchObject([
      { kind: 'custom', name: 'apply_patch', input: asObject(call)?.['input'] },
    ])
  })
})

describe('edge 45: namespaces', () => {
  test('equal names in two groups come back with their groups', () => {
    const { request: wire, stream } = recording('openai-responses', 'namespace-tool')
    expect(request(wire).tools).toMatchObject([
      { type: 'function', name: 'read', namespace: 'mcp__files' },
      { type: 'function', name: 'read', namespace: 'mcp__mail' },
    ])
    expect(finalOutput(encodeStream(decodeStream(stream), wire))).toMatchObject([
      { name: 'read', namespace: 'mcp__files' },
      { name: 'read', namespace: 'mcp__mail' },
    ])
  })
})

describe('edge 51: events without meaning', () => {
  test('keepalive, unknown events, unreadable data and [DONE] change nothing', () => {
    const { stream } = recording('openai-responses', 'text')
    const noise = [
      'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
      ': comment\n\n',
      'event: response.tomorrow.delta\ndata: {"type":"response.tomorrow.delta","delta":"x"}\n\n',
      'data: not json\n\ndata: [DONE]\n\ndata: 7\n\n',
    ].join('')
    const noisy = Buffer.from(stream).toString('utf8').replaceAll('\n\n', `\n\n${noise}`)
    expect(decodeStream(Buffer.from(noisy))).toEqual(decodeStream(stream))
  })

  test('obfuscation is not passed on', () => {
    const { stream } = recording('openai-responses', 'text')
    expect(encodeStream(decodeStream(stream))).not.toContain('obfuscation')
  })
})

describe('upstreams that leave things out', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'whole', annotations: [] }],
  }
  test.each([
    [
      'only done items',
      [created, { type: 'response.output_item.done', output_index: 0, item: message }, completed],
    ],
    [
      'only the final output',
      [created, { type: 'response.completed', response: { status: 'completed', output: [message] } }],
    ],
    [
      'response.done as terminal',
      [
        created,
        { type: 'response.output_item.done', output_index: 0, item: message },
        { type: 'response.done', response: {} },
      ],
    ],
    [
      'deltas without added events',
      [
        { type: 'response.output_text.delta', output_index: 0, delta: 'who' },
        { type: 'response.output_text.delta', output_index: 0, delta: 'le' },
        completed,
      ],
    ],
    [
      'half of the deltas',
      [
        created,
        { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'wh' },
        { type: 'response.output_item.done', output_index: 0, item: message },
        completed,
      ],
    ],
  ])('%s still give the text', (_, data) => {
    expect(partsOf(data)).toMatchObject([{ type: 'text', text: 'whole' }])
    expect(decodeData(data).at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'end' } })
  })

  test('an item that only the final output has is not lost', () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }
    const output = [message, call]
    const parts = partsOf([
      created,
      { type: 'response.output_item.done', output_index: 0, item: message },
      { type: 'response.completed', response: { status: 'completed', output } },
    ])
    expect(parts).toMatchObject([
      { type: 'text', text: 'whole' },
      { type: 'tool-call', name: 'f' },
    ])
  })

  test('a message whose content is plain text is read, whole and streamed', () => {
    const plain = { type: 'message', role: 'assistant', content: 'plain' }
    const response = { status: 'completed', output: [plain] }
    const parts = openaiResponses.decodeResponse(response, decodeContext()).candidates[0]?.parts
    expect(parts).toMatchObject([{ type: 'text', text: 'plain' }])
    expect(partsOf([created, { type: 'response.completed', response }])).toMatchObject([{ text: 'plain' }])
  })

  test('a tier that the end alone tells is the tier of the answer, and of the reply', () => {
    const auto = { ...created, response: { id: 'resp_1', model: 'm', service_tier: 'auto' } }
    const done = {
      type: 'response.completed',
      response: { status: 'completed', output: [message], service_tier: 'priority' },
    }
    const events = decodeData([auto, done])
    expect(collect(events)).toMatchObject({ id: 'resp_1', model: 'm', serviceTier: 'priority' })
    const last = dataOf(encodeStream(events)).at(-1)
    expect(last).toMatchObject({ response: { service_tier: 'priority' } })
  })

  test('two items under one index are two items', () => {
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }
    const parts = partsOf([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
      { type: 'response.output_item.done', output_index: 0, item: message },
      completed,
    ])
    expect(parts.map(part => part.type)).toEqual(['reasoning', 'text'])
  })

  test('a refusal that has the number of the text before it is told, and once', () => {
    const at = { output_index: 0, content_index: 0 }
    const content = [
      { type: 'output_text', text: 'a', annotations: [] },
      { type: 'refusal', refusal: 'no' },
    ]
    const done = { type: 'response.output_item.done', output_index: 0, item: { type: 'message', content } }
    const parts = partsOf([
      created,
      { type: 'response.output_text.delta', ...at, delta: 'a' },
      { type: 'response.refusal.delta', ...at, delta: 'n' },
      done,
      completed,
    ])
    expect(parts).toMatchObject([
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'no' },
    ])
  })

  test.each([
    ['say it again', ['Hel', 'lo'], 'Hello'],
    ['go on from it', [' wor', 'ld'], 'Hello world'],
    ['do not come', [], 'Hello'],
    ['are empty', [''], 'Hello'],
    ['are empty before they go on from it', ['', ' world'], 'Hello world'],
  ])('text with which a part was announced is told once, by deltas that %s', (_what, deltas, told) => {
    const at = { output_index: 0, content_index: 0 }
    for (const [type, key, delta] of [
      ['output_text', 'text', 'response.output_text.delta'],
      ['refusal', 'refusal', 'response.refusal.delta'],
    ] as const) {
      const parts = partsOf([
        created,
        { type: 'response.content_part.added', ...at, part: { type, [key]: 'Hello' } },
        ...deltas.map(text => ({ type: delta, ...at, delta: text })),
        completed,
      ])
      expect(parts).toMatchObject([{ text: told }])
    }
  })

  test('a call whose name comes last loses none of its input', () => {
    const parts = partsOf([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a":' },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '1}' },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', name: 'f', arguments: '{"a":1}' },
      },
      completed,
    ])
    expect(parts).toMatchObject([{ name: 'f', input: '{"a":1}', callId: 'call_made1' }])
  })

  test('nothing that an upstream sends escapes as an exception', () => {
    const junk: JsonObject[] = [
      { type: 'response.output_text.delta' },
      { type: 'response.output_item.added', item: 7 },
      { type: 'response.output_item.done', output_index: 'x', item: { type: 'message', content: 'no' } },
      { type: 'response.output_item.added', output_index: -1, item: { type: 'function_call' } },
      { type: 'response.function_call_arguments.done', output_index: -1 },
      { type: 'response.reasoning_summary_text.delta', output_index: 3, delta: 5 },
      { type: 'response.content_part.added', output_index: 3, part: null },
      { type: 'response.created', response: [] },
      { type: 'response.completed', response: 'done' },
    ]
    expect(decodeData(junk).at(-1)?.type).toBe('finish')
  })
})

describe('the encoder', () => {
  test('keeps interleaved calls open side by side', async () => {
    const delta = (block: number, text: string) => ({ type: 'tool-input-delta', block, text }) as const
    const text = encodeStream([
      START,
      callStart(0, 'a'),
      callStart(1, 'b'),
      delta(0, '{"x"'),
      delta(1, '{"y"'),
      delta(0, ':1}'),
      delta(1, ':2}'),
      { type: 'tool-input-end', block: 0, signature: undefined },
      { type: 'tool-input-end', block: 1, signature: undefined },
      END,
    ])
    expect(finalOutput(text).map(item => item['arguments'])).toEqual(['{"x":1}', '{"y":2}'])
    expect((await sdkFinal(text)).output).toHaveLength(2)
  })

  test('writes a call without arguments as an empty object, deltas included', () => {
    const data = dataOf(encodeStream([START, ...callEvents(0, 'a'), END]))
    const delta = data.find(event => event['type'] === 'response.function_call_arguments.delta')
    expect(delta?.['delta']).toBe('{}')
    expect(data.find(event => event['type'] === 'response.function_call_arguments.done')).toMatchObject({
      arguments: '{}',
      name: 'a',
    })
  })

  test('writes an answer of many items in a time that goes with their number', () => {
    const calls = Array.from({ length: 40_000 }, (_, block) => callEvents(block, 'a'))
    const written = encodeStream([START, ...calls.flat(), END])
    expect(written.split('event: response.output_item.done')).toHaveLength(40_001)
  }, 60_000)

  test('writes an answer of the first candidate only', () => {
    const other = textEvents(1, 'other').map(event =>
      'candidate' in event ? { ...event, candidate: 1 } : event,
    )
    const text = encodeStream([START, ...textEvents(0, 'one'), ...other, finish('end', {}, 1), END])
    expect(finalOutput(text)).toMatchObject([{ content: [{ text: 'one' }] }])
  })

  test('goes on behind a usage that follows a finish: some upstreams say both again and again', () => {
    const usage = (output: number) => ({ type: 'usage', usage: decodeUsageOf(7, output) }) as const
    const text = encodeStream([
      ...[START, ...textEvents(0, 'one'), END, usage(3)],
      ...[...textEvents(1, 'two'), END, usage(6)],
    ])
    expect(finalOutput(text)).toMatchObject([{ content: [{ text: 'one' }, { text: 'two' }] }])
    expect(dataOf(text).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { usage: { input_tokens: 7, output_tokens: 6, total_tokens: 13 } },
    })
  })

  test('leaves a patch in progress that was cut off: the API has none that is incomplete', () => {
    const patch = callStart(0, 'apply_patch', 'apply_patch')
    const cut = encodeStream([START, patch, callEnd(0), finish('length')])
    expect(finalOutput(cut)).toMatchObject([{ type: 'apply_patch_call', status: 'in_progress' }])
    const failed = encodeStream([START, patch])
    expect(finalOutput(failed)).toMatchObject([{ type: 'apply_patch_call', status: 'in_progress' }])
  })

  test('keeps words of refusal out of the message before them, which Codex would drop with them', () => {
    const text = encodeStream([START, ...textEvents(0, 'Half an answer'), finish('refusal')])
    expect(finalOutput(text)).toMatchObject([
      { content: [{ type: 'output_text', text: 'Half an answer' }] },
      { content: [{ type: 'refusal' }] },
    ])
  })

  test('gives a declined answer a refusal', () => {
    const text = encodeStream([START, finish('refusal', { message: 'Policy.' })])
    expect(finalOutput(text)).toMatchObject([{ content: [{ type: 'refusal', refusal: 'Policy.' }] }])
    expect(dataOf(text).at(-1)?.['type']).toBe('response.completed')
  })

  test('cites what has a URL, over the span or the whole text', () => {
    const citation = {
      url: 'https://a',
      title: undefined,
      citedText: 'c',
      start: undefined,
      end: undefined,
      wire: undefined,
    }
    const [start, delta, end] = textEvents(0, 'cited')
    if (start === undefined || delta === undefined || end === undefined) throw new Error('no block')
    const text = encodeStream([START, start, delta, { type: 'text-citation', block: 0, citation }, end, END])
    const annotation = {
      type: 'url_citation',
      url: 'https://a',
      title: 'https://a',
      start_index: 0,
      end_index: 5,
    }
    expect(finalOutput(text)).toMatchObject([{ content: [{ annotations: [annotation] }] }])
  })

  test('puts log probabilities on the text they belong to', async () => {
    const content = [{ token: 'x', logprob: -0.5, bytes: [120], top_logprobs: [] }]
    const text = encodeStream([
      START,
      ...textEvents(0, 'x'),
      { type: 'logprobs', candidate: 0, content },
      END,
    ])
    expect(finalOutput(text)).toMatchObject([{ content: [{ logprobs: content }] }])
    expect((await sdkFinal(text)).output[0]).toMatchObject({ content: [{ logprobs: content }] })
  })

  test('tokens whose bytes an upstream of Chat left out have those of their text, which SDKs want', () => {
    const content = [{ token: 'é', logprob: -1, bytes: null, top_logprobs: [{ token: 'e', logprob: -2 }] }]
    const text = encodeStream([
      START,
      ...textEvents(0, 'é'),
      { type: 'logprobs', candidate: 0, content },
      END,
    ])
    expect(finalOutput(text)).toMatchObject([
      {
        content: [{ logprobs: [{ bytes: [0xc3, 0xa9], top_logprobs: [{ token: 'e', bytes: [101] }] }] }],
      },
    ])
  })

  test('those of a token that is no text yet, the first bytes of a character, belong to the text that follows', () => {
    const early = [{ token: '\\xf0\\x9f', logprob: -1, bytes: [0xf0, 0x9f], top_logprobs: [] }]
    const late = [{ token: '\\x98\\x80', logprob: -0.5, bytes: [0x98, 0x80], top_logprobs: [] }]
    const logprobs = (content: typeof early) => ({ type: 'logprobs', candidate: 0, content }) as const
    const text = encodeStream([START, logprobs(early), ...textEvents(0, '😀'), logprobs(late), END])
    expect(finalOutput(text)).toMatchObject([{ content: [{ text: '😀', logprobs: [...early, ...late] }] }])
  })

  test('repeats the request with every key a strict reader wants', () => {
    const wire = {
      model: 'm',
      input: 'x',
      tools: [{ type: 'function', name: 'f' }],
      temperature: 0.3,
      store: true,
    }
    const [first] = dataOf(encodeStream([START, END], wire))
    const response = asObject(first?.['response'])
    expect(response).toMatchObject({
      object: 'response',
      status: 'in_progress',
      output: [],
      usage: null,
      error: null,
      incomplete_details: null,
      completed_at: null,
      instructions: null,
      temperature: 0.3,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      parallel_tool_calls: true,
      previous_response_id: null,
      store: false,
      tool_choice: 'auto',
      tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: true }],
      text: { format: { type: 'text' } },
      reasoning: { effort: null, summary: null },
      truncation: 'disabled',
      metadata: {},
      max_output_tokens: null,
      max_tool_calls: null,
      top_logprobs: 0,
      service_tier: 'default',
      user: null,
      background: false,
      safety_identifier: null,
      prompt_cache_key: null,
    })
  })

  test('keeps the halves of a character together, and replaces one that stays alone', () => {
    const deltas = (text: string) =>
      dataOf(text).flatMap(event => (event['type'] === 'response.output_text.delta' ? event['delta'] : []))
    expect(deltas(encodeStream([START, ...textEvents(0, 'a\ud83d', '\ude00b'), END]))).toEqual([
      'a',
      '\u{1f600}b',
    ])
    const alone = encodeStream([START, ...textEvents(0, 'a\ud83d', 'b\ud83d'), END])
    expect(deltas(alone).join('')).toBe('a\ufffdb\ufffd')
    expect(finalOutput(alone)).toMatchObject([{ content: [{ text: 'a\ufffdb\ufffd' }] }])
  })

  test('replaces it in a whole answer as well, that it reads or writes', () => {
    const content = [{ type: 'output_text', text: 'a\ud83db\ud83d' }]
    const output = [{ type: 'message', role: 'assistant', content }]
    const whole = openaiResponses.decodeResponse({ status: 'completed', output }, decodeContext())
    expect(whole.candidates[0]?.parts).toMatchObject([{ text: 'a\ufffdb\ufffd' }])
    const written = collect([START, ...textEvents(0, 'a\ud83d', 'b\ud83d'), END])
    expect(openaiResponses.encodeResponse(written, FULL_REPLY)).toMatchObject({
      output: [{ content: [{ text: 'a\ufffdb\ufffd' }] }],
    })
  })
})

function decodeUsageOf(input: number, output: number) {
  const body = { output: [], usage: { input_tokens: input, output_tokens: output } }
  const { usage } = openaiResponses.decodeResponse(body, decodeContext())
  if (usage === undefined) throw new Error('no usage')
  return usage
}

test('edge 88: numbers and texts in arguments pass untouched', () => {
  const args = '{"n":9007199254740993,"z":-0,"big":1e400,"s":"\\ud83d"}'
  const item = { type: 'function_call', call_id: 'c', name: 'f', arguments: args }
  const events = decodeData([
    created,
    { type: 'response.output_item.done', output_index: 0, item },
    completed,
  ])
  expect(finalOutput(encodeStream(events))).toMatchObject([{ arguments: args }])
  expect(
    runMachine(
      openaiResponses.createStreamEncoder({
        requestId: 'r',
        createdAt: 1,
        model: 'm',
        request: request({ input: 'x' }),
        wire: {},
        estimatedInputTokens: undefined,
      }),
      events,
    ).join(''),
  ).toContain('9007199254740993')
})

describe('a spoken answer, which has events and no item', () => {
  const spoken = (...data: JsonObject[]) =>
    collect(
      decodeData([
        { type: 'response.created', response: { id: 'r', model: 'm' } },
        ...data,
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
      ]),
    ).candidates[0]?.parts

  test('is sound with its words', () => {
    const parts = spoken(
      { type: 'response.audio.transcript.delta', delta: 'hel' },
      { type: 'response.audio.delta', delta: 'UklG' },
      { type: 'response.audio.transcript.delta', delta: 'lo' },
      { type: 'response.audio.delta', delta: 'RgAA' },
      { type: 'response.audio.transcript.done' },
      { type: 'response.audio.done' },
    )
    expect(parts).toMatchObject([
      {
        type: 'media',
        kind: 'audio',
        mediaType: 'audio/wav',
        source: { type: 'base64', data: 'UklGRgAA' },
        context: 'hello',
      },
    ])
  })

  test('is text where no sound came', () => {
    expect(spoken({ type: 'response.audio.transcript.delta', delta: 'hello' })).toMatchObject([
      { type: 'text', text: 'hello' },
    ])
  })
})

test('of an answer that its limit cuts only what was cut is incomplete', () => {
  const begun = [1, 2].flatMap(block => [callStart(block, 'p', 'custom'), input(block, '*** Begin')])
  const text = encodeStream([START, ...textEvents(0, 'a'), ...begun, callEnd(1), callEnd(2), CUT])
  expect(finalOutput(text).map(({ type, status }) => [type, status])).toEqual([
    ['message', 'completed'],
    ['custom_tool_call', 'completed'],
    ['custom_tool_call', 'incomplete'],
  ])
})

test('an answer that its last event alone calls incomplete is cut', () => {
  const response = { id: 'r', output: [], incomplete_details: { reason: 'max_output_tokens' } }
  const events = decodeData([
    { type: 'response.created', response: { id: 'r' } },
    { type: 'response.incomplete', response },
  ])
  expect(collect(events).candidates[0]?.finish.reason).toBe('length')
})
