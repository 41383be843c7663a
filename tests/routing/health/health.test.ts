import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { type Blamed, type ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import { MAX_STREAK, PAUSES } from '@/routing/health/breaker.ts'
import { Health, type HealthTicket } from '@/routing/health/health.ts'
import { type Outcome, outcomeOf } from '@/routing/health/outcome.ts'
import type { BreakerOpening } from '@/routing/health/sharing.ts'
import type { Channel } from '@/upstream/channel.ts'
import { inProcessSharing } from './in-process-sharing.ts'

const MODEL = 'model'
const FAILED: Outcome = { kind: 'upstream_error', retryAfterMs: undefined, reason: 'status 500' }
const REFUSED: Outcome = { kind: 'upstream_auth', retryAfterMs: undefined, reason: 'status 401' }
const LIMITED: Outcome = { kind: 'upstream_rate_limited', retryAfterMs: 2_000, reason: 'status 429' }

function underTest(options: { sharing?: ReturnType<ReturnType<typeof inProcessSharing>['join']> } = {}) {
  const clock = manualClock()
  const openings: BreakerOpening[] = []
  const health = new Health({ clock, random: () => 0, onOpening: told => openings.push(told), ...options })
  return {
    clock,
    health,
    openings,
    attempt: (channel: Channel, position: number, outcome: Outcome, firstByteMs?: number, model = MODEL) =>
      health.beginAnyway(channel, channel.keys[position], model).report(outcome, firstByteMs),
    standing: (channel: Channel, position = 0, model = MODEL) =>
      health.standing(channel, channel.keys[position], model).kind,
  }
}

describe('whose fault it is', () => {
  test.each([
    ['a key that was refused', REFUSED, PAUSES.refused.firstMs],
    ['a key at its limit', LIMITED, 2_000],
  ])('%s leaves the channel and its other keys alone', (_, outcome, pauseMs) => {
    const { attempt, standing, clock } = underTest()
    const channel = channelOf(1, {}, 2)
    attempt(channel, 0, outcome)
    expect([standing(channel, 0), standing(channel, 1)]).toEqual(['paused', 'ready'])
    clock.advance(pauseMs)
    expect(standing(channel, 0)).toBe('probe')
  })

  test('a failing upstream is paused with all its keys', () => {
    const { attempt, standing } = underTest()
    const channel = channelOf(1, {}, 3)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channel, count % 2, FAILED)
    expect(standing(channel, 2)).toBe('paused')
  })

  test('a key that is out for longer than its channel waits for itself', () => {
    const { attempt, health, standing, clock } = underTest()
    const channel = channelOf(1, {}, 2)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channel, 1, FAILED)
    attempt(channel, 0, REFUSED)
    const untilOf = (position: number) => {
      const standing = health.standing(channel, channel.keys[position], 'model')
      return standing.kind === 'paused' ? standing.until : 0
    }
    expect(untilOf(0)).toBeGreaterThan(untilOf(1))
    clock.advance(untilOf(1) - clock.elapsed())
    expect([standing(channel, 0), standing(channel, 1)]).toEqual(['paused', 'probe'])
  })

  test('a key that is out for less than its channel waits for that', () => {
    const { attempt, health, standing, clock } = underTest()
    const channel = channelOf(1)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channelOf(1, {}, 2), 1, FAILED)
    attempt(channel, 0, LIMITED)
    const until = clock.elapsed() + PAUSES.failing.firstMs
    expect(health.standing(channel, channel.keys[0], MODEL)).toEqual({ kind: 'paused', until })
    clock.advance(2_000)
    expect(standing(channel)).toBe('paused')
    clock.advance(PAUSES.failing.firstMs)
    expect(standing(channel)).toBe('probe')
  })

  test('what began before channel and key were paused does not end that', () => {
    const { attempt, health, standing, clock } = underTest()
    const channel = channelOf(1)
    const early = health.begin(channel, channel.keys[0], MODEL)
    clock.advance(1)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channel, 0, FAILED)
    early?.report({ kind: 'ok' })
    expect(standing(channel)).toBe('paused')
  })

  test('one bad key of a pool goes, and the channel stays', () => {
    const { attempt, standing } = underTest()
    const channel = channelOf(1, {}, 4)
    for (let count = 0; count < 40; count += 1)
      attempt(channel, count % 4, count % 4 === 0 ? FAILED : { kind: 'ok' })
    expect([0, 1, 2, 3].map(position => standing(channel, position))).toEqual([
      'paused',
      'ready',
      'ready',
      'ready',
    ])
  })

  test('channels do not answer for each other', () => {
    const { attempt, standing } = underTest()
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channelOf(1), 0, FAILED)
    expect([standing(channelOf(1)), standing(channelOf(2))]).toEqual(['paused', 'ready'])
  })

  test('an upstream that wants no key can be at its limit, too', () => {
    const { attempt, health, standing } = underTest()
    const channel = channelOf(1, {}, 0)
    attempt(channel, 0, LIMITED)
    health.retain([channel])
    expect([standing(channel), standing(channelOf(2, {}, 0))]).toEqual(['paused', 'ready'])
    expect(health.state([channel])[0]?.keys).toMatchObject([
      { keyId: undefined, position: 0, pausedModels: [{ model: MODEL, breaker: { state: 'open' } }] },
    ])
  })

  test('a key and a channel that wants none are two, also where their ids are the same number', () => {
    const { attempt, standing } = underTest()
    const [keyed, keyless] = [channelOf(1), channelOf(100, {}, 0)]
    expect(keyed.keys[0]?.id).toBe(keyless.id)
    attempt(keyless, 0, LIMITED)
    expect([standing(keyed), standing(keyless)]).toEqual(['ready', 'paused'])
  })

  test.each<[ErrorKind, Outcome['kind']]>([
    ['upstream_error', 'upstream_error'],
    ['upstream_timeout', 'upstream_timeout'],
    ['upstream_rate_limited', 'upstream_rate_limited'],
    ['upstream_auth', 'upstream_auth'],
    ['upstream_rejected', 'ignored'],
    ['client_closed', 'ignored'],
    ['internal_error', 'ignored'],
    ['unsupported_parameter', 'ignored'],
  ])('%s counts as %s', (kind, outcome) => {
    const told = outcome === 'ignored' ? {} : { retryAfterMs: 7, reason: 'no' }
    const error = new GatewayError(kind, 'no', { retryAfterMs: 7 })
    expect(outcomeOf(error)).toMatchObject({ kind: outcome, ...told })
  })

  test.each<[ErrorKind, Blamed, Outcome['kind']]>([
    ['upstream_auth', 'model', 'model_refused'],
    ['upstream_rejected', 'model', 'model_refused'],
    ['upstream_rate_limited', 'key', 'upstream_auth'],
  ])('%s that blames the %s counts as %s', (kind, blames, outcome) => {
    const error = new GatewayError(kind, 'no', { blames, retryAfterMs: 7 })
    expect(outcomeOf(error)).toMatchObject({ kind: outcome, retryAfterMs: 7, reason: 'no' })
  })
})

