import { expect, test } from 'bun:test'
import type { Visitor } from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { randomOf } from '#tests/support/random.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { readStatements } from '@/console/money/statements.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import { audit } from '@/ledger/audit.ts'

const { gateway, site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')
const ada = await site.signUp('ada@example.com')
const keyId = (await site.call(ada, 'POST /api/keys', { body: { name: 'k' } })).key.id

/** A request that began at one moment and was charged at another, as the ledger writes it. */
async function charged(
  began: string,
  paid: string,
  nano: bigint,
  model: string,
  tier: ServiceTier | null = null,
): Promise<void> {
  const time = new Date(began).getTime().toString(16).padStart(12, '0')
  const id = `${time.slice(0, 8)}-${time.slice(8)}${Bun.randomUUIDv7().slice(13)}`
  await gateway.database.sql.begin(async sql => {
    await sql`
      insert into exchange (id, account_id, key_id, model, channel, surface, streamed, usage_source, cost_nano, cost_pico,
        status, end_state, started_at, total_ms, attempts, service_tier)
      values (${id}, ${ada.accountId}, ${keyId}, ${model}, 'chat', 'chat', true, 'reported', ${nano},
        ${String(nano * 1000n)}, 200, 'complete', ${began}::text::timestamptz, 1, 1, ${tier})`
    await sql`
      insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico, created_at)
      select ${id}, 'usage', ${ada.accountId}, max(seq) + 1, ${-nano}, 0, ${String(nano * 1000n)},
        ${paid}::text::timestamptz from entry where account_id = ${ada.accountId}`
  })
}

async function cellsOf(visitor: Visitor, month: string): Promise<string[]> {
  const page = await site.send(visitor, 'GET /api/billing/statements/:month', { params: { month } })
  expect(page.status).toBe(200)
  return [...(await page.text()).matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, text = '']) => text)
}

test('a request that runs over the end of a month is wholly in the month that paid for it', async () => {
  await charged('2025-03-31T23:59:59.900Z', '2025-03-31T23:59:59.999Z', 1n, 'early')
  await charged('2025-03-31T23:59:59.990Z', '2025-04-01T00:00:00.000Z', 20_000_001n, 'late')
  const march = await cellsOf(ada, '2025-03')
  expect(march).toContain('early')
  expect(march).not.toContain('late')
  const april = await cellsOf(ada, '2025-04')
  expect(april).not.toContain('early')
  // Model by model, all of them together, and as one movement: it is the same to the last digit.
  const usage = ['late', '1', '0.020000001', 'All models', '1', '0.020000001']
  expect(april.slice(april.indexOf('late'))).toEqual([...usage, '', 'Requests', '1 request', '-0.020000001'])
})

test('what was spent in a service tier is told apart, on the statement and in the file of the log', async () => {
  for (const [nano, tier] of [
    [3n, 'priority'],
    [40n, null],
    [500n, 'priority'],
  ] as const) {
    await charged('2025-02-10T10:00:00Z', '2025-02-10T10:00:01Z', nano, 'tiered', tier)
  }
  const lines = ['tiered (priority)', '2', '0.000000503', 'tiered', '1', '0.000000040']
  const cells = await cellsOf(ada, '2025-02')
  expect(cells.slice(cells.indexOf('tiered (priority)'))).toEqual([
    ...lines,
    ...['All models', '3', '0.000000543'],
    ...['', 'Requests', '3 requests', '-0.000000543'],
  ])
  const query = { from: '2025-02-10T00:00:00Z', to: '2025-02-11T00:00:00Z' }
  const log = await site.send(ada, 'GET /api/requests.csv', { query })
  const [headings = '', ...rows] = (await log.text()).trimEnd().split('\r\n')
  expect(headings.split(',').slice(-2)).toEqual(['service tier', 'currency'])
  const ends = rows.map(row => row.split(',').slice(-2).join(' '))
  expect(ends.toSorted()).toEqual([' USD', 'priority USD', 'priority USD'])
})

test('a statement calls what moved what the pages call it', async () => {
  const kinds = { promo: '2.00', usage_trueup: '-0.25', usage_refund: '0.50' }
  for (const [kind, amount] of Object.entries(kinds)) {
    await gateway.database.sql`
      insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico, ref, created_at)
      select ${Bun.randomUUIDv7()}, ${kind}, ${ada.accountId}, max(seq) + 1, (${amount}::text::numeric * 1e9)::bigint, 0,
        case when ${kind}::text = 'usage_trueup' then 250000000000 end, ${`of ${kind}`}, '2025-05-10T10:00:00Z'::timestamptz
      from entry where account_id = ${ada.accountId}`
  }
  const cells = await cellsOf(ada, '2025-05')
  expect(cells.slice(cells.indexOf('2025-05-10 10:00'))).toEqual([
    ...['2025-05-10 10:00', 'Redeemed code', 'of promo', '2.000000000'],
    ...['2025-05-10 10:00', 'Request, corrected', 'of usage_trueup', '-0.250000000'],
    ...['2025-05-10 10:00', 'Request, refunded', 'of usage_refund', '0.500000000'],
  ])
})

