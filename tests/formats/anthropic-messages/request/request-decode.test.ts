import { describe, expect, test } from 'bun:test'
import { decode, thrown } from '#tests/formats/anthropic-messages/fixtures.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { Signature } from '@/generation/part.ts'
import type { Effort } from '@/generation/request.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

function user(...content: JsonObject[]) {
  return decode({ messages: [{ role: 'user', content }] }).turns[0]?.parts ?? []
}

function assistant(...content: JsonObject[]) {
  return decode({ messages: [{ role: 'assistant', content }] }).turns[0]?.parts ?? []
}

describe('system', () => {
  test('edge 60: as a string', () => {
    expect(decode({ system: 'Be kind.' }).instructions).toMatchObject([
      { text: 'Be kind.', cache: undefined },
    ])
  })

  test('edge 60: as blocks, with their cache marks', () => {
    const system = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ]
    expect(decode({ system }).instructions).toMatchObject([
      { text: 'a', cache: undefined },
      { text: 'b', cache: { ttl: '1h' } },
    ])
  })

  test("Claude Code's billing header is for Anthropic alone", () => {
    const header = {
      type: 'text',
      text: 'x-anthropic-billing-header: cc_version=2.1.329.e23; cc_entrypoint=cli;',
    }
    expect(decode({ system: [header, { type: 'text', text: 'a' }] }).instructions).toMatchObject([
      { text: 'a' },
    ])
  })

  test('edge 60: a system message inside the messages keeps its place', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Now be brief.' },
      { role: 'assistant', content: 'ok' },
    ]
    expect(decode({ messages }).turns).toMatchObject([
      { role: 'user' },
      { role: 'system', parts: [{ type: 'text', text: 'Now be brief.' }] },
      { role: 'assistant' },
    ])
  })

  test('a system message that only sets something has no content, a user message must', () => {
    const set = (role: string) => [
      { role, output_config: { effort: 'low' } },
      { role: 'user', content: 'hi' },
    ]
    expect(decode({ messages: set('system') }).turns[0]).toEqual({ role: 'system', parts: [] })
    expect(thrown(() => decode({ messages: set('user') }))).toMatchObject({ param: 'messages[0].content' })
  })

  test.each<[string, string[]]>([
    ['never', ['a', 'Now be brief.', 'b', 'c']],
    ['next_user_message', ['a', 'b', 'c']],
  ])('system text that is cleared at %s', (clear_at, texts) => {
    const note = { role: 'system', content: 'Now be brief.', clear_at }
    const talk = [
      { role: 'user', content: 'a' },
      note,
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ]
    const said = (messages: JsonObject[]) =>
      decode({ messages }).turns.flatMap(({ parts }) => parts.map(part => part.type === 'text' && part.text))
    expect(said(talk)).toEqual(texts)
    expect(said(talk.slice(0, 2))).toEqual(['a', 'Now be brief.'])
  })
})

describe('tool results', () => {
  const result = (fields: JsonObject) => user({ type: 'tool_result', tool_use_id: 't', ...fields })[0]
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

  test.each([
    ['an error', { is_error: true, content: 'boom' }, { isError: true, content: [{ text: 'boom' }] }],
    [
      'blocks with an image',
      { content: [{ type: 'text', text: 'a' }, image] },
      { content: [{ text: 'a' }, { kind: 'image' }] },
    ],
    ['empty content', { content: '' }, { content: [], isError: false }],
    ['no content', {}, { content: [] }],
    ['null content', { content: null }, { content: [] }],
    [
      'a tool reference',
      { content: [{ type: 'tool_reference', tool_name: 'f' }] },
      { content: [{ text: '{"type":"tool_reference","tool_name":"f"}' }] },
    ],
  ] as const)('edge 58: %s', (_what, fields, expected) => {
    expect(result(fields as unknown as JsonObject)).toMatchObject({
      type: 'tool-result',
      callId: 't',
      ...expected,
    } as object)
  })

  test('edge 59: results that stand behind text come first', () => {
    const parts = user(
      { type: 'text', text: 'here' },
      { type: 'tool_result', tool_use_id: 'a', content: '1' },
      { type: 'tool_result', tool_use_id: 'b', content: '2' },
    )
    expect(parts.map(part => part.type)).toEqual(['tool-result', 'tool-result', 'text'])
  })

  test('edge 59: two user messages in a row stay two turns', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ]
    expect(decode({ messages }).turns).toHaveLength(2)
  })
})

