import { afterEach, beforeEach, expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { channel, model } from '@/db/schema.ts'
import { type LiveCatalog, openLiveCatalog } from '@/routing/catalog/live-catalog.ts'
import { refreshPrices } from '@/routing/catalog/price-refresh.ts'
import { configFile } from './config.ts'

const db = await fileDatabase()

const CHANNEL = 'channels: [{ name: main, format: openai-responses, base_url: "simulator:" }]\n'
const withModel = (id: string) =>
  configFile(`${CHANNEL}models: [{ id: ${id}, channels: [{ channel: main }] }]`)
const apply = (id: string) =>
  applyFile(db, box, withModel(id), { prune: true, dryRun: false, source: 'file' })

let live: LiveCatalog
let tick: () => void = () => undefined
let errors: unknown[] = []

beforeEach(async () => {
  errors = []
  await db.orm.delete(model)
  await db.orm.delete(channel)
  await apply('first')
  live = await openLiveCatalog({
    db,
    secretBox: box,
    clock: {
      now: () => 0,
      elapsed: () => 0,
      after: () => () => undefined,
      every: (_, task) => {
        tick = task
        return () => undefined
      },
    },
    onError: error => errors.push(error),
  })
})
afterEach(() => live.close())

function insertUnannounced(id: string) {
  return db.orm.insert(model).values({ id, displayName: id, ownedBy: 'test', source: 'file' })
}

/** Resolves when the live catalog knows the model; the test's own time limit ends a wait for nothing. */
async function seen(id: string): Promise<void> {
  while (live.find(id) === undefined) await new Promise(resolve => setImmediate(resolve))
}

test('is loaded at the start', () => {
  expect(live.list().map(found => found.id)).toEqual(['first'])
})

test('follows a change that another process made', async () => {
  await apply('second')
  await seen('second')
  expect(live.find('first')).toBeUndefined()
})

test('follows prices that a process of a newer release brought with it', async () => {
  const shipped = (input: number) =>
    configFile(
      `${CHANNEL}models: [{ id: shipped, channels: [{ channel: main }], prices: { input: ${input}, output: 2 } }]`,
    )
  await applyFile(db, box, shipped(1), { prune: true, dryRun: false, source: 'default' })
  await seen('shipped')
  expect(await refreshPrices(db, shipped(2))).toEqual([])
  const inForce = () => live.find('shipped')?.price?.rates.tokens.input
  while (inForce() !== 2_000_000n) await new Promise(resolve => setImmediate(resolve))
})

test('what was found stays as it was', async () => {
  const before = live.find('first')
  await apply('second')
  await live.reload()
  expect(before?.id).toBe('first')
  expect(Object.isFrozen(before)).toBe(true)
  expect(live.find('second')?.id).toBe('second')
})

test('finds a change that no message told, by looking now and then', async () => {
  await insertUnannounced('unannounced')
  tick()
  await seen('unannounced')
})

test('a reload shows what was committed before it was asked for, also while another one runs', async () => {
  const running = live.reload()
  await apply('second')
  await Promise.all([running, live.reload(), live.reload()])
  expect(live.find('second')?.id).toBe('second')
})

test('loads again when the connection that listens comes back', async () => {
  const [row] = await db.sql`
    select pid from pg_stat_activity where application_name = 'tollgate listener' and datname = current_database()`
  await insertUnannounced('missed')
  await db.sql`select pg_terminate_backend(${row?.['pid']})`
  await seen('missed')
})
