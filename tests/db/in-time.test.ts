import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { inTime, Late } from '@/db/in-time.ts'

test('gives what came in time, and what failed in time as it failed', async () => {
  const clock = manualClock()
  expect(await inTime(Promise.resolve(7), clock)).toBe(7)
  const failed = inTime(Promise.reject(new Error('its own')), clock)
  await expect(failed).rejects.toThrow('its own')
})

test('gives up on what does not come, and not a moment sooner', async () => {
  const clock = manualClock()
  const slow = Promise.withResolvers<number>()
  const first = inTime(slow.promise, clock)
  const second = inTime(new Promise<number>(() => {}), clock)
  clock.advance(1_999)
  slow.resolve(7)
  expect(await first).toBe(7)
  clock.advance(1)
  await expect(second).rejects.toBeInstanceOf(Late)
})
