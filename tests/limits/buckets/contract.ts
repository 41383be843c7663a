import { describe, expect, test } from 'bun:test'
import {
  type Bucket,
  type BucketStore,
  type Delta,
  LEASE_TTL_US,
  MOST_DEBT_US,
  requestSize,
  SLOT_WAIT_US,
  type Take,
  tokenSize,
  WINDOW_US,
} from '@/limits/buckets/bucket.ts'

/** A store and the time it goes by. */
interface ContractRig {
  store: BucketStore
  /** A debt or a refund after the fact. */
  move(delta: Delta): void | Promise<void>
  /** Moves the store's time on. */
  advanceUs(us: number): void
  /** A prefix that no other test uses, hash tag included. */
  scope(): string
}

/** What every store of buckets guarantees. */
export function bucketContract(name: string, open: () => ContractRig): void {
  describe(name, () => {
    test('a full bucket holds exactly a minute, for any limit', async () => {
      const { store, scope } = open()
      for (const limit of [1, 7, 59, 600, 1_001]) {
        const prefix = scope()
        for (let count = 0; count < limit; count++) {
          expect((await store.take(take(prefix, `r${count}`, requests(prefix, limit)))).allowed).toBe(true)
        }
        expect(await store.take(take(prefix, 'over', requests(prefix, limit)))).toMatchObject({
          allowed: false,
          refusedBy: 0,
          retryAfterUs: Math.ceil(WINDOW_US / limit),
        })
      }
    })

    test('the wait it names is enough, and a microsecond less is not', async () => {
      const { store, scope, advanceUs } = open()
      const prefix = scope()
      for (const id of ['a', 'b', 'c']) await store.take(take(prefix, id, requests(prefix, 3)))
      advanceUs(19_999_999)
      expect(await store.take(take(prefix, 'd', requests(prefix, 3)))).toMatchObject({ retryAfterUs: 1 })
      advanceUs(1)
      expect((await store.take(take(prefix, 'd', requests(prefix, 3)))).allowed).toBe(true)
    })

    test('tells the level of each bucket and the members of each lease set', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const both = [requests(prefix, 60), tokens(prefix, 6_000, 50)]
      await store.take(take(prefix, 'a', ...both))
      const { levelsUs, held } = await store.take(take(prefix, 'b', ...both))
      expect({ levelsUs, held }).toEqual({ levelsUs: [2_000_000, 1_000_000], held: [2] })
    })

    test('a refusal by one bucket takes nothing from the others', async () => {
      const { store, scope } = open()
      const prefix = scope()
      await store.take(take(prefix, 'a', requests(prefix, 10), tokens(prefix, 100, 90)))
      const refused = await store.take(take(prefix, 'b', requests(prefix, 10), tokens(prefix, 100, 20)))
      expect(refused).toMatchObject({ allowed: false, refusedBy: 1, retryAfterUs: 6_000_000, held: [1] })
      const after = await store.take(take(prefix, 'c', requests(prefix, 10), tokens(prefix, 100, 10)))
      expect(after.levelsUs).toEqual([12_000_000, 60_000_000])
    })

    test('the longest wait decides', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const buckets = [requests(prefix, 60), tokens(prefix, 60, 60)]
      await store.take(take(prefix, 'a', ...buckets))
      expect(await store.take(take(prefix, 'b', ...buckets))).toMatchObject({ refusedBy: 1 })
    })

    test('a request that takes its slot again is one request, and is debited once', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const single = {
        ...take(prefix, 'a', requests(prefix, 60)),
        leases: [{ key: `${prefix}cc`, limit: 1 }],
      }
      const first = await store.take(single)
      expect(await store.take(single)).toEqual(first)
      expect(await store.take({ ...single, id: 'b' })).toMatchObject({
        allowed: false,
        refusedBy: 1,
        retryAfterUs: SLOT_WAIT_US,
      })
    })

    test('of several lease sets the one that is full is named', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const leases = [
        { key: `${prefix}cc`, limit: 9 },
        { key: `${prefix}cc2`, limit: 1 },
      ]
      await store.take({ ...take(prefix, 'a', requests(prefix, 60)), leases })
      expect(await store.take({ ...take(prefix, 'b', requests(prefix, 60)), leases })).toMatchObject({
        allowed: false,
        refusedBy: 2,
        held: [1, 1],
      })
    })

    test('a refusal by a full lease set debits nothing', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const leases = [{ key: `${prefix}cc`, limit: 1 }]
      await store.take({ ...take(prefix, 'a', requests(prefix, 60)), leases })
      await store.take({ ...take(prefix, 'b', requests(prefix, 60)), leases })
      await store.release([`${prefix}cc`], 'a')
      const after = await store.take({ ...take(prefix, 'c', requests(prefix, 60)), leases })
      expect(after).toMatchObject({ allowed: true, levelsUs: [2_000_000], held: [1] })
    })

    test('a released slot is free at once, and releasing it again frees no other', async () => {
      const { store, scope } = open()
      const prefix = scope()
      const slot = (id: string) => ({
        ...take(prefix, id, requests(prefix, 600)),
        leases: [{ key: `${prefix}cc`, limit: 1 }],
      })
      await store.take(slot('a'))
      await store.release([`${prefix}cc`], 'a')
      expect((await store.take(slot('b'))).allowed).toBe(true)
      await store.release([`${prefix}cc`], 'a')
      expect((await store.take(slot('c'))).allowed).toBe(false)
    })

    test('a lease that nobody renews is free after its time, a renewed one is not', async () => {
      const { store, scope, advanceUs } = open()
      const prefix = scope()
      const slot = (id: string) => ({
        ...take(prefix, id, requests(prefix, 600)),
        leases: [{ key: `${prefix}cc`, limit: 3 }],
      })
      await store.take(slot('dead'))
      await store.take(slot('alive'))
      await store.take(slot('dead, too'))
      advanceUs(LEASE_TTL_US - 1)
      await store.renew(`${prefix}cc`, ['alive'])
      expect((await store.take(slot('new'))).allowed).toBe(false)
      advanceUs(1)
      expect(await store.take(slot('new'))).toMatchObject({ allowed: true, held: [2] })
      expect(await store.take(slot('third'))).toMatchObject({ allowed: true, held: [3] })
      expect((await store.take(slot('fourth'))).allowed).toBe(false)
    })

    test('a lease that was lost stands again once it is renewed', async () => {
      const { store, scope } = open()
      const prefix = scope()
      await store.renew(`${prefix}cc`, ['a', 'b'])
      const leases = [{ key: `${prefix}cc`, limit: 2 }]
      expect((await store.take({ ...take(prefix, 'c', requests(prefix, 9)), leases })).allowed).toBe(false)
    })

    test.each([0, 2_000, 2_500])('each of %i leases is renewed', async count => {
      const { store, scope } = open()
      const prefix = scope()
      const ids = Array.from({ length: count }, (_, index) => `r${index}`)
      await store.renew(`${prefix}cc`, ids)
      const taken = await store.take(take(prefix, 'other', requests(prefix, 9)))
      expect(taken).toMatchObject({ held: [count + 1] })
    })

    test('a refund makes room and never more than full', async () => {
      const { store, move, scope } = open()
      const prefix = scope()
      await store.take(take(prefix, 'a', tokens(prefix, 600, 600)))
      await move({ key: `${prefix}tpm`, deltaUs: -59_000_000 })
      const full = { allowed: true, levelsUs: [60_000_000] }
      expect(await store.take(take(prefix, 'b', tokens(prefix, 600, 590)))).toMatchObject(full)
      await move({ key: `${prefix}tpm`, deltaUs: -90_000_000 })
      expect(await store.take(take(prefix, 'c', tokens(prefix, 600, 600)))).toMatchObject(full)
      expect((await store.take(take(prefix, 'd', tokens(prefix, 600, 1)))).allowed).toBe(false)
    })

    test('an estimate that was too low is a debt that later requests wait for', async () => {
      const { store, move, scope } = open()
      const prefix = scope()
      await store.take(take(prefix, 'a', tokens(prefix, 600, 10)))
      await move({ key: `${prefix}tpm`, deltaUs: 90_000_000 })
      expect(await store.take(take(prefix, 'b', tokens(prefix, 600, 10)))).toMatchObject({
        allowed: false,
        retryAfterUs: 32_000_000,
      })
    })

    test('nobody waits for more than an hour, however much too low the estimate was', async () => {
      const { store, move, scope, advanceUs } = open()
      const prefix = scope()
      await move({ key: `${prefix}tpm`, deltaUs: 90 * MOST_DEBT_US })
      const one = take(prefix, 'b', tokens(prefix, 60, 60))
      expect(await store.take(one)).toMatchObject({ allowed: false, retryAfterUs: MOST_DEBT_US })
      advanceUs(MOST_DEBT_US)
      expect((await store.take(one)).allowed).toBe(true)
    })

    test('a changed limit applies at once', async () => {
      const { store, scope } = open()
      const prefix = scope()
      for (const id of ['a', 'b']) await store.take(take(prefix, id, requests(prefix, 2)))
      expect((await store.take(take(prefix, 'c', requests(prefix, 2)))).allowed).toBe(false)
      const key = requests(prefix, 2).key
      const raised = await store.take(take(prefix, 'c', { key, costUs: 100_000, burstUs: 60_100_000 }))
      expect(raised.allowed).toBe(true)
    })

    test('an unlimited lease set counts and never refuses', async () => {
      const { store, scope } = open()
      const prefix = scope()
      for (let count = 1; count <= 50; count++) {
        expect((await store.take(take(prefix, `r${count}`, requests(prefix, 600)))).held).toEqual([count])
      }
    })

    test('10,000 takes at once over three buckets and leases admit exactly the tightest', async () => {
      for (const tightest of ['requests', 'tokens', 'account', 'leases']) {
        const { store, scope } = open()
        const prefix = scope()
        const limit = (name: string) => (name === tightest ? 300 : 1_000)
        const buckets = [
          requests(prefix, limit('requests')),
          tokens(prefix, limit('tokens') * 20, 20),
          { key: `${prefix}account`, ...requestSize(limit('account')) },
        ]
        const leases = [{ key: `${prefix}cc`, limit: limit('leases') }]
        const results = await Promise.all(
          Array.from({ length: 10_000 }, (_, index) => store.take({ id: `r${index}`, buckets, leases })),
        )
        expect(results.filter(({ allowed }) => allowed)).toHaveLength(300)
        // Time stands still, so every admission is in every bucket and no refusal is in any: 0 partial debits.
        const { levelsUs, held } = await store.take({
          id: 'probe',
          buckets: buckets.map(bucket => ({ ...bucket, costUs: 0, burstUs: Number.MAX_SAFE_INTEGER })),
          leases: [{ key: `${prefix}cc`, limit: Number.POSITIVE_INFINITY }],
        })
        expect(levelsUs).toEqual(buckets.map(({ costUs }) => costUs * 300))
        expect(held).toEqual([301])
      }
    }, 60_000)
  })
}

export function requests(prefix: string, limit: number): Bucket {
  return { key: `${prefix}rpm`, ...requestSize(limit) }
}

export function tokens(prefix: string, limit: number, count: number): Bucket {
  return { key: `${prefix}tpm`, ...tokenSize(limit, count) }
}

/** A take with a lease that never refuses. */
export function take(prefix: string, id: string, ...buckets: Bucket[]): Take {
  return { id, buckets, leases: [{ key: `${prefix}cc`, limit: Number.POSITIVE_INFINITY }] }
}
