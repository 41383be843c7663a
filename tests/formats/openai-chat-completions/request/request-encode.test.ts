import { describe, expect, test } from 'bun:test'
import { requestOf, targetOf } from '#tests/formats/openai-chat-completions/fixtures.ts'
import { assistant, call, functionTool, result, system, user } from '#tests/formats/parts.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import {
  type MediaPart,
  mediaPart,
  type Part,
  reasoningPart,
  type Signature,
  textPart,
} from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { HostedTool } from '@/generation/tool.ts'
import { asArray, asObject } from '@/json/json.ts'

function encode(request: GenerationRequest, model = 'm', vendor?: string) {
  return openaiChatCompletions.encodeRequest(request, targetOf(model, vendor))
}

/** The messages of a conversation. */
function messagesOf(turns: readonly Turn[], vendor?: string, model?: string) {
  return encode({ ...requestOf({}), turns }, model, vendor).body['messages']
}

test('system text that says nothing is no part of the instructions, and no message', () => {
  const messages = (...texts: string[]) =>
    encode({
      ...requestOf({}),
      instructions: texts.map(textPart),
      turns: [user('q'), system(''), user('r')],
    }).body['messages']
  expect(messages('S', '')).toMatchObject([
    { role: 'system', content: 'S' },
    { role: 'user' },
    { role: 'user' },
  ])
  expect(messages('', '')).toMatchObject([{ content: 'q' }, { content: 'r' }])
})

test('sound is asked for in what the upstream can give, whole and streamed', () => {
  const asked = (stream: boolean) => encode({ ...requestOf({}), modalities: ['text', 'audio'], stream }).body
  expect(asked(false)).toMatchObject({
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
  })
  expect(asked(true)).toMatchObject({ audio: { format: 'pcm16' } })
})

