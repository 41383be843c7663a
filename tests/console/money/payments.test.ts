import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Stripe from 'stripe'
import { startTestConsole, type TestConsole, type Visitor } from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { type Random, randomOf } from '#tests/support/random.ts'
import { type ScriptedUpstream, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import { audit } from '@/ledger/audit.ts'
import { postEntry } from '@/ledger/store.ts'
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
  stripe = scriptedUpstream(({ path }) =>
    path.startsWith('/v1/payment_intents/')
      ? ownerOf(path.slice('/v1/payment_intents/'.length))
      : Response.json({
          ...{ id: 'cs_1', object: 'checkout.session' },
          url: 'https://checkout.stripe.com/c/pay/cs_1',
        }),
  )
  const { hostname, port } = new URL(stripe.url)
  site = await startTestConsole(gateway, {
    stripe: async key =>
      new Stripe(key, {
        host: hostname,
        port: Number(port),
        protocol: 'http',
        telemetry: false,
        maxNetworkRetries: 0,
      }),
  })
  ada = await site.signUp('payer@example.com')
})
afterAll(async () => {
  await site.stop()
  await stripe.stop()
  await gateway.close()
})

function eventOf(session: object, type = 'checkout.session.completed'): string {
  return signable(type, {
    id: `cs_${crypto.randomUUID()}`,
    object: 'checkout.session',
    payment_status: 'paid',
    amount_total: 2500,
    currency: 'usd',
    payment_intent: 'pi_1',
    metadata: { tollgate_account: String(ada.accountId) },
    ...session,
  })
}

/** Seconds since 1970 at Stripe. */
let stripeTime = 1_795_000_000

function signable(type: string, object: object, created = stripeTime++): string {
  return JSON.stringify({
    id: `evt_${crypto.randomUUID()}`,
    object: 'event',
    type,
    created,
    data: { object },
  })
}

