import { expect, test } from 'bun:test'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { Gate } from '@/console/gate.ts'
import { downloadLog } from '@/console/requests/request-csv.ts'

const database = await fileDatabase()

test('a file that has begun goes on to its end, and one that nobody can read yet does not begin', async () => {
  await database.sql`
    insert into exchange (id, account_id, key_id, model, channel, surface, streamed, usage_source, status, end_state,
      started_at, total_ms, attempts)
    select lpad(to_hex(n), 32, '0')::uuid, 1, 1, 'm', 'x', 'chat', true, 'reported', 200, 'complete', now(), 1, 1
    from generate_series(1, 2500) n`
  const lookups = new Gate({ atOnce: 1, each: 1, waiting: 0, many: 1, refusal: 'too many' })
  const where = { database, lookups, currency: 'USD' }
  const download = () => downloadLog(where, 1, { accountId: 1, before: undefined }, false)
  const file = await download()
  const place = Promise.withResolvers<void>()
  const inside = lookups.pass(2, () => place.promise)
  await expect(download()).rejects.toMatchObject({ code: 'unavailable' })
  const text = file.text()
  await new Promise(setImmediate)
  place.resolve()
  await inside
  expect((await text).trimEnd().split('\r\n')).toHaveLength(2501)
  expect((await (await download()).text()).trimEnd().split('\r\n')).toHaveLength(2501)
})
