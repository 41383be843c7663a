import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { manualClock } from '#tests/support/manual-clock.ts'
import {
  Breaker,
  MAX_FAILURE_RATE,
  MAX_RETRY_AFTER_MS,
  MAX_STREAK,
  MIN_ATTEMPTS,
  PAUSES,
  PROBE_MS,
  type Signal,
  WINDOW_MS,
} from '@/routing/health/breaker.ts'

const OK: Signal = { kind: 'ok' }
const NEUTRAL: Signal = { kind: 'neutral' }

function failure(retryAfterMs?: number): Signal {
  return { kind: 'failure', retryAfterMs, reason: 'status 500' }
}

function pause(cause: 'rate-limited' | 'refused', retryAfterMs?: number): Signal {
  return { kind: 'pause', cause, retryAfterMs, reason: 'no' }
}

/** A breaker under a clock of the test's, without jitter. */
function underTest(random = () => 0) {
  const clock = manualClock()
  const breaker = new Breaker(random)
  return {
    clock,
    breaker,
    /** An attempt that takes no time. */
    attempt: (signal: Signal) => breaker.report(breaker.begin(clock.elapsed()), signal, clock.elapsed()),
    standing: () => breaker.standing(clock.elapsed()).kind,
    pauseMs: () => {
      const standing = breaker.standing(clock.elapsed())
      return standing.kind === 'paused' ? standing.until - clock.elapsed() : 0
    },
    view: () => breaker.view(clock),
  }
}

/** Fails until it opens. */
function opened() {
  const rig = underTest()
  for (let count = 0; count < MAX_STREAK; count += 1) rig.attempt(failure())
  return rig
}

describe('opening', () => {
  test('the failures of a streak open it, and not one fewer', () => {
    const { attempt, standing } = underTest()
    for (let count = 1; count < MAX_STREAK; count += 1) expect(attempt(failure())).toBeUndefined()
    expect(standing()).toBe('ready')
    expect(attempt(failure())).toEqual({
      cause: 'failing',
      pauseMs: PAUSES.failing.firstMs,
      reason: 'status 500',
    })
    expect(standing()).toBe('paused')
  })

  test('a success ends a streak; what says nothing does not', () => {
    const { attempt, standing } = underTest()
    for (let count = 1; count < MAX_STREAK; count += 1) attempt(failure())
    attempt(OK)
    for (let count = 1; count < MAX_STREAK; count += 1) attempt(failure())
    expect(standing()).toBe('ready')
    attempt(NEUTRAL)
    attempt(failure())
    expect(standing()).toBe('paused')
  })

  test('failures between successes open it once they are its share of enough attempts', () => {
    const { attempt, standing, clock } = underTest()
    for (let count = 1; count < MIN_ATTEMPTS; count += 1) {
      attempt(count % 2 === 0 ? failure() : OK)
      clock.advance((WINDOW_MS * 0.9) / MIN_ATTEMPTS)
    }
    expect(standing()).toBe('ready')
    attempt(failure())
    expect(standing()).toBe('paused')
    expect(MAX_FAILURE_RATE).toBe(0.5)
  })

  test('failures fewer than its share never open it', () => {
    const { attempt, standing, clock } = underTest()
    for (let count = 0; count < 500; count += 1) {
      attempt(count % 3 === 0 ? failure() : OK)
      clock.advance(50)
    }
    expect(standing()).toBe('ready')
  })

  test('what is older than the window counts no more', () => {
    const { attempt, standing, clock, view } = underTest()
    for (let count = 1; count < MIN_ATTEMPTS; count += 1) attempt(count % 2 === 0 ? OK : failure())
    clock.advance(WINDOW_MS * 0.9 + 1)
    expect(view()).toMatchObject({ succeeded: 9, failed: 10 })
    clock.advance(WINDOW_MS * 0.1)
    expect(view()).toMatchObject({ succeeded: 0, failed: 0 })
    attempt(failure())
    expect(standing()).toBe('ready')
    expect(view()).toMatchObject({ succeeded: 0, failed: 1 })
  })

  test.each([
    ['rate-limited', PAUSES['rate-limited'].firstMs],
    ['refused', PAUSES.refused.firstMs],
  ] as const)('a key that is %s pauses at the first time', (cause, firstMs) => {
    const { attempt, pauseMs, view } = underTest()
    expect(attempt(pause(cause))).toEqual({ cause, pauseMs: firstMs, reason: 'no' })
    expect(pauseMs()).toBe(firstMs)
    expect(view()).toMatchObject({ state: 'open', cause, reason: 'no', succeeded: 0, failed: 0 })
  })

  test('a refused key is out for longer than one at its limit', () => {
    expect(PAUSES.refused.firstMs).toBeGreaterThanOrEqual(10 * PAUSES['rate-limited'].firstMs)
  })
})

