import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import {
  PASSWORD,
  type RouteName,
  startTestConsole,
  type TestConsole,
  type Visitor,
} from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { consoleRoutes } from '@/console/api/contract/api.ts'
import type { RouteContract } from '@/console/api/contract/route.ts'
import { createConsoleApi } from '@/console/console.ts'
import { connect } from '@/db/connect.ts'

/** Who may call a route, as it was decided; the contracts say the same, or one of the two is wrong. */
const TABLE: Record<RouteName, 'anyone' | 'holder' | 'reader' | 'admin' | 'owner'> = {
  'GET /api/deployment': 'anyone',
  'POST /api/session': 'anyone',
  'DELETE /api/session': 'anyone',
  'GET /api/sessions': 'holder',
  'DELETE /api/sessions/:id': 'holder',
  'DELETE /api/sessions': 'holder',
  'POST /api/signup': 'anyone',
  'POST /api/password-reset': 'anyone',
  'POST /api/links/inspect': 'anyone',
  'POST /api/links/accept': 'anyone',
  'PUT /api/me/password': 'holder',
  'POST /api/me/totp': 'holder',
  'POST /api/me/totp/confirm': 'holder',
  'POST /api/me/totp/remove': 'holder',
  'GET /api/me/closing': 'holder',
  'POST /api/me/closing': 'holder',
  'DELETE /api/me/closing': 'holder',
  'GET /api/keys': 'holder',
  'POST /api/keys': 'holder',
  'PATCH /api/keys/:id': 'holder',
  'POST /api/keys/:id/revoke': 'holder',
  'GET /api/overview': 'holder',
  'GET /api/usage': 'holder',
  'GET /api/usage.csv': 'holder',
  'GET /api/requests': 'holder',
  'GET /api/requests.csv': 'holder',
  'GET /api/requests/:id': 'holder',
  'GET /api/live/requests': 'holder',
  'GET /api/billing/entries': 'holder',
  'GET /api/billing/entries.csv': 'holder',
  'POST /api/billing/redeem': 'holder',
  'POST /api/billing/checkout': 'holder',
  'GET /api/billing/notice': 'holder',
  'PUT /api/billing/notice': 'holder',
  'GET /api/billing/statements': 'holder',
  'GET /api/billing/statements/:month': 'holder',
  'POST /api/stripe/webhook': 'anyone',
  'GET /api/models': 'holder',
  'POST /api/playground': 'holder',
  'GET /api/admin/accounts': 'reader',
  'POST /api/admin/accounts': 'admin',
  'GET /api/admin/accounts/:id': 'reader',
  'POST /api/admin/accounts/:id/invite': 'admin',
  'POST /api/admin/accounts/:id/credit': 'admin',
  'POST /api/admin/accounts/:id/debit': 'admin',
  'POST /api/admin/accounts/:id/suspend': 'admin',
  'POST /api/admin/accounts/:id/resume': 'admin',
  'POST /api/admin/accounts/:id/close': 'admin',
  'POST /api/admin/accounts/:id/reopen': 'admin',
  'POST /api/admin/accounts/:id/erase': 'admin',
  'POST /api/admin/accounts/:id/pay-out': 'admin',
  'PATCH /api/admin/accounts/:id/limits': 'admin',
  'PUT /api/admin/accounts/:id/models': 'admin',
  'GET /api/admin/accounts/:id/keys': 'reader',
  'GET /api/admin/accounts/:id/entries': 'reader',
  'GET /api/admin/accounts/:id/entries.csv': 'reader',
  'GET /api/admin/accounts/:id/statements': 'reader',
  'GET /api/admin/accounts/:id/statements/:month': 'reader',
  'POST /api/admin/keys/:id/revoke': 'admin',
  'PATCH /api/admin/keys/:id/limits': 'admin',
  'GET /api/admin/usage': 'reader',
  'GET /api/admin/usage.csv': 'reader',
  'GET /api/admin/requests': 'reader',
  'GET /api/admin/requests.csv': 'reader',
  'GET /api/admin/requests/:id': 'reader',
  'POST /api/admin/requests/:id/refund': 'admin',
  'GET /api/admin/live/requests': 'reader',
  'GET /api/admin/users': 'reader',
  'POST /api/admin/users/invite': 'owner',
  'PUT /api/admin/users/:id/role': 'owner',
  'POST /api/admin/users/:id/reset-link': 'admin',
  'POST /api/admin/users/:id/totp/remove': 'admin',
  'POST /api/admin/users/:id/sign-out': 'admin',
  'POST /api/admin/users/:id/disable': 'admin',
  'POST /api/admin/users/:id/enable': 'admin',
  'GET /api/admin/links': 'reader',
  'DELETE /api/admin/links/:id': 'admin',
  'GET /api/admin/channels': 'reader',
  'GET /api/admin/channels/:name': 'reader',
  'POST /api/admin/channels': 'admin',
  'PUT /api/admin/channels/:name': 'admin',
  'DELETE /api/admin/channels/:name': 'admin',
  'POST /api/admin/channels/:name/test': 'admin',
  'GET /api/admin/models': 'reader',
  'GET /api/admin/models/:id': 'reader',
  'POST /api/admin/models': 'admin',
  'PUT /api/admin/models/:id': 'admin',
  'DELETE /api/admin/models/:id': 'admin',
  'POST /api/admin/models/:id/preview': 'admin',
  'GET /api/admin/catalogue': 'reader',
  'POST /api/admin/catalogue/import': 'admin',
  'GET /api/admin/redeem-codes': 'reader',
  'POST /api/admin/redeem-codes': 'admin',
  'DELETE /api/admin/redeem-codes/:id': 'admin',
  'GET /api/admin/audits': 'reader',
  'GET /api/admin/refused-charges': 'reader',
  'POST /api/admin/audits': 'admin',
  'GET /api/admin/system': 'reader',
  'GET /api/admin/log': 'reader',
}