const media = (fields: Partial<MediaPart>) =>
  mediaPart({ kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AQ==' }, ...fields })

const thought = (text: string, signature?: Signature) => reasoningPart({ texts: [text], signature })

describe('by the name of the model', () => {
  test.each([
    ['gpt-4.1', { max_tokens: 9 }],
    ['llama-3.3-70b', { max_tokens: 9 }],
    ['gpt-5-mini', { max_completion_tokens: 9 }],
    ['openai/gpt-6.1-sol', { max_completion_tokens: 9 }],
    ['o3', { max_completion_tokens: 9 }],
    ['gpt-35-turbo', { max_tokens: 9 }],
    ['gpt-41-mini', { max_tokens: 9 }],
  ])('%s takes its limit as %j', (model, expected) => {
    const { body } = encode(requestOf({ max_tokens: 9 }), model)
    const { max_tokens, max_completion_tokens } = body
    expect(JSON.parse(JSON.stringify({ max_tokens, max_completion_tokens }))).toEqual(expected)
  })

  test('the limit is never beyond what the model can write, and one that is cut to that is named', () => {
    const target = { ...targetOf('m'), maxOutputTokens: 100 }
    const { body, losses } = openaiChatCompletions.encodeRequest(requestOf({ max_tokens: 500 }), target)
    expect(body['max_tokens']).toBe(100)
    expect(losses).toEqual([{ field: 'maxOutputTokens', name: undefined }])
  })

  test('edge 64: a limit of 0, which warms a cache elsewhere, is the smallest there is, and named', () => {
    const { body, losses } = encode({ ...requestOf({}), maxOutputTokens: 0 }, 'm')
    expect(body['max_tokens']).toBe(1)
    expect(losses).toEqual([{ field: 'maxOutputTokens', name: undefined }])
  })

  test('a model that does not think unasked is told to if it is to think as it likes; beside tools that is a loss', () => {
    const liked = { effort: undefined, budgetTokens: -1, summary: undefined } as const
    const request = { ...requestOf({}), reasoning: liked }
    expect(encode(request, 'gpt-5.4').body['reasoning_effort']).toBe('medium')
    expect(encode(request, 'gpt-5.5').body['reasoning_effort']).toBeUndefined()
    const { body, losses } = encode({ ...request, tools: [functionTool('f')] }, 'gpt-5.4')
    expect(body['reasoning_effort']).toBeUndefined()
    expect(losses).toEqual([{ field: 'reasoning', name: undefined }])
  })

  test('reasoning models lose the sampling that they refuse, and say so', () => {
    const request = requestOf({
      temperature: 0.2,
      top_p: 1,
      presence_penalty: 0,
      logit_bias: { 1: 1 },
      seed: 4,
    })
    const { body, losses } = encode(request, 'gpt-5')
    expect(Object.keys(body)).toEqual(['model', 'messages', 'seed'])
    expect(losses).toEqual([
      { field: 'temperature', name: undefined },
      { field: 'logitBias', name: undefined },
    ])
    expect(encode(request, 'gpt-5-chat-latest').body['temperature']).toBe(0.2)
    expect(encode(request, 'gpt-5.2-chat-latest')).toMatchObject({ body: { seed: 4 }, losses })
    expect(Object.keys(encode(request, 'openai/gpt-5.3-chat').body)).toEqual(['model', 'messages', 'seed'])
    expect(encode(request, 'gpt-5.4').body['temperature']).toBe(0.2)
    const thinking = { effort: 'low', budgetTokens: undefined, summary: undefined } as const
    expect(encode({ ...request, reasoning: thinking }, 'gpt-5.4').body['temperature']).toBeUndefined()
    expect(encode(request, 'gpt-4.1').losses).toEqual([])
  })

  test.each(['gpt-5-chat-latest', 'gpt-5.2-chat-latest'])('%s is not told how hard to think', model => {
    const reasoning = { effort: 'high', budgetTokens: undefined, summary: undefined } as const
    const { body, losses } = encode(requestOf({ reasoning, verbosity: 'low' }), model)
    expect(Object.keys(body)).toEqual(['model', 'messages'])
    expect(losses.map(({ field }) => field)).toEqual(['reasoning', 'verbosity'])
    expect(encode(requestOf({ verbosity: 'medium' }), model).losses).toEqual([])
  })

  test('reasoning models have stop sequences cut by the gateway', () => {
    const { body, emulate, losses } = encode(requestOf({ stop: ['END'] }), 'o4-mini')
    expect([body['stop'], emulate.stop, losses]).toEqual([undefined, ['END'], []])
    expect(encode(requestOf({ stop: ['END'] }))).toMatchObject({
      body: { stop: ['END'] },
      emulate: { stop: [] },
    })
  })

  test.each([
    ['m', 'system'],
    ['gpt-4.1', 'system'],
    ['gpt-5', 'developer'],
    ['o1', 'developer'],
  ])('%s hears instructions from %s', (model, role) => {
    const request = { ...requestOf({}), instructions: [textPart('a'), textPart('b')] }
    expect(encode(request, model).body['messages']).toMatchObject([
      { role, content: 'a\n\nb' },
      { role: 'user' },
    ])
  })

  test.each([
    ['m', 'max', 'max'],
    ['o3', 'max', 'high'],
    ['o3', 'minimal', 'low'],
    ['gpt-5', 'none', 'minimal'],
    ['gpt-5', 'max', 'high'],
    ['gpt-5.1', 'minimal', 'none'],
    ['gpt-5.1-codex', 'minimal', 'low'],
    ['gpt-5.1-codex-max', 'xhigh', 'xhigh'],
    ['gpt-5.1-codex-max', 'none', 'low'],
    ['gpt-5.2-codex', 'none', 'low'],
    ['gpt-5.3-codex', 'none', 'low'],
    ['gpt-5.4', 'xhigh', 'xhigh'],
    ['gpt-5.4', 'max', 'xhigh'],
    ['gpt-5-pro', 'low', 'high'],
    ['openai/gpt-5.4-pro', 'low', 'medium'],
    ['openai.gpt-5.4', 'max', 'xhigh'],
    ['us.openai.gpt-oss-120b-1:0', 'minimal', 'low'],
    ['gpt-5.6-luna', 'max', 'xhigh'],
    ['gpt-6-luna', 'none', 'none'],
    ['gpt-6-sol', 'max', 'xhigh'],
    ['gpt-6-sol', 'minimal', 'none'],
    ['gpt-6-astra', 'none', 'low'],
    ['gpt-6.1-terra', 'none', 'none'],
    ['gpt-6.2-sol', 'none', 'low'],
    ['gpt-6.2-astra', 'max', 'xhigh'],
    ['gpt-10', 'none', 'low'],
    ['gpt-4.1', 'none', undefined],
    ['openai/gpt-oss-120b', 'xhigh', 'high'],
    ['openai/gpt-oss-120b', 'none', 'low'],
  ] as const)('%s is asked for effort %s as %s', (model, effort, expected) => {
    const { body, losses } = encode(requestOf({ reasoning_effort: effort }), model)
    expect(body['reasoning_effort']).toBe(expected)
    const thinksAnyway = effort === 'none' && expected === 'low'
    expect(losses).toEqual(thinksAnyway ? [{ field: 'reasoning', name: undefined }] : [])
  })

  test('the o-series is told neither how much to say nor to call one tool at a time', () => {
    const { body, losses } = encode(
      { ...requestOf({ verbosity: 'low', parallel_tool_calls: false }), tools: [functionTool('f')] },
      'o3',
    )
    expect(body).not.toHaveProperty('verbosity')
    expect(body).not.toHaveProperty('parallel_tool_calls')
    expect(losses.map(({ field }) => field).toSorted()).toEqual(['parallelToolCalls', 'verbosity'])
  })

  test.each([
    ['api.cerebras.ai', 'max', 'high'],
    ['api.cerebras.ai', 'minimal', 'none'],
    ['api.cohere.ai', 'medium', 'high'],
    ['api.cohere.ai', 'minimal', 'none'],
    ['generativelanguage.googleapis.com', 'none', 'minimal'],
    ['generativelanguage.googleapis.com', 'max', 'high'],
  ] as const)('a model at %s is asked for effort %s as %s', (vendor, effort, expected) => {
    const { body } = encode(requestOf({ reasoning_effort: effort }), 'm', vendor)
    expect(body['reasoning_effort']).toBe(expected)
  })

  test.each([
    ['api.deepseek.com', 'deepseek-v4-pro'],
    ['api.moonshot.ai', 'kimi-k2.6'],
    ['open.bigmodel.cn', 'glm-4.7'],
    ['api.z.ai', 'glm-5.2'],
  ])('at %s, which passes over an effort of none, %s is kept from thinking', (vendor, model) => {
    const { body, losses } = encode(requestOf({ reasoning_effort: 'none' }), model, vendor)
    expect([body['thinking'], body['reasoning_effort'], losses]).toEqual([
      { type: 'disabled' },
      undefined,
      [],
    ])
    const thinks = encode(requestOf({ reasoning_effort: 'high' }), model, vendor).body
    expect([thinks['thinking'], thinks['reasoning_effort']]).toEqual([undefined, 'high'])
  })

  test('at Alibaba Qwen is kept from thinking by its own word', () => {
    const asked = requestOf({ reasoning_effort: 'none' })
    const { body, losses } = encode(asked, 'qwen3.5-plus', 'dashscope.aliyuncs.com')
    expect([body['enable_thinking'], body['reasoning_effort'], losses]).toEqual([false, undefined, []])
  })

  test.each([
    ['api.moonshot.cn', 'kimi-k2.7-code', undefined],
    // The least of https://docs.z.ai/guides/capabilities/thinking, where an effort left out is the most.
    ['api.moonshot.cn', 'kimi-k3', 'low'],
    ['api.z.ai', 'glm-5.3', 'low'],
  ])('at %s %s always thinks, and that is a loss; its effort is %s', (vendor, model, least) => {
    const { body, losses } = encode(requestOf({ reasoning_effort: 'none' }), model, vendor)
    expect([body['thinking'], body['reasoning_effort']]).toEqual([undefined, least])
    expect(losses).toEqual([{ field: 'reasoning', name: undefined }])
  })

  test.each([
    [0, 'none'],
    [512, 'minimal'],
    [1024, 'low'],
    [4096, 'low'],
    [8192, 'medium'],
    [24_576, 'high'],
    [32_768, 'xhigh'],
    [-1, undefined],
  ] as const)('a budget of %d is effort %s', (budgetTokens, effort) => {
    const reasoning = { effort: undefined, budgetTokens, summary: undefined }
    expect(encode({ ...requestOf({}), reasoning }).body['reasoning_effort']).toBe(effort)
  })
})

describe('fields', () => {
  test('a stream always asks for usage', () => {
    expect(encode({ ...requestOf({}), stream: true }).body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(encode(requestOf({})).body).not.toHaveProperty('stream')
  })

  test.each(['api.mistral.ai', 'api.cohere.ai'])(
    '%s, which refuses to be asked for the usage of a stream, is not asked',
    vendor => {
      const { body } = encode({ ...requestOf({}), stream: true }, 'm', vendor)
      expect(body['stream']).toBe(true)
      expect(body).not.toHaveProperty('stream_options')
    },
  )

  test('Mistral, which finds a cached prompt by its key, is told the key', () => {
    const { body, losses } = encode(requestOf({ prompt_cache_key: 'k' }), 'm', 'api.mistral.ai')
    expect([body['prompt_cache_key'], losses]).toEqual(['k', []])
  })

  test('Mistral, which refuses a seed, is told it by its own name, and what a request is marked with', () => {
    const asked = requestOf({ seed: 7, metadata: { a: 'b' } })
    const { body, losses } = encode(asked, 'm', 'api.mistral.ai')
    expect(body).toMatchObject({ random_seed: 7, metadata: { a: 'b' } })
    expect(body).not.toHaveProperty('seed')
    expect(losses).toEqual([])
  })

  test("Google, which knows few of OpenAI's fields and refuses the others, is sent none of those", () => {
    const known = { temperature: 0.5, top_p: 0.9, stop: ['x'], n: 2, max_tokens: 9, reasoning_effort: 'low' }
    const refused = {
      ...{ seed: 1, presence_penalty: 1, frequency_penalty: 1, logit_bias: { 1: 1 }, logprobs: true },
      ...{ user: 'u', metadata: { a: 'b' }, prompt_cache_key: 'k', store: true, verbosity: 'low' },
      ...{ service_tier: 'flex', top_k: 3 },
    }
    const { body, losses } = encode(
      requestOf({ ...known, ...refused }),
      'gemini-3.8-flash',
      'generativelanguage.googleapis.com',
    )
    const { model: _model, messages: _messages, ...said } = body
    expect(said).toEqual(known)
    expect(losses).toHaveLength(Object.keys(refused).length)
  })

  test('Google is told which tool a result is of', () => {
    const request = { ...requestOf({}), turns: [assistant(call('a')), user(result('a', 'A'))] }
    const { body } = encode(request, 'gemini-3.8-flash', 'generativelanguage.googleapis.com')
    expect(asArray(body['messages'])[1]).toEqual({ role: 'tool', tool_call_id: 'a', name: 'f', content: 'A' })
  })

  test('nothing that was not said is written', () => {
    expect(encode(requestOf({})).body).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
  })

  test('extensions of this format come back, those of others do not', () => {
    const request = requestOf({ enable_thinking: true })
    request.extensions['gemini-generate-content'] = { safetySettings: [] }
    expect(encode(request).body).toMatchObject({ enable_thinking: true })
    expect(encode(request).body).not.toHaveProperty('safetySettings')
  })

  test('more stop sequences than OpenAI takes are refused there only', () => {
    const request = requestOf({ stop: ['a', 'b', 'c', 'd', 'e'] })
    expect(() => encode(request, 'gpt-4.1', 'openai')).toThrow("'stop' has more than the 4 sequences")
    expect(encode(request).body['stop']).toHaveLength(5)
  })

  test('top_k goes to the vendors that have it', () => {
    expect(encode(requestOf({ top_k: 5 })).body['top_k']).toBe(5)
    expect(encode(requestOf({ top_k: 5 }), 'gpt-4.1', 'openai').losses).toEqual([
      { field: 'topK', name: undefined },
    ])
  })

  test('a user id that OpenAI finds too long is hashed, always the same', () => {
    const { body } = encode(requestOf({ user: 'u'.repeat(65) }))
    expect(body['user']).toMatch(/^[0-9a-f]{64}$/)
    expect(encode(requestOf({ user: 'u'.repeat(65) })).body['user']).toBe(body['user'])
  })

  test.each([
    ['standard', 'default'],
    ['standard_only', 'default'],
    ['ultrafast', 'fast'],
    ['flex', 'flex'],
  ])('the tier %s is asked for as %s', (serviceTier, asked) => {
    expect(encode({ ...requestOf({}), serviceTier }).body['service_tier']).toBe(asked)
  })

  test.each([
    ['auto', []],
    ['default', []],
    ['standard_only', []],
    ['priority', ['serviceTier']],
    ['scale', ['serviceTier']],
  ])('the tier %s where there is none: lost is %j', (serviceTier, lost) => {
    const { body, losses } = encode({ ...requestOf({}), serviceTier }, 'm', 'api.mistral.ai')
    expect(body['service_tier']).toBeUndefined()
    expect(losses.map(({ field }) => String(field))).toEqual(lost)
  })

  test('structured output, with a name that the format takes', () => {
    const output = {
      type: 'json-schema',
      name: 'my schema',
      description: undefined,
      schema: { type: 'object' },
      strict: true,
    } as const
    expect(encode({ ...requestOf({}), output }).body['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'my_schema', schema: { type: 'object' }, strict: true },
    })
  })
})

describe('tools', () => {
  const f = { type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } }
  const search: HostedTool = {
    type: 'hosted',
    kind: 'web_search',
    format: 'anthropic-messages',
    wireType: 'web_search_20250305',
    wire: {},
    webSearch: {
      maxUses: 3,
      allowedDomains: [],
      blockedDomains: [],
      userLocation: { type: 'approximate', city: 'Bern' },
      contextSize: undefined,
    },
  }

  test.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', function: { name: 'f' } },
    ],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [f] } },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    ],
  ])('tool_choice %j', (choice, expected) => {
    const request = requestOf({ tools: [f], tool_choice: choice })
    expect(encode(request, 'm', 'api.openai.com').body['tool_choice']).toEqual(expected)
  })

  // vLLM, Groq, Mistral and DeepSeek name the four choices above, and refuse another.
  test.each(['auto', 'required'])(
    'several that may be called are all that is offered to others: %s',
    mode => {
      const g = { type: 'function', function: { name: 'g' } }
      const allowed_tools = { mode, tools: [g] }
      const request = requestOf({ tools: [f, g], tool_choice: { type: 'allowed_tools', allowed_tools } })
      expect(encode(request, 'm', 'vllm.example').body).toMatchObject({ tools: [g], tool_choice: mode })
    },
  )

  test('are written as they were, and without them no choice', () => {
    expect(encode(requestOf({ tools: [f] })).body['tools']).toEqual([f])
    const { body } = encode(requestOf({ tool_choice: 'auto', parallel_tool_calls: false }))
    expect(Object.keys(body)).toEqual(['model', 'messages'])
  })

  test('a web search is options of a search model, elsewhere a loss by its own name', () => {
    const request = { ...requestOf({}), tools: [search] }
    expect(encode(request, 'gpt-4o-search-preview').body['web_search_options']).toEqual({
      user_location: { type: 'approximate', approximate: { city: 'Bern' } },
    })
    expect(encode(request).losses).toEqual([{ field: 'tools', name: 'web_search_20250305' }])
    expect(encode(request).body).not.toHaveProperty('tools')
  })

  test('a forced search that cannot be is refused', () => {
    const kind = { hosted: 'web_search', wireType: 'web_search_20250305' } as const
    const toolChoice = { type: 'tool', name: 'web_search', namespace: undefined, kind } as const
    expect(() => encode({ ...requestOf({}), tools: [search], toolChoice })).toThrow('web_search_20250305')
  })
})

