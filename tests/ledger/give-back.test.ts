import { afterAll, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { costOf, holdOf, ledgerFixture, type Payer, verdict } from './fixture.ts'

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
  await ledger.void(free)
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
  await ledger.beat()
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
