import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { openLiveKeys } from '@/accounts/live-keys.ts'
import { accountStore } from '@/accounts/store.ts'
import { createLog } from '@/telemetry/log.ts'

const database = await fileDatabase()
const keys = keyStore(database)
const { id: accountId } = await accountStore(database).createAccount({
  email: 'a@b',
  creditNano: 0n,
  onTrial: true,
  models: [],
})

const open = (clock = manualClock()) =>
  openLiveKeys({ database, clock, random: () => 0.5, log: createLog({ level: 'silent', format: 'json' }) })
const createKey = () => keys.createKey({ accountId, name: '' })
const wasUsed = async (id: number) => (await keys.findKeyById(id))?.lastUsedAt !== undefined

test('a key by which somebody was let in was used, as its list says some seconds later or when the process has ended', async () => {
  const clock = manualClock()
  const live = await open(clock)
  const [used, late, revoked] = [await createKey(), await createKey(), await createKey()]
  await keys.revokeKey(revoked.id)
  expect(await live.authenticate(used.key)).toMatchObject({ ok: true })
  expect(await live.authenticate(revoked.key)).toMatchObject({ ok: false })
  clock.advance(5_000)
  await until(() => wasUsed(used.id))
  expect(await live.authenticate(late.key)).toMatchObject({ ok: true })
  expect(await wasUsed(late.id)).toBe(false)
  await live.close()
  expect([await wasUsed(late.id), await wasUsed(revoked.id)]).toEqual([true, false])
})

test('a key that is used all the time is written once a minute', async () => {
  const clock = manualClock()
  const live = await open(clock)
  const [steady, other] = [await createKey(), await createKey()]
  expect(await live.authenticate(steady.key)).toMatchObject({ ok: true })
  clock.advance(5_000)
  await until(() => wasUsed(steady.id))

  await database.sql`update api_key set last_used_at = null where id = ${steady.id}`
  expect(await live.authenticate(steady.key)).toMatchObject({ ok: true })
  expect(await live.authenticate(other.key)).toMatchObject({ ok: true })
  clock.advance(50_000)
  await until(() => wasUsed(other.id))
  expect(await wasUsed(steady.id)).toBe(false)

  clock.advance(5_000)
  expect(await live.authenticate(steady.key)).toMatchObject({ ok: true })
  clock.advance(5_000)
  await until(() => wasUsed(steady.id))
  await live.close()
})

test('a key that another process revokes is refused', async () => {
  const live = await open()
  const { id, key } = await createKey()
  expect(await live.authenticate(key)).toMatchObject({ ok: true })
  await keys.revokeKey(id)
  await until(async () => !(await live.authenticate(key)).ok)
  await live.close()
})
