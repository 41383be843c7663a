import { describe, expect, test } from 'bun:test'
import { emptyLongStrings } from '@/json/skeleton.ts'

const emptied = (text: string) => new TextDecoder().decode(emptyLongStrings(Buffer.from(text)))

const long = (text: string) => text.repeat(20_000)

describe('long strings are emptied, and nothing else', () => {
  test.each([
    ['a value', `{"a":"${long('x')}","b":[1.0,"y"]}`, '{"a":"","b":[1.0,"y"]}'],
    ['several', `[{"a":"${long('x')}"} , "short", "${long('z')}"]`, '[{"a":""} , "short", ""]'],
    ['one with escapes', `{"a":"${long('\\"\\\\')}" ,"b":"\\""}`, '{"a":"" ,"b":"\\""}'],
    ['a key', `{"${long('k')}":1}`, '{"":1}'],
    ['other alphabets', `{"a":"${long('世')}","b":"世"}`, '{"a":"","b":"世"}'],
    ['none', `{"a":"${'x'.repeat(1000)}","b":[${'1,'.repeat(20_000)}2]}`, undefined],
    ['a short text', '{"a":"b"}', undefined],
    ['nothing', '', undefined],
  ])('%s', (_, before, after) => {
    expect(emptied(before)).toBe(after ?? before)
  })

  test('a string without an end stays broken', () => {
    expect(() => JSON.parse(emptied(`{"a":"${long('x')}`))).toThrow()
  })
})
