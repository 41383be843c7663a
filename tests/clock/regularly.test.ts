import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { regularly, untilEnded } from '@/clock/regularly.ts'

/** Lets go on what waits for nothing but its turn. */
const settled = () => new Promise(resolve => setImmediate(resolve))

test('what lasts longer than its pause is not begun again meanwhile, and goes on afterwards', async () => {
  const clock = manualClock()
  const runs: PromiseWithResolvers<void>[] = []
  const act = () => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  }
  const stop = regularly(1_000, act, { clock, onFailure: () => {} })
  expect(runs).toHaveLength(0)
  clock.advance(3_000)
  expect(runs).toHaveLength(1)
  runs[0]?.resolve()
  await settled()
  clock.advance(1_000)
  expect(runs).toHaveLength(2)
  stop()
  runs[1]?.resolve()
  await settled()
  clock.advance(5_000)
  expect(runs).toHaveLength(2)
})

test('what fails is told each time, and done again', async () => {
  const clock = manualClock()
  const failures: unknown[] = []
  const act = async () => {
    throw new Error('not now')
  }
  const stop = regularly(1_000, act, { clock, onFailure: error => failures.push(error) })
  for (let round = 0; round < 3; round += 1) {
    clock.advance(1_000)
    await settled()
  }
  stop()
  expect(failures.map(String)).toEqual(Array(3).fill('Error: not now'))
})

test('what is to be ended is begun at once, one at a time, told that it ends, and waited for', async () => {
  const clock = manualClock()
  const runs: { signal: AbortSignal; end: () => void }[] = []
  const act = (signal: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    runs.push({ signal, end: resolve })
    return promise
  }
  const stop = untilEnded(1_000, act, { clock, onFailure: () => {} })
  clock.advance(3_000)
  expect(runs).toHaveLength(1)
  runs[0]?.end()
  await settled()
  clock.advance(1_000)
  expect(runs.map(({ signal }) => signal.aborted)).toEqual([false, false])
  let isOver = false
  const over = stop().then(() => {
    isOver = true
  })
  expect(runs[1]?.signal.aborted).toBe(true)
  await settled()
  expect(isOver).toBe(false)
  runs[1]?.end()
  await over
  clock.advance(5_000)
  expect(runs).toHaveLength(2)
})
