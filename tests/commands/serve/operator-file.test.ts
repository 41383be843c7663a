import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { box } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { applyPath } from '@/commands/apply.ts'
import { applierOf, applyAtStart } from '@/commands/serve/operator-file.ts'
import { configFileOf } from '@/config/file.ts'
import { lockCatalog, readModelNames } from '@/routing/catalog/store.ts'
import { createLog } from '@/telemetry/log.ts'

const database = await testDatabase()
const directory = mkdtempSync(join(tmpdir(), 'tollgate-operator-file-'))
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await database.close()
})

const path = join(directory, 'tollgate.yaml')
const NOW = new Date('2026-06-01')
const clock = { now: () => NOW.getTime() }
const isWaited = async () =>
  (
    await database.sql`
      select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where locktype = 'advisory' and not granted and datname = current_database()`
  ).length > 0

test('a file that is to be applied again waits for the one before, and is told of after it', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: line => lines.push(line) })
  const apply = applierOf({ find: () => path, database, secretBox: box, env: {}, clock, log })
  await Bun.write(path, 'currency: EUR\n')
  const applied: Promise<void>[] = []
  await database.orm.transaction(async tx => {
    await lockCatalog(tx)
    applied.push(apply())
    await until(isWaited)
    await Bun.write(path, 'currency: euro\n')
    applied.push(apply())
    // The same once more and not in turn, so that the one before would have come to its end as well.
    await applyPath(database, box, path, {}, { prune: false, dryRun: true, now: NOW }).catch(() => undefined)
    expect(lines).toEqual([])
  })
  await Promise.all(applied)
  const told = lines.map(line => JSON.parse(line)['msg'])
  expect(told.slice(-2)).toEqual([
    'the configuration was applied again',
    'the configuration could not be applied: nothing has changed',
  ])
})

test('a file that is not there changes nothing, and is found once it is', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: line => lines.push(line) })
  const settings: { configFile: string | undefined } = { configFile: join(directory, 'later.yaml') }
  const apply = applierOf({
    find: () => configFileOf(settings),
    database,
    secretBox: box,
    env: {},
    clock,
    log,
  })
  await apply()
  await Bun.write(join(directory, 'later.yaml'), 'currency: CHF\n')
  await apply()
  expect(lines.map(line => JSON.parse(line)['msg'])).toEqual([
    'the configuration could not be applied: nothing has changed',
    'the configuration was applied again',
  ])
})

test('a model that every caller would be refused is applied, and a warning of the log', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', format: 'json' }, { write: line => lines.push(line) })
  const channel = '{ name: main, format: openai-responses, base_url: "simulator:" }'
  await Bun.write(path, `channels: [${channel}]\nmodels: [{ id: unpriced, channels: [{ channel: main }] }]\n`)
  await applyAtStart({ find: () => path, database, secretBox: box, env: {}, clock, log })
  expect(lines.map(line => JSON.parse(line)['msg'])).toEqual([
    'the model unpriced has no prices: until it has, every request of it is refused',
  ])
  expect([...(await readModelNames(database.orm)).keys()]).toEqual(['unpriced'])
})
