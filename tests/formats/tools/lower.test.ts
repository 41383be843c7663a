import { describe, expect, test } from 'bun:test'
import { assistant, call, functionTool, hostedTool, result } from '#tests/formats/parts.ts'
import { lowerTools } from '@/formats/tools/lower.ts'
import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import type { ToolCallKind } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { Tool } from '@/generation/tool.ts'
import { clientTool, customTool, functionNamed, RULE, request } from './fixtures.ts'

/** A call of this tool, whose id has its name. */
const called = (kind: ToolCallKind, name: string, input: string, namespace?: string) =>
  call(`call_${name}`, { kind, name, input, namespace })

const lower = (fields: Partial<GenerationRequest>) => lowerTools(request(fields), RULE)
const toolsOf = (...tools: Tool[]) => lower({ tools }).request.tools
const namesOf = (...tools: Tool[]) => toolsOf(...tools).map(tool => (tool.type === 'hosted' ? '' : tool.name))

test('a request with nothing to lower comes back as the same object', () => {
  const plain = request({
    tools: [functionNamed('a'), hostedTool('web_search', 'web_search')],
    turns: [
      { role: 'user', parts: [] },
      assistant(called('function', 'gone', '{}')),
      { role: 'user', parts: [result('call_gone', [], { name: 'gone' })] },
    ],
    toolChoice: { type: 'allowed', mode: 'auto', tools: [{ name: 'a', namespace: undefined }] },
  })
  const lowered = lowerTools(plain, RULE)
  expect(lowered.request).toBe(plain)
  expect(lowered.table.origins.size).toBe(0)
})

test("a function that is called as a tool of the vendor's server has another name, everywhere", () => {
  const { request: lowered, table } = lowerTools(
    request({
      tools: [hostedTool('web_search', 'web_search_preview'), functionNamed('web_search')],
      turns: [assistant(called('function', 'web_search', '{}'))],
      toolChoice: { type: 'tool', kind: 'function', name: 'web_search', namespace: undefined },
    }),
    { ...RULE, hosted: ({ kind }) => (kind === 'web_search' ? 'web_search' : undefined) },
  )
  const [search, own] = lowered.tools
  expect(search).toMatchObject({ type: 'hosted' })
  const name = own?.type === 'function' ? own.name : ''
  expect(name).toMatch(/^web_search_[0-9a-f]{8}$/)
  expect(lowered.turns[0]?.parts).toMatchObject([{ type: 'tool-call', name }])
  expect(lowered.toolChoice).toMatchObject({ name })
  expect(table.origins.get(name)?.name).toBe('web_search')
})

