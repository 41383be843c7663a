import { describe, expect, test } from 'bun:test'
import { brotliCompressSync, deflateSync } from 'node:zlib'
import { bodyTerms } from '#tests/support/body-terms.ts'
import { readBody } from '@/exchange/admission/body.ts'
import { GrowingRoom } from '@/exchange/admission/body-arrival.ts'

const MEGABYTE = 1024 * 1024
/** Three megabytes of what hardly packs. */
const WORDS = Array.from({ length: 500_000 }, (_, index) => ((index * 2_654_435_761) % 2 ** 32).toString(36))
const LARGE = JSON.stringify({ prompt: WORDS.join('') })

/** Sends bodies to a gateway that has room for so many bytes, and tells what is taken of it. */
function underTest(room: number, maxBodyBytes = 100 * MEGABYTE) {
  const taken = { now: 0, ever: 0 }
  const bodyRoom = {
    take(bytes: number) {
      if (taken.now + bytes > room) return false
      taken.now += bytes
      taken.ever += bytes
      return true
    },
    giveBack(bytes: number) {
      taken.now -= bytes
    },
  }
  return {
    taken,
    send: (body: RequestInit['body'], headers: Record<string, string>) =>
      readBody(new Request('http://gateway/', { method: 'POST', body: body ?? null, headers }), {
        ...bodyTerms(maxBodyBytes),
        bodyRoom,
      }),
  }
}

function inPieces(text: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + 65_536))
      at += 65_536
    },
  })
}

const WAYS: [string, () => RequestInit['body'], Record<string, string>][] = [
  ['whose length is declared', () => LARGE, { 'content-length': String(LARGE.length) }],
  ['whose length nobody says', () => inPieces(LARGE), {}],
  ['that is unpacked', () => Bun.gzipSync(Buffer.from(LARGE), { level: 1 }), { 'content-encoding': 'gzip' }],
]

test.each(WAYS)('a large body %s is refused where there is no memory for it', async (_, body, headers) => {
  const { send, taken } = underTest(2 * MEGABYTE)
  await expect(send(body(), headers)).rejects.toMatchObject({ kind: 'overloaded', retryAfterMs: 2_000 })
  expect(taken.now).toBe(0)
})

test.each(WAYS)('one %s gives its room back once it was read', async (_, body, headers) => {
  const { send, taken } = underTest(50 * MEGABYTE)
  await send(body(), headers)
  expect(taken.ever).toBeGreaterThanOrEqual(LARGE.length)
  expect(taken.now).toBe(0)
})

test.each(WAYS)('one %s takes no more room than a body may have', async (_, body, headers) => {
  const { send, taken } = underTest(50 * MEGABYTE, LARGE.length)
  await send(body(), headers)
  const packed = headers['content-encoding'] === undefined ? 0 : LARGE.length
  expect(taken.ever).toBeLessThanOrEqual(LARGE.length + packed)
})

describe.each([
  ['gzip', Bun.gzipSync],
  ['zstd', Bun.zstdCompressSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
] as const)('a few bytes of %s that unpack to many', (encoding, pack) => {
  const headers = { 'content-encoding': encoding }
  const bomb = () => new Uint8Array(pack(Buffer.from(JSON.stringify({ prompt: 'x'.repeat(3 * MEGABYTE) }))))

  test('are refused where there is no memory for those', async () => {
    const { send, taken } = underTest(2 * MEGABYTE)
    await expect(send(bomb(), headers)).rejects.toMatchObject({ kind: 'overloaded' })
    expect(taken.now).toBe(0)
  })

  test('are unpacked where there is', async () => {
    const { send, taken } = underTest(50 * MEGABYTE)
    expect((await send(bomb(), headers)).json['prompt']).toHaveLength(3 * MEGABYTE)
    expect(taken.now).toBe(0)
    expect(taken.ever).toBeGreaterThan(3 * MEGABYTE)
  })

  test('are refused for their length where that is too much', async () => {
    const { send } = underTest(50 * MEGABYTE, 2 * MEGABYTE)
    await expect(send(bomb(), headers)).rejects.toMatchObject({ kind: 'body_too_large' })
  })
})

test('one of less than a megabyte is refused as well where there is no memory for it', async () => {
  const text = JSON.stringify({ prompt: 'x'.repeat(100_000) })
  const headers = { 'content-length': String(text.length) }
  await expect(underTest(90_000).send(text, headers)).rejects.toMatchObject({ kind: 'overloaded' })
  const { send, taken } = underTest(200_000)
  await send(text, headers)
  expect(taken.now).toBe(0)
  expect(taken.ever).toBe(text.length)
})

test('a small body asks for no room', async () => {
  const { send } = underTest(0)
  const { json } = await send('{"a":1}', { 'content-length': '7' })
  expect(json).toEqual({ a: 1 })
})

test('what a body takes as it is decoded only grows, and is given back as a whole', () => {
  const asked: unknown[][] = []
  const bodyRoom = {
    take: (...asks: number[]) => {
      asked.push(['take', ...asks])
      return true
    },
    giveBack: (...asks: number[]) => void asked.push(['give back', ...asks]),
  }
  const room = new GrowingRoom({ account: 7, bodyRoom })
  for (const bytes of [1_000_000, 200_000, 1_500_000]) room.growTo(bytes)
  room.giveBack()
  expect(asked).toEqual([
    ['take', 1_000_000, 7, 0],
    ['take', 500_000, 7, 1_000_000],
    ['give back', 1_500_000, 7],
  ])
})
