import type Stripe from 'stripe'
import type { RawSql } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import type { Console } from './deployment.ts'
import { ConsoleError } from './failure.ts'
import { unitNano } from './payment-units.ts'

/**
 * Money that went back to its payer. It has gone already, so it is taken off the account whatever is left there, and the
 * balance may end below zero.
 */

/** By whom and when an event was told. */
export interface Told {
  /** Stripe's time of the event, in seconds since 1970. */
  at: number
  client: Stripe
}

/**
 * Takes off what was refunded of a payment. The event tells all that was refunded when it was made, so one that comes
 * late or twice finds nothing to do. The result: whether something was posted.
 * @throws ConsoleError `unavailable` for a payment of ours that is not posted yet
 */
export async function postRefund(console: Console, charge: Stripe.Charge, { at }: Told): Promise<boolean> {
  const { id, amount_refunded, currency, metadata } = charge
  return post(
    console,
    charge.payment_intent,
    { currency, amount: amount_refunded },
    async (payment, told) => {
      if (payment === undefined) {
        if (metadata['tollgate_account'] === undefined) return undefined
        throw tellAgain()
      }
      const { refunded, failed } = await refundsOf(payment, at)
      return {
        kind: 'refund',
        amountNano: refunded - failed - told,
        reason: 'refunded at Stripe',
        key: `${id} refunded ${amount_refunded} after ${refunded}`,
      }
    },
  )
}

/**
 * Gives back what was taken off for a refund that did not reach its payer. The result: whether something was posted.
 * @throws ConsoleError `unavailable` for one that is not taken off yet
 */
export async function postFailedRefund(
  console: Console,
  refund: Stripe.Refund,
  { at, client }: Told,
): Promise<boolean> {
  const { id, amount, currency, payment_intent } = refund
  return postOfKnown(console, client, payment_intent, { currency, amount }, async (payment, told) => {
    const { refunded, failed } = await refundsOf(payment, Number.POSITIVE_INFINITY)
    const key = `${id} failed`
    if (refunded - failed < told && !(await isPosted(payment, key))) throw tellAgain()
    return { kind: 'adjustment', amountNano: told, reason: `the refund ${id} failed${timeNote(at)}`, key }
  })
}

/**
 * Takes off what a bank took for its customer, and gives it back when the dispute is won. The result: whether something
 * was posted.
 * @throws ConsoleError `unavailable` for what is to be given back before it was taken
 */
export async function postDispute(
  console: Console,
  dispute: Stripe.Dispute,
  what: 'withdrawn' | 'reinstated',
  { client }: Told,
): Promise<boolean> {
  const { id, amount, currency, payment_intent } = dispute
  return postOfKnown(console, client, payment_intent, { currency, amount }, async (payment, told) => {
    const reason = `dispute ${id}${what === 'withdrawn' ? '' : ', won'}`
    const key = `${id} ${what}`
    if (what === 'withdrawn') return { kind: 'chargeback', amountNano: -told, reason, key }
    if (!(await isPosted(payment, `${id} withdrawn`))) throw tellAgain()
    return { kind: 'chargeback', amountNano: told, reason, key }
  })
}

/** The top-up that a payment was posted as, under the lock of its wallet. */
interface Payment {
  sql: RawSql
  intent: string
  accountId: number
}

interface Movement {
  kind: 'refund' | 'adjustment' | 'chargeback'
  /** 0: nothing is left to be done. */
  amountNano: bigint
  reason: string
  /** Under which it is posted once. */
  key: string
}

/**
 * Posts the movement that follows from an event that does not say whose payment it is about. Of one that is not posted
 * here Stripe is asked.
 * @throws ConsoleError `unavailable` if it will be posted
 */
async function postOfKnown(
  console: Console,
  client: Stripe,
  paymentIntent: string | Stripe.PaymentIntent | null,
  told: { currency: string; amount: number },
  decide: (payment: Payment, toldNano: bigint) => Promise<Movement>,
): Promise<boolean> {
  let isKnown = true
  const posted = await post(console, paymentIntent, told, async (payment, toldNano) => {
    isKnown = payment !== undefined
    return payment && decide(payment, toldNano)
  })
  const intent = intentOf(paymentIntent)
  if (!isKnown && intent !== undefined && (await isOurs(console, client, intent))) throw tellAgain()
  return posted
}