test('the amounts of a statement have as many decimals as one of them needs, two at least', async () => {
  const cent = await site.signUp('cent@example.com')
  for (const [seq, amount, at] of [
    [1, '5', '2025-01-10'],
    [2, '-1.25', '2025-01-11'],
    [3, '-0.001', '2025-02-10'],
    [4, '0.5', '2025-02-11'],
  ] as const) {
    await gateway.database.sql`
      insert into entry (id, kind, account_id, seq, amount, balance_after, reason, created_at)
      values (${Bun.randomUUIDv7()}, ${amount.startsWith('-') ? 'debit' : 'topup'}, ${cent.accountId}, ${seq}, (${amount}::text::numeric * 1e9)::bigint, 0, 'r',
        ${at}::text::timestamptz)`
  }
  const sums = async (month: string) => (await cellsOf(cent, month)).filter(cell => /^-?\d+\.\d+$/.test(cell))
  expect(await sums('2025-01')).toEqual(['0.00', '5.00', '-1.25', '3.75', '5.00', '-1.25'])
  expect(await sums('2025-02')).toEqual(['3.750', '0.500', '-0.001', '4.249', '-0.001', '0.500'])
})

test('the file of a month has each of its entries once and in order, however many they are', async () => {
  const ids = Array.from({ length: 5001 }, () => Bun.randomUUIDv7())
  await gateway.database.sql`
    insert into entry (id, kind, account_id, seq, amount, balance_after, ref, reason, created_at)
    select id, 'topup', ${ada.accountId}, last + n, n, n, '=cmd()', 'line' || chr(10) || 'two',
      '2025-06-30T23:59:59Z'::timestamptz
    from (select max(seq) as last from entry where account_id = ${ada.accountId}) as known,
      unnest(${ids}::uuid[]) with ordinality as made(id, n)`
  for (const [visitor, name, params] of [
    [ada, 'GET /api/billing/entries.csv', {}],
    [owner, 'GET /api/admin/accounts/:id/entries.csv', { id: ada.accountId }],
  ] as const) {
    const query = { month: '2025-06' }
    const response = await site.send(visitor, name, { params, query })
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="entries-2025-06.csv"')
    const [headings, ...lines] = (await response.text()).split('\r\n')
    expect(headings).toBe('time,number,kind,amount,balance,reference,reason,id,currency')
    expect(lines.pop()).toBe('')
    expect(lines).toHaveLength(5001)
    const amounts = lines.map(line => line.split(',')[3])
    expect(amounts[0]).toBe('0.000000001')
    expect(amounts).toEqual(amounts.toSorted())
    expect(lines[0]).toContain(`,'=cmd(),"line\ntwo",`)
    expect(lines[0]).toEndWith(',USD')
    const next = await site.send(visitor, name, { params, query: { month: '2025-07' } })
    expect(await next.text()).toBe(`${headings}\r\n`)
  }
})

test('an administrator has the statements of every account, of which each holder has the own ones', async () => {
  const params = { id: ada.accountId }
  const { items } = await site.call(owner, 'GET /api/admin/accounts/:id/statements', { params })
  expect(items).toEqual((await site.call(ada, 'GET /api/billing/statements', {})).items)
  const printed = await site.send(owner, 'GET /api/admin/accounts/:id/statements/:month', {
    params: { ...params, month: '2025-04' },
  })
  const page = await printed.text()
  expect(page).toContain('ada@example.com')
  expect(page).toContain('<h1>Statement of April 2025</h1>')
  for (const month of ['2025-08', '2025-13']) {
    const none = await site.fail(owner, 'GET /api/admin/accounts/:id/statements/:month', {
      params: { ...params, month },
    })
    expect(none.status).toBe(404)
  }
})

/** Moments around the borders of months, of which UTC alone decides. */
const MOMENTS = [
  '2025-12-31T23:59:59.999999Z',
  '2026-01-01T00:00:00Z',
  '2026-01-31T20:00:00-04:00',
  '2026-02-01T00:30:00+01:00',
  '2026-02-28T23:59:59.9999Z',
  '2026-03-29T01:30:00Z',
  '2026-04-01T00:00:00.000001Z',
]

