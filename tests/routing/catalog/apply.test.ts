// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how the file names a variable
import { beforeEach, describe, expect, test } from 'bun:test'
import { NO_LIMITS } from '#tests/support/caller.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { KEYS_CHANNEL } from '@/accounts/key-changes.ts'
import { accountStore } from '@/accounts/store.ts'
import type { ConfigFile } from '@/config/entries.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { openListener } from '@/db/listener.ts'
import { channel, channelKey, model, setting } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import { countsOf } from '@/routing/catalog/apply.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import { CATALOG_TOPIC, loadCatalog } from '@/routing/catalog/store.ts'
import { secretBox } from '@/secrets/secret-box.ts'
import { configFile } from './config.ts'

const db = await fileDatabase()

beforeEach(async () => {
  await db.orm.delete(model)
  await db.orm.delete(channel)
  await db.orm.delete(setting)
})

const NOTHING = { added: 0, changed: 0, removed: 0 }

const TWO_CHANNELS = `
channels:
  - name: main
    format: openai-responses
    base_url: https://api.openai.com
    api_keys: ["\${KEY_ONE}", "\${KEY_TWO}"]
    headers: { x-team: gateway, a: b }
    timeouts: { connect_ms: 5 }
    max_concurrent: 7
  - { name: spare, format: anthropic-messages, base_url: "simulator:" }
models:
  - id: gpt
    aliases: [z-latest, a-latest]
    channels: [{ channel: spare, model: echo, priority: 1 }, { channel: main, model: gpt-1 }]
    surfaces: [responses, chat]
    context_tokens: 5
    prices: { input: 1.25, tiers: [{ above_input_tokens: 5, input: 2 }] }
  - { id: echo, channels: [{ channel: spare }] }
limits: { account: { requests_per_minute: 5 } }
trial_credit: "2.5"
`

async function apply(file: ConfigFile, options: { prune?: boolean; dryRun?: boolean } = {}) {
  const applied = { prune: false, dryRun: false, source: 'file', ...options } as const
  const { channels, models } = await applyFile(db, box, file, applied)
  return { channels: countsOf(channels), models: countsOf(models) }
}

async function stored() {
  return {
    channels: await db.orm.select().from(channel),
    keys: await db.orm.select().from(channelKey),
    models: await db.orm.select().from(model),
  }
}

test('a file becomes the catalog that it describes', async () => {
  expect(await apply(configFile(TWO_CHANNELS))).toEqual({
    channels: { added: 2, changed: 0, removed: 0 },
    models: { added: 2, changed: 0, removed: 0 },
  })
  const catalog = await loadCatalog(db, box)
  expect(catalog.list().map(found => found.id)).toEqual(['echo', 'gpt'])
  expect(catalog.find('a-latest')).toBe(catalog.find('gpt'))
  expect(catalog.find('gpt')).toMatchObject({
    displayName: 'gpt',
    surfaces: ['responses', 'chat'],
    contextTokens: 5,
    maxOutputTokens: undefined,
    enabledByDefault: true,
    price: {
      rates: {
        tokens: { input: 1_250_000n },
        tiers: [{ aboveInputTokens: 5n, tokens: { input: 2_000_000n } }],
      },
    },
  })
  expect(catalog.find('gpt')?.routes).toMatchObject([
    {
      upstreamModel: 'gpt-1',
      priority: 0,
      channel: {
        name: 'main',
        baseUrl: 'https://api.openai.com',
        keys: [{ secret: 'sk-one' }, { secret: 'sk-two' }],
        timeouts: { connectMs: 5, firstByteMs: 120_000, idleMs: 120_000 },
        maxConcurrent: 7,
        vendor: 'api.openai.com',
      },
    },
    { upstreamModel: 'echo', priority: 1, channel: { name: 'spare', vendor: 'simulator', keys: [] } },
  ])
})

test('a channel may go to private addresses only if the file says so, and no longer when it stops saying so', async () => {
  const text = (more: string) =>
    `channels: [{ name: main, format: openai-responses, base_url: http://models.internal${more} }]`
  const steps = [text(''), text(', allow_private: true'), text(', allow_private: true'), text('')]
  const told: unknown[] = []
  for (const step of steps) {
    const { channels } = await apply(configFile(step))
    const [row] = await db.orm.select().from(channel)
    told.push([channels.changed, row?.allowPrivate])
  }
  expect(told).toEqual([
    [0, false],
    [1, true],
    [0, true],
    [1, false],
  ])
})

