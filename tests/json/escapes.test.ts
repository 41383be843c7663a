import { expect, test } from 'bun:test'
import { mayBeEscaped } from '@/json/escapes.ts'

const ASCII = Array.from({ length: 0x5f }, (_, index) => String.fromCharCode(0x20 + index))

test('an escape of any of its characters is noticed, whichever case its digits have', () => {
  for (const character of ASCII) {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    for (const digits of [code, code.toUpperCase()]) {
      const json = Buffer.from(`{"a":"x\\u${digits}y"}`)
      expect(mayBeEscaped(json, `some ${character}`)).toBe(true)
    }
  }
})

test.each([
  ['none', '{"a":"model"}'],
  ['a character that is not ASCII', '{"a":"caf\\u00e9 \\u2026"}'],
  ['a control character', '{"a":"\\u001b"}'],
])('a body whose escapes are %s spells an ASCII text as it is', (_, json) => {
  expect(mayBeEscaped(Buffer.from(json), 'model')).toBe(false)
})
