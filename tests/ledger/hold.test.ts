import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { audit } from '@/ledger/audit.ts'
import { OWNER_GONE } from '@/ledger/store.ts'
import type { HoldResult } from '@/ledger/types.ts'
import { costOf, holdOf, ledgerFixture, moreOf, newId, taken, verdict } from './fixture.ts'

const fixture = await ledgerFixture()
const { store } = fixture
const ledger = await fixture.open()
afterAll(() => fixture.close())

const count = (results: readonly HoldResult[], reason: string) =>
  results.filter(result => verdict(result) === reason).length

describe('exactly 100', () => {
  test('credit for 100 admits 100 of 10,000 at once from four processes, and they spend all of it', async () => {
    const payer = await fixture.payer(100n)
    const ledgers = await Promise.all([1, 2, 3, 4].map(() => fixture.open()))
    const requests = Array.from({ length: 10_000 }, () => holdOf(payer, 1n))
    const results = await Promise.all(
      requests.map((request, index) => (ledgers[index % 4] ?? ledger).hold(request)),
    )
    expect([count(results, 'granted'), count(results, 'credit_reserved')]).toEqual([100, 9_900])
    expect(await store.balance(payer.accountId)).toMatchObject({ pendingNano: 100n, availableNano: 0n })
    const admitted = requests.filter((_, index) => results[index]?.granted)
    await Promise.all(admitted.map(request => ledger.settle(costOf(request, 1n))))
    expect(await store.balance(payer.accountId)).toEqual({
      balanceNano: 0n,
      pendingNano: 0n,
      availableNano: 0n,
    })
  }, 60_000)

  test('of mixed sizes, as many as fit: a large one refuses only itself', async () => {
    const payer = await fixture.payer(100n)
    const results = await Promise.all(
      [90n, 50n, 5n, 6n, 5n].map(amount => ledger.hold(holdOf(payer, amount))),
    )
    expect(results.map(verdict)).toEqual([
      'granted',
      'credit_reserved',
      'granted',
      'credit_reserved',
      'granted',
    ])
  })
})

test('what the last answer did not cost is there for the next request, before its charge is posted', async () => {
  const slow = await fixture.open({ timings: { settleGatherMs: 300 } })
  const payer = await fixture.payer(100n)
  for (let turn = 0; turn < 3; turn++) {
    const request = holdOf(payer, 90n)
    expect(verdict(await slow.hold(request))).toBe('granted')
    void slow.settle(costOf(request, 1n))
  }
})

test('so it is at another process, which does not know of the charge', async () => {
  const gathering = manualClock()
  const one = await fixture.open({ clock: gathering, timings: { settleGatherMs: 800 } })
  const clock = manualClock()
  const pauses = spyOn(clock, 'after')
  const other = await fixture.open({ clock, timings: { settleTravelMs: 1_600 } })
  await other.beat()
  const payer = await fixture.payer(100n)
  for (let turn = 0; turn < 2; turn++) {
    const request = holdOf(payer, 90n)
    expect(verdict(await one.hold(request))).toBe('granted')
    void one.settle(costOf(request, 1n))
  }
  const asked = other.hold(holdOf(payer, 90n))
  await until(() => pauses.mock.calls.some(([ms]) => ms === 1_600))
  gathering.advance(800)
  await until(async () => (await store.balance(payer.accountId))?.balanceNano === 98n)
  clock.advance(1_600)
  expect(verdict(await asked)).toBe('granted')
})

