import { isDeepStrictEqual } from 'node:util'
import { asc, desc, eq, sql } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { priceVersion, type Source } from '@/db/schema.ts'
import { type RateChange, readStoredRates, storeRates } from '@/generation/rate-text.ts'
import type { Rates } from '@/generation/rates.ts'
import type { JsonObject } from '@/json/json.ts'

/** A version of a model's price, as the database keeps it for good. */
export interface StoredPrice {
  version: bigint
  /** Undefined: from this version on the model is unpriced. */
  rates: Rates | undefined
}

/** The clock, not `now()`: a transaction that waited for the catalog's lock sees what was committed meanwhile. */
const isInForce = sql`${priceVersion.validFrom} <= clock_timestamp()`
const newestFirst = [desc(priceVersion.validFrom), desc(priceVersion.id)] as const

/** The version in force of every model that ever had one, removed models included. */
export async function readCurrentPrices(rows: Rows): Promise<Map<string, StoredPrice>> {
  const found = await rows
    .selectDistinctOn([priceVersion.modelId])
    .from(priceVersion)
    .where(isInForce)
    .orderBy(priceVersion.modelId, ...newestFirst)
  return new Map(found.map(row => [row.modelId, storedPrice(row)]))
}

/** What a version says, whether or not it is in force: a bill is checked against the version it names. */
export async function readVersion(rows: Rows, version: bigint): Promise<StoredPrice | undefined> {
  const [row] = await rows.select().from(priceVersion).where(eq(priceVersion.id, version))
  return row && storedPrice(row)
}

/** The clock that decides what is in force. */
export async function readClock(rows: Rows): Promise<Date> {
  const [row] = await rows.execute<{ ms: string }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as ms`,
  )
  return new Date(Number(row?.ms))
}

/** A version that is not in force yet. */
export interface ScheduledPrice {
  from: Date
  rates: Rates | undefined
}

/** The versions that are not in force yet, by model and in order of time. */
export async function readScheduled(rows: Rows): Promise<Map<string, ScheduledPrice[]>> {
  const found = await rows
    .selectDistinctOn([priceVersion.modelId, priceVersion.validFrom])
    .from(priceVersion)
    .where(sql`not ${isInForce}`)
    .orderBy(asc(priceVersion.modelId), asc(priceVersion.validFrom), desc(priceVersion.id))
  const byModel = new Map<string, ScheduledPrice[]>()
  for (const row of found) {
    const known = byModel.get(row.modelId) ?? []
    known.push({ from: row.validFrom, rates: storedPrice(row).rates })
    byModel.set(row.modelId, known)
  }
  return byModel
}

/**
 * Adds versions that will come into force, so that `rates` and then `changes` hold. A version cannot be taken back:
 * one that is not wanted any more gets a later one from the same moment on, with the rates that hold before it.
 * `before` are those of the model that there are. True if it added one. Call it with the catalog locked.
 */
export async function writeSchedule(
  rows: Rows,
  modelId: string,
  plan: { rates: Rates | undefined; changes: readonly RateChange[] },
  before: readonly ScheduledPrice[],
  source: Source,
): Promise<boolean> {
  const scheduled = new Map(before.map(one => [one.from.getTime(), one.rates]))
  const wanted = new Map(plan.changes.map(one => [one.from.getTime(), one.rates]))
  const moments = [...new Set([...scheduled.keys(), ...wanted.keys()])].toSorted((one, other) => one - other)
  let inForce = plan.rates
  let written = false
  for (const moment of moments) {
    inForce = wanted.get(moment) ?? inForce
    if (scheduled.has(moment) && isDeepStrictEqual(scheduled.get(moment), inForce)) continue
    await rows.insert(priceVersion).values({
      modelId,
      rates: inForce === undefined ? null : storeRates(inForce),
      validFrom: new Date(moment),
      source,
    })
    written = true
  }
  return written
}

/** Every version that a model had, the newest first. */
export async function readVersions(rows: Rows, modelId: string, limit: number) {
  const found = await rows
    .select()
    .from(priceVersion)
    .where(eq(priceVersion.modelId, modelId))
    .orderBy(...newestFirst)
    .limit(limit)
  return found.map(row => ({
    ...storedPrice(row),
    validFrom: row.validFrom,
    source: row.source,
    createdAt: row.createdAt,
  }))
}

/** Adds a version if the rates differ from those in force; true if it did. Call it with the catalog locked. */
export async function writePrice(
  rows: Rows,
  modelId: string,
  rates: Rates | undefined,
  current: StoredPrice | undefined,
  source: Source,
): Promise<boolean> {
  if (isDeepStrictEqual(rates, current?.rates)) return false
  await rows
    .insert(priceVersion)
    .values({ modelId, rates: rates === undefined ? null : storeRates(rates), source })
  return true
}

function storedPrice({ id, rates }: { id: bigint; rates: JsonObject | null }): StoredPrice {
  return { version: id, rates: rates === null ? undefined : readStoredRates(rates) }
}