test.each([
  ['http://127.0.0.1:9000', true],
  ['http://localhost:9000', true],
  ['http://10.1.2.3', true],
  ['http://172.31.0.1', true],
  ['http://[::1]:9000', true],
  ['http://169.254.169.254', false],
  ['http://172.32.0.1', false],
  ['https://api.openai.com', false],
] as const)('an address that is private in so many words (%s) is its own permission: %p', (url, allowed) => {
  const file = configFile(`channels: [{ name: main, format: openai-responses, base_url: "${url}" }]`)
  expect(file.channels[0]?.allowPrivate).toBe(allowed)
})

test('keys are sealed at rest', async () => {
  await apply(configFile(TWO_CHANNELS))
  const { keys } = await stored()
  expect(keys).toHaveLength(2)
  for (const key of keys) expect(Buffer.from(key.ciphertext).toString('latin1')).not.toContain('sk-')
})

test('applying a file again writes nothing', async () => {
  await apply(configFile(TWO_CHANNELS))
  const before = await stored()
  expect(await apply(configFile(TWO_CHANNELS))).toEqual({ channels: NOTHING, models: NOTHING })
  expect(await stored()).toEqual(before)
})

test('a file leaves nothing of what the file before it said of the same names', async () => {
  const full = `
channels:
  - name: main
    format: openai-responses
    base_url: https://api.openai.com
    api_keys: ["\${KEY_ONE}", "\${KEY_TWO}"]
    headers: { x-team: gateway }
    timeouts: { connect_ms: 5 }
    max_concurrent: 7
    priority: 3
    weight: 4
models:
  - id: gpt
    display_name: A model
    owned_by: somebody
    aliases: [old]
    channels: [{ channel: main, model: gpt-1, priority: 2, weight: 3 }]
    surfaces: [chat]
    enabled_by_default: false
    context_tokens: 5
    max_output_tokens: 6
    prices: { input: 1, output: 2 }
`
  const bare = `
channels: [{ name: main, format: openai-responses, base_url: "https://api.openai.com" }]
models: [{ id: gpt, channels: [{ channel: main }] }]
`
  const told = async () => {
    const { channels, models } = await stored()
    const said = ({ id: _, revision: __, createdAt: ___, ...row }: Record<string, unknown>) => row
    const catalog = await loadCatalog(db, box)
    const routes = catalog.find('gpt')?.routes.map(({ channel, ...route }) => [route, said({ ...channel })])
    return { channels: channels.map(said), models: models.map(said), routes, old: catalog.find('old') }
  }
  await apply(configFile(bare))
  const expected = await told()
  await apply(configFile(full))
  expect((await told()).models).not.toEqual(expected.models)
  await apply(configFile(bare))
  expect(await told()).toEqual(expected)
})

test('thousands of models are few statements', async () => {
  const tables = ['model', 'model_alias', 'model_channel', 'price_version']
  await db.sql`create table statement_seen (of_table text)`
  await db.sql`create function see_statement() returns trigger language plpgsql as
    $$ begin insert into statement_seen values (tg_table_name); return null; end $$`
  for (const table of tables) {
    await db.sql`create trigger seen after insert or update on ${db.sql(table)}
      for each statement execute function see_statement()`
  }
  const file = (price: number) =>
    configFile(`
channels: [{ name: main, format: openai-responses, base_url: "https://api.openai.com" }]
models:
${Array.from({ length: 1_100 }, (_, at) => `  - { id: m${at}, aliases: [a${at}], owned_by: o${price}, channels: [{ channel: main }], prices: { input: ${price} } }`).join('\n')}`)
  for (const [price, counts] of [
    [1, { added: 1_100 }],
    [1.5, { changed: 1_100 }],
  ] as const) {
    expect((await apply(file(price))).models).toEqual({ ...NOTHING, ...counts })
    // An upsert is an insert and an update to triggers.
    expect((await db.sql`delete from statement_seen returning 1`).length).toBeLessThanOrEqual(2 * 5)
    const models = (await loadCatalog(db, box)).list()
    expect(models).toHaveLength(1_100)
    for (const { id, aliases, ownedBy, routes } of models) {
      expect([aliases, ownedBy, routes.length]).toEqual([[id.replace('m', 'a')], `o${price}`, 1])
    }
  }
  for (const table of tables) await db.sql`drop trigger seen on ${db.sql(table)}`
})

test('the order of aliases and routes is no change', async () => {
  await apply(configFile(TWO_CHANNELS))
  const shuffled = TWO_CHANNELS.replace('z-latest, a-latest', 'a-latest, z-latest')
  expect(await apply(configFile(shuffled))).toEqual({ channels: NOTHING, models: NOTHING })
})

