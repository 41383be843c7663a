import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endedRecord } from '#tests/support/ended-record.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { openExchangeNotes } from '@/exchange/results/notes.ts'
import { ExchangeWriter } from '@/exchange/results/store.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics } from '@/telemetry/metrics.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-exchange-notes-'))
/** Nothing is to stop. */
const onward = new AbortController().signal
const log = createLog({ level: 'silent', format: 'json' })
const metrics = createMetrics({ processMetrics: false })
let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(async () => {
  await database.close()
  rmSync(root, { recursive: true, force: true })
})

function openWriter(directory: string, sql = database.sql) {
  const notes = openExchangeNotes(directory, Bun.randomUUIDv7(), log)
  return new ExchangeWriter({ ...database, sql }, log, metrics, notes)
}

/** What kill -9 leaves: the files, without whoever had them locked. */
function leave(directory: string): string {
  const left = `${directory}-left`
  mkdirSync(left)
  for (const name of readdirSync(directory)) {
    if (name.endsWith('.exchanges')) copyFileSync(join(directory, name), join(left, name))
  }
  return left
}

const storedOf = async (ids: string[]) => {
  const rows = await database.sql<
    { id: string }[]
  >`select id from exchange where id = any (${ids}::uuid[]) order by id`
  return rows.map(({ id }) => id)
}

const newIds = (count: number) => Array.from({ length: count }, () => Bun.randomUUIDv7())

test('what a killed process had not stored, charged or not yet, is stored by the next, once', async () => {
  const directory = join(root, 'killed')
  const first = openWriter(directory)
  const [stored = '', waiting = '', charging = ''] = newIds(3)
  first.take(endedRecord(stored), 1)()
  await first.flush()
  first.take(endedRecord(waiting), 1)()
  first.take(endedRecord(charging), 1)
  await Promise.resolve()
  const left = leave(directory)
  expect(await storedOf([stored, waiting, charging])).toEqual([stored])
  const next = openWriter(left)
  await next.adopt(onward)
  expect(await storedOf([stored, waiting, charging])).toEqual([stored, waiting, charging])
  expect(readdirSync(left).filter(name => name.endsWith('.exchanges'))).toHaveLength(2)
  await next.close()
  await first.close()
  expect(readdirSync(left)).toEqual([])
})

test('what is stored, or cannot be, stands in no file any more', async () => {
  const directory = join(root, 'stored')
  const writer = openWriter(directory)
  const [stored = '', refused = ''] = newIds(2)
  writer.take(endedRecord(stored), 1)()
  // More than the column has numbers for.
  writer.take(endedRecord(refused), 2 ** 70)()
  await writer.flush()
  expect(await storedOf([stored, refused])).toEqual([stored])
  const files = readdirSync(directory).filter(name => name.endsWith('.exchanges'))
  expect(files.map(name => statSync(join(directory, name)).size)).toEqual([0, 0])
  await writer.close()
})

test('of two results that were left of one exchange the later is stored', async () => {
  const directory = join(root, 'twice')
  const [id = ''] = newIds(1)
  const dead = openWriter(directory)
  dead.take(endedRecord(id), 1)
  dead.take(endedRecord(id), 2)
  await Promise.resolve()
  const next = openWriter(leave(directory))
  await next.adopt(onward)
  expect(await database.sql`select total_ms from exchange where id = ${id}`).toMatchObject([{ total_ms: 2 }])
  await next.close()
  await dead.close()
})

test('what was left in many files is stored, and none is begun once it is to stop', async () => {
  const directory = join(root, 'many')
  const ids = newIds(20)
  for (const id of ids) {
    const dead = openWriter(`${directory}-${id}`)
    dead.take(endedRecord(id), 1)
    await Promise.resolve()
    for (const name of readdirSync(`${directory}-${id}`)) {
      if (!name.endsWith('.exchanges')) continue
      mkdirSync(directory, { recursive: true })
      copyFileSync(join(`${directory}-${id}`, name), join(directory, name))
    }
    await dead.close()
  }
  const next = openWriter(directory)
  await next.adopt(AbortSignal.abort())
  expect(await storedOf(ids)).toEqual([])
  await next.adopt(onward)
  expect(await storedOf(ids)).toEqual(ids)
  await next.close()
  expect(readdirSync(directory)).toEqual([])
})

test('what a process could not store before it stopped is stored by the next', async () => {
  const directory = join(root, 'stopped')
  const away = new Proxy(database.sql, {
    apply: () => Promise.reject(new Error('write CONNECTION_CLOSED')),
  })
  const ids = newIds(2)
  const first = openWriter(directory, away)
  for (const id of ids) first.take(endedRecord(id), 1)()
  await first.close()
  expect(await storedOf(ids)).toEqual([])
  const next = openWriter(directory)
  await next.adopt(onward)
  expect(await storedOf(ids)).toEqual(ids)
  await next.close()
  expect(readdirSync(directory)).toEqual([])
})

test('what a killed neighbour left is stored beside the work of a process that never has nothing to do', async () => {
  const directory = join(root, 'neighbours')
  const [left = '', own = ''] = newIds(2)
  const dead = openWriter(`${directory}-dead`)
  dead.take(endedRecord(left), 1)
  await Promise.resolve()
  const held = Promise.withResolvers<void>()
  // Its own batches do not come back; what was left goes through.
  const sql = new Proxy(database.sql, {
    async apply(target, self, args: unknown[]) {
      if (String(args.at(-1)).includes(own)) await held.promise
      return Reflect.apply(target, self, args)
    },
  })
  const busy = openWriter(leave(`${directory}-dead`), sql)
  busy.take(endedRecord(own), 1)()
  await busy.adopt(onward)
  expect(await storedOf([left, own])).toEqual([left])
  held.resolve()
  await busy.close()
  await dead.close()
})

test('what was left stays where it is while the database cannot take it', async () => {
  const directory = join(root, 'away')
  const [id = ''] = newIds(1)
  const dead = openWriter(`${directory}-dead`)
  dead.take(endedRecord(id), 1)
  await Promise.resolve()
  const left = leave(`${directory}-dead`)
  let isAway = true
  const sql = new Proxy(database.sql, {
    apply: (target, self, args: unknown[]) =>
      isAway ? Promise.reject(new Error('write CONNECTION_CLOSED')) : Reflect.apply(target, self, args),
  })
  const next = openWriter(left, sql)
  expect(await next.adopt(onward).catch(String)).toContain('CONNECTION_CLOSED')
  isAway = false
  await next.adopt(onward)
  expect(await storedOf([id])).toEqual([id])
  await next.close()
  await dead.close()
})

test('what another process has is left alone, and what was written in part ends its file', async () => {
  const directory = join(root, 'torn')
  const alive = openWriter(directory)
  const [theirs = '', whole = ''] = newIds(2)
  alive.take(endedRecord(theirs), 1)
  await Promise.resolve()
  const other = openWriter(`${directory}-2`)
  other.take(endedRecord(whole), 1)
  await Promise.resolve()
  const left = leave(`${directory}-2`)
  const page = readdirSync(left).find(name => Bun.file(join(left, name)).size > 0) ?? ''
  const bytes = await Bun.file(join(left, page)).bytes()
  await Bun.write(join(directory, page), Buffer.concat([bytes, bytes.subarray(0, bytes.length - 1)]))
  const next = openWriter(directory)
  await next.adopt(onward)
  expect(await storedOf([theirs, whole])).toEqual([whole])
  expect(existsSync(join(directory, `${page}.torn`))).toBe(true)
  for (const writer of [alive, other, next]) await writer.close()
})
