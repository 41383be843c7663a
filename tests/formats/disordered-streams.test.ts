import { describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { eventsOf, FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import type { StopReason } from '@/generation/response.ts'
import type { JsonObject } from '@/json/json.ts'
import { streamOf } from './answers/probes.ts'
import { accumulate as accumulateMessage } from './anthropic-messages/sdk.ts'

/** A stream that no vendor's own grammar allows, and what a reader must make of it all the same. */
interface Disorder {
  name: string
  stream: JsonObject[]
  /** What it says; calls as `id name input`. */
  says: { text?: string; reasoning?: string; refusal?: string; calls?: string[]; citations?: string[] }
  ends: StopReason
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

const chunk = (delta: JsonObject, choice: JsonObject = {}): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'zz',
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
})
const call = (entry: JsonObject, choice: JsonObject = {}) => chunk({ tool_calls: [entry] }, choice)
const finish = (reason = 'stop') => chunk({}, { finish_reason: reason })
const usage: JsonObject = { ...chunk({}), choices: [], usage: USAGE }

const CHAT: readonly Disorder[] = [
  {
    name: 'a whole call that comes once more with the finish',
    stream: [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }),
      call(
        { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
        { finish_reason: 'tool_calls' },
      ),
      usage,
    ],
    says: { calls: ['a f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'thoughts by the name that Copilot has for them',
    stream: [
      chunk({ role: 'assistant', content: null, reasoning_text: 'h' }),
      chunk({ reasoning_text: 'm' }),
      chunk({ content: 'a' }),
      finish(),
      usage,
    ],
    says: { text: 'a', reasoning: 'hm' },
    ends: 'end',
  },
  {
    name: 'a call whose arguments are white space',
    stream: [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: ' ' } }),
      finish('tool_calls'),
      usage,
    ],
    says: { calls: ['a f {}'] },
    ends: 'tool-calls',
  },
  {
    name: 'calls with gaps between their indexes, one within the other, and an id that comes late',
    stream: [
      call({ index: 3, function: { name: 'get_' } }),
      call({ index: 3, id: 'a', function: { name: 'it', arguments: '{"x"' } }),
      call({ index: 7, id: 'b', function: { name: 'g', arguments: '{"y"' } }),
      call({ index: 7, function: { arguments: ':2}' } }),
      call({ index: 3, function: { arguments: ':1}' } }),
      finish('tool_calls'),
      usage,
    ],
    says: { calls: ['a get_it {"x":1}', 'b g {"y":2}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a call and thoughts behind the finish, whose usage came before it',
    stream: [
      usage,
      chunk({ role: 'assistant', content: 'a' }),
      finish(),
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      finish('tool_calls'),
    ],
    says: { text: 'a', reasoning: 'hm', calls: ['a f {}'] },
    ends: 'tool-calls',
  },
]

const response = (status: string, output: JsonObject[] = []) => ({
  id: 'resp_1',
  model: 'zz',
  status,
  output,
  usage: status === 'completed' ? { input_tokens: 7, output_tokens: 5, total_tokens: 12 } : null,
})
const event = (type: string, fields: JsonObject): JsonObject => ({ type: `response.${type}`, ...fields })
const created = event('created', { response: response('in_progress') })
const completed = (...output: JsonObject[]) => event('completed', { response: response('completed', output) })
const words = (text: string, annotations: JsonObject[] = []) => ({ type: 'output_text', text, annotations })
const message = (...content: JsonObject[]) => ({ type: 'message', id: 'msg_1', role: 'assistant', content })
const added = (at: number, item: JsonObject) => event('output_item.added', { output_index: at, item })
const done = (at: number, item: JsonObject) => event('output_item.done', { output_index: at, item })
const textDelta = (delta: string, part = 0, at = 0) =>
  event('output_text.delta', { output_index: at, item_id: 'msg_1', content_index: part, delta })
const summaryDelta = (delta: string, part: number, at = 0) =>
  event('reasoning_summary_text.delta', { output_index: at, summary_index: part, delta })
const inputDelta = (delta: string, at: number) =>
  event('function_call_arguments.delta', { output_index: at, delta })
const functionCall = (id: string, name: string, input: string) => ({
  type: 'function_call',
  id,
  call_id: `call_${name}`,
  name,
  arguments: input,
})
const source = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 }
const summary = (...texts: string[]) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: texts.map(text => ({ type: 'summary_text', text })),
})

