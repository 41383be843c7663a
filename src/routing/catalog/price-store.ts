import { isDeepStrictEqual } from 'node:util'
import { asc, desc, eq, or, sql } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { inPortions } from '@/db/in-portions.ts'
import { priceVersion } from '@/db/schema.ts'
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

/** Not planned for later. After the clock was set back its time may still be to come. */
const isMadeForAtOnce = sql`${priceVersion.validFrom} <= ${priceVersion.createdAt}`

/**
 * The version in force of every model that ever had one, removed models included. Where none is by the clock, the last
 * that was made for at once.
 */
export async function readCurrentPrices(rows: Rows): Promise<Map<string, StoredPrice>> {
  const found = await rows
    .selectDistinctOn([priceVersion.modelId])
    .from(priceVersion)
    .where(or(isInForce, isMadeForAtOnce))
    .orderBy(
      priceVersion.modelId,
      sql`case when ${isInForce} then ${priceVersion.validFrom} end desc nulls last`,
      desc(priceVersion.id),
    )
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

/** A version that is to be added. */
type NewVersion = typeof priceVersion.$inferInsert

/**
 * The versions by which a model's rates become those of a plan: one for now, where those in force are others, and those
 * that will come into force, so that `rates` and then `changes` hold. A version cannot be taken back: one that is not
 * wanted any more gets a later one from the same moment on, with the rates that hold before it.
 */
export function versionsTo(
  { rates, changes }: { rates: Rates | undefined; changes: readonly RateChange[] },
  stored: { current: StoredPrice | undefined; scheduled: readonly ScheduledPrice[] },
  { modelId, source }: Pick<NewVersion, 'modelId' | 'source'>,
): NewVersion[] {
  const version = (of: Rates | undefined, validFrom?: Date): NewVersion => ({
    modelId,
    rates: of === undefined ? null : storeRates(of),
    ...(validFrom && { validFrom }),
    source,
  })
  const versions = isDeepStrictEqual(rates, stored.current?.rates) ? [] : [version(rates)]
  const scheduled = new Map(stored.scheduled.map(one => [one.from.getTime(), one.rates]))
  const wanted = new Map(changes.map(one => [one.from.getTime(), one.rates]))
  const moments = [...new Set([...scheduled.keys(), ...wanted.keys()])].toSorted((one, other) => one - other)
  let inForce = rates
  for (const moment of moments) {
    inForce = wanted.get(moment) ?? inForce
    if (scheduled.has(moment) && isDeepStrictEqual(scheduled.get(moment), inForce)) continue
    versions.push(version(inForce, new Date(moment)))
  }
  return versions
}

/** Adds versions. Call it with the catalog locked. */
export async function writeVersions(rows: Rows, versions: readonly NewVersion[]): Promise<void> {
  await inPortions(versions, portion => rows.insert(priceVersion).values(portion))
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

function storedPrice({ id, rates }: { id: bigint; rates: JsonObject | null }): StoredPrice {
  return { version: id, rates: rates === null ? undefined : readStoredRates(rates) }
}
