import { describe, expect, test } from 'bun:test'
import { requestOf, targetOf } from '#tests/formats/openai-chat-completions/fixtures.ts'
import { functionTool } from '#tests/formats/parts.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { mediaPart } from '@/generation/part.ts'
import type { GenerationRequest, OutputFormat } from '@/generation/request.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** What a model at a vendor is sent for a request, and which fields are lost. */
function sent(vendor: string, model: string, request: GenerationRequest): JsonObject {
  const { body, losses } = openaiChatCompletions.encodeRequest(request, targetOf(model, vendor))
  return { ...body, lost: losses.map(({ field }) => field) }
}

const named = { type: 'function', function: { name: 'f' } }

describe('a call that is forced', () => {
  const asking = (tools: readonly string[], fields: JsonObject): GenerationRequest => ({
    ...requestOf(fields),
    tools: tools.map(name => functionTool(name)),
  })

  test.each([
    ['api.deepseek.com', 'deepseek-v4-pro', { thinking: { type: 'disabled' } }],
    ['dashscope-intl.aliyuncs.com', 'qwen3.5-plus', { enable_thinking: false }],
  ])('is made without thought at %s, where %s refuses it beside', (vendor, model, off) => {
    for (const tool_choice of ['required', named]) {
      const { lost, ...body } = sent(vendor, model, asking(['f', 'g'], { tool_choice }))
      expect(body).toMatchObject({ ...off, tool_choice })
      expect(lost).toEqual([])
    }
    const thinking = sent(vendor, model, asking(['f'], { tool_choice: named, reasoning_effort: 'high' }))
    expect(thinking).toMatchObject({ ...off, lost: ['reasoning'] })
    expect(thinking).not.toHaveProperty('reasoning_effort')
    expect(sent(vendor, model, asking(['f'], { tool_choice: 'auto' }))).not.toContainAnyKeys(Object.keys(off))
  })

  test('is made by name, and without thought, where that alone is known: Kimi K2.5 and K2.6', () => {
    const only = sent('api.moonshot.ai', 'kimi-k2.6', asking(['f'], { tool_choice: 'required' }))
    expect(only).toMatchObject({ tool_choice: named, thinking: { type: 'disabled' }, lost: [] })
    const several = sent('api.moonshot.ai', 'kimi-k2.6', asking(['f', 'g'], { tool_choice: 'required' }))
    expect(several).toMatchObject({ tool_choice: 'auto', lost: ['toolChoice'] })
    expect(several).not.toHaveProperty('thinking')
  })

  test('is made with the one tool that is offered where names are refused: Kimi K3', () => {
    const request = asking(['f', 'g'], { tool_choice: named })
    expect(sent('api.moonshot.ai', 'kimi-k3', request)).toMatchObject({
      tools: [{ function: { name: 'f' } }],
      tool_choice: 'required',
      lost: [],
    })
  })

  test.each([
    ['api.moonshot.cn', 'kimi-k2.7-code'],
    ['api.kimi.com', 'kimi-for-coding'],
    ['api.z.ai', 'glm-5.3'],
    ['open.bigmodel.cn', 'glm-4.7'],
    ['api.meta.ai', 'muse-spark-1.2'],
    ['dashscope.aliyuncs.com', 'qwen3-235b-a22b-thinking-2507'],
  ])('is left to the model at %s where none can be forced of %s, and that is a loss', (vendor, model) => {
    const { tool_choice = null, lost = null } = sent(vendor, model, asking(['f'], { tool_choice: named }))
    expect([tool_choice, lost]).toEqual(['auto', ['toolChoice']])
  })

  test.each([
    ['api.z.ai', 'glm-5.3'],
    ['api.meta.ai', 'muse-spark-1.2'],
  ])('is none of any tool at %s, which refuses every choice but auto', (vendor, model) => {
    const without = sent(vendor, model, asking(['f'], { tool_choice: 'none' }))
    expect(without).not.toContainAnyKeys(['tools', 'tool_choice'])
    expect(without).toMatchObject({ lost: [] })
  })

  test('is as it was said elsewhere', () => {
    const request = asking(['f', 'g'], { tool_choice: named, reasoning_effort: 'high' })
    expect(sent('upstream.example', 'deepseek-v4-pro', request)).toMatchObject({
      tool_choice: named,
      reasoning_effort: 'high',
      lost: [],
    })
  })
})

