import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { pause, within } from '@/clock/wait.ts'

test('what comes in time is given, what fails in time fails as it did, and no timer is left', async () => {
  let timers = 0
  const clock = {
    after() {
      timers += 1
      return () => {
        timers -= 1
      }
    },
  }
  expect(await within(1_000, Promise.resolve(7), clock)).toBe(7)
  await expect(within(1_000, Promise.reject(new Error('its own')), clock)).rejects.toThrow('its own')
  expect(timers).toBe(0)
})

test('what takes longer is nothing, and what it comes to later disturbs nobody', async () => {
  const clock = manualClock()
  const slow = Promise.withResolvers<number>()
  const waited = within(1_000, slow.promise, clock)
  clock.advance(1_000)
  expect(await waited).toBeUndefined()
  slow.reject(new Error('nobody waits for it any more'))
})

test('a pause is as long as it says, and none is none', async () => {
  const clock = manualClock()
  await pause(0, clock)
  let isOver = false
  const paused = pause(500, clock).then(() => {
    isOver = true
  })
  clock.advance(499)
  await Promise.resolve()
  expect(isOver).toBe(false)
  clock.advance(1)
  await paused
})