test('an empty conversation is an empty question', () => {
  expect(messagesOf([])).toEqual([{ role: 'user', content: '' }])
})

describe('results', () => {
  test('stand directly after their turn, one message each, in the order of the calls', () => {
    const turns = [
      user('q'),
      assistant('I look.', call('a'), call('b', { input: '' })),
      user(result('b', 'B'), result('a', 'A'), textPart('and now?')),
    ]
    expect(messagesOf(turns)).toEqual([
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'user', content: 'and now?' },
    ])
  })

  test('of calls in neighbouring turns stand after all of the calls', () => {
    const turns = [assistant(call('a')), assistant(call('b')), user(result('a', 'A')), user(result('b', 'B'))]
    expect(messagesOf(turns)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'tool', tool_call_id: 'b' },
    ])
  })

  test('edge 48: with images have them in a user message after the results', () => {
    const turns = [
      assistant(call('a'), call('b')),
      user(result('a', [textPart('see'), media({})]), result('b', 'B')),
    ]
    expect(messagesOf(turns)).toMatchObject([
      { role: 'assistant' },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: 'see\n[The image of this result: see the next user message]',
      },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      {
        role: 'user',
        content: [{ type: 'text' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AQ==' } }],
      },
    ])
  })

  test('edge 49: that are missing are made up, those without a call become text', () => {
    const turns = [assistant(call('a')), user(result('ghost', 'boo'), textPart('go on'))]
    expect(messagesOf(turns)).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'a', content: 'No result was recorded for this call.' },
      { role: 'user', content: [{ text: 'Result of tool call ghost:' }, { text: 'boo' }, { text: 'go on' }] },
    ])
  })

  test.each([
    ['no such file', 'Error: no such file'],
    ['Error: no such file', 'Error: no such file'],
    ['the build failed', 'the build failed'],
    ['', 'Error:'],
  ])('edge 58: that failed with "%s" say so', (text, content) => {
    const turns = [assistant(call('a')), user(result('a', text === '' ? [] : text, { isError: true }))]
    expect(messagesOf(turns)).toMatchObject([{}, { role: 'tool', content }])
  })

  test('edge 66: ids are kept where they fit and else replaced on both sides alike', () => {
    const long = `toolu_${'x'.repeat(60)}`
    const turns = [assistant(call('call:1'), call(long)), user(result('call:1', 'A'), result(long, 'B'))]
    const [made, ...results] = asArray(messagesOf(turns)).map(asObject)
    const [first, second] = asArray(made?.['tool_calls']).map(entry => asObject(entry)?.['id'])
    expect(first).toBe('call:1')
    expect(String(second)).toMatch(/^call_[0-9a-f]{24}$/)
    expect(results.map(message => message?.['tool_call_id'])).toEqual([first, second])
    expect<unknown>(messagesOf(turns)).toEqual([made, ...results])
  })
})

