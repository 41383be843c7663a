import { expect, test } from 'bun:test'
import { hashKey } from '@/accounts/api-key.ts'
import type { NewKey } from '@/accounts/key-store.ts'
import { accountsFixture } from './fixture.ts'

const { database, accounts, keys, newAccount } = await accountsFixture()

const plainKey = (accountId: number): NewKey => ({
  accountId,
  name: '',
})

test('stores the hash of a key and nothing else of it', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await keys.createKey(plainKey(accountId))
  const [row] = await database.sql<
    { row: string }[]
  >`select api_key::text as row from api_key where id = ${id}`
  expect(row?.row).toContain(Buffer.from(hashKey(key)).toString('hex'))
  expect(row?.row).not.toContain(key.slice(11))
})

test('finds by its hash everything that later decisions need', async () => {
  const { id: accountId } = await newAccount(['gpt-5.1'])
  await accounts.changeLimits(accountId, { requestsPerMinute: 7 })
  const expiresAt = new Date('2030-01-02T03:04:05.678Z')
  const cap = { amountNano: 2_000_000_000n, period: 'month' as const }
  const models = ['gpt-5.1', 'od"d,{name}\\']
  const { id, key } = await keys.createKey({
    accountId,
    name: 'ci',
    models,
    expiresAt,
    allowIps: ['10.0.0.0/8'],
    cap,
  })
  await keys.changeKeyLimits(id, { concurrentRequests: 2 })
  expect(await keys.findKey(hashKey(key))).toMatchObject({
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
    },
  })
  expect(await keys.listKeys(accountId)).toMatchObject([{ cap }])
  expect(await keys.findKey(hashKey(`${key}0`))).toBeUndefined()
})

test('a key without a list, limits or dates says so with undefined', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await keys.createKey(plainKey(accountId))
  const caller = (await keys.findKey(hashKey(key)))?.caller
  expect(caller).toMatchObject({ accountModels: [] })
  expect([caller?.keyModels, caller?.allowIps, caller?.expiresAt]).toEqual(Array(3).fill(undefined))
  await keys.touchKeys([id])
  expect((await keys.listKeys(accountId))[0]?.lastUsedAt).toBeInstanceOf(Date)
})

test('the use of more keys than a statement has parameters is noted', async () => {
  const { id: accountId } = await newAccount()
  const { id } = await keys.createKey(plainKey(accountId))
  await keys.touchKeys([...Array.from({ length: 70_000 }, (_, index) => 1_000_000 + index), id])
  expect((await keys.listKeys(accountId))[0]?.lastUsedAt).toBeInstanceOf(Date)
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
    await accounts.allowStore(accountId, account)
    const made = await keys.createKey({ ...plainKey(accountId), storeAllowed: key })
    expect((await keys.findKey(hashKey(made.key)))?.caller.storeAllowed).toBe(allowed)
    expect((await accounts.findAccount(accountId)).storeAllowed).toBe(account)
    expect((await keys.listKeys(accountId))[0]?.storeAllowed).toBe(key)
  },
)

test('revokes for good, and at the first time', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await keys.createKey(plainKey(accountId))
  const { revokedAt } = await keys.revokeKey(id)
  expect(revokedAt).toBeInstanceOf(Date)
  expect((await keys.revokeKey(id)).revokedAt?.getTime()).toBe(revokedAt?.getTime() ?? 0)
  expect((await keys.findKey(hashKey(key)))?.revoked).toBe(true)
  expect(await keys.listKeys(accountId)).toMatchObject([{ id, revokedAt }])
})

test.each([
  ['create a key for', () => keys.createKey(plainKey(999_999))],
  ['list the keys of', () => keys.listKeys(999_999)],
])('cannot %s an account that does not exist', async (_name, act) => {
  await expect(act()).rejects.toThrow('There is no account 999999')
})

test('cannot revoke a key that does not exist', async () => {
  await expect(keys.revokeKey(999_999)).rejects.toThrow('There is no key 999999')
})

test('a hidden key works and is in no list', async () => {
  const { id: accountId } = await newAccount()
  const { id, key } = await keys.createKey({ ...plainKey(accountId), hidden: true })
  expect(await keys.listKeys(accountId)).toEqual([])
  expect(await keys.searchKeys({ accountId, before: undefined, limit: 5 })).toEqual([])
  expect(await keys.findKeyById(id)).toBeUndefined()
  expect((await keys.findKey(hashKey(key)))?.caller.keyId).toBe(id)
})
