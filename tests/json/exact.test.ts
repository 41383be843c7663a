import { expect, test } from 'bun:test'
import { parseExact, parseExactObject } from '@/json/exact.ts'

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