describe('a hold is denied', () => {
  test('when the account has less than that', async () => {
    const payer = await fixture.payer(10n)
    expect(await ledger.hold(holdOf(payer, 11n))).toEqual({
      granted: false,
      reason: 'credit_exhausted',
      availableNano: 10n,
      keyAvailableNano: undefined,
      resetsAt: undefined,
    })
  })

  test('and leaves nothing that runs', async () => {
    const own = await fixture.open()
    const payer = await fixture.payer(10n)
    await own.hold(holdOf(payer, 11n))
    expect(own.state().openHolds).toBe(0)
    await own.hold(holdOf(payer, 10n))
    await own.hold(holdOf(payer, 1n))
    expect(own.state().openHolds).toBe(1)
  })

  test('for now, when only its own running requests are in the way', async () => {
    const payer = await fixture.payer(10n)
    await ledger.hold(holdOf(payer, 6n))
    expect(verdict(await ledger.hold(holdOf(payer, 5n)))).toBe('credit_reserved')
    expect(verdict(await ledger.hold(holdOf(payer, 10n)))).toBe('credit_reserved')
    expect(verdict(await ledger.hold(holdOf(payer, 11n)))).toBe('credit_exhausted')
  })

  test('for now, when the one beside it has just taken what it needs', async () => {
    const payer = await fixture.payer(10n)
    const results = await Promise.all([ledger.hold(holdOf(payer, 6n)), ledger.hold(holdOf(payer, 6n))])
    expect(results.map(verdict)).toEqual(['granted', 'credit_reserved'])
  })

  test('when the key was revoked, has expired, or is of another account', async () => {
    const payer = await fixture.payer(10n)
    const other = await fixture.payer(10n)
    const { sql } = fixture.database
    const mixed = { accountId: payer.accountId, keyId: other.keyId }
    expect(verdict(await ledger.hold(holdOf(mixed, 1n)))).toBe('key_revoked')
    await sql`update api_key set expires_at = now() where id = ${other.keyId}`
    expect(verdict(await ledger.hold(holdOf(other, 1n)))).toBe('key_revoked')
    await fixture.keys.revokeKey(payer.keyId)
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('key_revoked')
  })

  test('when the account is suspended, and after resuming not', async () => {
    const payer = await fixture.payer(10n)
    await fixture.accounts.suspendAccount(payer.accountId)
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('account_suspended')
    await fixture.accounts.resumeAccount(payer.accountId)
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('granted')
  })

  test('for an account that does not exist, without harm to others in the batch', async () => {
    const payer = await fixture.payer(10n)
    const nobody = { accountId: 999_999, keyId: payer.keyId }
    const results = await Promise.all([ledger.hold(holdOf(nobody, 1n)), ledger.hold(holdOf(payer, 1n))])
    expect(results.map(verdict)).toEqual(['key_revoked', 'granted'])
  })

  test('with the database, not with the ledger, as the judge of an amount: one bad row rejects alone', async () => {
    const payer = await fixture.payer(10n)
    const bad = ledger.hold(holdOf(payer, 0n))
    const good = [1n, 2n, 3n].map(amount => ledger.hold(holdOf(payer, amount)))
    await expect(bad).rejects.toThrow('hold_amount')
    expect((await Promise.all(good)).map(verdict)).toEqual(['granted', 'granted', 'granted'])
  })
})

test.each([1, 2])('of a process that is not known, %d at once, no hold is made', async count => {
  const payer = await fixture.payer(10n)
  const batch = Array.from({ length: count }, () => holdOf(payer, 1n))
  const error = await store.hold(newId(), batch).catch(thrown => thrown)
  expect(sqlErrorOf(error)?.code).toBe(OWNER_GONE)
  expect(await store.balance(payer.accountId)).toMatchObject({ pendingNano: 0n })
})

/** How holds come to the database, each with statements of its own. */
const WAYS: [string, number, Parameters<typeof fixture.payer>[1]][] = [
  ['alone', 1, {}],
  ['with others', 3, {}],
  ['of a key with a cap', 1, { cap: { amountNano: 100n, period: 'total' } }],
]

