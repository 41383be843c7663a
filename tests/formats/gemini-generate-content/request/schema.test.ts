import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parse } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { isEmptyObjectSchema, lowerSchema } from '@/formats/gemini-generate-content/request/schema.ts'
import { parseExact } from '@/json/exact.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

describe('edge 76: schemas', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'types',
      { type: 'object', properties: { a: { type: 'integer' } } },
      { type: 'OBJECT', properties: { a: { type: 'INTEGER' } } },
    ],
    [
      'properties of what is called nothing',
      { properties: { a: {} } },
      {
        type: 'OBJECT',
        properties: { a: { type: 'STRING' } },
      },
    ],
    ['an object without properties', { type: 'object', properties: {} }, { type: 'OBJECT' }],
    ['bounds of what is called nothing', { exclusiveMaximum: 3 }, { type: 'NUMBER', maximum: 3 }],
    [
      'a union of several with null',
      { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
      { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }], nullable: true },
    ],
    [
      'a number that another part calls an integer, both or nothing',
      { allOf: [{ type: ['number', 'null'] }, { type: ['integer', 'null'] }] },
      { type: 'INTEGER', nullable: true },
    ],
    [
      'an integer that another part calls a number, both or nothing',
      { allOf: [{ type: ['integer', 'null'] }, { type: ['number', 'null'] }] },
      { type: 'INTEGER', nullable: true },
    ],
    ['a nullable type', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
    ['several types', { type: ['string', 'integer'] }, { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] }],
    ['const', { const: 'a' }, { type: 'STRING', format: 'enum', enum: ['a'] }],
    ['a numeric const', { const: 7 }, { type: 'STRING', format: 'enum', enum: ['7'] }],
    [
      'a numeric enum',
      { type: 'integer', enum: [1, 2, null] },
      { type: 'STRING', format: 'enum', enum: ['1', '2'], nullable: true },
    ],
    ['a boolean const', { const: true }, { type: 'BOOLEAN' }],
    ['an empty choice', { enum: ['', 'a'] }, { type: 'STRING', format: 'enum', enum: ['a'] }],
    [
      'exclusive bounds of integers',
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 9.5 },
      { type: 'INTEGER', minimum: 1, maximum: 9 },
    ],
    [
      'exclusive bounds of numbers',
      { type: 'number', exclusiveMinimum: 0, minimum: -1 },
      { type: 'NUMBER', minimum: 0 },
    ],
    [
      'draft 4 bounds',
      { type: 'integer', minimum: 3, exclusiveMinimum: true },
      { type: 'INTEGER', minimum: 4 },
    ],
    [
      'formats',
      { type: 'string', format: 'uri', pattern: '^a', minLength: 1 },
      { type: 'STRING', pattern: '^a', minLength: 1 },
    ],
    ['date-time', { type: 'string', format: 'date-time' }, { type: 'STRING', format: 'date-time' }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
      { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] } },
    ],
    [
      'an array of anything',
      { type: 'array', maxItems: 2 },
      { type: 'ARRAY', items: { type: 'STRING' }, maxItems: 2 },
    ],
    [
      'requirements',
      { type: 'object', properties: { a: {} }, required: ['a', 'b', 'a'] },
      { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
    ],
    [
      'a union with null',
      { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], description: 'd' },
      { type: 'INTEGER', minimum: 1, description: 'd', nullable: true },
    ],
    [
      'oneOf with siblings',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        oneOf: [{ required: ['a'] }, { properties: { b: { type: 'boolean' } } }],
      },
      {
        anyOf: [
          { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
          { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'BOOLEAN' } } },
        ],
      },
    ],
    [
      'allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string', minLength: 2 } } },
          { properties: { a: { minLength: 3 }, b: { type: 'number' } }, required: ['a'] },
        ],
      },
      {
        type: 'OBJECT',
        properties: { a: { type: 'STRING', minLength: 3 }, b: { type: 'NUMBER' } },
        required: ['a'],
      },
    ],
    [
      'what cannot be said',
      {
        type: 'object',
        properties: { a: { type: 'number', multipleOf: 2 } },
        additionalProperties: false,
        $schema: 's',
        patternProperties: {},
        not: {},
        if: {},
      },
      { type: 'OBJECT', properties: { a: { type: 'NUMBER' } } },
    ],
  ])('%s', (_, schema, lowered) => {
    expect(lowerSchema(schema)).toEqual(lowered)
  })

  test('references are inlined, what stands beside them wins', () => {
    const schema = {
      type: 'object',
      properties: { home: { $ref: '#/$defs/place', description: 'mine' }, gone: { $ref: '#/$defs/nothing' } },
      $defs: { place: { type: 'string', description: 'a place', maxLength: 5 } },
    }
    expect(lowerSchema(schema)).toEqual({
      type: 'OBJECT',
      properties: { home: { type: 'STRING', description: 'mine', maxLength: 5 }, gone: { type: 'STRING' } },
    })
  })

  test('recursion is cut at a depth', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, kids: { type: 'array', items: { $ref: '#/$defs/node' } } },
        },
      },
    }
    const text = JSON.stringify(lowerSchema(tree))
    expect(text.match(/"kids"/g)).toHaveLength(2)
    expect(text).not.toContain('$ref')
    expect(() => lowerSchema({ $ref: '#' })).not.toThrow()
    expect(() => lowerSchema({ allOf: [{ $ref: '#' }], $defs: {} })).not.toThrow()
  })

  test('a schema that explodes or never ends is bounded', () => {
    const fan = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`p${i}`, { $ref: `#/$defs/d${i}` }]))
    const $defs = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`d${i}`, { type: 'object', properties: fan }]),
    )
    expect(JSON.stringify(lowerSchema({ type: 'object', properties: fan, $defs })).length).toBeLessThan(
      2_000_000,
    )
    const deep = parse(`${'{"items":'.repeat(5000)}{}${'}'.repeat(5000)}`)
    expect(() => lowerSchema(deep)).not.toThrow()
  })

  test('many schemas of one request that explode are bounded together, and cost none beside them', () => {
    const fan = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, { $ref: `#/$defs/d${i}` }]))
    const $defs = Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [`d${i}`, { type: 'object', properties: fan }]),
    )
    const repeated = { length: 0, nodes: 0 }
    const lengths = Array.from(
      { length: 100 },
      () => JSON.stringify(lowerSchema({ type: 'object', properties: fan, $defs }, repeated)).length,
    )
    const whole = JSON.stringify(lowerSchema({ type: 'object', properties: fan, $defs })).length
    expect(lengths[0]).toBe(whole)
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(20 * whole)
    const plain = { type: 'object', properties: { place: { type: 'string', maxLength: 5 } } }
    expect(lowerSchema(plain, repeated)).toEqual(lowerSchema(plain))
  })

  test.each<[string, JsonObject]>([
    ['what a reference stands for', { $ref: '#/$defs/x' }],
    [
      'what stands beside a union',
      { pattern: 'x'.repeat(100_000), anyOf: [{ minLength: 1 }, { maxLength: 9 }] },
    ],
  ])('%s is written often, and not without an end', (_, property) => {
    const names = Array.from({ length: 1000 }, (_, which) => `p${which}`)
    const lowered = lowerSchema({
      type: 'object',
      properties: Object.fromEntries(names.map(name => [name, property])),
      $defs: { x: { type: 'string', enum: ['e'.repeat(100_000)] } },
    })
    expect(JSON.stringify(lowered).length).toBeWithin(5_000_000, 20_000_000)
    expect(lowered).toMatchObject({ properties: { p999: { type: 'STRING' } } })
  })

  test('an object without properties is empty', () => {
    expect(isEmptyObjectSchema(undefined)).toBe(true)
    expect(isEmptyObjectSchema({ type: 'object', properties: {}, additionalProperties: false })).toBe(true)
    expect(isEmptyObjectSchema({ type: 'object', additionalProperties: { type: 'string' } })).toBe(false)
    expect(isEmptyObjectSchema({ type: 'object', additionalProperties: true })).toBe(false)
    expect(isEmptyObjectSchema({ $ref: '#/$defs/x' })).toBe(false)
  })
})

