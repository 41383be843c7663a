import { expect, test } from 'bun:test'
import { isBusierThan } from '@/json/busy.ts'

const isBusy = (text: string, most: number) => isBusierThan(Buffer.from(text), most)

test('objects, arrays and members count, and nothing else does', () => {
  const document = '{"a": [1, 2, "[{:"], "b\\"[": {}, "c": null}'
  expect(isBusy(document, 6)).toBe(false)
  expect(isBusy(document, 5)).toBe(true)
  expect(isBusy(`["${'[{:\\"'.repeat(100)}", ${'1,'.repeat(100)} 1]`, 1)).toBe(false)
})

test('what does not close counts as well', () => {
  expect(isBusy('['.repeat(11), 10)).toBe(true)
  expect(isBusy(`["${'['.repeat(20)}`, 10)).toBe(false)
})

test('bytes within a larger buffer are those that are looked at', () => {
  const bytes = Buffer.from('[[[[[[ 123456789')
  expect(isBusierThan(bytes.subarray(6), 1)).toBe(false)
  expect(isBusierThan(bytes.subarray(0, 6), 5)).toBe(true)
})