describe('names of arguments', () => {
  const rule = { ...RULE, argument: /^[a-zA-Z0-9_.-]{1,64}$/ }
  const text = { type: 'string' }
  const long = 'x'.repeat(70)

  test('are such as the target takes, each its own, where a function is defined and where it is called', () => {
    const inner = { type: 'object', properties: { '@deep': text }, required: ['@deep'] }
    const parameters = {
      type: 'object',
      properties: { $top: text, _top: text, 'filter[id]': inner, [long]: text, 'a.b-c': text },
      required: ['$top', 'a.b-c', 'filter[id]'],
    }
    const given = ' {"$top": 12345678901234567890, "a.b-c": 1.0, "filter[id]": {"@deep": "x"}}'
    const lowered = lowerTools(
      request({
        tools: [functionTool('list', { parameters })],
        turns: [assistant(called('function', 'list', given), called('function', 'list', '[1'))],
      }),
      rule,
    ).request
    const [tool] = lowered.tools
    const properties = tool?.type === 'function' ? tool.parameters?.['properties'] : {}
    const names = Object.keys(properties ?? {})
    expect(names).toEqual([
      expect.stringMatching(/^_top_[0-9a-f]{8}$/),
      '_top',
      'filter_id_',
      expect.stringMatching(/^x{55}_[0-9a-f]{8}$/),
      'a.b-c',
    ])
    expect(tool).toMatchObject({
      parameters: { properties: { filter_id_: inner }, required: [names[0], 'a.b-c', 'filter_id_'] },
    })
    expect(lowered.turns[0]?.parts).toMatchObject([
      { input: `{"${names[0]}":12345678901234567890,"a.b-c":1.0,"filter_id_":{"@deep":"x"}}` },
      { input: '[1' },
    ])
  })

  test('stay where they fit, and where nobody minds', () => {
    const fits = request({ tools: [functionTool('f', { parameters: { properties: { 'a.b': text } } })] })
    expect(lowerTools(fits, rule).request).toBe(fits)
    const odd = request({ tools: [functionTool('f', { parameters: { properties: { $top: text } } })] })
    expect(lowerTools(odd, RULE).request).toBe(odd)
  })

  test('stay where something inside refers to them, which the target is left to refuse', () => {
    for (const $ref of ['#', '#/properties/filter[id]']) {
      const parameters = { type: 'object', properties: { 'filter[id]': text, sub: { $ref } } }
      const given = request({ tools: [functionTool('f', { parameters })] })
      expect(lowerTools(given, rule).request).toBe(given)
    }
  })

  test('are looked for in what a schema chooses among or refers to, which is one object at the target', () => {
    const parameters = {
      anyOf: [{ $ref: '#/$defs/Page' }, { properties: { '@id': text } }],
      $defs: { Page: { properties: { $top: text } } },
    }
    const { tools } = lowerTools(request({ tools: [functionTool('f', { parameters })] }), rule).request
    expect(tools).toMatchObject([{ parameters: { type: 'object', properties: { _top: text, _id: text } } }])
  })
})

describe('names', () => {
  test('edge 45: equal function names in two namespaces stay apart and are restored', () => {
    const { request: lowered, table } = lower({
      tools: [functionNamed('run', 'a'), functionNamed('run', 'b')],
    })
    expect(lowered.tools).toEqual([functionNamed('a__run'), functionNamed('b__run')])
    expect(table.origins.get('a__run')).toEqual({ kind: 'function', name: 'run', namespace: 'a' })
    expect(table.origins.get('b__run')).toEqual({ kind: 'function', name: 'run', namespace: 'b' })
  })

  test('edge 45: a name over 64 characters fits, stays readable, and two with one beginning stay apart', () => {
    const long = 'x'.repeat(64)
    const names = namesOf(functionNamed(long, 'ns'), functionNamed(`${long}y`), functionNamed(`${long}z`))
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(new Set(names).size).toBe(3)
    expect(names[0]).toStartWith('ns__xxxx')
    expect(namesOf(functionNamed(long))).toEqual([long])
  })

  test('a name outside of the alphabet is mapped and restored', () => {
    const { request: lowered, table } = lower({
      tools: [functionNamed('fs.read/ä'), functionNamed('fs_read__')],
    })
    const [mapped, plain] = lowered.tools
    expect(plain).toEqual(functionNamed('fs_read__'))
    expect(mapped?.type === 'function' && mapped.name).toMatch(/^fs_read___[0-9a-f]{8}$/)
    expect([...table.origins.values()]).toEqual([
      { kind: 'function', name: 'fs.read/ä', namespace: undefined },
    ])
  })

  test('a target that wants a letter first gets none that begins with a digit', () => {
    const rule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_]*$/, maxLength: 64 }
    const { request: lowered } = lowerTools(request({ tools: [functionNamed('1-a')] }), rule)
    const [tool] = lowered.tools
    expect(tool?.type === 'function' && tool.name).toMatch(/^tool_[0-9a-f]{8}$/)
  })

  test('a plain function keeps its name against a namespaced one that flattens to it', () => {
    const tools = [functionNamed('b', 'a'), functionNamed('a__b')]
    const names = namesOf(...tools)
    expect(names[1]).toBe('a__b')
    expect(names[0]).toMatch(/^a__b_[0-9a-f]{8}$/)
    expect(namesOf(...tools.toReversed())).toEqual(names.toReversed())
  })

  test('two that flatten to one name and two that differ in kind alone stay apart', () => {
    expect(new Set(namesOf(functionNamed('b__c', 'a'), functionNamed('c', 'a__b'))).size).toBe(2)
    const [plain, custom] = namesOf(functionNamed('exec'), customTool('exec'))
    expect(plain).toBe('exec')
    expect(custom).toMatch(/^exec_[0-9a-f]{8}$/)
  })

  test('a tool has the same name whatever other tools join', () => {
    const tools = [functionNamed('a.b'), customTool('c', { namespace: 'n' }), clientTool('shell', 'shell')]
    const alone = tools.flatMap(tool => namesOf(tool))
    expect(
      namesOf(functionNamed('other', 'n'), ...tools.toReversed(), functionNamed('a_b')).slice(1, 4),
    ).toEqual(alone.toReversed())
  })
})

