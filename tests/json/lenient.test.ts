import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { strictJson } from '@/json/lenient.ts'

test.each([
  ['{"a":[1,2,],"b":{"c":3 ,\n},}', { a: [1, 2], b: { c: 3 } }],
  ['["one\ntwo\tthree\u0001"]', ['one\ntwo\tthree\u0001']],
  [String.raw`["a \",]", "b\\", ",}"]`, ['a ",]', 'b\\', ',}']],
])('%j is read', (text, value) => {
  expect(JSON.parse(strictJson(text))).toEqual(value)
})

describe('what is JSON', () => {
  test('stays as it is', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 3 }), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent)
        expect(strictJson(text)).toBe(text)
      }),
    )
  })
})

test.each(['{"a":1,,}', '{"a":1', "{'a':1}", '{a:1}', '["a]', '[1 2]'])('%j is no JSON afterwards', text => {
  expect(() => JSON.parse(strictJson(text))).toThrow(SyntaxError)
})
