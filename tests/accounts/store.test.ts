import { afterAll, beforeAll, expect, test } from 'bun:test'
import { and, eq } from 'drizzle-orm'
import { testDatabase } from '#tests/support/stores/database.ts'
import { hashKey } from '@/accounts/api-key.ts'
import { accountStore, type NewKey } from '@/accounts/store.ts'
import { apiKey, model } from '@/db/schema.ts'

const database = await testDatabase()
const store = accountStore(database)
afterAll(() => database.close())

beforeAll(async () => {
  const rows = ['gpt-5.1', 'vendor/model:free'].map(id => ({
    id,
    displayName: id,
    ownedBy: 'x',
    source: 'cli' as const,
  }))
  await database.orm.insert(model).values(rows)
})

let serial = 0
async function newAccount(models: string[] = []) {
  serial += 1
  return store.createAccount({
    email: `user${serial}@example.com`,
    creditNano: 5_000_000_000n,
    onTrial: true,
    models,
  })
}

const plainAccount = (email: string) => ({ email, creditNano: 0n, onTrial: true, models: [] })

const plainKey = (accountId: number): NewKey => ({
  accountId,
  name: '',
})

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

test.each(['', 'nobody', 'a b@c', '@'])('refuses %p as an e-mail address', async email => {
  await expect(store.createAccount({ email, creditNano: 0n, onTrial: true, models: [] })).rejects.toThrow(
    'not an e-mail',
  )
})

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

test('a closed account is neither suspended nor resumed, and the refusal says that it is closed', async () => {
  const { id } = await newAccount()
  await store.closeAccount(id)
  await expect(store.resumeAccount(id)).rejects.toThrow(`Account ${id} is closed`)
  await expect(store.suspendAccount(id)).rejects.toThrow(`Account ${id} is closed`)
  expect((await store.findAccount(id)).status).toBe('closed')
})

test('closing revokes every key, makes none possible, and reopening brings none back', async () => {
  const { id } = await newAccount()
  const shown = await store.createKey({ accountId: id, name: 'shown' })
  await store.createKey({ accountId: id, name: 'hidden', hidden: true })
  await store.requestClosing(id, new Date())
  expect((await store.searchAccounts({ before: id + 1, limit: 1, asksToClose: true }))[0]?.id).toBe(id)
  expect(await store.closeAccount(id)).toMatchObject({ status: 'closed', closeRequestedAt: undefined })
  await expect(store.createKey({ accountId: id, name: 'late' })).rejects.toThrow(`Account ${id} is closed`)
  expect((await store.reopenAccount(id)).status).toBe('active')
  await expect(store.reopenAccount(id)).rejects.toThrow('is not closed')
  const working = await database.orm
    .select()
    .from(apiKey)
    .where(and(eq(apiKey.accountId, id), eq(apiKey.status, 'active')))
  expect(working).toEqual([])
  expect((await store.findKeyById(shown.id))?.revokedAt).toBeInstanceOf(Date)
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

test('stores the hash of a key and nothing else of it', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await store.createKey(plainKey(accountId))
  const [row] = await database.sql<
    { row: string }[]
  >`select api_key::text as row from api_key where id = ${id}`
  expect(row?.row).toContain(Buffer.from(hashKey(key)).toString('hex'))
  expect(row?.row).not.toContain(key.slice(11))
})

test('finds by its hash everything that later decisions need', async () => {
  const { id: accountId } = await newAccount(['gpt-5.1'])
  await store.changeLimits(accountId, { requestsPerMinute: 7 })
  const expiresAt = new Date('2030-01-02T03:04:05.678Z')
  const cap = { amountNano: 2_000_000_000n, period: 'month' as const }
  const models = ['gpt-5.1', 'od"d,{name}\\']
  const { id, key } = await store.createKey({
    accountId,
    name: 'ci',
    models,
    expiresAt,
    allowIps: ['10.0.0.0/8'],
    cap,
  })
  await store.changeKeyLimits(id, { concurrentRequests: 2 })
  expect(await store.findKey(hashKey(key))).toMatchObject({
    revoked: false,
    caller: {
      accountId,
      keyId: id,
      accountStatus: 'active',
      onTrial: true,
      accountLimits: { requestsPerMinute: 7 },
      keyLimits: { concurrentRequests: 2 },
      keyModels: models,
      accountModels: ['gpt-5.1'],
      allowIps: ['10.0.0.0/8'],
      expiresAt,
      cap,
    },
  })
  expect(await store.findKey(hashKey(`${key}0`))).toBeUndefined()
})

test('a key without a list, limits or dates says so with undefined', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await store.createKey(plainKey(accountId))
  const caller = (await store.findKey(hashKey(key)))?.caller
  expect(caller).toMatchObject({ accountModels: [] })
  expect([caller?.keyModels, caller?.allowIps, caller?.expiresAt, caller?.cap]).toEqual(
    Array(4).fill(undefined),
  )
  await store.touchKeys([id])
  expect((await store.listKeys(accountId))[0]?.lastUsedAt).toBeInstanceOf(Date)
})