describe('tools become functions', () => {
  test('a custom tool takes one string and shows its grammar', () => {
    const grammar = { syntax: 'lark', definition: 'start: "x"' } as const
    const [tool] = toolsOf(customTool('apply_patch', { description: 'Edits files.', grammar }))
    expect(tool).toMatchObject({
      type: 'function',
      name: 'apply_patch',
      parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    })
    expect(tool?.type === 'function' && tool.description).toBe(
      'Edits files.\n\nThe value of `input` must match this Lark grammar:\nstart: "x"',
    )
  })

  test.each([
    ['local_shell', ['command', 'workdir', 'timeout_ms', 'env'], ['command']],
    ['shell', ['commands', 'timeout_ms', 'max_output_length'], ['commands']],
    ['apply_patch', ['type', 'path', 'diff'], ['type', 'path']],
  ] as const)('%s', (kind, properties, required) => {
    const { request: lowered, table } = lower({ tools: [clientTool(kind, kind)] })
    const [tool] = lowered.tools
    const parameters = tool?.type === 'function' ? tool.parameters : undefined
    expect(Object.keys(Object(parameters?.['properties']))).toEqual([...properties])
    expect(parameters?.['required']).toEqual([...required])
    expect(table.origins.get(kind)).toEqual({ kind, name: kind, namespace: undefined })
  })

  test('tool_search keeps the schema and the description that the caller gave', () => {
    const parameters = { type: 'object', properties: { q: { type: 'string' } } }
    const wire = { execution: 'client', description: 'Finds tools.', parameters }
    const [tool] = toolsOf(clientTool('tool_search', 'tool_search', 'tool_search', wire))
    expect(tool).toMatchObject({
      type: 'function',
      name: 'tool_search',
      description: 'Finds tools.',
      parameters,
    })
  })

  test.each([
    ['bash_20250124', 'bash', ['command', 'restart']],
    ['text_editor_20250728', 'str_replace_based_edit_tool', ['command', 'path', 'insert_text', 'view_range']],
    ['memory_20250818', 'memory', ['command', 'path', 'old_path', 'new_path']],
    ['computer_20250124', 'computer', ['action', 'coordinate', 'scroll_amount']],
  ])('%s, called as %s', (wireType, name, properties) => {
    const { request: lowered, table } = lower({ tools: [clientTool('function', name, wireType)] })
    const [tool] = lowered.tools
    expect(tool).toMatchObject({ type: 'function', name })
    const parameters = tool?.type === 'function' ? tool.parameters : undefined
    expect(Object.keys(Object(parameters?.['properties']))).toEqual(expect.arrayContaining(properties))
    expect(table.origins.size).toBe(0)
  })

  test('an older text editor can undo, a newer one cannot', () => {
    const commands = (version: string) =>
      JSON.stringify(toolsOf(clientTool('function', 'edit', `text_editor_${version}`))).includes('undo_edit')
    expect([commands('20250124'), commands('20250728')]).toEqual([true, false])
  })

  test.each([clientTool('computer', 'computer'), clientTool('function', '', 'computer_toolset_20260801')])(
    '$wireType is refused, for its actions cannot be told to another model',
    tool => {
      expect(() => toolsOf(tool)).toThrow(
        expect.objectContaining({ kind: 'unsupported_parameter', param: 'tools' }),
      )
    },
  )

  test('edge 46: a tool defined again in the middle of the input counts once, as first defined', () => {
    const again = { ...functionNamed('a'), description: 'again' }
    expect(toolsOf(functionNamed('a'), functionNamed('b'), again)).toEqual([
      functionNamed('a'),
      functionNamed('b'),
    ])
  })

  test('a tool that is defined twice alike is no loss, what the second says otherwise is one', () => {
    const lossesOf = (...tools: Tool[]) => lower({ tools }).losses
    expect(lossesOf(functionNamed('a'), functionNamed('a'))).toEqual([])
    expect(lossesOf(functionNamed('a'), { ...functionNamed('a'), description: 'again' })).toEqual([
      { field: 'tools', name: 'a' },
    ])
    expect(lossesOf(functionNamed('a'), functionNamed('a', 'n'), customTool('a'))).toEqual([])
  })

  test('a server tool that is offered twice alike is offered once', () => {
    const search = hostedTool('web_search', 'web_search')
    const other = hostedTool('web_search', 'web_search_preview')
    expect(toolsOf(search, { ...search }, other)).toEqual([search, other])
  })

  test('edge 46: tools that join in the middle of the input leave the names and bytes of the others alone', () => {
    const first = [customTool('exec', { namespace: 'functions' }), functionNamed('a.b')]
    const joined = [functionNamed('search', 'mcp'), functionNamed('a_b')]
    expect(toolsOf(...first, ...joined).slice(0, 2)).toEqual([...toolsOf(...first)])
  })

  test('hosted tools stay as they are', () => {
    const hosted = hostedTool('web_search', 'web_search')
    expect(toolsOf(customTool('a'), hosted)[1]).toBe(hosted)
  })
})

