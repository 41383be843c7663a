import { afterAll, expect, test } from 'bun:test'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'
import { audit } from '@/ledger/audit.ts'
import { chargeLost, LOST_AT_ONCE, ledgerStore } from '@/ledger/store.ts'
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

/** Audits, and waits until the connection is gone that did: it tells what it has read when it ends. */
async function auditToTheEnd(options: Parameters<typeof audit>[1] = {}): ReturnType<typeof audit> {
  const connections = async () => {
    const rows = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`
    return rows.map(({ pid }) => pid)
  }
  const before = new Set(await connections())
  const report = await audit(fixture.database.url, options)
  await until(async () => (await connections()).every(pid => before.has(pid)))
  return report
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

test('what the audit since the last one reads does not grow with the years before it', async () => {
  const accounts = 20
  const each = 2_000
  await sql.begin(async tx => {
    // Charges of three days ago, under ids of that time: an account's id stands at the end of each.
    await tx`create temporary table made on commit drop as
      select a.id as account_id, n, (lpad(to_hex(floor(extract(epoch from now() - interval '3 days') * 1000)::bigint + n), 12, '0')
        || '7000' || '8000' || lpad(to_hex(a.id), 12, '0'))::uuid as id
      from account a, generate_series(1, ${each}::integer) n where a.id = any (${await payerIds(accounts)}::bigint[])`
    await tx`insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico, created_at)
      select id, 'usage', account_id, n + 1, -7, 1000000000 - 7 * n, 7000, now() - interval '3 days' from made`
    await tx`insert into exchange (id, account_id, key_id, model, surface, streamed, input_uncached, output_text, usage_source,
        price_version, cost_nano, cost_pico, status, end_state, started_at, total_ms, attempts)
      select id, account_id, 1, 'm', 'chat', true, 1, 1, 'reported', null, 7, 7000, 200, 'complete', now() - interval '3 days', 5, 1
      from made`
    await tx`update wallet w set debits = 7 * ${each}::bigint, seq = ${each}::bigint + 1, last_entry_id = m.id
      from made m where m.account_id = w.account_id and m.n = ${each}::integer`
  })
  // What autovacuum would do at any time, and is counted as well: summaries of the ranges of what is new.
  await sql`vacuum (analyze)`
  await auditToTheEnd()
  const payer = await fixture.payer(10n ** 9n)
  const owner = newId()
  await store.register(owner, 'test')
  const request = holdOf(payer, 5n)
  await store.hold(owner, [request])
  await store.settle([costOf(request, 3n)])
  const read = async () => [await rowsRead('entry%'), await rowsRead('exchange')] as const
  const [entries, exchanges] = await read()
  const { brokenAccounts } = await auditToTheEnd({ sinceCheckpoint: true })
  const [entriesAfter, exchangesAfter] = await read()
  expect(brokenAccounts).toEqual([])
  expect(entriesAfter - entries).toBeLessThan((accounts * each) / 2)
  expect(exchangesAfter - exchanges).toBeLessThan(each)
})

test('what is read for some lost charges is not the whole ledger', async () => {
  const { accountId, keyId } = await fixture.payer(10n ** 9n)
  await sql`update account set created_at = now() - interval '5 days' where id = ${accountId}`
  // Before all those of the days since, which have their entries.
  await sql`insert into exchange (id, account_id, key_id, model, surface, streamed, usage_source, cost_nano, cost_pico, status,
      end_state, started_at, total_ms, attempts)
    select (lpad(to_hex(floor(extract(epoch from now() - interval '4 days') * 1000)::bigint + n), 12, '0')
      || '70008000000000000000')::uuid, ${accountId}, ${keyId}, 'm', 'chat', true, 'reported', 3, 3000, 200,
      'complete', now() - interval '4 days', 5, 1
    from generate_series(1, ${2 * LOST_AT_ONCE}::integer) n`
  await sql`analyze`
  const before = await rowsRead('entry%')
  let last = '00000000-0000-0000-0000-000000000000'
  for (let batch = 0; batch < 2; batch += 1) {
    const found = await sql.begin(tx => chargeLost(tx, last))
    expect(found).toHaveLength(LOST_AT_ONCE)
    last = found.at(-1)?.id ?? ''
  }
  expect((await rowsRead('entry%')) - before).toBeLessThan(20 * LOST_AT_ONCE)
})

async function payerIds(count: number): Promise<number[]> {
  const payers = await Promise.all(Array.from({ length: count }, () => fixture.payer(10n ** 9n)))
  return payers.map(({ accountId }) => accountId)
}
