import { describe, expect, test } from 'bun:test'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { batchWriter, type WriterOptions } from '@/ledger/writer.ts'

/** Pauses pass at once; patience never ends unless the test says so. */
const hastyClock: Clock = {
  ...systemClock,
  after(ms, task) {
    if (ms < 1_000) queueMicrotask(task)
    return () => undefined
  },
}

function sqlError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function testWriter(
  options: Partial<WriterOptions<number, number>> & { on?: (batch: readonly number[]) => void },
) {
  const batches: number[][] = []
  const writer = batchWriter<number, number>({
    clock: hastyClock,
    idOf: String,
    patienceMs: 60_000,
    onLate: async () => undefined,
    async write(batch) {
      batches.push([...batch])
      options.on?.(batch)
      return batch.map(item => item * 2)
    },
    ...options,
  })
  return { writer, batches }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('batches', () => {
  test('are what queued while the last one was in flight', async () => {
    const { writer, batches } = testWriter({})
    const first = writer.submit(0)
    await Promise.resolve()
    await Promise.resolve()
    const rest = [1, 2, 3].map(item => writer.submit(item))
    expect(await Promise.all([first, ...rest])).toEqual([0, 2, 4, 6])
    expect(batches).toEqual([[0], [1, 2, 3]])
  })

  test('hold at most 512, the oldest first', async () => {
    const { writer, batches } = testWriter({})
    await Promise.all(upTo(1_100).map(item => writer.submit(item)))
    expect(batches.map(batch => batch.length)).toEqual([512, 512, 76])
    expect(batches.flat()).toEqual(upTo(1_100))
  })

  test('hold no id twice', async () => {
    const { writer, batches } = testWriter({})
    expect(await Promise.all([5, 5, 6].map(item => writer.submit(item)))).toEqual([10, 10, 12])
    expect(batches).toEqual([[5, 6], [5]])
  })
})

describe('an error', () => {
  test('of the data rejects the one that has it, and nobody else', async () => {
    const { writer } = testWriter({
      on(batch) {
        if (batch.includes(13)) throw sqlError('23514')
      },
    })
    const results = await Promise.allSettled(upTo(40).map(item => writer.submit(item)))
    expect(results.flatMap(({ status }, item) => (status === 'rejected' ? [item] : []))).toEqual([13])
  })

  test.each(['57P01', '08006', '40P01', '25006', '53300', 'ECONNREFUSED'])(
    'of the connection (%s) is tried again with the same ids',
    async code => {
      let failures = 3
      const { writer, batches } = testWriter({
        on() {
          failures -= 1
          if (failures >= 0) throw sqlError(code)
        },
      })
      expect(await Promise.all([1, 2].map(item => writer.submit(item)))).toEqual([2, 4])
      expect(batches).toEqual(Array(4).fill([1, 2]))
      expect(writer.failedAt()).toBeNumber()
    },
  )

  test('that is an answer rejects only whom it answers', async () => {
    const { writer } = testWriter({
      write: async batch => batch.map(item => (item === 1 ? new Error('no') : item)),
    })
    const results = await Promise.allSettled([1, 2].map(item => writer.submit(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

test('who waited too long gets what onLate says, is not written again, and the queue drains', async () => {
  const late: (() => void)[] = []
  const clock: Clock = {
    ...hastyClock,
    after(ms, task) {
      if (ms === 60_000) late.push(task)
      else setImmediate(task)
      return () => undefined
    },
  }
  let away = true
  const { writer, batches } = testWriter({
    clock,
    onLate: async item => (item === 1 ? 100 : undefined),
    on() {
      if (away) throw sqlError('57P01')
    },
  })
  const [one, two] = [writer.submit(1), writer.submit(2)]
  for (const end of late.splice(0)) end()
  expect(await one).toBe(100)
  away = false
  expect(await two).toBe(4)
  expect(batches.at(-1)).toEqual([2])
  await writer.drain()
  expect([writer.size(), writer.waitMs()]).toEqual([0, 0])
})
