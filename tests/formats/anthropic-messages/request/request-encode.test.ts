import { describe, expect, test } from 'bun:test'
import { decode, encode, target, thrown } from '#tests/formats/anthropic-messages/fixtures.ts'
import { assistant, call, functionTool, hostedTool, result, system, user } from '#tests/formats/parts.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import { type MediaPart, mediaPart, reasoningPart, type Signature, textPart } from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { FunctionTool } from '@/generation/tool.ts'
import { asArray, asObject, asObjects, isJsonObject, type JsonObject } from '@/json/json.ts'

const OPUS_4_8 = target('claude-opus-4-8')

const webSearch = {
  maxUses: 3,
  allowedDomains: ['a.org'],
  blockedDomains: ['b.org'],
  userLocation: { city: 'Rome' },
  contextSize: 'low',
}

const media = (kind: MediaPart['kind'], source: MediaPart['source'], fields: Partial<MediaPart> = {}) =>
  mediaPart({ kind, source, ...fields })

const reasoning = (text: string, signature?: Signature) => reasoningPart({ texts: [text], signature })

const tool = (name: string, fields: Partial<FunctionTool> = {}) =>
  functionTool(name, { parameters: { type: 'object' }, ...fields })

/** The content blocks of one of these messages. */
function blocks(found: readonly JsonObject[], index: number): JsonObject[] {
  return asArray(found[index]?.['content']).filter(isJsonObject)
}

function messages(turns: Turn[], to = target()): JsonObject[] {
  return encode({ turns }, to).body['messages'] as JsonObject[]
}

