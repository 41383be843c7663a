import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import {
  PASSWORD,
  type RouteName,
  startTestConsole,
  type TestConsole,
  type Visitor,
} from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { consoleRoutes } from '@/console/api/contract/api.ts'
import { firstOwnerLink, linkMakerOf, makeLink } from '@/console/sign-in/links.ts'
import { consoleSession, consoleUser, type Role } from '@/db/schema.ts'

const clock = manualClock(Date.now())
let gateway: TestGateway
let site: TestConsole
let open: TestConsole

beforeAll(async () => {
  gateway = await startTestGateway()
  site = await startTestConsole(gateway, { clock })
  open = await startTestConsole(gateway, { clock, publicConsoleUrl: 'https://console.example.com' })
  await gateway.apply('console: { signup: true }')
})
afterAll(async () => {
  await site.stop()
  await open.stop()
  await gateway.close()
})

const tokenOf = (url: string) => url.split('#')[1] ?? ''
const signIn = (email: string, password: string, more: object = {}) =>
  site.send(undefined, 'POST /api/session', { body: { email, password, ...more } })

describe('the session cookie', () => {
  test('is out of reach of scripts and of other sites, and the database holds only its hash', async () => {
    await site.signUp('cookie@example.com')
    const cookie = (await signIn('cookie@example.com', PASSWORD)).headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^tollgate=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/)
    const [, token = ''] = /=([\w-]+);/.exec(cookie) ?? []
    const rows = JSON.stringify(await gateway.database.orm.select().from(consoleSession))
    expect(rows).not.toContain(token)
  })

  test('is for TLS alone where the console is', async () => {
    const response = await open.send(undefined, 'POST /api/session', {
      body: { email: 'cookie@example.com', password: PASSWORD },
    })
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-tollgate=.*; Secure$/)
    expect(response.headers.get('strict-transport-security')).toContain('max-age=')
  })

  test('that is stolen is worth nothing after signing out everywhere', async () => {
    const ada = await site.signUp('stolen@example.com')
    const elsewhere = { ...ada, cookie: (await signIn(ada.email, PASSWORD)).headers.get('set-cookie') ?? '' }
    expect((await site.call(ada, 'GET /api/sessions', {})).items).toHaveLength(2)
    await site.call(ada, 'DELETE /api/sessions', {})
    for (const visitor of [ada, elsewhere]) {
      expect(await site.fail(visitor, 'GET /api/keys')).toMatchObject({
        status: 401,
        code: 'unauthenticated',
      })
    }
  })

  test('is another one after signing in again, and the one before is worth nothing', async () => {
    const ada = await site.signUp('again@example.com')
    const body = { email: ada.email, password: PASSWORD }
    const cookie = (await site.send(ada, 'POST /api/session', { body })).headers.get('set-cookie') ?? ''
    expect((await site.send(ada, 'GET /api/sessions')).status).toBe(401)
    const again = { ...ada, cookie: cookie.split(';')[0] }
    expect((await site.call(again, 'GET /api/sessions', {})).items).toHaveLength(1)
  })

  test.each(['password', 'second factor'] as const)(
    'of somebody who has just shown the old way in is none after a new %s, which ends all others',
    async what => {
      const ada = await site.signUp(`race-for-a-new-${what.replace(' ', '-')}@example.com`)
      const { passwords } = site.console
      const { verify } = passwords
      const shown = Promise.withResolvers<void>()
      const changed = Promise.withResolvers<void>()
      passwords.verify = async (password, hash) => {
        const isRight = await verify(password, hash)
        shown.resolve()
        await changed.promise
        return isRight
      }
      const signingIn = signIn(ada.email, PASSWORD)
      await shown.promise
      passwords.verify = verify
      if (what === 'password') {
        const body = { current: PASSWORD, password: 'another good password' }
        await site.call(ada, 'PUT /api/me/password', { body })
      } else {
        const { secret } = await site.call(ada, 'POST /api/me/totp', { body: { password: PASSWORD } })
        const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() })
        await site.call(ada, 'POST /api/me/totp/confirm', { body: { code } })
      }
      changed.resolve()
      const response = await signingIn
      expect(response.status).toBe(401)
      expect(response.headers.get('set-cookie')).toBeNull()
      expect((await site.call(ada, 'GET /api/sessions', {})).items).toHaveLength(1)
    },
  )

  test('alone changes neither password nor second factor of the administrator whose it is', async () => {
    const owner = await site.signUp('stolen-from@example.com', 'owner')
    const params = { id: owner.userId }
    for (const name of [
      'POST /api/admin/users/:id/reset-link',
      'POST /api/admin/users/:id/totp/remove',
    ] as const) {
      const own = { params, body: { password: PASSWORD } }
      expect(await site.fail(owner, name, own)).toMatchObject({ code: 'refused' })
    }
  })

  test('that has ended, or a role that was taken away, ends the live log, which tells nothing more', async () => {
    const owner = await site.signUp('taking@example.com', 'owner')
    const reader = await site.signUp('reader@example.com', 'read_only')
    const holder = await site.signUp('leaver@example.com')
    const all = await site.send(reader, 'GET /api/admin/live/requests')
    const own = await site.send(holder, 'GET /api/live/requests')
    await site.console.tail.poll()
    await site.call(owner, 'PUT /api/admin/users/:id/role', {
      params: { id: reader.userId },
      body: { role: null, password: PASSWORD },
    })
    const { secret } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
    await site.call(holder, 'DELETE /api/session', {})
    const asked = await gateway.post(
      '/v1/chat/completions',
      '{"model":"chat/echo","messages":[{"role":"user","content":"secret"}]}',
      { key: secret },
    )
    await asked.text()
    await gateway.server.flush()
    await site.console.tail.poll()
    // Both end by themselves: what is read is all there will be.
    expect(await all.text()).not.toContain('event: request')
    expect(await own.text()).not.toContain('event: request')
  })

  test('ends with a role that is given or taken: whoever stole it gets nothing of the new one', async () => {
    const owner = await site.signUp('giving@example.com', 'owner')
    const raised = await site.signUp('raised@example.com')
    const params = { id: raised.userId }
    const raise = { role: 'admin', password: PASSWORD } as const
    await site.call(owner, 'PUT /api/admin/users/:id/role', { params, body: raise })
    expect((await site.send(raised, 'GET /api/sessions')).status).toBe(401)
    // The one that says so stays, also where it is about its own user.
    const own = { id: owner.userId }
    const elsewhere = (await signIn(owner.email, PASSWORD)).headers.get('set-cookie')?.split(';')[0]
    const lower = { role: 'read_only', password: PASSWORD } as const
    await site.call(owner, 'PUT /api/admin/users/:id/role', { params: own, body: lower })
    expect((await site.send(owner, 'GET /api/sessions')).status).toBe(200)
    expect((await site.send({ ...owner, cookie: elsewhere }, 'GET /api/sessions')).status).toBe(401)
  })

  test('ends after a week without use, and after 30 days of it', async () => {
    const idle = await site.signUp('idle@example.com')
    const busy = await site.signUp('busy@example.com')
    for (let day = 0; day < 8; day += 1) {
      clock.advance(86_400_000)
      await site.call(busy, 'GET /api/sessions', {})
    }
    expect((await site.send(idle, 'GET /api/sessions')).status).toBe(401)
    const cookie = (await signIn(idle.email, PASSWORD)).headers.get('set-cookie')?.split(';')[0]
    // What cannot be used any more is nowhere that one is signed in.
    expect((await site.call({ ...idle, cookie }, 'GET /api/sessions', {})).items).toHaveLength(1)
    for (let day = 0; day < 22; day += 1) {
      clock.advance(86_399_000)
      await site.send(busy, 'GET /api/sessions')
    }
    clock.advance(86_400_000)
    expect((await site.send(busy, 'GET /api/sessions')).status).toBe(401)
  })

  test('of somebody who is disabled is none', async () => {
    const owner = await site.signUp('disabling@example.com', 'owner')
    const gone = await site.signUp('disabled@example.com')
    await site.call(owner, 'POST /api/admin/users/:id/disable', { params: { id: gone.userId } })
    expect((await site.send(gone, 'GET /api/keys')).status).toBe(401)
    expect((await signIn('disabled@example.com', PASSWORD)).status).toBe(401)
  })
})

