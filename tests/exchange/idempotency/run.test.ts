import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { IdempotentRun, LINGER_MS } from '@/exchange/idempotency/run.ts'
import type { RunEnd, RunStore } from '@/exchange/idempotency/store.ts'
import { openRecord } from '@/exchange/record.ts'
import { createLog } from '@/telemetry/log.ts'

function setUp() {
  const clock = manualClock()
  const ends: RunEnd[] = []
  const store: Pick<RunStore, 'begin' | 'append' | 'end'> = {
    begin: async () => undefined,
    append: async () => undefined,
    end: async (_, end) => {
      ends.push(end)
    },
  }
  const run = new IdempotentRun({
    id: 'run',
    store: store as RunStore,
    box,
    clock,
    log: createLog({ level: 'silent', format: 'json' }, { write: () => undefined }),
    onEnd: () => undefined,
  })
  return { clock, ends, run }
}

test('goes on for ten minutes after its caller left, and no longer', async () => {
  const { clock, ends, run } = setUp()
  run.leave()
  clock.advance(LINGER_MS - 1)
  expect([run.isLingering, run.signal.aborted]).toEqual([true, false])
  clock.advance(1)
  expect(run.signal.reason).toMatchObject({ kind: 'client_closed' })
  await run.fail()
  expect(run.isLingering).toBe(false)
  expect(ends).toMatchObject([{ state: 'failed' }])
})

test('goes on for as long as it takes while its caller is there', () => {
  const { clock, run } = setUp()
  clock.advance(10 * LINGER_MS)
  expect(run.signal.aborted).toBe(false)
})

test('an answer that begins to flow after its caller left is fetched and kept all the same', async () => {
  const { clock, ends, run } = setUp()
  const record = openRecord('run', 'chat', clock)
  record.streamed = true
  run.observe(record)
  run.leave()
  await run.answer(new Response('said'))
  record.endState = 'complete'
  for (const release of record.releases) release()
  await until(() => ends.length > 0)
  expect(ends).toMatchObject([{ state: 'complete', last: { ending: 'closed' } }])
  expect(run.isLingering).toBe(false)
})

test('an answer that is too large to be kept is fetched no further for a caller who left', async () => {
  const { clock, ends, run } = setUp()
  const record = openRecord('run', 'chat', clock)
  record.streamed = true
  run.observe(record)
  let megabytes = 0
  const body = new ReadableStream<Uint8Array>({
    start: controller =>
      run.signal.addEventListener('abort', () => controller.error(run.signal.reason), { once: true }),
    pull(controller) {
      megabytes += 1
      controller.enqueue(new Uint8Array(2 ** 20))
      if (megabytes === 50) controller.close()
    },
  })
  run.leave()
  await run.answer(new Response(body))
  await until(() => ends.length > 0)
  expect(megabytes).toBeWithin(17, 20)
  expect(ends).toMatchObject([{ state: 'failed' }])
})

test('an answer whose exchange does not say in time how it ended is not given again', async () => {
  const { clock, ends, run } = setUp()
  const record = openRecord('run', 'chat', clock)
  record.streamed = true
  record.endState = 'complete'
  run.observe(record)
  const read = (await run.answer(new Response('said'))).text()
  await until(() => {
    clock.advance(1000)
    return ends.length > 0
  })
  expect([await read, ends.map(({ state }) => state)]).toEqual(['said', ['failed']])
})

test('how limits stood, and when that was, is no part of the answer that is given again', async () => {
  const { ends, run } = setUp()
  const told = {
    'x-ratelimit-remaining-requests': '5',
    'anthropic-ratelimit-tokens-limit': '9',
    'retry-after': '1',
  }
  await run.answer(new Response('said', { headers: { ...told, date: 'now', 'x-request-id': 'one' } }))
  expect(ends[0]?.head?.headers).toEqual({ 'x-request-id': 'one' })
})

test.each(['before', 'after'])(
  'of two exchanges that follow one another the last is what counts, whether the first is over %s it begins',
  async when => {
    const { clock, ends, run } = setUp()
    expect(run.exchangeId()).toBe('run')
    const [first, last] = ['run', 'other'].map(id => openRecord(id, 'chat', clock))
    if (first === undefined || last === undefined) throw new Error('there are two')
    const end = (record: typeof first) => {
      for (const release of record.releases) release()
    }
    run.observe(first)
    expect(run.exchangeId()).toBeUndefined()
    if (when === 'before') end(first)
    run.observe(last)
    if (when === 'after') end(first)
    const answer = await run.answer(new Response('said'))
    expect(await answer.body?.getReader().read()).toMatchObject({ done: false })
    expect(ends).toEqual([])
    last.endState = 'complete'
    end(last)
    run.leave()
    await until(() => ends.length > 0)
    expect(ends).toMatchObject([{ state: 'complete' }])
  },
)