describe('Retry-After', () => {
  test('is the least a pause takes', () => {
    const { attempt, pauseMs } = underTest()
    attempt(pause('rate-limited', 17_000))
    expect(pauseMs()).toBe(17_000)
  })

  test('of any failure of a streak counts once it opens', () => {
    const { attempt, pauseMs, clock } = underTest()
    attempt(failure(30_000))
    clock.advance(1_000)
    for (let count = 1; count < MAX_STREAK; count += 1) attempt(failure())
    expect(pauseMs()).toBe(29_000)
  })

  test('is shortened to what anybody would wait for', () => {
    const { attempt, pauseMs } = underTest()
    attempt(pause('rate-limited', 10 * MAX_RETRY_AFTER_MS))
    expect(pauseMs()).toBe(MAX_RETRY_AFTER_MS)
  })

  test('is never undercut by jitter', () => {
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(unit, fc.integer({ min: 0, max: MAX_RETRY_AFTER_MS }), (random, retryAfterMs) => {
        const { attempt, pauseMs } = underTest(() => random)
        attempt(pause('rate-limited', retryAfterMs))
        return pauseMs() >= Math.max(retryAfterMs, PAUSES['rate-limited'].firstMs)
      }),
    )
  })

  test('of an attempt that was under way at the opening lengthens the pause', () => {
    const { breaker, attempt, clock, pauseMs } = underTest()
    const early = breaker.begin(clock.elapsed())
    clock.advance(1)
    attempt(pause('rate-limited', 2_000))
    expect(breaker.report(early, pause('rate-limited', 9_000), clock.elapsed())).toMatchObject({
      pauseMs: 9_000,
    })
    expect(pauseMs()).toBe(9_000)
    breaker.report(early, pause('rate-limited', 3_000), clock.elapsed())
    expect(pauseMs()).toBe(9_000)
  })
})

describe('half-open', () => {
  test('lets one probe through at a time', () => {
    const { breaker, clock, standing } = opened()
    clock.advance(PAUSES.failing.firstMs)
    expect(standing()).toBe('probe')
    expect(breaker.begin(clock.elapsed()).isProbe).toBe(true)
    expect(standing()).toBe('paused')
    expect(breaker.begin(clock.elapsed()).isProbe).toBe(false)
  })

  test('who asks while a probe is under way may ask again in a second, or when it is lost', () => {
    const { breaker, clock, pauseMs, view } = opened()
    clock.advance(PAUSES.failing.firstMs)
    breaker.begin(clock.elapsed())
    expect(pauseMs()).toBe(1_000)
    clock.advance(PROBE_MS - 400)
    expect(pauseMs()).toBe(400)
    expect(view().state).toBe('half-open')
  })

  test('a probe that succeeds closes it, and forgets', () => {
    const { attempt, clock, standing, view } = opened()
    clock.advance(PAUSES.failing.firstMs)
    attempt(OK)
    expect(standing()).toBe('ready')
    expect(view()).toEqual({
      state: 'closed',
      cause: undefined,
      reason: undefined,
      until: undefined,
      succeeded: 0,
      failed: 0,
    })
  })

  test('a probe that says nothing lets the next one go', () => {
    const { attempt, clock, standing } = opened()
    clock.advance(PAUSES.failing.firstMs)
    attempt(NEUTRAL)
    expect(standing()).toBe('probe')
  })

  test('a probe that never tells is given up', () => {
    const { breaker, clock, standing } = opened()
    clock.advance(PAUSES.failing.firstMs)
    breaker.begin(clock.elapsed())
    clock.advance(PROBE_MS - 1)
    expect(standing()).toBe('paused')
    clock.advance(1)
    expect(standing()).toBe('probe')
  })

  test('a probe that is under way when it opens anew does not put the next one off', () => {
    const { breaker, attempt, clock, standing } = opened()
    clock.advance(PAUSES.failing.firstMs)
    breaker.begin(clock.elapsed())
    attempt(pause('rate-limited'))
    clock.advance(PAUSES['rate-limited'].firstMs)
    expect(standing()).toBe('probe')
  })

  test('pauses grow while probes fail, up to a bound', () => {
    const { attempt, clock, pauseMs } = opened()
    const pauses = [pauseMs()]
    for (let count = 0; count < 8; count += 1) {
      clock.advance(pauseMs())
      attempt(failure())
      pauses.push(pauseMs())
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000, 60_000, 60_000])
  })

  test('an upstream that fails again soon after a recovery pauses longer, later it begins anew', () => {
    const { attempt, clock, pauseMs } = opened()
    const recoverAndFail = (afterMs: number) => {
      clock.advance(pauseMs())
      attempt(OK)
      clock.advance(afterMs)
      for (let count = 0; count < MAX_STREAK; count += 1) attempt(failure())
      return pauseMs()
    }
    expect(recoverAndFail(1_000)).toBe(10_000)
    expect(recoverAndFail(PAUSES.failing.memoryMs)).toBe(5_000)
  })

  test('a key that lives at its limit is not punished for it', () => {
    const { attempt, clock, pauseMs } = underTest()
    for (let count = 0; count < 10; count += 1) {
      attempt(pause('rate-limited'))
      expect(pauseMs()).toBe(1_000)
      clock.advance(1_000)
      attempt(OK)
    }
  })
})

