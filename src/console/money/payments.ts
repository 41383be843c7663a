import type Stripe from 'stripe'
import { Refusal } from '@/errors/refusal.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError, invalid } from '../failure.ts'
import { intentOf, postDispute, postFailedRefund, postRefund } from './payment-returns.ts'
import { payableNano, unitNano } from './payment-units.ts'

/** Loaded by the first who pays: most deployments take no cards. */
export async function stripeClient(secretKey: string): Promise<Stripe> {
  const { default: Stripe } = await import('stripe')
  return new Stripe(secretKey, { timeout: 20_000, maxNetworkRetries: 1, telemetry: false })
}

/**
 * Begins a payment by card; the answer is where the browser goes.
 * @throws ConsoleError if nothing can be bought here, or not for that amount
 */
export async function beginCheckout(
  console: Console,
  { accountId, email, amountNano }: { accountId: number; email: string; amountNano: bigint },
): Promise<string> {
  const { stripe } = await entryOf(console)
  if (stripe === undefined) throw new ConsoleError('forbidden', 'Credit cannot be bought by card here')
  const { currency } = await loadDefaults(console.database)
  const unit = unitNano(currency)
  if (amountNano % payableNano(currency) !== 0n) {
    throw invalid('amount', `This amount cannot be paid in ${currency}`)
  }
  const metadata = { tollgate_account: String(accountId) }
  const client = await console.stripe(stripe.secretKey)
  const session = await client.checkout.sessions
    .create({
      mode: 'payment',
      client_reference_id: String(accountId),
      customer_email: email,
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: currency.toLowerCase(),
            unit_amount: Number(amountNano / unit),
            product_data: { name: 'Tollgate credit' },
          },
        },
      ],
      metadata,
      payment_intent_data: { metadata },
      success_url: `${console.publicUrl()}/billing?checkout=done`,
      cancel_url: `${console.publicUrl()}/billing?checkout=cancelled`,
    })
    .catch((error: unknown) => {
      console.log.warn({ err: error }, 'a payment could not be begun')
      throw new ConsoleError('unavailable', 'The payment could not be begun, try again later', {
        cause: error,
      })
    })
  if (session.url === null)
    throw new ConsoleError('unavailable', 'The payment could not be begun, try again later')
  return session.url
}

interface WebhookResult {
  /** False: it is none of ours, or was posted before. */
  posted: boolean
}

/**
 * Takes in what Stripe tells. Each movement is posted once, however often and by whichever event it is told.
 * @throws ConsoleError for what Stripe did not sign, and `unavailable` for what it is to tell again later
 */
export async function receiveWebhook(
  console: Console,
  payload: string,
  signature: string | null,
): Promise<WebhookResult> {
  const { stripe } = await entryOf(console)
  if (stripe === undefined) throw new ConsoleError('forbidden', 'No payments are taken here')
  const client = await console.stripe(stripe.secretKey)
  const event = await client.webhooks
    .constructEventAsync(
      payload,
      signature ?? '',
      stripe.webhookSecret,
      undefined,
      undefined,
      Math.floor(console.clock.now()),
    )
    .catch((error: unknown) => {
      throw new ConsoleError('forbidden', 'The signature is wrong', { cause: error })
    })
  const told = { at: event.created, client }
  switch (event.type) {
    case 'checkout.session.completed':
    // Where the money comes days later.
    case 'checkout.session.async_payment_succeeded':
      return postCheckout(console, event.data.object)
    case 'charge.refunded':
      return { posted: await postRefund(console, event.data.object, told) }
    case 'refund.failed':
      return { posted: await postFailedRefund(console, event.data.object, told) }
    case 'refund.updated':
    // What 'refund.updated' was called before, and still is beside it for some means of payment.
    case 'charge.refund.updated': {
      const hasFailed = event.data.object.status === 'failed' || event.data.object.status === 'canceled'
      return { posted: hasFailed && (await postFailedRefund(console, event.data.object, told)) }
    }
    case 'charge.dispute.funds_withdrawn':
      return { posted: await postDispute(console, event.data.object, 'withdrawn', told) }
    case 'charge.dispute.funds_reinstated':
      return { posted: await postDispute(console, event.data.object, 'reinstated', told) }
    default:
      return { posted: false }
  }
}

async function postCheckout(console: Console, session: Stripe.Checkout.Session): Promise<WebhookResult> {
  const accountId = Number(session.metadata?.['tollgate_account'] ?? Number.NaN)
  if (session.payment_status !== 'paid' || !Number.isSafeInteger(accountId)) return { posted: false }
  const { currency } = await loadDefaults(console.database)
  const paid = {
    session: session.id,
    account: accountId,
    amount: session.amount_total,
    currency: session.currency,
  }
  if (session.currency !== currency.toLowerCase() || session.amount_total === null) {
    console.log.error({ paid }, 'a payment in another currency is not posted: do it by hand')
    return { posted: false }
  }
  try {
    const { posted, balanceNano } = await postEntry(console.database.sql, {
      id: Bun.randomUUIDv7(),
      accountId,
      kind: 'topup',
      amountNano: BigInt(session.amount_total) * unitNano(currency),
      ref: intentOf(session.payment_intent) ?? session.id,
      idempotency: { scope: 'stripe', key: session.id },
    })
    if (posted) console.log.info({ paid, balance: formatMoney(balanceNano) }, 'a payment was posted')
    return { posted }
  } catch (error) {
    // To be told again would change nothing.
    if (!(error instanceof Refusal)) throw error
    console.log.error({ paid, err: error }, 'a payment could not be posted: do it by hand')
    return { posted: false }
  }
}
