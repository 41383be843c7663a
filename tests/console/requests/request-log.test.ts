import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { firstIdAt, type LogQuery, momentOf, readLog } from '@/console/requests/request-log.ts'

const database = await fileDatabase()

const ROWS = 300
const START = Date.parse('2026-11-01T00:00:00Z')
await database.sql`
  insert into exchange (id, account_id, key_id, model, channel, surface, streamed, usage_source, status, end_state,
    started_at, total_ms, attempts)
  select (left(replace(id::text, '-', ''), 12) || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, 1 + n % 2, 1,
    case when n % 90 = 0 then 'rare' else 'often' end, 'x', 'chat', true, 'reported', case when n % 7 = 0 then 429 else 200 end,
    case when n % 7 = 0 then 'refused' else 'complete' end, now(), 1, 1
  from unnest(${Array.from({ length: ROWS }, (_, n) => firstIdAt(new Date(START + n * 1000)))}::uuid[])
    with ordinality as made (id, n)`

test('a search that is given up goes on where it was: each request that matches is found once, newest first', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record<Omit<LogQuery, 'limit' | 'before'>>({
        accountId: fc.constantFrom(undefined, 1, 2),
        model: fc.constantFrom(undefined, 'rare', 'often', 'none'),
        status: fc.constantFrom(undefined, '4xx', '200'),
        endState: fc.constantFrom(undefined, 'refused', 'incomplete'),
        from: fc.constantFrom(undefined, new Date(START + 100_000)),
        to: fc.constantFrom(undefined, new Date(START + 250_000)),
      }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: ROWS + 10 }),
      async (query, limit, lookedAt) => {
        const whole = await readLog(database.orm, { ...query, before: undefined, limit: ROWS + 1 })
        const found: string[] = []
        let before: string | undefined
        do {
          const part = await readLog(database.orm, { ...query, before, limit }, lookedAt)
          expect(part.rows.length).toBeLessThanOrEqual(limit)
          found.push(...part.rows.map(({ id }) => id))
          before = part.reached
        } while (before !== undefined)
        expect(found).toEqual(whole.rows.map(({ id }) => id))
      },
    ),
    { numRuns: 60 },
  )
}, 120_000)

test('a search that nothing matches looks at so many requests and says how far it came', async () => {
  const query = { accountId: 1, before: undefined, limit: 10, model: 'none' }
  const { rows, reached = '' } = await readLog(database.orm, query, 50)
  expect(rows).toEqual([])
  // Every other request is of another account.
  expect(momentOf(reached).getTime()).toBe(START + (ROWS - 1 - 98) * 1000)
})

test('what did not end well is every end but the good one', async () => {
  const query = { accountId: undefined, before: undefined, limit: ROWS, endState: 'incomplete' } as const
  const { rows } = await readLog(database.orm, query)
  expect(rows).toHaveLength(Math.floor(ROWS / 7))
  expect(rows.every(({ status }) => status === 429)).toBe(true)
})

test('a page without a search is never given up', async () => {
  const { rows } = await readLog(database.orm, { accountId: 1, before: undefined, limit: 100 }, 10)
  expect(rows).toHaveLength(100)
})
