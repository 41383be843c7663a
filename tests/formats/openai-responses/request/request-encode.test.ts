import { describe, expect, test } from 'bun:test'
import { request } from '#tests/formats/openai-responses/fixtures.ts'
import { assistant, call, hostedTool, result, user } from '#tests/formats/parts.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { EncodedRequest } from '@/formats/codec.ts'
import { openaiResponses } from '@/formats/openai-responses/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { NO_SETTINGS } from '@/formats/tools/web-search.ts'
import { type MediaPart, mediaPart, reasoningPart, textPart } from '@/generation/part.ts'
import type { Effort, GenerationRequest } from '@/generation/request.ts'
import type { HostedTool } from '@/generation/tool.ts'
import { asArray, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

const media = (
  kind: MediaPart['kind'],
  mediaType: string | undefined,
  source: MediaPart['source'],
): MediaPart => mediaPart({ kind, mediaType, source })

const TARGET = { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined }

function encode(change: Partial<GenerationRequest>, target = TARGET): EncodedRequest {
  return openaiResponses.encodeRequest({ ...request({ input: 'hi' }), ...change }, target)
}

const inputOf = (change: Partial<GenerationRequest>) => asArray(encode(change).body['input'])
const lossesOf = (change: Partial<GenerationRequest>, target = TARGET) =>
  encode(change, target).losses.map(loss =>
    loss.name === undefined ? loss.field : `${loss.field}:${loss.name}`,
  )

const reasoning = (vendor: string | undefined, format: 'openai-responses' | 'anthropic-messages') =>
  reasoningPart({ texts: ['hm'], id: 'rs_1', signature: { format, vendor, value: 'enc' } })

const effort = (effort: Effort) => ({ effort, budgetTokens: undefined, summary: undefined })

test('is stateless: nothing stored, encrypted reasoning asked for', () => {
  expect(encode({}).body).toEqual({
    model: 'gpt-5.1',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: false,
  })
  expect(encode({}, { ...TARGET, model: 'gpt-4o' }).body['include']).toBeUndefined()
  const amazons = { ...TARGET, model: 'openai.gpt-5.6-luna', vendor: 'bedrock-mantle.us-east-1.api.aws' }
  expect(encode({}, amazons).body['include']).toEqual(['reasoning.encrypted_content'])
})

function idAndOutput(item: JsonValue): unknown[] {
  return [asObject(item)?.['call_id'], asObject(item)?.['output']]
}

describe('edge 49: calls and outputs that lack each other', () => {
  test('a call without output gets one, an output without call becomes text', () => {
    const turns = [
      user(result('lost', 'old news')),
      assistant(call('c1'), call('c2')),
      user(result('c2', 'two'), textPart('and?')),
    ]
    expect(inputOf({ turns })).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Result of tool call lost:' },
          { type: 'input_text', text: 'old news' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'No result was recorded for this call.' },
      { type: 'function_call_output', call_id: 'c2', output: 'two' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'and?' }] },
    ])
  })

  test('ids that several turns use are told apart, each call with its own output', () => {
    const again = [assistant(call('c'), call('c')), user(result('c', '2'), result('c', '3'))]
    const turns = [assistant(call('c')), user(result('c', '1')), ...again]
    const items = inputOf({ turns })
    expect(items.map(idAndOutput)).toEqual([
      ['c', undefined],
      ['c', '1'],
      ['c_2', undefined],
      ['c_3', undefined],
      ['c_2', '2'],
      ['c_3', '3'],
    ])
    // Caches live on it.
    expect(items.slice(0, 2)).toEqual(inputOf({ turns: turns.slice(0, 2) }))
  })

  test('a call whose id the next answer used again, too, is not left without an output', () => {
    const items = inputOf({
      turns: [assistant(call('c')), assistant(call('c', { input: '{"x":1}' })), user(result('c', '1'))],
    })
    expect(items.map(idAndOutput)).toEqual([
      ['c', undefined],
      ['c_2', undefined],
      ['c', '1'],
      ['c_2', 'No result was recorded for this call.'],
    ])
  })

  test('an image that was made twice is two items', () => {
    const image = media('image', 'image/png', { type: 'base64', data: 'AAAA' })
    const ids = inputOf({ turns: [assistant(image), user('again'), assistant(image)] }).flatMap(
      item => asObject(item)?.['id'] ?? [],
    )
    expect(new Set(ids).size).toBe(2)
  })

  test('ids that do not fit are replaced alike on both sides', () => {
    const long = 'x'.repeat(80)
    const [first, second] = inputOf({ turns: [assistant(call(long)), user(result(long))] })
    expect(first).toMatchObject({ call_id: expect.stringMatching(/^call_[0-9a-f]{24}$/) })
    expect(second).toMatchObject({ call_id: Object(first)['call_id'] })
  })
})