describe('attempts that were under way when it opened', () => {
  test('do not close it', () => {
    const { breaker, clock, attempt, standing } = underTest()
    const early = breaker.begin(clock.elapsed())
    clock.advance(10)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(failure())
    breaker.report(early, OK, clock.elapsed())
    expect(standing()).toBe('paused')
  })

  test('open it once, however many fail', () => {
    const { breaker, clock, pauseMs } = underTest()
    const tickets = Array.from({ length: 100 }, () => breaker.begin(clock.elapsed()))
    clock.advance(10)
    const told = tickets.map(ticket => breaker.report(ticket, failure(), clock.elapsed()))
    expect(told.filter(opening => opening !== undefined)).toHaveLength(1)
    expect(pauseMs()).toBe(PAUSES.failing.firstMs)
  })

  test('and the same for a limit', () => {
    const { breaker, clock, pauseMs } = underTest()
    const tickets = Array.from({ length: 100 }, () => breaker.begin(clock.elapsed()))
    clock.advance(10)
    const told = tickets.map(ticket => breaker.report(ticket, pause('rate-limited'), clock.elapsed()))
    expect(told.filter(opening => opening !== undefined)).toHaveLength(1)
    expect(pauseMs()).toBe(PAUSES['rate-limited'].firstMs)
  })
})

test('a last resort that succeeds closes it, one that fails changes nothing', () => {
  const { attempt, clock, pauseMs, standing } = opened()
  clock.advance(1_000)
  attempt(failure())
  expect(pauseMs()).toBe(4_000)
  attempt(OK)
  expect(standing()).toBe('ready')
})

test('a recovery ends a streak, and with it what the streak asked to wait for', () => {
  const { attempt, clock, pauseMs, standing } = underTest()
  const fail = (times: number) => {
    for (let count = 0; count < times; count += 1) attempt(failure())
  }
  attempt(failure(30_000))
  attempt(OK)
  fail(MAX_STREAK)
  expect(pauseMs()).toBe(5_000)
  attempt(failure(30_000))
  clock.advance(1)
  attempt(OK)
  fail(MAX_STREAK - 1)
  expect(standing()).toBe('ready')
  fail(1)
  expect(pauseMs()).toBe(10_000)
})

describe('an opening that another process saw', () => {
  test('is not ended by what began before it', () => {
    const { breaker, clock, standing } = underTest()
    const early = breaker.begin(clock.elapsed())
    clock.advance(1)
    breaker.openFor({ cause: 'failing', pauseMs: 8_000, reason: 'no' }, clock.elapsed())
    breaker.report(early, OK, clock.elapsed())
    expect(standing()).toBe('paused')
  })

  test('opens it here, ends here, and never shortens', () => {
    const { breaker, clock, pauseMs, standing } = underTest()
    breaker.openFor({ cause: 'refused', pauseMs: 8_000, reason: 'no' }, clock.elapsed())
    breaker.openFor({ cause: 'rate-limited', pauseMs: 1_000, reason: 'no' }, clock.elapsed())
    expect(pauseMs()).toBe(8_000)
    clock.advance(8_000)
    expect(standing()).toBe('probe')
  })

  test('cannot hold it open for ever', () => {
    const { breaker, clock, pauseMs } = underTest()
    breaker.openFor({ cause: 'refused', pauseMs: Number.MAX_SAFE_INTEGER, reason: 'no' }, clock.elapsed())
    expect(pauseMs()).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS * 1.2)
  })
})

test('whatever happens, it opens to a probe again, and one success closes it', () => {
  const signal = fc.oneof(
    fc.constant(OK),
    fc.constant(NEUTRAL),
    fc.integer({ min: 0, max: 100_000 }).map(failure),
    fc.integer({ min: 0, max: 100_000 }).map(ms => pause('rate-limited', ms)),
    fc.integer({ min: 0, max: 100_000 }).map(ms => pause('refused', ms)),
  )
  const steps = fc.array(fc.tuple(signal, fc.integer({ min: 0, max: 20_000 }), fc.boolean()), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, told => {
      const { breaker, clock, attempt, standing } = underTest()
      for (const [given, ms, isLost] of told) {
        if (isLost) breaker.begin(clock.elapsed())
        else attempt(given)
        clock.advance(ms)
      }
      clock.advance(2 * MAX_RETRY_AFTER_MS)
      expect(standing()).not.toBe('paused')
      attempt(OK)
      expect(standing()).toBe('ready')
    }),
  )
})