describe('a change', () => {
  test.each([
    ['from another site', { origin: 'https://evil.example' }],
    ['from a page of no origin', { origin: 'null' }],
    ['that the browser says is cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['from another port of this host', { origin: 'http://127.0.0.1:1' }],
  ])('%s is refused, with a good cookie', async (_what, headers) => {
    const ada = await site.signUp(`csrf-${crypto.randomUUID()}@example.com`)
    const response = await site.send(ada, 'POST /api/keys', { body: { name: 'x' } }, { headers })
    expect(response.status).toBe(403)
    expect((await site.call(ada, 'GET /api/keys', { query: {} })).items).toEqual([])
  })

  test('without an Origin is refused', async () => {
    const response = await fetch(`${site.url}/api/session`, { method: 'DELETE' })
    expect(response.status).toBe(403)
  })

  test('from the address that people are told is let through, behind whatever proxy', async () => {
    const response = await open.send(
      undefined,
      'DELETE /api/session',
      {},
      {
        headers: { origin: 'https://console.example.com' },
      },
    )
    expect(response.status).toBe(200)
  })

  test('as a form is refused: a form needs no permission to be sent', async () => {
    const response = await site.send(
      undefined,
      'POST /api/session',
      {},
      {
        body: 'email=a@b.c&password=x',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    )
    expect(response.status).toBe(400)
  })
})

describe('every answer', () => {
  test.each(['/', '/billing', '/api/deployment', '/api/nothing', '/nothing.js'])(
    '%s is locked down',
    async path => {
      const { headers } = await fetch(`${site.url}${path}`)
      expect(headers.get('content-security-policy')?.split('; ').sort()).toEqual([
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data:",
        "script-src 'self'",
        "style-src 'self'",
      ])
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
      expect(headers.get('strict-transport-security')).toBeNull()
      if (path.startsWith('/api/')) expect(headers.get('cache-control')).toBe('no-store')
    },
  )

  const isFile = ([name, route]: [string, object]) => name.startsWith('GET ') && 'answers' in route
  test.each(Object.entries(consoleRoutes).filter(isFile))(
    'to a HEAD of %s ends with its head, for who may have it alone',
    async name => {
      const boss = await site.signUp(`${crypto.randomUUID()}@example.com`, 'owner')
      const params = { id: boss.accountId, month: '2026-11' }
      const query = name.endsWith('entries.csv') ? { month: '2026-11' } : {}
      const head = async (visitor: Visitor | undefined) =>
        (await site.send(visitor, name as RouteName, { params, query }, { method: 'HEAD' })).status
      expect(await head(boss)).toBe(200)
      expect(await head(undefined)).toBe(401)
    },
  )

  test('nothing of the API host is here, and nothing of this on the API host', async () => {
    const relayed = await fetch(`${site.url}/v1/chat/completions`, { method: 'POST' })
    expect(relayed.status).toBe(404)
    const consoled = await fetch(`${gateway.url}/api/deployment`)
    expect(consoled.status).toBe(404)
  })

  test.each(['/v1/models', '/v1', '/v1beta/models/x', '/v1alpha/models', '/healthz', '/readyz', '/metrics'])(
    'to GET %s, which another listener serves, is a JSON 404 and no page',
    async path => {
      const response = await fetch(`${site.url}${path}`, { headers: { accept: 'text/html' } })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'not_found' } })
    },
  )

  test('that fails repeats no password', async () => {
    const response = await signIn('a@b.c', 'pass-word-of-somebody', { more: 1 })
    expect(await response.text()).not.toContain('pass-word-of-somebody')
    expect(site.logLines.join()).not.toContain('pass-word-of-somebody')
  })
})

