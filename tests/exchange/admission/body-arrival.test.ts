import { expect, test } from 'bun:test'
import { bodyTerms } from '#tests/support/body-terms.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fedStream } from '#tests/support/upstreams/upstream.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import { arrivalOf } from '@/exchange/admission/body-arrival.ts'

const MEGABYTE = 1024 * 1024

/** A body that the test writes, and what becomes of it. */
function arriving(headers: Record<string, string>) {
  const clock = manualClock()
  const fed = fedStream()
  const request = new Request('http://gateway/', { method: 'POST', headers, body: fed.stream })
  const terms = { ...bodyTerms(100 * MEGABYTE), deadlines: new Deadlines(clock) }
  const arrival = arrivalOf(request, terms).then(
    bytes => bytes.length,
    (error: { code: string }) => error.code,
  )
  return {
    arrival,
    close: fed.close,
    /** Writes so many bytes, which are read, and lets the time pass. */
    async write(bytes: number, ms: number): Promise<void> {
      fed.write(new Uint8Array(bytes))
      await new Promise(resolve => setImmediate(resolve))
      clock.advance(ms)
    },
  }
}

const WAYS: [string, Record<string, string>][] = [
  ['whose length is declared', { 'content-length': String(500 * 4_200) }],
  ['whose length nobody says', {}],
]

test.each(WAYS)(
  'a large body %s that crawls is given up after a minute, though something comes',
  async (_, headers) => {
    const { arrival, write } = arriving(headers)
    for (let seconds = 0; seconds < 60; seconds += 1) await write(4_000, 1_000)
    expect(await arrival).toBe('body_stalled')
  },
)

test.each(WAYS)('one %s that crawls after it has begun fast is given up as well', async (_, headers) => {
  const { arrival, write } = arriving(headers)
  await write(1_100_000, 1_000)
  for (let seconds = 0; seconds < 59; seconds += 1) await write(100, 1_000)
  expect(await arrival).toBe('body_stalled')
})

test('of one that ends before its declared length there is what came, and no memory behind it', async () => {
  const { arrival, write, close } = arriving({ 'content-length': String(3 * MEGABYTE) })
  await write(2 * MEGABYTE, 0)
  close()
  expect(await arrival).toBe(2 * MEGABYTE)
})

test.each(WAYS)('one %s may be as slow as 4 kB a second, for as long as it takes', async (_, headers) => {
  const { arrival, write, close } = arriving(headers)
  for (let seconds = 0; seconds < 500; seconds += 1) await write(4_200, 1_000)
  close()
  expect(await arrival).toBe(500 * 4_200)
})
