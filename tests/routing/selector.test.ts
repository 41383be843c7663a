import { describe, expect, test } from 'bun:test'
import { channelOf, routeOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { seededRandom } from '#tests/support/random.ts'
import { Affinity } from '@/routing/affinity.ts'
import { Concurrency } from '@/routing/concurrency.ts'
import { MAX_STREAK, PAUSES } from '@/routing/health/breaker.ts'
import { Health } from '@/routing/health/health.ts'
import type { Outcome } from '@/routing/health/outcome.ts'
import type { Route } from '@/routing/model.ts'
import { afterFailure, type Candidate, orderCandidates } from '@/routing/order.ts'
import { Selector } from '@/routing/selector.ts'

const FAILED: Outcome & { kind: 'upstream_error' } = {
  kind: 'upstream_error',
  retryAfterMs: undefined,
  reason: 'status 500',
}
const HUNG: Outcome & { kind: 'upstream_timeout' } = {
  kind: 'upstream_timeout',
  retryAfterMs: undefined,
  reason: 'no head',
}

function underTest(routes: readonly Route[], seed = 7) {
  const clock = manualClock()
  // The time of day is nothing that an order goes by.
  clock.set(86_400_000)
  const random = seededRandom(seed)
  const health = new Health({ clock, random })
  const concurrency = new Concurrency(() => 1)
  const selector = new Selector({ health, concurrency, affinity: new Affinity(clock), clock, random })
  const select = (session?: string) =>
    selector.select(routes, {
      accountId: 1,
      model: 'm',
      format: 'openai-chat-completions',
      headers: new Headers(session === undefined ? {} : { 'session-id': session }),
      body: {},
    })
  return { clock, random, health, concurrency, selector, select }
}

describe('an attempt', () => {
  test('takes a place and gives it back, once', () => {
    const route = routeOf(channelOf(1, { maxConcurrent: 1 }))
    const { selector, select, concurrency } = underTest([route])
    const [candidate] = select().ready
    if (candidate === undefined) throw new Error('nothing is ready')
    const attempt = selector.begin(candidate, 'one')
    expect(attempt).toBeDefined()
    expect(selector.begin(candidate, 'two')).toBeUndefined()
    expect(select()).toMatchObject({ ready: [], paused: [], retryAfterMs: 1_000 })
    attempt?.release()
    attempt?.release()
    expect(concurrency.running(route.channel)).toBe(0)
    expect(selector.begin(candidate, 'two')).toBeDefined()
  })

  test('that is refused the probe keeps no place', () => {
    const route = routeOf(channelOf(1))
    const { selector, select, concurrency } = underTest([route])
    const [candidate] = select().ready
    if (candidate === undefined) throw new Error('nothing is ready')
    const first = selector.begin(candidate, 'one')
    first?.report({ kind: 'upstream_auth', retryAfterMs: undefined, reason: 'status 401' })
    first?.release()
    expect(selector.begin(candidate, 'two')).toBeUndefined()
    expect(concurrency.running(route.channel)).toBe(0)
    expect(selector.begin(candidate, 'two', true)).toBeDefined()
  })
})

test.each([
  ['ready', { kind: 'ok' }, 0, 'ready'],
  ['paused', FAILED, 0, 'paused'],
  ['a probe', FAILED, 2 * PAUSES.failing.firstMs, 'probe'],
  ['full', { kind: 'ok' }, 0, 'ready'],
] as const)(
  'a single candidate that is %s is selected as by the order of all',
  (what, outcome, afterMs, kind) => {
    const route = routeOf(channelOf(1, { maxConcurrent: 1 }))
    const { selector, select, health, clock } = underTest([route])
    for (let count = 0; count < MAX_STREAK; count += 1)
      health.beginAnyway(route.channel, route.channel.keys[0], 'model').report(outcome)
    clock.advance(afterMs)
    const [key] = route.channel.keys
    const standing = health.standing(route.channel, key, 'model')
    expect(standing.kind).toBe(kind)
    if (what === 'full') selector.begin({ route, key, standing, isFull: false }, 'somebody else')
    const candidates = [{ route, key, standing, isFull: what === 'full' }]
    const options = { format: 'openai-chat-completions', seed: '', preferred: undefined } as const
    expect(select('session')).toEqual({
      conversation: undefined,
      chain: undefined,
      ...orderCandidates(candidates, options, clock.elapsed()),
    })
  },
)

test('formats that are alike come before the others, whoever asks', () => {
  const formats = ['anthropic-messages', 'openai-responses', 'gemini-generate-content'] as const
  const routes = formats.map((format, index) => routeOf(channelOf(index, { format })))
  const { selector } = underTest(routes)
  const firstFor = (session: number) => {
    const { ready } = selector.select(routes, {
      accountId: 1,
      model: 'm',
      format: 'openai-chat-completions',
      alike: ['openai-chat-completions', 'openai-responses'],
      headers: new Headers({ 'session-id': String(session) }),
      body: {},
    })
    return ready[0]?.route.channel.format
  }
  const first = new Set(Array.from({ length: 20 }, (_, session) => firstFor(session)))
  expect([...first]).toEqual(['openai-responses'])
})

test('a conversation begins on the same channel in every process, and what has no name is drawn anew', () => {
  const routes = [1, 2, 3].map(id => routeOf(channelOf(id)))
  const [one, other] = [underTest(routes, 1), underTest(routes, 2)]
  const first = ({ select }: typeof one, session?: string) => select(session).ready[0]?.route.channel.id
  const sessions = Array.from({ length: 20 }, (_, session) => `session-${session}`)
  expect(sessions.map(session => first(one, session))).toEqual(sessions.map(session => first(other, session)))
  expect(new Set(sessions.map(session => first(one, session))).size).toBe(3)
  expect(new Set(sessions.map(() => first(one))).size).toBe(3)
})

test('a conversation whose preferred channel is full goes elsewhere and comes back', () => {
  const routes = [routeOf(channelOf(1, { maxConcurrent: 1 })), routeOf(channelOf(2), { priority: 1 })]
  const { selector, select } = underTest(routes)
  const turn = () => {
    const selection = select('session')
    const [candidate] = selection.ready
    if (candidate === undefined) throw new Error('nothing is ready')
    selector.served(selection, candidate)
    return candidate
  }
  const preferred = turn()
  const other = selector.begin(preferred, 'somebody else')
  expect(turn().route.channel.id).toBe(2)
  other?.release()
  expect(turn().route.channel.id).toBe(1)
})

test('a conversation that a failover moved stays where it was served', () => {
  const routes = [1, 2, 3].map(id => routeOf(channelOf(id)))
  const { selector, select } = underTest(routes)
  const [, second] = select('session').ready
  if (second === undefined) throw new Error('nothing else is ready')
  selector.served(select('session'), second)
  expect(select('session').ready[0]).toEqual(second)
})

/** Serves one request as the exchange does: at most three attempts, from one candidate to the next. */
function serve(
  rig: ReturnType<typeof underTest>,
  answer: (candidate: Candidate) => { outcome: Outcome; ms: number },
  requestId: string,
): { ok: boolean; ms: number; tried: number[] } {
  const tried: number[] = []
  let rest = rig.select().ready
  let ms = 0
  while (tried.length < 3) {
    const [candidate, ...others] = rest
    if (candidate === undefined) break
    rest = others
    const attempt = rig.selector.begin(candidate, requestId)
    if (attempt === undefined) continue
    tried.push(candidate.route.channel.id)
    const { outcome, ms: took } = answer(candidate)
    ms += took
    rig.clock.advance(took)
    attempt.report(outcome)
    attempt.release()
    if (outcome.kind === 'ok') return { ok: true, ms, tried }
    if (outcome.kind !== 'ignored') rest = afterFailure(rest, candidate, outcome.kind)
  }
  return { ok: false, ms, tried }
}

test('1,000 requests, three channels, one fails at random 30 %, one hangs: every caller is served, and soon at once', () => {
  const rig = underTest([1, 2, 3].map(id => routeOf(channelOf(id))))
  const answer = ({ route }: Candidate) => {
    if (route.channel.id === 2) return { outcome: HUNG, ms: 500 }
    const fails = route.channel.id === 1 && rig.random() < 0.3
    return { outcome: fails ? FAILED : ({ kind: 'ok' } as const), ms: 2 }
  }
  const results = Array.from({ length: 1000 }, (_, index) => serve(rig, answer, String(index)))
  expect(results.filter(({ ok }) => !ok)).toEqual([])
  const known = results.slice(100).map(({ ms }) => ms)
  expect(known.toSorted((one, other) => one - other)[Math.floor(known.length / 2)]).toBeLessThan(5)
  const hung = results.filter(({ tried }) => tried.includes(2)).length
  expect(hung).toBeLessThan(15)
  for (const id of [1, 2, 3]) expect(rig.concurrency.running({ id })).toBe(0)
})

test('a request goes to where the response was made that it goes on from, whatever it begins with', () => {
  const routes = [1, 2, 3, 4, 5].map(id => routeOf(channelOf(id)))
  const { selector } = underTest(routes)
  const ask = (said: string, id: string, previousId?: string) => {
    const selection = selector.select(routes, {
      accountId: 1,
      model: 'm',
      format: 'openai-responses',
      headers: new Headers(),
      body: { instructions: said, input: 'hi' },
      chain: { id, previousId },
    })
    const [candidate] = selection.ready
    if (candidate === undefined) throw new Error('nothing is ready')
    selector.served(selection, candidate)
    return candidate.route.channel.id
  }
  for (let conversation = 0; conversation < 20; conversation += 1) {
    const first = ask(`Be ${conversation}`, `${conversation}/0`)
    const later = [1, 2, 3].map(turn =>
      ask(`Be else ${turn}`, `${conversation}/${turn}`, `${conversation}/${turn - 1}`),
    )
    expect(later).toEqual([first, first, first])
  }
})
