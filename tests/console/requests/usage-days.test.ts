import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { inZone } from '@/console/moments.ts'
import { firstIdAt } from '@/console/requests/request-log.ts'
import { readRange, readUsage, USAGE_CSV_HEADINGS, usageCsvRows } from '@/console/requests/usage.ts'
import { addUpUsage } from '@/console/requests/usage-totals.ts'

const database = await fileDatabase()

/** With quarters of an hour, and with clocks that are put forward and back: at midnight, too, and by half an hour. */
const ZONES = [
  'UTC',
  'Asia/Kathmandu',
  'Europe/Berlin',
  'Africa/Cairo',
  'America/Havana',
  'Australia/Lord_Howe',
]
/** Each with a change of the clocks in most of these zones. */
const RANGES = [
  { from: '2026-03-05T10:20:00Z', to: '2026-04-27T11:00:00Z' },
  { from: '2026-10-01T00:00:00Z', to: '2026-11-03T09:45:10Z' },
]

const noNames = () => Promise.resolve(new Map<string, string>())

/** The day of the calendar, as the browser's own library of zones has it. */
function dayOf(zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  return at => format.format(at)
}

async function store(at: number, tier: string | null = null, tokens = 0): Promise<void> {
  const id = `${firstIdAt(new Date(at)).slice(0, 13)}-7000-8000-${crypto.randomUUID().slice(24)}`
  await database.sql`
    insert into exchange (id, account_id, key_id, model, surface, streamed, usage_source, cost_nano, status, end_state,
      started_at, total_ms, attempts, service_tier, input_uncached, cache_read, output_text)
    values (${id}, 1, 1, '=m', 'chat', true, 'reported', 1500, 200, ${tier === null ? 'complete' : 'refused'},
      ${new Date(at).toISOString()}::text::timestamptz, 1, 1, ${tier}, ${tokens}, ${tokens}, ${tokens})`
}

test("a day of the chart has what was asked on that day of the zone's calendar, and each of them is there once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ZONES),
      fc.constantFrom(...RANGES),
      fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      async (zone, range, places, isAddedUp) => {
        await database.sql`delete from exchange`
        const query = readRange({ ...range, bucket: 'day', zone }, 0)
        const first = query.from.getTime()
        const day = dayOf(zone)
        const moments = places.flatMap(place => {
          const at = first + (place % (query.to.getTime() - first))
          // The last moment before an hour begins as well, which is where days end.
          const hour = at - (at % 3_600_000)
          return hour - 1 > first ? [at, hour, hour - 1] : [at]
        })
        for (const at of moments) await store(at)
        if (isAddedUp) await addUpUsage(database, 0)
        const usage = await readUsage(database, { ...query, accountId: 1, by: 'model' }, noNames)
        expect(usage.zone).toBe(zone)
        const days = usage.buckets.map(begin => day(Date.parse(begin)))
        expect(days).toEqual([...new Set(days)])
        const { requests = [] } = usage.series[0] ?? {}
        const told = days.flatMap((name, index) => (requests[index] ? [[name, requests[index]]] : []))
        const asked = Map.groupBy(
          moments.toSorted((one, other) => one - other),
          day,
        )
        expect(told).toEqual([...asked].map(([name, { length }]) => [name, length]))
        // None begins later than the first moment of its day.
        for (const begin of usage.buckets) expect(day(Date.parse(begin) - 1)).not.toBe(day(Date.parse(begin)))
      },
    ),
    { numRuns: 30 },
  )
}, 180_000)

test.each([
  ['2026-04-04T13:00:00Z', ['00:00+11:00', '01:00+11:00', '01:30+10:30', '02:00+10:30', '03:00+10:30']],
  ['2026-10-03T13:30:00Z', ['00:00+10:30', '01:00+10:30', '02:30+11:00', '03:00+11:00', '04:00+11:00']],
])(
  'an hour of the chart is one of the zone, also after its clocks were put by half an hour: %s',
  async (from, begins) => {
    const to = new Date(Date.parse(from) + 4.25 * 3_600_000).toISOString()
    const query = readRange({ from, to, bucket: 'hour', zone: 'Australia/Lord_Howe' }, 0)
    const usage = await readUsage(database, { ...query, accountId: 1, by: 'model' }, noNames)
    const texts = usage.buckets.map(begin => inZone(Date.parse(begin), query.zone).toString().slice(11))
    expect(texts.map(text => text.replace(':00+', '+').replace(/\[.*/, ''))).toEqual(begins)
  },
)

test('a zone that is not known here is answered in UTC, which is said', () => {
  expect(readRange({ zone: 'Mars/Olympus_Mons' }, 0).zone).toBe('UTC')
  expect(readRange({ zone: 'Asia/Calcutta' }, 0).zone).toBe('Asia/Calcutta')
})

test('the file has a row for each day and service tier, with the moment as the zone writes it and all counts', async () => {
  await database.sql`delete from exchange`
  for (const tier of [null, 'flex', 'flex']) await store(Date.parse('2026-10-09T20:00:00Z'), tier, 7)
  const range = readRange(
    { from: '2026-10-09T18:30:00Z', to: '2026-10-10T18:30:00Z', bucket: 'day', zone: 'Asia/Kolkata' },
    0,
  )
  const usage = await readUsage(database, { ...range, accountId: undefined, by: 'service_tier' }, noNames)
  expect(USAGE_CSV_HEADINGS.join()).toBe(
    'from,id,name,requests,failed,input tokens,cached tokens,output tokens,spend,currency',
  )
  expect([...usageCsvRows(usage, 'USD')].map(row => row.join())).toEqual([
    '2026-10-10T00:00:00+05:30,flex,flex,2,2,28,14,14,0.000003000,USD',
    '2026-10-10T00:00:00+05:30,,,1,0,14,7,7,0.000001500,USD',
  ])
})
