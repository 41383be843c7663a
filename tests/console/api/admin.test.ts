import { describe, expect, test } from 'bun:test'
import { PASSWORD, type RouteName } from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { TOLD_WITHIN_MS } from '#tests/support/told-within.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'

const { gateway, site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')
const ada = await site.signUp('ada@example.com')

async function lastAct() {
  const { items } = await site.call(owner, 'GET /api/admin/log', { query: { limit: 1 } })
  return items[0]
}

test.each([
  ['/api/admin/accounts/:id/credit', { amount: '5' }],
  ['/api/admin/accounts/:id/debit', { amount: '5' }],
  ['/api/admin/accounts/:id/suspend', {}],
  ['/api/admin/accounts/:id/resume', {}],
  ['/api/admin/accounts/:id/close', {}],
  ['/api/admin/accounts/:id/reopen', { password: PASSWORD }],
  ['/api/admin/accounts/:id/erase', {}],
  ['/api/admin/accounts/:id/pay-out', { as: 'refund' }],
  ['/api/admin/requests/:id/refund', { amount: '5' }],
] as const)('POST %s takes no reason that nobody can read', async (path, body) => {
  const params = { id: path.includes('requests') ? crypto.randomUUID() : ada.accountId }
  for (const reason of ['', ' ', '\u200b', 'paid \u202e001', 'two\nlines', 'x'.repeat(501)]) {
    const failure = await site.fail(owner, `POST ${path}`, { params, body: { ...body, reason } })
    expect({ reason, ...failure }).toMatchObject({
      reason,
      status: 400,
      field: 'reason',
      message: 'reason: Say why, in one line of at most 500 characters, with something to see in it',
    })
  }
})

test.each([
  '<a@x.example>',
  'Ada <a@x.example>',
  'a@x.example;',
  'a@x.example,',
  '"a@x"',
  'mailto:a@x.example',
  '(a)b@x',
])('no account and no user is made for %j, with what was around an address', async email => {
  const made = await site.fail(owner, 'POST /api/admin/accounts', { body: { email } })
  const invitation = { email, role: 'admin', password: PASSWORD }
  const invited = await site.fail(owner, 'POST /api/admin/users/invite', { body: invitation })
  for (const failure of [made, invited]) expect(failure).toMatchObject({ status: 400, field: 'email' })
})

test('who has an address that would be refused by now signs in with it', async () => {
  const { userId } = await site.signUp('of-old@example.com')
  await gateway.database.sql`update console_user set email = '<of-old@example.com>' where id = ${userId}`
  const body = { email: '<of-old@example.com>', password: PASSWORD }
  expect(await site.call(undefined, 'POST /api/session', { body })).toMatchObject({ user: { id: userId } })
  await site.call(undefined, 'POST /api/password-reset', { body: { email: body.email } })
})

describe('an act on an account is in the log with what was before and after', () => {
  const id = () => ({ id: ada.accountId })
  test('credit and debit', async () => {
    const body = { amount: '5.00', reason: 'a present' }
    const { balance, entry_id } = await site.call(owner, 'POST /api/admin/accounts/:id/credit', {
      params: id(),
      body,
    })
    expect(balance).toBe('6.000000000')
    expect(await lastAct()).toMatchObject({
      email: 'owner@example.com',
      user_id: owner.userId,
      action: 'account.credit',
      target: `account ${ada.accountId}`,
      before: { balance: '1.000000000' },
      after: { balance: '6.000000000', amount: '5.000000000', entry_id, reason: 'a present' },
    })
    await site.call(owner, 'POST /api/admin/accounts/:id/debit', {
      params: id(),
      body: { amount: '2.5', reason: 'a mistake' },
    })
    expect(await lastAct()).toMatchObject({ action: 'account.debit', after: { balance: '3.500000000' } })
  })

  test('credit with an end is shown with it, and what is left of it', async () => {
    const holder = await site.signUp('for-a-while@example.com')
    const params = { id: holder.accountId }
    const expires_at = '2999-01-31T12:00:00.000Z'
    const body = { amount: '2', reason: 'a campaign', expires_at }
    await site.call(owner, 'POST /api/admin/accounts/:id/credit', { params, body })
    expect(await lastAct()).toMatchObject({ after: { amount: '2.000000000', expires_at } })
    for (const { items } of [
      await site.call(owner, 'GET /api/admin/accounts/:id/entries', { params, query: {} }),
      await site.call(holder, 'GET /api/billing/entries', { query: {} }),
    ]) {
      expect(items).toMatchObject([
        { kind: 'topup', expires_at },
        { kind: 'trial', expires_at: null },
      ])
    }
    const debit = { amount: '0.5', reason: 'a mistake' }
    await site.call(owner, 'POST /api/admin/accounts/:id/debit', { params, body: debit })
    const { expiring } = await site.call(holder, 'GET /api/overview', { query: {} })
    expect(expiring).toEqual([{ amount: '1.500000000', expires_at }])
    for (const [wrong, message] of [
      ['2020-01-01', 'This time is over already'],
      ['2036-02-31', 'This is no day or time'],
    ] as const) {
      const input = { params, body: { ...body, expires_at: wrong } }
      expect(await site.fail(owner, 'POST /api/admin/accounts/:id/credit', input)).toMatchObject({
        code: 'invalid_request',
        field: 'expires_at',
        message,
      })
    }
  })

  test('a posting that is sent again, since its answer was lost, is posted and written down once', async () => {
    const holder = await site.signUp('twice-credited@example.com')
    const params = { id: holder.accountId }
    const body = { amount: '4', reason: 'once', once: 'one-dialog-1' }
    const first = await site.call(owner, 'POST /api/admin/accounts/:id/credit', { params, body })
    const line = await lastAct()
    expect(await site.call(owner, 'POST /api/admin/accounts/:id/credit', { params, body })).toEqual(first)
    expect(await lastAct()).toEqual(line)
    expect(first.balance).toBe('5.000000000')
    // A debit is another thing, and so is another amount.
    await site.call(owner, 'POST /api/admin/accounts/:id/debit', { params, body })
    const more = { ...body, amount: '400' }
    expect(
      await site.fail(owner, 'POST /api/admin/accounts/:id/credit', { params, body: more }),
    ).toMatchObject({
      code: 'refused',
    })
    const { balance } = await site.call(owner, 'GET /api/admin/accounts/:id', { params })
    expect(balance).toBe('1.000000000')
  })

  test('a refund of a request, once for each that is asked for, and of no more than it was charged', async () => {
    const holder = await site.signUp('refunded@example.com')
    const { secret } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
    const answer = await gateway.post(
      '/v1/chat/completions',
      '{"model":"messages/echo","messages":[{"role":"user","content":"in vain"}]}',
      { key: secret },
    )
    await answer.text()
    await gateway.server.flush()
    const request = answer.headers.get('x-request-id') ?? ''
    const { charged } = await site.call(holder, 'GET /api/requests/:id', { params: { id: request } })
    const body = { amount: charged, reason: 'it was in vain', once: 'one-dialog-2' }
    // An id is the same in capitals.
    for (const id of [request, request.toUpperCase()]) {
      const params = { id }
      const { balance } = await site.call(owner, 'POST /api/admin/requests/:id/refund', { params, body })
      expect(balance).toBe('1.000000000')
    }
    expect(await lastAct()).toMatchObject({
      action: 'request.refund',
      target: `request ${request}`,
      after: {
        account_id: holder.accountId,
        amount: charged,
        balance: '1.000000000',
        reason: 'it was in vain',
      },
    })
    const params = { id: request }
    for (const amount of ['0.000000001', charged]) {
      const more = { amount, reason: 'more' }
      expect(
        await site.fail(owner, 'POST /api/admin/requests/:id/refund', { params, body: more }),
      ).toMatchObject({
        status: 409,
        message: expect.stringContaining('did not cost'),
      })
    }
    expect(
      await site.fail(owner, 'POST /api/admin/requests/:id/refund', {
        params,
        body: { ...body, amount: '0' },
      }),
    ).toMatchObject({ field: 'amount' })
    const unknown = { params: { id: Bun.randomUUIDv7() }, body }
    expect((await site.fail(owner, 'POST /api/admin/requests/:id/refund', unknown)).status).toBe(404)
    const receipt = await site.call(holder, 'GET /api/requests/:id', { params })
    expect(receipt.charged).toBe('0.000000000')
    const [entry] = (await site.call(holder, 'GET /api/billing/entries', { query: {} })).items
    expect(entry).toMatchObject({ kind: 'usage_refund', ref: request, reason: 'it was in vain' })
  })

  test('suspend stops every key, resume lets them go on', async () => {
    const { secret } = await site.call(ada, 'POST /api/keys', { body: { name: 'k' } })
    const status = async () =>
      (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status
    // From here on the gateway remembers the key, and has to be told of each change.
    expect(await status()).toBe(200)
    await site.call(owner, 'POST /api/admin/accounts/:id/suspend', {
      params: id(),
      body: { reason: 'abuse' },
    })
    expect(await lastAct()).toMatchObject({
      before: { status: 'active' },
      after: { status: 'suspended', reason: 'abuse' },
    })
    await until(async () => (await status()) === 403, TOLD_WITHIN_MS)
    await site.call(owner, 'POST /api/admin/accounts/:id/resume', { params: id(), body: { reason: 'sorry' } })
    await until(async () => (await status()) === 200, TOLD_WITHIN_MS)
  })

  test('limits and models are changed, and the log says from what to what', async () => {
    const limits = { requests_per_minute: 7, tokens_per_minute: null }
    const changed = await site.call(owner, 'PATCH /api/admin/accounts/:id/limits', {
      params: id(),
      body: limits,
    })
    expect(changed.limits.requests_per_minute).toBe(7)
    expect(await lastAct()).toMatchObject({
      before: { requests_per_minute: null },
      after: { requests_per_minute: 7 },
    })
    await site.call(owner, 'PUT /api/admin/accounts/:id/models', {
      params: id(),
      body: { models: ['chat/echo'] },
    })
    expect(await lastAct()).toMatchObject({ before: { models: [] }, after: { models: ['chat/echo'] } })
  })

  test('an act that fails is not in the log, and did nothing', async () => {
    const before = await lastAct()
    const body = { email: 'ada@example.com', credit: '1.00' }
    expect(await site.fail(owner, 'POST /api/admin/accounts', { body })).toMatchObject({ code: 'refused' })
    expect(await lastAct()).toEqual(before)
  })
})

test('an account is found by a key of theirs that somebody has found, and by no other', async () => {
  const reader = await site.signUp('finder@example.com', 'read_only')
  const holder = await site.signUp('leaky@example.com')
  const { key, secret } = await site.call(holder, 'POST /api/keys', { body: { name: 'leaked' } })
  const found = async (search: string) => {
    const { items } = await site.call(reader, 'GET /api/admin/accounts', { query: { search } })
    return items.map(({ email }) => email)
  }
  expect(await found(key.prefix)).toEqual([holder.email])
  expect(await found(` ${secret} `)).toEqual([holder.email])
  expect(await found('sk-')).toEqual([])
  expect(await found(key.prefix.slice(0, -1))).toEqual([])
  expect(await found('sk-%%%%%%%%')).toEqual([])
})

test('an invited holder gets the account that was made for them, once', async () => {
  const { account, url } = await site.call(owner, 'POST /api/admin/accounts', {
    body: { email: 'holder@example.com', credit: '9.00', invite: true, password: PASSWORD },
  })
  const token = url?.split('#')[1] ?? ''
  const { user } = await site.call(undefined, 'POST /api/links/accept', {
    body: { token, password: 'a good password' },
  })
  expect(user).toMatchObject({ email: 'holder@example.com', role: null, account_id: account.id })
  const again = await site.fail(owner, 'POST /api/admin/accounts/:id/invite', {
    params: { id: account.id },
    body: { password: PASSWORD },
  })
  expect(again.code).toBe('refused')
})

test('who has just signed in was seen', async () => {
  const { email } = await site.signUp('seen@example.com')
  const { items } = await site.call(owner, 'GET /api/admin/users', { query: { search: email } })
  expect(items[0]?.seen_at).toEqual(expect.any(String))
})

test('who waits for a link is found by that, until one is made or they have signed in after all', async () => {
  const found = async (status: 'active' | 'disabled' | 'waiting') => {
    const query = { search: 'forgot', status }
    return (await site.call(owner, 'GET /api/admin/users', { query })).items.map(({ email }) => email)
  }
  const first = await site.signUp('forgot-1@example.com')
  const second = await site.signUp('forgot-2@example.com')
  await site.signUp('forgot-nothing@example.com')
  for (const { email } of [first, second]) {
    await site.call(undefined, 'POST /api/password-reset', { body: { email } })
  }
  await until(async () => (await found('waiting')).length === 2)
  await site.call(owner, 'POST /api/admin/users/:id/reset-link', {
    params: { id: first.userId },
    body: { password: PASSWORD },
  })
  expect(await found('waiting')).toEqual([second.email])
  await site.call(undefined, 'POST /api/session', { body: { email: second.email, password: PASSWORD } })
  expect(await found('waiting')).toEqual([])
  await site.call(owner, 'POST /api/admin/users/:id/disable', { params: { id: first.userId } })
  expect(await found('disabled')).toEqual([first.email])
  expect(await found('active')).toEqual(['forgot-nothing@example.com', second.email])
})

test('who is disabled waits for no link, nor does so again once enabled', async () => {
  const { email, userId } = await site.signUp('shut-out@example.com')
  const waiting = async () => {
    const query = { search: email, status: 'waiting' } as const
    return (await site.call(owner, 'GET /api/admin/users', { query })).items.length
  }
  await site.call(undefined, 'POST /api/password-reset', { body: { email } })
  await until(async () => (await waiting()) === 1)
  const params = { id: userId }
  const disabled = await site.call(owner, 'POST /api/admin/users/:id/disable', { params })
  expect(disabled.reset_requested_at).toBeNull()
  expect(await waiting()).toBe(0)
  await site.call(owner, 'POST /api/admin/users/:id/enable', { params, body: { password: PASSWORD } })
  expect(await waiting()).toBe(0)
})

test('the last owner cannot be taken away', async () => {
  const params = { id: owner.userId }
  for (const [name, body] of [
    ['PUT /api/admin/users/:id/role', { role: 'admin', password: PASSWORD }],
    ['PUT /api/admin/users/:id/role', { role: null, password: PASSWORD }],
    ['POST /api/admin/users/:id/disable', undefined],
  ] as const) {
    const failure = await site.fail(owner, name, body === undefined ? { params } : { params, body })
    expect(failure).toMatchObject({ status: 409, code: 'refused' })
  }
})

/** More than sockets hold; an answer of so much waits for ever then. */
const ENDLESS_BYTES = 64 * 1024 * 1024

describe('a channel', () => {
  const KEY = 'sk-upstream-of-the-operator-0042'
  const channel = () => ({
    name: 'mine',
    format: 'openai-chat-completions' as const,
    base_url: gateway.simulator.url,
    api_keys: [{ secret: KEY }],
    headers: { 'x-team': 'gateway', 'x-secret-token': 'header-secret-value' },
  })

  test('is made, tested and used, and neither its key nor a secret header is ever told again', async () => {
    const made = await site.call(owner, 'POST /api/admin/channels', { body: channel() })
    expect(made.api_keys).toMatchObject([{ hint: '...0042' }])
    expect(made.headers).toEqual({ 'x-team': 'gateway', 'x-secret-token': '********' })
    const tested = await site.call(owner, 'POST /api/admin/channels/:name/test', {
      params: { name: 'mine' },
      body: { model: 'echo' },
    })
    expect(tested.items).toMatchObject([{ ok: true, status: 200 }])
    const failing = await site.call(owner, 'POST /api/admin/channels/:name/test', {
      params: { name: 'mine' },
      body: { model: 'error-401' },
    })
    expect(failing.items).toMatchObject([{ ok: false, status: 401 }])
    const model = {
      id: 'mine/echo',
      channels: [{ channel: 'mine', model: 'echo' }],
      prices: { input: '3', output: '5' },
    }
    await site.call(owner, 'POST /api/admin/models', { body: model })
    await gateway.server.reloadCatalog()
    const answer = await gateway.post(
      '/v1/chat/completions',
      '{"model":"mine/echo","messages":[{"role":"user","content":"hi"}]}',
    )
    expect(answer.status).toBe(200)
    const everything: string[] = []
    for (const name of [
      'GET /api/admin/channels',
      'GET /api/admin/log',
      'GET /api/admin/models',
    ] satisfies RouteName[]) {
      everything.push(await (await site.send(owner, name)).text())
    }
    expect(everything.join()).not.toContain(KEY)
    expect(everything.join()).not.toContain('header-secret-value')
    expect(site.logLines.join()).not.toContain(KEY)
  })

  test('is tested with an answer that has no end, of which little is read', async () => {
    let sent = 0
    const left = Promise.withResolvers<void>()
    using endless = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              sent += 65_536
              if (sent > ENDLESS_BYTES) await left.promise
              else controller.enqueue(new Uint8Array(65_536).fill(0x20))
            },
            cancel: () => left.resolve(),
          }),
        ),
    })
    const body = { ...channel(), name: 'endless', base_url: endless.url.origin }
    await site.call(owner, 'POST /api/admin/channels', { body })
    const { items } = await site.call(owner, 'POST /api/admin/channels/:name/test', {
      params: { name: 'endless' },
      body: { model: 'echo' },
    })
    expect(items).toMatchObject([{ ok: true, status: 200 }])
    await left.promise
    expect(sent).toBeLessThan(ENDLESS_BYTES)
  })

  test('keeps keys and hidden headers that are sent back as they were shown', async () => {
    const params = { name: 'mine' }
    const before = await site.call(owner, 'GET /api/admin/channels/:name', { params })
    const { name: _, ...fields } = channel()
    const body = {
      ...fields,
      api_keys: [...before.api_keys.map(({ id }) => ({ id })), { secret: 'another key of the pool' }],
      headers: before.headers,
      weight: 3,
      revision: before.revision,
    }
    const after = await site.call(owner, 'PUT /api/admin/channels/:name', { params, body })
    expect(after.api_keys.map(({ id }) => id)[0]).toBe(before.api_keys[0]?.id ?? 0)
    expect(after.api_keys).toHaveLength(2)
    const { items } = await site.call(owner, 'POST /api/admin/channels/:name/test', {
      params,
      body: { model: 'echo' },
    })
    expect(items.every(({ ok }) => ok)).toBe(true)
    const sent = gateway.simulator.simulator.recordings.all().slice(-2)
    expect(sent.map(({ headers }) => headers['x-secret-token'])).toEqual([
      'header-secret-value',
      'header-secret-value',
    ])
    expect(await lastAct()).toMatchObject({
      action: 'channel.change',
      before: { weight: 1 },
      after: { weight: 3 },
    })
  })

  test('sends nothing that was given for one address to another', async () => {
    const params = { name: 'mine' }
    const before = await site.call(owner, 'GET /api/admin/channels/:name', { params })
    const { name: _, ...fields } = channel()
    const moved = { ...fields, base_url: 'https://elsewhere.example.com', revision: before.revision }
    const ids = before.api_keys.map(({ id }) => ({ id }))
    const put = (body: object) => site.fail(owner, 'PUT /api/admin/channels/:name', { params, body })
    expect(await put({ ...moved, api_keys: ids, headers: {} })).toMatchObject({
      code: 'invalid_request',
      field: 'api_keys[0]',
    })
    expect(await put({ ...moved, headers: before.headers })).toMatchObject({
      code: 'invalid_request',
      field: 'headers.x-secret-token',
    })
    // Another path is the same server.
    const body = {
      ...moved,
      base_url: String(new URL('/v1', gateway.simulator.url)),
      api_keys: ids,
      headers: before.headers,
    }
    const after = await site.call(owner, 'PUT /api/admin/channels/:name', { params, body })
    await site.call(owner, 'PUT /api/admin/channels/:name', {
      params,
      body: { ...body, base_url: fields.base_url, revision: after.revision },
    })
  })

  test.each([
    ['an address that is none', { base_url: 'ftp://x' }, 'base_url'],
    ['a password in the address', { base_url: 'https://user:pw@example.com' }, 'base_url'],
    ['a header of the connection', { headers: { host: 'x' } }, 'headers.host'],
    ['a key that is not there', { api_keys: [{ id: 99_999 }] }, 'api_keys[0]'],
  ])('is refused with %s', async (_what, more, field) => {
    const body = { ...channel(), name: 'refused', ...more }
    const failure = await site.fail(owner, 'POST /api/admin/channels', { body })
    expect(failure).toMatchObject({ status: 400, field })
    expect(failure.message).not.toContain('pw@')
  })

  test('reads nothing from the environment', async () => {
    const body = { ...channel(), name: 'environment', headers: { 'x-home': ['$', '{HOME}'].join('') } }
    const made = await site.call(owner, 'POST /api/admin/channels', { body })
    expect(made.headers['x-home']).toBe(['$', '{HOME}'].join(''))
  })

  test('that goes leaves models without one, which are named', async () => {
    const gone = await site.call(owner, 'DELETE /api/admin/channels/:name', { params: { name: 'mine' } })
    expect(gone.models_without_channel).toEqual(['mine/echo'])
    expect(await lastAct()).toMatchObject({ action: 'channel.delete', after: null })
  })
})

