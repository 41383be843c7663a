import { describe, expect, test } from 'bun:test'
import { unrolledSchema as unrolledBeside } from '@/formats/schemas/unrolled.ts'
import type { JsonObject } from '@/json/json.ts'

const unrolledSchema = (schema: JsonObject) => unrolledBeside(schema, { length: 0, nodes: 0 })

describe('unrolledSchema', () => {
  test('what a reference leads to stands in its place, twice within itself, then anything of that type', () => {
    const list = { type: 'array', description: 'More.', items: { $ref: '#/$defs/list' } }
    const schema = { type: 'object', properties: { list: { $ref: '#/$defs/list' } }, $defs: { list } }
    const { items: _items, ...said } = list
    expect(unrolledSchema(schema)).toEqual({
      type: 'object',
      properties: { list: { ...said, items: { ...said, items: { ...said, items: { type: 'object' } } } } },
    })
  })

  test('what stands beside a reference counts, and a choice is cut to an object', () => {
    const either = { anyOf: [{ type: 'null' }, { $ref: '#/$defs/either', title: 'Inner' }] }
    const schema = { properties: { a: { $ref: '#/$defs/either' } }, $defs: { either } }
    const nothing = { type: 'null' }
    expect(unrolledSchema(schema)).toEqual({
      properties: {
        a: {
          anyOf: [nothing, { anyOf: [nothing, { type: 'object', title: 'Inner' }], title: 'Inner' }],
        },
      },
    })
  })

  test('a schema that holds itself as a whole', () => {
    const schema = { type: 'object', properties: { child: { $ref: '#' } } }
    const inner = (child: JsonObject) => ({ type: 'object', properties: { child } })
    expect(unrolledSchema(schema)).toEqual(inner(inner(inner({ type: 'object' }))))
  })

  test('one that holds itself in many ways is no larger than any that is meant', () => {
    const names = Array.from({ length: 40 }, (_, which) => `d${which}`)
    const anyOf = names.map(name => ({ $ref: `#/$defs/${name}` }))
    const $defs = Object.fromEntries(
      names.map(name => [name, { type: 'object', properties: { a: { anyOf } } }]),
    )
    const unrolled = JSON.stringify(unrolledSchema({ type: 'object', properties: { a: { anyOf } }, $defs }))
    expect(unrolled).not.toContain('$ref')
    expect(unrolled.length).toBeLessThan(200_000)
  })

  test('one that would be much larger than it was said is none, nor is any after it in the request', () => {
    const node = {
      type: 'object',
      description: 'long '.repeat(20_000),
      properties: { next: { $ref: '#/$defs/node' } },
    }
    const names = Array.from({ length: 900 }, (_, which) => [`p${which}`, { $ref: '#/$defs/node' }])
    const large = { type: 'object', properties: Object.fromEntries(names), $defs: { node } }
    const repeated = { length: 0, nodes: 0 }
    expect(unrolledBeside(large, repeated)).toBeUndefined()
    expect(repeated.length).toBeLessThan(10_000_000 + 2 * JSON.stringify(node).length)
    expect(unrolledBeside({ type: 'object', properties: { child: { $ref: '#' } } }, repeated)).toBeUndefined()
  })

  test('definitions that refer on and on end', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, step) => [`d${step}`, { items: { $ref: `#/$defs/d${step + 1}` } }]),
    )
    expect(JSON.stringify(unrolledSchema({ $ref: '#/$defs/d0', $defs }))).toEndWith(
      `"items":{"type":"array","items":{"type":"object"}}${'}'.repeat(32)}`,
    )
  })
})
