import type Stripe from 'stripe'
import { Refusal } from '@/errors/refusal.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/defaults.ts'
import { type Console, entryOf } from './deployment.ts'
import { ConsoleError, invalid } from './failure.ts'

/** Loaded by the first who pays: most deployments take no cards. */
export async function stripeClient(secretKey: string): Promise<Stripe> {
  const { default: Stripe } = await import('stripe')
  return new Stripe(secretKey, { timeout: 20_000, maxNetworkRetries: 1, telemetry: false })
}

/** Digits behind the point of the smallest unit that Stripe counts in (docs.stripe.com/currencies); 2 for all others. */
const DIGITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map(currency => [currency, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map(currency => [currency, 3])),
}

/** Digits behind the point that a payment may have, where they are less than those that Stripe counts in. */
const PAYABLE_DIGITS: Readonly<Record<string, number>> = {
  // Counted in hundredths that are always 00.
  ...{ isk: 0, ugx: 0 },
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map(currency => [currency, 2])),
}

/** Nano units in the smallest unit of a currency. */
function unitNano(currency: string): bigint {
  return 10n ** BigInt(9 - digitsOf(currency))
}

/** Nano units in the smallest amount that can be paid. */
function payableNano(currency: string): bigint {
  return 10n ** BigInt(9 - (PAYABLE_DIGITS[currency.toLowerCase()] ?? digitsOf(currency)))
}

function digitsOf(currency: string): number {
  return DIGITS[currency.toLowerCase()] ?? 2
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
  if (amountNano <= 0n || amountNano % payableNano(currency) !== 0n) {
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

export interface WebhookResult {
  /** False: it is none of ours, or was posted before. */
  posted: boolean
}

/** What tells that a checkout was paid; the second where the money comes days later. */
const PAID_EVENTS = ['checkout.session.completed', 'checkout.session.async_payment_succeeded']

/**
 * Takes in what Stripe tells. A checkout is posted once, however often and by whichever event it is told.
 * @throws ConsoleError for what Stripe did not sign
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
  if (!PAID_EVENTS.includes(event.type)) return { posted: false }
  return postCheckout(console, checkoutOf(event))
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
  const intent =
    typeof session.payment_intent === 'string' ? session.payment_intent : session.payment_intent?.id
  try {
    const { posted, balanceNano } = await postEntry(console.database.sql, {
      id: Bun.randomUUIDv7(),
      accountId,
      kind: 'topup',
      amountNano: BigInt(session.amount_total) * unitNano(currency),
      ref: intent ?? session.id,
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

/** Safe because of the event's type, which was asked before. */
function checkoutOf(event: Stripe.Event): Stripe.Checkout.Session {
  return event.data.object as Stripe.Checkout.Session
}
