import { afterAll, describe, expect, test } from 'bun:test'
import { connectRedis, openTestRedis } from '#tests/support/stores/redis.ts'
import { LEASE_TTL_US, MARKER_TTL_US } from '@/limits/buckets/bucket.ts'
import { RedisBuckets } from '@/limits/buckets/token-bucket.ts'
import { bucketContract, requests, take, tokens } from './contract.ts'
import { playOnBoth } from './trace.ts'

const server = await openTestRedis()

if (server === undefined) {
  test('LOUD: the Redis half of the limits was NOT tested, there is no REDIS_URL and no redis-server', () => {
    console.error(
      '\n*** limits: no REDIS_URL and no redis-server: only the in-process buckets were tested ***\n',
    )
  })
} else {
  const redis = await connectRedis(server.url)
  let scopes = 0
  const scope = () => `${server.namespace}{s${scopes++}}:`

  afterAll(async () => {
    await redis.close()
    await server.close()
  })

  bucketContract('buckets in Redis', () => {
    let now = 1_700_000_000_000_000
    const store = new RedisBuckets(redis, undefined, () => now)
    return {
      store,
      move: delta =>
        store.finish({ markerKey: `${delta.key}:${crypto.randomUUID()}`, buckets: [delta] }, [], ''),
      advanceUs: us => {
        now += us
      },
      scope,
    }
  })

  describe('the script', () => {
    test('goes by the clock of Redis and writes whole microseconds', async () => {
      const prefix = scope()
      const store = new RedisBuckets(redis)
      const clock = {
        source: "local time = redis.call('TIME') return string.format('%s%06d', time[1], time[2])",
        sha: '2'.repeat(40),
      }
      const nowUs = async () => Number(await redis.run(clock, [`${prefix}rpm`], []))
      const before = await nowUs()
      const { levelsUs } = await store.take(take(prefix, 'a', requests(prefix, 60)))
      const after = await nowUs()
      expect(levelsUs).toEqual([1_000_000])
      const inspect = { source: "return redis.call('GET', KEYS[1])", sha: '0'.repeat(40) }
      const fullAt = String(await redis.run(inspect, [`${prefix}rpm`], []))
      expect(fullAt).toMatch(/^\d{16}$/)
      expect(Number(fullAt) - 1_000_000).toBeWithin(before, after + 1)
    })

    test('no key outlives by more than a minute what it is of, nor goes before it', async () => {
      const prefix = scope()
      const store = new RedisBuckets(redis)
      const [markerKey, places] = [`${prefix}adjusted`, `${prefix}cc`]
      await store.take({ ...take(prefix, 'a', tokens(prefix, 60, 30)), leases: [{ key: places, limit: 1 }] })
      await store.finish({ markerKey, buckets: [{ key: `${prefix}tpm`, deltaUs: 270_000_000 }] }, [], 'b')
      const inspect = { source: "return redis.call('PTTL', KEYS[1])", sha: '1'.repeat(40) }
      const secondsLeft = async (key: string) => Number(await redis.run(inspect, [key], [])) / 1_000
      expect(await secondsLeft(`${prefix}tpm`)).toBeWithin(330, 360.001)
      expect(await secondsLeft(markerKey)).toBeWithin(MARKER_TTL_US / 1e6 + 30, MARKER_TTL_US / 1e6 + 60.001)
      expect(await secondsLeft(places)).toBeWithin(LEASE_TTL_US / 1e6 + 30, LEASE_TTL_US / 1e6 + 60.001)
    })

    test('moves all buckets of an adjustment, and of what was counted elsewhere', async () => {
      const prefix = scope()
      const store = new RedisBuckets(redis, undefined, () => 1_700_000_000_000_000)
      const moves = [1, 2, 3].map(n => ({
        key: `${prefix}${n}`,
        deltaUs: n * 1_000_000,
        burstUs: 60_000_000,
      }))
      await store.finish({ markerKey: `${prefix}adjusted`, buckets: moves }, [], 'a')
      await store.catchUp(`${prefix}told`, 0, moves)
      const buckets = moves.map(({ key, burstUs }) => ({ key, burstUs, costUs: 0 }))
      const { levelsUs } = await store.take({ id: 'b', buckets, leases: [{ key: `${prefix}cc`, limit: 1 }] })
      expect(levelsUs).toEqual([2_000_000, 4_000_000, 6_000_000])
    })

    describe('when the clock of Redis is set back', () => {
      const DAY_US = 86_400_000_000

      /** A minute's worth and the only place, both taken. */
      function rig() {
        let now = 1_700_000_000_000_000
        const prefix = scope()
        const store = new RedisBuckets(redis, undefined, () => now)
        const leases = [{ key: `${prefix}cc`, limit: 1 }]
        const ask = (id: string) => store.take({ ...take(prefix, id, tokens(prefix, 60, 60)), leases })
        const moveClock = (us: number) => {
          now += us
        }
        return { store, leases, ask, moveClock }
      }

      test.each([1_000_000, 3_600_000_000])('by %p us, nobody waits longer for it than that', async us => {
        const { store, leases, ask, moveClock } = rig()
        await ask('a')
        await store.release([leases[0]?.key ?? ''], 'a')
        moveClock(-us)
        expect(await ask('b')).toMatchObject({ allowed: false, retryAfterUs: 60_000_000 + us })
        moveClock(60_000_000 + us)
        expect((await ask('b')).allowed).toBe(true)
      })

      test('by a second, who has a place keeps it', async () => {
        const { ask, moveClock } = rig()
        await ask('a')
        moveClock(-1_000_000)
        expect(await ask('b')).toMatchObject({ allowed: false, held: [1] })
      })

      test.each([
        ['two hours', DAY_US / 12],
        ['a year', 365 * DAY_US],
      ])('by %s, it goes on at once, with one burst', async (_, us) => {
        const { ask, moveClock } = rig()
        await ask('dead')
        moveClock(-us)
        expect((await ask('b')).allowed).toBe(true)
        expect(await ask('c')).toMatchObject({ allowed: false, retryAfterUs: 60_000_000 })
      })

      test('and forward and back again, who lives has its place when it has renewed its lease', async () => {
        const { store, leases, ask, moveClock } = rig()
        moveClock(DAY_US)
        await ask('alive')
        moveClock(-DAY_US)
        await store.renew(leases[0]?.key ?? '', ['alive'])
        expect(await ask('b')).toMatchObject({ allowed: false, refusedBy: 1, held: [1] })
      })
    })

    test('ends a request in one call: its buckets move once, its places are free whenever it is told', async () => {
      const prefix = scope()
      const store = new RedisBuckets(redis, undefined, () => 1_700_000_000_000_000)
      const single = (id: string) => ({
        ...take(prefix, id, requests(prefix, 60), tokens(prefix, 600, 100)),
        leases: [
          { key: `${prefix}cc`, limit: 1 },
          { key: `${prefix}k1:cc`, limit: 1 },
        ],
      })
      const keys = [`${prefix}cc`, `${prefix}k1:cc`]
      const correction = {
        markerKey: `${prefix}adjusted:a`,
        buckets: [{ key: `${prefix}tpm`, deltaUs: -7_000_000 }],
      }
      for (const id of ['a', 'b']) {
        expect((await store.take(single(id))).allowed).toBe(true)
        // The second time the marker says that it was done.
        await store.finish(correction, keys, id)
      }
      expect(await store.take(single('c'))).toMatchObject({
        allowed: true,
        levelsUs: [3_000_000, 23_000_000],
        held: [1, 1],
      })
    })

    test('a marker that is over says nothing any more: buckets move again, and once', async () => {
      const prefix = scope()
      let now = 1_700_000_000_000_000
      const store = new RedisBuckets(redis, undefined, () => now)
      const owe = () =>
        store.finish(
          { markerKey: `${prefix}adjusted:a`, buckets: [{ key: `${prefix}tpm`, deltaUs: MARKER_TTL_US }] },
          [],
          'a',
        )
      const level = async (id: string) => (await store.take(take(prefix, id, tokens(prefix, 60, 0)))).levelsUs
      for (const _ of 'twice') await owe()
      expect(await level('b')).toEqual([MARKER_TTL_US])
      now += MARKER_TTL_US
      for (const _ of 'twice') await owe()
      expect(await level('c')).toEqual([MARKER_TTL_US])
    })

    describe('told of what was let in without it', () => {
      async function rig() {
        let now = 1_700_000_000_000_000
        const prefix = scope()
        const store = new RedisBuckets(redis, undefined, () => now)
        const key = `${prefix}tpm`
        const burstUs = 60_000_000
        return {
          advanceUs: (us: number) => {
            now += us
          },
          owe: (deltaUs: number) =>
            store.finish({ markerKey: `${prefix}owed`, buckets: [{ key, deltaUs }] }, [], 'owed'),
          fill: (costUs: number) => store.take(take(prefix, crypto.randomUUID(), { key, costUs, burstUs })),
          catchUp: (marker: string, sinceUs: number, deltaUs: number) =>
            store.catchUp(`${prefix}${marker}`, sinceUs, [{ key, deltaUs, burstUs }]),
          level: async () => {
            const probe = { key, costUs: 0, burstUs: Number.MAX_SAFE_INTEGER }
            return (await store.take(take(prefix, crypto.randomUUID(), probe))).levelsUs[0]
          },
        }
      }

      test('a bucket stands as if it had been told at once: time counts once', async () => {
        const { fill, advanceUs, catchUp, level } = await rig()
        await fill(60_000_000)
        advanceUs(600_000_000)
        await catchUp('m', 600_000_000, 300_000_000)
        await catchUp('n', 600_000_000, 280_000_000)
        expect(await level()).toBe(40_000_000)
      })

      test('whoever takes in the same call takes from what it left', async () => {
        const { fill, catchUp, level } = await rig()
        const [, , left] = await Promise.all([fill(10_000_000), catchUp('m', 0, 20_000_000), level()])
        expect([left, await level()]).toEqual([30_000_000, 30_000_000])
      })

      test('one that lost everything starts from when it was lost', async () => {
        const { catchUp, level } = await rig()
        await catchUp('m', 10_000_000, 30_000_000)
        expect(await level()).toBe(20_000_000)
      })

      test('being told twice is being told once', async () => {
        const { catchUp, level } = await rig()
        await catchUp('m', 0, 5_000_000)
        await catchUp('m', 0, 5_000_000)
        expect(await level()).toBe(5_000_000)
      })

      test('time in which it was full counts for nothing', async () => {
        const { fill, advanceUs, catchUp, level } = await rig()
        await fill(10_000_000)
        advanceUs(40_000_000)
        await catchUp('m', 10_000_000, 30_000_000)
        expect(await level()).toBe(20_000_000)
      })

      test('it is empty at most, and a debt from before stays', async () => {
        const { owe, fill, catchUp, level } = await rig()
        await fill(50_000_000)
        await catchUp('m', 0, 90_000_000)
        expect(await level()).toBe(60_000_000)
        await owe(40_000_000)
        await catchUp('n', 0, 5_000_000)
        expect(await level()).toBe(100_000_000)
      })

      test('what was given back makes room', async () => {
        const { fill, catchUp, level } = await rig()
        await fill(50_000_000)
        await catchUp('m', 0, -20_000_000)
        expect(await level()).toBe(30_000_000)
      })
    })

    test('decides as the buckets in this process do, on random traces', async () => {
      for (let seed = 0; seed < 150; seed++) {
        const { shared, local } = await playOnBoth(redis, seed, 60, scope())
        expect({ seed, decisions: shared }).toEqual({ seed, decisions: local })
      }
    }, 600_000)
  })
}
