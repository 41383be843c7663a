import { describe, expect, test } from 'bun:test'
import { inArray } from 'drizzle-orm'
import { callerBy } from '#tests/support/caller.ts'
import { endedRecord } from '#tests/support/ended-record.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { exchange } from '@/db/schema.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { ExchangeWriter } from '@/exchange/results/store.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics } from '@/telemetry/metrics.ts'

type Row = Omit<typeof exchange.$inferSelect, 'storedAt'>

const database = await fileDatabase()

/** Everything that a row can hold, in values that a careless way through JSON would change. */
const FULL: Row = {
  id: '0198c0de-0000-7000-8000-000000000001',
  accountId: 1,
  keyId: 2,
  model: 'a "model" \\ é',
  channel: 'main',
  channelFormat: 'openai-responses',
  surface: 'messages',
  streamed: true,
  inputUncached: 1,
  cacheRead: 2,
  cacheWrite5m: 3,
  cacheWrite1h: 4,
  outputText: 5,
  reasoning: 6,
  audioInput: 7,
  audioOutput: Number.MAX_SAFE_INTEGER,
  serverTools: { web_search: 2 },
  extras: { images: { '1024x1024': 2, 'a "size"': 1 }, videoSeconds: 4 },
  usageSource: 'reported',
  priceVersion: 9_007_199_254_740_993n,
  costNano: 9_007_199_254_740_993n,
  costPico: '123456789012345678901234567890',
  status: 200,
  endState: 'complete',
  errorCode: 'upstream_error',
  startedAt: new Date('2026-01-02T03:04:05.678Z'),
  firstByteMs: 12,
  totalMs: 34,
  attempts: 2,
  losses: ['stop', 'a,b {"c"}'],
  serviceTier: 'priority',
}

const EMPTY: Row = {
  ...FULL,
  id: '0198c0de-0000-7000-8000-000000000002',
  model: null,
  channel: null,
  channelFormat: null,
  serverTools: {},
  extras: null,
  priceVersion: null,
  serviceTier: null,
  costNano: null,
  costPico: null,
  errorCode: null,
  firstByteMs: null,
  losses: [],
}

/** Whatever can be left out of its JSON, and what only looks like it. */
const NAUGHT: Row = {
  ...EMPTY,
  id: '0198c0de-0000-7000-8000-000000000003',
  streamed: false,
  inputUncached: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  outputText: 0,
  reasoning: 0,
  audioInput: 0,
  audioOutput: 0,
  priceVersion: 0n,
  costNano: 0n,
  costPico: '0',
  startedAt: new Date('2026-01-02T03:04:06.007Z'),
  firstByteMs: 0,
  totalMs: 0,
  attempts: 0,
}

/** The exchange that such a row is stored of. */
function recordOf(row: Row): ExchangeRecord {
  const { costNano: nano, costPico: pico, priceVersion, serviceTier } = row
  const charge =
    nano === null || pico === null || priceVersion === null
      ? undefined
      : { nano, pico: BigInt(pico), priceVersion, serviceTier: serviceTier ?? undefined }
  return endedRecord(row.id, {
    caller: callerBy(row.accountId, row.keyId),
    model: row.model ?? undefined,
    channel: row.channel ?? undefined,
    channelFormat: row.channelFormat ?? undefined,
    surface: row.surface,
    streamed: row.streamed,
    usage: row,
    extras: row.extras ?? undefined,
    usageSource: row.usageSource === 'missing' ? undefined : row.usageSource,
    charge,
    status: row.status,
    endState: row.endState,
    error: row.errorCode === null ? undefined : new GatewayError('upstream_error', ''),
    startedAt: row.startedAt.getTime(),
    firstByteMs: row.firstByteMs ?? undefined,
    attempts: row.attempts,
    losses: row.losses,
  })
}

/** Has the result of an exchange stored. */
function store(writer: ExchangeWriter, row: Row): void {
  writer.take(recordOf(row), row.totalMs)()
}

test('every column of a row comes back as it was given, and a second row of an id changes nothing', async () => {
  const log = createLog({ level: 'silent', format: 'json' })
  const writer = new ExchangeWriter(database, log, createMetrics({ processMetrics: false }))
  store(writer, FULL)
  store(writer, EMPTY)
  store(writer, NAUGHT)
  store(writer, { ...FULL, status: 500 })
  await writer.flush()
  const stored = { storedAt: expect.any(Date) }
  expect(await database.orm.select().from(exchange).orderBy(exchange.id)).toEqual([
    { ...FULL, ...stored },
    { ...EMPTY, ...stored },
    { ...NAUGHT, ...stored },
  ])
})

