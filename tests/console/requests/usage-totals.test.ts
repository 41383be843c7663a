import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { firstIdAt } from '@/console/requests/request-log.ts'
import {
  addUpUsage,
  keepAddingUpUsage,
  sumUsage,
  type UsageDimension,
  type UsageSum,
} from '@/console/requests/usage-totals.ts'
import { connect } from '@/db/connect.ts'
import { audit } from '@/ledger/audit.ts'
import { createLog } from '@/telemetry/log.ts'

const database = await fileDatabase()
const { sql } = database

const START = Date.parse('2026-11-01T00:00:00Z')
const MINUTE_MS = 60_000
const SPAN_MS = 4 * 60 * MINUTE_MS

const at = fc.integer({ min: 0, max: SPAN_MS - 1 }).map(ms => START + ms)
const row = fc.record({
  at,
  accountId: fc.integer({ min: 1, max: 2 }),
  keyId: fc.integer({ min: 1, max: 2 }),
  model: fc.constantFrom('a', 'b', null),
  channel: fc.constantFrom('x', null),
  tier: fc.constantFrom('flex', 'priority', null),
  cost: fc.option(fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n })),
  state: fc.constantFrom('complete', 'refused', 'stalled'),
  tokens: fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 8, maxLength: 8 }),
})
type Stored = typeof row extends fc.Arbitrary<infer Value> ? Value : never
const step = fc.oneof(
  { weight: 6, arbitrary: row.map(value => ({ do: 'store' as const, row: value })) },
  { weight: 2, arbitrary: fc.constant({ do: 'add up' as const }) },
  { weight: 2, arbitrary: fc.nat(99).map(which => ({ do: 'charge' as const, which })) },
  { weight: 1, arbitrary: fc.nat(99).map(which => ({ do: 'delete' as const, which })) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      // Not only where a quarter begins.
      edges: fc
        .uniqueArray(
          fc.oneof(
            at,
            at.map(ms => ms - (ms % (15 * MINUTE_MS))),
          ),
          { minLength: 2, maxLength: 6 },
        )
        .map(edges => edges.toSorted((one, other) => one - other)),
      accountId: fc.constantFrom(1, 2, undefined),
      by: fc.constantFrom<UsageDimension>('model', 'key', 'account', 'channel', 'service_tier'),
    }),
  },
)

async function store(given: Stored): Promise<string> {
  const id = `${firstIdAt(new Date(given.at)).slice(0, 13)}-7000-8000-${crypto.randomUUID().slice(24)}`
  const [uncached = 0, read = 0, short = 0, long = 0, text = 0, reasoning = 0, heard = 0, said = 0] =
    given.tokens
  await sql`insert into exchange (id, account_id, key_id, model, channel, surface, streamed, usage_source, cost_nano,
      status, end_state, started_at, total_ms, attempts, input_uncached, cache_read, cache_write5m, cache_write1h,
      output_text, reasoning, audio_input, audio_output, service_tier, stored_at)
    values (${id}, ${given.accountId}, ${given.keyId}, ${given.model}, ${given.channel}, 'chat', true, 'reported',
      ${given.cost}, 200, ${given.state}, ${new Date(given.at).toISOString()}::text::timestamptz, 1, 1, ${uncached}, ${read}, ${short}, ${long}, ${text},
      ${reasoning}, ${heard}, ${said}, ${given.tier}, clock_timestamp())`
  return id
}

const SMALL: Stored = {
  at: START,
  accountId: 1,
  keyId: 1,
  model: 'a',
  channel: null,
  tier: null,
  cost: 5n,
  state: 'complete',
  tokens: [1, 0, 0, 0, 2, 0, 0, 0],
}

/** The plain sums over the rows, in the words that the totals have. */
async function plainSums(edges: readonly number[], accountId: number | undefined, by: UsageDimension) {
  const column = {
    model: 'model',
    key: 'key_id',
    account: 'account_id',
    channel: 'channel',
    service_tier: 'service_tier',
  }[by]
  const whose = accountId === undefined ? sql`true` : sql`account_id = ${accountId}`
  const sums = edges.slice(0, -1).map(async (from, place) => {
    const to = edges[place + 1] ?? from
    const rows = await sql<Record<string, string>[]>`
      select ${place}::integer as place, coalesce(${sql.unsafe(column)}::text, '') as id, count(*) as requests,
        count(*) filter (where end_state <> 'complete') as failed, coalesce(sum(cost_nano), 0) as spend,
        sum(input_uncached + cache_read + cache_write5m + cache_write1h + audio_input) as input,
        sum(cache_read) as cached, sum(output_text + reasoning + audio_output) as output
      from exchange
      where ${whose} and id >= ${firstIdAt(new Date(from))} and id < ${firstIdAt(new Date(to))} group by 2`
    return rows.map(plain)
  })
  return (await Promise.all(sums)).flat().sort()
}

