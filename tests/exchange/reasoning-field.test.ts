import { beforeEach, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'

/** A channel's `reasoning_field`: where an upstream gets what it thought before it called a tool. */

const gateway = await fileGateway()
const channel = `format: openai-chat-completions, base_url: "${gateway.simulator.url}", api_keys: ["k"], allow_private: true`
await gateway.apply(`
channels:
  - { name: vllm, ${channel}, reasoning_field: reasoning }
  - { name: unknown, ${channel} }
models:
  - { id: vllm, channels: [{ channel: vllm, model: echo }], prices: { input: 1, output: 2 } }
  - { id: unknown, channels: [{ channel: unknown, model: echo }], prices: { input: 1, output: 2 } }
`)
beforeEach(() => gateway.simulator.simulator.recordings.clear())

const called = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
const parameters = { type: 'object', properties: {} }

/** How clients bring the thought back: as their vendor wrote it, or as most of them do. */
const SECOND_TURNS: Readonly<Record<string, readonly [string, object]>> = {
  'chat, as reasoning_content': ['/v1/chat/completions', chat({ reasoning_content: 'Look first.' })],
  'chat, as reasoning': ['/v1/chat/completions', chat({ reasoning: 'Look first.' })],
  'chat, as both': [
    '/v1/chat/completions',
    chat({ reasoning_content: 'Look first.', reasoning: 'Look first.' }),
  ],
  messages: [
    '/v1/messages',
    {
      max_tokens: 2000,
      tools: [{ name: 'look', input_schema: parameters }],
      messages: [
        { role: 'user', content: 'one' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Look first.', signature: 's' },
            { type: 'tool_use', id: 'call_1', name: 'look', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'seen' }] },
      ],
    },
  ],
}

function chat(thought: object) {
  return {
    tools: [{ type: 'function', function: { name: 'look', parameters } }],
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: null, ...thought, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
    ],
  }
}

/** What the assistant's message is to its upstream. */
async function sent(model: string, [path, body]: readonly [string, object]): Promise<object> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, model }),
  })
  expect(response.status).toBe(200)
  const [recording] = gateway.simulator.simulator.recordings.all()
  const { messages } = JSON.parse(Buffer.from(recording?.bodyBase64 ?? '', 'base64').toString())
  return messages.find(({ role }: { role: string }) => role === 'assistant')
}

test.each(Object.entries(SECOND_TURNS))(
  'thoughts go to the field that the operator names: %s',
  async (_, turn) => {
    const message = await sent('vllm', turn)
    expect(message).toMatchObject({ reasoning: 'Look first.' })
    expect(message).not.toHaveProperty('reasoning_content')
  },
)

test('thoughts of other formats go to reasoning_content where nobody says anything, and a caller of Chat is left its own', async () => {
  expect(await sent('unknown', SECOND_TURNS['messages'] ?? ['', {}])).toMatchObject({
    reasoning_content: 'Look first.',
  })
  gateway.simulator.simulator.recordings.clear()
  const passed = await sent('unknown', SECOND_TURNS['chat, as reasoning'] ?? ['', {}])
  expect(passed).toMatchObject({ reasoning: 'Look first.' })
  expect(passed).not.toHaveProperty('reasoning_content')
})
