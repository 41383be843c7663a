import { describe, expect, spyOn, test } from 'bun:test'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'

const { gateway, site } = await fileConsole()
const ada = await site.signUp('ada@example.com')
const ONE_LINE = 'One line of at most 200 characters, with something to see in it'

async function ask(key: string): Promise<string> {
  const body = { model: 'chat/echo', messages: [{ role: 'user', content: 'Hello there' }] }
  const response = await gateway.post('/v1/chat/completions', body, { key })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

test.each([
  [
    'PUT /api/me/password',
    { current: 'x', password: 'short' },
    'password: A password has 10 to 256 characters',
  ],
  ['POST /api/password-reset', { email: 'ada' }, 'email: This is no email address such as ada@example.com'],
  ['POST /api/keys', { name: 'x', models: [''] }, 'models.0: This may not be empty'],
  [
    'POST /api/keys',
    { name: 'x', cap: { amount: '5', period: 'year' } },
    'cap.period: This is none of the choices',
  ],
  ['POST /api/keys', { name: 'x'.repeat(201) }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: '\u200b\u200b' }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: ' \n ' }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: ' '.repeat(201) }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: 'laptop\u202egpj' }, `name: ${ONE_LINE}`],
  ['PATCH /api/keys/:id', { name: '\u3164', revision: 'x' }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: ['a'] }, `name: ${ONE_LINE}`],
  ['POST /api/keys', { name: 'x', models: [] }, 'models: At least 1 to choose'],
  ['POST /api/keys', { name: 'x', nonsense: 1 }, 'nonsense: There is no such field'],
  ['POST /api/keys', {}, 'name: This is missing'],
] as const)('%s tells a person what is wrong with %j', async (route, body, message) => {
  expect(await site.fail(ada, route, { params: { id: 1 }, body })).toMatchObject({ status: 400, message })
})

test.each([
  ['POST /api/keys', { body: { name: 'k', models: ['a\0b'] } }, 'models.0'],
  ['POST /api/keys', { body: { name: 'half \ud800 of a pair' } }, 'name'],
  ['PUT /api/me/password', { body: { current: 'a\0b', password: 'long enough a one' } }, 'current'],
  ['POST /api/session', { body: { email: 'a\0b@example.com', password: 'x' } }, 'email'],
  ['GET /api/requests', { query: { model: 'a\0b' } }, 'model'],
  ['GET /api/requests', { query: { from: '2026-02-31' } }, 'from'],
  ['GET /api/usage', { query: { to: '2026-02-30T00:00:00Z' } }, 'to'],
  ['POST /api/password-reset', { body: { email: '\u202eada@example.com' } }, 'email'],
  ['POST /api/password-reset', { body: { email: 'a\u200bda@example.com' } }, 'email'],
] as const)('%s refuses what is no text, no address or no day: %j', async (route, input, field) => {
  expect(await site.fail(ada, route, input)).toMatchObject({ status: 400, field })
})

