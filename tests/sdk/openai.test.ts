import { describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { rejectionOf } from './rejection.ts'
import { WEATHER, WEATHER_INPUT } from './weather.ts'

const gateway = await fileGateway()

const clientWith = (apiKey: string) =>
  new OpenAI({ apiKey, baseURL: new URL('/v1', gateway.url).href, maxRetries: 0 })
const client = clientWith(gateway.key)

describe('models', () => {
  test('are listed', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('chat/echo')
    expect(ids).toContain('gemini/tool')
  })

  test('are retrieved by an id that holds a slash', async () => {
    const model = await client.models.retrieve('chat/echo')
    expect(model).toMatchObject({ id: 'chat/echo', object: 'model', created: expect.any(Number) })
  })
})

describe('Chat Completions', () => {
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello, 世界' }]

  test('answers in one piece', async () => {
    const completion = await client.chat.completions.create({ model: 'chat/echo', messages })
    expect(completion.choices[0]?.message.content).toBe('Hello, 世界')
    expect(completion.choices[0]?.finish_reason).toBe('stop')
    expect(completion.usage?.total_tokens).toBeGreaterThan(0)
    expect(completion._request_id).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('answers as a stream, with usage only when asked', async () => {
    const texts: string[] = []
    let usages = 0
    for await (const chunk of await client.chat.completions.create({
      model: 'chat/echo',
      messages,
      stream: true,
    })) {
      texts.push(chunk.choices[0]?.delta.content ?? '')
      if (chunk.usage) usages++
    }
    expect(texts.join('')).toBe('Hello, 世界')
    expect(usages).toBe(0)
  })

  test('hands the usage to a stream that asked', async () => {
    const stream = client.chat.completions.stream({
      model: 'chat/echo',
      messages,
      stream_options: { include_usage: true },
    })
    expect(await stream.finalContent()).toBe('Hello, 世界')
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(0)
  })

  test('carries a tool call there and back', async () => {
    const tools = [{ type: 'function' as const, function: WEATHER }]
    const first = await client.chat.completions.create({ model: 'chat/tool', messages, tools })
    const message = first.choices[0]?.message
    const call = message?.tool_calls?.[0]
    if (message === undefined || call?.type !== 'function') throw new Error('no call')
    expect(JSON.parse(call.function.arguments)).toEqual(WEATHER_INPUT)
    const second = await client.chat.completions.create({
      model: 'chat/tool',
      messages: [...messages, message, { role: 'tool', tool_call_id: call.id, content: 'sunny' }],
      tools,
    })
    expect(second.choices[0]?.message.content).toBe('Result: sunny')
  })
})

describe('Responses', () => {
  test('answers in one piece', async () => {
    const response = await client.responses.create({ model: 'responses/echo', input: 'Hello, 世界' })
    expect(response.output_text).toBe('Hello, 世界')
    expect(response.status).toBe('completed')
    expect(response.usage?.total_tokens).toBeGreaterThan(0)
  })

  test('answers as a stream', async () => {
    const stream = client.responses.stream({ model: 'responses/reason', input: 'Hello' })
    const types = new Set<string>()
    for await (const event of stream) types.add(event.type)
    const response = await stream.finalResponse()
    expect(response.output_text).toBe('Hello')
    expect(types).toContain('response.created')
    expect(types).toContain('response.output_text.delta')
    expect(types).toContain('response.completed')
  })

  test('carries a tool call there and back', async () => {
    const tools = [{ type: 'function' as const, strict: false, ...WEATHER }]
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Weather?' }]
    const first = await client.responses.create({ model: 'responses/tool', input, tools })
    const call = first.output[0]
    if (call?.type !== 'function_call') throw new Error('no call')
    expect(JSON.parse(call.arguments)).toEqual(WEATHER_INPUT)
    const second = await client.responses.create({
      model: 'responses/tool',
      input: [...input, call, { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }],
      tools,
    })
    expect(second.output_text).toBe('Result: sunny')
  })
})

describe('errors', () => {
  const chat = (by: OpenAI, model: string) =>
    by.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] })
  const responses = (by: OpenAI, model: string) => by.responses.create({ model, input: 'Hi' })
  const calls = [
    ['Chat Completions', chat],
    ['Responses', responses],
  ] as const

  test.each(calls)('an unknown key is an AuthenticationError: %s', async (_, call) => {
    const error = await rejectionOf(call(clientWith('sk-nobody'), 'chat/echo'))
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' })
  })

  test.each(calls)('an unknown model is a BadRequestError with its code: %s', async (_, call) => {
    const error = await rejectionOf(call(client, 'no-such-model'))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'model_not_found', param: 'model' })
  })

  test('an unknown path is a NotFoundError', async () => {
    const error = await rejectionOf(client.get('/no/such/path'))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'unknown_path' })
  })

  test.each([
    ['chat/error-429', OpenAI.RateLimitError, 429],
    ['chat/error-500', OpenAI.InternalServerError, 502],
    ['chat/error-404', OpenAI.NotFoundError, 404],
  ] as const)('the failure of %s has its class', async (model, kind, status) => {
    const error = await rejectionOf(chat(client, model))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ status })
  })
})
