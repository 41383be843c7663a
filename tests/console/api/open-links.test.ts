import { expect, test } from 'bun:test'
import { PASSWORD } from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'

const { site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')
const admin = await site.signUp('admin@example.com', 'admin')

function accept(url: string) {
  return { body: { token: url.split('#')[1] ?? '', password: 'a good password' } }
}

async function open() {
  return (await site.call(owner, 'GET /api/admin/links', { query: {} })).items
}

test('links that nobody has used are listed without what is in them, and one that is taken back works no more', async () => {
  const holder = await site.signUp('holder@example.com')
  const invite = await site.call(owner, 'POST /api/admin/users/invite', {
    body: { email: 'next@example.com', role: 'admin', password: PASSWORD },
  })
  const reset = await site.call(admin, 'POST /api/admin/users/:id/reset-link', {
    params: { id: holder.userId },
    body: { password: PASSWORD },
  })
  const listed = await open()
  expect(listed).toMatchObject([
    { kind: 'password_reset', email: 'holder@example.com', role: null, made_by: 'admin@example.com' },
    { kind: 'invite', email: 'next@example.com', role: 'admin', made_by: 'owner@example.com' },
  ])
  for (const { url } of [invite, reset]) {
    expect(JSON.stringify(listed)).not.toContain(url.split('#')[1] ?? '')
    // What is listed is no token.
    const asToken = { body: { token: listed[0]?.id ?? '', password: 'a good password' } }
    expect((await site.fail(undefined, 'POST /api/links/accept', asToken)).status).toBe(404)
  }
  const [ofReset, ofInvite] = listed.map(({ id }) => ({ params: { id } }))
  const route = 'DELETE /api/admin/links/:id'
  expect((await site.fail(admin, route, ofInvite)).code).toBe('forbidden')
  await site.call(admin, route, ofReset ?? { params: { id: '' } })
  await site.call(owner, route, ofInvite ?? { params: { id: '' } })
  const [act] = (await site.call(owner, 'GET /api/admin/log', { query: { limit: 1 } })).items
  expect(act).toMatchObject({
    action: 'link.revoke',
    target: 'address next@example.com',
    before: { kind: 'invite', role: 'admin' },
    after: null,
  })
  for (const { url } of [invite, reset]) {
    expect((await site.fail(undefined, 'POST /api/links/accept', accept(url))).status).toBe(404)
  }
  expect(await open()).toEqual([])
  expect((await site.fail(owner, route, ofInvite)).status).toBe(404)
})

test('whoever makes a link is told until when it works, and null where none was asked for', async () => {
  const body = { password: PASSWORD }
  const isTold = async (made: { expires_at: string | null }) =>
    expect((await open())[0]).toMatchObject({ expires_at: made.expires_at })
  const { account, ...first } = await site.call(owner, 'POST /api/admin/accounts', {
    body: { email: 'told@example.com', invite: true, ...body },
  })
  await isTold(first)
  const params = { id: account.id }
  await isTold(await site.call(owner, 'POST /api/admin/accounts/:id/invite', { params, body }))
  const user = { id: (await site.signUp('resets@example.com')).userId }
  await isTold(await site.call(owner, 'POST /api/admin/users/:id/reset-link', { params: user, body }))
  const other = { email: 'other@example.com', role: 'admin', ...body } as const
  await isTold(await site.call(owner, 'POST /api/admin/users/invite', { body: other }))
  const alone = { body: { email: 'alone@example.com' } }
  const none = { url: null, expires_at: null, mailed: false }
  expect(await site.call(owner, 'POST /api/admin/accounts', alone)).toMatchObject(none)
  for (const { id } of await open()) await site.call(owner, 'DELETE /api/admin/links/:id', { params: { id } })
})

test('one that was used is in no list, and the pages follow one another without a gap', async () => {
  const invite = (number: number) =>
    site.call(owner, 'POST /api/admin/users/invite', {
      body: { email: `${number}@example.com`, role: 'read_only', password: PASSWORD },
    })
  const { url } = await invite(0)
  for (const number of [1, 2, 3, 4, 5]) await invite(number)
  await site.call(undefined, 'POST /api/links/accept', accept(url))
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const query: { limit: number; cursor?: string } = cursor === null ? { limit: 2 } : { limit: 2, cursor }
    const page = await site.call(admin, 'GET /api/admin/links', { query })
    seen.push(...page.items.map(({ email }) => email))
    cursor = page.next
  } while (cursor !== null)
  expect(seen).toEqual([5, 4, 3, 2, 1].map(number => `${number}@example.com`))
})
