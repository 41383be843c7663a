import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { candidatesOf, channelOf, routeOf } from '#tests/support/channels.ts'
import { seededRandom } from '#tests/support/random.ts'
import type { Format } from '@/generation/format.ts'
import type { Standing } from '@/routing/health/breaker.ts'
import {
  afterFailure,
  type Candidate,
  type Destination,
  destinationOf,
  type OrderOptions,
  orderCandidates,
} from '@/routing/order.ts'

const NOW = 1_000_000
const FORMATS: readonly Format[] = ['openai-chat-completions', 'anthropic-messages']

const standings: fc.Arbitrary<Standing> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Standing>({ kind: 'ready' }) },
  fc.constant<Standing>({ kind: 'probe' }),
  fc.integer({ min: 1, max: 90_000 }).map(ms => ({ kind: 'paused' as const, until: NOW + ms })),
)

/** Up to six channels with up to three keys each, in every state. */
const manyCandidates: fc.Arbitrary<Candidate[]> = fc
  .array(
    fc.record({
      keys: fc.nat(3),
      priority: fc.nat(2),
      routePriority: fc.nat(1),
      weight: fc.nat(3),
      format: fc.constantFrom(...FORMATS),
      isFull: fc.boolean(),
      states: fc.array(standings, { minLength: 3, maxLength: 3 }),
    }),
    { maxLength: 6 },
  )
  .map(rows =>
    rows.flatMap(({ keys, priority, routePriority, weight, format, isFull, states }, index) => {
      const channel = channelOf(index + 1, { priority, weight, format }, keys)
      return candidatesOf([routeOf(channel, { priority: routePriority })], undefined, isFull).map(
        (candidate, position) => ({ ...candidate, standing: states[position] ?? candidate.standing }),
      )
    }),
  )

const seeds = fc.string({ maxLength: 8 })

function options(more: Partial<OrderOptions> = {}): OrderOptions {
  return { format: 'openai-chat-completions', seed: 'seed', preferred: undefined, ...more }
}

function places(candidates: readonly Candidate[]): Destination[] {
  return candidates.map(destinationOf)
}

function channels(candidates: readonly Candidate[]): number[] {
  return candidates.map(({ route }) => route.channel.id)
}

function first(routes: Parameters<typeof candidatesOf>[0], seed: string): Candidate | undefined {
  return orderCandidates(candidatesOf(routes), options({ seed }), NOW).ready[0]
}