test('outputs with media are parts, errors say so', () => {
  const image = media('image', 'image/png', { type: 'base64', data: 'AAAA' })
  const turns = [
    assistant(call('a'), call('b')),
    user(result('a', [textPart('see'), image]), result('b', 'boom', { isError: true })),
  ]
  expect(inputOf({ turns }).slice(2)).toEqual([
    {
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      ],
    },
    { type: 'function_call_output', call_id: 'b', output: 'Error: boom' },
  ])
})

describe('reasoning history', () => {
  test('of the same vendor stands before its call', () => {
    const turns = [assistant(reasoning('openai', 'openai-responses'), call('c')), user(result('c', 'r'))]
    expect(inputOf({ turns })[0]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'enc',
    })
    expect(lossesOf({ turns })).toEqual([])
  })

  test('carried on a call or text by a format without items comes before it, once', () => {
    const signature = { format: 'openai-responses', vendor: 'openai', value: 'enc' } as const
    const seal = { type: 'reasoning', summary: [], encrypted_content: 'enc' }
    const turns = [
      assistant(call('c', { signature })),
      user(result('c')),
      assistant({ ...textPart('x'), signature }),
    ]
    expect(inputOf({ turns }).map(item => Object(item)['type'])).toEqual([
      'reasoning',
      'function_call',
      'function_call_output',
      'reasoning',
      'message',
    ])
    expect(inputOf({ turns })[0]).toEqual(seal)
    const twice = [assistant(reasoning('openai', 'openai-responses'), { ...textPart('x'), signature })]
    expect(inputOf({ turns: twice }).map(item => Object(item)['type'])).toEqual(['reasoning', 'message'])
    const foreign = { ...signature, format: 'gemini-generate-content' } as const
    expect(lossesOf({ turns: [assistant({ ...textPart('x'), signature: foreign })] })).toEqual([
      'reasoningHistory',
    ])
  })

  test.each([
    ['of another vendor', assistant(reasoning('azure', 'openai-responses'), textPart('x'))],
    ['of another format', assistant(reasoning('anthropic', 'anthropic-messages'), textPart('x'))],
    ['that leads to nothing', assistant(reasoning('openai', 'openai-responses'))],
  ])('%s is dropped and said so', (_, turn) => {
    expect(JSON.stringify(encode({ turns: [turn] }).body)).not.toContain('"enc"')
    expect(lossesOf({ turns: [turn] })).toEqual(['reasoningHistory'])
  })

  const at = (model: string, vendor: string) => ({ ...TARGET, model, vendor })
  const OPEN = [
    ['DeepSeek', at('deepseek-v4-flash', 'api.deepseek.com')],
    ['an open model', at('openai/gpt-oss-120b', 'openrouter.ai')],
    ['one at Amazon', at('openai.gpt-oss-120b', 'bedrock-mantle.us-east-1.api.aws')],
    ['a server of somebody', at('qwen3', 'llm.example')],
  ] as const

  test.each(OPEN)('in words goes back to %s with the calls that it led to', (_, target) => {
    const turns = [
      assistant(reasoningPart({ texts: ['well', 'hm'] }), 'so', call('c')),
      user(result('c', 'r')),
      assistant(reasoningPart({ texts: ['well', 'hm'] }), call('d')),
      user(result('d', 'r')),
    ]
    const { body, losses } = encode({ turns }, target)
    const input = asArray(body['input']).map(asObject)
    expect(input.map(item => item?.['type'])).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call_output',
      'reasoning',
      'function_call',
      'function_call_output',
    ])
    expect(input[0]).toEqual({
      type: 'reasoning',
      id: expect.stringMatching(/^rs_[0-9a-f]{32}$/),
      summary: [],
      content: [{ type: 'reasoning_text', text: 'well\n\nhm' }],
    })
    expect(input[4]?.['id']).not.toBe(input[0]?.['id'])
    expect(losses).toEqual([])
  })

  test.each([
    ['of a message without calls', OPEN[1][1], assistant(reasoningPart({ texts: ['hm'] }), 'x')],
    ['to OpenAI', TARGET, assistant(reasoningPart({ texts: ['hm'] }), call('c'))],
    [
      "to OpenAI's elsewhere",
      at('gpt-5.1', 'llm.example'),
      assistant(reasoningPart({ texts: ['hm'] }), call('c')),
    ],
    [
      "to OpenAI's at Amazon",
      at('openai.gpt-5.5', 'bedrock-mantle.us-east-1.api.aws'),
      assistant(reasoningPart({ texts: ['hm'] }), call('c')),
    ],
    ['to Meta', at('muse-spark-1.2', 'llm.example'), assistant(reasoningPart({ texts: ['hm'] }), call('c'))],
    ['to xAI', at('grok-4', 'api.x.ai'), assistant(reasoningPart({ texts: ['hm'] }), call('c'))],
  ])('in words, %s, is dropped and said so', (_, target, turn) => {
    const { body } = encode({ turns: [turn] }, target)
    expect(JSON.stringify(body['input'])).not.toContain('hm')
    expect(lossesOf({ turns: [turn] }, target)).toEqual(['reasoningHistory'])
  })

  // DeepSeek puts a call into the message before it, and refuses the one that something parts from its output.
  test('what is said between calls stands before all of them, but at OpenAI', () => {
    const turns = [
      assistant(call('a'), 'then', reasoningPart({ texts: ['hm'] }), call('b')),
      user(result('a', 'r'), result('b', 'r')),
    ]
    const types = (target: typeof TARGET) =>
      asArray(encode({ turns }, target).body['input']).map(item => asObject(item)?.['type'])
    for (const [, target] of OPEN) {
      expect(types(target).slice(0, 4)).toEqual(['message', 'reasoning', 'function_call', 'function_call'])
    }
    expect(types(TARGET).slice(0, 3)).toEqual(['function_call', 'message', 'function_call'])
  })
})

