import { expect, test } from 'bun:test'
import { WholePipeline } from '@/exchange/operations/whole-pipeline.ts'

test('an answer that has no end is not kept without one', () => {
  const pipeline = new WholePipeline({
    contentType: '',
    read: () => {
      throw new Error('nobody waits for its end')
    },
    encodeError: () => '',
  })
  const megabyte = Buffer.alloc(1024 * 1024)
  const push = () => {
    for (let at = 0; at < 257; at += 1) pipeline.push(megabyte)
  }
  expect(push).toThrow("The upstream's answer is larger than 268435456 bytes")
})
