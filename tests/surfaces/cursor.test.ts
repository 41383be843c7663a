import { beforeEach, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'

const UPSTREAMS = ['chat', 'responses', 'messages', 'gemini'] as const
const gateway = await fileGateway()
beforeEach(() => gateway.simulator.simulator.recordings.clear())

const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const READ = { type: 'function', name: 'Read', parameters: PARAMETERS, strict: false }
const PATCH = {
  type: 'custom',
  name: 'ApplyPatch',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "ok"' },
}
const INPUT = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
]

/** What Cursor's agent sends in place of messages. */
function agentBody(model: string, more: object): object {
  const wishes = { reasoning: { effort: 'high' }, text: { verbosity: 'low' }, store: false }
  return { model, input: INPUT, messages: [], tools: [READ, PATCH], ...wishes, ...more }
}

async function ask(body: object): Promise<{ status: number; text: string; upstream: JsonObject }> {
  const response = await gateway.post('/v1/chat/completions', body)
  const text = await response.text()
  const sent = gateway.simulator.simulator.recordings.all().at(-1)?.bodyBase64 ?? ''
  return {
    status: response.status,
    text,
    upstream: parseObject(Buffer.from(sent, 'base64').toString()) ?? {},
  }
}

function messageOf(text: string): JsonObject {
  return asObject(asObject(asArray(parseObject(text)?.['choices'])[0])?.['message']) ?? {}
}

describe.each(UPSTREAMS)('a body of Responses at /v1/chat/completions over %s', upstream => {
  test('is answered in Chat Completions, and so is what brings the result back', async () => {
    const model = `${upstream}/reason+tool`
    const first = await ask(agentBody(model, { tool_choice: 'required' }))
    expect(parseObject(first.text)).toMatchObject({ object: 'chat.completion', model })
    const call = asObject(asArray(messageOf(first.text)['tool_calls'])[0]) ?? {}
    expect(call).toMatchObject({ type: 'function', function: { name: 'Read' } })
    const { arguments: written } = asObject(call['function']) ?? {}
    const done = [
      { type: 'function_call', call_id: call['id'], name: 'Read', arguments: written },
      { type: 'function_call_output', call_id: call['id'], output: 'found' },
    ]
    const second = await ask(agentBody(model, { input: [...INPUT, ...done] }))
    expect(messageOf(second.text)).toMatchObject({ content: 'Result: found' })
  })

  test('streams chunks of Chat Completions, with their usage where that is asked for', async () => {
    const wish = { stream: true, stream_options: { include_usage: true, include_obfuscation: false } }
    const { status, text } = await ask(agentBody(`${upstream}/echo`, wish))
    const events = text.trim().split('\n\n')
    expect({ status, last: events.at(-1) }).toEqual({ status: 200, last: 'data: [DONE]' })
    const chunks = events.slice(0, -1).map(event => parseObject(event.replace('data: ', '')))
    expect(new Set(chunks.map(chunk => chunk?.['object']))).toEqual(new Set(['chat.completion.chunk']))
    expect(chunks.at(-1)).toMatchObject({ usage: { completion_tokens: expect.any(Number) } })
  })

  test('has its errors in the shape of Chat Completions', async () => {
    const { status, text } = await ask(agentBody(`${upstream}/error-400`, { stream: true }))
    expect(status).toBe(400)
    expect(parseObject(text)).toMatchObject({ error: { type: 'invalid_request_error' } })
  })
})

test('a body with messages is one of Chat Completions, whatever its input says', async () => {
  const messages = [{ role: 'user', content: 'hi' }]
  const { text } = await ask({ model: 'messages/echo', messages, input: 'ho' })
  expect(messageOf(text)).toMatchObject({ content: 'hi' })
})

describe('a body with neither messages nor an input', () => {
  test.each([{ input: null }, { input: '' }, { input: [] }, { messages: 'hi', input: 'ho' }])(
    'is told that it lacks messages: %j',
    async said => {
      const { status, text } = await ask({ model: 'chat/echo', ...said })
      expect(status).toBe(400)
      expect(parseObject(text)).toMatchObject({ error: { param: 'messages' } })
    },
  )

  test.each(UPSTREAMS)('is refused where both are empty, over %s', async upstream => {
    for (const input of ['', []]) {
      expect((await ask({ model: `${upstream}/echo`, messages: [], input })).status).toBe(400)
    }
  })
})