describe('laws', () => {
  test('every candidate that has a place is there once; ready ones are ready and paused ones paused', () => {
    fc.assert(
      fc.property(manyCandidates, seeds, (candidates, seed) => {
        const { ready, paused } = orderCandidates(candidates, options({ seed }), NOW)
        const free = candidates.filter(({ isFull }) => !isFull)
        expect(new Set([...ready, ...paused])).toEqual(new Set(free))
        expect(ready.length + paused.length).toBe(free.length)
        expect(ready.every(({ standing }) => standing.kind !== 'paused')).toBe(true)
        expect(paused.every(({ standing }) => standing.kind === 'paused')).toBe(true)
      }),
    )
  })

  test('the order does not depend on the order in which they were given', () => {
    const shuffled = manyCandidates.chain(given =>
      fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
    )
    fc.assert(
      fc.property(shuffled, seeds, ([one, other], seed) => {
        expect(orderCandidates(other, options({ seed }), NOW)).toEqual(
          orderCandidates(one, options({ seed }), NOW),
        )
      }),
    )
  })

  test('the keys of a channel stay together, also where nothing decides between channels', () => {
    const routes = [1, 2].map(id => routeOf(channelOf(id, { weight: 0 }, 3)))
    fc.assert(
      fc.property(seeds, seed => {
        const order = channels(orderCandidates(candidatesOf(routes), options({ seed }), NOW).ready)
        expect(order).toEqual(order.toSorted())
      }),
    )
  })

  test('priority comes before format, format before weight, weight 0 last', () => {
    fc.assert(
      fc.property(manyCandidates, seeds, (candidates, seed) => {
        const { ready } = orderCandidates(candidates, options({ seed }), NOW)
        const ranks = ready.map(({ route }) => [
          route.channel.priority,
          route.priority,
          route.channel.format === 'openai-chat-completions' ? 0 : 1,
          route.channel.weight === 0 ? 1 : 0,
        ])
        expect(ranks).toEqual(ranks.toSorted(compareRanks))
      }),
    )
  })

  test('the keys of a route stay together', () => {
    fc.assert(
      fc.property(manyCandidates, seeds, (candidates, seed) => {
        const given = candidates.map(candidate => ({ ...candidate, standing: { kind: 'ready' } as const }))
        const ids = channels(orderCandidates(given, options({ seed }), NOW).ready)
        const changes = ids.filter((id, index) => id !== ids[index - 1])
        expect(changes).toHaveLength(new Set(ids).size)
      }),
    )
  })

  test('the preferred destination is first as long as it is healthy and has a place, and the rest keeps its order', () => {
    fc.assert(
      fc.property(manyCandidates, seeds, fc.nat(20), (candidates, seed, index) => {
        const preferred = candidates[index]
        fc.pre(preferred !== undefined)
        const without = orderCandidates(candidates, options({ seed }), NOW)
        const { ready, preferredIsFull } = orderCandidates(
          candidates,
          options({ seed, preferred: destinationOf(preferred) }),
          NOW,
        )
        const isHealthy = preferred.standing.kind !== 'paused'
        expect(preferredIsFull).toBe(isHealthy && preferred.isFull)
        if (isHealthy && !preferred.isFull) expect(ready[0]).toBe(preferred)
        const others = (list: Candidate[]) => list.filter(candidate => candidate !== preferred)
        expect(others(ready)).toEqual(others(without.ready))
      }),
    )
  })

  test('paused ones come soonest first, and tell when to come back', () => {
    fc.assert(
      fc.property(manyCandidates, candidates => {
        const { ready, paused, retryAfterMs } = orderCandidates(candidates, options(), NOW)
        const waits = paused.map(({ standing }) => (standing.kind === 'paused' ? standing.until - NOW : 0))
        expect(waits).toEqual(waits.toSorted((one, other) => one - other))
        if (ready.length > 0 || candidates.length === 0) expect(retryAfterMs).toBeUndefined()
        else expect(retryAfterMs).toBeGreaterThan(0)
      }),
    )
  })
})

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index])
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}

describe('the draw', () => {
  test('gives each channel its share by weight, however many keys it has', () => {
    const routes = [
      routeOf(channelOf(1, { weight: 1 }, 5)),
      routeOf(channelOf(2, { weight: 3 }, 1)),
      routeOf(channelOf(3, { weight: 2 }, 2), { weight: 3 }),
    ]
    const random = seededRandom(1)
    const counts = new Map<number, number>()
    for (let draw = 0; draw < 10_000; draw += 1) {
      const id = first(routes, String(random()))?.route.channel.id ?? 0
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    expect(Math.abs((counts.get(1) ?? 0) / 10_000 - 0.1)).toBeLessThan(0.02)
    expect(Math.abs((counts.get(2) ?? 0) / 10_000 - 0.3)).toBeLessThan(0.02)
    expect(Math.abs((counts.get(3) ?? 0) / 10_000 - 0.6)).toBeLessThan(0.02)
  })

  test('gives the keys of a channel even shares', () => {
    const counts = [0, 0, 0, 0]
    for (let seed = 0; seed < 8_000; seed += 1) {
      const position = (first([routeOf(channelOf(1, {}, 4))], `seed ${seed}`)?.key?.id ?? 0) - 100
      counts[position] = (counts[position] ?? 0) + 1
    }
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200)
  })

  test('a channel that joins takes its share, one that leaves gives up its own, no other moves', () => {
    const three = [1, 2, 3].map(id => routeOf(channelOf(id)))
    const four = [...three, routeOf(channelOf(4))]
    let moved = 0
    for (let seed = 0; seed < 2_000; seed += 1) {
      const before = first(three, `seed ${seed}`)?.route.channel.id
      const after = first(four, `seed ${seed}`)?.route.channel.id
      if (before === after) continue
      moved += 1
      expect(after).toBe(4)
    }
    expect(moved / 2_000).toBeCloseTo(0.25, 1)
  })

  test('is a fixed function, the same in every process and release', () => {
    const routes = [1, 2, 3, 4].map(id => routeOf(channelOf(id)))
    const drawn = Array.from({ length: 12 }, (_, seed) => first(routes, `seed ${seed}`)?.route.channel.id)
    expect(drawn).toEqual([4, 2, 4, 4, 1, 4, 1, 3, 3, 3, 1, 2])
  })
})

