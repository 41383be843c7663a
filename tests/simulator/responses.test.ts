import { describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { collect, rejection, runSimulator, WEATHER_INPUT, WEATHER_SCHEMA } from './running.ts'

const { openai, post } = runSimulator()

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'input' | 'stream'>
type Input = OpenAI.Responses.ResponseInput
const tool = (name: string) => ({
  type: 'function' as const,
  name,
  parameters: WEATHER_SCHEMA,
  strict: false,
})

/** The same request whole and through the SDK's stream accumulator. */
async function both(model: string, input: string | Input, params: Params = {}) {
  const whole = await openai.responses.create({ model, input, ...params })
  const stream = openai.responses.stream({ model, input, ...params })
  return { whole, streamed: await stream.finalResponse() }
}

async function eventsOf(model: string, input: string | Input, params: Params = {}) {
  return collect(await openai.responses.create({ model, input, ...params, stream: true }))
}

describe('responses through the official SDK', () => {
  test('echo repeats the last user text, streamed and whole, with the same usage', async () => {
    const { whole, streamed } = await both('echo', 'Hello wide 🌍 world', { instructions: 'Be kind.' })
    expect(whole.output_text).toBe('Hello wide 🌍 world')
    expect(whole).toMatchObject({
      status: 'completed',
      instructions: 'Be kind.',
      usage: { input_tokens: 8, output_tokens: 4, total_tokens: 12 },
    })
    expect(streamed.output_text).toBe('Hello wide 🌍 world')
    expect(streamed.usage).toEqual(whole.usage)
  })

  test('the stream has the full lifecycle, numbered from zero', async () => {
    const events = await eventsOf('echo', 'a b')
    expect(events.map(event => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.map(event => event.sequence_number)).toEqual([...events.keys()])
  })

  test('reason: a summary first, sealed when asked for, and the seal is known again', async () => {
    const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
    const { whole, streamed } = await both('reason', 'x', {
      reasoning: { effort: 'low', summary: 'auto' },
      include,
      store: false,
    })
    const [reasoning] = whole.output
    expect(reasoning).toMatchObject({ type: 'reasoning', summary: [{ text: 'Thinking about: x' }] })
    expect(streamed.output[0]).toMatchObject({ summary: [{ text: 'Thinking about: x' }] })
    expect(whole.usage?.output_tokens_details.reasoning_tokens).toBe(3)
    if (reasoning?.type !== 'reasoning') throw new Error('no reasoning')
    const next = await openai.responses.create({
      model: 'echo',
      input: [{ role: 'user', content: 'x' }, reasoning, { role: 'user', content: 'again' }],
    })
    expect(next.output_text).toBe('again')
    const hidden = await openai.responses.create({
      model: 'reason',
      input: 'x',
      reasoning: { effort: 'low' },
    })
    expect(hidden.output[0]).toMatchObject({ type: 'reasoning', summary: [] })
  })

  test('tool: calls with fitting arguments, then answers from the result', async () => {
    const tools = [tool('weather')]
    const { whole, streamed } = await both('tool', 'How is it?', { tools })
    const [call] = whole.output
    if (call?.type !== 'function_call') throw new Error('no function call')
    expect(JSON.parse(call.arguments)).toEqual(WEATHER_INPUT)
    expect(streamed.output[0]).toMatchObject({
      type: 'function_call',
      name: 'weather',
      arguments: call.arguments,
      status: 'completed',
    })
    const next = await both(
      'tool',
      [
        { role: 'user', content: 'How is it?' },
        call,
        { type: 'function_call_output', call_id: call.call_id, output: 'sunny' },
      ],
      { tools },
    )
    expect(next.whole.output_text).toBe('Result: sunny')
    expect(next.streamed.output_text).toBe('Result: sunny')
  })

  test('parallel: two calls are open at once', async () => {
    const tools = [tool('first'), tool('second')]
    const events = await eventsOf('parallel', 'x', { tools })
    const order = events.flatMap(event =>
      event.type === 'response.function_call_arguments.delta' ? [event.output_index] : [],
    )
    expect(order.slice(0, 4)).toEqual([0, 1, 0, 1])
    const { streamed } = await both('parallel', 'x', { tools })
    expect(streamed.output).toMatchObject([{ name: 'first' }, { name: 'second' }])
  })

  test('namespace and custom tools come back as they were offered', async () => {
    const tools = [{ type: 'namespace', name: 'files', tools: [{ type: 'custom', name: 'patch' }] }]
    const response = await post('/v1/responses', {
      model: 'tool',
      input: [
        { type: 'additional_tools', role: 'developer', tools },
        { role: 'user', content: 'fix "it"' },
      ],
    })
    expect(await response.json()).toMatchObject({
      output: [{ type: 'custom_tool_call', name: 'patch', namespace: 'files', input: 'fix "it"' }],
    })
    const events = await (
      await post('/v1/responses', { model: 'tool', input: 'a b', tools, stream: true })
    ).text()
    expect(events).toContain('event: response.custom_tool_call_input.delta')
  })

  test('a limit leaves the item incomplete, in the middle of a call too', async () => {
    const { whole, streamed } = await both('long-50', 'x', { max_output_tokens: 16 })
    expect(whole).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
      usage: { output_tokens: 16 },
    })
    expect(streamed).toMatchObject({ status: 'incomplete', output: [{ status: 'incomplete' }] })
    const required = Array.from({ length: 20 }, (_, index) => `key${index}`)
    const properties = Object.fromEntries(required.map(name => [name, { type: 'string' }]))
    const tools = [
      {
        type: 'function' as const,
        name: 'wide',
        strict: false,
        parameters: { type: 'object', properties, required },
      },
    ]
    const cut = await eventsOf('tool', 'x', { tools, max_output_tokens: 16 })
    expect(cut.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { output: [{ type: 'function_call', status: 'incomplete' }] },
    })
  })

  test('structured output is the smallest instance of the schema', async () => {
    const format = { type: 'json_schema' as const, name: 'weather', schema: WEATHER_SCHEMA }
    const { whole, streamed } = await both('echo', 'x', { text: { format } })
    expect(JSON.parse(whole.output_text)).toEqual(WEATHER_INPUT)
    expect(streamed.output_text).toBe(whole.output_text)
  })

  test('refuse, filter, image and log probabilities have their own places', async () => {
    const refused = await both('refuse', 'x')
    expect(refused.streamed.output).toMatchObject([
      { content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] },
    ])
    expect(refused.whole.output).toMatchObject([{ content: [{ type: 'refusal' }] }])
    expect(await openai.responses.create({ model: 'filter', input: 'x' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    })
    const image = await both('image', 'x')
    expect(image.streamed.output).toMatchObject([
      { type: 'message' },
      { type: 'image_generation_call', result: expect.any(String) },
    ])
    const { whole } = await both('echo', 'a b', {
      top_logprobs: 1,
      include: ['message.output_text.logprobs'],
    })
    expect(whole.output).toMatchObject([{ content: [{ logprobs: [{ token: 'a' }, { token: ' b' }] }] }])
  })

  test('input tokens are counted as the answer counts them', async () => {
    const counted = await openai.responses.inputTokens.count({ model: 'echo', input: 'twelve bytes' })
    expect(counted).toMatchObject({ object: 'response.input_tokens', input_tokens: 3 })
  })

  test.each(['error-midstream', 'error-first', 'cut-5'])(
    '%s is an error for the SDK, not an end',
    async model => {
      const stream = openai.responses.stream({ model: `${model}+long-9`, input: 'x' })
      expect(await rejection(stream.finalResponse())).toBeString()
    },
  )

  test('a stream that fails ends in response.failed', async () => {
    const text = await (
      await post('/v1/responses', { model: 'error-midstream+long-9', input: 'x', stream: true })
    ).text()
    expect(text.trim().split('\n\n').at(-1)).toStartWith('event: response.failed\n')
  })
})