describe('a key', () => {
  test('is shown once, works, and its request has a receipt whose lines sum to what was charged', async () => {
    const { key, secret } = await site.call(ada, 'POST /api/keys', { body: { name: 'laptop' } })
    expect(secret).toStartWith(`${key.prefix}`)
    const id = await ask(secret)
    await gateway.server.flush()
    const receipt = await site.call(ada, 'GET /api/requests/:id', { params: { id } })
    expect(receipt).toMatchObject({
      request_id: id,
      model: 'chat/echo',
      end_state: 'complete',
      key_name: 'laptop',
    })
    expect(receipt.channel).toBeNull()
    expect(receipt.charged).toBe(receipt.cost ?? '')
    expect(receipt.lines.length).toBeGreaterThan(0)
    const { items } = await site.call(ada, 'GET /api/requests', { query: {} })
    expect(items[0]).toMatchObject({ id, status: 200, cost: receipt.cost })
    expect(JSON.stringify(await site.call(ada, 'GET /api/keys', { query: {} }))).not.toContain(secret)
  })

  test('that is sent for again, since its answer was lost, is made once', async () => {
    const body = { name: 'lost', once: 'one-dialog-1' }
    const first = await site.call(ada, 'POST /api/keys', { body })
    expect(await site.call(ada, 'POST /api/keys', { body })).toEqual(first)
    const bob = await site.signUp('bob-with-a-key@example.com')
    expect((await site.call(bob, 'POST /api/keys', { body })).secret).not.toBe(first.secret)
    const { items } = await site.call(ada, 'GET /api/keys', { query: { search: 'lost' } })
    expect(items.map(({ id }) => id)).toEqual([first.key.id])
  })

  test('is made with everything that narrows it', async () => {
    const { key } = await site.call(ada, 'POST /api/keys', {
      body: {
        name: 'narrow',
        models: ['chat/echo'],
        expires_at: '2036-01-01',
        allow_ips: ['10.0.0.0/8'],
        cap: { amount: '2.00', period: 'month' },
        limits: { requests_per_minute: 5, tokens_per_minute: null },
      },
    })
    expect(key).toMatchObject({
      status: 'active',
      models: ['chat/echo'],
      expires_at: '2036-01-01T00:00:00.000Z',
      allow_ips: ['10.0.0.0/8'],
      cap: { amount: '2.000000000', period: 'month' },
      spent: '0.000000000',
      limits: { requests_per_minute: 5, tokens_per_minute: null, concurrent_requests: null },
    })
  })

  test.each([
    ['a model that the account does not have', { models: ['nobody/has'] }, 'models'],
    ['an expiry that is over', { expires_at: '2020-01-01' }, 'expires_at'],
    ['an expiry on a day that no calendar has', { expires_at: '2036-02-31' }, 'expires_at'],
    ['an expiry in a year of five digits', { expires_at: '9999-12-31T23:59:59-14:00' }, 'expires_at'],
    ['a name that has no text', { name: { toString: 1 } }, 'name'],
    ['a range that is none', { allow_ips: ['300.1.1.1'] }, 'allow_ips'],
    ['more than every key may', { limits: { requests_per_minute: 1_000_001 } }, 'limits.requests_per_minute'],
    ['a cap that is no amount', { cap: { amount: '1,5', period: 'day' } }, 'cap.amount'],
    ['a field that nobody knows', { colour: 'red' }, 'colour'],
  ])('is refused with %s, and the field is named', async (_what, more, field) => {
    const failure = await site.fail(ada, 'POST /api/keys', { body: { name: 'x', ...more } })
    expect(failure).toMatchObject({ status: 400, code: 'invalid_request', field })
  })

  test('is found by a part of its name and by how it begins, and by nobody else', async () => {
    const { key } = await site.call(ada, 'POST /api/keys', { body: { name: 'Build 100%' } })
    await site.call(ada, 'POST /api/keys', { body: { name: 'build server' } })
    const found = async (search: string) => {
      const { items } = await site.call(ada, 'GET /api/keys', { query: { search } })
      return items.map(({ name }) => name)
    }
    expect(await found('BUILD')).toEqual(['build server', 'Build 100%'])
    expect(await found('0%')).toEqual(['Build 100%'])
    expect(await found(key.prefix)).toEqual(['Build 100%'])
    expect(await found('sk-')).toEqual([])
    const bob = await site.signUp('bob@example.com')
    const foreign = await site.call(bob, 'GET /api/keys', { query: { search: 'build' } })
    expect(foreign.items).toEqual([])
  })

  test('is found by whether it has expired', async () => {
    const eve = await site.signUp('eve@example.com')
    const made = async (name: string) => {
      const { key } = await site.call(eve, 'POST /api/keys', { body: { name, expires_at: '2036-01-01' } })
      return key.id
    }
    const ids = [await made('expired'), await made('revoked'), await made('working')]
    await site.call(eve, 'POST /api/keys/:id/revoke', { params: { id: ids[1] ?? 0 } })
    const { sql } = gateway.database
    await sql`update api_key set expires_at = now() - interval '1 s' where id in (${ids[0] ?? 0}, ${ids[1] ?? 0})`
    const { items } = await site.call(eve, 'GET /api/keys', { query: { status: 'expired' } })
    expect(items.map(({ name, status }) => [name, status])).toEqual([['expired', 'expired']])
  })

  test('that is revoked stops, and says when it was', async () => {
    const { key, secret } = await site.call(ada, 'POST /api/keys', { body: { name: 'gone' } })
    const revoked = await site.call(ada, 'POST /api/keys/:id/revoke', { params: { id: key.id } })
    expect(revoked.status).toBe('revoked')
    const params = { id: ada.accountId }
    const reader = await site.signUp('reader-of-keys@example.com', 'read_only')
    for (const [status, listed] of [
      ['revoked', [key.id]],
      ['active', []],
    ] as const) {
      const query = { status, search: 'gone' }
      const own = await site.call(ada, 'GET /api/keys', { query })
      const seen = await site.call(reader, 'GET /api/admin/accounts/:id/keys', { params, query })
      for (const { items } of [own, seen]) expect(items.map(({ id }) => id)).toEqual([...listed])
    }
    const response = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(response.status).toBe(401)
  })
})