/** Of a model as it is now. */
async function revisionOf(params: { id: string }): Promise<string> {
  return (await site.call(owner, 'GET /api/admin/models/:id', { params })).model.revision
}

describe('of two administrators who change one thing', () => {
  const OVERTAKEN = 'Somebody else has changed this'

  test('the second is told that a model is not what it was, and undoes nothing', async () => {
    const params = { id: 'chat/tool' }
    const channels = [{ channel: 'chat', model: 'tool' }]
    const revision = await revisionOf(params)
    const first = { channels, prices: { input: '1', output: '2' }, display_name: 'The first', revision }
    const second = { channels, prices: { input: '1', output: '3' }, revision }
    const { model } = await site.call(owner, 'PUT /api/admin/models/:id', { params, body: first })
    const failure = await site.fail(owner, 'PUT /api/admin/models/:id', { params, body: second })
    expect(failure).toMatchObject({ status: 409, code: 'refused' })
    expect(failure.message).toStartWith(`${OVERTAKEN} model`)
    const now = (await site.call(owner, 'GET /api/admin/models/:id', { params })).model
    expect(now).toEqual(model)
    expect(now.display_name).toBe('The first')
    const again = { ...second, revision: now.revision }
    const { model: last } = await site.call(owner, 'PUT /api/admin/models/:id', { params, body: again })
    expect(last.prices).toEqual({ input: '1', output: '3' })
  })

  test('the second is told so of a channel, too, of which only a key changed', async () => {
    const params = { name: 'twice' }
    const fields = {
      format: 'openai-chat-completions' as const,
      base_url: 'https://example.com',
      api_keys: [{ secret: 'a key that both have seen' }],
    }
    const made = { ...fields, ...params }
    const { revision } = await site.call(owner, 'POST /api/admin/channels', { body: made })
    const first = { ...fields, api_keys: [{ secret: 'a key of the first' }], revision }
    const second = { ...fields, api_keys: [{ secret: 'a key of the second' }], revision }
    const changed = await site.call(owner, 'PUT /api/admin/channels/:name', { params, body: first })
    const failure = await site.fail(owner, 'PUT /api/admin/channels/:name', { params, body: second })
    expect(failure).toMatchObject({ status: 409, code: 'refused' })
    expect(failure.message).toStartWith(`${OVERTAKEN} channel`)
    const now = await site.call(owner, 'GET /api/admin/channels/:name', { params })
    expect(now.api_keys.map(({ id }) => id)).toEqual(changed.api_keys.map(({ id }) => id))
    await site.call(owner, 'DELETE /api/admin/channels/:name', { params })
    const late = await site.fail(owner, 'PUT /api/admin/channels/:name', { params, body: second })
    expect(late.status).toBe(404)
  })

  test('the second is told so of the limits and of the models of an account', async () => {
    const { accountId } = await site.signUp('fought-over@example.com')
    const params = { id: accountId }
    const { revision } = await site.call(owner, 'GET /api/admin/accounts/:id', { params })
    const first = { requests_per_minute: 5, revision }
    await site.call(owner, 'PATCH /api/admin/accounts/:id/limits', { params, body: first })
    for (const [name, body] of [
      ['PATCH /api/admin/accounts/:id/limits', { requests_per_minute: null, revision }],
      ['PUT /api/admin/accounts/:id/models', { models: [], revision }],
    ] as const) {
      const failure = await site.fail(owner, name, { params, body })
      expect(failure).toMatchObject({ status: 409, code: 'refused' })
      expect(failure.message).toStartWith(`${OVERTAKEN} account`)
    }
    const now = await site.call(owner, 'GET /api/admin/accounts/:id', { params })
    expect(now.limits.requests_per_minute).toBe(5)
    const body = { models: ['chat/echo'], revision: now.revision }
    const given = await site.call(owner, 'PUT /api/admin/accounts/:id/models', { params, body })
    expect(given.revision).not.toBe(now.revision)
  })

  test('the second is told so of a role', async () => {
    const params = { id: (await site.signUp('promoted@example.com')).userId }
    const { items } = await site.call(owner, 'GET /api/admin/users', { query: { search: 'promoted' } })
    const revision = items[0]?.revision ?? ''
    const first = { role: 'admin', revision, password: PASSWORD } as const
    await site.call(owner, 'PUT /api/admin/users/:id/role', { params, body: first })
    const late = { ...first, role: 'read_only' }
    const failure = await site.fail(owner, 'PUT /api/admin/users/:id/role', { params, body: late })
    expect(failure).toMatchObject({ status: 409, code: 'refused' })
    expect(failure.message).toStartWith(`${OVERTAKEN} user`)
  })

  test('a holder who renames a key does not lift the limit that an administrator has given it', async () => {
    const ada = await site.signUp('renaming@example.com')
    const { key } = await site.call(ada, 'POST /api/keys', { body: { name: 'mine' } })
    const params = { id: key.id }
    const limit = { concurrent_requests: 1, revision: key.revision }
    await site.call(owner, 'PATCH /api/admin/keys/:id/limits', { params, body: limit })
    const body = { name: 'ours', limits: { concurrent_requests: null }, revision: key.revision }
    expect(await site.fail(ada, 'PATCH /api/keys/:id', { params, body })).toMatchObject({ status: 409 })
    const [now] = (await site.call(ada, 'GET /api/keys', { query: {} })).items
    expect(now).toMatchObject({ name: 'mine', limits: { concurrent_requests: 1 } })
  })

  test('of limits sent at once with one revision, one is done and the other is told', async () => {
    const { accountId } = await site.signUp('at-once@example.com')
    const params = { id: accountId }
    const { revision } = await site.call(owner, 'GET /api/admin/accounts/:id', { params })
    const patch = (concurrent_requests: number) =>
      site.send(owner, 'PATCH /api/admin/accounts/:id/limits', {
        params,
        body: { concurrent_requests, revision },
      })
    const answers = await Promise.all([3, 4].map(patch))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })

  test('both may send at once: one is done, the other is told', async () => {
    const params = { id: 'chat/tool' }
    const revision = await revisionOf(params)
    const put = (displayName: string) =>
      site.send(owner, 'PUT /api/admin/models/:id', {
        params,
        body: { channels: [{ channel: 'chat', model: 'tool' }], display_name: displayName, revision },
      })
    const answers = await Promise.all(['one', 'other'].map(put))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })
})

