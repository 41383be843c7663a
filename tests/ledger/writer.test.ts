import { describe, expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { OWNER_GONE } from '@/ledger/store.ts'
import { BatchWriter, type WriterOptions } from '@/ledger/writer.ts'

/** Pauses pass at once; patience never ends unless the test says so. */
const hastyClock: Clock = {
  ...systemClock,
  after: (_ms, task) => systemClock.after(0, task),
}

function sqlError(code: string, constraint_name?: string): Error {
  return Object.assign(new Error(code), { code, constraint_name })
}

function testWriter(
  options: Partial<WriterOptions<number, number>> & { on?: (batch: readonly number[]) => void },
) {
  const batches: number[][] = []
  const writer = new BatchWriter<number, number>({
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
    const rest: Promise<number>[] = []
    const { writer, batches } = testWriter({
      on(batch) {
        if (batch[0] === 0) rest.push(...[1, 2, 3].map(item => writer.submit(item)))
      },
    })
    expect(await writer.submit(0)).toBe(0)
    expect(await Promise.all(rest)).toEqual([2, 4, 6])
    expect(batches).toEqual([[0], [1, 2, 3]])
  })

  test('are joined by whoever submits in the same turn of the loop', async () => {
    const joined: Promise<number>[] = []
    const { writer, batches } = testWriter({
      on(batch) {
        if (batch[0] === 0) joined.push(writer.submit(2))
      },
    })
    const later = async () => {
      for (let microtask = 0; microtask < 20; microtask++) await Promise.resolve()
    }
    const first = writer.submit(0)
    await later()
    joined.push(writer.submit(1))
    await first
    await later()
    joined.push(writer.submit(3))
    await Promise.all(joined)
    expect(batches).toEqual([
      [0, 1],
      [2, 3],
    ])
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

describe('a writer that gathers', () => {
  test('writes the first at once and the next ones together, no sooner than it may', async () => {
    const clock = manualClock()
    const { writer, batches } = testWriter({ clock, gatherMs: 5 })
    await writer.submit(0)
    const rest = [1, 2].map(item => writer.submit(item))
    await Bun.sleep(0)
    clock.advance(4)
    rest.push(writer.submit(3))
    await Bun.sleep(0)
    expect(batches).toEqual([[0]])
    clock.advance(1)
    expect(await Promise.all(rest)).toEqual([2, 4, 6])
    expect(batches).toEqual([[0], [1, 2, 3]])
    clock.advance(5)
    await writer.submit(4)
    expect(batches.at(-1)).toEqual([4])
  })

  test('gathers no longer when the clock is set back', async () => {
    const clock = manualClock()
    const { writer } = testWriter({ clock, gatherMs: 5 })
    await writer.submit(0)
    const next = writer.submit(1)
    clock.set(-3_600_000)
    await Bun.sleep(0)
    clock.advance(5)
    expect(await next).toBe(2)
  })

  test('writes at once what a queue waits for that is to be empty', async () => {
    const { writer, batches } = testWriter({ clock: manualClock(), gatherMs: 5 })
    await writer.submit(0)
    const last = writer.submit(1)
    await writer.drain()
    expect([await last, batches]).toEqual([2, [[0], [1]]])
  })
})

test('each of those who wait has a patience of its own', async () => {
  const clock = manualClock()
  const lateAt: [number, number][] = []
  const { writer } = testWriter({
    clock,
    patienceMs: 1_000,
    write: () => new Promise(() => {}),
    onLate: async item => {
      lateAt.push([item, clock.now()])
      return item === 1 ? 100 : undefined
    },
  })
  const start = clock.now()
  const one = writer.submit(1)
  clock.advance(300)
  void writer.submit(2)
  clock.advance(700)
  expect(await one).toBe(100)
  clock.advance(300)
  await Promise.resolve()
  clock.advance(1_000)
  expect(lateAt.map(([item, at]) => [item, at - start])).toEqual([
    [1, 1_000],
    [2, 1_300],
    [2, 2_300],
  ])
})

test('who comes after a time in which nobody waited has all of the patience, and no more', async () => {
  const clock = manualClock()
  const { writer } = testWriter({
    clock,
    patienceMs: 1_000,
    write: async ([item = 0]) => (item === 0 ? [0] : new Promise(() => {})),
    onLate: async () => -1,
  })
  await writer.submit(0)
  clock.advance(5_000)
  const late = writer.submit(1)
  clock.advance(900)
  expect([writer.waitMs(), writer.size()]).toEqual([900, 1])
  clock.advance(100)
  expect(await late).toBe(-1)
})

/** A clock whose event loop can stand still: time passes, and timers ring when it is over. */
function stallingClock() {
  const clock = manualClock()
  let stalledMs = 0
  return {
    ...clock,
    elapsed: () => clock.elapsed() + stalledMs,
    stall(ms: number) {
      stalledMs += ms
    },
  }
}

test('a process that stood still holds that against nobody: the answer may be there, unread', async () => {
  const clock = stallingClock()
  const answer = Promise.withResolvers<number[]>()
  let late = 0
  const { writer } = testWriter({
    clock,
    patienceMs: 2_000,
    write: () => answer.promise,
    onLate: async () => {
      late += 1
      return -1
    },
  })
  const one = writer.submit(1)
  clock.advance(600)
  clock.stall(5_000)
  expect(writer.waitMs()).toBeLessThan(1_000)
  clock.advance(1_000)
  expect([writer.waitMs(), late]).toEqual([1_600, 0])
  answer.resolve([2])
  expect(await one).toBe(2)
})

test('a process that stood still has no more patience with a database that stays away', async () => {
  const clock = stallingClock()
  const { writer } = testWriter({
    clock,
    patienceMs: 2_000,
    write: () => new Promise(() => {}),
    onLate: async () => -1,
  })
  const one = writer.submit(1)
  clock.advance(100)
  clock.stall(5_000)
  clock.advance(2_000)
  expect(await one).toBe(-1)
})

test('who waited too long is not asked about again while the first answer is awaited', async () => {
  const clock = manualClock()
  const slowDisk = Promise.withResolvers<number>()
  let asked = 0
  const { writer } = testWriter({
    clock,
    patienceMs: 1_000,
    write: () => new Promise(() => {}),
    onLate() {
      asked += 1
      return slowDisk.promise
    },
  })
  const one = writer.submit(1)
  clock.advance(3_500)
  expect(asked).toBe(1)
  slowDisk.resolve(100)
  expect(await one).toBe(100)
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

  test.each(['21000', '22003', '44000', '54000', 'P0001', 'TG003', 'XX001', 'XX002'])(
    'that would come again (%s) is not tried again',
    async code => {
      const { writer, batches } = testWriter({
        on() {
          throw sqlError(code)
        },
      })
      expect(await writer.submit(1).catch(error => error.code)).toBe(code)
      expect(batches).toEqual([[1]])
    },
  )

  test('is what those get for whom the answer of a batch says nothing', async () => {
    const { writer } = testWriter({ write: async ([item = 0]) => [item] })
    const results = await Promise.allSettled([1, 2].map(item => writer.submit(item)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  test('of the data in all that there is costs two statements for each at most', async () => {
    const { writer, batches } = testWriter({
      on() {
        throw sqlError('23514')
      },
    })
    await Promise.allSettled(upTo(64).map(item => writer.submit(item)))
    expect(batches.length).toBeLessThan(2 * 64)
  })

  test.each(['57P01', '08006', '40P01', '25006', '53300', 'ECONNREFUSED', OWNER_GONE])(
    'that passes (%s) is tried again with the same ids',
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

  test.each<[string, PromiseSettledResult<number>['status']]>([
    ['hold_pkey', 'fulfilled'],
    ['entry_pkey', 'rejected'],
  ])(
    'of what another connection wrote this moment is tried again where that is a hold: %s is %s',
    async (constraint, status) => {
      let failures = 1
      const { writer } = testWriter({
        on() {
          failures -= 1
          if (failures >= 0) throw sqlError('23505', constraint)
        },
      })
      const [result] = await Promise.allSettled([writer.submit(1)])
      expect(result?.status).toBe(status)
    },
  )

  test('of the connection, met while the row at fault is looked for, keeps the others waiting', async () => {
    const faults = ['23514', '08006']
    const { writer, batches } = testWriter({
      on() {
        const fault = faults.shift()
        if (fault !== undefined) throw sqlError(fault)
      },
    })
    expect(await Promise.all([1, 2, 3, 4].map(item => writer.submit(item)))).toEqual([2, 4, 6, 8])
    expect(batches).toEqual([
      [1, 2, 3, 4],
      [1, 2],
      [1, 2, 3, 4],
    ])
  })

  test('makes the next try wait, longer each time up to half a second, and nobody once a try succeeded', async () => {
    const clock = manualClock()
    const triedAt: number[] = []
    let failures = 7
    const { writer } = testWriter({
      clock,
      on() {
        triedAt.push(clock.elapsed() - start)
        failures -= 1
        if (failures >= 0) throw sqlError('57P01')
      },
    })
    const start = clock.elapsed()
    const first = writer.submit(1)
    for (const [tries, pause] of [20, 40, 80, 160, 320, 500, 500].entries()) {
      await until(() => triedAt.length > tries)
      clock.advance(pause - 1)
      // Whoever were to try too soon would have by then.
      for (let turns = 0; turns < 5; turns += 1) await Bun.sleep(0)
      clock.advance(1)
    }
    await first
    await writer.submit(2)
    failures = 1
    const last = writer.submit(3)
    await until(() => triedAt.length === 10)
    clock.advance(20)
    await last
    expect(triedAt).toEqual([0, 20, 60, 140, 300, 620, 1120, 1620, 1620, 1620, 1640])
  })

  test('of the data after one of the connection makes nobody wait', async () => {
    const clock = manualClock()
    let away = true
    const { writer, batches } = testWriter({
      clock,
      on(batch) {
        if (away) throw sqlError('57P01')
        if (batch.includes(1)) throw sqlError('23514')
      },
    })
    const both = Promise.allSettled([writer.submit(1), writer.submit(2)])
    await Bun.sleep(0)
    away = false
    clock.advance(20)
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(batches).toEqual([[1, 2], [1, 2], [1], [2]])
    expect(await writer.submit(3)).toBe(6)
  })

  test('that is an answer rejects only whom it answers', async () => {
    const { writer } = testWriter({
      write: async batch => batch.map(item => (item === 1 ? new Error('no') : item)),
    })
    const results = await Promise.allSettled([1, 2].map(item => writer.submit(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

test('who waited too long gets what onLate says, is not written again, and the queue drains', async () => {
  const clock = manualClock()
  let away = true
  const { writer, batches } = testWriter({
    clock,
    onLate: async item => (item === 1 ? 100 : undefined),
    on() {
      if (away) throw sqlError('57P01')
    },
  })
  const [one, two] = [writer.submit(1), writer.submit(2)]
  await Bun.sleep(0)
  clock.advance(60_000)
  expect(await one).toBe(100)
  away = false
  await Bun.sleep(0)
  clock.advance(1_000)
  expect(await two).toBe(4)
  expect(batches.at(-1)).toEqual([2])
  await writer.drain()
  expect([writer.size(), writer.waitMs()]).toEqual([0, 0])
})

test.each<[string, (answer: PromiseWithResolvers<number[]>) => void]>([
  ['its answer', answer => answer.resolve([2])],
  ['that the data is at fault', answer => answer.reject(sqlError('22003'))],
])('who has what onLate says counts no more when the database comes with %s', async (_, end) => {
  const clock = manualClock()
  const answer = Promise.withResolvers<number[]>()
  const { writer } = testWriter({ clock, onLate: async () => 100, write: () => answer.promise })
  const late = writer.submit(1)
  await Bun.sleep(0)
  clock.advance(60_000)
  expect(await late).toBe(100)
  end(answer)
  await Bun.sleep(0)
  expect(writer.size()).toBe(0)
})