describe('messages', () => {
  test('neighbours of one role become one message', () => {
    expect(messages([user('a'), user('b'), assistant('c')]).map(message => message['role'])).toEqual([
      'user',
      'assistant',
    ])
  })

  test('empty text is left out, and a message that is empty then', () => {
    expect(messages([user('a', '', ' \n'), assistant(''), user('b')])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  test('the first turn is a user`s', () => {
    expect(messages([assistant('a'), user('b')])[0]).toMatchObject({ role: 'user' })
    expect(messages([])).toMatchObject([{ role: 'user' }])
  })

  test('a final assistant turn loses its trailing white space, or is answered where nothing continues it', () => {
    expect(messages([user('a'), assistant('b \n')])).toMatchObject([{}, { content: [{ text: 'b' }] }])
    expect(messages([user('a'), assistant('b')], OPUS_4_8).at(-1)).toMatchObject({
      role: 'user',
    })
  })

  test('system text at the head, as one text or with its marks', () => {
    expect(encode({ instructions: [textPart('a'), textPart('b')] }).body['system']).toBe('a\n\nb')
    const marked = { ...textPart('b'), cache: { ttl: undefined } }
    expect(encode({ instructions: [textPart('a'), marked] }).body['system']).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
    ])
    expect(encode({ turns: [system('a'), user('b')] }).body['system']).toBe('a')
  })

  test('edge 60: a later system turn keeps its place, in the role that the model knows', () => {
    const turns = [user('a'), system('b'), assistant('c'), user('d')]
    expect(messages(turns)).toMatchObject([{ role: 'user', content: [{ text: 'a' }, { text: 'b' }] }, {}, {}])
    expect(messages(turns, OPUS_4_8).map(message => message['role'])).toEqual([
      'user',
      'system',
      'assistant',
      'user',
    ])
  })

  test('a system turn before one of the user`s becomes words of the user`s: the API takes none there', () => {
    expect(messages([user('a'), system('b'), user('c'), assistant('d'), user('e')], OPUS_4_8)).toMatchObject([
      { role: 'user', content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      { role: 'assistant' },
      { role: 'user' },
    ])
  })

  test('a system turn between call and result goes behind the result', () => {
    const turns = [user('a'), assistant(call('t')), system('b'), user(result('t', 'r'))]
    expect(messages(turns, OPUS_4_8).map(message => message['role'])).toEqual([
      'user',
      'assistant',
      'user',
      'system',
    ])
  })
})

describe('tool calls and results', () => {
  test('edge 59: results spread over two turns stand together, first and in the order of the calls', () => {
    const found = messages([
      user('a'),
      assistant(call('x'), call('y')),
      user(result('y', '2'), 'words'),
      user(result('x', '1')),
    ])
    expect(found[2]?.['content']).toEqual([
      { type: 'tool_result', tool_use_id: 'x', content: '1' },
      { type: 'tool_result', tool_use_id: 'y', content: '2' },
      { type: 'text', text: 'words' },
    ])
  })

  test('an id that comes again gets one of its own, in the call and in its result', () => {
    const turns = [
      user('go'),
      assistant(call('call_0'), call('call_0')),
      user(result('call_0', 'one'), result('call_0', 'two')),
      assistant(call('call_0')),
      user(result('call_0', 'three'), 'more'),
    ]
    const ids = messages(turns).map(message =>
      asArray(message['content'])
        .filter(isJsonObject)
        .map(block => [block['id'] ?? block['tool_use_id'], block['content'] ?? block['text']]),
    )
    expect(ids.slice(1)).toEqual([
      [
        ['call_0', undefined],
        ['call_0_2', undefined],
      ],
      [
        ['call_0', 'one'],
        ['call_0_2', 'two'],
      ],
      [['call_0_3', undefined]],
      [
        ['call_0_3', 'three'],
        [undefined, 'more'],
      ],
    ])
  })

  test('a missing result is made up, one without a call becomes text', () => {
    const found = messages([user(result('gone', 'r')), assistant(call('x')), assistant('b'), user('c')])
    expect(found[0]?.['content']).toEqual([
      { type: 'text', text: 'Result of tool call gone:' },
      { type: 'text', text: 'r' },
    ])
    expect(found[2]?.['content']).toMatchObject([{ type: 'tool_result', tool_use_id: 'x' }, { text: 'c' }])
    expect(messages([user('a'), assistant(call('x'))])[2]?.['content']).toMatchObject([{ tool_use_id: 'x' }])
  })

  test('edge 58: errors, images and empty content of a result', () => {
    const image = media('image', { type: 'base64', data: 'iVBORw0KGgo=' })
    const found = messages([
      user('a'),
      assistant(call('x'), call('y')),
      user(result('x', '', { isError: true }), result('y', [textPart('see'), image])),
    ])
    expect(found[2]?.['content']).toEqual([
      // Without words the API refuses it.
      { type: 'tool_result', tool_use_id: 'x', content: 'Error:', is_error: true },
      {
        type: 'tool_result',
        tool_use_id: 'y',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        ],
      },
    ])
  })

  test('a failed result that holds media is told in words: the API takes nothing but text of a failure', () => {
    const image = media('image', { type: 'base64', data: 'iVBORw0KGgo=' })
    const failed = result('x', [textPart('no'), image], { isError: true })
    const found = messages([user('a'), assistant(call('x')), user(failed)])
    expect(blocks(found, 2)).toMatchObject([
      { tool_use_id: 'x', content: [{ text: 'Error: no' }, { type: 'image' }] },
    ])
    expect(blocks(found, 2)[0]).not.toHaveProperty('is_error')
  })

  test('edge 66: ids are mapped alike in call and result, and the same every time', () => {
    const turns = [
      user('a'),
      assistant(call('call:1'), call('fine_id-1')),
      user(result('call:1', 'r'), result('fine_id-1', 'r')),
    ]
    const found = messages(turns)
    const [first, second] = blocks(found, 1)
    expect(String(first?.['id'])).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(second?.['id']).toBe('fine_id-1')
    expect(found[2]?.['content']).toMatchObject([
      { tool_use_id: first?.['id'] as string },
      { tool_use_id: 'fine_id-1' },
    ])
    expect(JSON.stringify(messages(turns))).toBe(JSON.stringify(found))
  })

  test.each([
    ['', '{}'],
    ['{"z":1,"a":2}', '{"z":1,"a":2}'],
    ['not json', '{"_raw":"not json"}'],
    ['[1]', '{"_raw":"[1]"}'],
    [
      '{"id":12345678901234567890,"f":1.0,"e":1e400,"z":-0}',
      '{"id":12345678901234567890,"f":1.0,"e":1e400,"z":-0}',
    ],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])('edge 88: the arguments %s', (input, expected) => {
    const [, answer] = messages([user('a'), assistant(call('x', { input }))])
    expect(JSON.stringify(answer)).toContain(`"input":${expected}}`)
  })
})

describe('media', () => {
  const one = (part: MediaPart) => blocks(messages([user(part)]), 0)[0]

  test('the wish for citations comes through', () => {
    const block = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      title: 'Bill',
      context: 'From May',
      citations: { enabled: true },
    }
    const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: [block] }] }
    expect(encode({ turns: decode(body).turns }).body['messages']).toEqual(body.messages)
  })

  test('images and documents', () => {
    expect(one(media('image', { type: 'url', url: 'https://x.org/a.png' }))).toEqual({
      type: 'image',
      source: { type: 'url', url: 'https://x.org/a.png' },
    })
    expect(one(media('image', { type: 'base64', data: '/9j/' }, { mediaType: 'image/jpg' }))).toMatchObject({
      source: { media_type: 'image/jpeg' },
    })
    // The API refuses an image that is called by another's type.
    expect(one(media('image', { type: 'base64', data: '/9j/' }, { mediaType: 'image/png' }))).toMatchObject({
      source: { media_type: 'image/jpeg' },
    })
    expect(one(media('document', { type: 'base64', data: 'JVBERi0=' }, { filename: 'a.pdf' }))).toEqual({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      title: 'a.pdf',
    })
    // The API wants a title or none.
    const nameless = { filename: '', title: '', context: '' }
    expect(one(media('document', { type: 'base64', data: 'JVBERi0=' }, nameless))).toEqual({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
    })
    expect(
      one(media('document', { type: 'base64', data: 'aMOp' }, { mediaType: 'text/plain; charset=utf-8' })),
    ).toMatchObject({
      source: { type: 'text', media_type: 'text/plain', data: 'hé' },
    })
    expect(one(media('document', { type: 'file-id', id: 'f', format: 'anthropic-messages' }))).toMatchObject({
      source: { type: 'file', file_id: 'f' },
    })
  })

  test('a document that is text is text to models of others, whose servers refuse documents or pass over them', () => {
    const [file, cache] = [{ filename: 'a.txt', mediaType: 'text/plain' }, { ttl: undefined }]
    const note = media('document', { type: 'base64', data: 'aMOp' }, { ...file, cache, context: 'From May' })
    const bare = media('document', { type: 'text', text: 'b' }, { citable: true })
    const pdf = media('document', { type: 'base64', data: 'JVBERi0=' })
    const turns = [user(note, bare, pdf), assistant(call('c')), user(result('c', [bare]))]
    const { body, losses } = encode({ turns }, target('qwen3'))
    const [asked, , answered] = asObjects(body['messages'])
    expect(asArray(asked?.['content'])).toEqual([
      { type: 'text', text: 'a.txt\n\nFrom May\n\nhé', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
    ])
    expect(asArray(answered?.['content'])).toMatchObject([
      { type: 'tool_result', content: [{ type: 'text', text: 'b' }] },
    ])
    expect(losses.map(({ field }) => field)).toEqual(['citations'])
  })

  test.each([
    [media('audio', { type: 'base64', data: 'AAAA' })],
    [media('video', { type: 'url', url: 'https://x.org' })],
    [media('image', { type: 'base64', data: 'AAAA' }, { mediaType: 'image/tiff' })],
    [media('image', { type: 'file-id', id: 'f', format: 'openai-responses' })],
    [media('image', { type: 'url', url: 'gs://bucket/a' })],
    [media('document', { type: 'base64', data: 'AAAA' }, { mediaType: 'application/msword' })],
  ])('%j cannot be sent', part => {
    expect(thrown(() => one(part))).toMatchObject({ kind: 'unsupported_parameter', status: 400 })
  })
})