describe('DeepSeek, which thinks unasked, is kept from it', () => {
  const target = { ...TARGET, model: 'deepseek-v4-pro', vendor: 'api.deepseek.com' }
  const high = { effort: 'high', budgetTokens: undefined, summary: undefined } as const
  const thought = reasoningPart({ texts: ['hm'] })
  const loop = (...parts: Parameters<typeof assistant>) => [
    user('q'),
    assistant(...parts),
    user(result('c', 'r')),
  ]
  const tools = [
    {
      type: 'function',
      name: 'f',
      namespace: undefined,
      description: undefined,
      parameters: undefined,
      strict: undefined,
      cache: undefined,
    } as const,
  ]

  test.each([
    ['for a call whose thought is missing', { turns: loop(call('c')) }],
    [
      'for a later one',
      { turns: [...loop(thought, call('c')), assistant(call('d')), user(result('d', 'r'))] },
    ],
    ['for a call that is forced', { tools, toolChoice: { type: 'required' } as const }],
  ])('%s', (_, change) => {
    expect(encode(change, target).body['reasoning']).toEqual({ effort: 'none' })
    expect(lossesOf(change, target)).toEqual([])
    expect(encode({ ...change, reasoning: high }, target).body['reasoning']).toEqual({ effort: 'none' })
    expect(lossesOf({ ...change, reasoning: high }, target)).toEqual(['reasoning'])
    expect(encode(change, { ...target, vendor: 'llm.example' }).body['reasoning']).toBeUndefined()
  })

  test('else it is not', () => {
    expect(encode({ turns: loop(thought, call('c')), tools }, target).body['reasoning']).toBeUndefined()
    // What was called before the user spoke last it lets pass.
    const over = [...loop(call('c')), assistant('so'), user('and?')]
    expect(encode({ turns: over, tools }, target).body['reasoning']).toBeUndefined()
    const spoken = [user('q'), assistant(call('c')), user(result('c', 'r'), textPart('and?'))]
    expect(encode({ turns: spoken, tools }, target).body['reasoning']).toBeUndefined()
    expect(encode({ reasoning: high }, target).body['reasoning']).toEqual({ effort: 'high' })
  })
})

