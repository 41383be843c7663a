import { expect, test } from 'bun:test'
import { hasMorePartsThan } from '@/json/parts.ts'

const isBusy = (text: string, most: number) => hasMorePartsThan(Buffer.from(text), most)

test('objects, arrays and members count, and nothing else does', () => {
  const document = '{"a": [1, 2, "[{:"], "b\\"[": {}, "c": null}'
  expect(isBusy(document, 6)).toBe(false)
  expect(isBusy(document, 5)).toBe(true)
  expect(isBusy(`["${'[{:\\"'.repeat(100)}", ${'1,'.repeat(100)} 1]`, 1)).toBe(false)
})

test('values that stand beside others have a limit of their own', () => {
  const document = '{"a": [1, "2,2", 3], "b": null}'
  expect(hasMorePartsThan(Buffer.from(document), 10, 3)).toBe(false)
  expect(hasMorePartsThan(Buffer.from(document), 10, 2)).toBe(true)
})

test('a member whose key may be a number counts ten, wherever it stands and however it is spelled', () => {
  expect(isBusy('{"a":"1","b":["2","3"]}          ', 4)).toBe(false)
  for (const member of ['"1":0', '"9x" : 0', '"\\u0031":0']) {
    const document = `{"a":"b","c":{${member}}}     `
    expect(isBusy(document, 14)).toBe(false)
    expect(isBusy(document, 13)).toBe(true)
  }
})

test('what does not close counts as well', () => {
  expect(isBusy('['.repeat(11), 10)).toBe(true)
  expect(isBusy(`["${'['.repeat(20)}`, 10)).toBe(false)
})

test('bytes within a larger buffer are those that are looked at', () => {
  const bytes = Buffer.from('[[[[[[ 123456789')
  expect(hasMorePartsThan(bytes.subarray(6), 1)).toBe(false)
  expect(hasMorePartsThan(bytes.subarray(0, 6), 5)).toBe(true)
})