describe('thoughts of the history', () => {
  const own: Signature = { format: 'anthropic-messages', vendor: 'anthropic', value: 'sig' }
  const untagged: Signature = { ...own, vendor: undefined }
  const foreign: Signature = { format: 'openai-responses', vendor: 'openai', value: 'enc' }
  const thinking = (turns: Turn[]) => JSON.stringify(messages(turns)).match(/"type":"thinking"/g)?.length ?? 0

  test('go back to their maker', () => {
    for (const signature of [own, untagged]) {
      expect(
        messages([user('a'), assistant(reasoning('hm', signature), 'b'), user('c')])[1]?.['content'],
      ).toEqual([
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'text', text: 'b' },
      ])
    }
  })

  test.each([
    ['another format`s', foreign],
    ['another vendor`s', { ...own, vendor: 'api.example.org' }],
    ['nobody`s', { ...own, vendor: 'tollgate', value: '' }],
    ['an absent', undefined],
  ])('%s signature is never sent, and declared', (_whose, signature) => {
    const { body, losses } = encode({
      turns: [user('a'), assistant(reasoning('hm', signature), 'b'), user('c')],
    })
    expect(JSON.stringify(body)).not.toContain('thinking')
    expect(losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
  })

  test('a stretch keeps all of its thoughts or none', () => {
    const loop = [
      user('a'),
      assistant(reasoning('1', own), call('x')),
      user(result('x', 'r')),
      assistant(reasoning('2', foreign), call('y')),
      user(result('y', 'r')),
    ]
    expect(thinking(loop)).toBe(0)
    expect(thinking([user('a'), assistant(reasoning('1', own), 'b'), user('c'), ...loop])).toBe(1)
    for (const heard of [[user(result('x', 'r'), 'quick')], [user(result('x', 'r')), user('quick')]])
      expect(thinking([...loop.slice(0, 2), ...heard, ...loop.slice(3)])).toBe(0)
  })

  const open = [user('a'), assistant(call('x')), user(result('x', 'r'))]

  test.each([
    ['', open],
    [', though the user says more', [...open, user('and?')]],
    [', though the model spoke before it called', [user('a'), assistant('well'), ...open.slice(1)]],
    [', though an answer of nothing was in between', [...open, assistant(''), user('and?')]],
    [', though their results are made up', [...open.slice(0, 2), user('and?')]],
    [', though nobody spoke behind them', open.slice(0, 2)],
    [
      ', though one stands before what the system said in between',
      [user('a'), assistant(reasoning('1', own), 'b'), system('now'), ...open.slice(1)],
    ],
  ])('budget thinking pauses while the thought before the open calls is missing%s', (_, turns) => {
    const reasoning = { effort: 'high', budgetTokens: undefined, summary: undefined } as const
    const asked = encode({ turns, reasoning, tools: [tool('f')] })
    expect(asked.body['thinking']).toEqual({ type: 'disabled' })
    expect(asked.losses).toContainEqual({ field: 'reasoning', name: undefined })
    expect(encode({ turns, reasoning, tools: [tool('f')] }, OPUS_4_8).body['thinking']).toEqual({
      type: 'adaptive',
    })
  })

  test.each([
    ['that are open', open],
    ['of before', [...open, assistant('done'), user('and?')]],
  ])(
    'DeepSeek, which thinks unasked, is told not to while the thought before calls %s is missing',
    (_, turns) => {
      const deepseek = { ...target('deepseek-v4-pro'), vendor: 'api.deepseek.com' }
      for (const model of [deepseek.model, 'claude-opus-5-5']) {
        const asked = encode({ turns, tools: [tool('f')] }, { ...deepseek, model })
        expect(asked.body['thinking']).toEqual({ type: 'disabled' })
        expect(asked.losses).toEqual([])
      }
      const theirs = { ...own, vendor: deepseek.vendor }
      const whole = [user('a'), assistant(reasoning('hm', theirs), call('x')), ...turns.slice(2)]
      const left = encode({ turns: whole, tools: [tool('f')] }, deepseek)
      expect(left.body['thinking']).toBeUndefined()
      expect(JSON.stringify(left.body)).toContain('"signature":"sig"')
      for (const model of ['kimi-k3', 'deepseek/deepseek-v4-pro']) {
        const elsewhere = encode({ turns, tools: [tool('f')] }, target(model))
        expect(elsewhere.body['thinking']).toBeUndefined()
      }
    },
  )

  test('a wrapped signature comes home through a caller', () => {
    const block = { type: 'thinking', thinking: 'hm', signature: wrapSignature(own, 'anthropic-messages') }
    const { turns } = decode({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [block, { type: 'text', text: 'said' }] },
        { role: 'user', content: 'b' },
      ],
    })
    expect(JSON.stringify(messages([...turns]))).toContain('"signature":"sig"')
  })

  test('a thought that no word follows is lost: the API refuses a message that ends in one', () => {
    const thought = reasoning('hm', own)
    const turns = [user('a'), assistant(thought), assistant(thought, 'b', thought), user('c')]
    const asked = encode({ turns: [...turns, assistant(thought, ' '), user('d')] })
    expect(asked.body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'thinking' }, { type: 'thinking' }, { type: 'text' }] },
      { role: 'user', content: [{ text: 'c' }, { text: 'd' }] },
    ])
    expect(asked.losses).toEqual([{ field: 'reasoningHistory', name: undefined }])
  })

  test('an answer of thoughts alone does not stand between results and the model that waits for them', () => {
    const turns = [
      user('a'),
      assistant(call('x')),
      user(result('x', 'r')),
      assistant(reasoning('hm')),
      user('b'),
    ]
    const { body, losses } = encode({
      turns,
      reasoning: { effort: 'low', budgetTokens: undefined, summary: undefined },
    })
    expect(body['thinking']).toEqual({ type: 'disabled' })
    expect(losses.map(({ field }) => field)).toContain('reasoning')
  })

  test('thoughts are edited out of the context only while the model thinks, as the API wants it', () => {
    const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }, { type: 'clear_tool_uses_20250919' }]
    const body = {
      max_tokens: 9000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      context_management: { edits },
    }
    expect(encode(decode(body)).body['context_management']).toEqual({ edits })
    const turns = [user('a'), assistant(call('x')), user(result('x', 'r'))]
    const asked = encode({ ...decode(body), turns })
    expect(asked.body['context_management']).toEqual({ edits: edits.slice(1) })
    expect(asked.losses).toContainEqual({ field: 'extension', name: 'context_management' })
  })

  test('what the answer continues has no thoughts, which the API takes only while it thinks', () => {
    const asked = encode({ turns: [user('a'), assistant(reasoning('hm', own), 'b')] })
    expect(asked.body['messages']).toMatchObject([
      {},
      { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
    ])
  })
})

