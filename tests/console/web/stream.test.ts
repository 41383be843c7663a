import { describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { type PlaygroundSurface, saidBy } from '@/console/web/stream/answer-text.ts'
import { type RawEvent, readEvents } from '@/console/web/stream/event-reader.ts'
import { requestBody } from '@/console/web/stream/request-body.ts'

function bodyOf(parts: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

async function eventsOf(parts: Uint8Array[]): Promise<RawEvent[]> {
  const events: RawEvent[] = []
  await readEvents(bodyOf(parts), event => events.push(event))
  return events
}

describe('reading events', () => {
  const text = ': keepalive\n\nevent: delta\r\ndata: {"a":"é🙂"}\r\n\r\ndata: one\ndata: two\n\ndata: [DONE]'
  const expected = [
    { name: 'delta', data: '{"a":"é🙂"}' },
    { name: '', data: 'one\ntwo' },
    { name: '', data: '[DONE]' },
  ]

  test('is the same wherever the bytes are split, inside a character too', async () => {
    const bytes = new TextEncoder().encode(text)
    for (let at = 0; at <= bytes.length; at++) {
      expect(await eventsOf([bytes.slice(0, at), bytes.slice(at)])).toEqual(expected)
    }
  })
})

describe('what an event says', () => {
  test.each<[PlaygroundSurface, unknown, object]>([
    ['chat', { choices: [{ delta: { content: 'Hi' } }] }, { text: 'Hi' }],
    ['chat', { choices: [{ delta: { reasoning_content: 'Hm' } }] }, { thinking: 'Hm' }],
    ['chat', { choices: [] }, {}],
    ['responses', { type: 'response.output_text.delta', delta: 'Hi' }, { text: 'Hi' }],
    ['responses', { type: 'response.output_text.done', text: 'Hi' }, {}],
    ['responses', { type: 'response.reasoning_summary_text.delta', delta: 'Hm' }, { thinking: 'Hm' }],
    ['responses', { type: 'response.failed', response: { error: { message: 'no' } } }, { error: 'no' }],
    ['responses', { type: 'error', message: 'no' }, { error: 'no' }],
    ['messages', { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi' } }, { text: 'Hi' }],
    ['messages', { type: 'content_block_delta', delta: { thinking: 'Hm' } }, { thinking: 'Hm' }],
    ['messages', { type: 'error', error: { type: 'api_error', message: 'no' } }, { error: 'no' }],
    ['gemini', { candidates: [{ content: { parts: [{ text: 'H' }, { text: 'i' }] } }] }, { text: 'Hi' }],
    ['gemini', { candidates: [{ content: { parts: [{ thought: true, text: 'Hm' }] } }] }, { thinking: 'Hm' }],
    ['chat', { choices: [{ delta: { refusal: 'I will not' } }] }, { text: 'I will not' }],
    ['chat', { choices: [{ message: { content: null, refusal: 'I will not' } }] }, { text: 'I will not' }],
    ['gemini', { error: { code: 500, message: 'no' } }, { error: 'no' }],
  ])('%s: %j', (surface, event, said) => {
    expect(saidBy(surface, JSON.stringify(event))).toEqual(said)
  })

  test.each(['[DONE]', '', 'null', '[]', '"text"', '{'])('is nothing for %p', data => {
    for (const surface of ['chat', 'responses', 'messages', 'gemini'] as const) {
      expect(saidBy(surface, data)).toEqual({})
    }
  })
})

const gateway = await fileGateway()

describe('against the gateway itself', () => {
  const PATHS: Record<PlaygroundSurface, string> = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
    gemini: '/v1beta/models/gemini%2Fecho:streamGenerateContent?alt=sse',
  }

  test.each(['chat', 'responses', 'messages', 'gemini'] as const)(
    'what the playground sends on %s is answered, and its words are found',
    async surface => {
      const prompt = {
        model: `${surface}/echo`,
        system: 'Be brief.',
        message: 'Hello, Tollgate!',
        maxTokens: 64,
      }
      const response = await gateway.post(PATHS[surface], requestBody(surface, prompt))
      expect(response.status).toBe(200)
      let text = ''
      if (response.body === null) throw new Error('there is no body')
      await readEvents(response.body, ({ data }) => {
        text += saidBy(surface, data).text ?? ''
      })
      expect(text).toContain('Hello, Tollgate!')
    },
  )
})
