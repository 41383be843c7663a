import { describe, expect, test } from 'bun:test'
import type Anthropic from '@anthropic-ai/sdk'
import { rejection, runSimulator, WEATHER_INPUT, WEATHER_SCHEMA } from './running.ts'

const { anthropic, post } = runSimulator()

type Params = Partial<Anthropic.MessageCreateParamsNonStreaming>
const tool = (name: string): Anthropic.Tool => ({ name, input_schema: { ...WEATHER_SCHEMA, type: 'object' } })
const user = (content: Anthropic.MessageParam['content']): Anthropic.MessageParam => ({
  role: 'user',
  content,
})

/** The same request whole and through the SDK's stream accumulator. */
async function both(model: string, messages: Anthropic.MessageParam[], params: Params = {}) {
  const body = { model, messages, max_tokens: 1000, ...params }
  const whole = await anthropic.messages.create({ ...body, stream: false })
  return { whole, streamed: await anthropic.messages.stream({ ...body, stream: true }).finalMessage() }
}

describe('messages through the official SDK', () => {
  test('echo repeats the last user text, streamed and whole, with the same usage', async () => {
    const { whole, streamed } = await both('echo', [user('Hello wide 🌍 world')], { system: 'Be kind.' })
    expect(whole).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'Hello wide 🌍 world' }],
    })
    expect(whole.usage).toMatchObject({ input_tokens: 8, output_tokens: 4 })
    expect(streamed).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'Hello wide 🌍 world' }],
    })
    expect(streamed.usage).toMatchObject({ input_tokens: 8, output_tokens: 4 })
  })

  test('the stream has a ping and pads its deltas', async () => {
    const text = await (
      await post('/v1/messages', { model: 'echo', max_tokens: 9, messages: [user('a b c')], stream: true })
    ).text()
    const names = text
      .split('\n')
      .filter(line => line.startsWith('event: '))
      .map(line => line.slice(7))
    expect(names).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(text).toMatch(/} +}\n/)
  })

  test('reason: thinking with a signature that is known again, unless it was altered', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    const { whole, streamed } = await both('reason', [user('x')], { thinking, max_tokens: 2000 })
    expect(JSON.parse(JSON.stringify(streamed.content))).toEqual(whole.content)
    const [thought] = whole.content
    if (thought?.type !== 'thinking') throw new Error('no thinking')
    expect(thought.thinking).toBe('Thinking about: x')
    const again = (block: Anthropic.ThinkingBlockParam) =>
      post('/v1/messages', {
        model: 'echo',
        max_tokens: 9,
        messages: [
          user('x'),
          { role: 'assistant', content: [block, { type: 'text', text: 'x' }] },
          user('y'),
        ],
      })
    expect((await again(thought)).status).toBe(200)
    expect((await again({ ...thought, thinking: '' })).status).toBe(200)
    expect((await again({ ...thought, thinking: 'Other' })).status).toBe(400)
    expect((await again({ ...thought, signature: 'foreign' })).status).toBe(400)
    const silent = await both('reason', [user('x')], { thinking: { type: 'disabled' } })
    expect(silent.whole.content).toHaveLength(1)
  })

  test('a model thinks where it begins to work, and need not between its calls', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    const { whole } = await both('reason', [user('x')], { thinking, max_tokens: 2000 })
    const call = (id: string) => ({ type: 'tool_use' as const, id, name: 'weather', input: WEATHER_INPUT })
    const answered = (id: string) => user([{ type: 'tool_result', tool_use_id: id, content: 'mild' }])
    const loop = (...[first, second]: Anthropic.ContentBlockParam[][]) =>
      post('/v1/messages', {
        model: 'echo',
        max_tokens: 2000,
        thinking,
        tools: [tool('weather')],
        messages: [
          user('x'),
          { role: 'assistant', content: [...(first ?? []), call('toolu_1')] },
          answered('toolu_1'),
          { role: 'assistant', content: [...(second ?? []), call('toolu_2')] },
          answered('toolu_2'),
        ],
      })
    const thought = whole.content.slice(0, 1)
    expect((await loop(thought, [])).status).toBe(200)
    expect((await loop(thought, thought)).status).toBe(200)
    expect((await loop([], thought)).status).toBe(400)
  })

  test('tool: calls with a fitting input, then answers from the result', async () => {
    const tools = [tool('weather')]
    const { whole, streamed } = await both('tool', [user('How is it?')], { tools })
    const [call] = whole.content
    if (call?.type !== 'tool_use') throw new Error('no tool use')
    expect(call).toMatchObject({ name: 'weather', input: WEATHER_INPUT })
    expect(streamed).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ name: 'weather', input: WEATHER_INPUT }],
    })
    const history = [user('How is it?'), { role: 'assistant' as const, content: [call] }]
    const next = await both(
      'tool',
      [...history, user([{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }])],
      { tools },
    )
    expect(next.whole.content).toMatchObject([{ text: 'Result: sunny' }])
    expect(next.streamed.content).toMatchObject([{ text: 'Result: sunny' }])
  })

  test('parallel: two calls in blocks one after the other', async () => {
    const tools = [tool('first'), tool('second')]
    const { whole, streamed } = await both('parallel', [user('x')], { tools })
    expect(whole.content).toMatchObject([
      { name: 'first', input: WEATHER_INPUT },
      { name: 'second', input: WEATHER_INPUT },
    ])
    expect(streamed.content).toMatchObject([
      { name: 'first', input: WEATHER_INPUT },
      { name: 'second', input: WEATHER_INPUT },
    ])
    const single = await both('parallel', [user('x')], {
      tools,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    })
    expect(single.whole.content).toHaveLength(1)
  })

  test('limits and stop sequences say what ended the text', async () => {
    const long = await both('long-50', [user('x')], { max_tokens: 7 })
    expect(long.whole).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 7 } })
    expect(long.streamed).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 7 } })
    const stopped = await both('echo', [user('one two three')], { stop_sequences: ['two'] })
    expect(stopped.whole).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'two',
      content: [{ text: 'one ' }],
    })
    expect(stopped.streamed).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two' })
  })

  test('a warm-up with no tokens answers with nothing', async () => {
    expect((await both('echo', [user('x')], { max_tokens: 0 })).whole).toMatchObject({
      stop_reason: 'max_tokens',
      content: [],
    })
  })

  test('structured output is the smallest instance of the schema', async () => {
    const schema = { ...WEATHER_SCHEMA, properties: { city: { type: 'string' } }, required: ['city'] }
    const { whole } = await both('echo', [user('x')], {
      output_config: { format: { type: 'json_schema', schema } },
    })
    expect(whole.content).toMatchObject([{ text: '{"city":"text"}' }])
  })

  test('refuse says refusal, image is told in words', async () => {
    expect((await both('refuse', [user('x')])).streamed).toMatchObject({
      stop_reason: 'refusal',
      content: [{ text: 'I cannot help with that.' }],
    })
    expect((await both('image', [user('x')])).streamed).toMatchObject({ content: [{ text: 'x [image]' }] })
  })

  test('marked prefixes are written once and read after that', async () => {
    const block = {
      type: 'text' as const,
      text: 'word '.repeat(80),
      cache_control: { type: 'ephemeral' as const, ttl: '1h' as const },
    }
    const ask = (text: string) =>
      anthropic.messages.create({
        model: 'echo',
        max_tokens: 9,
        system: [block],
        messages: [user(text)],
      })
    const first = await ask('x')
    expect(first.usage).toMatchObject({
      input_tokens: 1,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_1h_input_tokens: 100, ephemeral_5m_input_tokens: 0 },
    })
    const again = await ask('other')
    expect(again.usage).toMatchObject({
      input_tokens: 2,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
    })
  })

  test('a system message brings tools and takes them away', async () => {
    const definition = tool('brought')
    const addition = { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
    const removal = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'declared' } }
    const called = async (...content: unknown[]) => {
      const messages = [user('x'), { role: 'system', content }]
      const answer = await post('/v1/messages', {
        model: 'parallel',
        max_tokens: 99,
        tools: [tool('declared')],
        messages,
      })
      const { content: blocks, error } = (await answer.json()) as Anthropic.Message & { error?: unknown }
      return error ?? blocks.map(block => block.type === 'tool_use' && block.name)
    }
    expect(await called(addition, removal)).toEqual(['brought', 'brought'])
    expect(await called(addition, { ...addition, type: 'tool_removal' })).toEqual(['declared', 'declared'])
    const again = { ...removal, type: 'tool_addition' }
    expect(await called(removal, again)).toEqual(['declared', 'declared'])
    const unknown = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'unknown' } }
    expect(await called(unknown)).toMatchObject({
      message: expect.stringContaining("no tool is named 'unknown'"),
    })
  })

  test.each([
    ['brought', 200],
    ['declared', 400],
  ])('of tools that system messages bring and take away, %s is forced: %p', async (name, status) => {
    const content = [
      { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('brought') } },
      { type: 'tool_removal', tool: { type: 'tool_reference', name: 'declared' } },
    ]
    const answer = await post('/v1/messages', {
      model: 'tool',
      max_tokens: 99,
      tools: [tool('declared')],
      tool_choice: { type: 'tool', name },
      messages: [user('x'), { role: 'system', content }],
    })
    expect(answer.status).toBe(status)
  })

  test("a tool that the vendor's server runs can be forced", async () => {
    const answer = await anthropic.messages.create({
      model: 'echo',
      max_tokens: 9,
      messages: [user('x')],
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
      tool_choice: { type: 'tool', name: 'web_search' },
    })
    expect(answer.stop_reason).toBe('end_turn')
  })

  test('tokens are counted as the answer counts them', async () => {
    expect(
      await anthropic.messages.countTokens({ model: 'echo', messages: [user('twelve bytes')] }),
    ).toMatchObject({ input_tokens: 3 })
  })

  test.each(['error-midstream', 'error-first', 'cut-4'])(
    '%s is an error for the SDK, not an end',
    async model => {
      const stream = anthropic.messages.stream({
        model: `${model}+long-9`,
        max_tokens: 99,
        messages: [user('x')],
      })
      expect(await rejection(stream.finalMessage())).toBeString()
    },
  )

  test.each([
    ['error-529', 529, 'overloaded_error'],
    ['error-402', 402, 'billing_error'],
    ['unknown', 404, 'not_found_error'],
  ])('%s answers %i in the vendor shape', async (model, status, type) => {
    const response = await post('/v1/messages', { model, max_tokens: 9, messages: [user('x')] })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type },
      request_id: response.headers.get('request-id'),
    })
  })
})