const ROUTES = Object.entries(TABLE).map(([name, access]) => ({ name: name as RouteName, access }))
const RANKS = { anyone: 0, holder: 1, reader: 2, admin: 3, owner: 4 }

const visitors = new Map<string, Visitor | undefined>()

const { gateway, site } = await fileConsole()
const owner = await site.signUp('first-owner@example.com', 'owner')
let victim = await site.signUp('victim@example.com')
const { key, secret } = await site.call(victim, 'POST /api/keys', { body: { name: 'key-of-the-victim' } })
const victimKeyId = key.id
const answer = await gateway.post(
  '/v1/chat/completions',
  '{"model":"chat/echo","messages":[{"role":"user","content":"mine"}]}',
  { key: secret },
)
const victimRequest = answer.headers.get('x-request-id') ?? ''
await answer.text()
await gateway.server.flush()

/** A request that gets as far as the handler, or to the check of its body at the latest. */
function inputOf(name: RouteName, ids: { id: number | string; name?: string }): object {
  const params = { id: ids.id, name: ids.name ?? 'no-such-channel', month: '2026-11' }
  return { params, ...(name.startsWith('GET ') || name.startsWith('DELETE ') ? {} : { body: {} }) }
}

function idFor(name: RouteName): number | string {
  if (name.includes('/requests/:id')) return victimRequest
  if (name.includes('/models/:id')) return 'no/such-model'
  return name.includes('/keys/:id') ? victimKeyId : 999_999
}

test('the table has every route that is served, and no other', () => {
  const served = createConsoleApi(site.console, { addressOf: () => undefined, takesTime: () => {} }).routes
  const names = served.map(({ method, path }) => `${method} ${path}`)
  expect(names.sort()).toEqual(Object.keys(TABLE).sort())
})

test.each(ROUTES.map(({ name }) => name))('%s takes no field that its contract does not name', name => {
  const { body, query, params }: RouteContract = consoleRoutes[name]
  for (const part of [body, query, params]) {
    if (part === undefined || name === 'POST /api/stripe/webhook') continue
    expect(part['additionalProperties']).toBe(false)
  }
})

test.each(['1e0', '1.0', '1.9', '0x1', '1_0', '+1', ' 1', '1,0', 'true', '', '9'.repeat(400)])(
  '%j in an address is no number, of which a part is one',
  async text => {
    for (const [name, input] of [
      ['GET /api/admin/requests', { query: { account_id: text } }],
      ['GET /api/keys', { query: { limit: text } }],
    ] as const) {
      const field = Object.keys(input.query)[0]
      const failure = await site.fail(owner, name, input)
      expect(failure).toMatchObject({ status: 400, field, message: `${field}: A whole number` })
    }
    if (text === '') return
    const failure = await site.fail(owner, 'GET /api/admin/accounts/:id', { params: { id: text } })
    expect(failure).toMatchObject({ status: 400, field: 'id', message: 'id: A whole number' })
  },
)

const LISTS = ROUTES.map(({ name }) => name).filter(name => {
  const { query }: RouteContract = consoleRoutes[name]
  return query?.properties['cursor'] !== undefined && !name.includes(':id')
})

test.each(LISTS)(
  '%s takes whatever is given as a cursor for a place in the list, or refuses it',
  async name => {
    const failed: string[] = []
    for (const cursor of [
      '',
      '-1',
      '9'.repeat(15),
      '9'.repeat(16),
      `${'9'.repeat(14)}-${'a'.repeat(64)}`,
      `${'9'.repeat(15)}-${'a'.repeat(64)}`,
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ]) {
      const { status } = await site.send(owner, name, { query: { cursor } })
      if (status !== 200 && status !== 400) failed.push(`${cursor}: ${status}`)
    }
    expect(failed).toEqual([])
  },
)

