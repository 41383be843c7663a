import { expect, test } from 'bun:test'
import { nestExtensions } from '@/formats/extensions.ts'
import { parseObject } from '@/json/json.ts'

test('fields kept under a dotted name go back into their objects, and others stay, whatever their name', () => {
  const own = parseObject('{"text.tone":"dry","text.pace":1,"a.b":2,"__proto__":{"include":[]}}')
  expect(JSON.stringify(nestExtensions(own, ['text', 'reasoning']))).toBe(
    '{"text":{"tone":"dry","pace":1},"a.b":2,"__proto__":{"include":[]}}',
  )
})