describe('the conversation follows', () => {
  const tools = [customTool('exec', { namespace: 'functions' }), functionNamed('get.it')]

  test('calls take the names and the kind of the functions, and their results from them', () => {
    const { request: lowered } = lower({
      tools,
      turns: [
        assistant(
          called('custom', 'exec', 'echo "ü\n"', 'functions'),
          called('function', 'get.it', '{"n":1.0}'),
        ),
        {
          role: 'user',
          parts: [result('call_exec', [], { kind: 'custom' }), result('call_get.it', [], { name: 'get.it' })],
        },
      ],
    })
    const [, get] = lowered.tools
    const name = get?.type === 'function' ? get.name : ''
    expect(pairedTurns(lowered.turns, id => id)).toEqual([
      assistant(
        {
          ...called('function', 'functions__exec', '{"input":"echo \\"ü\\n\\""}'),
          callId: 'call_exec',
        },
        { ...called('function', name, '{"n":1.0}'), callId: 'call_get.it' },
      ),
      {
        role: 'user',
        parts: [result('call_exec', [], { name: 'functions__exec' }), result('call_get.it', [], { name })],
      },
    ])
  })

  test('turns without calls stay the same objects', () => {
    const user = { role: 'user', parts: [] } as const
    const { request: lowered } = lower({
      tools,
      turns: [user, assistant(called('custom', 'exec', 'x', 'functions'))],
    })
    expect(lowered.turns[0]).toBe(user)
  })

  test('calls to tools that are not defined now still get a name that fits and come back', () => {
    const { request: lowered, table } = lower({
      turns: [assistant(called('custom', 'old', 'x', 'ns'), called('function', 'bad name', '{}'))],
    })
    const names = lowered.turns[0]?.parts.map(part => part.type === 'tool-call' && part.name)
    expect(names).toEqual(['ns__old', expect.stringMatching(/^bad_name_[0-9a-f]{8}$/)])
    expect(table.origins.get('ns__old')).toEqual({ kind: 'custom', name: 'old', namespace: 'ns' })
  })

  test('a call made when the tool was of another kind is still a call of that tool', () => {
    const { request: lowered, table } = lower({
      tools: [customTool('exec')],
      turns: [assistant(called('function', 'exec', '{"a":1}'))],
    })
    expect(lowered.turns[0]?.parts).toEqual([called('function', 'exec', '{"a":1}')])
    expect(table.origins.get('exec')?.kind).toBe('custom')
  })

  test('a call of an undefined tool never takes the name of a defined one', () => {
    const { request: lowered } = lower({
      tools: [functionNamed('a__b')],
      turns: [assistant(called('function', 'b', '{}', 'a'))],
    })
    expect(lowered.turns[0]?.parts[0]).toMatchObject({ name: expect.stringMatching(/^a__b_[0-9a-f]{8}$/) })
  })
})

