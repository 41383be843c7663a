import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { UPSTREAMS } from '#tests/support/gateway/gateway.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'
import { askingFor, eventsOf, readCase } from './case.ts'

/** What clients do that breaks gateways. */

const gateway = await fileGateway()

function post(path: string, body: JsonObject, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post(path, body, { headers })
}

const lastBody = (): JsonObject => parseObject(gateway.lastSent()) ?? {}

describe('a Gemini stream holds events of data and nothing else', () => {
  test.each(UPSTREAMS.flatMap(upstream => ['echo', 'reason', 'parallel'].map(model => [upstream, model])))(
    'over %s, %s',
    async (upstream, model) => {
      const path = `/v1beta/models/${upstream}%2F${model}:streamGenerateContent?alt=sse`
      const tools = [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }]
      const text = await (
        await post(path, { contents: [{ parts: [{ text: 'hello there' }] }], tools })
      ).text()
      const blocks = text.split(/\r?\n\r?\n/).filter(block => block !== '')
      expect(blocks.length).toBeGreaterThan(0)
      expect(blocks.filter(block => !/^data: \{[^\n]*\}$/.test(block))).toEqual([])
    },
  )
})

describe('the tool runner that tries message threads first', () => {
  test.each(UPSTREAMS)('goes on with whole histories over %s', async upstream => {
    const client = new Anthropic({
      apiKey: gateway.key,
      baseURL: gateway.url.replace(/\/$/, ''),
      maxRetries: 0,
    })
    const ran: unknown[] = []
    const answer = await client.beta.messages.toolRunner({
      model: `${upstream}/tool`,
      max_tokens: 500,
      messages: [{ role: 'user', content: 'What is the weather?' }],
      tools: [
        {
          type: 'custom',
          name: 'weather',
          description: 'Tells the weather',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          parse: (input: unknown) => input,
          run: (input: unknown) => {
            ran.push(input)
            return 'sunny'
          },
        },
      ],
    })
    expect(ran).toHaveLength(1)
    expect(answer.content.at(-1)).toMatchObject({ type: 'text', text: 'Result: sunny' })
  })
})

describe('reasoning that the AI SDK replays by reference', () => {
  const body = (upstream: string) => ({
    model: `${upstream}/echo`,
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'one' }] },
      { type: 'item_reference', id: 'rs_0123456789' },
      { role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'two' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'three' }] },
    ],
  })

  test.each(UPSTREAMS.filter(upstream => upstream !== 'responses'))('is left out over %s', async upstream => {
    const response = await post('/v1/responses', body(upstream))
    expect(response.status).toBe(200)
    const answer = asObject(await response.json())
    expect(JSON.stringify(answer?.['output'])).toContain('three')
    expect(JSON.stringify(lastBody())).not.toContain('rs_0123456789')
  })
})

describe('a model with a slash in its name, which the AI SDK takes for a whole resource name', () => {
  const body = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }

  test.each(['/v1beta', '/v1alpha'])('is called as %s/NAME:generateContent', async version => {
    const response = await post(`${version}/chat/echo:generateContent`, body)
    expect(response.status).toBe(200)
    expect(JSON.stringify(await response.json())).toContain('hello')
  })

  test.each([
    '/v1beta/echo:generateContent',
    '/v1beta/chat/echo:dance',
    '/v1beta/tunedModels/echo:generateContent',
    '/v1/chat/echo:generateContent',
  ])('and %s stays an unknown path', async path => {
    const response = await post(path, body)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'unknown_path' } })
  })
})

describe("bytes in the alphabet of URLs, which Google's Python SDK writes", () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const ofUrls = png.replaceAll('+', '-').replaceAll('/', '_')

  test.each(
    UPSTREAMS.flatMap(upstream => [
      [upstream, ofUrls],
      [upstream, ofUrls.replaceAll('=', '')],
    ]),
  )('reach %s as it reads them: %s', async (upstream, data) => {
    expect(data).not.toBe(png)
    const parts = [{ text: 'what is this?' }, { inlineData: { mimeType: 'image/png', data } }]
    const response = await post(`/v1beta/models/${upstream}%2Fecho:generateContent`, {
      contents: [{ parts }],
    })
    expect(response.status).toBe(200)
    expect(JSON.stringify(lastBody())).toContain(upstream === 'gemini' ? `"${data}"` : `${png}"`)
  })
})

describe('a search of its own that an agent sends', () => {
  test.each(UPSTREAMS)('Gemini CLI gets a whole answer over %s', async upstream => {
    const given = askingFor(readCase('gemini-cli-web-search'), `${upstream}/echo`)
    const response = await post(given.path, given.body)
    expect(response.status).toBe(200)
    const answer = asObject(await response.json())
    expect(answer?.['candidates']).toMatchObject([{ finishReason: 'STOP', content: { role: 'model' } }])
  })

  test.each(UPSTREAMS.filter(upstream => upstream !== 'chat'))(
    'Claude Code has its search mapped to what %s has',
    async upstream => {
      const given = askingFor(readCase('claude-code-web-search'), `${upstream}/echo`)
      const response = await post(given.path, given.body, given.headers)
      expect(response.status).toBe(200)
      expect(eventsOf(await response.text()).at(-1)).toEqual({ type: 'message_stop' })
      expect(JSON.stringify(asArray(lastBody()['tools']))).toMatch(/web_search|googleSearch/)
    },
  )

  test('Claude Code is told in its own shape that a Chat upstream cannot be made to search', async () => {
    const given = askingFor(readCase('claude-code-web-search'), 'chat/echo')
    const response = await post(given.path, given.body, given.headers)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        code: 'unsupported_parameter',
        message: expect.stringContaining('tool_choice'),
      },
    })
  })
})