describe('signing in', () => {
  test('tells nobody whether an address is known', async () => {
    await site.signUp('known@example.com')
    const known = await signIn('known@example.com', 'a wrong password')
    const unknown = await signIn('unknown@example.com', 'a wrong password')
    expect(known.status).toBe(401)
    expect(await known.text()).toBe(await unknown.text())
    for (const email of ['known@example.com', 'unknown@example.com']) {
      expect(await site.call(undefined, 'POST /api/password-reset', { body: { email } })).toEqual({
        ok: true,
      })
    }
  })

  test('asking for a new password takes as long for an address that is known as for one that is not', async () => {
    await gateway.apply('console: { signup: true, smtp: { host: localhost, from: "t@example.com" } }')
    const ada = await site.signUp('forgetful@example.com')
    const link = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = gateway.database.orm.transaction(async tx => {
      await tx.execute('lock table console_link in access exclusive mode')
      locked.resolve()
      await link.promise
    })
    await locked.promise
    // What is done for a known address waits; the answer does not.
    await site.call(undefined, 'POST /api/password-reset', { body: { email: ada.email } })
    link.resolve()
    await holding
    await until(() => site.mails.some(({ to }) => to === ada.email))
    await gateway.apply('console: { signup: true }')
  })

  test('a mailed link leads to the console, whichever host whoever asked for it has named', async () => {
    await gateway.apply('console: { signup: true, smtp: { host: localhost, from: "t@example.com" } }')
    clock.advance(3_600_000)
    const ada = await site.signUp('targeted@example.com')
    for (const [index, path] of ['/api/password-reset', '/api/signup'].entries()) {
      const count = site.mails.length
      const response = await fetch(`${site.url}${path}`, {
        method: 'POST',
        body: JSON.stringify({ email: ada.email }),
        headers: {
          'content-type': 'application/json',
          origin: 'http://evil.example',
          host: 'evil.example',
          'x-forwarded-host': 'evil.example',
          forwarded: 'host=evil.example',
        },
      })
      expect({ index, status: response.status }).toEqual({ index, status: 200 })
      await until(() => site.mails.length === count + 1)
      const { to, text } = site.mails.at(-1) ?? {}
      expect(to).toBe(ada.email)
      expect(text).toContain(`${site.url}/link#`)
      expect(text).not.toContain('evil.example')
    }
    site.mails.splice(0)
    await gateway.apply('console: { signup: true }')
  })

  test('says when one may try again', async () => {
    await site.signUp('impatient@example.com')
    for (let time = 0; time < 10; time += 1) await signIn('impatient@example.com', 'a wrong password')
    const refused = await signIn('impatient@example.com', PASSWORD)
    expect(await refused.text()).toMatch(/try again in \d+ seconds"/)
    clock.advance(3_600_000)
  })

  test('is slowed down after ten wrong passwords, also for the right one, until time has passed', async () => {
    await site.signUp('slow@example.com')
    for (let time = 0; time < 10; time += 1) {
      expect((await signIn('slow@example.com', 'a wrong password')).status).toBe(401)
    }
    const refused = await signIn('slow@example.com', PASSWORD)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
    clock.advance(60_000)
    expect((await signIn('slow@example.com', PASSWORD)).status).toBe(200)
  })

  test('is slowed down for one address of those behind a trusted proxy, and not for the others', async () => {
    const proxied = await startTestConsole(gateway, { clock, trustedProxies: ['127.0.0.0/8', '::1'] })
    const tryFrom = (address: string, email: string, password: string) =>
      proxied.send(
        undefined,
        'POST /api/session',
        { body: { email, password } },
        { headers: { 'x-forwarded-for': address } },
      )
    const ada = await proxied.signUp('proxied@example.com')
    for (let time = 0; time < 50; time += 1) {
      expect((await tryFrom('192.0.2.1', `nobody-${time}@example.com`, 'wrong password')).status).toBe(401)
    }
    expect((await tryFrom('192.0.2.1', ada.email, PASSWORD)).status).toBe(429)
    expect((await tryFrom('192.0.2.1, 192.0.2.2', ada.email, PASSWORD)).status).toBe(200)
    const { items } = await proxied.call(ada, 'GET /api/sessions', {})
    expect(items.map(({ ip }) => ip)).toContain('192.0.2.2')
    await proxied.stop()
  })

  test('is slowed down for all the addresses of IPv6 that one subscriber has', async () => {
    const proxied = await startTestConsole(gateway, { clock, trustedProxies: ['127.0.0.0/8', '::1'] })
    const tryFrom = async (address: string, time: number) => {
      const body = { email: `nobody-${time}@example.com`, password: 'wrong password' }
      const init = { headers: { 'x-forwarded-for': address } }
      return (await proxied.send(undefined, 'POST /api/session', { body }, init)).status
    }
    for (let time = 0; time < 50; time += 1) expect(await tryFrom(`2001:db8::${time}`, time)).toBe(401)
    expect(await tryFrom('2001:db8::ffff:1', 50)).toBe(429)
    expect(await tryFrom('2001:db8:0:1::1', 51)).toBe(401)
    await proxied.stop()
  })

  test('with the right password counts for nothing, however often', async () => {
    await site.signUp('often@example.com')
    clock.advance(3_600_000)
    for (let time = 0; time < 15; time += 1) {
      expect((await signIn('often@example.com', PASSWORD)).status).toBe(200)
    }
  })
})

describe('a second factor', () => {
  test('is asked for, each code works once, and a recovery code in its place', async () => {
    const ada = await site.signUp('factor@example.com')
    const { secret, uri } = await site.call(ada, 'POST /api/me/totp', { body: { password: PASSWORD } })
    expect(uri).toStartWith('otpauth://totp/')
    const codeNow = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() })
    expect((await site.fail(ada, 'POST /api/me/totp/confirm', { body: { code: '000000' } })).field).toBe(
      'code',
    )
    const { recovery_codes } = await site.call(ada, 'POST /api/me/totp/confirm', {
      body: { code: codeNow() },
    })
    expect(recovery_codes).toHaveLength(10)

    const without = await site.fail(undefined, 'POST /api/session', {
      body: { email: ada.email, password: PASSWORD },
    })
    expect(without.code).toBe('second_factor_required')
    // The code of the confirmation is used up.
    expect((await signIn(ada.email, PASSWORD, { code: codeNow() })).status).toBe(401)
    clock.advance(30_000)
    expect((await signIn(ada.email, PASSWORD, { code: codeNow() })).status).toBe(200)
    expect((await signIn(ada.email, PASSWORD, { code: codeNow() })).status).toBe(401)
    const [recovery = ''] = recovery_codes
    expect((await signIn(ada.email, PASSWORD, { code: recovery.toLowerCase() })).status).toBe(200)
    expect((await signIn(ada.email, PASSWORD, { code: recovery })).status).toBe(401)
    const stored = JSON.stringify(await gateway.database.orm.select().from(consoleUser))
    expect(stored).not.toContain(secret)
  })

  test('is confirmed once of several at the same moment, so that recovery codes that are shown are good', async () => {
    const ada = await site.signUp('confirmed@example.com')
    const { secret } = await site.call(ada, 'POST /api/me/totp', { body: { password: PASSWORD } })
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() })
    const confirm = () => site.send(ada, 'POST /api/me/totp/confirm', { body: { code } })
    const answers = await Promise.all([confirm(), confirm(), confirm()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    const [text = ''] = await Promise.all(answers.filter(({ ok }) => ok).map(answer => answer.text()))
    const { recovery_codes }: { recovery_codes: string[] } = JSON.parse(text)
    expect((await signIn(ada.email, PASSWORD, { code: recovery_codes[0] })).status).toBe(200)
  })

  test('is not guessed: six wrong codes, and it is slow', async () => {
    const ada = await site.signUp('guessed@example.com')
    const { secret } = await site.call(ada, 'POST /api/me/totp', { body: { password: PASSWORD } })
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() })
    await site.call(ada, 'POST /api/me/totp/confirm', { body: { code } })
    const statuses: number[] = []
    for (let time = 0; time < 6; time += 1) {
      statuses.push((await signIn(ada.email, PASSWORD, { code: '123456' })).status)
    }
    expect(statuses.at(-1)).toBe(429)
  })
})