const ALLOWED = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'propertyOrdering',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'anyOf',
  'default',
  'example',
])
const TYPES = ['OBJECT', 'ARRAY', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN']

function expectSubset(value: JsonValue | undefined): void {
  if (!isJsonObject(value)) throw new Error(`no schema: ${JSON.stringify(value)}`)
  for (const key of Object.keys(value)) expect(ALLOWED).toContain(key)
  if (value['anyOf'] === undefined) expect(TYPES).toContain(String(value['type']))
  if (value['type'] === 'ARRAY') expectSubset(value['items'])
  if (Array.isArray(value['enum'])) for (const item of value['enum']) expect(typeof item).toBe('string')
  if (Array.isArray(value['anyOf'])) for (const branch of value['anyOf']) expectSubset(branch)
  if (isJsonObject(value['properties'])) {
    for (const property of Object.values(value['properties'])) expectSubset(property)
    const names = Object.keys(value['properties'])
    if (Array.isArray(value['required']))
      for (const name of value['required']) expect(names).toContain(String(name))
  }
}

/** Schemas, and things that only look like schemas, this many levels deep. */
function schemas(depth: number): fc.Arbitrary<JsonValue> {
  const junk = fc.constantFrom<JsonValue[]>(null, true, 7, 'x', [], {}, { type: 5 }, [[{}]])
  if (depth === 0)
    return fc.oneof(junk, fc.constantFrom<JsonObject[]>({ type: 'string' }, { $ref: '#' }, { const: 1 }))
  const inner = schemas(depth - 1)
  const list = fc.oneof(fc.array(inner, { maxLength: 2 }), junk)
  const keywords: Record<string, fc.Arbitrary<JsonValue>> = {
    type: fc.constantFrom<JsonValue[]>('object', 'array', 'STRING', 'any', 'null', 3, [
      'string',
      'null',
      'object',
    ]),
    properties: fc.oneof(fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), inner, { maxKeys: 2 }), junk),
    items: fc.oneof(inner, list),
    anyOf: list,
    oneOf: list,
    allOf: list,
    $ref: fc.constantFrom<JsonValue[]>(
      '#',
      '#/$defs/a',
      '#/properties/a',
      '#/%zz',
      'https://x',
      '#/anyOf/0',
      4,
    ),
    $defs: fc.record({ a: inner }),
    enum: fc.oneof(fc.array(fc.constantFrom<JsonValue[]>('x', '', 3, null, true, {})), junk),
    const: junk,
    required: fc.oneof(fc.constantFrom<JsonValue[]>(['a', 'c', 4]), junk),
    minimum: fc.oneof(fc.double(), junk),
    exclusiveMinimum: fc.oneof(fc.double(), fc.boolean()),
    minLength: fc.oneof(fc.integer(), fc.constant('3')),
    format: fc.constantFrom('date-time', 'uri', 'int64', 'enum'),
    nullable: fc.oneof(fc.boolean(), junk),
    additionalProperties: fc.oneof(inner, junk),
  }
  return fc.oneof(
    { weight: 1, arbitrary: junk },
    { weight: 5, arbitrary: fc.record(keywords, { requiredKeys: [] }) },
  )
}

test('whatever it is given, the lowering answers in the subset and never throws', () => {
  fc.assert(
    fc.property(schemas(3), schema => expectSubset(lowerSchema(schema))),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), value =>
      expectSubset(lowerSchema(parse(JSON.stringify({ value }))['value'])),
    ),
  )
})

test.each([
  ['{"type":"integer","exclusiveMaximum":18446744073709551615}', '"maximum":18446744073709551615'],
  ['{"maximum":18446744073709551615}', '"type":"NUMBER","maximum":18446744073709551615'],
  ['{"type":"integer","minimum":9007199254740993,"exclusiveMinimum":true}', '"minimum":9007199254740993'],
  ['{"type":"integer","allOf":[{"minimum":9007199254740995},{"minimum":1}]}', '"minimum":9007199254740995'],
  [
    '{"type":"integer","allOf":[{"enum":[1,9007199254740993]},{"enum":[9007199254740993,2]}]}',
    '"enum":["9007199254740993"]',
  ],
  ['{"type":"string","minLength":1.0,"x":9007199254740993}', '"minLength":1'],
])('edge 88: numbers that no double holds are bounds like others: %s', (schema, lowered) => {
  expect(JSON.stringify(lowerSchema(parseExact(schema)))).toContain(lowered)
})
