import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { Silence } from '@/clock/silence.ts'

const DEAD_AFTER_MS = 10_000

test.each<[string, (silence: Silence) => void, boolean]>([
  ['the database was reached in time', silence => silence.reached(2_000), true],
  ['its clock was set back', silence => silence.reached(-3_600_000), true],
  ['its answer was late by less than matters', silence => silence.reached(DEAD_AFTER_MS / 2), true],
  ['its clock was set forward', silence => silence.reached(3_600_000), false],
  ['it was not reached', silence => silence.missed(), false],
])(
  'after %s, others are dead by their silence only once they had the time to be heard, if they may not have had it',
  (_, happens, counts) => {
    const clock = manualClock()
    const silence = new Silence(clock, DEAD_AFTER_MS)
    silence.reached(0)
    expect(silence.counts).toBe(true)
    happens(silence)
    expect(silence.counts).toBe(counts)
    clock.advance(DEAD_AFTER_MS - 1)
    expect(silence.counts).toBe(counts)
    clock.advance(1)
    expect(silence.counts).toBe(true)
  },
)