describe('a change is counted, written, and leaves the rest alone', () => {
  test.each<[string, string, string, 'channels' | 'models']>([
    ['a key', '"${KEY_TWO}"', '"sk-three"', 'channels'],
    ['the order of keys', '"${KEY_ONE}", "${KEY_TWO}"', '"${KEY_TWO}", "${KEY_ONE}"', 'channels'],
    ['a header', 'a: b', 'a: c', 'channels'],
    ['a timeout', 'connect_ms: 5', 'idle_ms: 5', 'channels'],
    ['an address', 'https://api.openai.com', 'https://eu.api.openai.com', 'channels'],
    ['a price', '1.25', '1.26', 'models'],
    ['an alias', 'z-latest', 'y-latest', 'models'],
    ['a route', 'model: gpt-1', 'model: gpt-2', 'models'],
    ['a surface', 'responses, chat', 'responses', 'models'],
  ])('%s', async (_, from, to, kind) => {
    await apply(configFile(TWO_CHANNELS))
    const file = configFile(TWO_CHANNELS.replace(from, to))
    const nothing = { channels: NOTHING, models: NOTHING }
    expect(await apply(file)).toEqual({ ...nothing, [kind]: { added: 0, changed: 1, removed: 0 } })
    expect(await apply(file)).toEqual(nothing)
  })
})

test('a model keeps the time it was made', async () => {
  await apply(configFile(TWO_CHANNELS))
  const before = (await loadCatalog(db, box)).find('gpt')?.createdAt
  await apply(configFile(TWO_CHANNELS.replace('1.25', '3')))
  expect((await loadCatalog(db, box)).find('gpt')?.createdAt).toEqual(before as Date)
})

test('an alias may move from one model to another', async () => {
  await apply(configFile(TWO_CHANNELS))
  const moved = TWO_CHANNELS.replace('[z-latest, a-latest]', '[z-latest]').replace(
    'id: echo,',
    'id: echo, aliases: [a-latest],',
  )
  await apply(configFile(moved))
  expect((await loadCatalog(db, box)).find('a-latest')?.id).toBe('echo')
})

describe('what the file does not name', () => {
  const ONE = `
channels: [{ name: main, format: openai-responses, base_url: https://api.openai.com }]
models: [{ id: gpt, channels: [{ channel: main }] }]
`

  test('is left alone', async () => {
    await apply(configFile(TWO_CHANNELS))
    expect(await apply(configFile('currency: EUR'))).toEqual({ channels: NOTHING, models: NOTHING })
    expect((await loadCatalog(db, box)).list()).toHaveLength(2)
    expect(await loadDefaults(db)).toMatchObject({ trialCredit: '2.5', currency: 'EUR' })
  })

  test('goes with prune, the routes through a removed channel included', async () => {
    await apply(configFile(TWO_CHANNELS))
    expect(await apply(configFile(ONE), { prune: true })).toEqual({
      channels: { added: 0, changed: 1, removed: 1 },
      models: { added: 0, changed: 1, removed: 1 },
    })
    const catalog = await loadCatalog(db, box)
    expect(catalog.list().map(({ id, routes }) => [id, routes.map(route => route.channel.name)])).toEqual([
      ['gpt', ['main']],
    ])
    expect(await loadDefaults(db)).toMatchObject({ trialCredit: '1.00', currency: 'USD' })
  })

  test('is a model that was renamed where its id is an alias by now, and whoever was given it has it still', async () => {
    await apply(configFile(TWO_CHANNELS))
    const { accountId } = await openPayer(db)
    await db.sql`insert into account_model (account_id, model_id) values (${accountId}, 'gpt'), (${accountId}, 'echo')`
    const told = Promise.withResolvers<string>()
    const listener = await openListener(db.url, {
      channel: KEYS_CHANNEL,
      onMessage: told.resolve,
      onConnect: () => undefined,
      onLost: () => undefined,
    })
    const renamed = TWO_CHANNELS.replace('id: gpt\n    aliases: [', 'id: gpt-next\n    aliases: [gpt, ')
    await apply(configFile(renamed.replace('id: echo,', 'id: echo-next,')), { prune: true })
    expect((await accountStore(db).findAccount(accountId)).models).toEqual(['gpt-next'])
    expect(await told.promise).toBe('all')
    await listener.close()
  })

  test('may be used by the file', async () => {
    await apply(configFile(TWO_CHANNELS))
    await apply(configFile('models: [{ id: other, channels: [{ channel: spare }] }]', ['spare']))
    expect((await loadCatalog(db, box)).find('other')?.routes[0]?.channel.name).toBe('spare')
  })

  test('may be gone by then, which refuses the whole file', async () => {
    const file = configFile('models: [{ id: a, channels: [{ channel: gone }] }]\ncurrency: EUR', ['gone'])
    await expect(apply(file)).rejects.toThrow(
      new Refusal('Model "a" names the channel "gone", which is not there any more'),
    )
    expect((await loadDefaults(db)).currency).toBe('USD')
  })

  test('keeps its names', async () => {
    await apply(configFile(TWO_CHANNELS))
    const file = configFile('models: [{ id: other, aliases: [echo], channels: [{ channel: main }] }]', [
      'main',
    ])
    await expect(apply(file)).rejects.toThrow(
      '"echo" of model "other" is already a name of model "echo" in the database',
    )
    expect((await loadCatalog(db, box)).find('other')).toBeUndefined()
  })
})

