import { describe, expect, test } from 'bun:test'
import { encode, target } from '#tests/formats/anthropic-messages/fixtures.ts'
import { functionTool } from '#tests/formats/parts.ts'
import type { GenerationRequest, Reasoning } from '@/generation/request.ts'
import { asObject, type JsonObject } from '@/json/json.ts'

const TOOL = functionTool('f', { parameters: undefined })

function ask(fields: Partial<Reasoning>): Reasoning {
  return { effort: undefined, budgetTokens: undefined, summary: undefined, ...fields }
}

function body(request: Partial<GenerationRequest>, model = 'claude-sonnet-4-5') {
  return encode(request, target(model)).body
}

function lost(request: Partial<GenerationRequest>, model = 'claude-sonnet-4-5') {
  return encode(request, target(model)).losses.map(loss => loss.field)
}

describe('max_tokens', () => {
  test.each([
    ['claude-3-haiku-20240307', 4096],
    ['claude-3-5-sonnet-20241022', 8192],
    ['claude-3-7-sonnet-latest', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-opus-4-1-20250805', 32_000],
    ['anthropic/claude-sonnet-4.5', 64_000],
    ['us.anthropic.claude-opus-4-6-v1:0', 128_000],
    ['claude-fable-5-2', 128_000],
    ['claude-of-tomorrow', 128_000],
    ['deepseek-chat', 8192],
  ])('a missing one is the largest that %s has', (model, expected) => {
    expect(body({}, model)['max_tokens']).toBe(expected)
  })

  test('the operator`s figure goes before the table', () => {
    expect(encode({}, target('claude-sonnet-4-5', { maxOutputTokens: 5000 })).body['max_tokens']).toBe(5000)
  })

  test('edge 64: one above the model`s limit is cut to it and declared', () => {
    expect(body({ maxOutputTokens: 1_000_000 })['max_tokens']).toBe(64_000)
    expect(lost({ maxOutputTokens: 1_000_000 })).toEqual(['maxOutputTokens'])
    expect(body({ maxOutputTokens: 100_000 }, 'deepseek-chat')['max_tokens']).toBe(100_000)
  })

  test('edge 64: 0 stays 0, and nothing thinks', () => {
    const warm = body({ maxOutputTokens: 0, reasoning: ask({ effort: 'high' }) })
    expect(warm['max_tokens']).toBe(0)
    expect(warm['thinking']).toBeUndefined()
  })
})

describe('budgets', () => {
  test.each([
    ['low', 1024],
    ['medium', 8192],
    ['high', 16_384],
    ['xhigh', 32_768],
  ] as const)('effort %s', (effort, budget_tokens) => {
    expect(body({ reasoning: ask({ effort }) })).toMatchObject({
      max_tokens: 64_000,
      thinking: { type: 'enabled', budget_tokens },
    })
  })

  test('edge 64: a budget that reaches max_tokens raises it', () => {
    expect(body({ maxOutputTokens: 1000, reasoning: ask({ effort: 'medium' }) })).toMatchObject({
      max_tokens: 9192,
      thinking: { budget_tokens: 8192 },
    })
    expect(body({ maxOutputTokens: 2000, reasoning: ask({ budgetTokens: 2000 }) })).toMatchObject({
      max_tokens: 4000,
      thinking: { budget_tokens: 2000 },
    })
  })

  test('edge 64: never beyond the model, always below max_tokens, never below 1024', () => {
    for (const maxOutputTokens of [undefined, 1, 1024, 30_000, 63_999, 64_000]) {
      for (const reasoning of [
        ask({ effort: 'max' }),
        ask({ budgetTokens: 5 }),
        ask({ budgetTokens: 90_000 }),
        ask({ budgetTokens: -1 }),
      ]) {
        const written = body({ maxOutputTokens, reasoning })
        const budget = (written['thinking'] as { budget_tokens: number }).budget_tokens
        expect(budget).toBeGreaterThanOrEqual(1024)
        expect(budget).toBeLessThan(Number(written['max_tokens']))
        expect(Number(written['max_tokens'])).toBeLessThanOrEqual(64_000)
      }
    }
  })

  test('a model without thinking loses the wish', () => {
    expect(
      body({ reasoning: ask({ effort: 'high' }) }, 'claude-3-5-haiku-latest')['thinking'],
    ).toBeUndefined()
    expect(lost({ reasoning: ask({ effort: 'high' }) }, 'claude-3-5-haiku-latest')).toEqual(['reasoning'])
  })

  test('a caller that only wants to see thoughts gets some', () => {
    expect(body({ reasoning: ask({ summary: 'auto' }) })['thinking']).toMatchObject({
      type: 'enabled',
      budget_tokens: 8192,
    })
    expect(body({ reasoning: ask({ summary: 'none' }) })['thinking']).toBeUndefined()
  })
})

describe('adaptive thinking', () => {
  test.each([
    ['claude-opus-4-6', 'xhigh', 'high'],
    ['claude-opus-4-6', 'max', 'max'],
    ['claude-opus-4-7', 'xhigh', 'xhigh'],
    ['claude-opus-4-7', 'minimal', 'low'],
  ] as const)('%s, effort %s', (model, effort, expected) => {
    expect(body({ reasoning: ask({ effort, summary: 'auto' }) }, model)).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: expected },
    })
  })

  test('a budget becomes an effort, a dynamic one leaves it to the model', () => {
    expect(
      body({ reasoning: ask({ budgetTokens: 20_000, summary: 'none' }) }, 'claude-opus-4-7'),
    ).toMatchObject({
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'high' },
    })
    expect(body({ reasoning: ask({ budgetTokens: -1 }) }, 'claude-opus-4-7')['output_config']).toBeUndefined()
  })
})