describe('blocks', () => {
  test('documents of every source', () => {
    const document = (source: JsonObject) => user({ type: 'document', source, title: 'T', context: 'C' })[0]
    expect(document({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi' })).toMatchObject({
      kind: 'document',
      mediaType: 'application/pdf',
      source: { type: 'base64', data: 'JVBERi' },
      title: 'T',
      context: 'C',
    })
    expect(document({ type: 'text', media_type: 'text/plain', data: 'words' })).toMatchObject({
      source: { type: 'text', text: 'words' },
    })
    expect(document({ type: 'url', url: 'https://x.org/a.pdf' })).toMatchObject({ source: { type: 'url' } })
    expect(document({ type: 'file', file_id: 'file_1' })).toMatchObject({
      source: { type: 'file-id', id: 'file_1', format: 'anthropic-messages' },
    })
    expect(document({ type: 'content', content: 'plain' })).toMatchObject({
      source: { type: 'text', text: 'plain' },
    })
  })

  test('a document of blocks is its text, then its images', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'image', source: { type: 'url', url: 'https://x.org/a.png' } },
      { type: 'text', text: 'b' },
    ]
    expect(user({ type: 'document', source: { type: 'content', content } })).toMatchObject([
      { kind: 'document', source: { type: 'text', text: 'a\n\nb' } },
      { kind: 'image', source: { type: 'url' } },
    ])
  })

  test('a search result is text with its source', () => {
    const block = {
      type: 'search_result',
      title: 'T',
      source: 'https://x.org',
      content: [{ type: 'text', text: 'c' }],
    }
    expect(user(block)).toMatchObject([{ type: 'text', text: 'T\n\nhttps://x.org\n\nc' }])
  })

  test('thinking of its own kind and of another vendor`s', () => {
    const foreign: Signature = { format: 'openai-responses', vendor: 'openai', value: 'enc' }
    const parts = assistant(
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'thinking', thinking: '', signature: wrapSignature(foreign, 'anthropic-messages') },
      { type: 'redacted_thinking', data: 'data' },
    )
    expect(parts).toMatchObject([
      {
        texts: ['hm'],
        redacted: false,
        signature: { format: 'anthropic-messages', vendor: undefined, value: 'sig' },
      },
      { texts: [], signature: foreign },
      { texts: [], redacted: true, signature: { value: 'data' } },
    ])
  })

  test('tool input is text, in the order of its keys', () => {
    const [call] = assistant({ type: 'tool_use', id: 't', name: 'f', input: { z: 1, a: { y: [2] } } })
    expect(call).toMatchObject({
      type: 'tool-call',
      kind: 'function',
      callId: 't',
      name: 'f',
      input: '{"z":1,"a":{"y":[2]}}',
    })
  })

  test('server tool blocks and blocks of tomorrow stay what they are', () => {
    const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }
    expect(assistant(block, { type: 'of_tomorrow', x: 1 })).toMatchObject([
      { type: 'opaque', name: 'server_tool_use', value: block },
      { type: 'opaque', name: 'of_tomorrow' },
    ])
  })
})