test.each(WAYS)('a hold %s stands for as long as was asked', async (_, count, options) => {
  const payer = await fixture.payer(10n, options)
  await Promise.all(Array.from({ length: count }, () => ledger.hold(holdOf(payer, 1n))))
  const stand = await fixture.database
    .sql`select distinct extract(epoch from deadline - opened_at)::integer as seconds
    from hold where account_id = ${payer.accountId}`
  expect([...stand]).toEqual([{ seconds: 600 }])
})

describe('the same id', () => {
  test('holds once, however often it is sent', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 7n)
    const results = await Promise.all([ledger.hold(request), ledger.hold(request), ledger.hold(request)])
    expect(results.map(verdict)).toEqual(['granted', 'granted', 'granted'])
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(7n)
  })

  test('is not used again after its exchange was charged', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 7n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 3n))
    await expect(ledger.hold(request)).rejects.toThrow('was used')
  })

  test.each(WAYS)(
    'is not used again, %s, when its exchange was charged after its hold had ended for nothing',
    async (_, count, options) => {
      const payer = await fixture.payer(30n, options)
      const [request = holdOf(payer, 7n), ...others] = Array.from({ length: count }, () => holdOf(payer, 7n))
      await ledger.hold({ ...request, lifetimeMs: 0 })
      await fixture.reap()
      expect(await ledger.settle(costOf(request, 3n))).toMatchObject({ outcome: 'trued_up' })
      const again = await Promise.allSettled([request, ...others].map(one => ledger.hold(one)))
      expect(again.map(({ status }) => status === 'fulfilled')).toEqual([false, ...others.map(() => true)])
      expect(await store.balance(payer.accountId)).toMatchObject({
        balanceNano: 27n,
        pendingNano: 7n * BigInt(others.length),
      })
    },
  )

  test('is not another key to take from', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 7n)
    await ledger.hold(request)
    const other = { ...request, keyId: await fixture.key(payer.accountId) }
    await expect(ledger.hold(other)).rejects.toThrow('was used')
    await expect(ledger.extend(moreOf(other, 8n))).rejects.toThrow('was used')
  })

  test('held anew for less, by another process, holds what it held', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 7n)
    await ledger.hold(request)
    const process = await fixture.open()
    expect(verdict(await process.hold({ ...request, amountNano: 3n }))).toBe('granted')
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(7n)
    expect(await ledger.settle(costOf(request, 5n))).toMatchObject({ overrunNano: 0n, availableNano: 5n })
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(0n)
  })

  test('held anew for less beside another, holds what it held', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 7n)
    await ledger.hold(request)
    const both = [{ ...request, amountNano: 3n }, holdOf(payer, 2n)]
    expect((await Promise.all(both.map(one => ledger.hold(one)))).map(verdict)).toEqual([
      'granted',
      'granted',
    ])
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(9n)
  })

  test.each(['a hold', 'more'])(
    'belongs to the process that asked last, for %s, and does not end with the one before',
    async asked => {
      const payer = await fixture.payer(10n)
      const request = holdOf(payer, 7n)
      const before = newId()
      await store.register(before, 'test')
      await store.hold(before, [request])
      const after = await fixture.open()
      await (asked === 'more' ? after.extend(moreOf(request, 7n)) : after.hold(request))
      await store.leave(before)
      await fixture.reap()
      expect((await store.balance(payer.accountId))?.pendingNano).toBe(7n)
    },
  )

  test('may hold more when its key has expired meanwhile', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 4n)
    await ledger.hold(request)
    await fixture.database.sql`update api_key set expires_at = now() where id = ${payer.keyId}`
    expect(verdict(await ledger.extend(moreOf(request, 6n)))).toBe('granted')
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('key_revoked')
  })

  test('is not another account to take from', async () => {
    const [payer, thief] = [await fixture.payer(10n), await fixture.payer(10n)]
    const request = holdOf(payer, 7n)
    await ledger.hold(request)
    await expect(ledger.hold(holdOf(thief, 7n, request.id))).rejects.toThrow('was used')
    expect(await ledger.settle(costOf({ ...thief, id: request.id }, 5n))).toMatchObject({
      outcome: 'duplicate',
    })
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(7n)
  })

  test('must be a UUIDv7: others would fall out of the partitions', async () => {
    const payer = await fixture.payer(10n)
    await expect(ledger.hold(holdOf(payer, 1n, crypto.randomUUID()))).rejects.toThrow('hold_id')
  })
})