test('the use of more keys than a statement has parameters is noted', async () => {
  const { id: accountId } = await newAccount()
  const { id } = await store.createKey(plainKey(accountId))
  await store.touchKeys([...Array.from({ length: 70_000 }, (_, index) => 1_000_000 + index), id])
  expect((await store.listKeys(accountId))[0]?.lastUsedAt).toBeInstanceOf(Date)
})

test.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
  [false, false, false],
])(
  'content may be kept only where account (%p) and key (%p) both allow it',
  async (account, key, allowed) => {
    const { id: accountId } = await newAccount()
    await store.allowStore(accountId, account)
    const made = await store.createKey({ ...plainKey(accountId), storeAllowed: key })
    expect((await store.findKey(hashKey(made.key)))?.caller.storeAllowed).toBe(allowed)
    expect((await store.findAccount(accountId)).storeAllowed).toBe(account)
    expect((await store.listKeys(accountId))[0]?.storeAllowed).toBe(key)
  },
)

test('revokes for good, and at the first time', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await store.createKey(plainKey(accountId))
  const { revokedAt } = await store.revokeKey(id)
  expect(revokedAt).toBeInstanceOf(Date)
  expect((await store.revokeKey(id)).revokedAt?.getTime()).toBe(revokedAt?.getTime() ?? 0)
  expect((await store.findKey(hashKey(key)))?.revoked).toBe(true)
  expect(await store.listKeys(accountId)).toMatchObject([{ id, revokedAt }])
})

test.each([
  ['find', () => store.findAccount(999_999)],
  ['suspend', () => store.suspendAccount(999_999)],
  ['resume', () => store.resumeAccount(999_999)],
  ['limits', () => store.changeLimits(999_999, { requestsPerMinute: 1 })],
  ['models', () => store.setModels(999_999, [])],
  ['store', () => store.allowStore(999_999, false)],
  ['create a key for', () => store.createKey(plainKey(999_999))],
  ['list the keys of', () => store.listKeys(999_999)],
])('cannot %s an account that does not exist', async (_name, act) => {
  await expect(act()).rejects.toThrow('There is no account 999999')
})

test('cannot revoke a key that does not exist', async () => {
  await expect(store.revokeKey(999_999)).rejects.toThrow('There is no key 999999')
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

test('a hidden key works and is in no list', async () => {
  const { id: accountId } = await store.createAccount(plainAccount('hidden@keys.example'))
  const { id, key } = await store.createKey({ ...plainKey(accountId), hidden: true })
  expect(await store.listKeys(accountId)).toEqual([])
  expect(await store.searchKeys({ accountId, before: undefined, limit: 5 })).toEqual([])
  expect(await store.findKeyById(id)).toBeUndefined()
  expect((await store.findKey(hashKey(key)))?.caller.keyId).toBe(id)
})

test('what is done inside a transaction that fails was not done', async () => {
  const lost = database.orm.transaction(async tx => {
    await accountStore({ orm: tx }).createAccount(plainAccount('lost@keys.example'))
    throw new Error('no')
  })
  await expect(lost).rejects.toThrow('no')
  expect(await store.findAccountByEmail('lost@keys.example')).toBeUndefined()
})