describe('a price', () => {
  test('is previewed with its jumps and what the last month would have cost, and nothing is written', async () => {
    const params = { id: 'chat/echo' }
    const answer = await gateway.post(
      '/v1/chat/completions',
      '{"model":"chat/echo","messages":[{"role":"user","content":"hi"}]}',
    )
    await answer.text()
    await gateway.server.flush()
    const preview = await site.call(owner, 'POST /api/admin/models/:id/preview', {
      params,
      body: { prices: { input: '10', output: '2' } },
    })
    expect(preview.jumps).toEqual([expect.objectContaining({ rate: 'input', from: '1', to: '10' })])
    expect(preview.requests).toBe(1)
    expect(Number(preview.cost_after)).toBeGreaterThan(Number(preview.cost_before))
    const { model, versions } = await site.call(owner, 'GET /api/admin/models/:id', { params })
    expect(model.prices).toEqual({ input: '1', output: '2' })
    expect(versions).toHaveLength(1)
    const wrong = await site.fail(owner, 'POST /api/admin/models/:id/preview', {
      params,
      body: { prices: { input: '1.1234567' } },
    })
    expect(wrong.message).toContain('at most 6 decimal places')
  })

  test('that changes is a new version, told with its jumps', async () => {
    const params = { id: 'chat/echo' }
    const body = {
      channels: [{ channel: 'chat', model: 'echo' }],
      prices: { input: '4', output: '2' },
      revision: await revisionOf(params),
    }
    const { jumps, model } = await site.call(owner, 'PUT /api/admin/models/:id', { params, body })
    expect(jumps).toEqual([{ model: 'chat/echo', rate: 'input', from: '1', to: '4' }])
    const { versions } = await site.call(owner, 'GET /api/admin/models/:id', { params })
    expect(versions.map(({ prices, source }) => [prices?.input, source])).toEqual([
      ['4', 'console'],
      ['1', 'file'],
    ])
    expect(model.price_version).toBe(versions[0]?.version ?? '')
  })
})