describe('tools', () => {
  test('definitions, with a schema in any case', () => {
    const { body, losses } = encode({
      tools: [tool('f', { description: 'd', cache: { ttl: '5m' } }), tool('g', { parameters: undefined })],
    })
    expect(body['tools']).toEqual([
      {
        name: 'f',
        description: 'd',
        input_schema: { type: 'object' },
        cache_control: { type: 'ephemeral', ttl: '5m' },
      },
      { name: 'g', input_schema: { type: 'object', properties: {} } },
    ])
    expect(losses).toEqual([])
  })

  test('a choice at the top of a schema is merged into one object, which says what it was', () => {
    const parameters = {
      anyOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }],
      required: ['c'],
    }
    expect(encode({ tools: [tool('f', { parameters })] }).body['tools']).toEqual([
      {
        name: 'f',
        input_schema: {
          type: 'object',
          properties: { a: {}, b: {} },
          required: ['c'],
          description: '{anyOf: [{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]}',
        },
      },
    ])
  })

  test('a strict tool whose schema refers to a definition is closed as that, and may be called with its properties', () => {
    const parameters = {
      $ref: '#/$defs/Point',
      $defs: { Point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
    }
    expect(encode({ tools: [tool('f', { strict: true, parameters })] }).body['tools']).toMatchObject([
      {
        strict: true,
        input_schema: { type: 'object', properties: { x: { type: 'number' } }, additionalProperties: false },
      },
    ])
  })

  test('strict where the model knows it', () => {
    const strict = [
      tool('f', {
        strict: true,
        parameters: { type: 'object', properties: { a: { type: 'string', minLength: 2 } } },
      }),
    ]
    expect(encode({ tools: strict }).body['tools']).toMatchObject([
      { strict: true, input_schema: { additionalProperties: false } },
    ])
    expect(encode({ tools: strict }, target('claude-3-7-sonnet-latest')).losses).toEqual([
      { field: 'toolStrict', name: undefined },
    ])
  })

  test.each([
    ['may leave an argument empty', { type: ['string', 'null'] }, true],
    ['has an argument whose keys the model chooses', { type: 'object', additionalProperties: true }, false],
    ['has such an argument or none', { type: ['object', 'null'] }, false],
  ])('a strict tool that %s', (_, argument, isStrict) => {
    const parameters = { type: 'object', properties: { a: argument }, required: ['a'] }
    const { body, losses } = encode({ tools: [tool('f', { strict: true, parameters })] })
    expect(asObjects(body['tools'])[0]?.['strict']).toBe(isStrict ? true : undefined)
    expect(losses.map(({ field }) => field)).toEqual(isStrict ? [] : ['toolStrict'])
  })

  test('of strict tools so many are as the vendor takes in one request', () => {
    const tools = Array.from({ length: 22 }, (_, which) => tool(`f${which}`, { strict: true }))
    const { body, losses } = encode({ tools })
    expect(asObjects(body['tools']).map(({ strict }) => strict)).toEqual([
      ...Array.from({ length: 20 }, () => true),
      undefined,
      undefined,
    ])
    expect(losses).toEqual([{ field: 'toolStrict', name: undefined }])
  })

  test('an answer held to its schema counts before the tools, and each tool beside those before it', () => {
    const nullable = (count: number) => {
      const names = Array.from({ length: count }, (_, which) => `p${which}`)
      const properties = Object.fromEntries(names.map(name => [name, { type: ['string', 'null'] }]))
      return { type: 'object', properties, required: names }
    }
    const tools = [8, 8, 4].map((count, which) =>
      tool(`f${which}`, { strict: true, parameters: nullable(count) }),
    )
    const output = {
      type: 'json-schema',
      name: 'o',
      description: undefined,
      schema: nullable(4),
      strict: true,
    } as const
    const { body, losses } = encode({ tools, output })
    expect(body['output_config']).toMatchObject({ format: { type: 'json_schema' } })
    expect(asObjects(body['tools']).map(({ strict }) => strict)).toEqual([true, undefined, true])
    expect(losses).toEqual([{ field: 'toolStrict', name: undefined }])
  })

  test('what older drafts say of a schema is said as JSON Schema 2020-12 has it', () => {
    const pair = { type: 'array', items: [{ type: 'number' }, { type: 'string' }] }
    const properties = {
      pair,
      more: { ...pair, additionalItems: { type: 'boolean' } },
      ttl: { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      list: { type: 'array', items: { type: 'number', exclusiveMinimum: 0 } },
    }
    const { body } = encode({ tools: [tool('f', { parameters: { type: 'object', properties } })] })
    const prefixItems = [{ type: 'number' }, { type: 'string' }]
    expect(asObject(asObjects(body['tools'])[0]?.['input_schema'])?.['properties']).toEqual({
      pair: { type: 'array', prefixItems },
      more: { type: 'array', prefixItems, items: { type: 'boolean' } },
      ttl: { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
      list: properties.list,
    })
  })

  test('web search is mapped, other hosted tools are lost by name', () => {
    const { body, losses } = encode({
      tools: [
        { ...hostedTool('web_search', 'web_search_preview'), webSearch },
        hostedTool('file_search', 'file_search'),
        tool('f'),
      ],
    })
    expect(body['tools']).toMatchObject([
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 3,
        allowed_domains: ['a.org'],
        user_location: { type: 'approximate', city: 'Rome' },
      },
      { name: 'f' },
    ])
    expect(losses).toEqual([
      { field: 'tools', name: 'web_search_preview.blocked_domains' },
      { field: 'tools', name: 'web_search_preview.search_context_size' },
      { field: 'tools', name: 'file_search' },
    ])
  })

  test("addresses that the caller names are read where another vendor's tool would", () => {
    const fetches = { ...hostedTool('web_fetch', 'urlContext'), format: 'gemini-generate-content' } as const
    const fetch = { type: 'web_fetch_20250910', name: 'web_fetch' }
    expect(encode({ tools: [fetches] })).toMatchObject({ body: { tools: [fetch] }, losses: [] })
    const kind = { hosted: 'web_fetch', wireType: 'urlContext' } as const
    const toolChoice = { type: 'tool', name: 'urlContext', namespace: undefined, kind } as const
    expect(encode({ tools: [fetches], toolChoice }).body['tool_choice']).toEqual({
      type: 'tool',
      name: 'web_fetch',
    })
  })

  test("of another vendor's searches there is one, since two would have one name", () => {
    const { body, losses } = encode({
      tools: [hostedTool('web_search', 'web_search'), hostedTool('web_search', 'web_search_preview')],
    })
    expect(body['tools']).toEqual([{ type: 'web_search_20250305', name: 'web_search' }])
    expect(losses).toEqual([{ field: 'tools', name: 'web_search_preview' }])
  })

  test('calls of one id and one that is called as the second of them would be have ids of their own', () => {
    const turns = ['a', 'a', 'a_2'].flatMap(id => [assistant(call(id)), user(result(id, 'x'))])
    const blocks = asArray(encode({ turns: [user('q'), ...turns] }).body['messages']).flatMap(message =>
      isJsonObject(message) ? asObjects(message['content']) : [],
    )
    const used = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    expect(new Set(used).size).toBe(3)
    expect(blocks.filter(({ type }) => type === 'tool_result').map(block => block['tool_use_id'])).toEqual(
      used,
    )
  })

  test('instructions that say nothing are left out, since the API refuses them', () => {
    expect(encode({ instructions: [textPart(' '), textPart('a')] }).body['system']).toBe('a')
    const marked = { ...textPart('b'), cache: { ttl: undefined } }
    expect(encode({ instructions: [textPart(''), marked] }).body['system']).toMatchObject([{ text: 'b' }])
  })

  test('a web search that leaves sites out does so here', () => {
    const search = { ...webSearch, allowedDomains: [], contextSize: undefined }
    const tools = [{ ...hostedTool('web_search', 'web_search_preview'), webSearch: search }]
    const { body, losses } = encode({ tools })
    expect(body['tools']).toMatchObject([{ type: 'web_search_20250305', blocked_domains: ['b.org'] }])
    expect(losses).toEqual([])
  })

  test.each([
    [{ type: 'auto' }, undefined, { type: 'auto' }],
    [{ type: 'none' }, false, { type: 'none' }],
    [{ type: 'required' }, false, { type: 'any', disable_parallel_tool_use: true }],
    [
      { type: 'tool', name: 'f', namespace: undefined, kind: 'function' },
      undefined,
      { type: 'tool', name: 'f' },
    ],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    [undefined, true, undefined],
  ] as const)('the choice %j, parallel %s', (toolChoice, parallelToolCalls, expected) => {
    expect(encode({ tools: [tool('f')], toolChoice, parallelToolCalls }).body['tool_choice']).toEqual(
      expected as never,
    )
  })

  test('a subset is all that is offered', () => {
    const toolChoice = {
      type: 'allowed',
      mode: 'required',
      tools: [{ name: 'g', namespace: undefined }],
    } as const
    expect(encode({ tools: [tool('f'), tool('g')], toolChoice }).body).toMatchObject({
      tools: [{ name: 'g' }],
      tool_choice: { type: 'any' },
    })
  })

  test('a choice without tools says nothing; a forced tool that is not there is refused', () => {
    expect(encode({ toolChoice: { type: 'required' } }).body['tool_choice']).toBeUndefined()
    const kind = { hosted: 'file_search', wireType: 'file_search' } as const
    const forced = { type: 'tool', name: 'file_search', namespace: undefined, kind } as const
    expect(
      thrown(() =>
        encode({ tools: [hostedTool('file_search', 'file_search'), tool('f')], toolChoice: forced }),
      ),
    ).toMatchObject({ kind: 'unsupported_parameter' })
    expect(
      thrown(() =>
        encode({ tools: [hostedTool('file_search', 'file_search')], toolChoice: { type: 'required' } }),
      ),
    ).toMatchObject({ param: 'toolChoice' })
  })

  test('a history with calls defines its tools though none is offered', () => {
    const turns = [user('a'), assistant(call('x')), user(result('x', 'r'))]
    expect(encode({ turns }).body).toMatchObject({ tools: [{ name: 'f' }], tool_choice: { type: 'none' } })
  })
})