describe('extend', () => {
  test('raises a hold to what is asked in all, once, and lowers none', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 2n)
    await ledger.hold(request)
    const wider = { ...payer, id: request.id, amountNano: 6n }
    const results = await Promise.all([ledger.extend(wider), ledger.extend(wider), ledger.extend(wider)])
    expect(results.map(result => [verdict(result), result.availableNano])).toEqual(
      Array(3).fill(['granted', 4n]),
    )
    expect(verdict(await ledger.extend({ ...wider, amountNano: 11n }))).toBe('credit_exhausted')
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(6n)
    expect(verdict(await ledger.extend({ ...wider, amountNano: 1n }))).toBe('granted')
    await ledger.release(request)
    expect((await store.balance(payer.accountId))?.pendingNano).toBe(0n)
  })

  test('does not open a hold, and does not reopen one that is gone', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 2n)
    const wider = { ...payer, id: request.id, amountNano: 6n }
    expect(verdict(await ledger.extend(wider))).toBe('hold_expired')
    await ledger.hold(request)
    await ledger.settle(costOf(request, 1n))
    expect(verdict(await ledger.extend(wider))).toBe('hold_expired')
  })

  test('is denied to a key that was revoked while the exchange ran', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 2n)
    await ledger.hold(request)
    await fixture.keys.revokeKey(payer.keyId)
    expect(verdict(await ledger.extend({ ...payer, id: request.id, amountNano: 3n }))).toBe('key_revoked')
  })
})

describe('the budget of a key', () => {
  test('bounds what is held and spent together, beside the account', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 10n, period: 'month' } })
    const free = { accountId: payer.accountId, keyId: await fixture.key(payer.accountId) }
    const first = holdOf(payer, 6n)
    await ledger.hold(first)
    const denied = await ledger.hold(holdOf(payer, 5n))
    // Its own running request is all that is in the way.
    expect(denied).toMatchObject({ reason: 'credit_reserved', availableNano: 994n, keyAvailableNano: 4n })
    expect(verdict(await ledger.hold(holdOf(payer, 11n)))).toBe('key_budget_exhausted')
    const reset = denied.resetsAt ?? new Date(0)
    expect([reset.getUTCDate(), reset.getUTCHours(), reset > new Date()]).toEqual([1, 0, true])
    await ledger.settle(costOf(first, 8n))
    expect(verdict(await ledger.hold(holdOf(payer, 3n)))).toBe('key_budget_exhausted')
    expect(verdict(await ledger.hold(holdOf(payer, 2n)))).toBe('granted')
    expect(verdict(await ledger.hold(holdOf(free, 900n)))).toBe('granted')
  })

  test('admits exactly what fits when many come at once', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 10n, period: 'day' } })
    const results = await Promise.all(Array.from({ length: 50 }, () => ledger.hold(holdOf(payer, 1n))))
    expect([count(results, 'granted'), count(results, 'credit_reserved')]).toEqual([10, 40])
  })

  test('starts anew with its period; what runs then stays held', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 10n, period: 'day' } })
    const [done, running] = [holdOf(payer, 6n), holdOf(payer, 4n)]
    await ledger.hold(done)
    await ledger.hold(running)
    await ledger.settle(costOf(done, 6n))
    await fixture.database.sql`update key_budget set period_start = period_start - interval '1 day'
      where key_id = ${payer.keyId}`
    expect(await ledger.hold(holdOf(payer, 7n))).toMatchObject({ granted: false, keyAvailableNano: 6n })
    expect(verdict(await ledger.hold(holdOf(payer, 6n)))).toBe('granted')
  })

  test.each([3n, 0n])('is settled, at %d, in the period in which the exchange ends', async cost => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 10n, period: 'week' } })
    const request = holdOf(payer, 5n)
    await ledger.hold(request)
    await fixture.database
      .sql`update key_budget set spent = 5, period_start = period_start - interval '7 days'
      where key_id = ${payer.keyId}`
    expect(await ledger.settle(costOf(request, cost))).toMatchObject({ outcome: 'settled' })
    const budget = async () => {
      const [row] = await fixture.database
        .sql`select spent, pending from key_budget where key_id = ${payer.keyId}`
      return row
    }
    expect(await budget()).toEqual({ spent: cost, pending: 0n })
    await ledger.giveBack([request], 'it ran again')
    expect(await budget()).toEqual({ spent: 0n, pending: 0n })
  })

  test('counts all of its own that is charged at once, as the first of a period, and nothing of another key', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 100n, period: 'week' } })
    const free = { accountId: payer.accountId, keyId: await fixture.key(payer.accountId) }
    const requests = [holdOf(payer, 10n), holdOf(payer, 10n), holdOf(free, 10n)]
    for (const request of requests) await ledger.hold(request)
    const { sql, url } = fixture.database
    await sql`update key_budget set period_start = period_start - interval '7 days' where key_id = ${payer.keyId}`
    await fixture.store.settle(requests.map((request, index) => costOf(request, BigInt(index + 2))))
    const [budget] = await sql`select spent, pending from key_budget where key_id = ${payer.keyId}`
    expect(budget).toEqual({ spent: 5n, pending: 0n })
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  })

  test('of a total cap never starts anew', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 10n, period: 'total' } })
    expect(await ledger.hold(holdOf(payer, 11n))).toMatchObject({ granted: false, resetsAt: undefined })
  })
})

