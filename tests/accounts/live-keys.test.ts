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

test('a key by which somebody was let in was used, as its list says a minute later or when the process has ended', async () => {
  const clock = manualClock()
  const live = await open(clock)
  const [used, once, revoked] = [await createKey(), await createKey(), await createKey()]
  await keys.revokeKey(revoked.id)
  clock.advance(59_000)
  expect(await live.authenticate(used.key)).toMatchObject({ ok: true })
  expect(await live.authenticate(once.key)).toMatchObject({ ok: true })
  expect(await live.authenticate(revoked.key)).toMatchObject({ ok: false })
  clock.advance(1_000)
  await until(() => wasUsed(used.id))
  expect(await wasUsed(revoked.id)).toBe(false)

  await database.sql`update api_key set last_used_at = null`
  expect(live.authenticate(used.key)).toMatchObject({ ok: true })
  await live.close()
  expect([await wasUsed(used.id), await wasUsed(once.id)]).toEqual([true, false])
})

test('a key that another process revokes is refused', async () => {
  const live = await open()
  const { id, key } = await createKey()
  expect(await live.authenticate(key)).toMatchObject({ ok: true })
  await keys.revokeKey(id)
  await until(async () => !(await live.authenticate(key)).ok)
  await live.close()
})
