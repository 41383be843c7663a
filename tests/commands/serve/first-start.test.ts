import { beforeEach, describe, expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { firstStart, TRIAL_EMAIL, welcomeTo } from '@/commands/serve/first-start.ts'
import { parseConfigFile } from '@/config/file.ts'
import type { Environment } from '@/config/settings.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { channel, model } from '@/db/schema.ts'
import { loadCatalog } from '@/routing/catalog/store.ts'

const db = await fileDatabase()
const store = accountStore(db)

beforeEach(async () => {
  await db.orm.delete(model)
  await db.orm.delete(channel)
})

const EMBEDDED = { databaseUrl: undefined, configFile: undefined }
const OWN = { databaseUrl: 'postgres://somewhere', configFile: undefined }

const fill = (env: Environment = {}, settings: Parameters<typeof firstStart>[2] = EMBEDDED) =>
  firstStart(db, box, settings, env, () => undefined)

/** A start that comes to its greeting. */
const start = async (env?: Environment, settings: Parameters<typeof firstStart>[2] = EMBEDDED) =>
  welcomeTo(db, settings, await fill(env, settings))

async function modelIds(): Promise<string[]> {
  return (await loadCatalog(db, box)).list().map(found => found.id)
}

test('an empty embedded database gets the demo and a key for it', async () => {
  const result = await start()
  expect(result).toEqual({ key: expect.stringMatching(/^sk-/), model: 'demo/echo' })
  expect(await modelIds()).toEqual(['demo/echo'])
  const account = await store.findAccountByEmail(TRIAL_EMAIL)
  expect(account).toMatchObject({ balanceNano: 1_000_000_000n, onTrial: true })
  expect(await keyStore(db).listKeys(account?.id ?? 0)).toHaveLength(1)
})

test('a start that comes to nothing before its greeting leaves the key to the next', async () => {
  const untouched = await testDatabase()
  const isNew = () => firstStart(untouched, box, EMBEDDED, {}, () => undefined)
  expect(await isNew()).toBe(true)
  expect(await accountStore(untouched).listAccounts()).toEqual([])
  const welcome = await welcomeTo(untouched, EMBEDDED, await isNew())
  expect(welcome).toEqual({ key: expect.stringMatching(/^sk-/), model: 'demo/echo' })
  expect(await welcomeTo(untouched, EMBEDDED, await isNew())).toBeUndefined()
  await untouched.close()
})

test('a database that is not empty is left alone', async () => {
  await start()
  expect(await start()).toBeUndefined()
  expect(await start({ OPENAI_API_KEY: 'sk-one' })).toBeUndefined()
  expect(await modelIds()).toEqual(['demo/echo'])
})

test('of several processes at once, one fills the database', async () => {
  const results = await Promise.all([fill(), fill(), fill()])
  expect(results.filter(isNew => isNew)).toHaveLength(1)
})

test('a configuration file that names channels is all there is', async () => {
  const text = 'channels: [{ name: own, format: openai-responses, base_url: "simulator:" }]'
  const file = parseConfigFile(text, { name: 'tollgate.yaml', env: {}, known: { channels: new Set() } })
  await applyFile(db, box, file, { prune: false, dryRun: false, source: 'file' })
  const settings = { ...EMBEDDED, configFile: 'examples/tollgate.yaml' }
  expect(await start({ OPENAI_API_KEY: 'sk-one' }, settings)).toBeUndefined()
  expect(await modelIds()).toEqual([])
})

test('one that names none enables no vendor, and leaves a newcomer the demo', async () => {
  const env = { OPENAI_API_KEY: 'sk-one' }
  const configFile = 'examples/tollgate.yaml'
  expect(await start(env, { ...OWN, configFile })).toBeUndefined()
  expect(await modelIds()).toEqual([])
  expect(await start(env, { ...EMBEDDED, configFile })).toMatchObject({ model: 'demo/echo' })
  expect(await modelIds()).toEqual(['demo/echo'])
})

test("a database of the operator's own gets no trial account", async () => {
  expect(await start({}, OWN)).toBeUndefined()
  expect(await modelIds()).toEqual([])
})

describe('a vendor whose key is set is enabled instead of the demo', () => {
  test.each([
    ['OPENAI_API_KEY', 'gpt-5.1'],
    ['ANTHROPIC_API_KEY', 'claude-sonnet-5-5'],
    ['GEMINI_API_KEY', 'gemini-3.8-flash'],
  ])('%s', async (variable, id) => {
    expect(await start({ [variable]: 'sk-one' }, OWN)).toBeUndefined()
    const found = (await loadCatalog(db, box)).find(id)
    expect(found?.routes[0]?.channel.keys).toMatchObject([{ secret: 'sk-one' }])
    expect(await modelIds()).not.toContain('demo/echo')
  })

  test('all at once', async () => {
    const env = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', GEMINI_API_KEY: 'c' }
    expect(await start(env)).toBeUndefined()
    const ids = await modelIds()
    for (const id of ['gpt-5.1', 'claude-sonnet-5-5', 'gemini-3.8-flash']) expect(ids).toContain(id)
  })
})
