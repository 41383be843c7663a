import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { CreditWatch } from '@/exchange/billing/credit.ts'

test('an answer for an account that was forgotten meanwhile makes no room that there is not', () => {
  const watch = new CreditWatch(manualClock())
  watch.answered(1, 0n, 10_000n)
  watch.asked(1, 1_000n)
  expect(watch.isAmple(1, 25n)).toBe(true)
  for (let other = 2; other <= 10_001; other += 1) watch.asked(other, 1n)
  expect(watch.isAmple(1, 25n)).toBe(false)
  watch.answered(1, 1_000n, 100n)
  expect([watch.isAmple(1, 25n), watch.isAmple(1, 26n)]).toEqual([true, false])
})

test('what is on its way counts against what was heard last', () => {
  const watch = new CreditWatch(manualClock())
  watch.asked(1, 10n)
  watch.asked(1, 15n)
  watch.answered(1, 10n, 100n)
  expect([watch.isAmple(1, 10n), watch.isAmple(1, 11n)]).toEqual([true, false])
  watch.answered(1, 15n, undefined)
  expect([watch.isAmple(1, 25n), watch.isAmple(1, 26n)]).toEqual([true, false])
})

test('what was heard is believed for five seconds, and no longer where the clock of the machine is set back', () => {
  const clock = manualClock()
  const watch = new CreditWatch(clock)
  expect(watch.isAmple(1, 25n)).toBe(false)
  watch.answered(1, 0n, 100n)
  clock.set(-86_400_000)
  clock.advance(4_999)
  expect(watch.isAmple(1, 25n)).toBe(true)
  clock.advance(1)
  expect(watch.isAmple(1, 25n)).toBe(false)
})

test('an account whose credit did not last waits for its holds for a minute', () => {
  const clock = manualClock()
  const watch = new CreditWatch(clock)
  watch.distrust(1)
  for (const [afterMs, isAmple] of [
    [59_999, false],
    [1, true],
  ] as const) {
    clock.advance(afterMs)
    watch.answered(1, 0n, 100n)
    expect(watch.isAmple(1, 25n)).toBe(isAmple)
  }
})