describe('no thinking', () => {
  test.each([
    ['claude-sonnet-4-5', { type: 'disabled' }],
    ['claude-opus-5', { type: 'disabled' }],
    ['claude-sonnet-5-5', { type: 'between_tools' }],
    ['claude-3-5-sonnet-latest', undefined],
  ] as const)('%s', (model, expected) => {
    expect(body({ reasoning: ask({ effort: 'none' }) }, model)['thinking']).toEqual(expected as never)
    expect(lost({ reasoning: ask({ effort: 'none' }) }, model)).toEqual([])
  })

  test.each(['claude-opus-5-5', 'claude-opus-6', 'claude-fable-5', 'anthropic.claude-mythos-preview'])(
    '%s, which always thinks, does it with the least effort, and says so',
    model => {
      const { output_config, thinking } = body({ reasoning: ask({ budgetTokens: 0 }) }, model)
      expect(output_config).toEqual({ effort: 'low' })
      expect(thinking).toBeUndefined()
      expect(lost({ reasoning: ask({ budgetTokens: 0 }) }, model)).toEqual(['reasoning'])
    },
  )
})

describe('forced tools', () => {
  const forced = { tools: [TOOL], toolChoice: { type: 'required' } } as const

  test('the force is kept, the thinking dropped', () => {
    const request = { ...forced, reasoning: ask({ effort: 'high' }) }
    expect(body(request)).toMatchObject({ tool_choice: { type: 'any' }, thinking: { type: 'disabled' } })
    expect(lost(request)).toEqual(['reasoning'])
    expect(body(forced)['thinking']).toBeUndefined()
  })

  test('a model that thinks by default is told not to', () => {
    expect(body(forced, 'claude-opus-5')).toMatchObject({
      tool_choice: { type: 'any' },
      thinking: { type: 'disabled' },
    })
    expect(lost(forced, 'claude-opus-5')).toEqual([])
  })

  test('DeepSeek, which thinks unasked and refuses them beside, is told not to, also for an answer by a tool', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const output = {
      type: 'json-schema',
      name: 'o',
      description: undefined,
      schema,
      strict: undefined,
    } as const
    for (const request of [forced, { output }]) {
      const said = encode(request, { ...target('deepseek-v4-pro'), vendor: 'api.deepseek.com' })
      expect(said.body['thinking']).toEqual({ type: 'disabled' })
      expect(said.body['tool_choice']).toMatchObject({ type: expect.stringMatching(/any|tool/) })
      expect(said.losses).toEqual([])
    }
    expect(body(forced, 'deepseek-v4-pro')['thinking']).toBeUndefined()
  })

  test('a model that cannot be forced is told in words', () => {
    const tool = {
      tools: [TOOL],
      toolChoice: { type: 'tool', name: 'f', namespace: undefined, kind: 'function' },
    } as const
    const written = body(tool, 'claude-opus-5-5')
    expect(written['tool_choice']).toEqual({ type: 'auto' })
    expect(written['system']).toContain('`f`')
    expect(lost(tool, 'claude-opus-5-5')).toEqual(['toolChoice'])
  })
})