test('calls come in pieces from the models of Z.ai that keep them back unless asked', () => {
  const asked = (stream: boolean, model = 'glm-5.3', vendor = 'api.z.ai') =>
    sent(vendor, model, { ...requestOf({}), stream, tools: [functionTool('f')] })['tool_stream']
  expect([asked(true), asked(true, 'glm-4.6')]).toEqual([true, true])
  expect([asked(false), asked(true, 'glm-4.5'), asked(true, 'glm-5.3', 'upstream.example')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

describe('structured output', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const output: OutputFormat = {
    type: 'json-schema',
    name: 'o',
    description: undefined,
    schema,
    strict: true,
  }
  const asking = (fields: Partial<GenerationRequest>): GenerationRequest => ({
    ...requestOf({}),
    output,
    ...fields,
  })
  const inWords = [{ role: 'system', content: expect.stringContaining(JSON.stringify(schema)) }, {}]

  test.each([
    ['api.deepseek.com', 'deepseek-v4-pro'],
    ['api.deepseek.com', 'deepseek-chat'],
    ['api.groq.com', 'llama-3.3-70b-versatile'],
  ])('is JSON of a schema in words at %s, where %s refuses schemas', (vendor, model) => {
    expect(sent(vendor, model, asking({}))).toMatchObject({
      messages: inWords,
      response_format: { type: 'json_object' },
      lost: ['outputStrict'],
    })
    const list = asking({ output: { ...output, schema: { type: 'array' }, strict: undefined } })
    const said = sent(vendor, model, list)
    expect(said).not.toHaveProperty('response_format')
    expect(said).toMatchObject({ lost: [] })
  })

  test('is said in words alone beside tools at Groq', () => {
    for (const format of [output, { type: 'json' }] satisfies OutputFormat[]) {
      const request = asking({ output: format, tools: [functionTool('f')] })
      const said = sent('api.groq.com', 'openai/gpt-oss-120b', request)
      expect(said).not.toHaveProperty('response_format')
      expect(said).toMatchObject({ messages: [{ role: 'system' }, {}] })
    }
    expect(sent('api.groq.com', 'openai/gpt-oss-120b', asking({}))).toMatchObject({
      response_format: { type: 'json_schema' },
    })
  })
})

describe('what a vendor has set for its models is not said', () => {
  const sampling = {
    temperature: 0.2,
    top_p: 0.9,
    presence_penalty: 1,
    frequency_penalty: 1,
    stop: ['x'],
    n: 2,
  }
  const left = (vendor: string, model: string) =>
    Object.keys(sent(vendor, model, requestOf(sampling))).filter(name => name in sampling)

  test.each([
    ['api.moonshot.ai', 'kimi-k2.5', ['stop']],
    ['api.moonshot.cn', 'kimi-k3', ['stop']],
    ['api.kimi.com', 'kimi-for-coding', ['stop']],
    ['api.moonshot.cn', 'kimi-k2-turbo-preview', Object.keys(sampling)],
    ['api.x.ai', 'grok-4.6', ['temperature', 'top_p', 'n']],
    ['upstream.example', 'kimi-k2.5', Object.keys(sampling)],
  ])('%s, %s', (vendor, model, expected) => {
    expect(left(vendor, model).toSorted()).toEqual(expected.toSorted())
  })

  test.each([
    ['api.x.ai', 'grok-4.6'],
    ['api.meta.ai', 'muse-spark-1.2'],
  ])('stop sequences that %s refuses are looked for here', (vendor, model) => {
    const { emulate } = openaiChatCompletions.encodeRequest(requestOf({ stop: 'x' }), targetOf(model, vendor))
    expect(emulate.stop).toEqual(['x'])
  })

  test.each([
    ['api.x.ai', 'grok-4-fast-reasoning', 'high', undefined],
    ['api.x.ai', 'grok-4.20-0309-reasoning', 'high', undefined],
    ['api.x.ai', 'grok-3-mini', 'medium', 'low'],
    ['api.x.ai', 'grok-4.3', 'medium', 'medium'],
    ['api.x.ai', 'grok-4.3', 'none', 'none'],
    ['api.x.ai', 'grok-4.5', 'xhigh', 'high'],
    ['api.x.ai', 'grok-4.6', 'none', 'low'],
    ['api.x.ai', 'grok-4.6', 'max', 'xhigh'],
    ['api.x.ai', 'grok-build-0.1', 'high', undefined],
    ['api.groq.com', 'llama-3.3-70b-versatile', 'high', undefined],
    ['api.groq.com', 'qwen/qwen3-32b', 'high', undefined],
    ['api.groq.com', 'qwen/qwen3-32b', 'none', 'none'],
    ['api.groq.com', 'qwen/qwen3-32b', 'minimal', 'none'],
    ['api.groq.com', 'openai/gpt-oss-120b', 'high', 'high'],
    ['api.moonshot.ai', 'kimi-k3', 'xhigh', 'high'],
    ['api.mistral.ai', 'mistral-medium-3-5', 'low', 'high'],
    ['api.mistral.ai', 'mistral-medium-latest', 'xhigh', 'high'],
    ['api.mistral.ai', 'mistral-small-2603', 'minimal', 'none'],
    ['api.mistral.ai', 'mistral-large-4', 'none', 'none'],
    ['api.mistral.ai', 'magistral-medium-latest', 'medium', 'high'],
    ['api.mistral.ai', 'mistral-medium-2508', 'high', undefined],
    ['api.mistral.ai', 'mistral-medium-3.1', 'high', undefined],
    ['api.mistral.ai', 'mistral-small-2506', 'high', undefined],
    ['api.mistral.ai', 'mistral-large-2512', 'high', undefined],
    ['api.mistral.ai', 'devstral-latest', 'high', undefined],
    ['api.mistral.ai', 'zai-glm-5-2', 'medium', 'high'],
    ['api.mistral.ai', 'zai-glm-5-2', 'none', 'none'],
    ['api.mistral.ai', 'zai-glm-5-3', 'medium', 'low'],
    ['api.z.ai', 'glm-5.3', 'medium', 'low'],
    ['api.z.ai', 'glm-5.3-flash', 'xhigh', 'high'],
    ['api.z.ai', 'glm-5.2', 'max', 'max'],
    ['api.meta.ai', 'muse-spark-1.2', 'none', 'minimal'],
    ['api.meta.ai', 'muse-spark-1.2', 'xhigh', 'xhigh'],
  ] as const)('%s, %s: effort %s as %s', (vendor, model, reasoning_effort, expected) => {
    const { body } = openaiChatCompletions.encodeRequest(
      requestOf({ reasoning_effort }),
      targetOf(model, vendor),
    )
    expect(body['reasoning_effort']).toBe(expected)
  })
})

describe('parameters of a function', () => {
  const text = { type: 'string' }
  const written = (vendor: string, model: string, parameters: JsonObject) => {
    const { tools = [] } = sent(vendor, model, {
      ...requestOf({}),
      tools: [functionTool('f', { parameters })],
    })
    return asObject(asObject(asArray(tools)[0])?.['function'])?.['parameters']
  }

  test('are what Moonshot takes', () => {
    const choice = { anyOf: [{ enum: ['a'] }, { type: 'null' }, { $ref: '#/$defs/c' }] }
    const $defs = { c: { ...text, description: 'C' } }
    const parameters = {
      type: 'object',
      properties: {
        typed: { type: 'string', ...choice },
        tuple: { type: 'array', items: [text, { type: 'number' }], maxItems: 2 },
        anything: true,
        named: { $ref: '#/$defs/c', description: 'D', default: 'x' },
        plain: text,
      },
      $defs,
    }
    expect(written('api.moonshot.ai', 'kimi-k3', parameters)).toEqual({
      type: 'object',
      properties: {
        typed: { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }, { $ref: '#/$defs/c' }] },
        tuple: { type: 'array', prefixItems: [text, { type: 'number' }], maxItems: 2 },
        anything: {},
        named: { $ref: '#/$defs/c', default: 'x' },
        plain: text,
      },
      $defs,
    })
    expect(written('upstream.example', 'kimi-k3', parameters)).toEqual(parameters)
  })

  test('are an object at the top at Moonshot', () => {
    const root = { type: 'object', anyOf: [{ properties: { a: text } }, { properties: { b: text } }] }
    const { anyOf, ...said } = asObject(written('api.moonshot.ai', 'kimi-k3', root)) ?? {}
    expect(anyOf).toBeUndefined()
    expect(said).toMatchObject({ type: 'object', properties: { a: text, b: text } })
  })

  test.each([
    ['gateway.example', 'gpt-5.1', {}],
    ['models.github.ai', 'openai/gpt-4.1', {}],
    ['gateway.example', 'openai/gpt-oss-120b', undefined],
    ['gateway.example', 'm', undefined],
  ])('are what OpenAI takes for its own models behind %s, too: %s', (vendor, model, items) => {
    const parameters = { type: 'object', properties: { a: { type: 'array' } } }
    const named = asObject(asObject(written(vendor, model, parameters))?.['properties'])
    expect(asObject(named?.['a'])?.['items']).toEqual(items)
  })
})

test('an image by its address is not for Moonshot, which takes data alone', () => {
  const url = 'https://e.com/a.png'
  const image = mediaPart({ kind: 'image', mediaType: undefined, source: { type: 'url', url } })
  const takes = (vendor: string) => openaiChatCompletions.takesUrl(image, url, targetOf('kimi-k3', vendor))
  expect([takes('api.moonshot.ai'), takes('upstream.example')]).toEqual([false, true])
})