describe('an earlier answer, elsewhere than at OpenAI', () => {
  const elsewhere = { ...TARGET, model: 'gpt-oss-20b', vendor: '10.0.0.5:8000' }
  const inputAt = (target: typeof TARGET, ...turns: GenerationRequest['turns']) =>
    asArray(encode({ turns }, target).body['input'])

  test('is one text, words of refusal with it: vLLM reads the first alone, Ollama knows no refusal', () => {
    const url = { url: 'https://a.example', title: undefined, citedText: undefined, start: 0, end: 1 }
    const wire = { type: 'url_citation', url: url.url }
    const cited = {
      ...textPart('two'),
      citations: [{ ...url, wire: { format: 'openai-responses', value: wire } } as const],
    }
    const turn = assistant('one', cited, { type: 'refusal', text: ' no' })
    const told = { type: 'message', role: 'assistant' }
    expect(inputAt(elsewhere, turn)).toEqual([
      { ...told, content: [{ type: 'output_text', text: 'onetwo no', annotations: [] }] },
    ])
    expect(lossesOf({ turns: [turn] }, elsewhere)).toEqual(['citations'])
    for (const target of [TARGET, { ...elsewhere, model: 'openai/gpt-5.1' }]) {
      expect(inputAt(target, turn)).toEqual([
        {
          ...told,
          content: [
            { type: 'output_text', text: 'one', annotations: [] },
            { type: 'output_text', text: 'two', annotations: [wire] },
            { type: 'refusal', refusal: ' no' },
          ],
        },
      ])
    }
  })

  test.each([
    ['{"city": "Par', '{"_raw":"{\\"city\\": \\"Par"}'],
    ['[1]', '{"_raw":"[1]"}'],
    [' ', '{}'],
    ['{"n": 1.0}', '{"n": 1.0}'],
  ])('a call with %j has an object, which chat templates take apart', (input, written) => {
    const turns = [assistant(call('c', { input })), user(result('c', 'r'))]
    expect(inputAt(elsewhere, ...turns)[0]).toMatchObject({ type: 'function_call', arguments: written })
    expect(inputAt(TARGET, ...turns)[0]).toMatchObject({ arguments: input.trim() === '' ? '{}' : input })
  })
})

describe('roles', () => {
  test('instructions are one text, later system text keeps its place', () => {
    const { body } = encode({
      instructions: [textPart('one'), textPart('two')],
      turns: [
        user('a'),
        { role: 'system', parts: [textPart('now')] },
        assistant('b', { type: 'refusal', text: 'no' }),
      ],
    })
    expect(body['instructions']).toBe('one\n\ntwo')
    expect(body['input']).toMatchObject([
      { role: 'user' },
      { role: 'system', content: [{ type: 'input_text', text: 'now' }] },
      {
        role: 'assistant',
        content: [
          // Azure AI Foundry refuses one without its list: "Required property 'annotations' is missing"
          { type: 'output_text', text: 'b', annotations: [] },
          { type: 'refusal', refusal: 'no' },
        ],
      },
    ])
  })

  test.each(['gpt-5.6-sol', 'openai/gpt-6.2-astra'])(
    'instructions to %s are the first message, where caches keep them and their marks have a place',
    model => {
      const marked = { ...textPart('one'), cache: { ttl: undefined } }
      const { body, losses } = encode(
        { instructions: [marked, textPart('two')], turns: [user('a')] },
        { ...TARGET, model },
      )
      expect(body['instructions']).toBeUndefined()
      expect(body['input']).toMatchObject([
        {
          role: 'system',
          content: [{ text: 'one', prompt_cache_breakpoint: { mode: 'explicit' } }, { text: '\n\ntwo' }],
        },
        { role: 'user' },
      ])
      expect(losses).toEqual([])
    },
  )

  test('instructions alone are the input, which may not be empty, with a blank line between them', () => {
    expect(
      encode({ instructions: [textPart('sys'), textPart(''), textPart('tem')], turns: [] }).body,
    ).toMatchObject({
      input: [
        {
          role: 'system',
          content: [
            { type: 'input_text', text: 'sys' },
            { type: 'input_text', text: '\n\ntem' },
          ],
        },
      ],
    })
  })

  test('a prompt without a word is a dot, since an empty input is refused', () => {
    for (const turns of [[], [user('')]]) {
      expect(encode({ turns }).body['input']).toEqual([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: '.' }] },
      ])
    }
  })
})

