import { describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { eventStream } from '#tests/support/upstreams/upstream.ts'

const ANSWER = '<think>\nWhy?\n</think>\n\nBecause.'

const { gateway, upstream } = await scriptedGateway({
  channelOptions: 'think_tags: both',
  models: '  - { id: open, channels: [{ channel: chat, model: open }], prices: { input: 1, output: 2 } }',
})
upstream.answer = ({ body }) => {
  const { stream } = JSON.parse(new TextDecoder().decode(body))
  return stream ? eventStream(streamed()) : Response.json(whole())
}

const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 }

function whole() {
  const message = { role: 'assistant', content: ANSWER }
  return {
    id: 'x',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  }
}

/** The same answer, a character an event. */
function streamed(): string {
  const chunks = [
    ...Array.from(ANSWER, content => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
  ]
  return `${chunks.map(chunk => `data: ${JSON.stringify({ id: 'x', ...chunk })}\n\n`).join('')}data: [DONE]\n\n`
}

async function ask(path: string, body: object): Promise<string> {
  const response = await gateway.post(path, { model: 'open', max_tokens: 2000, ...body })
  expect(response.status).toBe(200)
  return response.text()
}

/** The objects of a stream. */
function eventsOf(text: string): { [name: string]: unknown }[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
}

const messages = [{ role: 'user', content: 'hi' }]

describe('thoughts between tags, behind a channel that says so', () => {
  test("are Chat's reasoning_content, though the formats are the same", async () => {
    expect(JSON.parse(await ask('/v1/chat/completions', { messages }))).toMatchObject({
      choices: [{ message: { reasoning_content: 'Why?\n', content: 'Because.' }, finish_reason: 'stop' }],
    })
  })

  test('the same streamed, however the tags are cut', async () => {
    const events = eventsOf(await ask('/v1/chat/completions', { messages, stream: true })) as {
      choices: { delta: { content?: string; reasoning_content?: string } }[]
    }[]
    const deltas = events.flatMap(({ choices }) => choices.map(({ delta }) => delta))
    expect(deltas.map(delta => delta.reasoning_content ?? '').join('')).toBe('Why?\n')
    expect(deltas.map(delta => delta.content ?? '').join('')).toBe('Because.')
  })

  test('are thinking blocks of a Messages caller who asked for thoughts', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    expect(JSON.parse(await ask('/v1/messages', { messages, thinking }))).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Why?\n' },
        { type: 'text', text: 'Because.' },
      ],
    })
    const text = await ask('/v1/messages', { messages, thinking, stream: true })
    const deltas = eventsOf(text).flatMap(({ delta }) => (delta === undefined ? [] : [delta])) as {
      thinking?: string
      text?: string
    }[]
    expect(deltas.map(delta => delta.thinking ?? '').join('')).toBe('Why?\n')
    expect(deltas.map(delta => delta.text ?? '').join('')).toBe('Because.')
  })
})