describe('a price that will change', () => {
  const params = { id: 'chat/reason' }
  const channels = [{ channel: 'chat', model: 'reason' }]
  const planned = { input: '3', output: '6', changes: [{ from: '2999-01-01', input: '9', output: '12' }] }

  test('is planned, shown beside the price in force, and taken back', async () => {
    const { model, jumps } = await site.call(owner, 'PUT /api/admin/models/:id', {
      params,
      body: { channels, prices: planned, revision: await revisionOf(params) },
    })
    expect(model.prices).toEqual(planned)
    expect(jumps.map(({ rate }) => rate)).toContain('input from 2999-01-01')
    const { versions } = await site.call(owner, 'GET /api/admin/models/:id', { params })
    expect(versions[0]).toMatchObject({ prices: { input: '9' }, valid_from: '2999-01-01T00:00:00.000Z' })
    const { items } = await site.call(owner, 'GET /api/models', {})
    expect(items.find(({ id }) => id === params.id)?.prices).toEqual(planned)

    const { changes: _, ...now } = planned
    const back = await site.call(owner, 'PUT /api/admin/models/:id', {
      params,
      body: { channels, prices: now, revision: model.revision },
    })
    expect(back.model.prices).toEqual(now)
    const reached = await site.call(owner, 'GET /api/models', {})
    expect(reached.items.find(({ id }) => id === params.id)?.prices).toEqual(now)
    const [newest] = (await site.call(owner, 'GET /api/admin/models/:id', { params })).versions
    expect(newest).toMatchObject({ prices: now, valid_from: '2999-01-01T00:00:00.000Z' })
  })

  test('is what the pages show once its day has come, and not what it was', async () => {
    const prices = { input: '3', output: '6', changes: [{ from: '2020-01-01', input: '4', output: '8' }] }
    const { model } = await site.call(owner, 'PUT /api/admin/models/:id', {
      params,
      body: { channels, prices, revision: await revisionOf(params) },
    })
    expect(model.prices).toEqual({ input: '4', output: '8' })
    const { items } = await site.call(owner, 'GET /api/models', {})
    expect(items.find(({ id }) => id === params.id)?.prices).toEqual({ input: '4', output: '8' })
  })

  test('for long prompts can be sent back as the preview said it', async () => {
    const prices = { input: '3', tiers: [{ above_input_tokens: 200000, input: '6' }] }
    const { after } = await site.call(owner, 'POST /api/admin/models/:id/preview', {
      params,
      body: { prices },
    })
    expect(after).toEqual(prices)
    const revision = await revisionOf(params)
    await site.call(owner, 'PUT /api/admin/models/:id', {
      params,
      body: { channels, prices: after, revision },
    })
  })
})