describe('tools', () => {
  const f = {
    type: 'function',
    name: 'f',
    namespace: undefined,
    description: undefined,
    parameters: undefined,
    strict: undefined,
    cache: undefined,
  } as const

  test('strict is false unless the source asked for it; a strict tool without parameters says that there are no others', () => {
    const { body } = encode({ tools: [f, { ...f, name: 'g', strict: true }] })
    expect(body['tools']).toEqual([
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
      {
        type: 'function',
        name: 'g',
        parameters: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
    ])
  })

  test('patterns that grammars know in part alone are told in words, where others than OpenAI make grammars of them', () => {
    const parameters = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '[a-z]+' }, b: { type: 'string', pattern: '^x$' } },
    }
    const written = (target: typeof TARGET) =>
      asArray(encode({ tools: [{ ...f, parameters }] }, target).body['tools']).map(
        tool => asObject(tool)?.['parameters'],
      )
    const a = { type: 'string', description: expect.stringContaining('[a-z]+') }
    expect(written({ ...TARGET, model: 'qwen3-8b', vendor: '10.0.0.5:1234' })).toEqual([
      { ...parameters, properties: { ...parameters.properties, a } },
    ])
    for (const target of [TARGET, { ...TARGET, vendor: 'gateway.example' }]) {
      expect(written(target)).toEqual([parameters])
    }
  })

  test('groups are put together again', () => {
    const { body } = encode({ tools: [{ ...f, namespace: 'n' }, f, { ...f, name: 'g', namespace: 'n' }] })
    expect(body['tools']).toMatchObject([
      { type: 'namespace', name: 'n', tools: [{ name: 'f' }, { name: 'g' }] },
      { type: 'function', name: 'f' },
    ])
  })

  test('hosted tools of other vendors are mapped or lost', () => {
    const hosted = (kind: HostedTool['kind'], wireType: string): HostedTool => ({
      ...hostedTool(kind, wireType),
      format: 'anthropic-messages',
    })
    const tools = [
      {
        ...hosted('web_search', 'web_search_20250305'),
        webSearch: { ...NO_SETTINGS, maxUses: 3, allowedDomains: ['a.org'], contextSize: 'low' },
      },
      hosted('code_execution', 'code_execution_20250825'),
      hosted('web_fetch', 'web_fetch_20250910'),
    ]
    expect(encode({ tools }).body['tools']).toEqual([
      { type: 'web_search', filters: { allowed_domains: ['a.org'] }, search_context_size: 'low' },
      { type: 'code_interpreter', container: { type: 'auto' } },
    ])
    expect(lossesOf({ tools })).toEqual(['tools:web_search_20250305.max_uses', 'tools:web_fetch_20250910'])
    const toolChoice = {
      type: 'tool',
      name: 'web_fetch',
      namespace: undefined,
      kind: { hosted: 'web_fetch', wireType: 'web_fetch_20250910' },
    } as const
    expect(() => encode({ tools, toolChoice })).toThrow(GatewayError)
  })

  test('a choice without tools is dropped, an allowed subset is named', () => {
    const named = { type: 'tool', name: 'f', namespace: undefined, kind: 'function' } as const
    expect(encode({ toolChoice: { type: 'required' } }).body['tool_choice']).toBeUndefined()
    expect(encode({ toolChoice: named }).body['tool_choice']).toBeUndefined()
    const toolChoice = {
      type: 'allowed',
      mode: 'auto',
      tools: [{ name: 'f', namespace: undefined }],
    } as const
    expect(encode({ tools: [f], toolChoice }).body['tool_choice']).toEqual({
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'f' }],
    })
    const elsewhere = { ...TARGET, model: 'qwen3-8b', vendor: '10.0.0.5:8080' }
    const tools = [f, { ...f, name: 'g' }]
    for (const mode of ['auto', 'required'] as const) {
      const { body } = encode({ tools, toolChoice: { ...toolChoice, mode } }, elsewhere)
      expect(body['tools']).toMatchObject([{ name: 'f' }])
      expect(body['tool_choice']).toBe(mode)
    }
  })
})

