import { afterAll, expect, test } from 'bun:test'
import { connect } from '@/db/connect.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { costOf, holdOf, ledgerFixture, newId } from './fixture.ts'

const fixture = await ledgerFixture()
const database = connect(fixture.database.url, { max: 8 })
const store = ledgerStore(database)
afterAll(async () => {
  await database.close()
  await fixture.close()
})

test('batches that name the same accounts in any order never wait for one another in a circle', async () => {
  const payers = await Promise.all(
    Array.from({ length: 12 }, () =>
      fixture.payer(10n ** 9n, { cap: { amountNano: 10n ** 9n, period: 'total' } }),
    ),
  )
  const owner = newId()
  await store.register(owner, 'test')
  const orders = [payers, payers.toReversed(), [...payers.slice(6), ...payers.slice(0, 6)]]
  const rounds = Array.from({ length: 60 }, async (_, index) => {
    const order = orders[index % orders.length] ?? payers
    const holds = order.map(payer => holdOf(payer, 5n))
    const results = await store.hold(owner, holds)
    expect(results.every(result => !(result instanceof Error) && result.granted)).toBe(true)
    await store.settle(holds.toReversed().map(hold => costOf(hold, 3n)))
  })
  // A deadlock ends one of its statements with an error (40P01), which the writer above the store would only repeat.
  await Promise.all(rounds)
  for (const { accountId } of payers) {
    expect(await store.balance(accountId)).toMatchObject({ balanceNano: 10n ** 9n - 180n, pendingNano: 0n })
  }
})
