import { afterEach, describe, expect, test } from 'bun:test'
import { GoogleGenAI } from '@google/genai'
import { recording, recordings } from '#tests/transcripts/recording.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { runMachine } from '@/generation/machine.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'
import { CALL, codec, decodeBytes, replyContext } from './fixtures.ts'

let stop = () => {}
afterEach(() => stop())

/** The official SDK against a server that answers with this text, and the bodies that the SDK sent. */
function sdk(reply: string, type = 'text/event-stream'): { client: GoogleGenAI; sent: JsonObject[] } {
  const sent: JsonObject[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      const body: unknown = await request.json()
      if (isJsonObject(body)) sent.push(body)
      return new Response(reply, { headers: { 'content-type': type } })
    },
  })
  stop = () => {
    server.stop(true)
    stop = () => {}
  }
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: `http://127.0.0.1:${server.port}` } })
  return { client, sent }
}

function encoded(name: string) {
  const { request: wire, stream } = recording(codec.format, name)
  const request = codec.decodeRequest(wire, CALL)
  const events = decodeBytes([stream])
  return {
    request,
    events,
    text: runMachine(codec.createStreamEncoder(replyContext(request)), events).join(''),
  }
}

function textOf(events: readonly GenerationEvent[]): string {
  const parts = collect(events).candidates[0]?.parts ?? []
  return parts.map(part => (part.type === 'text' ? part.text : '')).join('')
}

const ANSWERS = recordings(codec.format).filter(({ response }) => response !== undefined)

describe.each(ANSWERS.map(({ name }) => name))('the SDK reads %s', name => {
  const { request, events, text } = encoded(name)

  test('streamed', async () => {
    const { client } = sdk(text)
    let said = ''
    const calls: unknown[] = []
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'x' })) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? [])
        if (part.thought !== true) said += part.text ?? ''
      calls.push(...(chunk.functionCalls ?? []))
    }
    expect(said).toBe(textOf(events))
    expect(calls).toHaveLength(events.filter(event => event.type === 'tool-input-start').length)
  })

  test('whole', async () => {
    const whole = codec.encodeResponse(collect(events), replyContext(request))
    const { client } = sdk(JSON.stringify(whole), 'application/json')
    const response = await client.models.generateContent({ model: 'm', contents: 'x' })
    expect(response.responseId).toBe('0198c0de-0000-7000-8000-000000000001')
    expect(response.usageMetadata?.promptTokenCount).toBeGreaterThan(0)
    const parts = response.candidates?.[0]?.content?.parts ?? []
    expect(parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join('')).toBe(textOf(events))
  })
})

describe('the chat of the SDK', () => {
  test.each(['text', 'tool-call', 'parallel-tools', 'reasoning', 'image-output', 'grounding'])(
    'keeps %s in its history and sends it back',
    async name => {
      const { events, text } = encoded(name)
      const { client, sent } = sdk(text)
      const chat = client.chats.create({ model: 'm' })
      for (let turn = 0; turn < 2; turn += 1) {
        for await (const _ of await chat.sendMessageStream({ message: 'hi' }));
      }
      const again = codec.decodeRequest(sent[1] ?? {}, CALL)
      const first = collect(events).candidates[0]?.parts ?? []
      const kept = again.turns[1]?.parts ?? []
      expect(kept.map(part => part.type)).toEqual(first.map(part => part.type))
      for (const [index, part] of first.entries()) {
        if (part.type === 'text') expect(kept[index]).toMatchObject({ text: part.text })
        // The vendor's tag travels inside the value.
        if (part.type === 'tool-call') {
          expect(kept[index]).toMatchObject({
            callId: part.callId,
            input: part.input,
            ...signed(part.signature),
          })
        }
      }
    },
  )
})

function signed(signature: object | undefined): object {
  return signature === undefined ? {} : { signature }
}

describe('an error in the stream', () => {
  test('is thrown by the SDK', async () => {
    const error = new GatewayError('upstream_error', 'The upstream went away')
    const { client } = sdk(`${encoded('text').text}${codec.encodeErrorEvent(error, 'id', undefined)}`)
    const read = async () => {
      for await (const _ of await client.models.generateContentStream({ model: 'm', contents: 'x' }));
    }
    await expect(read()).rejects.toThrow('went away')
  })

  test('a keepalive between events is survived', async () => {
    const text = encoded('text').text.replaceAll('\r\n\r\n', `\r\n\r\n${codec.keepalive}`)
    const { client } = sdk(`${codec.keepalive}${text}`)
    let said = ''
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'x' }))
      said += chunk.text ?? ''
    expect(said).toBe('Γειά σου, 世界 👋🏽!')
  })
})

test('what the SDK sends is understood: schemas, choice, thinking, history with results', async () => {
  const { client, sent } = sdk(JSON.stringify(recording(codec.format, 'text').response), 'application/json')
  await client.models.generateContent({
    model: 'm',
    contents: [
      { role: 'user', parts: [{ text: 'q' }] },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 'QUJD' }],
      },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: 'ok' } } }] },
    ],
    config: {
      systemInstruction: 'Be brief.',
      maxOutputTokens: 5,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 10 },
      tools: [
        {
          functionDeclarations: [
            { name: 'f', parametersJsonSchema: { type: 'object', properties: { a: {} } } },
          ],
        },
      ],
    },
  })
  const request = codec.decodeRequest(sent[0] ?? {}, CALL)
  expect(request).toMatchObject({
    instructions: [{ text: 'Be brief.' }],
    maxOutputTokens: 5,
    reasoning: { budgetTokens: 10, summary: 'auto' },
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    turns: [
      {},
      { role: 'assistant', parts: [{ callId: 'c1', input: '{"a":1}', signature: { value: 'QUJD' } }] },
      { parts: [{ type: 'tool-result', callId: 'c1', content: [{ text: 'ok' }] }] },
    ],
  })
})