describe('reasoning of the history', () => {
  const own: Signature = {
    format: 'openai-chat-completions',
    vendor: 'upstream.example',
    value: '[{"type":"reasoning.text","text":"t","signature":"s"}]',
  }

  test('goes back as text on messages with calls, and on no others', () => {
    const turns = [
      assistant(thought('t'), call('a')),
      user(result('a', 'A')),
      assistant(thought('u'), textPart('x')),
    ]
    expect(messagesOf(turns)).toEqual([
      expect.objectContaining({ role: 'assistant', reasoning_content: 't' }),
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'assistant', content: 'x' },
    ])
  })

  // All but Ollama answer another field with a 400.
  test.each([
    ['ollama.com', { reasoning: 't' }, []],
    ['api.groq.com', { reasoning: 't' }, []],
    ['api.cerebras.ai', { reasoning: 't' }, []],
    ['api.mistral.ai', {}, ['reasoningHistory']],
    ['api.cohere.com', {}, ['reasoningHistory']],
    ['api.fireworks.ai', { reasoning_content: 't' }, []],
    ['generativelanguage.googleapis.com', {}, ['reasoningHistory']],
  ])('is in the field of %s, or a loss', (vendor, fields, lost) => {
    const request = {
      ...requestOf({}),
      turns: [assistant(thought('t'), call('a')), user(result('a', 'A'))],
    }
    const { body, losses } = encode(request, 'm', vendor)
    const {
      role: _role,
      content: _content,
      tool_calls: _calls,
      ...rest
    } = asObject(asArray(body['messages'])[0]) ?? {}
    expect(rest).toEqual(fields)
    expect(losses.map(({ field }) => String(field))).toEqual(lost)
  })

  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

  // https://docs.mistral.ai/inference/conversations/reasoning
  test('stands among the parts of every message at models of Mistral that think', () => {
    const request = {
      ...requestOf({}),
      turns: [
        assistant(thought('t'), call('a')),
        user(result('a', 'A')),
        assistant(thought('u'), textPart('x'), thought('v'), textPart('y')),
        user('q'),
        assistant(reasoningPart({ redacted: true, signature: { ...own, vendor: 'x' } }), textPart('z')),
        user('r'),
      ],
    }
    const { body, losses } = encode(request, 'mistral-medium-3-5', 'api.mistral.ai')
    const said = asArray(body['messages']).map(asObject)
    expect(said.filter(message => message?.['role'] === 'assistant')).toEqual([
      { role: 'assistant', content: [thinking('t')], tool_calls: [expect.anything()] },
      {
        role: 'assistant',
        content: [thinking('u'), { type: 'text', text: 'x' }, thinking('v'), { type: 'text', text: 'y' }],
      },
      { role: 'assistant', content: 'z' },
    ])
    expect(losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
  })

  test.each([
    ['of a message without a call', [thought('t'), textPart('x')], true],
    [
      'that is sealed',
      [reasoningPart({ redacted: true, signature: { ...own, vendor: 'x' } }), call('a')],
      true,
    ],
    ['of another beside entries of its own', [thought('t', own), thought('u')], true],
    ['that says nothing', [thought(''), textPart('x')], false],
    ['that was signed for another part', [thought('', { ...own, value: 'sig' }), textPart('x')], false],
  ])('%s is named where it is left out', (_, parts, isLost) => {
    const { losses } = encode({ ...requestOf({}), turns: [assistant(...parts)] }, 'm')
    expect(losses).toEqual(isLost ? [{ field: 'reasoningHistory', name: undefined }] : [])
  })

  test('is not for OpenAI', () => {
    const request = { ...requestOf({}), turns: [assistant(thought('t'), call('a'))] }
    const { body, losses } = encode(request, 'gpt-4.1', 'openai')
    expect(JSON.stringify(body)).not.toContain('reasoning')
    expect(losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
    expect(encode(request, 'gpt-4.1', 'x.openai.azure.com').losses).toEqual(losses)
  })

  test('goes back in the entries of the vendor that made them, and to no other vendor', () => {
    const turns = [assistant(thought('t', own), textPart('x'))]
    expect(messagesOf(turns)).toMatchObject([
      { reasoning_details: [{ type: 'reasoning.text', text: 't', signature: 's' }] },
    ])
    expect(messagesOf(turns, 'other.example')).toEqual([{ role: 'assistant', content: 'x' }])
  })

  test('of another format never brings its signature', () => {
    const foreign: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'EqoB' }
    expect(JSON.stringify(messagesOf([assistant(thought('t', foreign), call('a'))]))).not.toContain('EqoB')
  })

  test('alone still stands in a message that has content', () => {
    expect(messagesOf([assistant(thought('t', own))])).toMatchObject([
      { content: '', reasoning_details: [{}] },
    ])
    expect(messagesOf([user('q'), assistant(thought('t'))])).toEqual([{ role: 'user', content: 'q' }])
  })

  test('is at least an empty text where the vendor insists', () => {
    expect(messagesOf([assistant(call('a'))], 'api.moonshot.ai')).toMatchObject([
      { reasoning_content: '' },
      {},
    ])
  })

  test("a call's own signature goes back on the call", () => {
    const signature: Signature = { ...own, value: 'sig' }
    expect(messagesOf([assistant(call('a', { signature }))])).toMatchObject([
      { tool_calls: [{ extra_content: { google: { thought_signature: 'sig' } } }] },
      {},
    ])
  })
})

