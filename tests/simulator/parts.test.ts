import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { least } from '#tests/support/least.ts'
import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { smallestInstance } from '@/simulator/script/instance.ts'
import { checkSignature, signReasoning } from '@/simulator/script/signature.ts'
import { readSteering } from '@/simulator/script/steering.ts'
import { words } from '@/simulator/script/words.ts'
import { runSimulator } from './running.ts'

const { post } = runSimulator()

describe('words', () => {
  test('join to the text again and never split a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), text => {
        const pieces = [...words(text)]
        expect(pieces.join('')).toBe(text)
        expect(pieces.every(piece => piece.isWellFormed())).toBe(true)
      }),
    )
  })

  test('cut what has no spaces', () => {
    expect([...words('x'.repeat(40))].map(piece => piece.length)).toEqual([16, 16, 8])
    expect([...words(`${'x'.repeat(15)}🌍🌍`)]).toEqual([`${'x'.repeat(15)}🌍`, '🌍'])
  })
})

describe('the smallest instance', () => {
  test.each<[string, JsonObject, JsonValue]>([
    [
      'required properties only',
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a'] },
      { a: 'text' },
    ],
    ['nothing when nothing is required', { type: 'object', properties: { a: { type: 'string' } } }, {}],
    ['capital types', { type: 'OBJECT', properties: { a: { type: 'INTEGER' } }, required: ['a'] }, { a: 0 }],
    ['constants and enums', { type: 'array', minItems: 2, items: { enum: ['x', 'y'] } }, ['x', 'x']],
    ['the first type that is not null', { type: ['null', 'boolean'] }, true],
    ['references', { $defs: { n: { type: 'integer', minimum: 3 } }, $ref: '#/$defs/n' }, 3],
    ['the first of a union', { anyOf: [{ type: 'number', exclusiveMinimum: 1 }, { type: 'string' }] }, 2],
    [
      'parts that are joined',
      {
        allOf: [
          { type: 'object', properties: { a: { const: 1 } }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] },
        ],
      },
      { a: 1, b: 2 },
    ],
    ['multiples', { type: 'integer', minimum: 7, multipleOf: 5 }, 10],
    ['upper bounds below zero', { type: 'integer', maximum: -3 }, -3],
    ['lengths', { type: 'string', minLength: 6, maxLength: 6 }, 'textxx'],
    ['formats', { type: 'string', format: 'date' }, '2025-01-01'],
    ['no type at all', {}, null],
  ])('takes %s', (_, schema, instance) => {
    expect(smallestInstance(schema)).toEqual(instance)
  })

  test('ends a schema that contains itself', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] } },
    }
    expect(JSON.stringify(smallestInstance(schema)).length).toBeLessThan(200)
  })

  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, step) => {
      const next = { $ref: `#/$defs/d${step + 1}` }
      return [`d${step}`, { allOf: [next, next] }]
    }),
  )
  const node = {
    type: 'object',
    properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } },
    required: ['a', 'b', 'c'],
  }
  test.each<[string, JsonObject]>([
    ['a long text', { type: 'string', minLength: 1e12 }],
    ['many items', { type: 'array', minItems: 1e12, items: { type: 'array', minItems: 1e12 } }],
    ['a large item often', { type: 'array', minItems: 1e12, items: { const: 'x'.repeat(100_000) } }],
    ['long texts', { type: 'array', minItems: 1e12, items: { type: 'string', minLength: 1e12 } }],
    ['itself three times', node],
    ['parts that double at every step', { $ref: '#/$defs/d0', $defs: doubling }],
  ])('is not as large as a schema may ask for: %s', (_, schema) => {
    expect(JSON.stringify(smallestInstance(schema)).length).toBeLessThan(20_000_000)
  })

  test('fits a type that may hold itself', () => {
    const next = { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] }
    const node = {
      type: 'object',
      properties: { value: { type: 'integer' }, next },
      required: ['value', 'next'],
    }
    let here: JsonValue | undefined = smallestInstance({ $ref: '#/$defs/node', $defs: { node } })
    while (here !== null) {
      const { value, ...others }: JsonObject = asObject(here) ?? {}
      expect([value, Object.keys(others)]).toEqual([0, ['next']])
      here = others['next'] ?? null
    }
  })
})

describe('signatures', () => {
  test('are known again only for their format and text', () => {
    const signature = signReasoning('anthropic-messages', 'thought')
    expect(checkSignature('anthropic-messages', signature, 'thought')).toBe('valid')
    expect(checkSignature('anthropic-messages', signature, undefined)).toBe('valid')
    expect(checkSignature('anthropic-messages', signature, 'other')).toBe('altered')
    expect(checkSignature('gemini-generate-content', signature, 'thought')).toBe('foreign')
    expect(checkSignature('anthropic-messages', `${signature.slice(0, -8)}AAAAAAA=`, 'thought')).toBe(
      'foreign',
    )
    expect(checkSignature('openai-responses', '', undefined)).toBe('foreign')
  })
})

describe('steering', () => {
  test.each(['gpt-5', '', 'echo+', 'long-', 'error-200', 'echo/', 'Echo'])('does not know %p', model => {
    expect(readSteering(model)).toBeUndefined()
  })

  test('adds words up', () => {
    expect(readSteering('a/b/reason+pace-5+cut-0+nousage')).toMatchObject({
      reasons: true,
      paceMs: 5,
      cutAfter: 0,
      reportsUsage: false,
    })
  })
})

test('thousands of calls and their results are read one by one, whatever their order', async () => {
  const ids = Array.from({ length: 30_000 }, (_, index) => `call_${index}`)
  const last = ids.toReversed()
  const requests = {
    '/v1/chat/completions': {
      messages: [
        {
          role: 'assistant',
          tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
        },
        ...last.map(tool_call_id => ({ role: 'tool', tool_call_id, content: 'r' })),
      ],
    },
    '/v1/messages': {
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: ids.map(id => ({ type: 'tool_use', id, name: 'f', input: {} })) },
        { role: 'user', content: last.map(tool_use_id => ({ type: 'tool_result', tool_use_id })) },
      ],
    },
    '/v1beta/models/echo:generateContent': {
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: ids.map(id => ({ functionCall: { id, name: id, args: {} } })) },
        { role: 'user', parts: last.map(id => ({ functionResponse: { id, name: id, response: {} } })) },
      ],
    },
  }
  for (const [path, body] of Object.entries(requests)) {
    const userMs = async () => {
      const started = process.cpuUsage()
      const response = await post(path, { model: 'echo', ...body })
      expect([path, response.status]).toEqual([path, 200])
      return process.cpuUsage(started).user / 1000
    }
    expect(await least(1_500, userMs)).toBeLessThan(1_500)
  }
})