test('models of the catalogue are added to a channel, and those that are there keep what they have', async () => {
  const { items } = await site.call(owner, 'GET /api/admin/catalogue', {})
  const vendor = items.find(({ name }) => name === 'Anthropic')
  const ids = vendor?.models.slice(0, 2).map(({ id }) => id) ?? []
  const body = { vendor: 'Anthropic', channel: 'messages', models: ids }
  expect(await site.call(owner, 'POST /api/admin/catalogue/import', { body })).toEqual({
    added: ids,
    present: [],
  })
  expect(await site.call(owner, 'POST /api/admin/catalogue/import', { body })).toEqual({
    added: [],
    present: ids,
  })
  const { model } = await site.call(owner, 'GET /api/admin/models/:id', { params: { id: ids[0] ?? '' } })
  expect(model).toMatchObject({ channels: [{ channel: 'messages' }] })
  expect(model.prices).toEqual(vendor?.models[0]?.prices ?? null)
})

test('every vendor of the catalogue is added to the channel that is made for it, all of its models at once', async () => {
  const { items } = await site.call(owner, 'GET /api/admin/catalogue', {})
  expect(items.length).toBeGreaterThan(2)
  for (const { name: vendor, channel, models } of items) {
    const name = `${channel.name}-alone`
    const made = { ...channel, name, api_keys: [{ secret: 'a-key-there' }], priority: 0, weight: 1 }
    await site.call(owner, 'POST /api/admin/channels', { body: made })
    const missing = models.flatMap(({ id, present }) => (present ? [] : [id]))
    const body = { vendor, channel: name, models: missing }
    const { added } = await site.call(owner, 'POST /api/admin/catalogue/import', { body })
    expect(added).toEqual(missing)
    for (const id of added) {
      const { model } = await site.call(owner, 'GET /api/admin/models/:id', { params: { id } })
      expect(model.channels).toEqual([{ channel: name, model: id, priority: 0, weight: 1 }])
    }
  }
})

