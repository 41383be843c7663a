import { expect, test } from 'bun:test'
import { asIndex, parseJson, parseObject } from '@/json/json.ts'

test.each([
  [0, 0],
  [7, 7],
  [-1, undefined],
  [0.5, undefined],
  [1e308, undefined],
  ['1', undefined],
  [null, undefined],
])('the place that %p names in a list is %p', (value, index) => {
  expect(asIndex(value)).toBe(index)
})

test('an object is read, anything else is none', () => {
  expect(parseObject('{"__proto__":1}')).toEqual(JSON.parse('{"__proto__":1}'))
  for (const text of ['', '[]', '1', '{']) expect(parseObject(text)).toBeUndefined()
})

test.each([
  ['[', ']'],
  ['{"a":', '}'],
])('a thousand levels of %s are followed, no more', (open, close) => {
  const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
  expect(() => parseJson(nested(1000))).not.toThrow()
  expect(() => parseJson(nested(1001))).toThrow(SyntaxError)
  expect(parseObject(nested(50_000))).toBeUndefined()
})
