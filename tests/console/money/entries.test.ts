import { afterAll, expect, test } from 'bun:test'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { entryPage } from '@/console/money/entries.ts'
import { readStatements } from '@/console/money/statements.ts'
import { connect } from '@/db/connect.ts'

const { url } = await fileDatabase()
// One connection, which tells what it has read so far.
const database = connect(url, { max: 1 })
afterAll(() => database.close())
const { sql } = database
const { accountId } = await openPayer(database, { creditNano: 1n })

const EACH = 1000
const MONTHS = ['2024-01-31T12:00:00Z', '2024-03-01T00:05:00Z', '2024-04-10T12:00:00Z']
for (const [index, at] of MONTHS.entries()) {
  const ids = Array.from({ length: EACH }, () => Bun.randomUUIDv7())
  // Each a second earlier than the one numbered before it: the second thousand has entries of two months, the later first.
  await sql`
    insert into entry (id, kind, account_id, seq, amount, balance_after, created_at)
    select id, 'topup', ${accountId}, ${EACH * index + 1}::bigint + n, 1, 1, ${at}::text::timestamptz - n * interval '1 second'
    from unnest(${ids}::uuid[]) with ordinality as made(id, n)`
}
// What statements show already is not counted again.
await readStatements(database, accountId)

async function rowsRead(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const [row] = await sql<{ read: bigint }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint as read from pg_stat_user_tables where relname like 'entry%'`
  return Number(row?.read ?? 0n)
}

/** The numbers of the entries of a time. */
async function numbersOf(from?: string, to?: string): Promise<number[]> {
  const query = { limit: EACH, ...(from && { from }), ...(to && { to }) }
  return (await entryPage(database, accountId, query)).items.map(({ seq }) => Number(seq))
}

const falling = (largest: number, count: number) => Array.from({ length: count }, (_, n) => largest - n)

test('entries of long ago are found without a look at those that came since', async () => {
  const before = await rowsRead()
  expect(await numbersOf('2024-01-31T11:59:50Z', '2024-01-31T12:00:00Z')).toEqual(falling(11, 10))
  expect((await rowsRead()) - before).toBeLessThan(EACH + 100)
})

test.each<[string | undefined, string | undefined, number[]]>([
  ['2024-03-01T00:04:50Z', '2024-03-05T00:00:00Z', falling(1011, 10)],
  ['2024-02-01T00:00:00Z', '2024-03-01T00:00:00Z', falling(2001, 700)],
  ['2024-02-29T23:59:59Z', '2024-03-01T00:00:01Z', [1302, 1301]],
  [undefined, '2024-01-31T11:43:21Z', [1001]],
  [undefined, '2024-01-31T11:43:20Z', []],
  ['2023-01-01T00:00:00Z', '2023-12-01T00:00:00Z', []],
  ['2024-06-01T00:00:00Z', undefined, [1]],
])('there are those from %p to %p, whatever their numbers', async (from, to, numbers) => {
  expect(await numbersOf(from, to)).toEqual(numbers)
})

test('credit is found without a look at the requests that were charged since', async () => {
  const busy = await openPayer(database, { creditNano: 1n })
  const ids = Array.from({ length: EACH }, () => Bun.randomUUIDv7())
  await sql`
    insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico)
    select id, 'usage', ${busy.accountId}, 1 + n, -1, 1, 1000 from unnest(${ids}::uuid[]) with ordinality as made(id, n)`
  const before = await rowsRead()
  const { items } = await entryPage(database, busy.accountId, { show: 'other' })
  expect(items.map(({ seq }) => seq)).toEqual(['1'])
  expect((await rowsRead()) - before).toBeLessThan(100)
})