describe('redeem codes', () => {
  test('are shown once, and of two who race for the last use one gets it', async () => {
    const bob = await site.signUp('bob@example.com')
    const { codes } = await site.call(owner, 'POST /api/admin/redeem-codes', {
      body: { amount: '3.00', count: 2 },
    })
    for (const [expires_at, message] of [
      ['2020-01-01', 'This time is over already'],
      ['2036-02-31', 'This is no day or time'],
      ['2036-13-01', 'This is no day or time'],
    ] as const) {
      for (const field of ['expires_at', 'credit_expires_at']) {
        const body = { amount: '3.00', [field]: expires_at }
        const failure = await site.fail(owner, 'POST /api/admin/redeem-codes', { body })
        expect(failure).toMatchObject({ code: 'invalid_request', field, message })
      }
    }
    const [code = '', other = ''] = codes
    const race = await Promise.all(
      [ada, bob, ada, bob].map(visitor => site.call(visitor, 'POST /api/billing/redeem', { body: { code } })),
    )
    expect(race.filter(({ result }) => result === 'redeemed')).toHaveLength(1)
    const { items } = await site.call(owner, 'GET /api/admin/redeem-codes', { query: { limit: 1 } })
    expect(items).toHaveLength(1)
    expect(JSON.stringify(await lastAct())).not.toContain(other)
    const again = await site.call(bob, 'POST /api/billing/redeem', {
      body: { code: ` ${other.toLowerCase()} ` },
    })
    expect(again).toMatchObject({ result: 'redeemed', amount: '3.000000000' })
    expect(await site.call(bob, 'POST /api/billing/redeem', { body: { code: 'nonsense' } })).toMatchObject({
      result: 'unknown',
    })
  })

  test('are listed page by page without a gap, also those of one moment', async () => {
    await site.call(owner, 'POST /api/admin/redeem-codes', { body: { amount: '1', count: 7 } })
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query: { limit: number; cursor?: string } =
        cursor === undefined ? { limit: 2 } : { limit: 2, cursor }
      const page = await site.call(owner, 'GET /api/admin/redeem-codes', { query })
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next
    }
    expect(new Set(seen).size).toBe(9)
    expect(seen).toHaveLength(9)
  })

  test('are taken back while uses are left, with an act in the log, and what they gave stays', async () => {
    const { codes } = await site.call(owner, 'POST /api/admin/redeem-codes', {
      body: { amount: '0.5', uses: 2, expires_at: '2999-01-01' },
    })
    const body = { code: codes[0] ?? '' }
    const given = await site.call(ada, 'POST /api/billing/redeem', { body })
    const [made] = (await site.call(owner, 'GET /api/admin/redeem-codes', { query: { limit: 1 } })).items
    const params = { id: made?.id ?? '' }
    const revoked = await site.call(owner, 'DELETE /api/admin/redeem-codes/:id', { params })
    const { revoked_at, ...rest } = revoked
    expect(made).toEqual({ ...rest, revoked_at: null })
    expect(revoked_at).toMatch(/^2\d{3}-/)
    const before = { amount: '0.500000000', uses: 2, used: 1, expires_at: '2999-01-01T00:00:00.000Z' }
    expect(await lastAct()).toMatchObject({
      action: 'redeem.revoke',
      target: `code ${params.id}`,
      before,
      after: { ...before, revoked_at },
    })
    const late = await site.signUp('late-with-a-code@example.com')
    const none = await site.call(late, 'POST /api/billing/redeem', { body })
    expect(none).toMatchObject({ result: 'revoked', amount: '0.000000000', balance: '1.000000000' })
    expect(await site.call(ada, 'GET /api/overview', { query: {} })).toMatchObject({ balance: given.balance })

    const again = await site.fail(owner, 'DELETE /api/admin/redeem-codes/:id', { params })
    expect(again).toMatchObject({ status: 409, message: 'This code was taken back already' })
    const nowhere = await site.fail(owner, 'DELETE /api/admin/redeem-codes/:id', {
      params: { id: 'f'.repeat(16) },
    })
    expect(nowhere).toMatchObject({ status: 404, message: 'There is no such code' })
  })

  test('that are sent for again, since their answer was lost, are made and written down once', async () => {
    const body = { amount: '3.00', count: 2, once: 'one-dialog-1' }
    const first = await site.call(owner, 'POST /api/admin/redeem-codes', { body })
    const line = await lastAct()
    expect(await site.call(owner, 'POST /api/admin/redeem-codes', { body })).toEqual(first)
    expect(await lastAct()).toEqual(line)
  })

  test('that were used as often as they can be are not taken back, and nothing is written down', async () => {
    const { codes } = await site.call(owner, 'POST /api/admin/redeem-codes', { body: { amount: '0.5' } })
    await site.call(ada, 'POST /api/billing/redeem', { body: { code: codes[0] ?? '' } })
    const [used] = (await site.call(owner, 'GET /api/admin/redeem-codes', { query: { limit: 1 } })).items
    const before = await lastAct()
    const failure = await site.fail(owner, 'DELETE /api/admin/redeem-codes/:id', {
      params: { id: used?.id ?? '' },
    })
    expect(failure).toMatchObject({
      status: 409,
      code: 'refused',
      message: 'This code has been used as often as it can be',
    })
    expect(await lastAct()).toEqual(before)
    const [after] = (await site.call(owner, 'GET /api/admin/redeem-codes', { query: { limit: 1 } })).items
    expect(after).toEqual(used)
  })
})