const RESPONSES: readonly Disorder[] = [
  {
    name: 'two messages side by side, the second of which is done first',
    stream: [
      created,
      added(0, message()),
      textDelta('a'),
      added(1, message()),
      textDelta('X', 0, 1),
      textDelta('b'),
      textDelta('Y', 0, 1),
      done(1, message(words('XY', [source]))),
      done(0, message(words('ab'))),
      completed(),
    ],
    says: { text: 'abXY', citations: ['https://a.example'] },
    ends: 'end',
  },
  {
    name: 'two thoughts, a message and two calls, all side by side',
    stream: [
      created,
      added(0, summary()),
      summaryDelta('one', 0),
      added(1, summary()),
      summaryDelta('two', 0, 1),
      added(2, message()),
      textDelta('a', 0, 2),
      added(3, functionCall('fc_1', 'f', '')),
      inputDelta('{"x"', 3),
      summaryDelta('andmore', 0),
      added(4, functionCall('fc_2', 'g', '')),
      inputDelta('{}', 4),
      done(4, functionCall('fc_2', 'g', '{}')),
      textDelta('b', 0, 2),
      done(2, message(words('ab'))),
      done(1, summary('two')),
      done(0, summary('oneandmore')),
      inputDelta(':1}', 3),
      done(3, functionCall('fc_1', 'f', '{"x":1}')),
      completed(),
    ],
    says: { text: 'ab', reasoning: 'oneandmoretwo', calls: ['call_f f {"x":1}', 'call_g g {}'] },
    ends: 'tool-calls',
  },
  {
    name: 'two parts of a message, one within the other',
    stream: [
      created,
      added(0, message()),
      textDelta('a'),
      textDelta('X', 1),
      textDelta('b'),
      textDelta('Y', 1),
      done(0, message(words('ab'), words('XY'))),
      completed(),
    ],
    says: { text: 'aXbY' },
    ends: 'end',
  },
  {
    name: 'an item that is done before its deltas are',
    stream: [
      created,
      added(0, message()),
      textDelta('he'),
      done(0, message(words('hello'))),
      textDelta('llo'),
      completed(message(words('hello'))),
    ],
    says: { text: 'hello' },
    ends: 'end',
  },
  {
    name: 'sources of the first of two parts that only the done item names',
    stream: [
      created,
      added(0, message()),
      textDelta('a'),
      textDelta('b', 1),
      done(0, message(words('a', [source]), words('b'))),
      completed(),
    ],
    says: { text: 'ab', citations: ['https://a.example'] },
    ends: 'end',
  },
  {
    name: 'a source that is named when its item is done, and again in the end',
    stream: [
      created,
      added(0, message()),
      textDelta('a'),
      done(0, message(words('a'))),
      event('output_text.annotation.added', { output_index: 0, content_index: 0, annotation: source }),
      completed(message(words('a', [source]))),
    ],
    says: { text: 'a', citations: ['https://a.example'] },
    ends: 'end',
  },
  {
    name: 'a source that only the last event names',
    stream: [
      created,
      added(0, message()),
      textDelta('a'),
      done(0, message(words('a'))),
      completed(message(words('a', [source]))),
    ],
    says: { text: 'a', citations: ['https://a.example'] },
    ends: 'end',
  },
  {
    name: 'two calls, one within the other, that only their ids tell apart',
    stream: [
      created,
      event('output_item.added', { item: functionCall('fc_1', 'f', '') }),
      event('output_item.added', { item: functionCall('fc_2', 'g', '') }),
      event('function_call_arguments.delta', { item_id: 'fc_1', delta: '{"x":1}' }),
      event('function_call_arguments.delta', { item_id: 'fc_2', delta: '{"y":2}' }),
      event('output_item.done', { item: functionCall('fc_1', 'f', '{"x":1}') }),
      event('output_item.done', { item: functionCall('fc_2', 'g', '{"y":2}') }),
      completed(),
    ],
    says: { calls: ['call_f f {"x":1}', 'call_g g {"y":2}'] },
    ends: 'tool-calls',
  },
  {
    name: 'two calls under one id',
    stream: [
      created,
      added(0, functionCall('fc_1', 'f', '')),
      done(0, functionCall('fc_1', 'f', '{"x":1}')),
      done(1, { ...functionCall('fc_1', 'g', '{"y":2}'), call_id: 'call_f' }),
      completed(),
    ],
    says: { calls: ['call_f f {"x":1}', 'call_made1 g {"y":2}'] },
    ends: 'tool-calls',
  },
  {
    name: 'calls whose items never come, by their names behind their input',
    stream: [
      created,
      event('function_call_arguments.delta', { output_index: 0, item_id: 'fc_1', delta: '{"x"' }),
      event('function_call_arguments.done', {
        output_index: 0,
        item_id: 'fc_1',
        name: 'f',
        arguments: '{"x":1}',
      }),
      event('function_call_arguments.done', { output_index: 1, item_id: 'fc_2', name: 'g', arguments: '{}' }),
      completed(),
    ],
    says: { calls: ['call_made1 f {"x":1}', 'call_made2 g {}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a call whose item comes behind its input',
    stream: [
      created,
      event('function_call_arguments.done', { output_index: 0, name: 'f', arguments: '{"x":1}' }),
      done(0, functionCall('fc_1', 'f', '{"x":1}')),
      completed(),
    ],
    says: { calls: ['call_f f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a summary whose first part was cut by its second',
    stream: [
      created,
      added(0, summary()),
      summaryDelta('one', 0),
      summaryDelta('two', 1),
      done(0, summary('one and more', 'two')),
      added(1, message()),
      done(1, message(words('a'))),
      completed(),
    ],
    says: { text: 'a', reasoning: 'onetwoandmore' },
    ends: 'end',
  },
]

const start: JsonObject = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    role: 'assistant',
    model: 'zz',
    content: [],
    usage: { input_tokens: 7, output_tokens: 1 },
  },
}
const blockStart = (index: number, block: JsonObject) => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const blockDelta = (index: number, delta: JsonObject) => ({ type: 'content_block_delta', index, delta })
const blockStop = (index: number) => ({ type: 'content_block_stop', index })
const messageEnd = (reason: string) => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const ping = { type: 'ping' }
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
const textBlock = { type: 'text', text: '' }
const textOf = (text: string) => ({ type: 'text_delta', text })
const thought = (thinking: string) => ({ type: 'thinking_delta', thinking })
const inputOf = (json: string) => ({ type: 'input_json_delta', partial_json: json })

const MESSAGES: readonly Disorder[] = [
  {
    name: 'two blocks, one within the other, with pings everywhere and a stop that is missing',
    stream: [
      ping,
      start,
      blockStart(0, textBlock),
      ping,
      blockStart(1, toolUse),
      blockDelta(0, textOf('a')),
      blockDelta(1, inputOf('{"x"')),
      ping,
      blockDelta(0, textOf('b')),
      blockDelta(1, inputOf(':1}')),
      blockStop(1),
      ...messageEnd('tool_use'),
      ping,
    ],
    says: { text: 'ab', calls: ['toolu_1 f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a thought and two texts, all side by side',
    stream: [
      start,
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      blockDelta(0, { type: 'thinking_delta', thinking: 'h' }),
      blockStart(1, textBlock),
      blockDelta(1, textOf('a')),
      blockDelta(0, { type: 'thinking_delta', thinking: 'm' }),
      blockStart(2, textBlock),
      blockDelta(2, textOf('X')),
      blockDelta(1, textOf('b')),
      blockStop(0),
      blockDelta(2, textOf('Y')),
      blockStop(2),
      blockStop(1),
      ...messageEnd('end_turn'),
    ],
    says: { reasoning: 'hm', text: 'abXY' },
    ends: 'end',
  },
  {
    name: 'three calls, two of them under one id and one under none',
    stream: [
      start,
      blockStart(0, toolUse),
      blockStop(0),
      blockStart(1, { ...toolUse, name: 'g' }),
      blockStop(1),
      blockStart(2, { ...toolUse, id: '' }),
      blockStop(2),
      ...messageEnd('tool_use'),
    ],
    says: { calls: ['toolu_1 f {}', 'call_made1 g {}', 'call_made2 f {}'] },
    ends: 'tool-calls',
  },
  {
    name: 'input under another number than the call that is open',
    stream: [
      start,
      blockStart(0, textBlock),
      blockDelta(0, textOf('a')),
      blockStop(0),
      blockStart(1, toolUse),
      blockDelta(2, inputOf('{"x"')),
      blockDelta(2, inputOf(':1}')),
      blockStop(1),
      ...messageEnd('tool_use'),
    ],
    says: { text: 'a', calls: ['toolu_1 f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'thoughts in a block that was announced as text, and words in one of thoughts',
    stream: [
      start,
      blockStart(0, textBlock),
      blockDelta(0, thought('hm')),
      blockDelta(0, textOf('a')),
      blockStop(0),
      blockStart(1, { type: 'thinking', thinking: '', signature: '' }),
      blockDelta(1, textOf('b')),
      blockStop(1),
      ...messageEnd('end_turn'),
    ],
    says: { text: 'ab', reasoning: 'hm' },
    ends: 'end',
  },
  {
    name: 'a second message_delta with another reason, behind a block that came late',
    stream: [
      start,
      blockStart(0, textBlock),
      blockDelta(0, textOf('a')),
      blockStop(0),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      blockStart(1, toolUse),
      blockDelta(1, inputOf('{}')),
      blockStop(1),
      ...messageEnd('tool_use'),
    ],
    says: { text: 'a', calls: ['toolu_1 f {}'] },
    ends: 'tool-calls',
  },
]

const answer = (parts: JsonObject[], more: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
  modelVersion: 'zz',
  responseId: 'r',
})
const STOP = { finishReason: 'STOP' }
const part = (fields: JsonObject, more: JsonObject = {}) => ({ functionCall: fields, ...more })

const GEMINI: readonly Disorder[] = [
  {
    name: 'a reason to end with every chunk',
    stream: [answer([{ text: 'a' }], STOP), answer([{ text: 'b' }], STOP), answer([{ text: 'c' }], STOP)],
    says: { text: 'abc' },
    ends: 'end',
  },
  {
    name: 'a call behind the reason to end, which is said once',
    stream: [answer([{ text: 'a' }], STOP), answer([part({ id: 'a', name: 'f', args: { x: 1 } })])],
    says: { text: 'a', calls: ['a f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'an end that comes twice, word for word',
    stream: [answer([{ text: 'a' }]), answer([{ text: 'b' }], STOP), answer([{ text: 'b' }], STOP)],
    says: { text: 'ab' },
    ends: 'end',
  },
  {
    name: 'another reason behind the first, with nothing between them',
    stream: [answer([{ text: 'a' }], { finishReason: 'MAX_TOKENS' }), answer([], STOP)],
    says: { text: 'a' },
    ends: 'length',
  },
  {
    name: 'another reason behind the first, with words between them',
    stream: [answer([{ text: 'a' }], STOP), answer([{ text: 'b' }], { finishReason: 'MAX_TOKENS' })],
    says: { text: 'ab' },
    ends: 'length',
  },
  {
    name: 'a name first and arguments in the next part',
    stream: [
      answer([part({ id: 'a', name: 'f' })]),
      answer([part({ args: { x: 1 } })]),
      answer([part({ id: 'b', name: 'g' }), { text: 'c' }], STOP),
    ],
    says: { text: 'c', calls: ['a f {"x":1}', 'b g {}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a call that has its name in each of its pieces, with text between them',
    stream: [
      answer([part({ id: 'a', name: 'f', willContinue: true })]),
      answer([{ text: 'hm' }]),
      answer([
        part({ id: 'a', name: 'f', partialArgs: [{ jsonPath: '$.x', numberValue: 1 }], willContinue: true }),
      ]),
      answer([part({})], STOP),
    ],
    says: { text: 'hm', calls: ['a f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'a call that comes again under its id, and another one under the same',
    stream: [
      answer([part({ id: 'a', name: 'f', args: { x: 1 } })]),
      answer([part({ id: 'a', name: 'f', args: { x: 1 } }), part({ id: 'a', name: 'f', args: { x: 2 } })]),
      answer([], STOP),
    ],
    says: { calls: ['a f {"x":1}', 'call_made1 f {"x":2}'] },
    ends: 'tool-calls',
  },
  {
    name: 'arguments in a string',
    stream: [answer([part({ id: 'a', name: 'f', args: '{"x":1}' })], STOP)],
    says: { calls: ['a f {"x":1}'] },
    ends: 'tool-calls',
  },
  {
    name: 'parts with all of their fields written, empty ones too',
    stream: [
      answer([{ text: '', functionCall: { id: 'a', name: 'f', args: { x: 1 } } }]),
      answer([{ text: 'a', functionCall: null, inlineData: null }, {}], STOP),
    ],
    says: { text: 'a', calls: ['a f {"x":1}'] },
    ends: 'tool-calls',
  },
]

const DISORDERS: Record<Format, readonly Disorder[]> = {
  'openai-chat-completions': CHAT,
  'openai-responses': RESPONSES,
  'anthropic-messages': MESSAGES,
  'gemini-generate-content': GEMINI,
}

for (const upstream of FORMATS) {
  describe.each(DISORDERS[upstream].map(disorder => [disorder.name, disorder] as const))(
    `${upstream}: %s`,
    (_, { stream, says, ends }) => {
      const events = eventsOf(upstream, [Buffer.from(streamOf(upstream, stream))])

      test('is read without a loss, and nothing twice', () => {
        expect(inShort(events)).toEqual({ ...NOTHING, ...says })
        expect(collect(events).candidates[0]?.finish.reason).toBe(ends)
      })

      test.each(FORMATS.filter(other => other !== upstream))('is a lawful stream of %s', async caller => {
        const written = runMachine(CODECS[caller].createStreamEncoder(FULL_REPLY), events).join('')
        expect(unlawful(caller, written)).toEqual([])
        expect(inShort(eventsOf(caller, [Buffer.from(written)]))).toEqual({ ...NOTHING, ...says })
        await ACCUMULATES[caller]?.(written)
      })
    },
  )
}

/** What the official SDKs make of a stream; they throw what they cannot take. */
const ACCUMULATES: Partial<Record<Format, (stream: string) => Promise<unknown>>> = {
  'openai-chat-completions': stream =>
    clientOf(stream).chat.completions.stream({ model: 'm', messages: [] }).finalChatCompletion(),
  'openai-responses': stream => clientOf(stream).responses.stream({ model: 'm', input: '' }).finalResponse(),
  'anthropic-messages': accumulateMessage,
}

function clientOf(stream: string): OpenAI {
  const fetch = () =>
    Promise.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
  return new OpenAI({ apiKey: 'sk-test', maxRetries: 0, fetch: Object.assign(fetch, { preconnect() {} }) })
}

const NOTHING = { text: '', reasoning: '', refusal: '', calls: [], citations: [] }

function inShort(events: readonly GenerationEvent[]): Required<Disorder['says']> {
  expect(events.filter(({ type }) => type === 'error')).toEqual([])
  const [told] = said(collect(events)).candidates
  if (told === undefined) throw new Error('there is no answer')
  const { text, reasoning, refusal, calls, citations } = told
  return {
    text,
    reasoning,
    refusal,
    calls: calls.map(({ id, name, input }) => `${id} ${name} ${JSON.stringify(input)}`),
    citations: citations.map(({ url }) => url ?? ''),
  }
}

/** Answers that end in the middle of a call, by whatever ends them, without a word of why. */
const CUT_IN_CALL: Record<Format, readonly JsonObject[]> = {
  'openai-chat-completions': [
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":{"y":1}' } }),
  ],
  'openai-responses': [
    created,
    added(0, functionCall('fc_1', 'f', '')),
    event('function_call_arguments.delta', { output_index: 0, delta: '{"x"' }),
  ],
  'anthropic-messages': [
    start,
    blockStart(0, toolUse),
    blockDelta(0, inputOf('{"x"')),
    { type: 'message_stop' },
  ],
  'gemini-generate-content': [answer([part({ id: 'a', name: 'f', willContinue: true })])],
}

describe.each(FORMATS)('%s: an answer that ends in the middle of a call, and does not say why', upstream => {
  const events = eventsOf(upstream, [Buffer.from(streamOf(upstream, CUT_IN_CALL[upstream]))])

  test.each(FORMATS)('is an error to callers of %s', caller => {
    const written = runMachine(CODECS[caller].createStreamEncoder(FULL_REPLY), events).join('')
    expect(unlawful(caller, written)).toEqual([])
    expect(eventsOf(caller, [Buffer.from(written)]).at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream_error' },
    })
  })
})

describe('an answer of Chat that was broken off', () => {
  const error = { code: 502, message: 'Provider disconnected' }
  test.each([
    ['a choice with an error', { finish_reason: 'error', error }, /Provider disconnected/],
    ['a reason that means one', { finish_reason: 'error' }, /broke its answer off: error/],
    ['want of resources', { finish_reason: 'insufficient_system_resource' }, /insufficient_system_resource/],
    ['an abort', { finish_reason: 'abort' }, /abort/],
    ['a network error', { finish_reason: 'network_error' }, /network_error/],
  ])('by %s is no success, whole or streamed', (_, choice, words) => {
    const codec = CODECS['openai-chat-completions']
    const stream = streamOf('openai-chat-completions', [chunk({ content: 'a' }), chunk({}, choice), usage])
    const events = eventsOf('openai-chat-completions', [Buffer.from(stream)])
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: expect.stringMatching(words) } })
    expect(collect(events).usage).toBeUndefined()
    const body = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, ...choice }],
      usage: USAGE,
    }
    expect(codec.reportedUsage(body)).toBeUndefined()
    expect(() => codec.decodeResponse(body, { vendor: 'v', newId: () => 'x' })).toThrow(words)
  })

  test('a choice whose error is null was not', () => {
    const body = {
      choices: [
        { index: 0, message: { role: 'assistant', content: 'a' }, error: null, finish_reason: 'stop' },
      ],
      usage: USAGE,
    }
    expect(CODECS['openai-chat-completions'].reportedUsage(body)).toMatchObject({ outputText: 5 })
  })
})
