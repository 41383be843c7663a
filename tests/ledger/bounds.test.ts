import { afterAll, describe, expect, test } from 'bun:test'
import { audit } from '@/ledger/audit.ts'
import { LARGEST_NANO } from '@/pricing/money.ts'
import { costOf, holdOf, ledgerFixture, type Payer, verdict } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql, url } = fixture.database
const { store } = fixture
const ledger = await fixture.open()
afterAll(() => fixture.close())

const wallet = ({ accountId }: Payer) => store.balance(accountId)

/** A wallet whose debits are so far from the end of its numbers, and as much from being empty. */
async function spentBut(rest: bigint): Promise<Payer> {
  const payer = await fixture.payer(LARGEST_NANO)
  const request = holdOf(payer, 1n)
  await ledger.hold(request)
  await ledger.settle(costOf(request, LARGEST_NANO - rest))
  return payer
}

describe('a wallet at the end of its numbers', () => {
  test.each([
    ['one by one', false],
    ['in one batch', true],
  ])('is charged what it has numbers for by all that runs on it, %s', async (_, together) => {
    const payer = await spentBut(100n)
    const requests = [30n, 30n, 30n].map(amount => holdOf(payer, amount))
    for (const request of requests) await ledger.hold(request)
    const charged: bigint[] = []
    const settle = async (request: Payer & { id: string }) => {
      const { outcome, chargedNano } = await ledger.settle(costOf(request, 60n))
      expect(outcome).toBe('settled')
      charged.push(chargedNano)
    }
    if (together) await Promise.all(requests.map(settle))
    else for (const request of requests) await settle(request)
    expect(charged).toEqual([60n, 40n, 0n])
    const ids = requests.map(({ id }) => id)
    const exact = await sql`select cost_pico::bigint from entry where id = any (${ids}::uuid[]) order by seq`
    expect(exact.map(({ cost_pico }) => cost_pico)).toEqual([60_000n, 40_000n])
    expect(await wallet(payer)).toEqual({ balanceNano: 0n, pendingNano: 0n, availableNano: 0n })
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('credit_exhausted')
    for (const request of requests) {
      expect(await ledger.settle(costOf(request, 60n))).toMatchObject({ chargedNano: 0n })
    }
  })

  test('with a budget of its key is no different', async () => {
    const rich = await spentBut(100n)
    const payer = { ...rich, keyId: await fixture.key(rich.accountId, { period: 'total', amountNano: 90n }) }
    const request = holdOf(payer, 90n)
    await ledger.hold(request)
    expect(await ledger.settle(costOf(request, 500n))).toMatchObject({ chargedNano: 100n, overrunNano: 10n })
    const [budget] = await sql`select spent, pending from key_budget where key_id = ${payer.keyId}`
    expect(budget).toEqual({ spent: 100n, pending: 0n })
  })

  test('keeps the reaper from nobody else', async () => {
    const [payer, other] = [await spentBut(100n), await fixture.payer(50n)]
    const dead = await fixture.open()
    const [beyond, within] = [holdOf(payer, 10n), holdOf(other, 10n)]
    await dead.hold(beyond)
    await dead.hold(within)
    dead.progress(beyond.id, 101n)
    dead.progress(within.id, 5n)
    await dead.beat()
    await sql`update process set seen = now() - interval '1 day' where id = (select owner from hold where id = ${within.id})`
    await fixture.reap()
    expect(await wallet(payer)).toMatchObject({ balanceNano: 0n, pendingNano: 0n })
    expect(await wallet(other)).toMatchObject({ balanceNano: 45n, pendingNano: 0n })
  })

  test('is given back no more than it has numbers for', async () => {
    const payer = await fixture.payer(LARGEST_NANO)
    const zombie = await fixture.open()
    const request = holdOf(payer, 10n)
    await zombie.hold(request)
    zombie.progress(request.id, 6n)
    await zombie.beat()
    await sql`update process set seen = now() - interval '1 day' where id = (select owner from hold where id = ${request.id})`
    await fixture.reap()
    expect(await zombie.settle(costOf(request, 1n))).toMatchObject({ outcome: 'trued_up', chargedNano: 0n })
    expect((await wallet(payer))?.balanceNano).toBe(LARGEST_NANO - 6n)
  })
})

test('days in which more moved than a bigint holds are added up, and audited', async () => {
  await fixture.payer(LARGEST_NANO)
  await fixture.payer(LARGEST_NANO)
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString()
  await sql`select ledger_roll_up(${tomorrow}::text::timestamptz)`
  const [day] = await sql`select amount from daily_total where kind = 'topup'`
  expect(BigInt(String(day?.['amount']))).toBeGreaterThan(LARGEST_NANO)
  expect((await audit(url)).checks.filter(({ count }) => count > 0)).toEqual([])
})

test('the audit adds up differences that no bigint holds', async () => {
  for (const _ of [1, 2]) {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 1n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, LARGEST_NANO))
  }
  const { checks } = await audit(url)
  expect(checks.find(({ name }) => name === 'negative_wallets')).toMatchObject({
    count: 2,
    differenceNano: 2n * (LARGEST_NANO - 10n),
  })
})

test.each([
  10n ** 19n + 1n,
  53_466_558_172_588_848_001n,
  53_466_558_172_588_848_499n,
  53_466_558_172_588_848_500n,
  (LARGEST_NANO - 1n) * 1_000n + 1n,
])('a cost of %p pico is charged, rounded up', async costPico => {
  const payer = await fixture.payer(LARGEST_NANO)
  const request = holdOf(payer, 1n)
  await ledger.hold(request)
  const costNano = (costPico + 999n) / 1_000n
  const settled = await ledger.settle({ ...costOf(request, costNano), costPico })
  expect(settled).toMatchObject({ outcome: 'settled', chargedNano: costNano })
})