describe('cache marks', () => {
  const mark = (ttl: '5m' | '1h' | undefined) => ({ cache: { ttl } })
  const text = (name: string, ttl?: '5m' | '1h') => ({ ...textPart(name), ...mark(ttl) })

  test('edge 65: of five marks the last four are kept', () => {
    const { body, losses } = encode({
      tools: [tool('f', mark(undefined))],
      instructions: [text('s')],
      turns: [user(text('a'), text('b'), text('c'))],
    })
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4)
    expect(JSON.stringify(body['tools'])).not.toContain('cache_control')
    expect(losses).toEqual([{ field: 'cacheMark', name: undefined }])
  })

  test('edge 65: a long lifetime behind a short one is shortened', () => {
    const { body, losses } = encode({
      turns: [user(text('a', '1h'), text('b', '5m'), text('c', '1h'))],
    })
    expect(body['messages']).toMatchObject([
      {
        content: [
          { cache_control: { ttl: '1h' } },
          { cache_control: { ttl: '5m' } },
          { cache_control: { type: 'ephemeral' } },
        ],
      },
    ])
    expect(losses).toHaveLength(1)
  })

  test('a prompt_cache_key asks for the cache, unless the caller has marked what is to be cached', () => {
    const said = {
      tools: [tool('f')],
      turns: [user(textPart('a')), assistant(textPart('b'))],
    }
    const count = (request: Partial<GenerationRequest>) =>
      JSON.stringify(encode({ ...said, ...request }).body).split('cache_control').length - 1
    const cache_control = { type: 'ephemeral' }
    const instructions = [textPart('s')]

    expect(count({ instructions })).toBe(0)
    expect(count({ promptCacheKey: 'k', instructions: [text('s', '1h')] })).toBe(1)
    expect(encode({ ...said, instructions, promptCacheKey: 'k' }).body).toMatchObject({
      system: [{ type: 'text', text: 's', cache_control }],
      messages: [{ content: [{ type: 'text', text: 'a', cache_control }] }, { role: 'assistant' }],
    })
    expect(count({ instructions, promptCacheKey: 'k' })).toBe(2)
    expect(encode({ ...said, promptCacheKey: 'k' }).body).toMatchObject({
      tools: [{ name: 'f', cache_control }],
    })
  })

  test('a turn of more calls than the API looks back over still finds where the last one ended', () => {
    const calls = Array.from({ length: 30 }, (_, index) => `c${index}`)
    const { body } = encode({
      tools: [tool('f')],
      turns: [
        user(textPart('a')),
        assistant(...calls.map(id => call(id))),
        user(...calls.map(id => result(id, 'done'))),
      ],
      promptCacheKey: 'k',
    })
    const messages = asArray(body['messages']).map(message => JSON.stringify(message))
    expect(messages.map(message => message.split('cache_control').length - 1)).toEqual([1, 0, 1])
  })
})

