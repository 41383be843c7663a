import { afterAll, describe, expect, test } from 'bun:test'
import { type SaidStep, saidSteps } from '#tests/limits/said-steps.ts'
import {
  connectRedis,
  hasRedisServer,
  onRedisServer,
  type RedisServer,
  startRedisServer,
} from '#tests/support/stores/redis.ts'
import type { Delta, TakeResult } from '@/limits/buckets/bucket.ts'
import { RedisBuckets } from '@/limits/buckets/token-bucket.ts'
import { type RedisConnection, RedisTimeout, redisScript } from '@/redis/redis.ts'
import { requests, take, tokens } from './contract.ts'

const NOW_US = 1_700_000_000_000_000

/** Passes calls on, and keeps what they said. */
function listening(redis: RedisConnection) {
  const calls: SaidStep[][] = []
  const run: RedisConnection['run'] = (script, keys, args) => {
    calls.push(saidSteps(keys, args))
    return redis.run(script, keys, args)
  }
  return { calls, store: new RedisBuckets({ ...redis, run }, undefined, () => NOW_US) }
}

if (!hasRedisServer) {
  test('LOUD: batches of steps were NOT tested, there is no redis-server', () => {
    console.error('\n*** limits: no redis-server here, so calls of many steps were not tested ***\n')
  })
} else {
  const server = await startRedisServer()
  const redis = await connectRedis(server.url)
  let scopes = 0
  const scope = () => `{s${scopes++}}:`

  afterAll(async () => {
    await redis.close()
    await server.close()
  })

  describe('steps of one turn of the event loop', () => {
    test('are one call, and each gets its own answer', async () => {
      const { store, calls } = listening(redis)
      const prefix = scope()
      const takes = Array.from({ length: 20 }, (_, index) =>
        store.take(take(prefix, `r${index}`, requests(prefix, 60), tokens(prefix, 6_000, index))),
      )
      const answers = await Promise.all(takes)
      expect(calls).toHaveLength(1)
      expect(answers.map(({ levelsUs, held }) => [levelsUs[0], held[0]])).toEqual(
        Array.from({ length: 20 }, (_, index) => [(index + 1) * 1_000_000, index + 1]),
      )
    })

    test('name each key once, whichever steps share it', async () => {
      const prefix = scope()
      const named: string[][] = []
      const store = new RedisBuckets({
        ...redis,
        run(script, keys, args) {
          named.push([...keys])
          return redis.run(script, keys, args)
        },
      })
      await Promise.all(['a', 'b'].map(id => store.take(take(prefix, id, requests(prefix, 60)))))
      expect(named).toEqual([[`${prefix}rpm`, `${prefix}cc`]])
    })

    test('are done in their order: who ends makes room for who comes after, and not for who came before', async () => {
      const { store, calls } = listening(redis)
      const prefix = scope()
      const leases = [{ key: `${prefix}cc`, limit: 1 }]
      const single = (id: string) => store.take({ id, buckets: [requests(prefix, 600)], leases })
      const marked = (id: string) => ({ markerKey: `${prefix}adj:${id}`, buckets: [] })
      const [first, early, , late, , last] = await Promise.all([
        single('first'),
        single('early'),
        store.finish(marked('first'), [`${prefix}cc`], 'first'),
        single('late'),
        store.release([`${prefix}cc`], 'late'),
        single('last'),
      ])
      expect(calls).toHaveLength(1)
      const decisions = [first, early, late, last].map(({ allowed, held }) => [allowed, ...held])
      expect(decisions).toEqual([
        [true, 1],
        [false, 1],
        [true, 1],
        [true, 1],
      ])
    })

    test('take all of their own or nothing: one that is refused leaves the buckets to the next', async () => {
      const { store } = listening(redis)
      const prefix = scope()
      const ask = (id: string, count: number) =>
        store.take(take(prefix, id, requests(prefix, 10), tokens(prefix, 100, count)))
      const answers = await Promise.all([ask('a', 60), ask('b', 60), ask('c', 40)])
      expect(answers.map(({ allowed }) => allowed)).toEqual([true, false, true])
      expect(answers[2]?.levelsUs).toEqual([12_000_000, 60_000_000])
    })

    test('one whose key is something else fails, and the others do not', async () => {
      const { store, calls } = listening(redis)
      const [bad, good] = [scope(), scope()]
      const finish = (markerKey: string, buckets: Delta[]) => store.finish({ markerKey, buckets }, [], 'e')
      const push = redisScript("return redis.call('RPUSH', KEYS[1], 'x')")
      await redis.run(push, [`${bad}rpm`], [])
      await redis.run(push, [`${bad}cc`], [])
      const settled = await Promise.allSettled([
        store.take(take(good, 'a', requests(good, 60))),
        store.take(take(bad, 'b', requests(bad, 60))),
        store.take(take(bad, 'c', requests(`${bad}other:`, 60))),
        store.release([`${bad}cc`], 'b'),
        finish(`${good}adj:a`, [{ key: `${good}rpm`, deltaUs: 5_000_000 }]),
        finish(
          `${good}adj:b`,
          [good, bad].map(prefix => ({ key: `${prefix}rpm`, deltaUs: 9_000_000 })),
        ),
        store.take(take(good, 'd', requests(good, 60))),
      ])
      expect(calls).toHaveLength(1)
      expect(settled.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ])
      expect(settled.flatMap(one => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual(
        // Nothing of what the others were answered.
        Array.from({ length: 4 }, () => expect.stringMatching(/^Error: (?!.*\[).*WRONGTYPE/)),
      )
      const levels = [settled.at(0), settled.at(-1)].map(one =>
        one?.status === 'fulfilled' && typeof one.value === 'object' ? one.value.levelsUs : undefined,
      )
      expect(levels).toEqual([[1_000_000], [7_000_000]])
    })

    test('are more calls where they are many, so that others of Redis get their turn', async () => {
      const { store, calls } = listening(redis)
      const prefix = scope()
      const answers = await Promise.all(
        Array.from({ length: 1_000 }, (_, id) => store.take(take(prefix, `r${id}`, requests(prefix, 600)))),
      )
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(600)
      expect(calls.length).toBeWithin(3, 20)
      expect(calls.flat()).toHaveLength(1_000)
    })

    test('are made again as one call by a server that forgot the script', async () => {
      const { store, calls } = listening(redis)
      const prefix = scope()
      const both = () =>
        Promise.all(['a', 'b'].map(id => store.take(take(prefix, id + calls.length, requests(prefix, 60)))))
      await both()
      await Bun.$`redis-cli -u ${server.url} script flush`.quiet()
      expect((await both()).map(({ levelsUs }) => levelsUs)).toEqual([[3_000_000], [4_000_000]])
      expect(calls).toHaveLength(2)
    })
  })

  test('a step that is alone is sent in its own turn', async () => {
    const { store, calls } = listening(redis)
    const prefix = scope()
    const answer = store.take(take(prefix, 'a', requests(prefix, 60)))
    await new Promise(resolve => setImmediate(resolve))
    expect(calls).toHaveLength(1)
    await answer
  })

  test('no step waits for the answer to another', async () => {
    const asked: (() => void)[] = []
    const { promise: held, resolve: answer } = Promise.withResolvers<void>()
    const store = new RedisBuckets({
      ...redis,
      run(script, keys, args) {
        asked.push(answer)
        return held.then(() => redis.run(script, keys, args))
      },
    })
    const prefix = scope()
    const answers: Promise<TakeResult>[] = []
    for (const id of ['a', 'b', 'c']) {
      answers.push(store.take(take(prefix, id, requests(prefix, 60))))
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(asked).toHaveLength(3)
    answer()
    expect((await Promise.all(answers)).every(({ allowed }) => allowed)).toBe(true)
  })

  test('steps of two hash tags are two calls where one may not name both', async () => {
    const tagsOf = (keys: readonly string[]) => new Set(keys.map(key => key.slice(0, key.indexOf('}'))))
    const store = new RedisBuckets({
      ...redis,
      run: (script, keys, args) =>
        tagsOf(keys).size > 1
          ? Promise.reject(new Error("CROSSSLOT Keys in request don't hash to the same slot"))
          : redis.run(script, keys, args),
    })
    const takes = [scope(), scope()].map(prefix => store.take(take(prefix, 'a', requests(prefix, 60))))
    expect((await Promise.all(takes)).map(({ allowed }) => allowed)).toEqual([true, true])
  })

  test('where one may not name two hash tags, all steps of one are one call, whichever keys they name', async () => {
    const calls: SaidStep[][] = []
    const store = new RedisBuckets({
      ...redis,
      run(script, keys, args) {
        if (new Set(keys.map(key => key.slice(0, key.indexOf('}')))).size > 1)
          return Promise.reject(new Error("CROSSSLOT Keys in request don't hash to the same slot"))
        calls.push(saidSteps(keys, args))
        return redis.run(script, keys, args)
      },
    })
    for (const [one, other] of [
      [scope(), scope()],
      [scope(), scope()],
    ] as const) {
      calls.length = 0
      await Promise.all([
        store.take(take(one, 'a', requests(one, 60))),
        store.release([`${other}cc`], 'b'),
        store.finish({ markerKey: `${one}adj:a`, buckets: [] }, [`${one}cc`], 'a'),
        store.renew(`${other}cc:key`, ['c']),
        store.release([`${one}cc`], 'a'),
      ])
      const said = calls.map(steps => steps.map(({ operation }) => operation))
      expect(said).toEqual([
        ['take', 'finish', 'release'],
        ['release', 'renew'],
      ])
    }
  })

  test.each([
    ['of one hash tag, of which the server says that they are of several', '{a}:', 'CROSSSLOT'],
    ['of two hash tags that fail for another reason', '{b}:', 'Connection is closed.'],
  ])('steps %s are not made again', async (_, second, reason) => {
    const refusal = new Error(reason)
    let calls = 0
    const store = new RedisBuckets({
      ...redis,
      run: () => {
        calls += 1
        return Promise.reject(refusal)
      },
    })
    const takes = ['{a}:', second].map(prefix =>
      store.take(take(prefix, prefix, requests(prefix, 60))).catch(String),
    )
    expect(await Promise.all(takes)).toEqual([String(refusal), String(refusal)])
    expect(calls).toBe(1)
  })

  test.each([
    ['nothing', null],
    ['too little', [1, 0, 0, 1_000_000]],
    ['what is no number', [1, 0, 0, 1_000_000, null]],
  ])('a step to which the server answers %s fails', async (_, reply) => {
    const store = new RedisBuckets({ ...redis, run: async () => reply })
    const asked = store.take(take('{a}:', 'a', requests('{a}:', 60)))
    expect(await asked.catch(String)).toBe(`TypeError: the limit script answered ${JSON.stringify(reply)}`)
  })

  describe('a Redis', () => {
    const fiftyTakes = (store: RedisBuckets) =>
      Promise.allSettled(
        Array.from({ length: 50 }, (_, id) => store.take(take('{a}:', `r${id}`, requests('{a}:', 60)))),
      )

    onRedisServer(
      'that dies with a call on its way fails all of its steps at once, not after their time',
      async own => {
        const link = await connectRedis(own.url, { commandTimeoutMs: 60_000 })
        const { store, calls } = listening(link)
        own.pause()
        const settled = fiftyTakes(store)
        await new Promise(resolve => setImmediate(resolve))
        expect(calls).toHaveLength(1)
        await own.kill()
        const reasons = (await settled).map(one => (one.status === 'rejected' ? one.reason : undefined))
        expect(reasons.every(reason => reason instanceof Error)).toBe(true)
        expect(reasons.some(reason => reason instanceof RedisTimeout)).toBe(false)
        await link.close()
      },
    )

    onRedisServer('that does not answer in time fails all steps of the call', async own => {
      const link = await connectRedis(own.url, { commandTimeoutMs: 50 })
      own.pause()
      const settled = await fiftyTakes(listening(link).store)
      const isLate = settled.map(one => one.status === 'rejected' && one.reason instanceof RedisTimeout)
      expect(isLate).toEqual(Array.from({ length: 50 }, () => true))
      own.resume()
      await link.close()
    })

    onRedisServer('that is full turns the whole call away, and counts again when it is not', async own => {
      const link = await connectRedis(own.url)
      const { store } = listening(link)
      const round = () =>
        Promise.allSettled([
          store.release(['{a}:cc'], 'nobody'),
          store.take(take('{a}:', 'a', requests('{a}:', 60))),
        ])
      await Bun.$`redis-cli -u ${own.url} config set maxmemory 1`.quiet()
      const reasons = (await round()).map(one => String(one.status === 'rejected' && one.reason))
      expect(reasons).toEqual([expect.stringContaining('OOM'), expect.stringContaining('OOM')])
      await Bun.$`redis-cli -u ${own.url} config set maxmemory 0`.quiet()
      expect((await round()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
      await link.close()
    })

    for (const kind of ['a cluster', 'a node of one']) {
      const gets = `that is ${kind} gets a call for each hash tag, and every step is done once`
      const body = async (own: RedisServer) => {
        const link = await connectRedis(kind === 'a cluster' ? `${own.url},${own.url}` : own.url)
        const { store, calls } = listening(link)
        const round = (name: string) =>
          Promise.all(
            ['{a}:', '{b}:', '{a}:', '{c}:'].map((prefix, index) =>
              store.take(take(prefix, `${name}${index}`, requests(prefix, 60))),
            ),
          )
        const levels = (answers: TakeResult[]) => answers.map(({ levelsUs }) => Number(levelsUs[0]) / 1e6)
        expect(levels(await round('first'))).toEqual([1, 1, 2, 1])
        calls.length = 0
        expect(levels(await round('second'))).toEqual([3, 2, 4, 2])
        expect(calls.map(steps => steps.length)).toEqual([2, 1, 1])
        await link.close()
      }
      onRedisServer(gets, body, 'cluster')
    }
  })
}
