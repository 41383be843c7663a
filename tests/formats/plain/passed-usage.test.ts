import { expect, test } from 'bun:test'
import { PassedUsage } from '@/formats/plain/passed-usage.ts'

const USAGE = '{"promptTokenCount":12,"note":"é"}'

/** A read with a usage somewhere in it, and where. */
function readOf(before: string) {
  const read = Buffer.from(`${before}${USAGE} and more`)
  const start = Buffer.byteLength(before)
  return { read, start, end: start + Buffer.byteLength(USAGE) }
}

test.each(['', 'é before ', 'x'.repeat(10_000)])('the usage behind %# is told once', before => {
  const passed = new PassedUsage()
  const { read, start, end } = readOf(before)
  passed.note(read, start, end)
  expect(passed.take()).toEqual({ promptTokenCount: 12, note: 'é' })
  expect(passed.take()).toBeUndefined()
})

test('a long read is not kept: what becomes of it does not matter', () => {
  const passed = new PassedUsage()
  const { read, start, end } = readOf('x'.repeat(10_000))
  passed.note(read, start, end)
  read.fill(0)
  expect(passed.take()).toEqual({ promptTokenCount: 12, note: 'é' })
})

test('the last of several is told', () => {
  const passed = new PassedUsage()
  passed.note(Buffer.from('{"a":1}'), 0, 7)
  passed.note(Buffer.from('{"a":2}'), 0, 7)
  expect(passed.take()).toEqual({ a: 2 })
})
