import { describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream, fedStream } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway()

const TEXT = 'a sentence of a good number of words, so that it is counted as more than one token'

/** An upstream of Chat that tells nothing of what it used. */
const answers = {
  events: () =>
    eventStream(
      `${[
        { choices: [{ index: 0, delta: { role: 'assistant', content: TEXT } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      ]
        .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
        .join('')}data: [DONE]\n\n`,
    ),
  whole: () =>
    Response.json({
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    }),
}

interface Counted {
  usage: { input_tokens: number; output_tokens: number }
}

/** The stored result of the exchange that was just made. */
async function storedOf(response: Response): Promise<Record<string, unknown>> {
  const id = response.headers.get('x-request-id')
  return (await gateway.exchanges()).find(row => row['id'] === id) ?? {}
}

describe('an answer whose upstream says nothing of what it used', () => {
  const messages = [{ role: 'user', content: 'hi there, how are you today?' }]
  const asked = { model: 'chat/echo', max_tokens: 100, messages }

  test.each(['events', 'whole'] as const)(
    'streams to Messages with the figure that is charged (%s)',
    async way => {
      upstream.answer = answers[way]
      const response = await gateway.post('/v1/messages', { ...asked, stream: true })
      const text = await response.text()
      const delta = text.split('\n').find(line => line.startsWith('data: {"type":"message_delta"')) ?? ''
      const { usage }: Counted = JSON.parse(delta.slice('data: '.length))
      const row = await storedOf(response)
      expect(row['usage_source']).toBe('estimated')
      expect(usage.output_tokens).toBeGreaterThan(5)
      expect([usage.input_tokens, usage.output_tokens]).toEqual(
        [row['input_uncached'], row['output_text']].map(Number),
      )
    },
  )

  test.each(['events', 'whole'] as const)(
    'comes whole to Messages with the figure that is charged (%s)',
    async way => {
      upstream.answer = answers[way]
      const response = await gateway.post('/v1/messages', asked)
      const { usage } = (await response.json()) as Counted
      const row = await storedOf(response)
      expect(row['usage_source']).toBe('estimated')
      expect(usage.output_tokens).toBeGreaterThan(5)
      expect([usage.input_tokens, usage.output_tokens]).toEqual(
        [row['input_uncached'], row['output_text']].map(Number),
      )
    },
  )

  test('is told as unknown where the format can say so', async () => {
    upstream.answer = answers.whole
    const responses = await gateway.post('/v1/responses', { model: 'chat/echo', input: 'hi' })
    expect(await responses.json()).toMatchObject({ usage: null })
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
    const gemini = await gateway.post('/v1beta/models/chat/echo:generateContent', { contents })
    expect(await gemini.json()).not.toHaveProperty('usageMetadata')
  })

  test('that failed has none', async () => {
    upstream.answer = () =>
      eventStream(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: TEXT } }] })}\n\n`)
    const text = await (await gateway.post('/v1/messages', { ...asked, stream: true })).text()
    expect(text).toContain('event: error')
    expect(text).not.toContain('message_delta')
  })
})

/** A stream of Messages whose end says nothing of its usage; its first event counts one token of output. */
const begun = () =>
  eventStream(
    [
      {
        type: 'message_start',
        message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 7, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null } },
      { type: 'message_stop' },
    ]
      .map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(''),
  )

test.each([
  [
    'Chat',
    '/v1/chat/completions',
    { stream_options: { include_usage: true }, messages: [{ role: 'user', content: 'hi' }] },
    /"usage":{"prompt_tokens":(\d+),"completion_tokens":(\d+)/,
  ],
  [
    'Responses',
    '/v1/responses',
    { input: 'hi' },
    /"usage":{"input_tokens":(\d+),"input_tokens_details":{[^}]*},"output_tokens":(\d+)/,
  ],
  [
    'Gemini',
    '/v1beta/models/messages/echo:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    /"promptTokenCount":(\d+),"candidatesTokenCount":(\d+)/,
  ],
] as const)(
  'an answer whose upstream tells what it began with and no more tells a caller of %s the figure that is charged',
  async (_caller, path, body, figures) => {
    upstream.answer = begun
    const response = await gateway.post(path, { model: 'messages/echo', stream: true, ...body })
    const text = await response.text()
    const row = await storedOf(response)
    expect(row['usage_source']).toBe('estimated')
    expect(Number(row['output_text'])).toBeGreaterThan(5)
    expect(figures.exec(text)?.slice(1).map(Number)).toEqual([7, Number(row['output_text'])])
  },
)

test.each([
  ['Chat', '/v1/chat/completions', /"usage":{"prompt_tokens":(\d+),"completion_tokens":(\d+)/],
  ['Responses', '/v1/responses', /"input_tokens":(\d+),"input_tokens_details":{[^}]*},"output_tokens":(\d+)/],
  ['Messages', '/v1/messages', /"input_tokens":(\d+),(?:[^{}]|{[^{}]*})*"output_tokens":(\d+)/],
  [
    'Gemini',
    '/v1beta/models/messages/echo:generateContent',
    /"promptTokenCount":(\d+),"candidatesTokenCount":(\d+)/,
  ],
])(
  'the same told as events to a caller of %s who wants it whole is counted likewise',
  async (_, path, figures) => {
    upstream.answer = begun
    const messages = [{ role: 'user', content: 'hi' }]
    const asked = {
      messages,
      max_tokens: 100,
      input: 'hi',
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    }
    const response = await gateway.post(path, { model: 'messages/echo', ...asked })
    const text = await response.text()
    const row = await storedOf(response)
    expect(row['usage_source']).toBe('estimated')
    expect(Number(row['output_text'])).toBeGreaterThan(5)
    expect(row['input_uncached']).toBe(7n)
    expect(figures.exec(text)?.slice(1).map(Number)).toEqual([7, Number(row['output_text'])])
  },
)

describe('an answer that ends at a stop sequence which its upstream could not be told', () => {
  /** A stream of Responses that goes on behind the sequence, and never comes to its usage. */
  const endless = () => {
    const fed = fedStream()
    const response = { id: 'r', status: 'in_progress', output: [] }
    const delta = { type: 'response.output_text.delta', output_index: 0, content_index: 0 }
    for (const event of [
      { type: 'response.created', response },
      { ...delta, delta: `${TEXT} EN` },
      { ...delta, delta: 'D and more' },
    ])
      fed.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    return eventStream(fed.stream)
  }
  const messages = [{ role: 'user', content: 'hi there' }]
  const model = 'responses/echo'

  test.each([
    [
      'Chat',
      '/v1/chat/completions',
      { model, stream: true, stream_options: { include_usage: true }, stop: ['END'], messages },
      /"usage":{"prompt_tokens":(\d+),"completion_tokens":(\d+)/,
    ],
    [
      'Messages',
      '/v1/messages',
      { model, stream: true, max_tokens: 100, stop_sequences: ['END'], messages },
      /"usage":{"input_tokens":(\d+),(?:[^{}]|{[^{}]*})*"output_tokens":(\d+)[^{}]*}}\n\nevent: message_stop/,
    ],
    [
      'Gemini',
      `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
      {
        contents: [{ role: 'user', parts: [{ text: 'hi there' }] }],
        generationConfig: { stopSequences: ['END'] },
      },
      /"promptTokenCount":(\d+),"candidatesTokenCount":(\d+)/,
    ],
  ])('tells a caller of %s the figure that is charged', async (_caller, path, body, figures) => {
    upstream.answer = endless
    const response = await gateway.post(path, body)
    const text = await response.text()
    expect(text).not.toContain('and more')
    const row = await storedOf(response)
    expect(row['usage_source']).toBe('estimated')
    expect(Number(row['output_text'])).toBeGreaterThan(5)
    expect(figures.exec(text)?.slice(1).map(Number)).toEqual(
      [row['input_uncached'], row['output_text']].map(Number),
    )
  })
})