test('keys of a suspended account are said to be that, to its holder and to administrators, until it is resumed', async () => {
  const held = await site.signUp('held@example.com')
  const reader = await site.signUp('reader-of-held@example.com', 'admin')
  const params = { id: held.accountId }
  await site.call(held, 'POST /api/keys', { body: { name: 'works' } })
  const gone = await site.call(held, 'POST /api/keys', { body: { name: 'gone' } })
  await site.call(held, 'POST /api/keys/:id/revoke', { params: { id: gone.key.id } })
  const statuses = async () => {
    const own = await site.call(held, 'GET /api/keys', { query: {} })
    const seen = await site.call(reader, 'GET /api/admin/accounts/:id/keys', { params, query: {} })
    return [own, seen].map(({ items }) => items.map(({ status }) => status))
  }
  const body = { reason: 'a leak' }
  await site.call(reader, 'POST /api/admin/accounts/:id/suspend', { params, body })
  expect(await statuses()).toEqual(Array(2).fill(['revoked', 'suspended']))
  await site.call(reader, 'POST /api/admin/accounts/:id/resume', { params, body })
  expect(await statuses()).toEqual(Array(2).fill(['revoked', 'active']))
})

test('keys of one name are told apart by how they begin, and one without a name is called by that alone', async () => {
  const twice = await site.signUp('twice@example.com')
  const make = (name: string) => site.call(twice, 'POST /api/keys', { body: { name } })
  const [one, other, nameless, alone] = [
    await make('laptop'),
    await make('laptop'),
    await make(''),
    await make('server'),
  ]
  const labels = [`laptop (${one.key.prefix})`, `laptop (${other.key.prefix})`, nameless.key.prefix, 'server']
  for (const { secret } of [one, other, nameless, alone]) await ask(secret)
  await gateway.server.flush()
  const { items } = await site.call(twice, 'GET /api/keys', { query: {} })
  expect(items.map(({ label }) => label).toReversed()).toEqual(labels)
  const { series } = await site.call(twice, 'GET /api/usage', { query: { by: 'key' } })
  expect(series.map(({ name }) => name).toSorted()).toEqual(labels.toSorted())
})

describe('the overview', () => {
  test('tells balance, spending and limits', async () => {
    const overview = await site.call(ada, 'GET /api/overview', { query: {} })
    expect(overview).toMatchObject({ email: 'ada@example.com', on_trial: true, held: '0.000000000' })
    expect(Number(overview.balance)).toBeLessThan(1)
    expect(overview.spent_today).toBe(overview.spent_30_days)
    expect(overview.limits.find(({ scope, kind }) => scope === 'account' && kind === 'requests')?.used).toBe(
      1,
    )
  })

  test('tells the limits of every key in use, however many newer ones there are, the nearest to one first', async () => {
    const many = await site.signUp('many-keys@example.com')
    const make = (name: string, requests: number) =>
      site.call(many, 'POST /api/keys', { body: { name, limits: { requests_per_minute: requests } } })
    const used = [await make('far', 100), await make('near', 4)]
    for (let count = 0; count < 21; count += 1) await make(`newer ${count}`, 1)
    for (const { secret } of used) await ask(secret)
    await gateway.server.flush()
    const { limits } = await site.call(many, 'GET /api/overview', { query: {} })
    const ofKeys = limits.filter(({ scope, kind }) => scope === 'key' && kind === 'requests')
    expect(ofKeys.map(({ key_name, used, limit }) => [key_name, used, limit])).toEqual([
      ['near', 1, 4],
      ['far', 1, 100],
    ])
  })

  test('of many keys in use the limits of the 20 nearest to one are told, and none of a key that is out of force or hidden', async () => {
    const busy = await site.signUp('busy-keys@example.com')
    for (let count = 1; count <= 24; count += 1) {
      const body = { name: `key ${count}`, limits: { requests_per_minute: 1000 + count } }
      await ask((await site.call(busy, 'POST /api/keys', { body })).secret)
    }
    await gateway.server.flush()
    const { sql } = gateway.database
    const ofBusy = (name: string) => sql`account_id = ${busy.accountId} and name = ${name}`
    await sql`update api_key set status = 'revoked', revoked_at = now() where ${ofBusy('key 1')}`
    await sql`update api_key set expires_at = '2020-01-01' where ${ofBusy('key 2')}`
    await sql`update api_key set hidden = true where ${ofBusy('key 3')}`
    const { limits } = await site.call(busy, 'GET /api/overview', { query: {} })
    const ofKeys = limits.filter(({ scope, kind }) => scope === 'key' && kind === 'requests')
    expect(ofKeys.map(({ key_name, used }) => [key_name, used])).toEqual(
      Array.from({ length: 20 }, (_, place) => [`key ${place + 4}`, 1]),
    )
  })

  test('usage by model and by key sums to what was spent, also as CSV', async () => {
    const { spent_today } = await site.call(ada, 'GET /api/overview', { query: {} })
    for (const by of ['model', 'key', 'service_tier'] as const) {
      const usage = await site.call(ada, 'GET /api/usage', { query: { by, bucket: 'hour' } })
      expect(usage.totals.spend).toBe(spent_today)
      expect(usage.series[0]?.spend.length).toBe(usage.buckets.length)
      const csv = await site.send(ada, 'GET /api/usage.csv', { query: { by, bucket: 'hour' } })
      expect(csv.headers.get('content-type')).toContain('text/csv')
      expect(await csv.text()).toContain(spent_today)
    }
  })
})

