import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import type { Clock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'

test('a task is done once, never early and at most a tenth of a second late', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(clock)
  const late: number[] = []
  deadlines.after(60_000, () => {})
  for (const [offset, ms] of [
    [0, 1_000],
    [37, 1_000],
    [99, 5],
    [1, 0],
  ] as const) {
    clock.advance(offset)
    const dueAt = clock.now() + ms
    deadlines.after(ms, () => late.push(clock.now() - dueAt))
  }
  clock.advance(10_000)
  expect(late).toHaveLength(4)
  for (const ms of late) expect(ms).toBeWithin(0, 101)
})

test('what is cancelled is not done, not even by a task of the same tick', () => {
  const clock = manualClock()
  const deadlines = new Deadlines(clock)
  const done: string[] = []
  const cancelled = deadlines.after(200, () => done.push('cancelled'))
  deadlines.after(100, () => {
    done.push('first')
    deadlines.cancel(second)
  })
  const second = deadlines.after(100, () => done.push('second'))
  deadlines.cancel(cancelled)
  clock.advance(1_000)
  expect(done).toEqual(['first'])
})

test('time is looked at only while something waits', () => {
  const clock = manualClock()
  let ticking = 0
  const counting: Clock = {
    ...clock,
    every(ms, task) {
      ticking += 1
      const stop = clock.every(ms, task)
      return () => {
        ticking -= 1
        stop()
      }
    },
  }
  const deadlines = new Deadlines(counting)
  expect(ticking).toBe(0)
  const first = deadlines.after(1_000, () => {})
  deadlines.after(2_000, () => {})
  expect(ticking).toBe(1)
  deadlines.cancel(first)
  clock.advance(3_000)
  expect(ticking).toBe(0)
  const done: boolean[] = []
  deadlines.after(100, () => done.push(true))
  clock.advance(200)
  expect([done, ticking]).toEqual([[true], 0])
})

test.each([3_600_000, -3_600_000])('a clock that is set by %d ms changes nothing', ms => {
  const clock = manualClock()
  const deadlines = new Deadlines(clock)
  const done: boolean[] = []
  deadlines.after(1_000, () => done.push(true))
  clock.advance(500)
  clock.set(ms)
  clock.advance(400)
  expect(done).toEqual([])
  clock.advance(200)
  expect(done).toEqual([true])
})