test('an audit runs, is kept, and holds', async () => {
  const run = await site.call(owner, 'POST /api/admin/audits', { body: {} })
  expect(run).toMatchObject({ ok: true, full: true, by: 'owner@example.com' })
  expect(run.checks.length).toBeGreaterThan(8)
  const { items } = await site.call(owner, 'GET /api/admin/audits', { query: {} })
  expect(items[0]?.at).toBe(run.at)
})

test('charges that the database refused are told with the reason, page by page', async () => {
  const { database } = gateway
  const newest = '019f0000-0000-7000-8000-000000000003'
  await database.sql`
    insert into refused_settlement (id, account_id, key_id, cost_nano, cost_pico, reason, refused_at, tried_at)
    select ('019f0000-0000-7000-8000-00000000000' || n)::uuid, ${ada.accountId}, 1, 9223372036854775808, 0, 'reason ' || n,
      '2026-01-01 00:00:00Z', '2026-01-02 00:00:00Z'
    from generate_series(1, 3) n`
  const first = await site.call(owner, 'GET /api/admin/refused-charges', { query: { limit: 2 } })
  expect(first.items.map(({ reason }) => reason)).toEqual(['reason 3', 'reason 2'])
  expect(first.items[0]).toMatchObject({
    request_id: newest,
    account_id: ada.accountId,
    amount: '9223372036.854775808',
    refused_at: '2026-01-01T00:00:00.000Z',
  })
  const query = { limit: 2, cursor: first.next ?? '' }
  const rest = await site.call(owner, 'GET /api/admin/refused-charges', { query })
  expect(rest).toMatchObject({ items: [{ reason: 'reason 1' }], next: null })
  await database.sql`delete from refused_settlement`
})

test("the system's health is told", async () => {
  const health = await site.call(owner, 'GET /api/admin/system', {})
  expect(health.database.ok).toBe(true)
  expect(health.ledger?.healthy).toBe(true)
  expect(health.processes).toHaveLength(1)
})