test('that credit did not pay for a request is told until some is added, or a hundred later ones were', async () => {
  const poor = await site.signUp('poor@example.com')
  const admin = await site.signUp('giver@example.com', 'admin')
  const refuse = async (code: string, { count = 1, at = new Date() } = {}) => {
    for (let n = 0; n < count; n += 1) {
      await gateway.database.sql`
        insert into exchange (id, account_id, key_id, surface, streamed, usage_source, status, end_state, error_code,
          started_at, total_ms, attempts)
        values (${Bun.randomUUIDv7('hex', at)}, ${poor.accountId}, 1, 'chat', true, 'reported', 402, 'refused', ${code},
          ${at.toISOString()}::text::timestamptz, 1, 0)`
    }
    return at.toISOString()
  }
  const told = async () => (await site.call(poor, 'GET /api/overview', { query: {} })).refused_at
  await refuse('credit_exhausted', { at: new Date(Date.now() - 25 * 3_600_000) })
  expect(await told()).toBeNull()
  const first = await refuse('credit_exhausted')
  await refuse('key_budget_exhausted')
  expect(await told()).toBe(first)
  await refuse('key_budget_exhausted', { count: 99 })
  expect(await told()).toBeNull()
  const second = await refuse('credit_exhausted')
  expect(await told()).toBe(second)
  const body = { amount: '1', reason: 'paid' }
  await site.call(admin, 'POST /api/admin/accounts/:id/credit', { params: { id: poor.accountId }, body })
  expect(await told()).toBeNull()
})

test('entries are found by when they were posted, by their holder and by administrators', async () => {
  const dated = await site.signUp('dated@example.com')
  const reader = await site.signUp('reader-of-entries@example.com', 'read_only')
  const params = { id: dated.accountId }
  const [trial] = (await site.call(dated, 'GET /api/billing/entries', { query: {} })).items
  if (trial === undefined) throw new Error('there is no trial credit')
  const after = new Date(Date.parse(trial.created_at) + 1).toISOString()
  for (const [query, found] of [
    [{ from: trial.created_at, to: after }, [trial]],
    [{ from: after }, []],
    [{ to: trial.created_at }, []],
  ] as const) {
    const own = await site.call(dated, 'GET /api/billing/entries', { query })
    const seen = await site.call(reader, 'GET /api/admin/accounts/:id/entries', { params, query })
    for (const { items } of [own, seen]) expect(items).toEqual([...found])
  }
})

test('the models are those that the account reaches, with prices', async () => {
  const { items } = await site.call(ada, 'GET /api/models', {})
  const echo = items.find(({ id }) => id === 'chat/echo')
  expect(echo).toMatchObject({ prices: { input: '1', output: '2' } })
  expect(echo?.surfaces).toEqual(['chat', 'responses', 'messages', 'gemini'])
})

