import { expect, test } from 'bun:test'
import { inputObject, wrappedInput } from '@/formats/tools/call-input.ts'

test.each([
  ['function', '', {}],
  ['function', ' \n', {}],
  ['function', '{"a":1}', { a: 1 }],
  ['function', '{"a":', undefined],
  ['function', '[1]', undefined],
  ['function', '"text"', undefined],
  ['custom', '[1]', { input: '[1]' }],
  ['custom', '', { input: '' }],
] as const)(
  'the input of a %s call, %j, is the object %j, and never refused in a conversation',
  (kind, input, object) => {
    expect(inputObject(kind, input)).toEqual(object)
    expect(wrappedInput(kind, input)).toEqual(object ?? { _raw: input })
  },
)
