import { expect, test } from 'bun:test'
import {
  asIndex,
  asNonEmpty,
  asObjects,
  asStrings,
  asWord,
  isKeyOf,
  parseJson,
  parseObject,
} from '@/json/json.ts'

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

test('of a list what is of another kind is left out, and what is no list is an empty one', () => {
  expect(asStrings(['a', 1, null, '', { b: 2 }])).toEqual(['a', ''])
  expect(asObjects(['a', { b: 2 }, [], null])).toEqual([{ b: 2 }])
  for (const none of ['a', { 0: 'a' }, undefined])
    expect([asStrings(none), asObjects(none)]).toEqual([[], []])
})

test('a word is one of those that are known, to the letter, and an empty text is none', () => {
  expect(asWord(['low', 'high'], 'high')).toBe('high')
  for (const none of ['High', '', 0, undefined, ['low']])
    expect(asWord(['low', 'high'], none)).toBeUndefined()
  expect(asNonEmpty('a')).toBe('a')
  for (const none of ['', 0, null, undefined]) expect(asNonEmpty(none)).toBeUndefined()
})

test('the keys of a table are its own alone', () => {
  const table = { stop: 1 }
  expect(isKeyOf(table, 'stop')).toBe(true)
  for (const none of ['constructor', '__proto__', 'toString', '', 0, undefined]) {
    expect(isKeyOf(table, none)).toBe(false)
  }
})