describe('limits and sampling', () => {
  test.each([
    [0, 16],
    [1, 16],
    [16, 16],
    [4096, 4096],
    [9000, 4096],
  ])(
    'edge 64: a limit of %d is one of %d: no less than 16, no more than the model can do, and named where it is another',
    (asked, told) => {
      const { body, losses } = encode(
        { maxOutputTokens: asked },
        Object.assign({}, TARGET, { maxOutputTokens: 4096 }),
      )
      expect(body['max_output_tokens']).toBe(told)
      expect(losses).toEqual(told === asked ? [] : [{ field: 'maxOutputTokens', name: undefined }])
    },
  )

  test('stop sequences are left to the gateway and no loss', () => {
    const { emulate, losses, body } = encode({ stop: ['END'] })
    expect(emulate.stop).toEqual(['END'])
    expect(losses).toEqual([])
    expect(body['stop']).toBeUndefined()
  })

  test('several answers and audio are refused', () => {
    expect(() => encode({ candidates: 2 })).toThrow("'candidates'")
    expect(() => encode({ modalities: ['audio'] })).toThrow("'modalities'")
    expect(encode({ candidates: 1 }).losses).toEqual([])
  })

  test('what the format cannot say is a loss', () => {
    expect(
      lossesOf({
        topK: 5,
        seed: 1,
        presencePenalty: 1,
        frequencyPenalty: 0,
        logitBias: { a: 1 },
        store: true,
      }),
    ).toEqual(['topK', 'seed', 'presencePenalty', 'logitBias', 'store'])
  })

  test('reasoning models get no sampling, others do', () => {
    const sampling = { temperature: 0.2, topP: 0.9, logprobs: { top: 3 }, reasoning: effort('low') }
    expect(lossesOf(sampling)).toEqual(['temperature', 'topP', 'logprobs'])
    expect(lossesOf({ ...sampling, temperature: 1, topP: 1, logprobs: undefined })).toEqual([])
    expect(encode(sampling, { ...TARGET, model: 'openai/gpt-4.1' }).body).toMatchObject({
      temperature: 0.2,
      top_p: 0.9,
      top_logprobs: 3,
      include: ['message.output_text.logprobs'],
    })
  })

  test.each([
    ['gpt-5.4', 'medium'],
    ['gpt-5.5', undefined],
  ])('%s that is to think as it likes is told %s: where nothing is said some do not think', (model, told) => {
    const liked = { effort: undefined, budgetTokens: -1, summary: 'auto' } as const
    expect(encode({ reasoning: liked }, { ...TARGET, model }).body['reasoning']).toEqual({
      ...(told && { effort: told }),
      summary: 'auto',
    })
  })

  test.each([
    ['gpt-5.2', undefined, true],
    ['gpt-5.4-nano-2026-03-17', undefined, true],
    ['gpt-5.6-terra', 'none', true],
    ['gpt-5.4', 'low', false],
    ['gpt-5.5', undefined, false],
    ['gpt-5', undefined, false],
    ['gpt-5.2-codex', undefined, false],
    ['gpt-5.4-pro', undefined, false],
    ['o3', 'none', false],
  ] as const)('%s at the effort %s takes sampling: %p', (model, said, taken) => {
    const asked = { temperature: 0.2, topP: 0.9, ...(said && { reasoning: effort(said) }) }
    const { body, losses } = encode(asked, { ...TARGET, model })
    expect([body['temperature'], body['top_p']]).toEqual(taken ? [0.2, 0.9] : [undefined, undefined])
    const names = losses.map(({ field }) => field).filter(field => field !== 'reasoning')
    expect(names).toEqual(taken ? [] : ['temperature', 'topP'])
  })

  test.each([
    ['gpt-5.1', 'minimal', 'none'],
    ['gpt-5.1', 'xhigh', 'high'],
    ['gpt-5.1', 'none', 'none'],
    ['gpt-5-mini', 'none', 'minimal'],
    ['gpt-5-codex', 'minimal', 'low'],
    ['gpt-5-pro', 'low', 'high'],
    ['gpt-5.4-pro', 'low', 'medium'],
    ['gpt-5.5-pro-2026-04-23', 'max', 'xhigh'],
    ['gpt-5.1-codex-max', 'xhigh', 'xhigh'],
    ['o3', 'max', 'high'],
    ['gpt-5.5', 'max', 'xhigh'],
    ['gpt-5.6-sol', 'max', 'max'],
    ['gpt-6-sol', 'none', 'none'],
    ['gpt-6-astra', 'none', 'low'],
    ['gpt-6.1-sol', 'minimal', 'low'],
    ['gpt-6.1-terra', 'none', 'none'],
    ['gpt-6.2-astra', 'max', 'max'],
    ['gpt-10', 'none', 'low'],
    ['openai/gpt-oss-120b', 'xhigh', 'high'],
    ['grok-4.5', 'max', 'high'],
    ['grok-4.6', 'none', 'low'],
    ['meta/muse-spark-1.3', 'none', 'minimal'],
    ['meta/muse-spark-1.3', 'max', 'xhigh'],
    ['someone/else', 'max', 'max'],
  ] as const)('%s takes effort %s as %s', (model, effort, sent) => {
    const reasoningOf = { effort, budgetTokens: undefined, summary: undefined }
    const { body, losses } = encode({ reasoning: reasoningOf }, { ...TARGET, model })
    expect(body['reasoning']).toEqual({ effort: sent })
    const thinksAnyway = effort === 'none' && sent === 'low'
    expect(losses).toEqual(thinksAnyway ? [{ field: 'reasoning', name: undefined }] : [])
  })

  test.each(['none', 'minimal'] as const)(
    'effort %s is more than the least beside a search, which gpt-5 refuses beside that',
    effort => {
      const reasoning = { effort, budgetTokens: undefined, summary: undefined }
      const tools = [hostedTool('web_search', 'web_search')]
      const { body } = encode({ reasoning, tools }, { ...TARGET, model: 'gpt-5-mini' })
      expect(body['reasoning']).toEqual({ effort: 'low' })
    },
  )

  test('a budget becomes an effort, and a model that does not reason gets none', () => {
    const reasoningOf = { effort: undefined, budgetTokens: 10_000, summary: 'auto' } as const
    expect(encode({ reasoning: reasoningOf }).body['reasoning']).toEqual({
      effort: 'medium',
      summary: 'auto',
    })
    const plain = { ...TARGET, model: 'gpt-4o' }
    expect(encode({ reasoning: reasoningOf }, plain).body['reasoning']).toBeUndefined()
    expect(lossesOf({ reasoning: reasoningOf }, plain)).toEqual(['reasoning'])
  })

  test('hints that are too long are shortened, never refused', () => {
    const { body } = encode({ user: 'x'.repeat(200), promptCacheKey: 'k', serviceTier: 'standard_only' })
    expect(body).toMatchObject({
      user: expect.stringMatching(/^[0-9a-f]{64}$/),
      prompt_cache_key: 'k',
      service_tier: 'default',
    })
  })
})