test('a hold of nobody is refused to a process that was taken for dead, which goes on under a new id', async () => {
  const payer = await fixture.payer(10n)
  const zombie = await fixture.open()
  await fixture.database.sql`delete from process`
  const results = await Promise.all([zombie.hold(holdOf(payer, 1n)), zombie.hold(holdOf(payer, 2n, newId()))])
  expect(results.map(verdict)).toEqual(['granted', 'granted'])
  await fixture.reap()
  expect((await store.balance(payer.accountId))?.pendingNano).toBe(3n)
})

test.each<[string, Parameters<typeof fixture.payer>[1]]>([
  ['a key', {}],
  ['a key with a cap', { cap: { amountNano: 100n, period: 'total' } }],
])(
  'by %s, an account goes as far below zero as its overdraft, and each answer counts it, to one request or a batch',
  async (_, options) => {
    const payer = await fixture.payer(10n, options)
    await fixture.database.sql`update wallet set overdraft = 5 where account_id = ${payer.accountId}`
    const owner = newId()
    await store.register(owner, 'test')
    const hold = (...amounts: bigint[]) => amounts.map(amount => holdOf(payer, amount))
    const [most] = hold(12n)
    if (most === undefined) throw new Error('one')
    expect(await store.hold(owner, [most])).toMatchObject([{ granted: true, availableNano: 3n }])
    expect(await store.settle([costOf(most, 11n)])).toMatchObject([{ overrunNano: 0n, availableNano: 4n }])
    expect(await store.hold(owner, hold(5n))).toMatchObject([{ granted: false, availableNano: 4n }])
    const both = hold(1n, 2n)
    expect(await store.hold(owner, both)).toMatchObject(
      both.map(() => ({ granted: true, availableNano: 1n })),
    )
    const charged = taken(await store.settle(both.map(request => costOf(request, 3n))))
    expect(charged).toMatchObject([{ overrunNano: 2n }, { overrunNano: 1n }])
    expect(charged.map(({ availableNano }) => availableNano)).toEqual([-2n, -2n])
  },
)
