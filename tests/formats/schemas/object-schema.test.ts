import { describe, expect, test } from 'bun:test'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { withRootInPlace } from '@/formats/schemas/reference.ts'
import type { JsonObject } from '@/json/json.ts'

describe('a schema whose root is a reference', () => {
  test.each(['#/$defs/Nothing', '#/__proto__', '#/constructor', '#/$defs/__proto__', 'https://x.example/y'])(
    'keeps one that leads nowhere, for the vendor to refuse: %s',
    $ref => {
      const schema = { $ref, $defs: { Point: { type: 'object' } } }
      expect(withRootInPlace(schema)).toEqual(schema)
    },
  )

  test('finds a definition whatever its name is', () => {
    const schema: JsonObject = JSON.parse(
      '{"$ref":"#/$defs/__proto__","$defs":{"__proto__":{"type":"object"}}}',
    )
    expect(withRootInPlace(schema)).toMatchObject({ type: 'object' })
  })

  test('is no work without an end: definitions that refer on and on are followed for a while', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, step) => [
        `d${step}`,
        { [`k${step}`]: 1, $ref: `#/$defs/d${step + 1}` },
      ]),
    )
    const root = withRootInPlace({ $ref: '#/$defs/d0', $defs })
    expect(root).toHaveProperty('$ref')
    expect(Object.keys(root).length).toBeLessThan(100)
  })
})

describe('a choice at the top', () => {
  test('has the properties of all that can be chosen, and one that differs may be any of them', () => {
    const text = { type: 'string' }
    const anyOf = [
      { $ref: '#/$defs/x' },
      { properties: { a: { ...text } } },
      { properties: { a: { const: 1 } } },
    ]
    const $defs = { x: { properties: { a: text, b: text } } }
    expect(objectSchema({ anyOf, $defs })['properties']).toEqual({
      a: { anyOf: [text, { const: 1 }] },
      b: text,
    })
  })

  test('requires what every one of them requires', () => {
    const anyOf = [{ required: ['a', 'b'] }, { required: ['b', 'a', 'c'] }, { required: ['b'] }]
    expect(objectSchema({ anyOf })['required']).toEqual(['b'])
  })

  test.each(['anyOf', 'oneOf', 'allOf'])('keeps a property whatever its name is: %s', key => {
    const part = '{"properties":{"__proto__":{"type":"string"}}}'
    const merged = objectSchema(JSON.parse(`{"${key}":[${part}],"properties":{"a":{}}}`))
    expect(Object.keys(merged['properties'] ?? {}).sort()).toEqual(['__proto__', 'a'])
  })

  test.each(['anyOf', 'oneOf', 'allOf'])('stays where it is too large to be put together: %s', key => {
    const names = Array.from({ length: 1000 }, (_, which) => `p${which}`)
    const schema = {
      [key]: names.map(() => ({ $ref: '#/$defs/x' })),
      $defs: { x: { properties: Object.fromEntries(names.map(name => [name, {}])), required: names } },
    }
    expect(objectSchema(schema)).toEqual({ ...schema, type: 'object' })
  })
})