describe('losses and refusals', () => {
  test('what has no words here is declared', () => {
    const { losses } = encode({
      verbosity: 'low',
      seed: 1,
      presencePenalty: 1,
      frequencyPenalty: 0,
      logitBias: { '1': 2 },
      logprobs: { top: 1 },
      modalities: ['text'],
      metadata: { a: 'b' },
      promptCacheKey: 'k',
      serviceTier: 'flex',
      store: true,
    })
    expect(losses.map(loss => loss.name ?? loss.field).sort()).toEqual(
      [
        'verbosity',
        'seed',
        'presencePenalty',
        'logitBias',
        'logprobs',
        'metadata',
        'promptCacheKey',
        'serviceTier',
        'store',
      ].sort(),
    )
  })

  test('what would change the meaning is refused', () => {
    expect(thrown(() => encode({ candidates: 2 }))).toMatchObject({
      kind: 'unsupported_parameter',
      param: 'candidates',
    })
    expect(thrown(() => encode({ modalities: ['text', 'audio'] }))).toMatchObject({
      kind: 'unsupported_parameter',
    })
    expect(encode({ candidates: 1, modalities: ['text', 'image'] }).losses).toEqual([
      { field: 'modalities', name: undefined },
    ])
  })

  test('stop sequences of white space are emulated, since the API refuses them', () => {
    const { body, emulate } = encode({ stop: ['END', '\n\n'] })
    expect(body['stop_sequences']).toEqual(['END'])
    expect(emulate.stop).toEqual(['\n\n'])
  })

  test('the body names what it relies on, and its own extensions', () => {
    const { body, headers } = encode({
      stream: true,
      user: 'u',
      serviceTier: 'default',
      extensions: { 'anthropic-messages': { container: 'c' } },
    })
    expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
    expect(body).toMatchObject({
      model: 'claude-sonnet-4-5',
      stream: true,
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      container: 'c',
    })
  })

  test('edge 90: the same request gives the same bytes', () => {
    const request = {
      instructions: [textPart('s')],
      turns: [user('a'), assistant(call('call:1')), user(result('call:1', 'r'))],
      tools: [tool('f')],
    }
    expect(JSON.stringify(encode(request).body)).toBe(JSON.stringify(encode(structuredClone(request)).body))
  })
})
