import { expect, test } from 'bun:test'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { LARGEST_NANO } from '@/pricing/money.ts'

const { gateway, site } = await fileConsole()
const owner = await site.signUp('owner@example.com', 'owner')
for (const _ of [1, 2]) await openPayer(gateway.database, { creditNano: LARGEST_NANO })
const { key } = await site.call(owner, 'POST /api/keys', { body: { name: 'k' } })
for (const id of [Bun.randomUUIDv7(), Bun.randomUUIDv7()]) {
  await gateway.database.sql`
    insert into exchange (id, account_id, key_id, model, channel, surface, streamed, usage_source, cost_nano, cost_pico,
      status, end_state, started_at, total_ms, attempts)
    values (${id}, ${owner.accountId}, ${key.id}, 'm', 'chat', 'chat', true, 'reported', ${LARGEST_NANO},
      ${String(LARGEST_NANO * 1000n)}, 200, 'complete', now(), 1, 1)`
}

/** Twice what a bigint of the database holds. */
const TWICE = '18446744073.709551614'

test('pages tell sums that no bigint of the database holds', async () => {
  const { balances } = await site.call(owner, 'GET /api/admin/system', {})
  expect(Number(balances)).toBeGreaterThan(Number(TWICE))
  const { spent_today } = await site.call(owner, 'GET /api/overview', { query: {} })
  expect(spent_today).toBe(TWICE)
  const range = { query: { bucket: 'day' } } as const
  for (const { totals } of [
    await site.call(owner, 'GET /api/usage', range),
    await site.call(owner, 'GET /api/admin/usage', range),
  ]) {
    expect(totals.spend).toBe(TWICE)
  }
})