describe('what is tried too often is refused:', () => {
  let tried: TestConsole
  let ada: Visitor
  beforeAll(async () => {
    tried = await startTestConsole(gateway, { clock, trustedProxies: ['127.0.0.0/8', '::1'] })
    ada = await tried.signUp('too-often@example.com')
    await tried.call(ada, 'POST /api/me/totp', { body: { password: PASSWORD } })
  })
  afterAll(() => tried.stop())

  const token = 'no such token'
  const stranger = (time: number) => `stranger-${crypto.randomUUID()}-${time}@example.com`
  const cases: readonly [string, number, RouteName, (time: number) => object, 'one address' | 'many'][] = [
    [
      'accounts from one address',
      10,
      'POST /api/signup',
      time => ({ email: stranger(time), password: PASSWORD }),
      'one address',
    ],
    ['mails for one user', 3, 'POST /api/password-reset', () => ({ email: ada.email }), 'many'],
    [
      'mails from one address',
      10,
      'POST /api/password-reset',
      time => ({ email: stranger(time) }),
      'one address',
    ],
    ['looks at links', 20, 'POST /api/links/inspect', () => ({ token }), 'one address'],
    ['uses of links', 20, 'POST /api/links/accept', () => ({ token, password: PASSWORD }), 'one address'],
    [
      'passwords for one user',
      100,
      'POST /api/session',
      () => ({ email: ada.email, password: 'wrong' }),
      'many',
    ],
    ['codes to redeem', 10, 'POST /api/billing/redeem', time => ({ code: `no-such-code-${time}` }), 'many'],
    ['codes of a second factor to be', 6, 'POST /api/me/totp/confirm', () => ({ code: '000000' }), 'many'],
    ['own passwords', 10, 'PUT /api/me/password', () => ({ current: 'wrong', password: PASSWORD }), 'many'],
  ]
  test.each(cases)('%s, beyond %i', async (what, most, route, body, from) => {
    const attempt = async (time: number) => {
      const address =
        from === 'many' ? `192.0.2.${time}` : `198.51.100.${cases.findIndex(([name]) => name === what)}`
      const init = { headers: { 'x-forwarded-for': address } }
      const visitor = consoleRoutes[route].access === 'anyone' ? undefined : ada
      return (await tried.send(visitor, route, { body: body(time) }, init)).status
    }
    for (let time = 0; time < most; time += 1) expect(await attempt(time)).not.toBe(429)
    expect(await attempt(most)).toBe(429)
  })
})

