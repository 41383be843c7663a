import { expect, test } from 'bun:test'
import { and, eq } from 'drizzle-orm'
import { accountStore } from '@/accounts/store.ts'
import { apiKey } from '@/db/schema.ts'
import { accountsFixture } from './fixture.ts'

const { database, accounts: store, keys, newAccount } = await accountsFixture()

const plainAccount = (email: string) => ({ email, creditNano: 0n, onTrial: true, models: [] })

test('creates an account with its credit and the models it was given', async () => {
  const created = await store.createAccount({
    email: ' New@Example.COM ',
    creditNano: 9_007_199_254_740_993n,
    onTrial: false,
    models: ['vendor/model:free', 'gpt-5.1', 'gpt-5.1'],
  })
  expect(created).toMatchObject({
    email: 'new@example.com',
    status: 'active',
    balanceNano: 9_007_199_254_740_993n,
    onTrial: false,
    models: ['gpt-5.1', 'vendor/model:free'],
    limits: { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrentRequests: undefined },
  })
  expect(created.createdAt).toBeInstanceOf(Date)
  expect(await store.findAccount(created.id)).toEqual(created)
  expect(await store.findAccountByEmail('NEW@example.com')).toEqual(created)
  expect(await store.listAccounts()).toContainEqual(created)
})

test('refuses a second account for an address in other capitals, in one line', async () => {
  const { email } = await newAccount()
  const again = store.createAccount({ email: email.toUpperCase(), creditNano: 0n, onTrial: true, models: [] })
  await expect(again).rejects.toThrow(`There is an account with the e-mail address ${email} already`)
})

test.each(["o'neil@x", 'a+b@x.example', 'ümlaut@bücher.example'])(
  'takes %p as an e-mail address',
  async email => {
    const created = await store.createAccount({ email, creditNano: 0n, onTrial: true, models: [] })
    expect(created.email).toBe(email)
  },
)

test.each(['', 'nobody', 'a b@c', '@', '<a@x>', 'a@x;', 'a@x,', '"a@x"', '"a"@x', 'mailto:a@x', '(a)b@x'])(
  'refuses %p as an e-mail address',
  async email => {
    await expect(store.createAccount({ email, creditNano: 0n, onTrial: true, models: [] })).rejects.toThrow(
      'not an e-mail',
    )
  },
)

test('refuses a model that does not exist and then creates nothing', async () => {
  const email = 'no-such-model@example.com'
  const refused = store.createAccount({ email, creditNano: 0n, onTrial: true, models: ['gpt-0'] })
  await expect(refused).rejects.toThrow('does not exist')
  expect(await store.findAccountByEmail(email)).toBeUndefined()
})

test('an account that was suspended is active again once it is resumed', async () => {
  const { id } = await newAccount()
  expect((await store.suspendAccount(id)).status).toBe('suspended')
  expect((await store.resumeAccount(id)).status).toBe('active')
})

test('a suspended account gets no new keys until it is resumed, and those that it has can be revoked', async () => {
  const { id } = await newAccount()
  const { id: keyId } = await keys.createKey({ accountId: id, name: 'before' })
  await store.suspendAccount(id)
  await expect(keys.createKey({ accountId: id, name: 'meanwhile' })).rejects.toThrow(
    `Account ${id} is suspended: it gets no new keys until it is resumed`,
  )
  expect((await keys.revokeKey(keyId)).revokedAt).toBeInstanceOf(Date)
  await store.resumeAccount(id)
  await keys.createKey({ accountId: id, name: 'after' })
  expect((await keys.listKeys(id)).map(({ name }) => name)).toEqual(['before', 'after'])
})

test('a closed account is neither suspended nor resumed, and the refusal says that it is closed', async () => {
  const { id } = await newAccount()
  await store.closeAccount(id)
  await expect(store.resumeAccount(id)).rejects.toThrow(`Account ${id} is closed`)
  await expect(store.suspendAccount(id)).rejects.toThrow(`Account ${id} is closed`)
  expect((await store.findAccount(id)).status).toBe('closed')
})

