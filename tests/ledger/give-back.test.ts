import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { keySpending } from '@/ledger/store.ts'
import { costOf, holdOf, ledgerFixture, newId, type Payer, taken, verdict } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql, url } = fixture.database
const { store } = fixture
const ledger = await fixture.open()
afterAll(() => fixture.close())

const balance = async ({ accountId }: Payer) => (await store.balance(accountId))?.balanceNano
const giveBack = (request: Payer & { id: string }) => ledger.giveBack([request], 'it ran again')

test('what a request was charged is given back, once by all who do it at once', async () => {
  const payer = await fixture.payer(100n)
  const [charged, free, unknown] = [holdOf(payer, 40n), holdOf(payer, 40n), holdOf(payer, 40n)]
  for (const request of [charged, free]) await ledger.hold(request)
  await ledger.settle(costOf(charged, 30n))
  await ledger.release(free)
  const all = [charged, free, unknown]
  await Promise.all([1, 2, 3].map(() => ledger.giveBack(all, 'it ran again')))
  expect(await balance(payer)).toBe(100n)
  const entries =
    await sql`select kind, amount::integer, reason from entry where account_id = ${payer.accountId} and ref is not null`
  expect([...entries]).toContainEqual({ kind: 'usage_refund', amount: 30, reason: 'it ran again' })
  expect(entries.filter(({ kind }) => kind === 'usage_refund')).toHaveLength(1)
})

test('what is posted of it later is given back later', async () => {
  const payer = await fixture.payer(100n)
  const dead = await fixture.open()
  const request = holdOf(payer, 40n)
  await dead.hold(request)
  await giveBack(request)
  dead.progress(request.id, 10n)
  await dead.beat()
  await sql`update process set seen = now() - interval '1 day' where id = (select owner from hold where id = ${request.id})`
  await fixture.reap()
  expect(await balance(payer)).toBe(90n)
  await giveBack(request)
  expect(await balance(payer)).toBe(100n)
  await dead.settle(costOf(request, 25n))
  expect(await balance(payer)).toBe(85n)
  await giveBack(request)
  await giveBack(request)
  expect(await balance(payer)).toBe(100n)
  expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
})

test('nothing of one account is given to another', async () => {
  const [payer, other] = [await fixture.payer(100n), await fixture.payer(100n)]
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  await ledger.settle(costOf(request, 30n))
  await ledger.giveBack([{ ...request, accountId: other.accountId }], 'it ran again')
  expect([await balance(payer), await balance(other)]).toEqual([70n, 100n])
})

test('what is given back frees as much of the cap of its key, in the period in which it was charged', async () => {
  const payer = await fixture.payer(1_000n, { cap: { amountNano: 100n, period: 'month' } })
  const [request, other] = [holdOf(payer, 60n), holdOf(payer, 60n)]
  await ledger.hold(request)
  await ledger.settle(costOf(request, 60n))
  expect(verdict(await ledger.hold(other))).toBe('key_budget_exhausted')
  await giveBack(request)
  expect(verdict(await ledger.hold(other))).toBe('granted')
  await ledger.settle(costOf(other, 60n))
  await sql`update key_budget set period_start = period_start - interval '1 month' where key_id = ${payer.keyId}`
  const next = holdOf(payer, 100n)
  expect(verdict(await ledger.hold(next))).toBe('granted')
  await ledger.settle(costOf(next, 90n))
  await giveBack(other)
  expect(await ledger.hold(holdOf(payer, 20n))).toMatchObject({ granted: false, keyAvailableNano: 10n })
  expect(await balance(payer)).toBe(910n)
  expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
})

/** A request that was charged so much in the place of an owner that was gone. */
async function expired(payer: Payer, costNano: bigint) {
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  await sql`update hold set progress = ${costNano}, deadline = '-infinity' where id = ${request.id}`
  await store.reap(3_600_000, 1_000)
  return request
}

const refund = ({ id: ref, accountId }: Payer & { id: string }, amountNano: bigint) =>
  store.post({ id: newId(), accountId, kind: 'usage_refund', amountNano, ref })

const spent = async ({ keyId }: Payer) => (await keySpending(sql, [keyId])).get(keyId)

test('a correction after refunds gives back no more than they left, also of two requests at once', async () => {
  const payer = await fixture.payer(100n)
  const requests = [await expired(payer, 9n), await expired(payer, 30n)]
  const exact =
    await sql`select cost_pico::integer from entry where account_id = ${payer.accountId} and kind = 'usage'`
  expect(exact.map(({ cost_pico }) => cost_pico)).toEqual([9_000, 30_000])
  for (const request of requests) for (const amountNano of [2n, 3n]) await refund(request, amountNano)
  expect(await balance(payer)).toBe(71n)
  const corrected = taken(await store.settle(requests.map(request => costOf(request, 2n))))
  expect(corrected.map(({ chargedNano }) => chargedNano)).toEqual([-4n, -25n])
  expect(await balance(payer)).toBe(100n)
  expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
})

test('what a correction gives back is credit again, also beside one that takes more', async () => {
  const payer = await fixture.payer(100n)
  const [less, more] = [await expired(payer, 30n), await expired(payer, 9n)]
  await store.settle([costOf(less, 2n), costOf(more, 10n)])
  const grants =
    await sql`select kind, amount::integer from ledger_grant where account_id = ${payer.accountId} order by amount desc`
  expect([...grants]).toEqual([
    { kind: 'paid', amount: 100 },
    { kind: 'returned', amount: 28 },
  ])
})

test.each([30n, 0n])(
  'a correction of %d, and a refund of all, free the cap of a key that counts the charge',
  async charged => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 100n, period: 'month' } })
    const request = await expired(payer, charged)
    expect(await spent(payer)).toBe(charged)
    await ledger.settle(costOf(request, 20n))
    expect(await spent(payer)).toBe(20n)
    await giveBack(request)
    expect(await spent(payer)).toBe(0n)
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  },
)

test.each([
  ['less', 20n, 0n],
  ['more', 35n, 5n],
])(
  'what was charged just before a cap began anew frees nothing of it, whether corrected to %s or given back',
  async (_, cost, counted) => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 100n, period: 'month' } })
    const request = await expired(payer, 30n)
    await sql`update api_key set cap_period = 'day' where id = ${payer.keyId}`
    const running = holdOf(payer, 40n)
    await ledger.hold(running)
    await ledger.settle(costOf(running, 40n))
    await ledger.settle(costOf(request, cost))
    expect(await spent(payer)).toBe(counted + 40n)
    await giveBack(request)
    expect(await spent(payer)).toBe(counted + 40n)
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  },
)
