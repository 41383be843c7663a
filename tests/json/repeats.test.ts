import { expect, test } from 'bun:test'
import { findRepeats } from '@/json/repeats.ts'
import { applyPatches } from '@/json/splice.ts'

const SINGLE = { names: new Set(['max', 'input', 'config']), holders: new Set(['config']) }

test.each([
  ['{"max":1,"a":2,"max":3}', '{"a":2,"max":3}'],
  ['{ "max" : 1 , "a": 2,\n "max": 3 }', '{ "a": 2,\n "max": 3 }'],
  ['\ufeff {"max":1,"max":{"max":2},"max":3}', '\ufeff {"max":3}'],
  [String.raw`{"m\u0061x":1,"max":2}`, '{"max":2}'],
  [String.raw`{"max":1,"m\u0061x":2}`, String.raw`{"m\u0061x":2}`],
  ['{"input":"a \\" max","b":0,"input":[{"input":1}]}', '{"b":0,"input":[{"input":1}]}'],
  ['{"config":{"max":1,"other":1,"max":2,"other":2}}', '{"config":{"other":1,"max":2,"other":2}}'],
  ['{"config":{"max":9},"config":{"max":1,"max":2}}', '{"config":{"max":2}}'],
  ['{"max":1,"config":{"max":1,"max":2},"max":3}', '{"config":{"max":2},"max":3}'],
])('%j: the last of each of these members stays, and every other byte', (text, expected) => {
  const bytes = Buffer.from(text)
  const repeats = findRepeats(bytes, JSON.parse(text.replace('\ufeff', '')), SINGLE)
  expect(applyPatches(bytes, repeats).toString()).toBe(expected)
})

test.each([
  '{}',
  '{"max":1,"input":[{"max":2,"input":3},{"max":2}],"text":"\\"max\\": \\"max\\""}',
  '{"input":{"a":{"max":1,"max":2}},"max":1}',
  '{"config":{"max":1},"max":2}',
  String.raw`{"max":1,"a":{"m\u0061x":2}}`,
  '{"other":1,"other":2}',
])('%j: nothing is there twice', text => {
  expect(findRepeats(Buffer.from(text), JSON.parse(text), SINGLE)).toEqual([])
})

test('a member that is there many times is taken out in one go', () => {
  const text = `{${'"max":1,'.repeat(1000)}"max":2}`
  expect(findRepeats(Buffer.from(text), JSON.parse(text), SINGLE)).toEqual([
    { start: 1, end: 8001, text: '' },
  ])
})

test('what holds members is looked into once, and no deeper for standing in itself', () => {
  const twice = '{"max":1,"max":2}'
  const text = `${'{"config":'.repeat(5_000)}${twice}${'}'.repeat(5_000)}`
  expect(findRepeats(Buffer.from(text), JSON.parse(text), SINGLE)).toEqual([])
})