describe('a one-time link', () => {
  test('works once, of two at the same moment for one', async () => {
    const maker = linkMakerOf(site.console)
    const terms = { kind: 'invite', email: 'once@example.com', role: 'read_only' } as const
    const token = tokenOf((await makeLink(maker, gateway.database.orm, terms)).url)
    const accept = () =>
      site.send(undefined, 'POST /api/links/accept', { body: { token, password: PASSWORD } })
    const statuses = (await Promise.all([accept(), accept()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 404])
    expect((await accept()).status).toBe(404)
  })

  test.each([
    ['first_owner', 24],
    ['invite', 7 * 24],
    ['password_reset', 1],
    ['signup', 24],
  ] as const)('%s is good for %i hours, and not for a moment longer', async (kind, hours) => {
    const email = kind === 'first_owner' ? null : `${kind}@example.com`
    const terms = { kind, email, role: null }
    const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
    const inspect = async () =>
      (await site.send(undefined, 'POST /api/links/inspect', { body: { token } })).status
    clock.advance(hours * 3_600_000 - 1)
    expect(await inspect()).toBe(200)
    clock.advance(1)
    expect(await inspect()).toBe(404)
  })

  test('to a new password works no more once the password was changed otherwise', async () => {
    const ada = await site.signUp('both-ways@example.com')
    const terms = { kind: 'password_reset', email: ada.email, role: null } as const
    const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
    const body = { current: PASSWORD, password: 'yet another password' }
    await site.call(ada, 'PUT /api/me/password', { body })
    const taken = { token, password: 'the password of a thief' }
    expect((await site.send(undefined, 'POST /api/links/accept', { body: taken })).status).toBe(404)
    const wrong = { current: PASSWORD, password: 'yet another password' }
    expect((await site.fail(ada, 'PUT /api/me/password', { body: wrong })).field).toBe('current')
  })

  test('to a new password is not undone by a change that began before it', async () => {
    const ada = await site.signUp('shut-out@example.com')
    const terms = { kind: 'password_reset', email: ada.email, role: null } as const
    const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
    const { passwords } = site.console
    const { hash } = passwords
    passwords.hash = async password => {
      passwords.hash = hash
      const body = { token, password: 'another good password' }
      expect((await site.send(undefined, 'POST /api/links/accept', { body })).status).toBe(200)
      return hash(password)
    }
    const late = { current: PASSWORD, password: 'the password of a thief' }
    expect((await site.fail(ada, 'PUT /api/me/password', { body: late })).code).toBe('unauthenticated')
    expect((await signIn(ada.email, 'the password of a thief')).status).toBe(401)
    expect((await signIn(ada.email, 'another good password')).status).toBe(200)
  })

  test('to a new password ends the sessions that there are', async () => {
    const ada = await site.signUp('reset@example.com')
    const terms = { kind: 'password_reset', email: 'reset@example.com', role: null } as const
    const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
    const body = { token, password: 'another good password' }
    expect((await site.send(undefined, 'POST /api/links/accept', { body })).status).toBe(200)
    expect((await site.send(ada, 'GET /api/keys')).status).toBe(401)
    expect((await signIn(ada.email, PASSWORD)).status).toBe(401)
    expect((await signIn(ada.email, 'another good password')).status).toBe(200)
  })

  test('that an administrator made for an account holder is nothing to whom the holder has become', async () => {
    const owner = await site.signUp('promoting@example.com', 'owner')
    const admin = await site.signUp('ambitious@example.com', 'admin')
    const holder = await site.signUp('promoted@example.com')
    const params = { id: holder.userId }
    const body = { password: PASSWORD }
    const { url } = await site.call(admin, 'POST /api/admin/users/:id/reset-link', { params, body })
    const raise = { role: 'owner', password: PASSWORD } as const
    await site.call(owner, 'PUT /api/admin/users/:id/role', { params, body: raise })
    const taken = { token: tokenOf(url), password: 'the password of a climber' }
    expect((await site.send(undefined, 'POST /api/links/accept', { body: taken })).status).toBe(404)
    expect((await signIn(holder.email, PASSWORD)).status).toBe(200)
  })

  test.each(['demoted', 'disabled'] as const)(
    'that an owner handed out brings nothing back to them once they are %s',
    async how => {
      const owner = await site.signUp(`stays-${how}@example.com`, 'owner')
      const leaver = await site.signUp(`leaver-${how}@example.com`, 'owner')
      const holder = await site.signUp(`held-${how}@example.com`)
      const email = `back-door-${how}@example.com`
      const invite = { body: { email, role: 'owner', password: PASSWORD } } as const
      const invited = await site.call(leaver, 'POST /api/admin/users/invite', invite)
      const reset = await site.call(leaver, 'POST /api/admin/users/:id/reset-link', {
        params: { id: holder.userId },
        body: { password: PASSWORD },
      })
      const kept = await site.call(owner, 'POST /api/admin/users/invite', {
        body: { email: `kept-${how}@example.com`, role: 'admin', password: PASSWORD },
      })
      const params = { id: leaver.userId }
      if (how === 'disabled') await site.call(owner, 'POST /api/admin/users/:id/disable', { params })
      else {
        const body = { role: 'read_only', password: PASSWORD } as const
        await site.call(owner, 'PUT /api/admin/users/:id/role', { params, body })
      }
      const accept = (url: string) =>
        site.send(undefined, 'POST /api/links/accept', { body: { token: tokenOf(url), password: PASSWORD } })
      expect((await accept(invited.url)).status).toBe(404)
      expect((await accept(reset.url)).status).toBe(404)
      expect((await accept(kept.url)).status).toBe(200)
    },
  )

  test('raises the role of somebody who is known, and never lowers it', async () => {
    const ada = await site.signUp('invited-anew@example.com')
    const roleAfter = async (role: Role | null) => {
      const terms = { kind: 'invite', email: ada.email, role } as const
      const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
      const { user } = await site.call(undefined, 'POST /api/links/accept', {
        body: { token, password: PASSWORD },
      })
      return user.role
    }
    expect(await roleAfter('admin')).toBe('admin')
    expect(await roleAfter('read_only')).toBe('admin')
    expect(await roleAfter(null)).toBe('admin')
  })

  test('that is printed or proves an address is no key to an account that is there', async () => {
    const ada = await site.signUp('there@example.com')
    const terms = { kind: 'signup', email: ada.email, role: null } as const
    const token = tokenOf((await makeLink(linkMakerOf(site.console), gateway.database.orm, terms)).url)
    const body = { token, password: 'the password of a thief' }
    expect(await site.fail(undefined, 'POST /api/links/accept', { body })).toMatchObject({ code: 'refused' })
    expect((await signIn(ada.email, 'the password of a thief')).status).toBe(401)
  })

  test('for the first owner is none once somebody administers', async () => {
    const maker = linkMakerOf(site.console)
    const terms = { kind: 'first_owner', email: null, role: 'owner' } as const
    const token = tokenOf((await makeLink(maker, gateway.database.orm, terms)).url)
    await site.signUp('somebody@example.com', 'owner')
    expect(await firstOwnerLink(maker, gateway.database.orm)).toBeUndefined()
    const body = { token, password: PASSWORD, email: 'intruder@example.com' }
    expect((await site.send(undefined, 'POST /api/links/accept', { body })).status).toBe(404)
  })
})

describe('signing up', () => {
  test('gives the trial credit with the account, once, and takes no account that is there', async () => {
    clock.advance(3_600_000)
    const body = { email: 'New@Example.com', password: PASSWORD }
    const { user } = await site.call(undefined, 'POST /api/signup', { body })
    const account = await gateway.accounts.findAccount(user?.account_id ?? 0)
    expect(account).toMatchObject({ email: 'new@example.com', balanceNano: 1_000_000_000n, onTrial: true })
    expect((await site.send(undefined, 'POST /api/signup', { body })).status).toBe(409)
    const taken = { email: 'test@example.com', password: PASSWORD }
    expect((await site.send(undefined, 'POST /api/signup', { body: taken })).status).toBe(409)
  })

  test('with mail answers the same for whoever asks, and the link proves the address', async () => {
    await gateway.apply('console: { signup: true, smtp: { host: localhost, from: "t@example.com" } }')
    clock.advance(3_600_000)
    await site.signUp('member@example.com')
    for (const email of ['visitor@example.com', 'member@example.com']) {
      const answer = await site.call(undefined, 'POST /api/signup', { body: { email } })
      expect(answer).toEqual({ next: 'mail_sent', user: null })
    }
    await until(() => site.mails.length === 2)
    const mail = site.mails.find(({ to }) => to === 'visitor@example.com')
    expect(mail?.text).toMatch(/new account, for visitor@example\.com:.*once, and for 24 hours\./s)
    const token = /#([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? ''
    const { user } = await site.call(undefined, 'POST /api/links/accept', {
      body: { token, password: PASSWORD },
    })
    expect(user).toMatchObject({ email: 'visitor@example.com', role: null })
    const other = site.mails.find(({ to }) => to === 'member@example.com')
    expect(other?.subject).toBe('A new password for Tollgate')
    expect(other?.text).toMatch(/new password, for member@example\.com:.*once, and for an hour\./s)
  })

  test('an administrator who makes an account with an invitation is told whether it was mailed', async () => {
    const admin = await site.signUp('inviting@example.com', 'admin')
    const make = (email: string) =>
      site.call(admin, 'POST /api/admin/accounts', { body: { email, invite: true, password: PASSWORD } })
    await gateway.apply('console: { smtp: { host: localhost, from: "t@example.com" } }')
    expect((await make('mailed@example.com')).mailed).toBe(true)
    expect(site.mails.at(-1)?.to).toBe('mailed@example.com')
    await gateway.apply('console: { signup: true }')
    expect((await make('not-mailed@example.com')).mailed).toBe(false)
  })
})
