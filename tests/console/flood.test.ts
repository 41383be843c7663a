import { afterAll, expect, test } from 'bun:test'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'

const { gateway, site } = await fileConsole()
const greedy = await site.signUp('greedy@example.com')
const other = await site.signUp('other@example.com')
/** Beside the gateway's own connections, of which a test has five. */
const beside = connect(gateway.database.url, { max: 2 })
afterAll(() => beside.close())
const QUESTION = '{"model":"messages/echo","messages":[{"role":"user","content":"hello"}]}'

test.each([
  ['charts', 'GET /api/usage', 'usage_total'],
  ['sums', 'GET /api/overview', 'usage_total'],
  ['pages of the log', 'GET /api/requests', 'exchange'],
  ['files of the log', 'GET /api/requests.csv', 'exchange'],
] as const)('who asks for many %s at once takes the database from nobody', async (_, route, table) => {
  // A key that the gateway does not know yet: it has to look.
  const { secret } = await site.call(other, 'POST /api/keys', { body: { name: 'new' } })
  const { sql } = beside
  const lock = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const slow = sql.begin(async tx => {
    await tx`lock table ${sql(table)} in access exclusive mode`
    locked.resolve()
    await lock.promise
  })
  await locked.promise
  const asked = Array.from({ length: 30 }, async () => {
    const answer = await site.send(greedy, route)
    await answer.text()
    return answer.status
  })
  const waiting = async () => {
    const [row] = await sql`select count(*)::int as count from pg_locks
      where not granted and relation = ${table}::regclass`
    return row?.['count'] === 4
  }
  await until(waiting)
  const answer = await gateway.post('/v1/chat/completions', QUESTION, { key: secret })
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hello')])
  expect((await site.send(other, 'GET /api/keys')).status).toBe(200)
  expect(await waiting()).toBe(true)
  lock.resolve()
  await slow
  expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
})