describe('sampling', () => {
  test('temperature is held to 0-1', () => {
    expect(body({ temperature: 1.7, topK: 5 })).toMatchObject({ temperature: 1, top_k: 5 })
    expect(lost({ temperature: 1.7 })).toEqual(['temperature'])
  })

  test('beside thinking only a temperature of 1 and a wide top_p mean something', () => {
    const reasoning = ask({ effort: 'low' })
    expect(body({ temperature: 1, reasoning })['temperature']).toBeUndefined()
    expect(lost({ temperature: 1, topP: 0.96, reasoning })).toEqual([])
    expect(lost({ temperature: 0.2, topP: 0.5, topK: 3, reasoning })).toEqual(['temperature', 'topP', 'topK'])
  })

  test('newer models take one of temperature and top_p, the newest none', () => {
    expect(body({ temperature: 0.5, topP: 0.5 }, 'claude-3-7-sonnet-latest')).toMatchObject({
      temperature: 0.5,
      top_p: 0.5,
    })
    expect(lost({ temperature: 0.5, topP: 0.5 })).toEqual(['topP'])
    expect(lost({ temperature: 0.5, topP: 0.5, topK: 1 }, 'claude-opus-4-7')).toEqual([
      'temperature',
      'topP',
      'topK',
    ])
    expect(body({ temperature: 0.5 }, 'claude-opus-4-7')['temperature']).toBeUndefined()
  })
})

/** An object with so many properties, all required unless others are. */
function several(count: number, property: JsonObject, required?: string[]): JsonObject {
  const names = Array.from({ length: count }, (_, which) => `p${which}`)
  const properties = Object.fromEntries(names.map(name => [name, property]))
  return { type: 'object', properties, required: required ?? names }
}