const user = { role: 'user', content: 'x' }
const functionCall = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' }

describe('responses refuses', () => {
  test.each<[string, Record<string, unknown>]>([
    ['no input', {}],
    ['an output without its call', { input: [user, output] }],
    ['a call without its output', { input: [user, functionCall] }],
    [
      'a call of the wrong kind',
      { input: [user, functionCall, { ...output, type: 'custom_tool_call_output' }] },
    ],
    ['a function name with a dot', { input: [user, { ...functionCall, name: 'a.b' }, output] }],
    ['a name of 65 characters', { input: 'x', tools: [{ type: 'function', name: 'n'.repeat(65) }] }],
    ['a nested function tool', { input: 'x', tools: [{ type: 'function', function: { name: 'f' } }] }],
    [
      'a foreign seal',
      { input: [user, { type: 'reasoning', summary: [], encrypted_content: 'gAAAAABforeign' }] },
    ],
    ['reasoning without a summary list', { input: [{ type: 'reasoning', id: 'rs_1' }] }],
    ['an item id of another kind', { input: [user, { ...functionCall, id: 'call_1' }, output] }],
    [
      'input text from the assistant',
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
    ],
    [
      'output text from the user',
      { input: [{ role: 'user', content: [{ type: 'output_text', text: 'x' }] }] },
    ],
    ['a call id of 65 characters', { input: [{ ...functionCall, call_id: 'c'.repeat(65) }] }],
    ['a small token limit', { input: 'x', max_output_tokens: 15 }],
    ['the fields of chat', { input: 'x', response_format: { type: 'json_object' } }],
    ['an unknown previous response', { input: 'x', previous_response_id: 'resp_1' }],
    [
      'a nested JSON schema',
      { input: 'x', text: { format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } } } },
    ],
  ])('%s', async (_, body) => {
    const response = await post('/v1/responses', { model: 'echo', ...body })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.any(String) },
    })
  })

  test.each<[string, Record<string, unknown>]>([
    ['unknown fields and unknown items', { tomorrow: 1, input: [{ type: 'tomorrow' }, user] }],
    ['an output that no call asked for', { input: [user, { ...output, call_id: null, name: 'f' }] }],
    [
      'a function whose parameters are null',
      { input: 'x', tools: [{ type: 'function', name: 'f', parameters: null, strict: null }] },
    ],
  ])('but takes %s', async (_, body) => {
    expect((await post('/v1/responses', { model: 'echo', ...body })).status).toBe(200)
  })
})