/** Those of one place and id together. */
function merged(sums: readonly UsageSum[]): string[] {
  const groups = Map.groupBy(sums, ({ place, id }) => `${place} ${id}`)
  return [...groups.values()]
    .map(group => {
      const { place = 0, id = '' } = group[0] ?? {}
      const sum = (name: (typeof COUNTED)[number]) => group.reduce((total, one) => total + one[name], 0n)
      return { place, id, ...Object.fromEntries(COUNTED.map(name => [name, sum(name)])) }
    })
    .map(plain)
    .sort()
}

const COUNTED = ['requests', 'failed', 'spend', 'input', 'cached', 'output'] as const

function plain(sum: Record<string, unknown>): string {
  return ['place', 'id', ...COUNTED].map(name => `${name} ${sum[name]}`).join(', ')
}

test('whatever is stored, charged later or deleted, added up or not: sums are those of the rows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async steps => {
      await sql`delete from exchange`
      const ids: string[] = []
      for (const one of steps) {
        if (one.do === 'store') ids.push(await store(one.row))
        else if (one.do === 'add up') await addUpUsage(database, 0)
        else if (one.do === 'ask') {
          const sums = merged(await sumUsage(database, one))
          expect(sums).toEqual(await plainSums(one.edges, one.accountId, one.by))
        } else {
          const id = ids[one.which % Math.max(1, ids.length)]
          if (id === undefined) continue
          if (one.do === 'charge')
            await sql`update exchange set cost_nano = 7, model = 'c', service_tier = 'fast' where id = ${id}`
          else await sql`delete from exchange where id = ${id}`
        }
      }
    }),
    { numRuns: 40 },
  )
}, 180_000)

test.each([0, 1])(
  'of more than are told apart the database answers the largest, and one sum of all others (%p of 2 hours added up)',
  async hoursAddedUp => {
    await sql`delete from exchange`
    const HOUR_MS = 3_600_000
    for (const hour of [0, 1]) {
      for (const accountId of [1, 2, 3, 4, 5]) {
        await store({ ...SMALL, at: START + hour * HOUR_MS, accountId, cost: BigInt(accountId) })
      }
      if (hour < hoursAddedUp) await addUpUsage(database, 0)
    }
    const edges = [START, START + HOUR_MS, START + 2 * HOUR_MS]
    const sums = await sumUsage(database, { accountId: undefined, edges, by: 'account', most: 2 })
    expect(sums.map(({ place, id, requests, spend }) => [place, id, requests, spend])).toEqual([
      [0, '5', 1n, 5n],
      [1, '5', 1n, 5n],
      [0, '4', 1n, 4n],
      [1, '4', 1n, 4n],
      [0, null, 3n, 6n],
      [1, null, 3n, 6n],
    ])
  },
)

test('a question is planned for its own bounds, however often one is asked', async () => {
  const alone = connect(database.url, { max: 1 })
  const edges = [START, START + SPAN_MS]
  for (let asked = 0; asked < 7; asked += 1)
    await sumUsage(alone, { accountId: 1, edges, by: 'key', most: 2 })
  const [plans] = await alone.sql`
    select sum(custom_plans)::int as own, sum(generic_plans)::int as general from pg_prepared_statements
    where statement like ${'%usage_of(e)%'}`
  await alone.close()
  expect(plans).toEqual({ own: 7, general: 0 })
})

test('of several who add up at the same time one does', async () => {
  await sql`delete from exchange`
  for (let stored = 0; stored < 3; stored += 1) await store(SMALL)
  await Promise.all([1, 2, 3, 4].map(() => addUpUsage(database, 0)))
  const [total] = await sql`select requests::int, cost_nano::int as spend from usage_total
    where account_id = 1 and at = ${new Date(START).toISOString()}::text::timestamptz and requests > 0`
  expect(total).toEqual({ requests: 3, spend: 15 })
})

test.each<[string, () => Promise<unknown>]>([
  ['who adds up as well counts nothing twice', () => addUpUsage(database, 0)],
  [
    'what is charged is counted',
    () => sql`update exchange set cost_nano = cost_nano + 7 where cost_nano = 5`.execute(),
  ],
])('while somebody adds up, %s', async (_, act) => {
  await sql`delete from exchange`
  await store(SMALL)
  const first = await sql.reserve()
  await first`begin`
  await first`select usage_add_up('0')`
  const acting = act()
  await until(async () => {
    const waiting = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.length > 0
  })
  await first`commit`
  first.release()
  await acting
  const [total] =
    await sql`select sum(requests)::int as requests, sum(cost_nano)::int as spend from usage_total`
  const [row] = await sql`select cost_nano::int as spend from exchange`
  expect(total).toEqual({ requests: 1, spend: row?.['spend'] })
  expect(await audited()).toMatchObject({ count: 0 })
})