test('whether the books agreed when they were last audited is told with it, also after an audit of what is new', async () => {
  const told = async () => (await site.call(owner, 'GET /api/admin/system', {})).last_audit
  for (const [at, full, ok, agree] of [
    ['2993-01-01T00:00:00.000Z', true, true, true],
    ['2994-01-01T00:00:00.000Z', true, false, false],
    ['2995-01-01T00:00:00.000Z', false, true, false],
    ['2996-01-01T00:00:00.000Z', true, true, true],
    ['2997-01-01T00:00:00.000Z', false, false, false],
    ['2998-01-01T00:00:00.000Z', false, true, true],
    ['2999-01-01T00:00:00.000Z', true, false, false],
  ] as const) {
    await gateway.database.sql`
      insert into audit_run (started_at, ms, "full", ok, checks) values (${at}, 1, ${full}, ${ok}, '[]')`
    expect(await told()).toEqual({ ok: agree, at })
  }
  const query = { full: true, limit: 3 }
  const { items } = await site.call(owner, 'GET /api/admin/audits', { query })
  expect(items.map(({ at, full }) => [at.slice(0, 4), full])).toEqual([
    ['2999', true],
    ['2996', true],
    ['2994', true],
  ])
})

test('accounts in debt are found among all others', async () => {
  const debtor = await site.signUp('debtor@example.com')
  const params = { id: debtor.accountId }
  const inDebt = async () => {
    const { items } = await site.call(owner, 'GET /api/admin/accounts', { query: { in_debt: true } })
    return items.map(({ id }) => id)
  }
  expect(await inDebt()).not.toContain(debtor.accountId)
  const debit = { amount: '5', reason: 'it was more than that', once: crypto.randomUUID() }
  await site.call(owner, 'POST /api/admin/accounts/:id/debit', { params, body: debit })
  expect(await inDebt()).toContain(debtor.accountId)
})

test('the log of acts is searched by parts of what was done and to what; a word that is a number is all of one', async () => {
  const all = [
    'thing 4',
    'thing 41',
    'thing 114',
    'thing 1111',
    'thing acme/gpt-4',
    'thing a^/gpt-4-20250514',
  ]
  for (const target of all) {
    await gateway.database.sql`
      insert into admin_act (email, action, target) values ('somebody', 'thing.do_it', ${target})`
  }
  const found = async (query: { action?: string; target?: string }) => {
    const { items } = await site.call(owner, 'GET /api/admin/log', { query })
    return items.map(({ target }) => target).reverse()
  }
  expect(await found({ action: 'DO_' })).toEqual(all)
  expect(await found({ action: 'do%' })).toEqual([])
  expect(await found({ target: 'thing 4' })).toEqual(['thing 4'])
  const theirs = ['thing acme/gpt-4', 'thing a^/gpt-4-20250514']
  expect(await found({ target: 'GPT-4' })).toEqual(theirs)
  expect(await found({ action: 'thing.', target: '4' })).toEqual(['thing 4', ...theirs])
  expect(await found({ action: 'thing.', target: '11' })).toEqual([])
  expect(await found({ target: 'gpt-4-2025' })).toEqual(['thing a^/gpt-4-20250514'])
  expect(await found({ target: 'a^/' })).toEqual(['thing a^/gpt-4-20250514'])
  expect(await found({ target: '[a-z]' })).toEqual([])
  expect(await found({ action: 'thing.', target: 'thing ' })).toEqual(all)
})

test('the log of acts is narrowed by who acted, and by a span of time, page by page', async () => {
  for (const [email, at] of [
    ['one@acts.example', '2020-05-01T00:00:00Z'],
    ['one@acts.example', '2020-05-02T00:00:00Z'],
    ['other@acts.example', '2020-05-02T12:00:00Z'],
    ['one@acts.example', '2020-05-03T00:00:00Z'],
  ] as const) {
    await gateway.database.sql`
      insert into admin_act (email, at, action, target) values (${email}, ${at}, 'old.act', ${at})`
  }
  type Asked = { by?: string; from?: string; to?: string; limit?: number; cursor?: string }
  const found = async (query: Asked) => {
    const { items, next } = await site.call(owner, 'GET /api/admin/log', { query })
    return { acts: items.map(({ target }) => target.slice(5, 13)).reverse(), next }
  }
  expect((await found({ by: 'ONE@acts' })).acts).toEqual(['05-01T00', '05-02T00', '05-03T00'])
  expect((await found({ by: '%acts' })).acts).toEqual([])
  const second = { from: '2020-05-02', to: '2020-05-03T00:00:00Z' }
  expect((await found(second)).acts).toEqual(['05-02T00', '05-02T12'])
  const { acts, next } = await found({ ...second, limit: 1 })
  expect(acts).toEqual(['05-02T12'])
  expect(await found({ ...second, limit: 1, cursor: next ?? '' })).toEqual({ acts: ['05-02T00'], next: null })
  expect((await found({ ...second, by: 'other' })).acts).toEqual(['05-02T12'])
  for (const field of ['from', 'to'] as const) {
    const failure = await site.fail(owner, 'GET /api/admin/log', { query: { [field]: '2020-02-31' } })
    expect(failure).toMatchObject({ status: 400, field, message: 'This is no day or time' })
  }
})

test('the log of acts cannot be changed, not even by hand', async () => {
  const error = await gateway.database.sql`update admin_act set email = 'nobody'`.catch(
    (thrown: unknown) => thrown,
  )
  expect(sqlErrorOf(error)?.code).toBe('TG004')
})

test('statements add up and print with a policy of their own, and hold nothing that a browser would run', async () => {
  await site.call(owner, 'POST /api/admin/accounts/:id/credit', {
    params: { id: ada.accountId },
    body: { amount: '1', reason: '<script>alert(1)</script>' },
  })
  const { items } = await site.call(ada, 'GET /api/billing/statements', {})
  const [latest] = items
  const overview = await site.call(ada, 'GET /api/overview', { query: {} })
  expect(latest?.closing).toBe(overview.balance)
  const page = await site.send(ada, 'GET /api/billing/statements/:month', {
    params: { month: latest?.month },
  })
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'sha256-")
  const html = await page.text()
  expect(html).toContain('&lt;script&gt;')
  expect(html).not.toContain('<script>')
})
