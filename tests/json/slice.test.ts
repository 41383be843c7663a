import { expect, test } from 'bun:test'
import { sliceItems } from '@/json/slice.ts'

const slice = (text: string) => sliceItems(Buffer.from(text), 'input')

test.each<[string, string[] | undefined]>([
  ['{"input":[]}', []],
  ['{"input" : [ ] }', []],
  ['{"a":[0],"input":[1.0 , {"x":"],"},[2,[3]],"é\\"" ]}', ['1.0', '{"x":"],"}', '[2,[3]]', '"é\\""']],
  ['{"inp\\u0075t":[1]}', ['1']],
  ['{"input":[1],"input":[2]}', ['2']],
  ['{"input":"text"}', undefined],
  ['{"a":{"input":[1]}}', undefined],
  ['[1]', undefined],
])('the items of %s as they are spelled', (text, items) => {
  expect(slice(text)).toEqual(items as string[])
})
