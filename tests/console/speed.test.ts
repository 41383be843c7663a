import { expect, test } from 'bun:test'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { least, msOf } from '#tests/support/least.ts'
import { addUpUsage } from '@/console/requests/usage-totals.ts'

const ROWS = 100_000

const { gateway, site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')
const { key } = await site.call(owner, 'POST /api/keys', { body: { name: 'k' } })
// The last 30 days, evenly; ids as requests have them.
await gateway.database.sql`
  insert into exchange (id, account_id, key_id, model, channel, surface, streamed, input_uncached, output_text,
    usage_source, cost_nano, cost_pico, status, end_state, started_at, total_ms, attempts, stored_at)
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(
      int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
    ${owner.accountId}::bigint, ${key.id}::bigint, 'model-' || n % 30, 'chat', 'chat', true, 100, 50, 'reported',
    1000 + n, (1000 + n) * 1000, case when n % 50 = 0 then 429 else 200 end,
    case when n % 50 = 0 then 'refused' else 'complete' end, at, 900, 1, at
  from generate_series(1, ${ROWS}::integer) n, lateral (select now() - n * interval '25 seconds' as at) t`
await gateway.database.sql`analyze exchange`
// As a deployment has that has run those days.
await addUpUsage(gateway.database)

test.each([
  ['GET /api/overview', {}],
  ['GET /api/usage', { query: { bucket: 'day' } }],
  ['GET /api/usage', { query: { by: 'key', bucket: 'day' } }],
  ['GET /api/requests', { query: { limit: 100 } }],
  ['GET /api/requests', { query: { status: '429' } }],
  ['GET /api/requests', { query: { model: 'model-that-nobody-called' } }],
  ['GET /api/admin/requests', { query: { status: '5xx' } }],
  ['GET /api/admin/requests', { query: { channel: 'none' } }],
  ['GET /api/admin/usage', { query: { by: 'account', bucket: 'day' } }],
  ['GET /api/billing/statements', {}],
  ['GET /api/admin/system', {}],
] as const)('%s %j answers within a second of 100,000 requests', async (name, input) => {
  await site.send(owner, name, input)
  const answer = () =>
    msOf(async () => {
      const response = await site.send(owner, name, input)
      await response.text()
      expect(response.status).toBe(200)
    })
  expect(await least(1_000, answer)).toBeLessThan(1_000)
})

test.each([
  ['numbers', '1,'.repeat(4_000_000)],
  ['objects', '{},'.repeat(2_600_000)],
  ['texts with escapes', '"\\u0041",'.repeat(800_000)],
])(
  'a body of millions of %s is refused within two seconds, in which nobody else is answered',
  async (_, parts) => {
    const body = `{"name":[${parts}1]}`
    const headers = { 'content-type': 'application/json' }
    const refusal = () =>
      msOf(async () => {
        const answer = await site.send(owner, 'POST /api/keys', {}, { body, headers })
        expect([answer.status, await answer.text()]).toEqual([
          400,
          expect.stringContaining('invalid_request'),
        ])
      })
    expect(await least(2_000, refusal)).toBeLessThan(2_000)
  },
)

test('a long answer is packed for whoever takes that, and says the same', async () => {
  const input = { query: { limit: 100, status: '429' } }
  const answers = await Promise.all(
    ['gzip', 'identity', 'br, gzip;q=0'].map(async encoding => {
      const init = { headers: { 'accept-encoding': encoding }, decompress: false }
      const answer = await site.send(owner, 'GET /api/requests', input, init)
      const sent = new Uint8Array(await answer.arrayBuffer())
      return { headers: answer.headers, sent }
    }),
  )
  const [zipped, plain, refused] = answers
  if (zipped === undefined || plain === undefined) throw new Error('there are three')
  expect(zipped.headers.get('content-encoding')).toBe('gzip')
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(refused?.sent).toEqual(plain.sent)
  for (const name of ['content-type', 'cache-control', 'content-security-policy', 'x-content-type-options'])
    expect([name, zipped.headers.get(name)]).toEqual([name, plain.headers.get(name)])
  expect(zipped.sent.length).toBeLessThan(plain.sent.length / 4)
  expect(Buffer.from(Bun.gunzipSync(zipped.sent)).equals(plain.sent)).toBe(true)
})

test('usage by day counts each request once, on its day, whoever made it', async () => {
  const { buckets, series, totals } = await site.call(owner, 'GET /api/usage', { query: { by: 'key' } })
  const rows = await gateway.database.sql<{ day: string; requests: bigint }[]>`
    select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*) as requests from exchange
    where started_at >= now() - interval '30 days' group by 1`
  const stored = new Map(rows.map(({ day, requests }) => [day, Number(requests)]))
  // Both edges move while this runs: the whole days between them do not.
  for (const [place, bucket] of [...buckets.entries()].slice(1, -1)) {
    const sum = series.reduce((total, { requests }) => total + (requests[place] ?? 0), 0)
    expect(sum).toBe(stored.get(bucket.slice(0, 10)) ?? 0)
  }
  expect(series.flatMap(({ requests }) => requests).reduce((sum, one) => sum + one, 0)).toBe(totals.requests)
})

test('the file of the log has each request under its conditions once, newest first', async () => {
  const response = await site.send(owner, 'GET /api/requests.csv', { query: { status: '429' } })
  expect(response.headers.get('content-type')).toStartWith('text/csv')
  const [headings, ...lines] = (await response.text()).trimEnd().split('\r\n')
  expect(headings).toStartWith('started,id,account,key,model')
  const ids = lines.map(line => line.split(',')[1] ?? '')
  expect(ids).toHaveLength(ROWS / 50)
  expect(new Set(ids).size).toBe(ROWS / 50)
  expect(ids).toEqual(ids.toSorted().toReversed())
  expect(lines.every(line => line.includes(',429,refused,'))).toBe(true)
})

test('the file of the log of all accounts is narrowed to the account it is asked for', async () => {
  const query = { model: 'model-20', status: '429' }
  const [all, none] = await Promise.all(
    [owner.accountId, owner.accountId + 1].map(async account_id => {
      const answer = await site.send(owner, 'GET /api/admin/requests.csv', {
        query: { ...query, account_id },
      })
      return (await answer.text()).trimEnd().split('\r\n').slice(1)
    }),
  )
  expect(none).toEqual([])
  const ids = await gateway.database.sql`select id from exchange where model = 'model-20' and status = 429`
  expect(ids.length).toBeGreaterThan(0)
  expect(all).toHaveLength(ids.length)
})

test('pages of the log follow one another without a gap or a repetition', async () => {
  const seen: string[] = []
  let cursor: string | null = null
  for (let page = 0; page < 5; page += 1) {
    const query: { limit: number; cursor?: string } = cursor === null ? { limit: 50 } : { limit: 50, cursor }
    const answer = await site.call(owner, 'GET /api/requests', { query })
    seen.push(...answer.items.map(({ id }) => id))
    cursor = answer.next
  }
  expect(new Set(seen).size).toBe(250)
  expect(seen).toEqual(seen.toSorted().reverse())
})
