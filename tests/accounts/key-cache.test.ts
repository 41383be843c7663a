import { beforeEach, expect, test } from 'bun:test'
import { callerBy } from '#tests/support/caller.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import type { KeyRecord } from '@/accounts/account.ts'
import { type KeyCache, keyCache } from '@/accounts/key-cache.ts'

let clock: ManualClock
let stored: Map<string, KeyRecord>
let loads: string[]
let answer: (hash: string) => Promise<KeyRecord | undefined>
let cache: KeyCache

beforeEach(() => {
  clock = manualClock()
  stored = new Map()
  loads = []
  answer = async hash => stored.get(hash)
  cache = build()
  cache.onConnect()
})

function build(random = 0.5): KeyCache {
  return keyCache({
    load: hash => {
      loads.push(hash)
      return answer(hash)
    },
    clock,
    random: () => random,
  })
}

test('asks once for a known key and again after 30 s, whatever the clock of the machine is set to', async () => {
  stored.set('a', record(1))
  await cache.find('a')
  clock.set(-86_400_000)
  clock.advance(29_999)
  expect(await cache.find('a')).toEqual(record(1))
  expect(loads).toEqual(['a'])
  clock.advance(1)
  await cache.find('a')
  expect(loads).toEqual(['a', 'a'])
})

test('what it believes is known at once, and nothing else is', async () => {
  stored.set('a', record(1))
  expect(cache.known('a')).toBeUndefined()
  await cache.find('a')
  await cache.find('nobody')
  expect(cache.known('a')).toEqual(record(1))
  expect(cache.known('nobody')).toBeUndefined()
  clock.advance(29_999)
  expect(cache.known('a')).toEqual(record(1))
  cache.onLost()
  expect(cache.known('a')).toBeUndefined()
  cache.onConnect()
  await cache.find('a')
  cache.onMessage('key:a')
  expect(cache.known('a')).toBeUndefined()
  await cache.find('a')
  clock.advance(30_000)
  expect(cache.known('a')).toBeUndefined()
})

test.each([
  [0, 24_000],
  [0.999999, 36_000],
])('spreads expiry by a fifth: random %p lives for %p ms', async (random, lifetime) => {
  cache = build(random)
  stored.set('a', record(1))
  await cache.find('a')
  clock.advance(lifetime - 1)
  await cache.find('a')
  expect(loads).toHaveLength(1)
  clock.advance(1)
  await cache.find('a')
  expect(loads).toHaveLength(2)
})

test('believes for 5 s that a key does not exist', async () => {
  expect(await cache.find('a')).toBeUndefined()
  stored.set('a', record(1))
  clock.advance(4_999)
  expect(await cache.find('a')).toBeUndefined()
  clock.advance(1)
  expect(await cache.find('a')).toEqual(record(1))
})

test('random keys do not push good ones out', async () => {
  stored.set('good', record(1))
  await cache.find('good')
  for (let n = 0; n < 110_000; n += 1) await cache.find(`bad${n}`)
  loads = []
  await cache.find('good')
  expect(loads).toEqual([])
})

test('lets go of the key that was not used for longest, of more than 100,000', async () => {
  answer = async () => record(1)
  await cache.find('a')
  await cache.find('b')
  for (let n = 2; n < 100_000; n += 1) await cache.find(`other${n}`)
  await cache.find('a')
  await cache.find('c')
  loads = []
  await cache.find('a')
  expect(loads).toEqual([])
  await cache.find('b')
  expect(loads).toEqual(['b'])
})

test('asks once for all who wait for the same key', async () => {
  const gate = Promise.withResolvers<KeyRecord>()
  answer = () => gate.promise
  const both = Promise.all([cache.find('a'), cache.find('a')])
  gate.resolve(record(1))
  expect(await both).toEqual([record(1), record(1)])
  expect(loads).toEqual(['a'])
})

test('remembers no failure of the database', async () => {
  answer = () => Promise.reject(new Error('away'))
  await expect(cache.find('a')).rejects.toThrow('away')
  answer = async () => record(1)
  expect(await cache.find('a')).toEqual(record(1))
})

test.each(['key:a', 'account:7', 'something new'])('forgets at the message %p', async message => {
  stored.set('a', record(7))
  await cache.find('a')
  stored.set('a', { ...record(7), revoked: true })
  cache.onMessage(message)
  expect((await cache.find('a'))?.revoked).toBe(true)
})

test.each(['key:b', 'account:8'])('keeps what the message %p is not about', async message => {
  stored.set('a', record(7))
  await cache.find('a')
  cache.onMessage(message)
  await cache.find('a')
  expect(loads).toEqual(['a'])
})

test.each(['key:a', 'account:7', 'something new'])(
  'does not keep an answer that %p overtook on its way',
  async message => {
    const gate = Promise.withResolvers<KeyRecord>()
    answer = () => gate.promise
    const early = cache.find('a')
    cache.onMessage(message)
    answer = async () => ({ ...record(7), revoked: true })
    expect((await cache.find('a'))?.revoked).toBe(true)
    gate.resolve(record(7))
    await early
    expect((await cache.find('a'))?.revoked).toBe(true)
  },
)

test('an answer that was overtaken takes nobody the one that is on its way', async () => {
  const [first, second] = [Promise.withResolvers<KeyRecord>(), Promise.withResolvers<KeyRecord>()]
  answer = () => first.promise
  const early = cache.find('a')
  cache.onMessage('key:a')
  answer = () => second.promise
  const late = cache.find('a')
  first.resolve(record(7))
  await early
  const later = cache.find('a')
  second.resolve({ ...record(7), revoked: true })
  expect([await late, await later].map(found => found?.revoked)).toEqual([true, true])
  expect(loads).toEqual(['a', 'a'])
})

test('forgets everything when the listener is back, since messages may be missed', async () => {
  stored.set('a', record(1))
  await cache.find('a')
  cache.onLost()
  cache.onConnect()
  await cache.find('a')
  expect(loads).toEqual(['a', 'a'])
})

test('believes nothing for longer than 2 s while it hears nothing', async () => {
  stored.set('a', record(1))
  await cache.find('a')
  cache.onLost()
  clock.advance(1_999)
  await cache.find('a')
  expect(loads).toHaveLength(1)
  clock.advance(1)
  await cache.find('a')
  expect(loads).toHaveLength(2)
})

test('believes for 30 s again once it hears again', async () => {
  stored.set('a', record(1))
  cache.onLost()
  cache.onConnect()
  await cache.find('a')
  clock.advance(29_999)
  await cache.find('a')
  expect(loads).toEqual(['a'])
})

function record(accountId: number): KeyRecord {
  return { revoked: false, caller: callerBy(accountId, 1) }
}
