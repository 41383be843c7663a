import { afterAll, expect, test } from 'bun:test'
import { connect } from '@/db/connect.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { costOf, holdOf, ledgerFixture, newId } from './fixture.ts'

const fixture = await ledgerFixture()
// One connection, whose plans are made while the tables are empty and stay.
const { sql, close } = connect(fixture.database.url, { max: 1 })
const store = ledgerStore({ sql })
afterAll(async () => {
  await close()
  await fixture.close()
})

/** Rows that this connection has read of these tables so far, by whatever means. */
async function rowsRead(tables: string): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const [row] = await sql<{ read: bigint }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint as read from pg_stat_user_tables where relname like ${tables}`
  return Number(row?.read ?? 0n)
}

test('what a batch reads does not grow with the ledger', async () => {
  const payers = await Promise.all(Array.from({ length: 5 }, () => fixture.payer(10n ** 9n)))
  const owner = newId()
  await store.register(owner, 'test')
  const rounds = 30
  const batch = 60
  for (let round = 0; round < rounds; round += 1) {
    const requests = Array.from({ length: batch }, (_, index) =>
      holdOf(payers[index % payers.length] ?? { accountId: 0, keyId: 0 }, 5n),
    )
    await store.hold(owner, requests)
    await store.progress(owner, new Map(requests.map(({ id }) => [id, 1n])))
    await store.settle(requests.map(request => costOf(request, 3n)))
  }
  const exchanges = rounds * batch
  expect(await rowsRead('entry%')).toBeLessThan(2 * exchanges)
  expect(await rowsRead('hold')).toBeLessThan(20 * exchanges)
})
