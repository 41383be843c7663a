import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyRates, anyUsage, ratesOf } from '#tests/pricing/samples.ts'
import { exchange, priceVersion } from '@/db/schema.ts'
import type { Extras } from '@/generation/extras.ts'
import { storeRates } from '@/generation/rate-text.ts'
import { ratesIn } from '@/generation/rates.ts'
import { audit } from '@/ledger/audit.ts'
import { readReceipt } from '@/ledger/receipt.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import { holdOf, ledgerFixture, newId } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql, orm, url } = fixture.database
afterAll(() => fixture.close())

const count = fc.nat({ max: 5_000 })
const anyExtras: fc.Arbitrary<Extras | undefined> = fc.option(
  fc.record(
    {
      images: fc.dictionary(fc.constantFrom('1024x1024', '1536x1024', 'auto', '8x8'), fc.nat({ max: 9 }), {
        noNullPrototype: true,
      }),
      videoSeconds: count,
      audioSeconds: count,
      characters: count,
    } satisfies Record<keyof Extras, fc.Arbitrary<unknown>>,
    { requiredKeys: [], noNullPrototype: true },
  ),
  { nil: undefined },
)

/** Stores exchanges as settlement.ts would, of any usage at any rates. */
async function storeAny(accountId: number, samples: number): Promise<void> {
  const any = fc.sample(fc.tuple(anyRates, anyUsage, anyExtras, fc.nat(9)), samples)
  const versions = await orm
    .insert(priceVersion)
    .values(any.map(([rates]) => ({ modelId: 'm', rates: storeRates(rates), source: 'file' as const })))
    .returning({ id: priceVersion.id })
  const results = any.map(([rates, usage, extras, place], index) => {
    const serviceTier = [...rates.serviceTiers.keys()][place]
    const { pico } = costOf(usage, ratesIn(rates, serviceTier), extras)
    return {
      ...usage,
      id: newId(),
      accountId,
      keyId: 1,
      surface: 'chat' as const,
      streamed: true,
      extras: extras ?? null,
      usageSource: 'reported' as const,
      priceVersion: versions[index]?.id ?? null,
      serviceTier: serviceTier ?? null,
      costNano: roundUp(pico),
      costPico: String(pico),
      status: 200,
      endState: 'complete' as const,
      startedAt: new Date(),
      totalMs: 1,
      attempts: 1,
    }
  })
  await orm.insert(exchange).values(results)
}

async function receiptsOf(accountId: number) {
  const { checks } = await audit(url, { accountId })
  return checks.find(({ name }) => name === 'receipts')
}

test('the receipt of a request that still runs says whose it is and what is set aside', async () => {
  const payer = await fixture.payer(100n)
  const ledger = await fixture.open()
  const request = holdOf(payer, 60n)
  await ledger.hold(request)
  const receipt = { accountId: payer.accountId, exchange: undefined, movements: [] }
  expect(await readReceipt(fixture.database, request.id)).toEqual({ ...receipt, heldNano: 60n })
})

test('the audit works out every cost anew, and comes to what was charged', async () => {
  const { accountId } = await fixture.payer(1n)
  await storeAny(accountId, 400)
  expect((await receiptsOf(accountId))?.first).toEqual([])
})

test('the audit works out what the most tokens cost at the highest price, of which a bigint has no number', async () => {
  const { accountId } = await fixture.payer(1n)
  const [version] = await orm
    .insert(priceVersion)
    .values({ modelId: 'm', rates: storeRates(ratesOf({ input: 10n ** 14n })), source: 'file' })
    .returning({ id: priceVersion.id })
  const most = 33_554_432n
  await sql`insert into exchange (id, account_id, key_id, surface, streamed, input_uncached, usage_source, price_version,
      cost_nano, cost_pico, status, end_state, started_at, total_ms, attempts)
    values (${newId()}, ${accountId}, 1, 'chat', true, ${most}, 'reported', ${version?.id ?? 0n}, ${most * 10n ** 11n},
      ${String(most * 10n ** 14n)}, 200, 'complete', now(), 1, 1)`
  expect((await receiptsOf(accountId))?.first).toEqual([])
})

test.each([
  ['a token more', 'output_text = output_text + 1'],
  ['tokens of another kind', 'input_uncached = cache_read, cache_read = input_uncached'],
  ['a cost that is a pico less', 'cost_pico = cost_pico - 1'],
  ['no exact cost', 'cost_pico = null'],
  ['a price version that is not there', 'price_version = 999999'],
  ['another service tier', "service_tier = 'flex'"],
  ['a service tier without prices', "service_tier = 'priority'"],
  ['no price version', 'price_version = null'],
  ['an image more', `extras = '{"images":{"1024x1024":1}}'`],
])('a receipt with %s is found', async (_what, change) => {
  const { accountId } = await fixture.payer(1n)
  const rates = {
    tokens: { input: 1_250_000n, cached_input: 125_000n, output: 10_000_000n },
    perRequest: undefined,
    perImage: new Map([['1024x1024', 40_000_000_000n]]),
    perVideoSecond: undefined,
    perAudioSecond: undefined,
    perCharacter: undefined,
    tiers: [],
    serviceTiers: new Map([['flex' as const, { tokens: { output: 5_000_000n }, tiers: [] }]]),
  }
  const [version] = await orm
    .insert(priceVersion)
    .values({ modelId: 'm', rates: storeRates(rates), source: 'file' })
    .returning({ id: priceVersion.id })
  const id = newId()
  await sql`insert into exchange (id, account_id, key_id, surface, streamed, input_uncached, cache_read, cache_write5m,
      cache_write1h, output_text, reasoning, audio_input, audio_output, usage_source, price_version, cost_nano, cost_pico,
      status, end_state, started_at, total_ms, attempts)
    values (${id}, ${accountId}, 1, 'chat', true, 100, 7, 0, 0, 50, 0, 0, 0, 'reported', ${version?.id ?? 0n}, 625875,
      625875000, 200, 'complete', now(), 1, 1)`
  expect((await receiptsOf(accountId))?.count).toBe(0)
  await sql.unsafe(`update exchange set ${change} where id = '${id}'`)
  const found = await receiptsOf(accountId)
  expect(found?.count).toBe(1)
  expect(found?.first[0]).toStartWith(`request ${id}: `)
})