describe('a key at its limit for one model', () => {
  test('serves every other, and what they answer ends no pause', () => {
    const { attempt, standing, health, clock } = underTest()
    const channel = channelOf(1)
    attempt(channel, 0, LIMITED)
    attempt(channel, 0, { kind: 'ok' }, undefined, 'other')
    expect([standing(channel), standing(channel, 0, 'other')]).toEqual(['paused', 'ready'])
    expect(health.state([channel])[0]?.keys[0]).toMatchObject({
      breaker: { state: 'closed' },
      pausedModels: [{ model: MODEL, breaker: { state: 'open', cause: 'rate-limited' } }],
    })
    clock.advance(2_000)
    expect(standing(channel)).toBe('probe')
    attempt(channel, 0, { kind: 'ok' })
    expect([standing(channel), health.state([channel])[0]?.keys[0]?.pausedModels]).toEqual(['ready', []])
  })

  test('and then for another waits for each of them', () => {
    const { attempt, standing, clock } = underTest()
    const channel = channelOf(1)
    attempt(channel, 0, LIMITED)
    clock.advance(1_000)
    attempt(channel, 0, LIMITED, undefined, 'other')
    clock.advance(1_000)
    expect([standing(channel), standing(channel, 0, 'other')]).toEqual(['probe', 'paused'])
  })
})