test('the playground says of a suspended account that it is served nothing, not that it gets no keys', async () => {
  const holder = await site.signUp('suspended@example.com')
  await gateway.accounts.suspendAccount(holder.accountId)
  const body = { path: '/v1/chat/completions', body: { model: 'chat/echo', messages: [] } }
  expect(await site.fail(holder, 'POST /api/playground', { body })).toMatchObject({
    status: 409,
    message: 'This account is not active: it is served nothing until it is resumed',
  })
})

test('the playground streams what a client would get, with a key that is in no list', async () => {
  const before = await site.call(ada, 'GET /api/keys', { query: {} })
  const fetched = spyOn(globalThis, 'fetch')
  const response = await site.send(ada, 'POST /api/playground', {
    body: {
      path: '/v1/chat/completions',
      body: { model: 'chat/echo', stream: true, messages: [{ role: 'user', content: 'Hello you' }] },
    },
  })
  // The key is shown to no proxy, whatever the environment names.
  const [, asked] = fetched.mock.calls.find(([url]) => String(url).endsWith('/v1/chat/completions')) ?? []
  fetched.mockRestore()
  expect(asked).toMatchObject({ proxy: false })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const text = await response.text()
  expect(text).toContain('data: [DONE]')
  await gateway.server.flush()
  const { items } = await site.call(ada, 'GET /api/requests', { query: {} })
  expect(items[0]).toMatchObject({ id: response.headers.get('x-request-id') ?? '', key_name: 'playground' })
  expect(await site.call(ada, 'GET /api/keys', { query: {} })).toEqual(before)
})

/** What a live log told of in its first event. */
async function firstTold(stream: Response) {
  let text = ''
  for await (const chunk of stream.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (text.includes('event: request')) break
  }
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json))
}

test('the live log tells of a request of this account as it ends, and of no other', async () => {
  const { secret } = await site.call(ada, 'POST /api/keys', { body: { name: 'live' } })
  const stream = await site.send(ada, 'GET /api/live/requests')
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  await site.console.tail.poll()
  await ask(gateway.key)
  const own = await ask(secret)
  await gateway.server.flush()
  await site.console.tail.poll()
  expect((await firstTold(stream)).map(({ id }) => id)).toEqual([own])
})

test('an account has 20 live logs open at once, and another one when one of them has ended', async () => {
  const watcher = await site.signUp('watcher@example.com')
  const open = (signal?: AbortSignal) =>
    site.send(watcher, 'GET /api/live/requests', {}, signal === undefined ? {} : { signal })
  const one = new AbortController()
  const streams = await Promise.all([open(one.signal), ...Array.from({ length: 19 }, () => open())])
  expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(await site.fail(watcher, 'GET /api/live/requests')).toMatchObject({ code: 'unavailable' })
  // Nobody else is kept from theirs.
  const other = await site.send(ada, 'GET /api/live/requests')
  expect(other.status).toBe(200)
  one.abort()
  await until(async () => {
    const again = await open()
    streams.push(again)
    return again.status === 200
  })
  await Promise.all([other, ...streams].map(({ body }) => body?.cancel().catch(() => undefined)))
})

test('whose a request is, administrators are told by the address, in the log, live and on the receipt, and holders not at all', async () => {
  const reader = await site.signUp('reader-of-names@example.com', 'read_only')
  const { secret } = await site.call(ada, 'POST /api/keys', { body: { name: 'whose' } })
  const live = await Promise.all([
    site.send(reader, 'GET /api/admin/live/requests'),
    site.send(ada, 'GET /api/live/requests'),
  ])
  await site.console.tail.poll()
  const id = await ask(secret)
  await gateway.server.flush()
  await site.console.tail.poll()
  const whose = async (visitor: typeof ada, at: '/api/admin' | '/api', stream: Response) => {
    const { items } = await site.call(visitor, `GET ${at}/requests`, { query: { limit: 1 } })
    const receipt = await site.call(visitor, `GET ${at}/requests/:id`, { params: { id } })
    const told = await firstTold(stream)
    return [items[0], receipt, told[0]].map(line => line?.account_email)
  }
  const [toReader = new Response(), toHolder = new Response()] = live
  expect(await whose(reader, '/api/admin', toReader)).toEqual(Array(3).fill('ada@example.com'))
  expect(await whose(ada, '/api', toHolder)).toEqual(Array(3).fill(null))
})
