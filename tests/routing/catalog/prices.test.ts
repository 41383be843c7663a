import { beforeEach, describe, expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { applyFile } from '@/console/catalog/file-changes.ts'
import { channel, model, priceVersion } from '@/db/schema.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { applyToEmpty } from '@/routing/catalog/apply.ts'
import { refreshPrices } from '@/routing/catalog/price-refresh.ts'
import { readCurrentPrices, readVersion } from '@/routing/catalog/price-store.ts'
import { loadCatalog, readModels } from '@/routing/catalog/store.ts'
import { configFile } from './config.ts'

const db = await fileDatabase()

/** Versions are for good, so each test prices a model of its own. */
let id = ''
let made = 0
beforeEach(async () => {
  await db.orm.delete(model)
  await db.orm.delete(channel)
  made += 1
  id = `model-${made}`
})

function file(prices: string | undefined) {
  const priced = prices === undefined ? '' : `, prices: { ${prices} }`
  return configFile(`
channels: [{ name: main, format: openai-responses, base_url: "simulator:" }]
models: [{ id: ${id}, channels: [{ channel: main }]${priced} }]`)
}

function apply(prices: string | undefined, options: { prune?: boolean; dryRun?: boolean } = {}) {
  return applyFile(db, box, file(prices), { prune: false, dryRun: false, source: 'file', ...options })
}

async function versions() {
  const rows = await db.orm.select().from(priceVersion)
  return rows.filter(row => row.modelId === id).toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

async function inCatalog() {
  return (await loadCatalog(db, box)).find(id)?.price
}

describe('versions', () => {
  test('a price becomes one, and is in the catalog with its rates', async () => {
    await apply('input: 1.25, output: 10')
    const [version] = await versions()
    expect(version).toMatchObject({ rates: { input: '1250000', output: '10000000' }, source: 'file' })
    expect(await inCatalog()).toEqual({
      version: version?.id ?? 0n,
      rates: readPrices({ input: '1.25', output: '10' }),
    })
  })

  test('the same rates make no new one, however they are written', async () => {
    await apply('input: 1.25, output: 10')
    await apply('output: "10.0", input: 125e-2')
    expect(await versions()).toHaveLength(1)
  })

  test('another rate makes a new one, and the old one still says what it said', async () => {
    await apply('input: 1.25')
    const before = await inCatalog()
    await apply('input: 1.5')
    expect((await inCatalog())?.rates.tokens.input).toBe(1_500_000n)
    expect((await readVersion(db.orm, before?.version ?? 0n))?.rates).toEqual(before?.rates)
    expect(await versions()).toHaveLength(2)
  })

  test('a price that is taken away leaves the model unpriced, and one that returns is a new version', async () => {
    await apply('input: 1.25')
    await apply(undefined)
    expect(await inCatalog()).toBeUndefined()
    expect((await readCurrentPrices(db.orm)).get(id)?.rates).toBeUndefined()
    await apply('input: 1.25')
    expect((await inCatalog())?.rates.tokens.input).toBe(1_250_000n)
    expect((await versions()).map(({ rates }) => rates)).toEqual([
      { input: '1250000' },
      null,
      { input: '1250000' },
    ])
  })

  test('a model without prices has none', async () => {
    await apply(undefined)
    expect(await inCatalog()).toBeUndefined()
    expect((await readCurrentPrices(db.orm)).has(id)).toBe(false)
    expect(await versions()).toEqual([])
  })

  test('a removed model leaves its versions, and takes up the same one when it returns', async () => {
    await apply('input: 1.25')
    const before = await inCatalog()
    await applyFile(db, box, configFile(''), { prune: true, dryRun: false, source: 'file' })
    await apply('input: 1.25')
    expect(await inCatalog()).toEqual(before)
  })

  test('a dry run makes none', async () => {
    await apply('input: 1.25', { dryRun: true })
    expect(await versions()).toEqual([])
  })

  test('one that is not in force yet is not used', async () => {
    await apply('input: 1.25')
    const validFrom = new Date(Date.now() + 3_600_000)
    await db.orm.insert(priceVersion).values({ modelId: id, rates: { input: '9' }, validFrom, source: 'cli' })
    expect((await inCatalog())?.rates.tokens.input).toBe(1_250_000n)
    expect((await readCurrentPrices(db.orm)).get(id)?.rates?.tokens.input).toBe(1_250_000n)
  })

  test('the last that was applied holds after the clock was set back to before it; one that is planned does not', async () => {
    await apply(undefined)
    const ahead = (minutes: number) => new Date(Date.now() + minutes * 60_000)
    const version = { modelId: id, source: 'file' } as const
    await db.orm.insert(priceVersion).values({ ...version, rates: { input: '7' }, validFrom: ahead(10) })
    expect(await inCatalog()).toBeUndefined()
    const whenAhead = (input: string, minutes: number) => ({
      ...version,
      rates: { input },
      validFrom: ahead(minutes),
      createdAt: ahead(minutes),
    })
    await db.orm.insert(priceVersion).values([whenAhead('8', 90), whenAhead('9', 60)])
    expect((await inCatalog())?.rates.tokens.input).toBe(9n)
    await apply('input: 1.25')
    expect((await inCatalog())?.rates.tokens.input).toBe(1_250_000n)
  })

  test('processes that apply at once make one', async () => {
    await Promise.all(Array.from({ length: 5 }, () => apply('input: 1.25')))
    expect(await versions()).toHaveLength(1)
  })

  test.each([
    ['update', 'update price_version set source = source'],
    ['delete', 'delete from price_version'],
    ['truncate', 'truncate price_version'],
  ])('the database refuses to %s one', async (what, statement) => {
    await apply('input: 1.25')
    const error = await db.sql.unsafe(statement).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain(`price_version is append-only: no ${what}`)
    expect(await versions()).toHaveLength(1)
  })

  test('the database refuses rates that are no object', async () => {
    const error = await db.sql
      .unsafe(`insert into price_version (model_id, rates, source) values ('x', '5', 'file')`)
      .catch((thrown: unknown) => thrown)
    expect(sqlErrorOf(error)?.constraint).toBe('price_version_rates')
  })
})

describe('jumps', () => {
  test('of the operator are applied and reported', async () => {
    await apply('input: 1.25, output: 10')
    const { warnings } = await apply('input: 12.5, output: 20')
    expect(warnings).toEqual([{ model: id, rate: 'input', from: '1.25', to: '12.5', applied: true }])
    expect((await inCatalog())?.rates.tokens.input).toBe(12_500_000n)
    expect((await apply('input: 12.5, output: 20')).warnings).toEqual([])
  })

  test('of the first price there are none', async () => {
    expect((await apply('input: 1000')).warnings).toEqual([])
  })
})

describe('the shipped catalogue of a later release', () => {
  const ship = (prices: string) => applyToEmpty(db, box, file(prices))

  test('brings its prices', async () => {
    await ship('input: 1.25, output: 10')
    expect(await refreshPrices(db, file('input: 1, output: 10'))).toEqual([])
    expect((await inCatalog())?.rates.tokens.input).toBe(1_000_000n)
    const stored = (await readModels(db.orm)).find(model => model.id === id)
    expect(stored?.prices).toEqual({ input: '1', output: '10' })
    expect(await refreshPrices(db, file('input: 1, output: 10'))).toEqual([])
    expect(await versions()).toHaveLength(2)
  })

  test('leaves a price that jumps as it is, and reports it', async () => {
    await ship('input: 1.25, output: 10')
    const jump = { model: id, rate: 'output', from: '10', to: '2', applied: false }
    expect(await refreshPrices(db, file('input: 1, output: 2'))).toEqual([jump])
    expect((await inCatalog())?.rates).toEqual(readPrices({ input: '1.25', output: '10' }))
    expect(await versions()).toHaveLength(1)
  })

  test('leaves what the operator wrote since', async () => {
    await ship('input: 1.25')
    await apply('input: 1.5')
    expect(await refreshPrices(db, file('input: 1'))).toEqual([])
    expect((await inCatalog())?.rates.tokens.input).toBe(1_500_000n)
  })

  test('adds no model', async () => {
    await refreshPrices(db, file('input: 1'))
    expect((await loadCatalog(db, box)).find(id)).toBeUndefined()
  })
})

describe('changes that are to come', () => {
  /** Not tomorrow, which may be today before the tests are done. */
  const SOON = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
  const LATER = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)

  /** What is in force at the end of a day, by what the database has today. */
  async function inputAt(day: string): Promise<string | null | undefined> {
    const [row] = await db.sql<{ input: string | null }[]>`
      select rates->>'input' as input from price_version
      where model_id = ${id} and valid_from <= ${day}::text::timestamptz + interval '1 day'
      order by valid_from desc, id desc limit 1`
    return row?.input
  }

  test('are versions that begin on their day, and not before', async () => {
    const prices = `input: 1, changes: [{ from: ${LATER}, input: 3 }, { from: ${SOON}, input: 2 }]`
    await apply(prices)
    expect((await inCatalog())?.rates.tokens.input).toBe(1_000_000n)
    expect((await versions()).map(({ validFrom }) => validFrom.toISOString()).slice(1)).toEqual([
      `${SOON}T00:00:00.000Z`,
      `${LATER}T00:00:00.000Z`,
    ])
    expect([await inputAt(SOON), await inputAt(LATER)]).toEqual(['2000000', '3000000'])
    await apply(prices)
    expect(await versions()).toHaveLength(3)
  })

  test('that have come are in force, whole, and the file says it once for all', async () => {
    await apply(
      'input: 1, output: 5, changes: [{ from: 2020-01-01, input: 2 }, { from: 2020-02-01, input: 3 }]',
    )
    expect((await inCatalog())?.rates).toEqual(readPrices({ input: '3' }))
    expect(await versions()).toHaveLength(1)
  })

  test('that are taken back or moved do not come', async () => {
    await apply(`input: 1, changes: [{ from: ${SOON}, input: 2 }]`)
    await apply(`input: 1, changes: [{ from: ${LATER}, input: 2 }]`)
    expect([await inputAt(SOON), await inputAt(LATER)]).toEqual(['1000000', '2000000'])
    await apply('input: 1')
    expect([await inputAt(SOON), await inputAt(LATER)]).toEqual(['1000000', '1000000'])
    const before = (await versions()).length
    await apply('input: 1')
    expect(await versions()).toHaveLength(before)
    await apply(undefined)
    expect(await inputAt(LATER)).toBeNull()
  })

  test('are told if they are jumps, and held if they come from the shipped catalogue', async () => {
    const jumpy = file(`input: 1, changes: [{ from: ${SOON}, input: 5 }]`)
    await applyFile(db, box, file('input: 1'), { prune: false, dryRun: false, source: 'default' })
    const held = await refreshPrices(db, jumpy)
    expect(held).toEqual([{ model: id, rate: `input from ${SOON}`, from: '1', to: '5', applied: false }])
    expect(await inputAt(SOON)).toBe('1000000')
    const { warnings } = await applyFile(db, box, jumpy, { prune: false, dryRun: false, source: 'file' })
    expect(warnings).toMatchObject([{ rate: `input from ${SOON}`, applied: true }])
    expect(await inputAt(SOON)).toBe('5000000')
  })
})
