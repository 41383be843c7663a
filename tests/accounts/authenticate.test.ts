import { afterAll, beforeEach, expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { authenticator } from '@/accounts/authenticate.ts'
import { keyCache } from '@/accounts/key-cache.ts'
import { KEYS_CHANNEL } from '@/accounts/key-changes.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { openListener } from '@/db/listener.ts'

const database = await testDatabase()
const keys = keyStore(database)
let asked = 0
let heard = Promise.withResolvers<void>()
const clock = manualClock(Date.parse('2026-01-01T00:00:00Z'))

const cache = keyCache({
  load: hash => {
    asked += 1
    return keys.findKey(Buffer.from(hash, 'hex'))
  },
  clock,
  random: () => 0.5,
})
const listener = await openListener(database.url, {
  channel: KEYS_CHANNEL,
  ...cache,
  onMessage: message => {
    cache.onMessage(message)
    heard.resolve()
  },
})
const authenticate = authenticator(cache, clock.now)

afterAll(async () => {
  await listener.close()
  await database.close()
})

const { id: accountId } = await accountStore(database).createAccount({
  email: 'a@b',
  creditNano: 0n,
  onTrial: true,
  models: [],
})

beforeEach(() => {
  asked = 0
  heard = Promise.withResolvers<void>()
})

const createKey = (expiresAt?: Date) => keys.createKey({ accountId, name: '', expiresAt })

test('knows a key it was shown before without asking again', async () => {
  const { id, key } = await createKey()
  expect(await authenticate(key)).toMatchObject({ ok: true, caller: { keyId: id, accountId } })
  expect(authenticate(key)).toMatchObject({ ok: true, caller: { keyId: id } })
  expect(asked).toBe(1)
})

test('refuses a malformed key without asking', async () => {
  expect(await authenticate('sk-nonsense')).toEqual({ ok: false, reason: 'malformed' })
  expect(asked).toBe(0)
})

test('refuses a well-formed key that nobody has', async () => {
  const { id, key } = await createKey()
  await database.sql`delete from api_key where id = ${id}`
  expect(await authenticate(key)).toEqual({ ok: false, reason: 'unknown' })
})

test('refuses an expired key from the moment on, also one it has cached', async () => {
  const { key } = await createKey(new Date(clock.now() + 1_000))
  expect((await authenticate(key)).ok).toBe(true)
  clock.advance(1_000)
  expect(await authenticate(key)).toEqual({ ok: false, reason: 'expired' })
  expect(asked).toBe(1)
})

test('hears of a revocation and refuses the key at once', async () => {
  const { id, key } = await createKey()
  expect((await authenticate(key)).ok).toBe(true)
  await keys.revokeKey(id)
  await heard.promise
  expect(await authenticate(key)).toEqual({ ok: false, reason: 'revoked' })
})

test('hears of a suspension; the key stays good and the status tells', async () => {
  const { key } = await createKey()
  expect(await authenticate(key)).toMatchObject({ caller: { accountStatus: 'active' } })
  await accountStore(database).suspendAccount(accountId)
  await heard.promise
  expect(await authenticate(key)).toMatchObject({ ok: true, caller: { accountStatus: 'suspended' } })
})