describe('a key that is refused for one model', () => {
  const NO_MODEL: Outcome = { kind: 'model_refused', retryAfterMs: undefined, reason: 'status 403' }

  test('serves every other, and the channel with its other keys serves all', () => {
    const { attempt, standing } = underTest()
    const channel = channelOf(1, {}, 2)
    attempt(channel, 0, NO_MODEL, undefined, 'new')
    expect(standing(channel, 0, 'new')).toBe('paused')
    expect([standing(channel, 0, 'old'), standing(channel, 1, 'new')]).toEqual(['ready', 'ready'])
  })

  test('is probed for it, and forgotten about once it is served', () => {
    const { attempt, standing, clock, health } = underTest()
    const channel = channelOf(1)
    attempt(channel, 0, NO_MODEL)
    clock.advance(PAUSES.refused.firstMs)
    expect(standing(channel)).toBe('probe')
    attempt(channel, 0, { kind: 'ok' })
    expect([standing(channel), health.state([channel])[0]?.keys[0]?.pausedModels]).toEqual(['ready', []])
  })

  test('is probed for it once at a time', () => {
    const { attempt, health, clock } = underTest()
    const channel = channelOf(1)
    attempt(channel, 0, NO_MODEL)
    clock.advance(PAUSES.refused.firstMs)
    expect(health.begin(channel, channel.keys[0], MODEL)).toBeDefined()
    expect(health.begin(channel, channel.keys[0], MODEL)).toBeUndefined()
  })

  test('is out for it until it is served anew, and no other of its models is noted', () => {
    const { attempt, health, standing, clock } = underTest()
    const channel = channelOf(1)
    const early = health.begin(channel, channel.keys[0], MODEL)
    clock.advance(1)
    attempt(channel, 0, NO_MODEL)
    attempt(channel, 0, FAILED)
    attempt(channel, 0, FAILED, undefined, 'other')
    early?.report({ kind: 'ok' })
    expect([standing(channel), standing(channel, 0, 'other')]).toEqual(['paused', 'ready'])
    expect(health.state([channel])[0]?.keys[0]?.pausedModels.map(({ model }) => model)).toEqual([MODEL])
  })

  test('is shown, told to the log and to other processes, and gone with its key', () => {
    const bus = inProcessSharing()
    const [one, other] = [underTest({ sharing: bus.join() }), underTest({ sharing: bus.join() })]
    const channel = channelOf(1)
    one.attempt(channel, 0, NO_MODEL)
    expect(one.openings).toMatchObject([{ channelId: 1, key: { id: 100 }, model: MODEL, cause: 'refused' }])
    for (const { health, standing } of [one, other]) {
      expect(health.state([channel])[0]?.keys[0]).toMatchObject({
        breaker: { state: 'closed' },
        pausedModels: [{ model: MODEL, breaker: { state: 'open', cause: 'refused' } }],
      })
      health.retain([channel])
      expect(standing(channel)).toBe('paused')
      health.retain([channelOf(2)])
      expect(standing(channel)).toBe('ready')
    }
  })

  test('is so at that address: at another one the channel starts anew', () => {
    const { attempt, health, standing } = underTest()
    attempt(channelOf(1), 0, NO_MODEL)
    const moved = { ...channelOf(1), baseUrl: 'https://elsewhere.example' }
    health.retain([moved])
    expect(standing(moved)).toBe('ready')
  })

  test('is shown with that key, and with no other of the channel', () => {
    const { attempt, health } = underTest()
    const channel = channelOf(1, {}, 2)
    attempt(channel, 1, NO_MODEL)
    expect(health.state([channel])[0]?.keys.map(({ pausedModels }) => pausedModels.length)).toEqual([0, 1])
  })

  test('keeps its place in memory small: of many that were refused the oldest are forgotten', () => {
    const { attempt, health } = underTest()
    for (let model = 0; model < 25_000; model += 1) attempt(channelOf(1), 0, NO_MODEL, undefined, `m${model}`)
    const refused = health.state([channelOf(1)])[0]?.keys[0]?.pausedModels.map(({ model }) => model)
    expect([refused?.length, refused?.[0], refused?.at(-1)]).toEqual([20_000, 'm5000', 'm24999'])
  })
})

