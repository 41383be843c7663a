import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { Recording } from '@/exchange/idempotency/recording.ts'
import type { RunEnd, RunStore, StoredChunk } from '@/exchange/idempotency/store.ts'
import { createLog } from '@/telemetry/log.ts'

/** A recording over a database that answers when it is told to. */
function setUp() {
  const clock = manualClock()
  const appends: { chunk: StoredChunk; answer: PromiseWithResolvers<void> }[] = []
  const ends: RunEnd[] = []
  const tries = { refused: 0 }
  const store: Partial<RunStore> = {
    begin: async () => {
      throw new Error('the database is away')
    },
    append(_, chunk) {
      const answer = Promise.withResolvers<void>()
      appends.push({ chunk, answer })
      return answer.promise
    },
    async end(_, end) {
      if (tries.refused > 0) {
        tries.refused -= 1
        throw new Error('the database is away')
      }
      ends.push(end)
    },
  }
  const log = createLog({ level: 'silent', format: 'json' })
  const recording = new Recording({ id: 'run', store: store as RunStore, box, clock, log })
  return { clock, appends, ends, tries, recording }
}

/** Lets everything happen that is to happen by itself. */
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Enough to be written by itself. */
const STRETCH = Buffer.alloc(64 * 1024, 'a')
const END = { complete: true, ending: 'closed' } as const

test('the end of an answer is written behind all of it, however slowly that is written', async () => {
  const { appends, ends, recording } = setUp()
  recording.add(STRETCH)
  recording.add(STRETCH)
  const ended = recording.end(END)
  appends[0]?.answer.resolve()
  await until(() => appends.length === 2)
  await turn()
  expect(ends).toEqual([])
  appends[1]?.answer.resolve()
  await ended
  expect(appends.map(({ chunk }) => chunk.seq)).toEqual([0, 1])
  expect(ends).toMatchObject([{ state: 'complete', last: { seq: 2, ending: 'closed' } }])
})

test('what has gathered is the end of an answer, beside which no stretch is written', async () => {
  const { clock, appends, ends, recording } = setUp()
  recording.add(Buffer.from('said'))
  const ended = recording.end(END)
  clock.advance(1000)
  await ended
  expect(appends).toEqual([])
  expect(ends.map(({ last }) => last && box.open(last.content))).toEqual(['said'])
})

test('an answer of which more than a megabyte waits flows no faster than it is written', async () => {
  const { appends, recording } = setUp()
  const add = () => recording.add(STRETCH)
  for (let stretches = 0; stretches <= 16; stretches += 1) expect(add()).toBeUndefined()
  const written = add()
  expect(written).toBeInstanceOf(Promise)
  appends[0]?.answer.resolve()
  await written
  expect(appends.map(({ chunk }) => box.openBytes(chunk.content).length / STRETCH.length)).toEqual([1, 17])
  expect(add()).toBeUndefined()
})

test('what has gathered in half a second is written, for those who read along', () => {
  const { clock, appends, recording } = setUp()
  recording.add(Buffer.from('sa'))
  clock.advance(499)
  recording.add(Buffer.from('id'))
  expect(appends).toEqual([])
  clock.advance(1)
  expect(appends.map(({ chunk }) => box.open(chunk.content))).toEqual(['said'])
})

test('so is what gathers after that', async () => {
  const { clock, appends, recording } = setUp()
  for (const word of ['this', 'that']) {
    recording.add(Buffer.from(word))
    clock.advance(500)
    appends.at(-1)?.answer.resolve()
    await turn()
  }
  expect(appends.map(({ chunk }) => box.open(chunk.content))).toEqual(['this', 'that'])
})

test.each([0, 1])('an answer whose stretch %p could not be written is not given again', async failing => {
  const { appends, ends, recording } = setUp()
  recording.add(STRETCH)
  recording.add(STRETCH)
  const ended = recording.end(END)
  for (let index = 0; index <= failing; index += 1) {
    await until(() => appends.length > index)
    if (index === failing) appends[index]?.answer.reject(new Error('the database is away'))
    else appends[index]?.answer.resolve()
  }
  await ended
  expect(ends).toEqual([{ state: 'unkept', head: undefined, last: undefined }])
})

test.each(['a stretch of it could not be written', 'it is too large'])(
  'the end of an answer that failed is told to nobody who reads along where %s: they would take the rest for all of it',
  async why => {
    const { appends, ends, recording } = setUp()
    recording.add(STRETCH)
    if (why === 'it is too large') recording.add(Buffer.alloc(16 * 1024 * 1024))
    const ended = recording.end({ complete: false, ending: 'closed' })
    if (why === 'it is too large') appends[0]?.answer.resolve()
    else appends[0]?.answer.reject(new Error('the database is away'))
    await ended
    expect(ends).toEqual([{ state: 'failed', head: undefined, last: undefined }])
  },
)

test('an answer whose head could not be written is not given again', async () => {
  const { ends, recording } = setUp()
  await recording.begin({ status: 200, headers: {} })
  recording.add(Buffer.from('said'))
  await recording.end(END)
  expect(ends).toEqual([{ state: 'unkept', head: undefined, last: undefined }])
})

test('the end is written once a second until the database takes it; its caller waits two', async () => {
  const { clock, ends, tries, recording } = setUp()
  tries.refused = 5
  let hasEnded = false
  const ended = recording.end(END).then(result => {
    hasEnded = true
    return result
  })
  await until(() => tries.refused === 4)
  clock.advance(1000)
  await until(() => tries.refused === 3)
  expect(hasEnded).toBe(false)
  clock.advance(1000)
  const { kept } = await ended
  for (const left of [2, 1, 0]) {
    await until(() => tries.refused === left)
    expect(ends).toEqual([])
    clock.advance(1000)
  }
  await kept
  expect(ends).toMatchObject([{ state: 'complete' }])
})

test('the end is given up after a minute, and whoever waits for it with it', async () => {
  const { clock, ends, tries, recording } = setUp()
  tries.refused = 1000
  const ended = recording.end(END)
  for (let second = 1; second < 60; second += 1) {
    await until(() => tries.refused === 1000 - second)
    // The try that failed has asked for the next one by then.
    await turn()
    clock.advance(1000)
  }
  const { kept } = await ended
  await kept
  expect([ends, tries.refused]).toEqual([[], 940])
})
