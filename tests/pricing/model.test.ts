import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { holdOf, ledgerFixture, costOf as settlementOf } from '#tests/ledger/fixture.ts'
import { exchange, priceVersion } from '@/db/schema.ts'
import { readPrices, readStoredRates, storeRates } from '@/generation/rate-text.ts'
import { ratesIn } from '@/generation/rates.ts'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import type { Usage } from '@/generation/usage.ts'
import { asObject } from '@/json/json.ts'
import { audit } from '@/ledger/audit.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import { anyPrices, anyUsed, chargeOf, type Used } from './model.ts'

const anyCase = fc.record({
  prices: anyPrices,
  used: anyUsed,
  tier: fc.constantFrom(...SERVICE_TIERS, undefined),
})

function usageOf({ tokens }: Used): Usage {
  const of = (name: string) => tokens[name] ?? 0
  return {
    inputUncached: of('input'),
    cacheRead: of('cached_input'),
    cacheWrite5m: of('cache_write_5m'),
    cacheWrite1h: of('cache_write_1h'),
    outputText: of('output'),
    reasoning: of('reasoning'),
    audioInput: of('input_audio'),
    audioOutput: of('output_audio'),
    serverTools: {},
  }
}

test('whatever is written under prices and whatever is used, the charge is that of a plain model', () => {
  fc.assert(
    fc.property(anyCase, ({ prices, used, tier }) => {
      const { pico } = costOf(usageOf(used), ratesIn(readPrices(prices), tier), used)
      expect(roundUp(pico)).toBe(chargeOf(prices, tier, used))
    }),
    { numRuns: 20_000 },
  )
}, 600_000)

/** Three of the dearest cases cost less. */
const RICH = 2n ** 62n

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

test('what is stored of prices and usage, booked, and worked out anew by the audit is the same to the last digit', async () => {
  const { orm, sql, url } = fixture.database
  const ledger = await fixture.open()
  const due = new Map<string, bigint>()
  let payer = await fixture.payer(RICH)
  for (const [place, { prices, used, tier }] of fc.sample(anyCase, 300).entries()) {
    if (place % 3 === 0) payer = await fixture.payer(RICH)
    const rates = storeRates(readPrices(prices))
    const [version] = await orm
      .insert(priceVersion)
      .values({ modelId: 'm', rates, source: 'file' })
      .returning({ id: priceVersion.id })
    const request = holdOf(payer, 1n)
    expect(await ledger.hold(request)).toMatchObject({ granted: true })
    const serviceTier = tier !== undefined && tier in (asObject(rates['service_tiers']) ?? {}) ? tier : null
    const { tokens: _, ...extras } = used
    const { pico } = costOf(usageOf(used), ratesIn(readStoredRates(rates), serviceTier ?? undefined), extras)
    const nano = roundUp(pico)
    const settled = await ledger.settle({ ...settlementOf(request, nano), costPico: pico })
    expect(settled).toMatchObject({ outcome: 'settled', chargedNano: nano })
    await orm.insert(exchange).values({
      ...usageOf(used),
      id: request.id,
      ...payer,
      surface: 'chat',
      streamed: true,
      extras,
      usageSource: 'reported',
      priceVersion: version?.id ?? null,
      serviceTier,
      costNano: nano,
      costPico: String(pico),
      status: 200,
      endState: 'complete',
      startedAt: new Date(),
      totalMs: 1,
      attempts: 1,
    })
    due.set(request.id, chargeOf(prices, tier, used))
  }
  const entries = await sql<{ id: string; amount: bigint }[]>`
    select id, -amount as amount from entry where kind = 'usage'`
  const charged = new Map(entries.map(({ id, amount }) => [id, amount]))
  for (const [id, nano] of due) expect(charged.get(id) ?? 0n).toBe(nano)
  const { checks } = await audit(url)
  expect(checks.filter(({ count, informational }) => count > 0 && !informational)).toEqual([])
}, 120_000)