/** What Stripe says of a payment: by its id it was begun here, elsewhere, or nobody can say now. */
function ownerOf(intent: string): Response {
  if (intent.startsWith('pi_away')) return Response.json({ error: { message: 'away' } }, { status: 500 })
  if (intent.startsWith('pi_no')) return Response.json({ error: { message: 'no such' } }, { status: 404 })
  const metadata = intent.startsWith('pi_other') ? {} : { tollgate_account: String(ada.accountId) }
  return Response.json({ id: intent, object: 'payment_intent', metadata })
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
  const sent = new URLSearchParams(stripe.lastBody())
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
    const asked = new URLSearchParams(stripe.lastBody())
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

/** Delivers events as Stripe does: what got no good answer again, until all are taken. */
async function deliverUntilTaken(
  events: readonly string[],
  deliverAll = async (all: readonly string[]) => {
    const answers = []
    for (const event of all) answers.push(await deliver(event))
    return answers
  },
): Promise<void> {
  let left = events
  for (let round = 0; left.length > 0; round++) {
    if (round > events.length) throw new Error(`never taken: ${left.join()}`)
    const answers = await deliverAll(left)
    left = left.filter((_event, index) => answers[index]?.status !== 200)
  }
}

/** All orders of these. */
function orders<Name>(names: readonly Name[]): Name[][] {
  if (names.length === 0) return [[]]
  return names.flatMap(name => orders(names.filter(other => other !== name)).map(rest => [name, ...rest]))
}

/** Refunds of a payment of 2500, of which some fail, as Stripe tells them; and what stays refunded in the end. */
function refundHistory(
  draw: Random,
  told: (type: string, object: object, at: number) => string,
): { events: string[]; refunded: number } {
  const events: string[] = []
  const open: { id: string; amount: number; created: number }[] = []
  let refunded = 0
  let at = stripeTime
  for (let step = 0; step < 6; step++) {
    at += 1 + draw(3)
    const which = draw(open.length + 2)
    const failing = open[which]
    if (failing !== undefined) {
      open.splice(which, 1)
      refunded -= failing.amount
      events.push(told('refund.failed', { ...failing, status: 'failed' }, at))
      events.push(told('refund.updated', { ...failing, status: 'failed' }, at))
    } else {
      const amount = 1 + draw(Math.ceil((2500 - refunded) / 2))
      refunded += amount
      open.push({ id: `re_${crypto.randomUUID()}`, amount, created: at })
      events.push(told('charge.refunded', { amount_refunded: refunded }, at))
    }
  }
  stripeTime = at + 1
  return { events, refunded }
}

describe('money that went back to its payer', () => {
  /** A payment of 25.00, and what Stripe tells of it afterwards. */
  async function pay(whose = '') {
    const intent = `pi_${whose}${crypto.randomUUID()}`
    const paid = eventOf({ payment_intent: intent })
    const before = await balance()
    const metadata = { tollgate_account: String(ada.accountId) }
    const told = { payment_intent: intent, currency: 'usd' }
    return {
      deliverPayment: () => deliver(paid),
      /** An event about it. */
      told: (type: string, object: object, at?: number) =>
        signable(type, { id: `ch_${intent}`, ...told, metadata, ...object }, at),
      refundedTo: (amount_refunded: number, more: object = {}, at?: number) =>
        deliver(
          signable(
            'charge.refunded',
            { id: `ch_${intent}`, ...told, amount_refunded, metadata, ...more },
            at,
          ),
        ),
      refundFailed: (amount: number, which = 1) =>
        deliver(signable('refund.failed', { id: `re_${intent}_${which}`, ...told, amount })),
      dispute: (what: string, amount: number) =>
        deliver(signable(`charge.dispute.funds_${what}`, { id: `dp_${intent}`, ...told, amount })),
      gained: async () => (await balance()) - before,
    }
  }

  test('is taken off by all that was refunded so far: in parts, twice, late, or at once', async () => {
    const { deliverPayment, refundedTo, gained } = await pay()
    await deliverPayment()
    expect(await refundedTo(500)).toEqual({ status: 200, posted: true })
    expect(await refundedTo(500)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(20_000_000_000n)
    const all = await Promise.all([refundedTo(2500), refundedTo(2500), refundedTo(1500)])
    expect(all.every(({ status }) => status === 200)).toBe(true)
    expect(await refundedTo(1500)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(0n)
    const { items } = await site.call(ada, 'GET /api/billing/entries', { query: { show: 'other' } })
    expect(items[0]).toMatchObject({ kind: 'refund', reason: 'refunded at Stripe' })
  })

  test('is taken off although it was spent', async () => {
    const { deliverPayment, refundedTo } = await pay()
    await deliverPayment()
    const { accountId } = ada
    const spent = { id: Bun.randomUUIDv7(), accountId, kind: 'debit', reason: 'spent' } as const
    await postEntry(gateway.database.sql, { ...spent, amountNano: -(await balance()) })
    expect(await refundedTo(2500)).toEqual({ status: 200, posted: true })
    expect(await balance()).toBe(-25_000_000_000n)
    expect((await audit(gateway.database.url, { accountId })).ok).toBe(true)
  })

  test('that is told before the payment is to be told again, if the payment is one of ours', async () => {
    const { deliverPayment, refundedTo, gained } = await pay()
    expect((await refundedTo(2500)).status).toBe(503)
    expect(await refundedTo(2500, { metadata: {} })).toEqual({ status: 200, posted: false })
    await deliverPayment()
    expect(await refundedTo(2500)).toEqual({ status: 200, posted: true })
    expect(await gained()).toBe(0n)
  })

  test('comes back when its refund failed, once, and may be refunded anew for the same total', async () => {
    const { deliverPayment, refundedTo, refundFailed, gained } = await pay()
    await deliverPayment()
    expect((await refundFailed(500)).status).toBe(503)
    const first = stripeTime
    await refundedTo(500)
    const all = await Promise.all([refundFailed(500), refundFailed(500)])
    expect(all.map(({ status }) => status)).toEqual([200, 200])
    expect(all.filter(({ posted }) => posted === true)).toHaveLength(1)
    expect(await gained()).toBe(25_000_000_000n)
    // Late, and told before already.
    expect(await refundedTo(500, {}, first)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(25_000_000_000n)
    expect(await refundedTo(500)).toEqual({ status: 200, posted: true })
    expect(await refundedTo(500)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(20_000_000_000n)
    await refundFailed(500, 2)
    expect(await refundedTo(700)).toEqual({ status: 200, posted: true })
    expect(await gained()).toBe(18_000_000_000n)
  })

  test('in two parts of which the first failed is what the second was, if the first is told last', async () => {
    const { deliverPayment, refundedTo, refundFailed, gained } = await pay()
    await deliverPayment()
    const first = stripeTime++
    await refundedTo(700)
    await refundFailed(500)
    expect(await refundedTo(500, {}, first)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(23_000_000_000n)
  })

  test('is what stays refunded, in whichever order Stripe tells it', async () => {
    for (const order of orders(['first', 'first failed', 'second', 'third'] as const)) {
      const { deliverPayment, told, gained } = await pay()
      await deliverPayment()
      const at = stripeTime
      stripeTime += 10
      const failed = { id: `re_${crypto.randomUUID()}`, amount: 500, status: 'failed', created: at }
      const events = {
        first: told('charge.refunded', { amount_refunded: 500 }, at),
        'first failed': told('refund.failed', failed, at + 2),
        // By then nothing of the first was refunded any more.
        second: told('charge.refunded', { amount_refunded: 700 }, at + 4),
        third: told('charge.refunded', { amount_refunded: 1000 }, at + 5),
      }
      await deliverUntilTaken(order.map(name => events[name]))
      expect({ order, gained: await gained() }).toEqual({ order, gained: 15_000_000_000n })
    }
  })

  test('is what stays refunded of any history, told in any order, at once and twice', async () => {
    const draw = randomOf(20_261_122)
    for (let run = 0; run < 40; run++) {
      const { deliverPayment, told, gained } = await pay()
      const { events, refunded } = refundHistory(draw, told)
      await deliverPayment()
      const shuffled = [...events, ...events]
      shuffled.sort(() => draw(2) - 0.5)
      if (run % 2 === 0) await deliverUntilTaken(shuffled)
      else await deliverUntilTaken(shuffled, all => Promise.all(all.map(event => deliver(event))))
      expect({ run, gained: await gained() }).toEqual({ run, gained: BigInt(2500 - refunded) * 10_000_000n })
    }
    expect((await audit(gateway.database.url, { accountId: ada.accountId })).ok).toBe(true)
  }, 120_000)

  test.each(['failed', 'canceled'])('comes back by an update that says it %s', async status => {
    const { deliverPayment, refundedTo, told, gained } = await pay()
    await deliverPayment()
    await refundedTo(500)
    const id = `re_${crypto.randomUUID()}`
    const update = (status: string) => deliver(told('refund.updated', { id, amount: 500, status }))
    expect(await update('succeeded')).toEqual({ status: 200, posted: false })
    expect(await update(status)).toEqual({ status: 200, posted: true })
    const older = told('charge.refund.updated', { id, amount: 500, status })
    expect(await deliver(older)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(25_000_000_000n)
  })

  test('that failed in the very second in which it was refunded comes back once', async () => {
    const { deliverPayment, refundedTo, told, gained } = await pay()
    await deliverPayment()
    const at = stripeTime++
    await refundedTo(500, {}, at)
    const id = `re_${crypto.randomUUID()}`
    await deliver(told('refund.failed', { id, amount: 500, status: 'failed', created: at }, at))
    await refundedTo(500, {}, at)
    expect(await gained()).toBe(25_000_000_000n)
  })

  test('is taken off by a dispute, and given back when it is won: once each, and never the second alone', async () => {
    const { deliverPayment, dispute, gained } = await pay()
    await deliverPayment()
    expect((await dispute('reinstated', 2000)).status).toBe(503)
    await Promise.all([dispute('withdrawn', 2000), dispute('withdrawn', 2000)])
    expect(await gained()).toBe(5_000_000_000n)
    const { items } = await site.call(ada, 'GET /api/billing/entries', { query: { show: 'other' } })
    expect(items[0]).toMatchObject({ kind: 'chargeback', amount: '-20.000000000' })
    await Promise.all([dispute('reinstated', 2000), dispute('reinstated', 2000)])
    expect(await dispute('withdrawn', 2000)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(25_000_000_000n)
  })

  test('by a dispute or a failed refund that is told before the payment is to be told again, as long as the payment may be ours', async () => {
    const { deliverPayment, dispute, refundedTo, refundFailed, gained } = await pay()
    expect((await dispute('withdrawn', 2000)).status).toBe(503)
    expect((await refundFailed(500)).status).toBe(503)
    await deliverPayment()
    expect(await dispute('withdrawn', 2000)).toEqual({ status: 200, posted: true })
    await refundedTo(500)
    expect(await refundFailed(500)).toEqual({ status: 200, posted: true })
    expect(await gained()).toBe(5_000_000_000n)
    expect((await (await pay('away_')).dispute('withdrawn', 500)).status).toBe(503)
  })

  test.each(['other_', 'no_'])('of a payment that is none of ours (%s) changes nothing', async whose => {
    const { dispute, refundFailed, gained } = await pay(whose)
    expect(await dispute('withdrawn', 500)).toEqual({ status: 200, posted: false })
    expect(await refundFailed(500)).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(0n)
  })

  test('in another currency changes nothing', async () => {
    const { deliverPayment, refundedTo, gained } = await pay()
    await deliverPayment()
    expect(await refundedTo(500, { currency: 'eur' })).toEqual({ status: 200, posted: false })
    expect(await gained()).toBe(25_000_000_000n)
  })
})
