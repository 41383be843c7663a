import { beforeEach, describe, expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { formatEvent } from '@/sse/event.ts'

const { gateway, upstream } = await scriptedGateway()

beforeEach(() => {
  upstream.seen.length = 0
})

/** How each vendor complains of a prompt that is longer than the model's context. */
const COMPLAINTS = {
  chat: {
    error: {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 150012.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  },
  responses: {
    error: {
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      type: 'invalid_request_error',
      param: 'input',
      code: 'context_length_exceeded',
    },
  },
  messages: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 213456 tokens > 200000 maximum' },
  },
  gemini: {
    error: {
      code: 400,
      message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      status: 'INVALID_ARGUMENT',
    },
  },
}

/** How a conversation is asked for on each surface, whole or streamed, and what its clients look for in the complaint. */
const SURFACES = [
  {
    name: 'chat',
    ask: (model: string, stream: boolean) =>
      gateway.post('/v1/chat/completions', { model, stream, messages: [{ role: 'user', content: 'hi' }] }),
    known: '"code":"context_length_exceeded"',
  },
  {
    name: 'responses',
    ask: (model: string, stream: boolean) => gateway.post('/v1/responses', { model, stream, input: 'hi' }),
    known: '"code":"context_length_exceeded"',
  },
  {
    name: 'messages',
    ask: (model: string, stream: boolean) =>
      gateway.post('/v1/messages', {
        model,
        stream,
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    known: '"message":"prompt is too long: ',
  },
  {
    name: 'gemini',
    ask: (model: string, stream: boolean) =>
      gateway.post(
        `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        {
          contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        },
      ),
    known: 'exceeds the maximum number of tokens allowed',
  },
]

describe.each(SURFACES)('a prompt that is too long, called as $name', ({ ask, known }) => {
  test.each(Object.entries(COMPLAINTS))(
    "is said in the words by which the surface's clients shorten it: %s",
    async (name, complaint) => {
      upstream.answer = () => Response.json(complaint, { status: 400 })
      for (const stream of [false, true]) {
        const response = await ask(`${name}/echo`, stream)
        expect(response.status).toBe(400)
        const text = await response.text()
        expect(text).toContain(known)
        expect(text).toContain(JSON.stringify(complaint.error.message).slice(1, -1))
        expect(text.split(known)).toHaveLength(2)
      }
      expect(upstream.seen).toHaveLength(2)
    },
  )

  test('is said so too where the upstream has begun an answer', async () => {
    const { promise: seen, resolve: see } = Promise.withResolvers<void>()
    upstream.answer = () => new Response(begunThenTooLong(seen), { headers: EVENTS })
    const response = await ask('chat/echo', true)
    expect(response.status).toBe(200)
    see()
    expect(await readOn(response)).toContain(known)
  })
})

const EVENTS = { 'content-type': 'text/event-stream' }

/** Words of an answer, and the complaint once somebody has seen that it began. */
async function* begunThenTooLong(seen: Promise<void>): AsyncGenerator<Uint8Array> {
  for (const content of ['I ', 'think ']) {
    const choices = [{ index: 0, delta: { content }, finish_reason: null }]
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
    yield new TextEncoder().encode(formatEvent(undefined, JSON.stringify(chunk)))
  }
  await seen
  yield new TextEncoder().encode(formatEvent(undefined, JSON.stringify(COMPLAINTS.chat)))
}

/** What of a stream arrives, though it breaks off: Gemini's do where they fail. */
async function readOn(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
  } catch {}
  return text
}