describe('tools', () => {
  const named = (name: string, description: string) => ({
    name,
    description,
    input_schema: { type: 'object' },
  })
  const addition = (tool: JsonObject) => ({ type: 'tool_addition', tool })
  const defined = (definition: JsonObject) => addition({ type: 'tool_definition', definition })
  const reference = (name: string) => ({ type: 'tool_reference', name })
  const removal = (name: string) => ({ type: 'tool_removal', tool: reference(name) })

  test.each<[string, JsonObject[], string[]]>([
    ['brought', [defined(named('c', 'new'))], ['a first', 'b first', 'c new']],
    ['brought as another one', [defined(named('a', 'new'))], ['b first', 'a new']],
    ['taken away', [removal('a')], ['b first']],
    ['taken away and offered again', [removal('a'), addition(reference('a'))], ['a first', 'b first']],
    [
      'taken away and brought as another one',
      [removal('a'), defined(named('a', 'new'))],
      ['b first', 'a new'],
    ],
    ['offered, which it was', [addition(reference('b'))], ['a first', 'b first']],
  ])('a tool that a system message has %s', (_, blocks, expected) => {
    const { tools, turns } = decode({
      tools: [named('a', 'first'), { ...named('b', 'first'), defer_loading: true }],
      messages: [
        { role: 'user', content: 'x' },
        { role: 'system', content: [{ type: 'text', text: 'There are other tools.' }, ...blocks] },
      ],
    })
    expect(tools.map(tool => tool.type === 'function' && `${tool.name} ${tool.description}`)).toEqual(
      expected,
    )
    expect(turns[1]).toMatchObject({ role: 'system', parts: [{ text: 'There are other tools.' }] })
    expect(turns[1]?.parts).toHaveLength(1)
  })

  test('a tool that was changed in messages that a compaction stands for', () => {
    const changes = [removal('a'), defined(named('c', 'new'))]
    const { tools } = decode({
      tools: [named('a', 'first'), named('b', 'first')],
      messages: [
        { role: 'assistant', content: [{ type: 'compaction', content: 'sum', tool_changes: changes }] },
        { role: 'user', content: 'x' },
      ],
    })
    expect(tools.map(tool => tool.type === 'function' && tool.name)).toEqual(['b', 'c'])
  })

  test('custom, client and hosted kinds', () => {
    const schema = { type: 'object' }
    const { tools } = decode({
      tools: [
        {
          name: 'plain',
          input_schema: schema,
          description: 'd',
          strict: true,
          cache_control: { type: 'ephemeral' },
        },
        { type: 'custom', name: 'explicit', input_schema: schema, defer_loading: true },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
        { type: 'memory_20250818', name: 'memory' },
        { type: 'computer_20250124', name: 'computer', display_width_px: 1 },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 8, blocked_domains: ['x.org'] },
        { type: 'web_fetch_20250910', name: 'web_fetch' },
        { type: 'code_execution_20250825', name: 'code_execution' },
        { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      ],
    })
    expect(tools).toMatchObject([
      { type: 'function', name: 'plain', parameters: schema, strict: true, cache: { ttl: undefined } },
      { type: 'function', name: 'explicit', strict: undefined },
      {
        type: 'client',
        kind: 'function',
        name: 'bash',
        wireType: 'bash_20250124',
        format: 'anthropic-messages',
      },
      { type: 'client', name: 'str_replace_based_edit_tool' },
      { type: 'client', name: 'memory' },
      { type: 'client', name: 'computer', wire: { display_width_px: 1 } },
      { type: 'hosted', kind: 'web_search', webSearch: { maxUses: 8, blockedDomains: ['x.org'] } },
      { type: 'hosted', kind: 'web_fetch' },
      { type: 'hosted', kind: 'code_execution' },
      { type: 'hosted', kind: 'other' },
    ])
  })

  test.each([
    [{ type: 'auto' }, { type: 'auto' }],
    [{ type: 'any' }, { type: 'required' }],
    [{ type: 'none' }, { type: 'none' }],
    [
      { type: 'tool', name: 'f' },
      { type: 'tool', name: 'f', namespace: undefined, kind: 'function' },
    ],
    [
      { type: 'tool', name: 'web_search' },
      {
        type: 'tool',
        name: 'web_search',
        namespace: undefined,
        kind: { hosted: 'web_search', wireType: 'web_search_20250305' },
      },
    ],
  ])('the choice %j', (tool_choice, expected) => {
    const tools = [
      { name: 'f', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ]
    expect(decode({ tools, tool_choice }).toolChoice).toEqual(expected as never)
  })

  test("a choice that forbids parallel calls is one call at a time, and without a word it is the upstream's to decide", () => {
    const choice = { type: 'auto', disable_parallel_tool_use: true }
    expect(decode({ tool_choice: choice }).parallelToolCalls).toBe(false)
    expect(decode({ tool_choice: { type: 'auto' } }).parallelToolCalls).toBeUndefined()
  })
})

describe('thinking and output', () => {
  test.each([
    [
      { type: 'enabled', budget_tokens: 2048 },
      undefined,
      { effort: undefined, budgetTokens: 2048, summary: 'auto' },
    ],
    [{ type: 'adaptive' }, 'high', { effort: 'high', budgetTokens: -1, summary: 'auto' }],
    [{ type: 'adaptive', display: 'omitted' }, 'max', { effort: 'max', budgetTokens: -1, summary: 'none' }],
    [{ type: 'between_tools' }, undefined, { effort: undefined, budgetTokens: -1, summary: 'auto' }],
    [{ type: 'disabled' }, 'high', { effort: 'none', budgetTokens: undefined, summary: undefined }],
    [undefined, 'low', { effort: 'low', budgetTokens: undefined, summary: undefined }],
    [undefined, 'of_tomorrow', undefined],
    [undefined, undefined, undefined],
  ] as const)('thinking %j with effort %s', (thinking, effort, expected) => {
    const body: JsonObject = {
      ...(thinking && { thinking: { ...thinking } }),
      ...(effort && { output_config: { effort } }),
    }
    expect(decode(body).reasoning).toEqual(expected)
  })

  const says = (role: string, content: JsonValue = 'words') => ({ role, content })
  const sets = (effort: string | null, content: JsonValue = []) => ({
    role: 'system',
    content,
    output_config: { effort },
  })
  const resultOnly = says('user', [{ type: 'tool_result', tool_use_id: 't', content: 'x' }])
  const call = says('assistant', [{ type: 'tool_use', id: 't', name: 'f', input: {} }])

  test.each<[string, JsonObject[], string]>([
    ['behind the words that are answered', [says('user'), sets('low')], 'low'],
    ['behind them and other system text', [says('user'), says('system'), sets('low', 'Be brief.')], 'low'],
    ['in front of them', [sets('low'), says('user')], 'low'],
    ['in front of words in blocks', [sets('low'), says('user', [{ type: 'text', text: 'words' }])], 'low'],
    [
      'turns ago',
      [says('user'), sets('low'), says('assistant'), says('user'), says('assistant'), says('user')],
      'low',
    ],
    [
      'of several the last',
      [says('user'), sets('low'), says('assistant'), sets('xhigh'), says('user')],
      'xhigh',
    ],
    ['behind results, for the next words', [says('user'), call, resultOnly, sets('low')], 'high'],
    [
      'behind results, of the words before them',
      [says('user'), sets('max'), call, resultOnly, sets('low')],
      'max',
    ],
    ['behind the answer, for the next words', [says('user'), says('assistant'), sets('low')], 'high'],
    ['null', [says('user'), sets(null)], 'high'],
  ])('an effort that a system message sets counts where the vendor says: %s', (_name, messages, effort) => {
    const request = decode({ messages, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })
    expect(request.reasoning?.effort).toBe(effort as Effort)
    expect(request.unread).toEqual([])
  })

  test('what else a message says of the output is named, and an effort that no system message sets', () => {
    const unread = (message: JsonObject) => decode({ messages: [says('user'), message] }).unread
    expect(unread({ ...sets('low'), output_config: { effort: 'low', tone: 'dry' } })).toEqual([
      'messages.output_config.tone',
    ])
    expect(unread({ ...says('user'), output_config: { effort: 'low' } })).toEqual(['messages.output_config'])
  })

  test('a schema, under its new name and its old one', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const expected = {
      type: 'json-schema' as const,
      name: undefined,
      description: undefined,
      schema: { type: 'object' },
      strict: 'where-possible' as const,
    }
    expect(decode({ output_config: { format } }).output).toEqual(expected)
    expect(decode({ output_format: format }).output).toEqual(expected)
  })

  test('hints, and fields that nobody else knows', () => {
    const request = decode({
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      temperature: null,
      container: 'c',
      mcp_servers: [],
      output_config: { effort: 'low', task_budget: 5 },
    })
    expect(request).toMatchObject({ user: 'u', serviceTier: 'default', temperature: undefined })
    expect(request.extensions).toEqual({
      'anthropic-messages': { container: 'c', mcp_servers: [], output_config: { task_budget: 5 } },
    })
    expect(decode({}).extensions).toEqual({})
  })
})