test('a dry run counts and writes nothing', async () => {
  const counts = {
    channels: { added: 2, changed: 0, removed: 0 },
    models: { added: 2, changed: 0, removed: 0 },
  }
  expect(await apply(configFile(TWO_CHANNELS), { dryRun: true })).toEqual(counts)
  expect(await stored()).toEqual({ channels: [], keys: [], models: [] })
  expect((await loadDefaults(db)).trialCredit).toBe('1.00')
})

test('processes that apply at once do it one after the other', async () => {
  const results = await Promise.all(Array.from({ length: 5 }, () => apply(configFile(TWO_CHANNELS))))
  expect(results.map(result => result?.models.added).toSorted()).toEqual([0, 0, 0, 0, 2])
  expect((await stored()).keys).toHaveLength(2)
})

test('refuses to read or write with another secret', async () => {
  const other = secretBox('another secret of thirty-two bytes!!')
  await apply(configFile(TWO_CHANNELS))
  await expect(loadCatalog(db, other)).rejects.toThrow('TOLLGATE_SECRET is not the one')
  const options = { prune: false, dryRun: false, source: 'file' } as const
  await expect(applyFile(db, other, configFile(TWO_CHANNELS), options)).rejects.toThrow(Refusal)
})

test('every process is told at commit, but only of a change', async () => {
  let told = 0
  const first = Promise.withResolvers<void>()
  const last = Promise.withResolvers<void>()
  const listener = await openListener(db.url, {
    channel: CATALOG_TOPIC,
    onMessage: payload => {
      if (payload === 'end') return last.resolve()
      told += 1
      first.resolve()
    },
    onConnect: () => undefined,
    onLost: () => undefined,
  })
  await apply(configFile(TWO_CHANNELS))
  await first.promise
  await apply(configFile(TWO_CHANNELS))
  await apply(configFile(TWO_CHANNELS.replace('1.25', '2')), { dryRun: true })
  await apply(configFile(TWO_CHANNELS.replace('"2.5"', '"2.6"')))
  await db.sql`select pg_notify(${CATALOG_TOPIC}, 'end')`
  await last.promise
  expect(told).toBe(2)
  await listener.close()
})

test('nothing is limited until a file says otherwise', async () => {
  expect(await loadDefaults(db)).toEqual({
    limits: {
      account: NO_LIMITS,
      key: NO_LIMITS,
      accountModel: NO_LIMITS,
      model: NO_LIMITS,
      onRedisDown: 'share',
    },
    fetchMedia: false,
    operatorHeaders: false,
    trialCredit: '1.00',
    currency: 'USD',
  })
  await apply(configFile(TWO_CHANNELS))
  expect((await loadDefaults(db)).limits.account).toEqual({
    ...NO_LIMITS,
    requestsPerMinute: 5,
  })
})

test('limits of models and the loss of Redis are kept, and with --prune go back', async () => {
  const more =
    'limits: { model: { tokens_per_minute: 9 }, account_model: { requests_per_minute: 2 }, on_redis_down: open }'
  await apply(configFile(more))
  expect((await loadDefaults(db)).limits).toMatchObject({
    model: { ...NO_LIMITS, tokensPerMinute: 9 },
    accountModel: { ...NO_LIMITS, requestsPerMinute: 2 },
    onRedisDown: 'open',
  })
  await apply(configFile(''), { prune: true })
  expect((await loadDefaults(db)).limits).toMatchObject({ model: NO_LIMITS, onRedisDown: 'share' })
})
