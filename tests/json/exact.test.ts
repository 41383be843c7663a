import { describe, expect, test } from 'bun:test'
import { parseExact, parseExactObject, withDigits } from '@/json/exact.ts'
import { parseObject } from '@/json/json.ts'

test.each(['12345678901234567890', '9007199254740993', '-0', '1e400', '0.10', '1E+2', '1.0', '5'])(
  'the number %s is written as it was read, at any depth',
  number => {
    const text = `{"a":[${number},{"__proto__":${number}}],"text":"-0 1e400"}`
    expect(JSON.stringify(parseExact(text))).toBe(text)
  },
)

test.each(['', '{', '[1.0]', '"1.0"', '12345678901234567890'])('%s is no object', text => {
  expect(parseExactObject(text)).toBeUndefined()
})

test('what is nested too deep is no JSON, whatever its numbers', () => {
  expect(parseExactObject(`{"a":${'['.repeat(50_000)}1.0${']'.repeat(50_000)}}`)).toBeUndefined()
})

describe('the digits of data inside of a value', () => {
  const keys = new Set(['input'])
  const again = (text: string) => JSON.stringify(withDigits(parseObject(text) ?? {}, () => text, keys))

  test.each(['12345678901234567890', '-9007199254740993', '-0', '1e400', '0.12345678901234567890'])(
    '%s is kept under the keys, at any depth, and nowhere else',
    number => {
      const text = `{"n":0.10,"a":[{"input":{"__proto__":[${number},1.0]},"n":1.0}],"input":"-0"}`
      expect(again(text)).toBe(`{"n":0.1,"a":[{"input":{"__proto__":[${number},1.0]},"n":1}],"input":"-0"}`)
    },
  )

  test('that a double holds leave the value itself, and its text unread', () => {
    const value = { n: 2 ** 60, input: { a: [1, -1.5, 2 ** 53 - 1, 1e3], b: 'x', c: null } }
    const text = () => {
      throw new Error('was read')
    }
    expect(withDigits(value, text, keys)).toBe(value)
  })

  test('of which the text is gone stay as they are', () => {
    const value = { input: 2 ** 60 }
    expect(withDigits(value, () => '', keys)).toBe(value)
  })
})