describe.each([
  ['nobody', undefined, 0],
  ['another account', null, 1],
  ['read-only', 'read_only', 2],
  ['admin', 'admin', 3],
  ['owner', 'owner', 4],
] as const)('%s', (who, role, rank) => {
  test.each(ROUTES)('$name', async ({ name, access }) => {
    if (rank > 0 && !visitors.has(who))
      visitors.set(who, await site.signUp(`${who.replace(' ', '-')}@example.com`, role ?? null))
    const visitor = visitors.get(who)
    const abort = new AbortController()
    const response = await site.send(visitor, name, inputOf(name, { id: idFor(name) }), {
      signal: abort.signal,
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const text = isStream ? '' : await response.text()
    abort.abort()
    const code = response.ok || text === '' ? undefined : JSON.parse(text).error.code
    if (rank >= RANKS[access]) {
      expect(code).not.toBe('unauthenticated')
      // Off here: signing up and paying by card.
      if (name !== 'POST /api/signup' && !name.includes('stripe')) expect(code).not.toBe('forbidden')
      expect(response.status).toBeLessThan(500)
    } else {
      expect({ status: response.status, code }).toEqual(
        rank === 0 ? { status: 401, code: 'unauthenticated' } : { status: 403, code: 'forbidden' },
      )
    }
    // Who ended the own session signs in again for the next route.
    if (name.startsWith('DELETE /api/session')) visitors.delete(who)
    if (!visitors.has(who) && visitor !== undefined) visitors.set(who, await again(visitor))
  })

  test('sees nothing of another account, whichever id is guessed', async () => {
    const visitor = visitors.get(who)
    if (rank !== 1 || visitor === undefined) return
    const sessions = await site.call(victim, 'GET /api/sessions', {})
    const guesses = [victimKeyId, victim.accountId, victim.userId, sessions.items[0]?.id ?? 0, victimRequest]
    for (const { name } of ROUTES.filter(
      route => route.access === 'holder' && !route.name.includes('live'),
    )) {
      for (const id of guesses) {
        const response = await site.send(visitor, name, inputOf(name, { id }))
        const text = await response.text()
        for (const secret of ['victim', victimRequest]) expect(`${name} ${text}`).not.toContain(secret)
        if (name.includes(':id')) expect([400, 404]).toContain(response.status)
      }
      if (name.startsWith('DELETE /api/sessions')) visitors.set(who, await again(visitor))
      Object.assign(visitor, visitors.get(who))
    }
    expect((await site.call(victim, 'GET /api/keys', { query: {} })).items[0]?.status).toBe('active')
    expect((await site.call(victim, 'GET /api/sessions', {})).items).toHaveLength(1)
  })
})

/** What a contract lets through, for the routes that name something by its id. */
const BODIES: Partial<Record<RouteName, object>> = {
  'PATCH /api/keys/:id': { name: 'mine now', limits: { requests_per_minute: 1 } },
}

test.each(ROUTES.filter(({ name, access }) => access === 'holder' && name.includes('/:id')))(
  '$name knows nothing of what belongs to another account',
  async ({ name }) => {
    const schema = (consoleRoutes[name] as RouteContract).body
    const body = BODIES[name]
    expect(schema === undefined || Value.Check(schema, body)).toBe(true)
    victim = await again(victim)
    const { items } = await site.call(victim, 'GET /api/sessions', {})
    const id = name.includes('/sessions/') ? items[0]?.id : idFor(name)
    const intruder = await site.signUp(`${crypto.randomUUID()}@example.com`)
    const input = { params: { id }, ...(body === undefined ? {} : { body }) }
    const foreign = await site.send(intruder, name, input)
    expect(foreign.status).toBe(404)
    // As of what is nowhere, and to its owner it is there.
    const nowhere = name.includes('/requests/') ? crypto.randomUUID() : 999_999
    const none = await site.send(intruder, name, { ...input, params: { id: nowhere } })
    expect(await foreign.text()).toBe(await none.text())
    const own = await site.send(victim, name, input)
    expect(own.status).toBe(200)
  },
)

const CHANGES = ROUTES.filter(
  ({ name }) => !name.startsWith('GET ') && name !== 'POST /api/stripe/webhook',
).map(({ name }) => name)

test.each(CHANGES)('%s is refused to a page of somebody else, whoever is signed in', async name => {
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const response = await site.send(owner, name, inputOf(name, { id: idFor(name) }), { headers })
    const { error } = JSON.parse(await response.text())
    expect({ ...headers, status: response.status, code: error.code }).toEqual({
      ...headers,
      status: 403,
      code: 'forbidden',
    })
    expect(response.headers.get('set-cookie')).toBeNull()
  }
})

describe('while the database is away', () => {
  let cut: TestConsole
  let boss: Visitor
  beforeAll(async () => {
    const database = connect(gateway.database.url)
    cut = await startTestConsole({ ...gateway, database })
    boss = await cut.signUp('boss-without-a-database@example.com', 'owner')
    await database.close()
  })
  afterAll(() => cut.stop())

  test.each(ROUTES)('$name says so, and when to try again', async ({ name }) => {
    const response = await cut.send(boss, name, inputOf(name, { id: idFor(name) }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(JSON.parse(await response.text())).toMatchObject({
      error: { code: 'unavailable', message: expect.stringContaining('The database does not answer') },
    })
    expect(response.headers.get('set-cookie')).toBeNull()
  })
})

/** The same user with a new session. */
async function again(visitor: Visitor): Promise<Visitor> {
  const response = await site.send(undefined, 'POST /api/session', {
    body: { email: visitor.email, password: 'a good password' },
  })
  return { ...visitor, cookie: response.headers.get('set-cookie')?.split(';')[0] }
}

/** What is done to a user or an account, in the order of the table. */
const CONFIRMED: Partial<Record<RouteName, object>> = {
  'PUT /api/me/password': { password: 'another good password' },
  'POST /api/me/totp': {},
  'POST /api/me/totp/remove': { code: '123456' },
  'POST /api/me/closing': {},
  'POST /api/admin/accounts': { email: 'to-be-made@example.com', invite: true },
  'POST /api/admin/accounts/:id/invite': {},
  'POST /api/admin/accounts/:id/reopen': { reason: 'asked for' },
  'POST /api/admin/users/invite': { email: 'to-be-made@example.com', role: 'owner' },
  'PUT /api/admin/users/:id/role': { role: 'owner' },
  'POST /api/admin/users/:id/reset-link': {},
  'POST /api/admin/users/:id/totp/remove': {},
  'POST /api/admin/users/:id/enable': {},
}

test('what lets somebody in, says who administers or takes a second factor away asks for the password', () => {
  const asking = ROUTES.filter(({ name }) => (consoleRoutes[name] as RouteContract).asks !== undefined)
  expect(asking.map(({ name }) => String(name))).toEqual(Object.keys(CONFIRMED))
})

describe.each(Object.entries(CONFIRMED))('%s with a session alone', (route, body) => {
  const name = route as RouteName
  const field = (consoleRoutes[name] as RouteContract).asks ?? ''
  const state = () => gateway.database.sql`
    select (select json_agg(u order by id) from (
        select id, role, status, password_hash, totp_secret, totp_pending from console_user) as u) as users,
      (select json_agg(a order by id) from (select id, status, close_requested_at from account) as a) as accounts,
      (select count(*) from console_link) as links, (select count(*) from admin_act) as acts`

  test.each([
    ['without the password', {}, 400],
    ['with a wrong one', { [field]: 'a wrong password' }, 401],
  ])('%s does nothing', async (_, given, status) => {
    const boss = await site.signUp(`${crypto.randomUUID()}@example.com`, 'owner')
    const whom = await site.signUp(`${crypto.randomUUID()}@example.com`)
    const before = await state()
    const params = { id: name.includes('/accounts/') ? whom.accountId : whom.userId }
    const failure = await site.fail(boss, name, { params, body: { ...body, ...given } })
    expect(failure).toMatchObject({ status, field })
    expect(await state()).toEqual(before)
  })
})

test('whose role is taken away while the password is looked at does nothing with it any more', async () => {
  const leaver = await site.signUp(`${crypto.randomUUID()}@example.com`, 'owner')
  const { passwords } = site.console
  const { verify } = passwords
  passwords.verify = async (password, hash) => {
    const isRight = await verify(password, hash)
    passwords.verify = verify
    const body = { role: null, password: PASSWORD }
    await site.call(owner, 'PUT /api/admin/users/:id/role', { params: { id: leaver.userId }, body })
    return isRight
  }
  const body = { email: 'accomplice@example.com', role: 'owner', password: PASSWORD }
  expect((await site.fail(leaver, 'POST /api/admin/users/invite', { body })).code).toBe('unauthenticated')
})

test('an administrator touches no other administrator', async () => {
  const admin = await site.signUp('second-admin@example.com', 'admin')
  for (const name of [
    'POST /api/admin/users/:id/reset-link',
    'POST /api/admin/users/:id/totp/remove',
    'POST /api/admin/users/:id/sign-out',
    'POST /api/admin/users/:id/disable',
  ] as const) {
    const asks = (consoleRoutes[name] as RouteContract).asks !== undefined
    const body = asks ? { body: { password: PASSWORD } } : {}
    expect(await site.fail(admin, name, { params: { id: owner.userId }, ...body })).toMatchObject({
      code: 'forbidden',
    })
  }
})