test('closing revokes every key, makes none possible, and reopening brings none back', async () => {
  const { id } = await newAccount()
  const shown = await keys.createKey({ accountId: id, name: 'shown' })
  await keys.createKey({ accountId: id, name: 'hidden', hidden: true })
  await store.requestClosing(id, new Date())
  expect((await store.searchAccounts({ before: id + 1, limit: 1, asksToClose: true }))[0]?.id).toBe(id)
  expect(await store.closeAccount(id)).toMatchObject({ status: 'closed', closeRequestedAt: undefined })
  await expect(keys.createKey({ accountId: id, name: 'late' })).rejects.toThrow(`Account ${id} is closed`)
  expect((await store.reopenAccount(id)).status).toBe('active')
  await expect(store.reopenAccount(id)).rejects.toThrow('is not closed')
  const working = await database.orm
    .select()
    .from(apiKey)
    .where(and(eq(apiKey.accountId, id), eq(apiKey.status, 'active')))
  expect(working).toEqual([])
  expect((await keys.findKeyById(shown.id))?.revokedAt).toBeInstanceOf(Date)
})

test('changes only the limits it was told, and puts one back with null', async () => {
  const { id } = await newAccount()
  await store.changeLimits(id, { requestsPerMinute: 60, tokensPerMinute: 1000 })
  const { limits } = await store.changeLimits(id, { requestsPerMinute: null, concurrentRequests: 3 })
  expect(limits).toEqual({ requestsPerMinute: undefined, tokensPerMinute: 1000, concurrentRequests: 3 })
  expect((await store.changeLimits(id, {})).limits).toEqual(limits)
})

test('replaces the models of an account', async () => {
  const { id } = await newAccount(['gpt-5.1'])
  expect((await store.setModels(id, ['vendor/model:free'])).models).toEqual(['vendor/model:free'])
  await expect(store.setModels(id, ['gpt-0'])).rejects.toThrow('does not exist')
  expect((await store.findAccount(id)).models).toEqual(['vendor/model:free'])
})

test.each([
  ['find', () => store.findAccount(999_999)],
  ['suspend', () => store.suspendAccount(999_999)],
  ['resume', () => store.resumeAccount(999_999)],
  ['limits', () => store.changeLimits(999_999, { requestsPerMinute: 1 })],
  ['models', () => store.setModels(999_999, [])],
  ['store', () => store.allowStore(999_999, false)],
])('cannot %s an account that does not exist', async (_name, act) => {
  await expect(act()).rejects.toThrow('There is no account 999999')
})

test('lists come in parts, newest first, and are searched by a part of the address or an id', async () => {
  const ids: number[] = []
  for (const name of ['part-a', 'part_b', 'part-c']) {
    const made = await store.createAccount(plainAccount(`${name}@search.example`))
    ids.push(made.id)
  }
  const [first = 0, second = 0, third = 0] = ids
  const found = await store.searchAccounts({ before: undefined, limit: 2, search: '@SEARCH.example' })
  expect(found.map(({ id }) => id)).toEqual([third, second])
  const rest = await store.searchAccounts({ before: second, limit: 2, search: '@search.example' })
  expect(rest.map(({ id }) => id)).toEqual([first])
  const literal = await store.searchAccounts({ before: undefined, limit: 5, search: 'part_' })
  expect(literal.map(({ id }) => id)).toEqual([second])
  const byId = await store.searchAccounts({ before: undefined, limit: 5, search: String(first) })
  expect(byId.map(({ id }) => id)).toContain(first)
})

test('what is done inside a transaction that fails was not done', async () => {
  const lost = database.orm.transaction(async tx => {
    await accountStore({ orm: tx }).createAccount(plainAccount('lost@keys.example'))
    throw new Error('no')
  })
  await expect(lost).rejects.toThrow('no')
  expect(await store.findAccountByEmail('lost@keys.example')).toBeUndefined()
})
