import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Stripe from 'stripe'
import { startTestConsole, type TestConsole, type Visitor } from '#tests/support/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream } from '#tests/support/upstream.ts'
import { parseMoney } from '@/pricing/money.ts'

const SECRET = 'whsec_test'
const signer = new Stripe('sk_test_1')
let gateway: TestGateway
let site: TestConsole
let stripe: ScriptedUpstream
let ada: Visitor

beforeAll(async () => {
  gateway = await startTestGateway()
  await gateway.apply(`console: { stripe: { secret_key: sk_test_1, webhook_secret: ${SECRET} } }`)
  stripe = scriptedUpstream(() =>
    Response.json({ id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c/pay/cs_1' }),
  )
  const { hostname, port } = new URL(stripe.url)
  site = await startTestConsole(gateway, {
    stripe: async key =>
      new Stripe(key, { host: hostname, port: Number(port), protocol: 'http', telemetry: false }),
  })
  ada = await site.signUp('payer@example.com')
})
afterAll(async () => {
  await site.stop()
  await stripe.stop()
  await gateway.close()
})

function eventOf(
  session: object,
  type = 'checkout.session.completed',
  id: string = crypto.randomUUID(),
): string {
  const object = {
    id: `cs_${crypto.randomUUID()}`,
    object: 'checkout.session',
    payment_status: 'paid',
    amount_total: 2500,
    currency: 'usd',
    payment_intent: 'pi_1',
    metadata: { tollgate_account: String(ada.accountId) },
    ...session,
  }
  return JSON.stringify({ id: `evt_${id}`, object: 'event', type, data: { object } })
}

async function deliver(payload: string, signature?: string): Promise<{ status: number; posted: unknown }> {
  const header =
    signature ?? (await signer.webhooks.generateTestHeaderStringAsync({ payload, secret: SECRET }))
  const response = await fetch(`${site.url}/api/stripe/webhook`, {
    method: 'POST',
    body: payload,
    headers: { 'content-type': 'application/json', 'stripe-signature': header },
  })
  const body = JSON.parse(await response.text())
  return { status: response.status, posted: body.posted }
}

const balance = async () => (await gateway.accounts.findAccount(ada.accountId)).balanceNano

test('a checkout names the account and the exact amount, and comes back to the console', async () => {
  const { url } = await site.call(ada, 'POST /api/billing/checkout', { body: { amount: '25.00' } })
  expect(url).toBe('https://checkout.stripe.com/c/pay/cs_1')
  const sent = new URLSearchParams(new TextDecoder().decode(stripe.seen.at(-1)?.body))
  expect(sent.get('line_items[0][price_data][unit_amount]')).toBe('2500')
  expect(sent.get('line_items[0][price_data][currency]')).toBe('usd')
  expect(sent.get('metadata[tollgate_account]')).toBe(String(ada.accountId))
  expect(sent.get('success_url')).toBe(`${site.url}/billing?checkout=done`)
  expect(await site.fail(ada, 'POST /api/billing/checkout', { body: { amount: '25.001' } })).toMatchObject({
    status: 400,
    field: 'amount',
  })
})

test.each([
  ['JPY', '500', '500', '500.5'],
  ['KWD', '5.12', '5120', '5.125'],
  // Whole units, which Stripe counts in hundredths.
  ['UGX', '500', '50000', '500.5'],
  ['ISK', '500', '50000', '500.5'],
])(
  '%s is counted as Stripe counts it, at the checkout and when it is paid',
  async (currency, amount, sent, odd) => {
    await gateway.apply(`currency: ${currency}`)
    await site.call(ada, 'POST /api/billing/checkout', { body: { amount } })
    const asked = new URLSearchParams(new TextDecoder().decode(stripe.seen.at(-1)?.body))
    expect(asked.get('line_items[0][price_data][unit_amount]')).toBe(sent)
    expect(await site.fail(ada, 'POST /api/billing/checkout', { body: { amount: odd } })).toMatchObject({
      status: 400,
      field: 'amount',
    })
    const before = await balance()
    await deliver(eventOf({ amount_total: Number(sent), currency: currency.toLowerCase() }))
    expect((await balance()) - before).toBe(parseMoney(amount) ?? 0n)
    await gateway.apply('currency: USD')
  },
)

describe('a signed event', () => {
  test('is posted once, however often and by whichever event it is told', async () => {
    const before = await balance()
    const session = { id: 'cs_told_often' }
    const first = eventOf(session)
    const all = await Promise.all([deliver(first), deliver(first), deliver(first)])
    expect(all.filter(({ posted }) => posted === true)).toHaveLength(1)
    expect(all.every(({ status }) => status === 200)).toBe(true)
    expect(await deliver(eventOf(session, 'checkout.session.async_payment_succeeded'))).toEqual({
      status: 200,
      posted: false,
    })
    expect((await balance()) - before).toBe(25_000_000_000n)
    const { items } = await site.call(ada, 'GET /api/billing/entries', { query: { show: 'other' } })
    expect(items[0]).toMatchObject({ kind: 'topup', amount: '25.000000000', ref: 'pi_1' })
    expect((await gateway.accounts.findAccount(ada.accountId)).onTrial).toBe(false)
  })

  test.each([
    ['not paid yet', { payment_status: 'unpaid' }],
    ['in another currency', { currency: 'eur' }],
    ['of nobody', { metadata: {} }],
    ['of an account that does not exist', { metadata: { tollgate_account: '999999' } }],
  ])('that is %s is taken in and posts nothing', async (_what, session) => {
    const before = await balance()
    expect(await deliver(eventOf(session))).toEqual({ status: 200, posted: false })
    expect(await balance()).toBe(before)
  })
})

test.each([
  [
    'by somebody else',
    (payload: string) => signer.webhooks.generateTestHeaderStringAsync({ payload, secret: 'whsec_other' }),
  ],
  [
    'for another text',
    () => signer.webhooks.generateTestHeaderStringAsync({ payload: '{}', secret: SECRET }),
  ],
  [
    'too long ago',
    (payload: string) =>
      signer.webhooks.generateTestHeaderStringAsync({ payload, secret: SECRET, timestamp: 1_700_000_000 }),
  ],
  ['by nobody', async () => ''],
])('an event that is signed %s is refused and posts nothing', async (_what, sign) => {
  const before = await balance()
  const payload = eventOf({})
  expect((await deliver(payload, await sign(payload))).status).toBe(403)
  expect(await balance()).toBe(before)
})