describe('the tool choice follows', () => {
  const tools = [
    customTool('exec', { namespace: 'functions' }),
    functionNamed('a'),
    clientTool('shell', 'shell'),
  ]

  test('a forced tool', () => {
    const choose = (kind: 'custom' | 'shell', name: string, namespace?: string) =>
      lower({ tools, toolChoice: { type: 'tool', kind, name, namespace } }).request.toolChoice
    const forced = (name: string) => ({ type: 'tool', kind: 'function', name, namespace: undefined }) as const
    expect(choose('custom', 'exec', 'functions')).toEqual(forced('functions__exec'))
    expect(choose('custom', 'exec')).toEqual(forced('functions__exec'))
    expect(choose('shell', 'shell')).toEqual(forced('shell'))
  })

  test('an allowed subset', () => {
    const { request: lowered } = lower({
      tools,
      toolChoice: {
        type: 'allowed',
        mode: 'required',
        tools: [
          { name: 'exec', namespace: 'functions' },
          { name: 'a', namespace: undefined },
        ],
      },
    })
    expect(lowered.toolChoice).toEqual({
      type: 'allowed',
      mode: 'required',
      tools: [
        { name: 'functions__exec', namespace: undefined },
        { name: 'a', namespace: undefined },
      ],
    })
  })

  test('an allowed tool goes by the name that it was given', () => {
    const { request: lowered } = lower({
      tools: [functionNamed('fs.read')],
      toolChoice: { type: 'allowed', mode: 'auto', tools: [{ name: 'fs.read', namespace: undefined }] },
    })
    const [tool] = lowered.tools
    const name = tool?.type === 'function' ? tool.name : ''
    expect(name).not.toBe('fs.read')
    expect(lowered.toolChoice).toEqual({
      type: 'allowed',
      mode: 'auto',
      tools: [{ name, namespace: undefined }],
    })
  })

  test('a forced hosted tool is left alone', () => {
    const toolChoice = {
      type: 'tool',
      kind: { hosted: 'web_search', wireType: 'web_search' },
      name: 'web_search',
      namespace: undefined,
    } as const
    expect(lower({ tools, toolChoice }).request.toolChoice).toBe(toolChoice)
  })
})

describe('for an upstream that knows custom tools', () => {
  const keeping = (fields: Partial<GenerationRequest>) => lowerTools(request(fields), RULE, true)
  const grammar = { syntax: 'lark', definition: 'start: /.+/' } as const

  test('a custom tool, its calls, results and choice stay what they are', () => {
    const plain = request({
      tools: [customTool('patch', { grammar }), functionNamed('a')],
      turns: [
        assistant(called('custom', 'patch', 'raw')),
        { role: 'user', parts: [result('call_patch', [], { kind: 'custom' })] },
      ],
      toolChoice: { type: 'tool', name: 'patch', namespace: undefined, kind: 'custom' },
    })
    expect(lowerTools(plain, RULE, true).request).toBe(plain)
    expect(lowerTools(plain, RULE).request.tools[0]).toMatchObject({ type: 'function' })
  })

  test('one of a group, of another name than fits, or called like a function, is lowered still', () => {
    const tools = [
      customTool('c', { namespace: 'n' }),
      customTool('a.b'),
      functionNamed('same'),
      customTool('same'),
    ]
    expect(keeping({ tools }).request.tools.map(tool => tool.type)).toEqual(Array(4).fill('function'))
  })
})
