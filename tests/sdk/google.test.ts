import { describe, expect, test } from 'bun:test'
import { ApiError, type Content, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { rejectionOf } from './rejection.ts'
import { WEATHER, WEATHER_INPUT } from './weather.ts'

const gateway = await fileGateway()

const clientWith = (apiKey: string, apiVersion: string | undefined) =>
  new GoogleGenAI({
    apiKey,
    httpOptions: { baseUrl: gateway.url, ...(apiVersion === undefined ? {} : { apiVersion }) },
  })

/** The SDK's own choice, which is /v1 since version 3, and the one before it. */
const VERSIONS = [undefined, 'v1beta'] as const

describe.each(VERSIONS)('apiVersion %p', version => {
  const client = clientWith(gateway.key, version)

  test('models are listed, page by page', async () => {
    const names: (string | undefined)[] = []
    for await (const model of await client.models.list({ config: { pageSize: 7 } })) names.push(model.name)
    expect(names).toContain('models/gemini/echo')
    expect(names).toContain('models/chat/tool')
    expect(new Set(names).size).toBe(names.length)
  })

  test('a model is retrieved by an id that holds a slash', async () => {
    const model = await client.models.get({ model: 'gemini/echo' })
    expect(model.name).toBe('models/gemini/echo')
    expect(model.displayName).toEqual(expect.any(String))
  })

  test('an answer comes in one piece', async () => {
    const answer = await client.models.generateContent({ model: 'gemini/echo', contents: 'Hello, 世界' })
    expect(answer.text).toBe('Hello, 世界')
    expect(String(answer.candidates?.[0]?.finishReason)).toBe('STOP')
    expect(answer.usageMetadata?.totalTokenCount).toBeGreaterThan(0)
  })

  test('an answer comes as a stream', async () => {
    const chunks: GenerateContentResponse[] = []
    const stream = await client.models.generateContentStream({
      model: 'gemini/echo',
      contents: 'Hello, 世界',
    })
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map(chunk => chunk.text ?? '').join('')).toBe('Hello, 世界')
    expect(chunks.length).toBeGreaterThan(1)
  })

  test('a tool call goes there and back', async () => {
    const { parameters, ...tool } = WEATHER
    const config = { tools: [{ functionDeclarations: [{ ...tool, parametersJsonSchema: parameters }] }] }
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'Weather?' }] }]
    const first = await client.models.generateContent({ model: 'gemini/tool', contents, config })
    const call = first.functionCalls?.[0]
    expect(call).toMatchObject({ name: 'get_weather', args: WEATHER_INPUT })
    const response = { name: 'get_weather', response: { result: 'sunny' } }
    contents.push(first.candidates?.[0]?.content ?? {}, {
      role: 'user',
      parts: [{ functionResponse: response }],
    })
    const second = await client.models.generateContent({ model: 'gemini/tool', contents, config })
    expect(second.text).toBe('Result: sunny')
  })

  test('a chat keeps its history', async () => {
    const chat = client.chats.create({ model: 'gemini/echo' })
    expect((await chat.sendMessage({ message: 'one' })).text).toBe('one')
    expect((await chat.sendMessage({ message: 'two' })).text).toBe('two')
    expect(chat.getHistory()).toHaveLength(4)
  })

  test('an unknown key is an ApiError 401', async () => {
    const error = await rejectionOf(
      clientWith('sk-nobody', version).models.generateContent({ model: 'gemini/echo', contents: 'Hi' }),
    )
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 401, message: expect.stringContaining('UNAUTHENTICATED') })
  })

  test('an unknown model is an ApiError 400 with its reason', async () => {
    const error = await rejectionOf(client.models.generateContent({ model: 'no-such-model', contents: 'Hi' }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining('model_not_found') })
  })

  test('an unknown path is an ApiError 404', async () => {
    const error = await rejectionOf(client.files.list())
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 404, message: expect.stringContaining('unknown_path') })
  })

  test.each([
    ['gemini/error-429', 429],
    ['gemini/error-500', 502],
    ['gemini/error-404', 404],
  ] as const)('the failure of %s keeps its status', async (model, status) => {
    const error = await rejectionOf(client.models.generateContent({ model, contents: 'Hi' }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status })
  })
})
