import { expect, test } from 'bun:test'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { Silence } from '@/clock/silence.ts'

const DEAD_AFTER_MS = 10_000
const STEP_MS = 2_000

/** Reaches the database every so often for so long; `aheadMs`: of its clock. */
function pass(clock: ManualClock, silence: Silence, ms: number, aheadMs = 0): void {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    clock.advance(STEP_MS)
    silence.reached(clock.elapsed() + aheadMs)
  }
}

test('what was before a process began says nothing: others may not have had the time to be heard', () => {
  const clock = manualClock()
  const silence = new Silence(clock, DEAD_AFTER_MS)
  pass(clock, silence, DEAD_AFTER_MS - STEP_MS)
  expect(silence.counts).toBe(false)
  pass(clock, silence, STEP_MS)
  expect(silence.counts).toBe(true)
})

test.each<[string, (silence: Silence, clock: ManualClock) => number | undefined, boolean]>([
  ['the database was reached in time', () => 0, true],
  ['its clock was set back', () => -3_600_000, true],
  ['its answer was late by less than matters', () => DEAD_AFTER_MS / 2, true],
  ['its clock was set forward', () => 3_600_000, false],
  ['its clock was set forward by as long as the dead are silent', () => DEAD_AFTER_MS, false],
  ['it was not reached', silence => void silence.missed(), false],
  [
    'it was reached after half as long',
    (_, clock) => {
      clock.advance(DEAD_AFTER_MS / 2)
      return 0
    },
    true,
  ],
  ['it said nothing for long', (_, clock) => void clock.advance(DEAD_AFTER_MS), false],
])(
  'after %s, others are dead by their silence only once they had the time to be heard, if they may not have had it',
  (_, happens, counts) => {
    const clock = manualClock()
    const silence = new Silence(clock, DEAD_AFTER_MS)
    pass(clock, silence, DEAD_AFTER_MS)
    expect(silence.counts).toBe(true)
    const aheadMs = happens(silence, clock)
    if (aheadMs !== undefined) silence.reached(clock.elapsed() + aheadMs)
    expect(silence.counts).toBe(counts)
    pass(clock, silence, DEAD_AFTER_MS - STEP_MS, aheadMs)
    expect(silence.counts).toBe(counts)
    pass(clock, silence, 2 * STEP_MS, aheadMs)
    expect(silence.counts).toBe(true)
  },
)

test('until when silence says something is what the time was by the clock of the database, and what passed since', () => {
  const clock = manualClock()
  const silence = new Silence(clock, DEAD_AFTER_MS)
  const ahead = 3_600_000
  pass(clock, silence, DEAD_AFTER_MS - STEP_MS, ahead)
  expect(silence.knownTo).toBe(Number.NEGATIVE_INFINITY)
  pass(clock, silence, STEP_MS, ahead)
  expect(silence.knownTo).toBe(clock.elapsed() + ahead)
  clock.advance(1)
  expect(silence.knownTo).toBe(clock.elapsed() + ahead)
  silence.missed()
  expect(silence.knownTo).toBe(Number.NEGATIVE_INFINITY)
})