test('structured output is flat, with a name', () => {
  const output = {
    type: 'json-schema',
    name: 'my schema',
    description: undefined,
    schema: { type: 'object' },
    strict: undefined,
  } as const
  expect(encode({ output, verbosity: 'low' }).body['text']).toEqual({
    format: { type: 'json_schema', name: 'my_schema', schema: { type: 'object' }, strict: false },
    verbosity: 'low',
  })
})

describe('media', () => {
  test.each([
    [
      media('image', undefined, { type: 'url', url: 'https://i' }),
      { type: 'input_image', image_url: 'https://i', detail: 'auto' },
    ],
    [
      media('image', undefined, { type: 'file-id', id: 'f', format: 'openai-chat-completions' }),
      { type: 'input_image', file_id: 'f', detail: 'auto' },
    ],
    [
      media('document', 'application/pdf', { type: 'base64', data: 'AA' }),
      { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,AA' },
    ],
    [
      media('document', undefined, { type: 'url', url: 'https://d' }),
      { type: 'input_file', file_url: 'https://d' },
    ],
    [media('document', 'text/plain', { type: 'text', text: 'T' }), { type: 'input_text', text: 'T' }],
    [
      media('audio', 'audio/wav', { type: 'base64', data: 'AA' }),
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
    ],
    [
      media('audio', 'audio/mpeg', { type: 'base64', data: 'AA' }),
      { type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } },
    ],
    // Not called what it is not: the upstream says itself what it does not take.
    [
      media('audio', 'audio/flac', { type: 'base64', data: 'AA' }),
      { type: 'input_audio', input_audio: { data: 'AA', format: 'flac' } },
    ],
    [
      media('document', 'text/plain', { type: 'base64', data: 'AA' }),
      { type: 'input_file', filename: 'document.txt', file_data: 'data:text/plain;base64,AA' },
    ],
  ])('%#', (part, wire) => {
    expect(inputOf({ turns: [user(part)] })).toMatchObject([{ content: [wire] }])
  })

  test('a file that is text is text to others, of whom hardly one reads files', () => {
    const part = mediaPart({
      kind: 'document',
      mediaType: 'text/csv',
      source: { type: 'base64', data: 'aMOp' },
      filename: 'a.csv',
      context: 'May',
    })
    const pdf = media('document', 'application/pdf', { type: 'base64', data: 'AA' })
    const elsewhere = { ...TARGET, model: 'qwen3-8b', vendor: '10.0.0.5:8080' }
    const { body, losses } = encode({ turns: [user(part, pdf)] }, elsewhere)
    expect(body['input']).toMatchObject([
      { content: [{ type: 'input_text', text: 'a.csv\n\nMay\n\nhé' }, { type: 'input_file' }] },
    ])
    expect(losses).toEqual([])
    expect(inputOf({ turns: [user(part)] })).toMatchObject([{ content: [{ type: 'input_file' }] }])
  })

  test.each([
    [media('video', 'video/mp4', { type: 'base64', data: 'AA' })],
    [media('image', undefined, { type: 'file-id', id: 'f', format: 'anthropic-messages' })],
  ])('what nobody could read is refused %#', part => {
    expect(() => encode({ turns: [user(part)] })).toThrow(GatewayError)
  })
})

