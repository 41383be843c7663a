import { beforeEach, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'

/** A channel's `cache_prompts`: who pays how much for the second turn of a conversation. */

const gateway = await fileGateway()
await gateway.apply(`
channels:
  - { name: keeping, format: anthropic-messages, base_url: "${gateway.simulator.url}", api_keys: ["k"], cache_prompts: true, allow_private: true }
  - { name: anew, format: anthropic-messages, base_url: "${gateway.simulator.url}", api_keys: ["k"], cache_prompts: true, function_tools_only: true, allow_private: true }
models:
  - { id: kept, channels: [{ channel: keeping, model: echo }], prices: { input: 1, output: 2 } }
  - { id: anew, channels: [{ channel: anew, model: echo }], prices: { input: 1, output: 2 } }
`)
beforeEach(() => gateway.simulator.simulator.recordings.clear())

const RULES = 'Always answer in one word. '.repeat(20)
const PARAMETERS = { type: 'object', properties: {} }

/** How each surface asks for its second turn. */
const SECOND_TURNS = {
  chat: (model: string) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      tools: [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }],
      messages: [
        { role: 'system', content: RULES },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'One.' },
        { role: 'user', content: 'two' },
      ],
    },
  }),
  responses: (model: string) => ({
    path: '/v1/responses',
    body: {
      model,
      tools: [{ type: 'function', name: 'look', parameters: PARAMETERS, strict: false }],
      instructions: RULES,
      input: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'One.' },
        { role: 'user', content: 'two' },
      ],
    },
  }),
  gemini: (model: string) => ({
    path: `/v1beta/models/${model}:generateContent`,
    body: {
      tools: [{ functionDeclarations: [{ name: 'look', parameters: PARAMETERS }] }],
      systemInstruction: { parts: [{ text: RULES }] },
      contents: [
        { role: 'user', parts: [{ text: 'one' }] },
        { role: 'model', parts: [{ text: 'One.' }] },
        { role: 'user', parts: [{ text: 'two' }] },
      ],
    },
  }),
  messages: (model: string) => ({
    path: '/v1/messages',
    body: {
      model,
      max_tokens: 50,
      tools: [{ name: 'look', input_schema: PARAMETERS }],
      system: RULES,
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'One.' },
        { role: 'user', content: 'two' },
      ],
    },
  }),
}

/** What Anthropic's API was sent. */
async function sent({ path, body }: { path: string; body: object }): Promise<string> {
  const response = await gateway.post(path, body)
  expect(response.status).toBe(200)
  await response.text()
  return gateway.lastSent()
}

const marks = (body: string) => body.split('cache_control').length - 1

test.each(['chat', 'responses', 'gemini'] as const)(
  'a conversation called as %s that asks for no cache is kept up to this turn, and found where the last one ended',
  async surface => {
    const body = await sent(SECOND_TURNS[surface]('kept'))
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(JSON.parse(body)).toMatchObject({
      system: [mark],
      messages: [
        { role: 'user', content: [{ text: 'one', ...mark }] },
        { role: 'assistant', content: [{ text: 'One.' }] },
        { role: 'user', content: [{ text: 'two', ...mark }] },
      ],
    })
    expect(marks(body)).toBe(3)
  },
)

test('marks of the caller are the only ones', async () => {
  const { path, body } = SECOND_TURNS.chat('kept')
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'one', prompt_cache_breakpoint: { mode: 'explicit' } }] },
    { role: 'user', content: 'two' },
  ]
  expect(marks(await sent({ path, body: { ...body, messages } }))).toBe(1)
})

test('a channel that does not say so keeps nothing', async () => {
  expect(marks(await sent(SECOND_TURNS.chat('messages/echo')))).toBe(0)
})

test.each(['kept', 'anew'])('callers of Messages say themselves what to keep (%s)', async model => {
  expect(marks(await sent(SECOND_TURNS.messages(model)))).toBe(0)
})