test('months are what their entries add up to, in whichever order those are dated and whoever counts them meanwhile', async () => {
  const { sql } = gateway.database
  const { accountId } = await site.signUp('bob@example.com')
  const bob = await site.call(owner, 'GET /api/admin/accounts/:id/statements', { params: { id: accountId } })
  expect(bob.items.map(({ entries }) => entries)).toEqual([1])
  const draw = randomOf(20_261_123)
  for (let round = 0; round < 25; round += 1) {
    const posted = Array.from({ length: 1 + draw(60) }, () => ({
      id: Bun.randomUUIDv7(),
      amount: (draw(2) === 0 ? -1n : 1n) * BigInt(1 + draw(2 ** 40)),
      at: MOMENTS[draw(MOMENTS.length)] ?? '',
    }))
    const post = sql`
      insert into entry (id, kind, account_id, seq, amount, balance_after, reason, created_at)
      select id, 'adjustment', ${accountId}, last + n, amount, 0, 'drawn', at
      from (select max(seq) as last from entry where account_id = ${accountId}) known,
        unnest(${posted.map(({ id }) => id)}::uuid[], ${posted.map(({ amount }) => String(amount))}::text[]::bigint[],
          ${posted.map(({ at }) => at)}::text[]::timestamptz[]) with ordinality as made(id, amount, at, n)`
    const count = () => sql`select ledger_total_months(${accountId}, ${1 + draw(50)})`
    await Promise.all([count(), post, count(), readStatements(gateway.database, accountId), count()])

    const sums = await sql<{ month: string; credits: string; debits: string; entries: string }[]>`
      select to_char(created_at at time zone 'UTC', 'YYYY-MM') as month, count(*)::text as entries,
        (coalesce(sum(amount) filter (where amount > 0), 0) / 1e9)::numeric(30, 9)::text as credits,
        (coalesce(sum(amount) filter (where amount < 0), 0) / 1e9)::numeric(30, 9)::text as debits
      from entry where account_id = ${accountId} group by 1 order by 1 desc`
    const items = await readStatements(gateway.database, accountId)
    expect(
      items.map(({ month, credits, debits, entries }) => ({
        month,
        entries: String(entries),
        credits,
        debits,
      })),
    ).toEqual([...sums])
    for (const [place, { opening }] of items.entries())
      expect(opening).toBe(items[place + 1]?.closing ?? '0.000000000')

    const { month = '', entries, opening, closing } = items[draw(items.length)] ?? {}
    const file = await site.send(owner, 'GET /api/admin/accounts/:id/entries.csv', {
      params: { id: accountId },
      query: { month },
    })
    const lines = (await file.text()).split('\r\n').slice(1, -1)
    expect(lines).toHaveLength(Number(entries))
    // Each balance is the one before it and the amount, from the end of the month before to that of this one.
    const nano = (text = '') => BigInt(text.replace('.', ''))
    let balance = nano(opening)
    for (const [, , , amount, after] of lines.map(line => line.split(','))) {
      balance += nano(amount)
      expect(nano(after)).toBe(balance)
    }
    expect(balance).toBe(nano(closing))
  }
  const { checks } = await audit(gateway.database.url)
  expect(checks.find(({ name }) => name === 'monthly_totals')?.count).toBe(0)
}, 60_000)

test('who counts months while somebody does counts nothing twice', async () => {
  const { sql } = gateway.database
  const holder = await site.signUp('months@example.com')
  const first = await sql.reserve()
  await first`begin`
  await first`select ledger_total_months(${holder.accountId}, 100)`
  const counting = sql`select ledger_total_months(${holder.accountId}, 100)`.execute()
  await until(async () => {
    const waiting = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%total_months%'`
    return waiting.length > 0
  })
  await first`commit`
  first.release()
  await counting
  const months = await sql`select entries::int, first_seq::int, last_seq::int from monthly_total
    where account_id = ${holder.accountId}`
  expect([...months]).toEqual([{ entries: 1, first_seq: 1, last_seq: 1 }])
})

test('whoever goes to a statement without being signed in is told so on a page, and a program in JSON', async () => {
  const input = { params: { month: '2025-03' } }
  const name = 'GET /api/billing/statements/:month'
  const page = await site.send(undefined, name, input, { headers: { 'sec-fetch-dest': 'document' } })
  expect(page.status).toBe(401)
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(await page.text()).toContain('<p>Sign in first.</p>')
  expect((await site.fail(undefined, name, input)).code).toBe('unauthenticated')
})