describe('probes', () => {
  test('one goes at a time, over channel and key together', () => {
    const { attempt, health, clock, standing } = underTest()
    const channel = channelOf(1, {}, 2)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channel, 0, FAILED)
    expect(health.begin(channel, channel.keys[0], MODEL)).toBeUndefined()
    clock.advance(PAUSES.failing.firstMs)
    expect(standing(channel, 1)).toBe('probe')
    const probe = health.begin(channel, channel.keys[1], MODEL)
    expect(probe).toBeDefined()
    expect(health.begin(channel, channel.keys[0], MODEL)).toBeUndefined()
    probe?.report({ kind: 'ok' })
    expect(standing(channel, 1)).toBe('ready')
  })

  test('its caller leaving frees the way for the next', () => {
    const { attempt, health, clock } = underTest()
    const channel = channelOf(1)
    attempt(channel, 0, REFUSED)
    clock.advance(PAUSES.refused.firstMs)
    health.begin(channel, channel.keys[0], MODEL)?.report({ kind: 'ignored' })
    expect(health.begin(channel, channel.keys[0], MODEL)).toBeDefined()
  })

  test.each([
    ['a key', REFUSED, 1],
    ['a channel', FAILED, MAX_STREAK],
  ])('one of %s that succeeded and then broke off is no news of the next one', (_, outcome, times) => {
    const { attempt, health, clock, openings } = underTest()
    const channel = channelOf(1)
    const probe = () => health.begin(channel, channel.keys[0], MODEL)
    const open = () => {
      for (let count = 0; count < times; count += 1) attempt(channel, 0, outcome)
      clock.advance(PAUSES.refused.firstMs)
    }
    open()
    const first: HealthTicket | undefined = probe()
    first?.report({ kind: 'ok' })
    open()
    expect(probe()).toBeDefined()
    const told = openings.length
    first?.report(FAILED)
    expect(openings).toHaveLength(told)
    expect(probe()).toBeUndefined()
  })
})

describe('what is shown', () => {
  test('a key that was taken out, with the reason and when it is asked again', () => {
    const { attempt, health, clock, openings } = underTest()
    const channel = channelOf(1, {}, 2)
    attempt(channel, 1, REFUSED)
    const [shown] = health.state([channel])
    expect(shown).toMatchObject({ channelId: 1, channel: 'channel-1', breaker: { state: 'closed' } })
    expect(shown?.keys).toMatchObject([
      { keyId: 100, position: 0, breaker: { state: 'closed' } },
      {
        keyId: 101,
        position: 1,
        breaker: {
          state: 'open',
          cause: 'refused',
          reason: 'status 401',
          until: clock.now() + PAUSES.refused.firstMs,
        },
      },
    ])
    expect(openings).toEqual([
      {
        channelId: 1,
        key: { id: 101 },
        model: undefined,
        cause: 'refused',
        pauseMs: PAUSES.refused.firstMs,
        reason: 'status 401',
      },
    ])
    expect(JSON.stringify(shown)).not.toContain('secret')
  })

  test('an opening is told once, not with every last resort that fails while it lasts, and a probe that fails tells anew', () => {
    const { attempt, clock, openings } = underTest()
    const channel = channelOf(1)
    for (let count = 0; count < 50; count += 1) {
      attempt(channel, 0, REFUSED)
      clock.advance(1)
    }
    expect(openings).toHaveLength(1)
    clock.advance(PAUSES.refused.maxMs)
    attempt(channel, 0, REFUSED)
    expect(openings).toHaveLength(2)
  })

  test('how long the first byte takes, as an average of successes', () => {
    const { attempt, health } = underTest()
    const channel = channelOf(1)
    expect(health.state([channel])[0]?.firstByteMs).toBeUndefined()
    attempt(channel, 0, { kind: 'ok' }, 100)
    attempt(channel, 0, { kind: 'ok' }, 200)
    attempt(channel, 0, FAILED, 60_000)
    expect(health.state([channel])[0]?.firstByteMs).toBeCloseTo(110)
  })
})

test("a pause lasts as long as it was to, though the machine's clock is set meanwhile", () => {
  const { attempt, health, clock, standing } = underTest()
  const channel = channelOf(1)
  attempt(channel, 0, REFUSED)
  clock.set(-86_400_000)
  expect(health.state([channel])[0]?.keys[0]?.breaker.until).toBe(clock.now() + PAUSES.refused.firstMs)
  clock.advance(PAUSES.refused.firstMs - 1)
  expect(standing(channel)).toBe('paused')
  clock.advance(1)
  expect(standing(channel)).toBe('probe')
})

