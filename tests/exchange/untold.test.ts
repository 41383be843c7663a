import { describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream } from '#tests/support/upstreams/upstream.ts'

const { gateway, upstream } = await scriptedGateway()

const blocks = [
  { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
  { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
  { type: 'text', text: 'found' },
]
const message = {
  type: 'message',
  role: 'assistant',
  content: blocks,
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 4 },
}

/** An upstream of Messages that searched. */
const answers = {
  whole: () => Response.json(message),
  events: () =>
    eventStream(
      [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        ...blocks.flatMap((content_block, index) => [
          { type: 'content_block_start', index, content_block },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
        { type: 'message_stop' },
      ]
        .map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
    ),
}

async function ask(path: string, body: object): Promise<Response> {
  return gateway.post(path, { model: 'messages/echo', max_tokens: 2000, ...body })
}

async function storedLosses(response: Response): Promise<unknown> {
  const id = response.headers.get('x-request-id')
  return (await gateway.exchanges()).find(row => row['id'] === id)?.['losses']
}

const UNTOLD = ['answer.server_tool_use', 'answer.web_search_tool_result']

describe("what of an answer the caller's format has no word for", () => {
  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/responses', { input: 'hi', store: false }],
  ])('is a loss of a whole answer at %s, in its head and its stored result', async (path, body) => {
    upstream.answer = answers.whole
    const response = await ask(path, body)
    expect(await response.text()).toContain('found')
    expect(response.headers.get('x-tollgate-losses')?.split(', ')).toEqual(expect.arrayContaining(UNTOLD))
    expect(await storedLosses(response)).toEqual(expect.arrayContaining(UNTOLD))
  })

  test('is a loss of a stream in its stored result, since its head may be gone', async () => {
    upstream.answer = answers.events
    const body = { messages: [{ role: 'user', content: 'hi' }], stream: true }
    const response = await ask('/v1/chat/completions', body)
    expect(await response.text()).toContain('found')
    expect(await storedLosses(response)).toEqual(UNTOLD)
  })

  test('is no loss where the answer is handed on', async () => {
    upstream.answer = answers.whole
    const response = await ask('/v1/messages', { messages: [{ role: 'user', content: 'hi' }] })
    expect(await response.json()).toMatchObject({ content: blocks })
    expect(response.headers.get('x-tollgate-losses')).toBeNull()
    expect(await storedLosses(response)).toEqual([])
  })
})