describe('tools that are written as Responses has them among those of Chat Completions', () => {
  const nested = { type: 'function', function: { name: 'Read', parameters: PARAMETERS } }
  const body = (model: string) => ({
    model,
    messages: [{ role: 'user', content: 'Patch it.' }],
    tools: [nested, { ...READ, name: 'List' }, PATCH],
    tool_choice: { type: 'custom', name: 'ApplyPatch' },
  })

  test('reach a Chat upstream as it has them', async () => {
    const { text, upstream } = await ask(body('chat/tool'))
    const functions = asArray(upstream['tools']).map(tool => asObject(asObject(tool)?.['function']))
    expect(functions).toMatchObject([
      { name: 'Read' },
      { name: 'List', parameters: PARAMETERS, strict: false },
      { name: 'ApplyPatch', description: expect.stringContaining('start: "ok"') },
    ])
    expect(messageOf(text)['tool_calls']).toMatchObject([{ type: 'custom', custom: { name: 'ApplyPatch' } }])
  })

  test('may be chosen so where none of them is written so', async () => {
    const { text, upstream } = await ask({
      ...body('chat/tool'),
      tools: [nested],
      tool_choice: { type: 'function', name: 'Read' },
    })
    expect(upstream['tool_choice']).toEqual({ type: 'function', function: { name: 'Read' } })
    expect(messageOf(text)['tool_calls']).toMatchObject([{ type: 'function', function: { name: 'Read' } }])
  })

  const read = [{ type: 'function', name: 'Read' }]
  test.each([
    { type: 'allowed_tools', mode: 'required', tools: read },
    { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: read } },
  ])('may be allowed so where none of them is written so: %j', async tool_choice => {
    const list = { type: 'function', function: { name: 'List', parameters: PARAMETERS } }
    const { text, upstream } = await ask({ ...body('chat/tool'), tools: [list, nested], tool_choice })
    expect(upstream).toMatchObject({ tools: [nested], tool_choice: 'required' })
    expect(messageOf(text)['tool_calls']).toMatchObject([{ type: 'function', function: { name: 'Read' } }])
  })

  test.each(UPSTREAMS)('are called over %s', async upstream => {
    const { text } = await ask(body(`${upstream}/tool`))
    expect(messageOf(text)['tool_calls']).toMatchObject([{ type: 'custom', custom: { name: 'ApplyPatch' } }])
  })
})

describe("tools, calls and results in Anthropic's words, as a model by Claude's name gets them", () => {
  const list = { name: 'List', description: 'Lists.', input_schema: { type: 'object' } }
  const read = { name: 'Read', input_schema: PARAMETERS, cache_control: { type: 'ephemeral' } }
  const question = { role: 'user', content: [{ type: 'text', text: 'Look.' }] }

  test.each(UPSTREAMS)('are called, and so is what brings the result back, over %s', async upstream => {
    const asked = { model: `${upstream}/tool`, tools: [list, read] }
    const first = await ask({ ...asked, messages: [question], tool_choice: { type: 'tool', name: 'Read' } })
    const call = asObject(asArray(messageOf(first.text)['tool_calls'])[0]) ?? {}
    expect(call).toMatchObject({ type: 'function', function: { name: 'Read' } })
    const use = { type: 'tool_use', id: call['id'], name: 'Read', input: { path: 'a' } }
    const result = {
      type: 'tool_result',
      tool_use_id: call['id'],
      content: [{ type: 'text', text: 'found' }],
    }
    const messages = [
      question,
      { role: 'assistant', content: [{ type: 'text', text: 'I read.' }, use] },
      { role: 'user', content: [result] },
    ]
    const second = await ask({ ...asked, messages })
    expect(messageOf(second.text)).toMatchObject({ content: 'Result: found' })
  })

  test('reach a Chat upstream as it has them', async () => {
    const use = { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a' } }
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' }
    const messages = [
      question,
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result, { type: 'text', text: 'And?' }] },
    ]
    const { upstream } = await ask({ model: 'chat/tool', messages, tools: [list] })
    const called = { id: 'toolu_1', type: 'function', function: { name: 'Read', arguments: '{"path":"a"}' } }
    expect(upstream['messages']).toMatchObject([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', tool_calls: [called] },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'found' },
      { role: 'user', content: 'And?' },
    ])
    const parameters = { type: 'object' }
    expect(upstream['tools']).toMatchObject([
      { type: 'function', function: { name: 'List', description: 'Lists.', parameters } },
    ])
  })

  test('are refused where they do not say what they are of, and said once beside calls of Chat', async () => {
    const use = { type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }
    const call = { id: 'toolu_1', type: 'function', function: { name: 'Read', arguments: '{}' } }
    const done = { role: 'tool', tool_call_id: 'toolu_1', content: 'found' }
    const messages = [question, { role: 'assistant', content: [use], tool_calls: [call] }, done]
    const { upstream } = await ask({ model: 'messages/tool', messages })
    expect(asArray(asObject(asArray(upstream['messages'])[1])?.['content'])).toHaveLength(1)
    const lost = { role: 'user', content: [{ type: 'tool_result', content: 'found' }] }
    const { status, text } = await ask({ model: 'messages/tool', messages: [question, lost] })
    expect(status).toBe(400)
    expect(parseObject(text)).toMatchObject({ error: { param: 'messages[1].content.tool_use_id' } })
  })
})