test.each<[string, readonly [Standing, isFull: boolean][], number]>([
  ['the end of the pause', [[{ kind: 'paused', until: NOW + 5_000 }, false]], 5_000],
  ['a second, if only places are missing', [[{ kind: 'ready' }, true]], 1_000],
  ['the longer of both for the same channel', [[{ kind: 'paused', until: NOW + 300 }, true]], 1_000],
  [
    'whatever is soonest',
    [
      [{ kind: 'ready' }, true],
      [{ kind: 'paused', until: NOW + 300 }, false],
    ],
    300,
  ],
  ['no less than a millisecond', [[{ kind: 'paused', until: NOW }, false]], 1],
])('who finds nothing ready is told to wait for %s', (_, states, waitMs) => {
  const candidates = states.flatMap(([standing, isFull], index) =>
    candidatesOf([routeOf(channelOf(index + 1))], standing, isFull),
  )
  expect(orderCandidates(candidates, options(), NOW).retryAfterMs).toBe(waitMs)
})

test("a format that stands on the same API counts as the caller's own", () => {
  const routes = [
    channelOf(1, { format: 'anthropic-messages' }),
    channelOf(2, { format: 'openai-responses' }),
  ]
  const order = (more: Partial<OrderOptions>) => {
    const candidates = candidatesOf(routes.map(channel => routeOf(channel)))
    return ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(
      seed => channels(orderCandidates(candidates, options({ seed, ...more }), NOW).ready)[0],
    )
  }
  expect(new Set(order({}))).toEqual(new Set([1, 2]))
  expect(new Set(order({ alike: ['openai-responses'] }))).toEqual(new Set([2]))
})

describe('after a failure', () => {
  const rest = candidatesOf([routeOf(channelOf(1, {}, 2)), routeOf(channelOf(2, {}, 2))])
  const [failed, ...others] = rest

  test.each(['upstream_error', 'upstream_timeout'] as const)(
    '%s: the other channel is next, and the keys of the failed one come last',
    kind => {
      if (failed === undefined) throw new Error('no candidate')
      expect(channels(afterFailure(others, failed, kind))).toEqual([2, 2, 1])
    },
  )

  test('ignored: what was refused in the format of a channel is sent to none of its keys again, unless for another model', () => {
    if (failed === undefined) throw new Error('no candidate')
    const otherModel = { ...failed, route: routeOf(failed.route.channel, { upstreamModel: 'another' }) }
    const left = afterFailure([...others, otherModel], failed, 'ignored')
    expect(channels(left)).toEqual([2, 2, 1])
    expect(left).toContain(otherModel)
  })

  test.each(['model_refused', 'upstream_rate_limited'] as const)(
    '%s: that key is not asked for that model again, and all else stays in its order',
    kind => {
      if (failed === undefined) throw new Error('no candidate')
      const otherModel = { ...failed, route: routeOf(failed.route.channel, { upstreamModel: 'another' }) }
      expect(afterFailure([...others, failed, otherModel], failed, kind)).toEqual([...others, otherModel])
    },
  )

  test('upstream_auth: the next key of the same channel is next, and the same key nowhere', () => {
    if (failed === undefined) throw new Error('no candidate')
    const again = { ...failed, route: routeOf(failed.route.channel, { upstreamModel: 'another' }) }
    expect(places(afterFailure([...others, again], failed, 'upstream_auth'))).toEqual([
      { channelId: 1, keyId: 101 },
      { channelId: 2, keyId: 200 },
      { channelId: 2, keyId: 201 },
    ])
  })
})