describe('refusals', () => {
  test.each([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'hi' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: [{ text: 'a' }] }] }, 'messages[0].content[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'tape' } }] }] },
      'messages[0].content[0].source.type',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] },
      'messages[0].content[0].tool_use_id',
    ],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] }] },
      'messages[0].content[0].id',
    ],
    [{ system: 5 }, 'system'],
    [{ temperature: 2 }, 'temperature'],
    [{ stop_sequences: 'END' }, 'stop_sequences'],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name'],
    [
      {
        messages: [
          {
            role: 'system',
            content: [
              {
                type: 'tool_addition',
                tool: { type: 'tool_definition', definition: { name: '', input_schema: {} } },
              },
            ],
          },
        ],
      },
      'messages[0].content[0].tool.definition.name',
    ],
    [{ tool_choice: { type: 'maybe' } }, 'tool_choice.type'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
  ])('%j is refused, naming the field', (body, param) => {
    const fields = body as Record<string, JsonValue | undefined>
    expect(thrown(() => decode(fields))).toMatchObject({ kind: 'invalid_request', status: 400, param })
  })

  test.each([
    ['user', { type: 'tool_use', id: 'c', name: 'f', input: {} }],
    ['user', { type: 'thinking', thinking: 'hm', signature: 's' }],
    ['assistant', { type: 'tool_result', tool_use_id: 'c', content: 'x' }],
  ])("what only the other side can say is refused in a message of the %s's: %j", (role, block) => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role, content: [block] },
    ]
    expect(thrown(() => decode({ messages }))).toMatchObject({
      kind: 'invalid_request',
      param: 'messages[1].content',
    })
  })

  test('a message thread is refused as the SDK wants it', () => {
    expect(
      thrown(() => decode({ thread: { type: 'continue', previous_message_id: 'm' }, messages: [] })),
    ).toMatchObject({
      status: 400,
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    })
  })

  test('edge 64: max_tokens 0 warms the cache and is no mistake', () => {
    expect(decode({ max_tokens: 0 }).maxOutputTokens).toBe(0)
  })

  test('edge 61: temperature is taken whatever version the caller names', () => {
    expect(decode({ temperature: 0.5 }).temperature).toBe(0.5)
  })

  test('edge 87: a __proto__ key is a key like any other', () => {
    const body = JSON.parse(
      '{"__proto__":{"x":1},"max_tokens":1,"messages":[{"role":"user","content":"a"}]}',
    ) as JsonObject
    expect(decode(body).turns).toHaveLength(1)
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})