describe('structured output', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    description: 'A person.',
    properties: {
      name: { type: 'string', minLength: 1 },
      tags: {
        type: 'array',
        items: { type: 'object', properties: { a: { type: 'string' } }, maxProperties: 3 },
      },
    },
    required: ['name'],
  }
  const output = {
    type: 'json-schema',
    name: 'a person',
    description: undefined,
    schema,
    strict: true,
  } as const

  test('by the API`s own format, closed and without what it cannot hold', () => {
    expect(body({ output })['output_config']).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          description: 'A person.',
          properties: {
            name: { type: 'string', description: '{minLength: 1}' },
            tags: {
              type: 'array',
              items: {
                type: 'object',
                properties: { a: { type: 'string' } },
                additionalProperties: false,
                description: '{maxProperties: 3}',
              },
            },
          },
          required: ['name'],
          additionalProperties: false,
        },
      },
    })
  })

  test('by a forced tool where the model has no such format', () => {
    const described = { ...output, description: 'Who wrote it.' }
    const { body, emulate, losses } = encode(
      { output: described, reasoning: ask({ effort: 'high' }) },
      target('claude-3-7-sonnet-latest'),
    )
    expect(body).toMatchObject({
      tools: [
        {
          name: 'a_person',
          description: 'Who wrote it.',
          input_schema: { type: 'object', required: ['name'] },
        },
      ],
      tool_choice: { type: 'tool', name: 'a_person', disable_parallel_tool_use: true },
      thinking: { type: 'disabled' },
    })
    expect(emulate.outputTool).toBe('a_person')
    expect(losses).toEqual([
      { field: 'outputStrict', name: undefined },
      { field: 'reasoning', name: undefined },
    ])
  })

  test.each([
    [
      'recursion',
      {
        type: 'object',
        properties: { next: { $ref: '#/$defs/node' } },
        $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      },
    ],
    [
      'a map with free keys',
      { type: 'object', properties: { by: { type: 'object', additionalProperties: { type: 'string' } } } },
    ],
    [
      'a map as one of several things',
      { type: 'object', properties: { by: { anyOf: [{ type: 'null' }, { additionalProperties: true }] } } },
    ],
    ['any object', { type: 'object', properties: { by: { type: ['object', 'null'], maxProperties: 3 } } }],
    ['an object of any kind', { type: 'object' }],
    [
      'a map whose keys have a pattern',
      { type: 'object', properties: { by: { type: 'object', patternProperties: { '^x': {} } } } },
    ],
    ['something that may be anything', { type: 'object', properties: { data: { title: 'Data' } } }],
    ['a list of anything', { type: 'object', properties: { list: { type: 'array', items: {} } } }],
    ['a choice of nothing', { type: 'object', properties: { a: { type: 'string', enum: [] } } }],
    ['a choice of objects', { type: 'object', properties: { a: { enum: [{ b: 1 }] } } }],
    [
      'a property that is required and not said',
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'b'] },
    ],
    [
      'properties beside a choice of others',
      {
        type: 'object',
        properties: {
          pet: {
            type: 'object',
            properties: { name: { type: 'string' } },
            anyOf: [
              { type: 'object', properties: { barks: { type: 'boolean' } } },
              { type: 'object', properties: { purrs: { type: 'boolean' } } },
            ],
          },
        },
      },
    ],
    ['more properties that may be missing than 24', several(25, { type: 'string' }, [])],
    ['more properties that are one of several things than 16', several(17, { type: ['string', 'null'] })],
    [
      'a reference among what is said together',
      {
        type: 'object',
        properties: { a: { allOf: [{ $ref: '#/$defs/x' }, { properties: { b: { type: 'string' } } }] } },
        $defs: { x: { type: 'object', properties: { a: { type: 'string' } } } },
      },
    ],
  ])('by a forced tool where the schema holds %s, which the format cannot', (_what, schema) => {
    const asked = encode({ output: { ...output, schema } })
    expect(asked.body['output_config']).toBeUndefined()
    expect(asked.body['tools']).toMatchObject([{ name: 'a_person', input_schema: schema }])
  })

  test.each([
    ['24 that may be missing', several(24, { type: 'string' }, [])],
    ['16 that are one of several things', several(16, { anyOf: [{ type: 'string' }, { type: 'null' }] })],
    ['any number of a type', several(100, { type: ['string', 'null'], enum: ['a', null] })],
  ])('by the format with as many properties as it takes: %s', (_what, schema) => {
    expect(body({ output: { ...output, schema } })['output_config']).toMatchObject({
      format: { schema: { additionalProperties: false } },
    })
  })

  test('in words where no tool may have arguments of such names', () => {
    const schema = { type: 'object', properties: { 'first name': { type: 'string' } } }
    const asked = encode({ output: { ...output, schema } }, target('claude-3-7-sonnet-latest'))
    expect(asked.body['tools']).toBeUndefined()
    expect(asked.body['system']).toContain('"first name"')
    expect(asked.losses).toEqual([{ field: 'outputStrict', name: undefined }])
  })

  test('by a forced tool where a recursive schema refers to a definition at its root', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }
    const schema = { $ref: '#/$defs/node', $defs: { node } }
    expect(encode({ output: { ...output, schema } }).body['tools']).toMatchObject([
      { name: 'a_person', input_schema: { ...node, $defs: { node } } },
    ])
  })

  test.each<[string, JsonObject, JsonObject]>([
    [
      'a kind of text that it knows stays',
      { type: 'string', format: 'uuid' },
      { type: 'string', format: 'uuid' },
    ],
    [
      'a kind of text that it does not know is told',
      { type: 'string', format: 'iri' },
      { type: 'string', description: '{format: "iri"}' },
    ],
    [
      'parts that are said together are one schema',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'number', maximum: 3 } }, required: ['b'] },
        ],
      },
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number', description: '{maximum: 3}' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
    ],
    [
      'a reference that stands alone among such parts is one',
      { allOf: [{ $ref: '#/$defs/x' }], description: 'An x.' },
      { $ref: '#/$defs/x', description: 'An x.' },
    ],
    [
      'a choice of values that may be null is said by these alone, of which none is of a list of types',
      { type: ['string', 'null'], enum: ['low', 'high', null], description: 'How sure.' },
      { enum: ['low', 'high', null], description: 'How sure.' },
    ],
    [
      'and so where its type is not that of all',
      { type: 'string', enum: ['a', null] },
      { enum: ['a', null] },
    ],
    ['and the one value that there is', { type: ['integer', 'null'], const: null }, { const: null }],
    ['a choice of one type keeps it', { type: 'integer', enum: [1, 2] }, { type: 'integer', enum: [1, 2] }],
    [
      'what has properties is an object',
      { properties: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
    ],
    ['what has items is a list', { items: { type: 'string' } }, { type: 'array', items: { type: 'string' } }],
    [
      'an object that is one of several is no empty one beside',
      { type: 'object', anyOf: [{ $ref: '#/$defs/x' }, { type: 'null' }] },
      { anyOf: [{ $ref: '#/$defs/x' }, { type: 'null' }] },
    ],
    ['nor one that is said elsewhere', { type: 'object', $ref: '#/$defs/x' }, { $ref: '#/$defs/x' }],
    [
      'a tuple is a list of any of its members',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false },
      {
        type: 'array',
        items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        description: '{prefixItems: [{"type":"string"},{"type":"integer"}], items: false}',
      },
    ],
    [
      'a tuple in the older spelling, too',
      { type: 'array', items: [{ type: 'string' }] },
      {
        type: 'array',
        items: { anyOf: [{ type: 'string' }] },
        description: '{items: [{"type":"string"}]}',
      },
    ],
  ])('in the format %s', (_what, property, written) => {
    const $defs = { x: { type: 'string' } }
    const schema = { type: 'object', properties: { property }, $defs }
    const { format } = asObject(body({ output: { ...output, schema } })['output_config']) ?? {}
    expect(asObject(asObject(asObject(format)?.['schema'])?.['properties'])?.['property']).toEqual(written)
  })

  test('definitions that are used twice are no recursion', () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } },
      $defs: { x: { type: 'string' } },
    }
    expect(body({ output: { ...output, schema } })['output_config']).toMatchObject({
      format: { type: 'json_schema' },
    })
  })

  test('definitions that double at every step take no longer than others', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, step) => [
        `d${step}`,
        { anyOf: [{ $ref: `#/$defs/d${step + 1}` }, { $ref: `#/$defs/d${step + 1}` }] },
      ]),
    )
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
    expect(body({ output: { ...output, schema } })['output_config']).toBeDefined()
  })

  test('what many parts say together takes no longer than what one says', () => {
    const names = Array.from({ length: 20_000 }, (_, which) => `p${which}`)
    const part = (name: string) => ({ properties: { [name]: { type: 'string' } }, required: [name] })
    const schema = { type: 'object', allOf: names.map(part) }
    const format = asObject(asObject(body({ output: { ...output, schema } })['output_config'])?.['format'])
    expect(format?.['schema']).toMatchObject({ required: names, additionalProperties: false })
  })

  test('of what is said at several depths together, the outermost counts', () => {
    const inner = {
      allOf: [{ type: 'object', title: 'inner', properties: { a: { type: 'string' } } }],
      title: 'outer',
    }
    const schema = { allOf: [inner, { required: ['a'] }], description: 'd' }
    expect(body({ output: { ...output, schema } })['output_config']).toMatchObject({
      format: { schema: { type: 'object', title: 'outer', required: ['a'], description: 'd' } },
    })
  })

  test('definitions that refer on and on are no schema that can be held', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, step) => [`d${step}`, { $ref: `#/$defs/d${step + 1}` }]),
    )
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
    expect(body({ output: { ...output, schema } })['output_config']).toBeUndefined()
  })

  test('in words where there are other tools, or any JSON will do', () => {
    const { body, emulate } = encode({ output, tools: [TOOL] }, target('claude-3-7-sonnet-latest'))
    expect(body['system']).toContain('"minLength":1')
    expect(body['tool_choice']).toBeUndefined()
    expect(emulate.outputTool).toBeUndefined()
    expect(encode({ output: { type: 'json' } }).body['system']).toBe(
      'Reply with one valid JSON object and nothing else: no prose, no code fence.',
    )
    expect(encode({ output: { type: 'text' } }).body['system']).toBeUndefined()
  })
  test.each([
    [{ type: 'array', items: { type: 'number' } }, 'one valid JSON array and'],
    [{ type: 'string', enum: ['a', 'b'] }, 'one valid JSON value and'],
    [{ anyOf: [{ type: 'object' }, { type: 'null' }] }, 'one valid JSON value and'],
    [{ type: ['object', 'null'], properties: {} }, 'one valid JSON value and'],
    [{ properties: { a: {} } }, 'one valid JSON object and'],
  ])('in words that name what %j has at its root', (schema, words) => {
    const asked = { output: { ...output, schema }, tools: [TOOL] }
    expect(encode(asked, target('claude-3-7-sonnet-latest')).body['system']).toContain(words)
  })
})