const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] }
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }
const text = { type: 'text', text: 'x' }
const mark = { ...text, cache_control: { type: 'ephemeral' } }

describe('messages refuses', () => {
  test.each<[string, Record<string, unknown>, Record<string, string>?]>([
    ['a request without max_tokens', { max_tokens: undefined }],
    ['a request without a version', {}, { 'anthropic-version': '' }],
    ['sampling in the newest version', { temperature: 1 }, { 'anthropic-version': '2026-10-21' }],
    ['a temperature above one', { temperature: 1.5 }],
    ['an unanswered call', { messages: [user('x'), use, user('y')] }],
    [
      'results behind other content',
      { messages: [user('x'), use, { role: 'user', content: [text, result] }] },
    ],
    ['a result without its call', { messages: [{ role: 'user', content: [result] }] }],
    [
      'a call id outside the alphabet',
      {
        messages: [
          user('x'),
          { role: 'assistant', content: [{ ...use.content[0], id: 'call:1' }] },
          { role: 'user', content: [{ ...result, tool_use_id: 'call:1' }] },
        ],
      },
    ],
    [
      'an input that is a string',
      {
        messages: [
          user('x'),
          { role: 'assistant', content: [{ ...use.content[0], input: '{}' }] },
          { role: 'user', content: [result] },
        ],
      },
    ],
    ['empty text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    ['an empty message', { messages: [user('')] }],
    ['a tool name with a dot', { tools: [{ name: 'a.b', input_schema: { type: 'object' } }] }],
    ['a tool without its schema type', { tools: [{ name: 'f', input_schema: {} }] }],
    [
      'an argument whose name has a sign of its own',
      { tools: [{ name: 'f', input_schema: { type: 'object', properties: { $top: {} } } }] },
    ],
    [
      "a tool that is called as one of the server's",
      {
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { name: 'web_search', input_schema: { type: 'object' } },
        ],
      },
    ],
    ['tool_choice without tools', { tool_choice: { type: 'auto' } }],
    [
      'a forced tool with thinking',
      {
        max_tokens: 2000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: [{ name: 'f', input_schema: { type: 'object' } }],
        tool_choice: { type: 'any' },
      },
    ],
    [
      'a thinking budget above max_tokens',
      { max_tokens: 1024, thinking: { type: 'enabled', budget_tokens: 1024 } },
    ],
    [
      'an image of an unknown type',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } }],
          },
        ],
      },
    ],
    ['five cache marks', { messages: [{ role: 'user', content: [mark, mark, mark, mark, mark] }] }],
    [
      'an open schema for the output',
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    [
      'an output that may be anything',
      { output_config: { format: { type: 'json_schema', schema: { title: 'Data' } } } },
    ],
    [
      'an output that is one of no values',
      { output_config: { format: { type: 'json_schema', schema: { type: 'string', enum: [] } } } },
    ],
    [
      'an output whose values have a list of types',
      {
        output_config: {
          format: { type: 'json_schema', schema: { type: ['string', 'null'], enum: ['a', null] } },
        },
      },
    ],
    ['a prefill with blanks at its end', { messages: [user('x'), { role: 'assistant', content: 'so ' }] }],
  ])('%s', async (_, body, headers = {}) => {
    const response = await post(
      '/v1/messages',
      { model: 'echo', max_tokens: 9, messages: [user('x')], ...body },
      headers,
    )
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.any(String) },
    })
  })

  test('a thread, in the way that makes the SDK send full histories', async () => {
    const response = await post('/v1/messages', {
      model: 'echo',
      max_tokens: 9,
      messages: [user('x')],
      thread: { type: 'create' },
    })
    expect(await response.json()).toMatchObject({
      error: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
    })
  })

  test('but merges neighbours and takes results spread over them', async () => {
    const two = { role: 'assistant', content: [use.content[0], { ...use.content[0], id: 'toolu_2' }] }
    const messages = [
      user('x'),
      two,
      { role: 'user', content: [result] },
      { role: 'user', content: [{ ...result, tool_use_id: 'toolu_2' }, text] },
    ]
    expect((await post('/v1/messages', { model: 'echo', max_tokens: 9, messages, tomorrow: 1 })).status).toBe(
      200,
    )
  })

  test.each([
    { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
    { type: 'mcp_tool_listing', mcp_server_name: 'files', tools: [] },
    {
      type: 'advisor_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'advisor_result', text: 'go' },
    },
  ])('and what the vendor said of its own workings in an earlier answer: %j', async block => {
    const messages = [
      user('x'),
      { role: 'assistant', content: [block, { type: 'text', text: 'so' }] },
      user('y'),
    ]
    expect((await post('/v1/messages', { model: 'echo', max_tokens: 9, messages })).status).toBe(200)
  })
})