describe('the catalog changes', () => {
  test('a key that was entered anew starts anew, and so does a channel at another address', () => {
    const { attempt, health, standing } = underTest()
    const channel = channelOf(1)
    for (let count = 0; count < MAX_STREAK; count += 1) attempt(channel, 0, FAILED)
    health.retain([channel])
    expect(standing(channel)).toBe('paused')
    expect(health.state([channel])[0]?.breaker.state).toBe('open')
    const moved = { ...channel, baseUrl: 'https://elsewhere.example' }
    health.retain([moved])
    expect(standing(moved)).toBe('ready')
  })

  test('what was begun at the address of before says nothing of the new one', () => {
    const { health, standing } = underTest()
    const channel = channelOf(1)
    const moved = { ...channel, baseUrl: 'https://elsewhere.example' }
    const begin = (at: Channel) => health.beginAnyway(at, at.keys[0], MODEL)
    const old = Array.from({ length: MAX_STREAK + 1 }, () => begin(channel))
    health.retain([moved])
    const streak = old.slice(1)
    for (const { report } of streak) report(FAILED)
    old[0]?.report(REFUSED)
    expect(standing(moved)).toBe('ready')
    for (let count = 0; count < MAX_STREAK; count += 1) begin(moved).report(FAILED)
    expect(standing(moved)).toBe('paused')
  })

  test('what is gone is forgotten', () => {
    const { attempt, health, standing } = underTest()
    attempt(channelOf(1), 0, REFUSED)
    health.retain([])
    expect(standing(channelOf(1))).toBe('ready')
  })
})

describe('several processes', () => {
  test('one that sees a key refused tells the others', () => {
    const bus = inProcessSharing()
    const [one, other] = [underTest({ sharing: bus.join() }), underTest({ sharing: bus.join() })]
    const channel = channelOf(1, {}, 2)
    one.attempt(channel, 0, REFUSED)
    expect([other.standing(channel, 0), other.standing(channel, 1)]).toEqual(['paused', 'ready'])
    expect(other.openings).toEqual([])
    other.health.retain([channel])
    expect(other.standing(channel, 0)).toBe('paused')
  })

  test('what one told of a channel ends with its address for whoever has asked it there', () => {
    const bus = inProcessSharing()
    const [one, other] = [underTest({ sharing: bus.join() }), underTest({ sharing: bus.join() })]
    const channel = channelOf(1)
    for (let count = 0; count < MAX_STREAK; count += 1) one.attempt(channel, 0, FAILED)
    other.attempt(channel, 0, FAILED)
    expect(other.standing(channel)).toBe('paused')
    const moved = { ...channel, baseUrl: 'https://elsewhere.example' }
    other.health.retain([moved])
    expect(other.standing(moved)).toBe('ready')
  })

  test('each finds out by itself that it works again', () => {
    const bus = inProcessSharing()
    const [one, other] = [underTest({ sharing: bus.join() }), underTest({ sharing: bus.join() })]
    for (let count = 0; count < MAX_STREAK; count += 1) one.attempt(channelOf(1), 0, FAILED)
    for (const { clock } of [one, other]) clock.advance(PAUSES.failing.firstMs)
    one.attempt(channelOf(1), 0, { kind: 'ok' })
    expect([one.standing(channelOf(1)), other.standing(channelOf(1))]).toEqual(['ready', 'probe'])
  })

  test('one that left hears nothing more', async () => {
    const bus = inProcessSharing()
    const membership = bus.join()
    const [one, other] = [underTest({ sharing: bus.join() }), underTest({ sharing: membership })]
    await membership.close()
    one.attempt(channelOf(1), 0, REFUSED)
    expect(other.standing(channelOf(1))).toBe('ready')
  })
})

test('memory is bounded, whatever ids come: the oldest are forgotten', () => {
  const { attempt, standing } = underTest()
  for (let id = 1; id <= 21_000; id += 1) attempt(channelOf(id), 0, REFUSED)
  expect([1, 1_000, 21_000].map(id => standing(channelOf(id)))).toEqual(['ready', 'ready', 'paused'])
})