test('calls of one long id have ids of their own, which are no longer than the API takes', () => {
  const id = 'c'.repeat(64)
  const turns = [1, 2].flatMap(() => [assistant(call(id)), user(result(id, 'x'))])
  const items = asArray(encode({ turns }).body['input']).map(item => asObject(item)?.['call_id'])
  expect(items).toEqual([id, id, expect.any(String), items[2]])
  expect(items[2]).not.toBe(id)
  expect(String(items[2]).length).toBeLessThanOrEqual(64)
})

describe('cache marks', () => {
  const turns = [user({ ...textPart('long'), cache: { ttl: '1h' } })]

  test('reach models that take them', () => {
    const { body, losses } = encode({ turns }, { ...TARGET, model: 'gpt-5.6' })
    expect(body['input']).toMatchObject([
      { content: [{ prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }] },
    ])
    expect(losses).toEqual([])
  })

  test('say no lifetime where their caller said none', () => {
    const plain = [user({ ...textPart('long'), cache: { ttl: undefined } })]
    const sent = JSON.stringify(encode({ turns: plain }, { ...TARGET, model: 'gpt-5.6' }).body['input'])
    expect(sent).toContain('"prompt_cache_breakpoint":{"mode":"explicit"}')
  })

  test('are a loss elsewhere', () => {
    expect(lossesOf({ turns })).toEqual(['cacheMark'])
  })
})

test('its own fields come back where they were', () => {
  const wire = {
    input: 'x',
    reasoning: { effort: 'low', context: 'all_turns' },
    truncation: 'auto',
    'x.y': 1,
    include: ['web_search_call.results'],
  }
  expect(openaiResponses.encodeRequest(request(wire), TARGET).body).toMatchObject({
    reasoning: { effort: 'low', context: 'all_turns' },
    truncation: 'auto',
    'x.y': 1,
    include: ['reasoning.encrypted_content', 'web_search_call.results'],
  })
})

test('opaque items go back to their own format and are lost to others', () => {
  const item = { type: 'compaction', id: 'c', encrypted_content: 'e' }
  const own = { type: 'opaque', format: 'openai-responses', name: 'compaction', value: item } as const
  const other = {
    type: 'opaque',
    format: 'anthropic-messages',
    name: 'server_tool_use',
    value: { type: 'x' },
  } as const
  expect(inputOf({ turns: [assistant(own)] })).toEqual([item])
  expect(lossesOf({ turns: [assistant(other)] })).toEqual(['extension:server_tool_use'])
})

test('counting asks with what makes the prompt', () => {
  const count = openaiResponses.tokenCount
  const body: JsonObject =
    count?.encodeRequest(request({ input: 'x', temperature: 0.1, stream: true }), TARGET) ?? {}
  expect(Object.keys(body).sort()).toEqual(['input', 'model'])
  expect(count?.decodeResponse({ object: 'response.input_tokens', input_tokens: 12 })).toBe(12)
  expect(count?.encodeResponse(12)).toEqual({ object: 'response.input_tokens', input_tokens: 12 })
})

test('a document that is text is told with its title and what goes with it', () => {
  const document = { type: 'document', title: 'T', context: 'C', source: { type: 'text', data: 'D' } }
  const request = CODECS['anthropic-messages'].decodeRequest(
    { max_tokens: 90, messages: [{ role: 'user', content: [document] }] },
    { model: 'm', stream: false },
  )
  const target = { model: 'gpt-5.1', vendor: 'openai', maxOutputTokens: undefined }
  const { body, losses } = openaiResponses.encodeRequest(request, target)
  expect(body['input']).toMatchObject([{ content: [{ type: 'input_text', text: 'T\n\nC\n\nD' }] }])
  expect(losses).toEqual([])
})
