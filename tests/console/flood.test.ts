import { afterAll, expect, test } from 'bun:test'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'

const { gateway, site } = await fileConsole()
const greedy = await site.signUp('greedy@example.com')
const other = await site.signUp('other@example.com')
const owner = await site.signUp('owner@example.com', 'owner')
/** Beside the gateway's own connections, of which a test has five. */
const beside = connect(gateway.database.url, { max: 2 })
afterAll(() => beside.close())
const QUESTION = '{"model":"messages/echo","messages":[{"role":"user","content":"hello"}]}'
const ROUTES = [
  ['charts', 'GET /api/usage', 'usage_total'],
  ['sums', 'GET /api/overview', 'usage_total'],
  ['pages of the log', 'GET /api/requests', 'exchange'],
  ['files of the log', 'GET /api/requests.csv', 'exchange'],
] as const
let chats = 0

test.each(ROUTES)('who asks for many %s at once takes the database from nobody', async (_, route, table) => {
  // A key that the gateway does not know yet: it has to look.
  const { secret } = await site.call(other, 'POST /api/keys', { body: { name: 'new' } })
  const { sql } = beside
  // The chats of the tests before are in the log: a row on its way there would wait for the lock as well.
  await until(async () => (await sql`select from exchange`).length === chats)
  chats += 1
  const lock = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const slow = sql.begin(async tx => {
    await tx`lock table ${sql(table)} in access exclusive mode`
    locked.resolve()
    await lock.promise
  })
  await locked.promise
  let refused = 0
  const asked = Array.from({ length: 30 }, async () => {
    const answer = await site.send(greedy, route)
    await answer.text()
    if (answer.status === 503) refused += 1
    return [answer.status, answer.headers.get('retry-after')]
  })
  /** Those who read; the row of this test's chat may wait to be written. */
  const waiting = async () => {
    const [row] = await sql`select count(*)::int as count from pg_locks
      where not granted and relation = ${table}::regclass and mode = 'AccessShareLock'
        and database = (select oid from pg_database where datname = current_database())`
    return row?.['count']
  }
  await until(async () => (await waiting()) === 2)
  // Two are read and twenty wait: the rest is refused at once, a file before it has begun.
  await until(() => refused === 8)
  const others = ROUTES.map(async ([, wanted]) => {
    const answer = await site.send(other, wanted)
    await answer.text()
    return answer.status
  })
  // Another's are read beside them, also two.
  await until(async () => (await waiting()) === 4)
  expect((await site.send(other, 'GET /api/keys')).status).toBe(200)
  const answer = await gateway.post('/v1/chat/completions', QUESTION, { key: secret })
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hello')])
  expect(await waiting()).toBe(4)
  lock.resolve()
  await slow
  expect((await Promise.all(asked)).toSorted()).toEqual([
    ...Array.from({ length: 22 }, () => [200, null]),
    ...Array.from({ length: 8 }, () => [503, '5']),
  ])
  expect(await Promise.all(others)).toEqual([200, 200, 200, 200])
})

const MONTH = new Date().toISOString().slice(0, 7)
const OF_MONTH = { params: { id: other.accountId, month: MONTH }, query: { month: MONTH } }

test.each([
  ['GET /api/billing/entries', {}],
  ['GET /api/billing/entries.csv', OF_MONTH],
  ['GET /api/billing/statements', {}],
  ['GET /api/billing/statements/:month', { params: OF_MONTH.params }],
  ['GET /api/admin/accounts/:id/entries', { params: OF_MONTH.params }],
  ['GET /api/admin/accounts/:id/entries.csv', OF_MONTH],
  ['GET /api/admin/accounts/:id/statements', { params: OF_MONTH.params }],
  ['GET /api/admin/accounts/:id/statements/:month', { params: OF_MONTH.params }],
] as const)(
  '%s, which may look at millions of entries, has its turn among charts and logs',
  async (route, input) => {
    const visitor = route.includes('admin') ? owner : other
    const turn = Promise.withResolvers<void>()
    // Two are read, and twenty wait.
    const charts = Array.from({ length: 22 }, () =>
      site.console.lookups.pass(visitor.accountId, () => turn.promise),
    )
    const refused = await site.send(visitor, route, input)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    turn.resolve()
    await Promise.all(charts)
    expect((await site.send(visitor, route, input)).status).toBe(200)
  },
)