test('what was stored within the margin is left until it is older', async () => {
  await sql`delete from exchange`
  await sql`delete from usage_total`
  await store(SMALL)
  for (const [marginMs, requests] of [
    [60_000, 0],
    [0, 1],
  ] as const) {
    await addUpUsage(database, marginMs)
    const [total] = await sql`select coalesce(sum(requests), 0)::int as requests from usage_total`
    expect(total).toEqual({ requests })
  }
})

test('a process that ends adds up no more than the day that it is at', async () => {
  await sql`delete from exchange`
  await sql`update usage_progress set stored_before = '-infinity'`
  await store(SMALL)
  await sql`update exchange set stored_at = now() - interval '30 days'`
  const end = keepAddingUpUsage({
    database,
    clock: manualClock(),
    log: createLog({ level: 'error', format: 'json' }),
  })
  await end()
  const [progress] = await sql<{ days: number }[]>`
    select round(extract(epoch from now() - stored_before) / 86400)::integer as days from usage_progress`
  expect(progress?.days).toBe(29)
})

async function audited() {
  const { checks } = await audit(database.url)
  return checks.find(({ name }) => name === 'usage_totals')
}

test('a row whose commit takes longer than any margin is added up when it is there', async () => {
  await sql`delete from exchange`
  await store(SMALL)
  const writer = await sql.reserve()
  await writer`begin`
  await writer`insert into exchange (id, account_id, key_id, model, surface, streamed, usage_source, cost_nano, status, end_state,
      started_at, total_ms, attempts, stored_at)
    select gen_random_uuid(), account_id, key_id, model, surface, streamed, usage_source, cost_nano, status, end_state,
      started_at, total_ms, attempts, clock_timestamp() from exchange`
  await store(SMALL)
  await addUpUsage(database, 0)
  await writer`commit`
  writer.release()
  await addUpUsage(database, 0)
  const [total] =
    await sql`select sum(requests)::int as requests, sum(cost_nano)::int as spend from usage_total`
  expect(total).toEqual({ requests: 3, spend: 15 })
  expect(await audited()).toMatchObject({ count: 0 })
})

test('what is stored after the clock was ahead and was set back is added up as well', async () => {
  await sql`delete from exchange`
  await sql`update usage_progress set stored_before = '-infinity'`
  await sql`delete from usage_total`
  await store(SMALL)
  await addUpUsage(database, 0)
  await sql`update usage_progress set stored_before = now() + interval '1 day'`
  await store(SMALL)
  await addUpUsage(database, 0)
  const [total] = await sql`select sum(requests)::int as requests from usage_total`
  expect(total).toEqual({ requests: 2 })
  expect(await audited()).toMatchObject({ count: 0 })
})

test('so is what a clock wrote that was set back by half a minute more than what is left each time', async () => {
  await sql`delete from exchange`
  await sql`update usage_progress set stored_before = '-infinity'`
  await sql`delete from usage_total`
  await store(SMALL)
  await sql`update exchange set stored_at = now() - interval '1 hour'`
  await addUpUsage(database)
  await store(SMALL)
  await sql`update exchange set stored_at = now() - interval '50 seconds' where stored_at > now() - interval '1 minute'`
  // What was added up by a clock that was 15.5 minutes ahead, and was set back a minute ago.
  await sql`update usage_progress set stored_before = now() - interval '30 seconds'`
  await addUpUsage(database)
  await addUpUsage(database, 0)
  const [total] = await sql`select sum(requests)::int as requests from usage_total`
  expect(total).toEqual({ requests: 2 })
  expect(await audited()).toMatchObject({ count: 0 })
})

test.each([
  ['a request too many', 'update usage_total set requests = requests + 1', 0n],
  ['a cost too small', 'update usage_total set cost_nano = cost_nano - 2', 2n],
  ['a token of another kind', 'update usage_total set input = input + 1, output = output - 1', 0n],
  ['a row that is not counted', 'delete from usage_total', 5n],
  ['a sum of nothing', "update usage_total set model = 'b'", 10n],
])('the audit finds %s', async (_what, change, differenceNano) => {
  await sql`delete from exchange`
  await sql`delete from usage_total`
  await store(SMALL)
  await addUpUsage(database, 0)
  expect(await audited()).toMatchObject({ count: 0 })
  await sql.unsafe(change)
  const found = await audited()
  expect(found?.differenceNano).toBe(differenceNano)
  expect(found?.first[0]).toStartWith('account 1, key 1, model ')
})

test('what is changed after it was added up, or not added up yet, is no finding', async () => {
  await sql`delete from exchange`
  await sql`delete from usage_total`
  await store(SMALL)
  await addUpUsage(database, 0)
  await sql`update exchange set cost_nano = 9, model = 'c'`
  await store(SMALL)
  expect(await audited()).toMatchObject({ count: 0 })
  await sql`delete from exchange`
  expect(await audited()).toMatchObject({ count: 0 })
})
