import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { rejectionOf } from './rejection.ts'
import { WEATHER, WEATHER_INPUT } from './weather.ts'

const gateway = await fileGateway()

const clientWith = (apiKey: string) => new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 })
const client = clientWith(gateway.key)

const messages: MessageParam[] = [{ role: 'user', content: 'Hello, 世界' }]

describe('models', () => {
  test('are listed, page by page', async () => {
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 7 })) ids.push(model.id)
    expect(ids).toContain('messages/echo')
    expect(ids).toContain('chat/tool')
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('are retrieved by an id that holds a slash', async () => {
    const model = await client.models.retrieve('messages/echo')
    expect(model).toMatchObject({ id: 'messages/echo', type: 'model', display_name: expect.any(String) })
    expect(Date.parse(model.created_at)).toBeGreaterThan(0)
  })

  test('come with the id of their request', async () => {
    expect((await client.models.retrieve('messages/echo'))._request_id).toEqual(expect.any(String))
  })
})

describe('Messages', () => {
  test('answers in one piece', async () => {
    const message = await client.messages.create({ model: 'messages/echo', max_tokens: 100, messages })
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello, 世界' }])
    expect(message.stop_reason).toBe('end_turn')
    expect(message.usage.input_tokens).toBeGreaterThan(0)
    expect(message._request_id).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('answers as a stream', async () => {
    const stream = client.messages.stream({ model: 'messages/echo', max_tokens: 100, messages })
    const texts: string[] = []
    stream.on('text', text => texts.push(text))
    const message = await stream.finalMessage()
    expect(texts.join('')).toBe('Hello, 世界')
    expect(texts.length).toBeGreaterThan(1)
    expect(message.usage.output_tokens).toBeGreaterThan(0)
  })

  test('carries thoughts and a tool call there and back', async () => {
    const request = {
      model: 'messages/reason+tool',
      max_tokens: 4096,
      thinking: { type: 'enabled', budget_tokens: 2048 },
      tools: [{ name: WEATHER.name, input_schema: { ...WEATHER.parameters, type: 'object' } }],
    } as const
    const first = await client.messages
      .stream({ ...request, messages, tools: [...request.tools] })
      .finalMessage()
    expect(first.stop_reason).toBe('tool_use')
    expect(first.content.map(block => block.type)).toEqual(['thinking', 'tool_use'])
    const call = first.content.find(block => block.type === 'tool_use')
    if (call === undefined) throw new Error('no call')
    expect(call.input).toEqual(WEATHER_INPUT)
    const second = await client.messages.create({
      ...request,
      tools: [...request.tools],
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] },
      ],
    })
    expect(second.content.at(-1)).toMatchObject({ type: 'text', text: 'Result: sunny' })
  })
})

describe('the key', () => {
  const ask = (headers: Record<string, string>) =>
    fetch(new URL('/v1/messages', gateway.url), {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify({ model: 'messages/echo', max_tokens: 10, messages }),
    })

  test('comes as Bearer from this SDK', async () => {
    gateway.simulator.simulator.recordings.clear()
    await client.messages.create({ model: 'messages/echo', max_tokens: 10, messages })
    const [sent] = gateway.simulator.simulator.recordings.all()
    expect(sent?.headers['authorization']).toBeUndefined()
    expect(sent?.headers['x-api-key']).toBe('***ages')
  })

  test('comes as x-api-key from the ones before', async () => {
    expect((await ask({ 'x-api-key': gateway.key })).status).toBe(200)
    expect((await ask({ 'x-api-key': 'sk-nobody' })).status).toBe(401)
  })
})

describe('errors', () => {
  const create = (by: Anthropic, model: string) => by.messages.create({ model, max_tokens: 10, messages })

  test('an unknown key is an AuthenticationError', async () => {
    const error = await rejectionOf(create(clientWith('sk-nobody'), 'messages/echo'))
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError)
    expect(error).toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error', code: 'invalid_api_key' } },
      requestID: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  test('an unknown model is a BadRequestError with its code', async () => {
    const error = await rejectionOf(create(client, 'no-such-model'))
    expect(error).toBeInstanceOf(Anthropic.BadRequestError)
    expect(error).toMatchObject({
      status: 400,
      error: { error: { type: 'invalid_request_error', code: 'model_not_found' } },
    })
  })

  test('an unknown path is a NotFoundError', async () => {
    const error = await rejectionOf(client.get('/v1/no/such/path'))
    expect(error).toBeInstanceOf(Anthropic.NotFoundError)
    expect(error).toMatchObject({ status: 404, requestID: expect.any(String) })
  })

  test.each([
    ['messages/error-429', Anthropic.RateLimitError, 429],
    ['messages/error-500', Anthropic.InternalServerError, 502],
    ['messages/error-529', Anthropic.APIError, 503],
  ] as const)('the failure of %s has its class', async (model, kind, status) => {
    const error = await rejectionOf(create(client, model))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ status })
  })
})
