import { expect, test } from 'bun:test'
import { PASSWORD, type Visitor } from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { audit } from '@/ledger/audit.ts'

const { gateway, site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')

const reason = 'as the holder asked'

function close(account: Visitor) {
  return site.call(owner, 'POST /api/admin/accounts/:id/close', {
    params: { id: account.accountId },
    body: { reason },
  })
}

async function signIn({ email }: Visitor): Promise<number> {
  return (await site.send(undefined, 'POST /api/session', { body: { email, password: PASSWORD } })).status
}

function ask(key: string): Promise<Response> {
  return gateway.post(
    '/v1/chat/completions',
    '{"model":"chat/echo","messages":[{"role":"user","content":"hello"}]}',
    { key },
  )
}

async function lastAct() {
  return (await site.call(owner, 'GET /api/admin/log', { query: { limit: 1 } })).items[0]
}

test('a closed account serves nobody, and keeps what it has to answer for', async () => {
  const holder = await site.signUp('ada@example.com')
  const { secret } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
  const served = await ask(secret)
  expect(served.status).toBe(200)
  await served.text()
  await gateway.server.flush()
  const before = await site.call(holder, 'GET /api/overview', { query: {} })

  const closed = await close(holder)
  expect(closed).toMatchObject({ status: 'closed', user: { status: 'disabled' } })
  expect(closed.balance).toBe(before.balance)
  expect(await lastAct()).toMatchObject({
    action: 'account.close',
    before: { status: 'active', balance: before.balance },
    after: { status: 'closed', reason },
  })
  await until(async () => (await ask(secret)).status === 401, 10_000)
  expect((await site.fail(holder, 'GET /api/overview')).status).toBe(401)
  expect(await signIn(holder)).toBe(401)

  const params = { id: holder.accountId }
  const kept = await site.call(owner, 'GET /api/admin/accounts/:id/entries', { params, query: {} })
  expect(kept.items.map(({ kind }) => kind)).toEqual(['usage', 'trial'])
  const requests = await site.call(owner, 'GET /api/admin/requests', {
    query: { account_id: holder.accountId },
  })
  // One that came before the closing was heard of may have been refused by the ledger.
  expect(requests.items.filter(({ status }) => status === 200)).toHaveLength(1)
})

test('nobody gets into a closed account by a link, a sign-up or another administrator', async () => {
  const holder = await site.signUp('back-door@example.com')
  const invite = { body: { email: holder.email, role: 'admin', password: PASSWORD } } as const
  const { url } = await site.call(owner, 'POST /api/admin/users/invite', invite)
  await close(holder)
  const accept = (link: string) => ({
    body: { token: link.split('#')[1] ?? '', password: 'another good password' },
  })
  expect((await site.fail(undefined, 'POST /api/links/accept', accept(url))).status).toBe(404)
  const late = await site.call(owner, 'POST /api/admin/users/invite', invite)
  expect((await site.fail(undefined, 'POST /api/links/accept', accept(late.url))).status).toBe(404)
  const id = { params: { id: holder.userId }, body: { password: PASSWORD } }
  expect(await site.fail(owner, 'POST /api/admin/users/:id/enable', id)).toMatchObject({ code: 'refused' })
  expect(await signIn(holder)).toBe(401)

  const body = { email: 'nobody-yet@example.com', credit: '1.00' }
  const { account } = await site.call(owner, 'POST /api/admin/accounts', { body })
  await close({ ...holder, accountId: account.id })
  const params = { id: account.id }
  const again = { params, body: { password: PASSWORD } }
  expect(await site.fail(owner, 'POST /api/admin/accounts/:id/invite', again)).toMatchObject({
    code: 'refused',
  })
  const email = { body: { email: body.email, role: 'admin', password: PASSWORD } } as const
  const made = await site.call(owner, 'POST /api/admin/users/invite', email)
  expect(await site.fail(undefined, 'POST /api/links/accept', accept(made.url))).toMatchObject({
    code: 'refused',
  })
})

test('a reopened account lets its holder in again, with what it had and without its keys', async () => {
  const holder = await site.signUp('again@example.com')
  const { key, secret } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
  const play = async (visitor: Visitor) => {
    const messages = [{ role: 'user', content: 'hello' }]
    const body = { path: '/v1/chat/completions', body: { model: 'chat/echo', messages } }
    const answer = await site.send(visitor, 'POST /api/playground', { body })
    await answer.text()
    return answer.status
  }
  expect(await play(holder)).toBe(200)
  await gateway.server.flush()
  const { balance } = await close(holder)
  const params = { id: holder.accountId }
  const reopening = { params, body: { reason, password: PASSWORD } }
  const reopened = await site.call(owner, 'POST /api/admin/accounts/:id/reopen', reopening)
  expect(reopened).toMatchObject({ status: 'active', balance, user: { status: 'active' } })
  expect((await site.fail(holder, 'GET /api/overview')).status).toBe(401)
  const body = { email: holder.email, password: PASSWORD }
  const again = await site.send(undefined, 'POST /api/session', { body })
  expect((await ask(secret)).status).toBe(401)
  // The console's own key for its playground is another one.
  const cookie = again.headers.get('set-cookie')?.split(';')[0]
  await until(async () => (await play({ ...holder, cookie })) === 200)
  const keys = await site.call(owner, 'GET /api/admin/accounts/:id/keys', { params, query: {} })
  expect(keys.items).toMatchObject([{ id: key.id, status: 'revoked' }])
  expect(await site.fail(owner, 'POST /api/admin/accounts/:id/reopen', reopening)).toMatchObject({
    code: 'refused',
  })
})

test('the holder of a closed account is forgotten for good, once nothing is left, and the books stay', async () => {
  const holder = await site.signUp('forget-me@example.com')
  const { secret } = await site.call(holder, 'POST /api/keys', {
    body: { name: "forget-me's laptop", allow_ips: ['127.0.0.0/8', '198.51.100.77'] },
  })
  const served = await ask(secret)
  expect(served.status).toBe(200)
  await served.text()
  await gateway.server.flush()
  await site.call(owner, 'POST /api/admin/users/:id/reset-link', {
    params: { id: holder.userId },
    body: { password: PASSWORD },
  })
  const params = { id: holder.accountId }
  const order = { params, body: { reason } }
  const confirmed = { params, body: { reason, password: PASSWORD } }
  const erase = () => site.fail(owner, 'POST /api/admin/accounts/:id/erase', order)
  expect(await erase()).toMatchObject({ status: 409, message: expect.stringContaining('not closed') })
  await close(holder)
  expect(await erase()).toMatchObject({ status: 409, message: expect.stringContaining('balance') })
  const body = { as: 'refund', reason } as const
  await site.call(owner, 'POST /api/admin/accounts/:id/pay-out', { params, body })
  const entries = () =>
    site.call(owner, 'GET /api/admin/accounts/:id/entries', { params, query: {} }).then(({ items }) => items)
  const before = await entries()

  const erased = await site.call(owner, 'POST /api/admin/accounts/:id/erase', order)
  expect(erased).toMatchObject({ status: 'closed', user: null })
  expect(await lastAct()).toMatchObject({ action: 'account.erase', after: { reason } })
  const tables = await gateway.database.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'admin_act'`
  expect(tables.length).toBeGreaterThan(20)
  for (const { name } of tables) {
    const [found] = await gateway.database.sql.unsafe<{ count: bigint }[]>(
      `select count(*) as count from "${name}" t where t::text like '%forget-me%' or t::text like '%198.51.100.77%'`,
    )
    expect({ name, count: found?.count }).toEqual({ name, count: 0n })
  }
  expect(await entries()).toEqual(before)
  expect(
    (
      await audit(gateway.database.url, {
        sinceCheckpoint: false,
        by: 'test',
        accountId: holder.accountId,
      })
    ).ok,
  ).toBe(true)

  expect(await erase()).toMatchObject({ status: 409, message: expect.stringContaining('already') })
  expect(await site.fail(owner, 'POST /api/admin/accounts/:id/reopen', confirmed)).toMatchObject({
    status: 409,
    message: expect.stringContaining('erased'),
  })
  expect(await signIn(holder)).toBe(401)
  // The address is free for whoever it belongs to.
  const again = await site.signUp('forget-me@example.com')
  expect(again.accountId).not.toBe(holder.accountId)
})

test('what is left of a closed account is paid out whole, once, and the books hold', async () => {
  const holder = await site.signUp('rest@example.com')
  const params = { id: holder.accountId }
  const payOut = (as: 'refund' | 'debit' | 'write_off') => ({ params, body: { as, reason } })
  const route = 'POST /api/admin/accounts/:id/pay-out'
  expect(await site.fail(owner, route, payOut('refund'))).toMatchObject({ code: 'refused' })
  const { balance } = await close(holder)
  expect(await site.fail(owner, route, payOut('write_off'))).toMatchObject({ code: 'refused' })
  expect((await site.call(owner, route, payOut('refund'))).balance).toBe('0.000000000')
  expect(await lastAct()).toMatchObject({ before: { balance }, after: { as: 'refund', reason } })
  expect(await site.fail(owner, route, payOut('refund'))).toMatchObject({ code: 'refused' })

  // What somebody took back from their bank after that is a debt.
  await site.call(owner, 'POST /api/admin/accounts/:id/debit', { params, body: { amount: '2', reason } })
  expect(await site.fail(owner, route, payOut('refund'))).toMatchObject({ code: 'refused' })
  expect((await site.call(owner, route, payOut('write_off'))).balance).toBe('0.000000000')
  const credit = { params, body: { amount: '1', reason } }
  expect(await site.fail(owner, 'POST /api/admin/accounts/:id/credit', credit)).toMatchObject({
    code: 'refused',
  })
  const report = await audit(gateway.database.url, {
    sinceCheckpoint: false,
    by: 'test',
    accountId: holder.accountId,
  })
  expect(report.ok).toBe(true)
})

test('a holder asks for the end with their password, may take it back, and an administrator sees who asks', async () => {
  const holder = await site.signUp('asks@example.com')
  const asking = async () => {
    const query = { asks_to_close: true }
    return (await site.call(owner, 'GET /api/admin/accounts', { query })).items.map(({ email }) => email)
  }
  expect(await site.fail(holder, 'POST /api/me/closing', { body: { password: 'wrong' } })).toMatchObject({
    code: 'wrong_credentials',
  })
  expect(await asking()).toEqual([])
  const body = { password: PASSWORD }
  const { requested_at } = await site.call(holder, 'POST /api/me/closing', { body })
  expect(await site.call(holder, 'GET /api/me/closing', {})).toEqual({ requested_at })
  expect(await asking()).toEqual([holder.email])
  await site.call(holder, 'DELETE /api/me/closing', {})
  expect(await asking()).toEqual([])
  await site.call(holder, 'POST /api/me/closing', { body })
  await close(holder)
  expect(await asking()).toEqual([])
})

test('who administers is not closed out, and closes nobody who does', async () => {
  const admin = await site.signUp('admin@example.com', 'admin')
  const params = { id: owner.accountId }
  for (const visitor of [admin, owner]) {
    expect(
      await site.fail(visitor, 'POST /api/admin/accounts/:id/close', { params, body: { reason } }),
    ).toMatchObject({ code: 'refused' })
  }
  expect(await site.fail(admin, 'POST /api/me/closing', { body: { password: PASSWORD } })).toMatchObject({
    code: 'refused',
  })
  expect((await site.call(owner, 'GET /api/overview', { query: {} })).status).toBe('active')
})
