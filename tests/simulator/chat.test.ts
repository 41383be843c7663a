import { describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { collect, rejection, runSimulator, WEATHER_INPUT, WEATHER_SCHEMA } from './running.ts'

const { openai, post } = runSimulator()

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'stream'>
const tool = (name: string) => ({ type: 'function' as const, function: { name, parameters: WEATHER_SCHEMA } })
const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content })

/** The same request whole and through the SDK's stream accumulator. */
async function both(model: string, messages: OpenAI.ChatCompletionMessageParam[], params: Params = {}) {
  const whole = await openai.chat.completions.create({ model, messages, ...params })
  const stream = openai.chat.completions.stream({
    model,
    messages,
    ...params,
    stream_options: { include_usage: true },
  })
  return { whole, streamed: await stream.finalChatCompletion() }
}

describe('chat completions through the official SDK', () => {
  test('echo repeats the last user text, streamed and whole, with the same usage', async () => {
    const { whole, streamed } = await both('echo', [
      { role: 'system', content: 'Be kind.' },
      user('Hello wide 🌍 world'),
    ])
    expect(whole.choices[0]?.message.content).toBe('Hello wide 🌍 world')
    expect(whole.choices[0]?.finish_reason).toBe('stop')
    expect(whole.usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 })
    expect(streamed.choices[0]?.message.content).toBe('Hello wide 🌍 world')
    expect(streamed.usage).toEqual(whole.usage)
  })

  test('the last segment of a model id steers, and words add up', async () => {
    const { whole } = await both('vendor/reason+long-3', [user('x')])
    expect(whole.choices[0]?.message.content).toBe('the toll gate')
    expect(whole.choices[0]?.message).toHaveProperty('reasoning_content', 'Thinking about: x')
    expect(whole.usage?.completion_tokens_details?.reasoning_tokens).toBe(3)
  })

  test('usage is null before the last chunk, and absent unless asked for', async () => {
    const request = { model: 'echo', messages: [user('a b')], stream: true as const }
    const silent = await collect(await openai.chat.completions.create(request))
    expect(silent.every(chunk => !('usage' in chunk))).toBe(true)
    const told = await collect(
      await openai.chat.completions.create({ ...request, stream_options: { include_usage: true } }),
    )
    expect(told.slice(0, -1).every(chunk => chunk.usage === null)).toBe(true)
    expect(told.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 2 } })
  })

  test('tool: calls with fitting arguments, then answers from the result', async () => {
    const tools = [tool('weather')]
    const { whole, streamed } = await both('tool', [user('How is it?')], { tools })
    const call = whole.choices[0]?.message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no function call')
    expect(JSON.parse(call.function.arguments)).toEqual(WEATHER_INPUT)
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls')
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      type: 'function',
      function: { name: 'weather' },
    })
    const history = [user('How is it?'), { role: 'assistant' as const, tool_calls: [call] }]
    const next = await both('tool', [...history, { role: 'tool', tool_call_id: call.id, content: 'sunny' }], {
      tools,
    })
    expect(next.whole.choices[0]?.message.content).toBe('Result: sunny')
    expect(next.streamed.choices[0]?.message.content).toBe('Result: sunny')
  })

  test('parallel: the deltas of two calls interleave', async () => {
    const tools = [tool('first'), tool('second')]
    const chunks = await collect(
      await openai.chat.completions.create({ model: 'parallel', messages: [user('x')], tools, stream: true }),
    )
    const order = chunks.flatMap(chunk => chunk.choices[0]?.delta.tool_calls?.map(call => call.index) ?? [])
    expect(order.slice(0, 6)).toEqual([0, 1, 0, 1, 0, 1])
    const { streamed } = await both('parallel', [user('x')], { tools })
    const calls = streamed.choices[0]?.message.tool_calls ?? []
    expect(
      calls.map(
        call => call.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)],
      ),
    ).toEqual([
      ['first', WEATHER_INPUT],
      ['second', WEATHER_INPUT],
    ])
    const single = await both('parallel', [user('x')], { tools, parallel_tool_calls: false })
    expect(single.whole.choices[0]?.message.tool_calls).toHaveLength(1)
  })

  test("parallel: strict calls come one after the other, as OpenAI's stream helper needs them", async () => {
    const strict = (name: string) => ({
      type: 'function' as const,
      function: {
        name,
        strict: true,
        parameters: { ...WEATHER_SCHEMA, required: Object.keys(WEATHER_SCHEMA.properties) },
      },
    })
    const { whole, streamed } = await both('parallel', [user('x')], {
      tools: [strict('first'), strict('second')],
    })
    const inputs = (answer: typeof whole) =>
      answer.choices[0]?.message.tool_calls?.map(call => call.type === 'function' && call.function.arguments)
    expect(inputs(streamed)).toHaveLength(2)
    expect(inputs(streamed)).toEqual(inputs(whole))
  })

  test('a forced tool is called by any model, and a custom tool gets the user text', async () => {
    const { whole } = await both('echo', [user('say "hi"\nplease')], {
      tools: [tool('weather'), { type: 'custom', custom: { name: 'patch' } }],
      tool_choice: { type: 'custom', custom: { name: 'patch' } },
    })
    expect(whole.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      type: 'custom',
      custom: { name: 'patch', input: 'say "hi"\nplease' },
    })
  })

  test('legacy functions are called in their own field', async () => {
    const functions = [{ name: 'weather', parameters: WEATHER_SCHEMA }]
    const { whole, streamed } = await both('tool', [user('x')], { functions })
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { function_call: { name: 'weather' } },
    })
    expect(streamed.choices[0]?.message.function_call?.arguments).toBe(
      whole.choices[0]?.message.function_call?.arguments ?? '',
    )
  })

  test('long-N stops at the token limit and says length', async () => {
    const { whole, streamed } = await both('long-50', [user('x')], { max_completion_tokens: 7 })
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'length' })
    expect(whole.usage?.completion_tokens).toBe(7)
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content ?? '')
    expect(
      (await both('long-7', [user('x')], { max_completion_tokens: 7 })).whole.choices[0]?.finish_reason,
    ).toBe('stop')
  })

  test('stop sequences cut the text, also across deltas', async () => {
    const { whole, streamed } = await both('echo', [user('one two three four')], { stop: ['o thr', 'four'] })
    expect(whole.choices[0]).toMatchObject({ message: { content: 'one tw' }, finish_reason: 'stop' })
    expect(streamed.choices[0]?.message.content).toBe('one tw')
  })

  test('structured output is the smallest instance of the schema, and JSON mode an object', async () => {
    const json_schema = {
      name: 'weather',
      strict: true,
      schema: { ...WEATHER_SCHEMA, required: ['city', 'days', 'note'] },
    }
    const { whole, streamed } = await both('echo', [user('x')], {
      response_format: { type: 'json_schema', json_schema },
    })
    expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toEqual({ ...WEATHER_INPUT, note: 'text' })
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content ?? '')
    const loose = await both('echo', [user('x')], { response_format: { type: 'json_object' } })
    expect(JSON.parse(loose.whole.choices[0]?.message.content ?? '')).toEqual({ echo: 'x' })
  })

  test('n answers and their log probabilities', async () => {
    const { whole, streamed } = await both('echo', [user('a b')], { n: 2, logprobs: true, top_logprobs: 2 })
    expect(whole.choices.map(choice => choice.message.content)).toEqual(['a b', 'a b'])
    expect(
      whole.choices[1]?.logprobs?.content?.map(entry => [entry.token, entry.top_logprobs.length]),
    ).toEqual([
      ['a', 2],
      [' b', 2],
    ])
    expect(whole.usage?.completion_tokens).toBe(4)
    expect(streamed.choices.map(choice => choice.message.content)).toEqual(['a b', 'a b'])
  })

  test('refuse, filter and image have their own places', async () => {
    const refused = await both('refuse', [user('x')])
    expect(refused.whole.choices[0]?.message).toMatchObject({
      content: null,
      refusal: 'I cannot help with that.',
    })
    expect(refused.streamed.choices[0]?.message.refusal).toBe('I cannot help with that.')
    expect(
      (await openai.chat.completions.create({ model: 'filter', messages: [user('x')] })).choices[0]
        ?.finish_reason,
    ).toBe('content_filter')
    const image = await openai.chat.completions.create({ model: 'image', messages: [user('x')] })
    expect(image.choices[0]?.message).toHaveProperty('images')
  })

  test('a long prompt seen before is read from the cache', async () => {
    const messages = [{ role: 'system' as const, content: 'word '.repeat(1000) }, user('x')]
    expect((await both('echo', messages)).whole.usage?.prompt_tokens_details?.cached_tokens).toBe(0)
    const again = await openai.chat.completions.create({
      model: 'echo',
      messages: [...messages.slice(0, 1), user('y')],
    })
    expect(again.usage).toMatchObject({ prompt_tokens: 1251, prompt_tokens_details: { cached_tokens: 1152 } })
  })

  test('nousage reports none', async () => {
    expect(
      (await openai.chat.completions.create({ model: 'nousage', messages: [user('x')] })).usage,
    ).toBeUndefined()
  })

  test.each([
    ['error-429', 429, 'rate_limit_error'],
    ['error-500', 500, 'server_error'],
    ['unknown', 404, 'invalid_request_error'],
  ])('%s answers %i in the vendor shape', async (model, status, type) => {
    const response = await post('/v1/chat/completions', { model, messages: [user('x')] })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { type, message: expect.any(String) } })
    expect(response.headers.get('retry-after')).toBe(status === 429 ? '1' : null)
  })

  test.each(['error-midstream', 'error-first', 'cut-3'])(
    '%s is an error for the SDK, not an end',
    async model => {
      const stream = openai.chat.completions.stream({ model: `${model}+long-9`, messages: [user('x')] })
      expect(await rejection(stream.finalChatCompletion())).toBeString()
    },
  )

  test('a missing key is a 401', async () => {
    expect((await post('/v1/chat/completions', {}, { authorization: '' })).status).toBe(401)
  })
})

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }

describe('chat completions refuses', () => {
  test.each<[string, number, Record<string, unknown>]>([
    ['no messages', 400, {}],
    ['an unknown role', 400, { messages: [{ role: 'robot', content: 'x' }] }],
    [
      'a Responses content part',
      400,
      { messages: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] },
    ],
    [
      'a tool message without its call',
      400,
      { messages: [user('x'), { role: 'tool', tool_call_id: 'call_1', content: 'x' }] },
    ],
    [
      'a tool message of another call',
      400,
      {
        messages: [
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_2', content: 'x' },
        ],
      },
    ],
    ['an unanswered call', 400, { messages: [{ role: 'assistant', tool_calls: [call] }, user('x')] }],
    [
      'arguments that are no string',
      400,
      {
        messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }],
      },
    ],
    [
      'an image in a tool message',
      400,
      {
        messages: [
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'image_url', image_url: { url: 'x' } }] },
        ],
      },
    ],
    ['a tool kind of another format', 422, { messages: [user('x')], tools: [{ type: 'web_search' }] }],
    ['a flat function tool', 400, { messages: [user('x')], tools: [{ type: 'function', name: 'f' }] }],
    [
      'a tool name with a dot',
      400,
      { messages: [user('x')], tools: [{ type: 'function', function: { name: 'a.b' } }] },
    ],
    [
      'a strict schema with optional keys',
      400,
      {
        messages: [user('x')],
        tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: WEATHER_SCHEMA } }],
      },
    ],
    ['tool_choice without tools', 400, { messages: [user('x')], tool_choice: 'auto' }],
    ['five stop sequences', 400, { messages: [user('x')], stop: ['a', 'b', 'c', 'd', 'e'] }],
    [
      'stream_options without a stream',
      400,
      { messages: [user('x')], stream_options: { include_usage: true } },
    ],
    ['max_tokens for a new model', 400, { model: 'gpt-5.1/echo', messages: [user('x')], max_tokens: 5 }],
  ])('%s', async (_, status, body) => {
    const response = await post('/v1/chat/completions', { model: 'echo', ...body })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.any(String) },
    })
  })

  test('but takes unknown fields', async () => {
    expect(
      (await post('/v1/chat/completions', { model: 'echo', messages: [user('x')], tomorrow: 1 })).status,
    ).toBe(200)
  })
})