test.each([
  ['a NUL', 'a\u0000b'],
  ['half a surrogate pair', 'a\ud83db'],
])('a row whose names have %s is stored with U+FFFD in its place', async (_, name) => {
  const log = createLog({ level: 'silent', format: 'json' })
  const metrics = createMetrics({ processMetrics: false })
  const writer = new ExchangeWriter(database, log, metrics)
  const row = { ...FULL, id: Bun.randomUUIDv7(), losses: [name, 'a\\u0000b'], serverTools: { [name]: 1 } }
  store(writer, { ...row, extras: { images: { [name]: 1 } } })
  await writer.flush()
  const [stored] = await database.orm
    .select()
    .from(exchange)
    .where(inArray(exchange.id, [row.id]))
  expect(stored).toMatchObject({
    losses: ['a\ufffdb', 'a\\u0000b'],
    serverTools: { 'a\ufffdb': 1 },
    extras: { images: { 'a\ufffdb': 1 } },
  })
  expect((await metrics.unrecordedExchanges.get()).values[0]?.value).toBe(0)
})

test('a row that the database cannot take does not keep the others from being written', async () => {
  const log = createLog({ level: 'silent', format: 'json' })
  const metrics = createMetrics({ processMetrics: false })
  const writer = new ExchangeWriter(database, log, metrics)
  const ids = Array.from({ length: 5 }, () => Bun.randomUUIDv7())
  // More than the column has numbers for.
  for (const [index, id] of ids.entries()) store(writer, { ...FULL, id, status: index === 2 ? 2 ** 40 : 200 })
  await writer.flush()
  const rows = await database.orm.select({ id: exchange.id }).from(exchange).where(inArray(exchange.id, ids))
  expect(rows.map(({ id }) => id).sort()).toEqual(ids.filter((_, index) => index !== 2))
  expect((await metrics.unrecordedExchanges.get()).values[0]?.value).toBe(1)
})

describe('while the database is away', () => {
  /** A database that fails so many writes, and whose metrics say how many rows were given up. */
  function setUp(failures: number) {
    let left = failures
    const sql = new Proxy(database.sql, {
      apply(target, self, args) {
        if (left === 0) return Reflect.apply(target, self, args)
        left -= 1
        return Promise.reject(new Error('write CONNECTION_CLOSED'))
      },
    })
    const metrics = createMetrics({ processMetrics: false })
    const log = createLog({ level: 'silent', format: 'json' })
    return { metrics, writer: new ExchangeWriter({ ...database, sql }, log, metrics) }
  }

  const idsOf = async (ids: string[]) => {
    const rows = await database.orm
      .select({ id: exchange.id })
      .from(exchange)
      .where(inArray(exchange.id, ids))
    return rows.map(({ id }) => id).sort()
  }

  test('rows wait, and are there when it is back', async () => {
    const { metrics, writer } = setUp(1)
    const ids = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
    for (const id of ids) store(writer, { ...FULL, id })
    await writer.flush()
    expect(await idsOf(ids)).toEqual(ids)
    expect((await metrics.unrecordedExchanges.get()).values[0]?.value).toBe(0)
  })

  test('of more than 20,000 rows that wait the oldest are given up, and counted', async () => {
    const { metrics, writer } = setUp(Number.POSITIVE_INFINITY)
    const givenUp = async () => (await metrics.unrecordedExchanges.get()).values[0]?.value
    for (let rows = 0; rows < 20_000; rows += 1) store(writer, { ...FULL, id: Bun.randomUUIDv7() })
    expect(await givenUp()).toBe(0)
    store(writer, { ...FULL, id: Bun.randomUUIDv7() })
    expect(await givenUp()).toBe(500)
    await writer.close()
  })

  test('a process that stops tries once more, and counts what it gives up', async () => {
    const { metrics, writer } = setUp(Number.POSITIVE_INFINITY)
    const ids = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
    for (const id of ids) store(writer, { ...FULL, id })
    await writer.close()
    expect(await idsOf(ids)).toEqual([])
    expect((await metrics.unrecordedExchanges.get()).values[0]?.value).toBe(2)
  })
})