/** Whether a payment was begun here, as its note at Stripe says. One that cannot be asked about now may be. */
async function isOurs(console: Console, client: Stripe, intent: string): Promise<boolean> {
  try {
    const { metadata } = await client.paymentIntents.retrieve(intent)
    return metadata?.['tollgate_account'] !== undefined
  } catch (error) {
    const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
    const isAnswered = status >= 400 && status < 500 && status !== 429
    console.log.error({ err: error, payment: intent }, 'whose payment was given back could not be asked')
    return !isAnswered
  }
}

function intentOf(paymentIntent: string | Stripe.PaymentIntent | null): string | undefined {
  return typeof paymentIntent === 'string' ? paymentIntent : paymentIntent?.id
}

/** Posts the movement that follows from an event, if one does. */
async function post(
  console: Console,
  paymentIntent: string | Stripe.PaymentIntent | null,
  told: { currency: string; amount: number },
  decide: (payment: Payment | undefined, toldNano: bigint) => Promise<Movement | undefined>,
): Promise<boolean> {
  const intent = intentOf(paymentIntent)
  if (intent === undefined) return false
  const { currency } = await loadDefaults(console.database)
  const event = { payment: intent, ...told }
  try {
    return await console.database.sql.begin(async sql => {
      const payment = await lockPayment(sql, intent)
      const movement = await decide(payment, BigInt(told.amount) * unitNano(told.currency))
      if (payment === undefined || movement === undefined) return false
      if (told.currency !== currency.toLowerCase()) {
        console.log.error({ event }, 'what was given back in another currency is not posted: do it by hand')
        return false
      }
      const { kind, amountNano, reason, key } = movement
      if (amountNano === 0n || (kind === 'refund' && amountNano > 0n)) return false
      const { posted, balanceNano } = await postEntry(sql, {
        id: Bun.randomUUIDv7(),
        accountId: payment.accountId,
        kind,
        amountNano,
        ref: intent,
        reason,
        idempotency: { scope: 'stripe', key },
      })
      const { accountId: account } = payment
      if (posted)
        console.log.info(
          { event, account, kind, balance: formatMoney(balanceNano) },
          'money that was given back was posted',
        )
      return posted
    })
  } catch (error) {
    // To be told again would change nothing.
    if (!(error instanceof Refusal)) throw error
    console.log.error({ event, err: error }, 'money that was given back could not be posted: do it by hand')
    return false
  }
}

async function lockPayment(sql: RawSql, intent: string): Promise<Payment | undefined> {
  const [topUp] = await sql<{ account_id: bigint }[]>`
    select account_id from entry where ref = ${intent} and kind = 'topup'`
  if (topUp === undefined) return undefined
  const accountId = Number(topUp.account_id)
  await sql`select from ledger_lock_wallet(${accountId})`
  return { sql, intent, accountId }
}

/**
 * What was taken off for refunds of a payment, and what was given back because one had failed by a time: what was told
 * before it failed counted it still.
 */
async function refundsOf(
  { sql, intent, accountId }: Payment,
  at: number,
): Promise<{ refunded: bigint; failed: bigint }> {
  const rows = await sql<{ kind: string; nano: bigint; reason: string | null; posted_at: number }[]>`
    select kind, amount as nano, reason, extract(epoch from created_at)::float8 as posted_at from entry
    where ref = ${intent} and kind in ('refund', 'adjustment') and account_id = ${accountId}`
  let [refunded, failed] = [0n, 0n]
  for (const { kind, nano, reason, posted_at } of rows) {
    if (kind === 'refund') refunded -= nano
    else if ((timeNoted(reason) ?? posted_at) <= at) failed += nano
  }
  return { refunded, failed }
}

/** Where an entry keeps Stripe's time of what it is about, for its reader and for `timeNoted`. */
function timeNote(at: number): string {
  return Number.isFinite(at) ? ` at ${new Date(at * 1000).toISOString()}` : ''
}

function timeNoted(reason: string | null): number | undefined {
  const noted = Date.parse(/ at (\S+Z)$/.exec(reason ?? '')?.[1] ?? '')
  return Number.isNaN(noted) ? undefined : noted / 1000
}

async function isPosted({ sql }: Payment, key: string): Promise<boolean> {
  const rows = await sql`select from idempotency where scope = 'stripe' and key = ${key}`
  return rows.length > 0
}

/** Stripe tells again what it got no good answer to, for three days. */
function tellAgain(): ConsoleError {
  return new ConsoleError('unavailable', 'What this is about was not told yet')
}
