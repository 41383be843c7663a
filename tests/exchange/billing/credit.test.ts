import { expect, test } from 'bun:test'
import { CreditWatch } from '@/exchange/billing/credit.ts'

test('an answer for an account that was forgotten meanwhile makes no room that there is not', () => {
  const watch = new CreditWatch(() => 0)
  watch.asked(1, 1_000n)
  for (let other = 2; other <= 10_001; other += 1) watch.asked(other, 1n)
  watch.answered(1, 1_000n, 100n)
  expect([watch.isAmple(1, 25n), watch.isAmple(1, 26n)]).toEqual([true, false])
})

test('what is on its way counts against what was heard last', () => {
  const watch = new CreditWatch(() => 0)
  watch.asked(1, 10n)
  watch.answered(1, 10n, 100n)
  watch.asked(1, 15n)
  expect([watch.isAmple(1, 10n), watch.isAmple(1, 11n)]).toEqual([true, false])
  watch.answered(1, 15n, undefined)
  expect([watch.isAmple(1, 25n), watch.isAmple(1, 26n)]).toEqual([true, false])
})
