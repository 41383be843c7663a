import { expect, test } from 'bun:test'
import { type BodyRead, pulledBody } from '@/exchange/relay/pulled-body.ts'

const HALF = Buffer.from('half')

/** A body of these reads, the last of which may fail, and how often somebody asked for one or left. */
function bodyOf(...reads: (BodyRead | Error)[]) {
  const seen = { asked: 0, left: 0 }
  const body = pulledBody(
    async () => {
      const read = reads[seen.asked++] ?? 'closed'
      if (read instanceof Error) throw read
      return read
    },
    () => {
      seen.left += 1
    },
  )
  return { reader: body.getReader(), seen }
}

test('a body is asked for its bytes one by one, when they are wanted', async () => {
  const { reader, seen } = bodyOf(HALF, HALF)
  await new Promise<void>(resolve => setImmediate(resolve))
  expect(seen.asked).toBe(0)
  expect(await reader.read()).toMatchObject({ done: false })
  expect(seen.asked).toBe(1)
  await reader.read()
  expect(await reader.read()).toMatchObject({ done: true })
})

test.each<[string, BodyRead | Error]>([
  ['broke off', 'broken'],
  ['cannot be read', new Error('away')],
])('a body that %s breaks off where it goes, and is not taken for one that ended', async (_, read) => {
  const { reader } = bodyOf(HALF, read)
  await reader.read()
  const reason = await reader.read().then(
    () => 'it ended',
    (thrown: unknown) => thrown,
  )
  // Bun prints every other.
  expect(reason).toBeNull()
})

test('whoever gives a body hears that nobody wants more', async () => {
  const { reader, seen } = bodyOf(HALF, HALF)
  await reader.read()
  await reader.cancel()
  expect(seen.left).toBe(1)
})