describe('parts', () => {
  test.each([
    [
      media({ detail: 'low' }),
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AQ==', detail: 'low' } },
    ],
    [
      media({ source: { type: 'url', url: 'https://e.com/a.png' } }),
      { type: 'image_url', image_url: { url: 'https://e.com/a.png' } },
    ],
    [
      media({ kind: 'document', mediaType: 'application/pdf', filename: 'a.pdf' }),
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AQ==' } },
    ],
    [
      media({ kind: 'document', source: { type: 'file-id', id: 'file-1', format: 'openai-responses' } }),
      { type: 'file', file: { file_id: 'file-1' } },
    ],
    [
      media({ kind: 'audio', mediaType: 'audio/mpeg' }),
      { type: 'input_audio', input_audio: { data: 'AQ==', format: 'mp3' } },
    ],
    [
      media({ kind: 'audio', mediaType: 'audio/x-wav' }),
      { type: 'input_audio', input_audio: { data: 'AQ==', format: 'wav' } },
    ],
  ])('%#: %j', (part, expected) => {
    expect(messagesOf([user('q', part)])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'q' }, expected] },
    ])
  })

  test.each([
    [
      media({ kind: 'document', mediaType: 'application/pdf', filename: 'a.pdf' }),
      { type: 'document_url', document_url: 'data:application/pdf;base64,AQ==', document_name: 'a.pdf' },
    ],
    [
      media({ kind: 'document', source: { type: 'url', url: 'https://e.com/a.pdf' } }),
      { type: 'document_url', document_url: 'https://e.com/a.pdf' },
    ],
    [media({ kind: 'audio', mediaType: 'audio/mpeg' }), { type: 'input_audio', input_audio: 'AQ==' }],
    [
      media({ kind: 'audio', source: { type: 'url', url: 'https://e.com/a.mp3' } }),
      { type: 'input_audio', input_audio: 'https://e.com/a.mp3' },
    ],
  ])('%#: at Mistral %j', (part, expected) => {
    expect(messagesOf([user('q', part)], 'api.mistral.ai')).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'q' }, expected] },
    ])
    if (part.source.type !== 'url') return
    const target = targetOf('m', 'api.mistral.ai')
    expect(openaiChatCompletions.takesUrl(part, part.source.url, target)).toBe(true)
  })

  test('Perplexity is told in turns, the last of which is the user, as it refuses others', () => {
    const turns = [
      user('a'),
      user('b'),
      system('c'),
      assistant(textPart('d')),
      user('e'),
      assistant(textPart('f')),
    ]
    expect(messagesOf(turns, 'api.perplexity.ai')).toEqual([
      {
        role: 'user',
        content: ['a', 'b', 'c'].map(text => ({ type: 'text', text })),
      },
      { role: 'assistant', content: 'd' },
      { role: 'user', content: 'e' },
      { role: 'assistant', content: 'f' },
      { role: 'user', content: 'Continue.' },
    ])
  })

  test.each([
    [
      media({ kind: 'document', mediaType: 'application/pdf', filename: 'a.pdf' }),
      { type: 'file_url', file_url: { url: 'AQ==' }, file_name: 'a.pdf' },
    ],
    [
      media({ kind: 'document', source: { type: 'url', url: 'https://e.com/a.pdf' } }),
      { type: 'file_url', file_url: { url: 'https://e.com/a.pdf' } },
    ],
  ])('%#: at Perplexity %j', (part, expected) => {
    expect(messagesOf([user('q', part)], 'api.perplexity.ai')).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'q' }, expected] },
    ])
    const target = targetOf('m', 'api.perplexity.ai')
    expect(openaiChatCompletions.takesUrl(part, 'https://e.com/a.pdf', target)).toBe(true)
  })

  test.each([
    [
      media({
        kind: 'document',
        mediaType: 'text/plain',
        source: { type: 'text', text: 'body' },
        title: 'T',
      }),
      'T\nbody',
    ],
    [media({ kind: 'document', mediaType: 'text/markdown', source: { type: 'base64', data: 'YsO8' } }), 'bü'],
  ])('%#: a document of text is text', (part, text) => {
    expect(messagesOf([user(part)])).toEqual([{ role: 'user', content: text }])
  })

  test.each([
    [
      'a document by address',
      media({ kind: 'document', source: { type: 'url', url: 'https://e.com/a.pdf' } }),
    ],
    ["another vendor's file", media({ source: { type: 'file-id', id: 'f', format: 'anthropic-messages' } })],
    ['audio by address', media({ kind: 'audio', source: { type: 'url', url: 'https://e.com/a.mp3' } })],
  ])('%s is refused', (_name, part) => {
    expect(() => messagesOf([user(part)])).toThrow(/^'mediaAddress' has /)
  })

  test('cache marks are written for those who take them, and else a loss', () => {
    const marked = { ...requestOf({}), turns: [user({ ...textPart('a'), cache: { ttl: '1h' } })] }
    expect(encode(marked, 'gpt-5.6').body['messages']).toMatchObject([
      { content: [{ text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }] },
    ])
    expect(encode(marked, 'anthropic/claude-sonnet-4.5', 'openrouter.ai').body['messages']).toMatchObject([
      { content: [{ text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    ])
    expect(encode(marked)).toMatchObject({
      body: { messages: [{ role: 'user', content: 'a' }] },
      losses: [{ field: 'cacheMark' }],
    })
  })

  test('cache marks are written for Qwen at Alibaba, which keeps five minutes; an hour is a loss', () => {
    const marked = (ttl: '5m' | '1h' | undefined, model = 'qwen3.7-plus') =>
      encode(
        { ...requestOf({}), turns: [user({ ...textPart('a'), cache: { ttl } })] },
        model,
        'dashscope-intl.aliyuncs.com',
      )
    for (const ttl of ['5m', undefined] as const)
      expect(marked(ttl)).toMatchObject({
        body: { messages: [{ content: [{ text: 'a', cache_control: { type: 'ephemeral' } }] }] },
        losses: [],
      })
    expect(marked('1h').losses).toEqual([{ field: 'cacheMark', name: undefined }])
    expect(marked(undefined, 'llama-4').losses).toEqual([{ field: 'cacheMark', name: undefined }])
  })

  test('of two results of one call the first is its answer', () => {
    expect(messagesOf([assistant(call('c')), user(result('c', 'one'), result('c', 'two'))])).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'c', content: 'one' },
      { role: 'user', content: [{ text: 'Result of tool call c:' }, { text: 'two' }] },
    ])
  })

  test('texts of neighbouring turns of the assistant are one message, a blank line between them', () => {
    const turns = [assistant('a'), assistant(call('c')), assistant('b')]
    expect(messagesOf(turns)).toMatchObject([
      { role: 'assistant', content: 'a\n\nb', tool_calls: [{ id: 'c' }] },
      { role: 'tool', tool_call_id: 'c' },
    ])
  })

  test('a text without a word is no part of a message', () => {
    expect(messagesOf([user('', media({}), 'a')])).toMatchObject([
      { content: [{ type: 'image_url' }, { type: 'text', text: 'a' }] },
    ])
  })

  test('a cache mark on a tool is written for OpenRouter, and else a loss', () => {
    const marked = { ...requestOf({}), tools: [functionTool('f', { cache: { ttl: '1h' } })] }
    expect(encode(marked, 'anthropic/claude-sonnet-4.5', 'openrouter.ai')).toMatchObject({
      body: { tools: [{ function: { name: 'f' }, cache_control: { type: 'ephemeral', ttl: '1h' } }] },
      losses: [],
    })
    expect(encode(marked, 'gpt-5.6', 'api.openai.com').losses).toEqual([
      { field: 'cacheMark', name: undefined },
    ])
  })

  test('cache marks on instructions stand where they were, at those who take them', () => {
    const instructions = [textPart('a'), { ...textPart('b'), cache: { ttl: undefined } }, textPart('c')]
    const marked = { ...requestOf({}), instructions }
    expect(encode(marked, 'anthropic/claude-sonnet-4.5', 'openrouter.ai').body['messages']).toMatchObject([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'c' },
        ],
      },
      { role: 'user' },
    ])
    expect(encode(marked)).toMatchObject({
      body: { messages: [{ role: 'system', content: 'a\n\nb\n\nc' }, { role: 'user' }] },
      losses: [{ field: 'cacheMark' }],
    })
  })

  test('a refusal is its own field at OpenAI and text elsewhere', () => {
    const turns = [assistant({ type: 'refusal', text: 'No.' })]
    expect(messagesOf(turns, 'openai')).toEqual([{ role: 'assistant', content: null, refusal: 'No.' }])
    expect(messagesOf(turns)).toEqual([{ role: 'assistant', content: 'No.' }])
  })

  test('what was said aloud is named to who said it', () => {
    const format = 'openai-chat-completions'
    const part: Part = { type: 'opaque', format, name: 'audio', value: { id: 'audio_1' } }
    const turns = [assistant(part)]
    expect(messagesOf(turns)).toEqual([{ role: 'assistant', content: null, audio: { id: 'audio_1' } }])
    expect(encode({ ...requestOf({}), turns }).losses).toEqual([])
  })

  test('what only another format knows is a loss by its name', () => {
    const part: Part = { type: 'opaque', format: 'openai-responses', name: 'mcp_call', value: {} }
    const { losses } = encode({
      ...requestOf({}),
      turns: [user('q'), assistant(part, textPart('x'))],
    })
    expect(losses).toEqual([{ field: 'extension', name: 'mcp_call' }])
  })
})
