import type Stripe from 'stripe'
import type { RawSql } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { unitNano } from './payment-units.ts'

/**
 * Money that went back to its payer. It has gone already, so it is taken off the account whatever is left there, and the
 * balance may end below zero.
 */

/** By whom and when an event was told. */
interface Told {
  /** Stripe's time of the event, in seconds since 1970. */
  at: number
  client: Stripe
}

/**
 * Takes off what was refunded of a payment. The event tells all that was refunded when it was made. The result: whether
 * something was posted.
 * @throws ConsoleError `unavailable` for a payment of ours that is not posted yet
 */
export async function postRefund(console: Console, charge: Stripe.Charge, { at }: Told): Promise<boolean> {
  const { id, amount_refunded, currency, metadata } = charge
  return post(
    console,
    charge.payment_intent,
    { currency, amount: amount_refunded },
    async (payment, amountNano) => {
      if (payment === undefined) {
        if (metadata['tollgate_account'] === undefined) return undefined
        throw tellAgain()
      }
      const key = `${id} refunded ${amount_refunded} at ${at}`
      const [before, after] = await learn(payment, { key, isFailure: false, amountNano, at })
      return { kind: 'refund', amountNano: before - after, reason: 'refunded at Stripe', key }
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
  const { id, amount, created, currency, payment_intent } = refund
  // What was told in the second in which it was made and failed counted it still.
  const failedAt = created === at ? at + 1 : at
  return postOfKnown(console, client, payment_intent, { currency, amount }, async (payment, amountNano) => {
    const key = `${id} failed`
    const [before, after] = await learn(payment, { key, isFailure: true, amountNano, at: failedAt })
    if (after < 0n) throw tellAgain()
    return { kind: 'adjustment', amountNano: before - after, reason: `the refund ${id} failed`, key }
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

/** The id of a payment, which Stripe tells alone or with all of it. */
export function intentOf(paymentIntent: string | Stripe.PaymentIntent | null): string | undefined {
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
      if (payment !== undefined && told.currency !== currency.toLowerCase()) {
        console.log.error({ event }, 'what was given back in another currency is not posted: do it by hand')
        return false
      }
      const movement = await decide(payment, BigInt(told.amount) * unitNano(told.currency))
      if (payment === undefined || movement === undefined || movement.amountNano === 0n) return false
      const { kind, amountNano, reason, key } = movement
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

/** What Stripe told of a payment's refunds. */
interface RefundFact {
  isFailure: boolean
  /** Of a failed refund, its own; else all that was refunded of the payment at that time. */
  amountNano: bigint
  /** In seconds since 1970. */
  at: number
}

/** Keeps what was told; the result is what refunds take off without it, and with it. */
async function learn(
  { sql, intent }: Payment,
  told: RefundFact & { key: string },
): Promise<[bigint, bigint]> {
  const rows = await sql<{ is_failure: boolean; amount: bigint; at: number }[]>`
    select is_failure, amount, extract(epoch from told_at)::float8 as at from refund_fact where payment = ${intent}`
  const known = rows.map(({ is_failure, amount, at }) => ({ isFailure: is_failure, amountNano: amount, at }))
  const added = await sql`
    insert into refund_fact (payment, fact, is_failure, amount, told_at)
    values (${intent}, ${told.key}, ${told.isFailure}, ${told.amountNano.toString()}::text::bigint, to_timestamp(${told.at}))
    on conflict do nothing`
  return [takenOff(known), takenOff(added.count === 0 ? known : [...known, told])]
}

/**
 * What refunds take off a payment: all that was ever refunded, without what failed of it. What was refunded at a time no
 * longer has in it what had failed by then. Less than 0: a refund failed whose beginning is not told yet.
 */
function takenOff(facts: readonly RefundFact[]): bigint {
  const failures = facts.filter(({ isFailure }) => isFailure)
  const failedBy = (time: number) =>
    failures.reduce((sum, { at, amountNano }) => (at <= time ? sum + amountNano : sum), 0n)
  let refunded = 0n
  for (const { isFailure, amountNano, at } of facts) {
    const everRefunded = amountNano + failedBy(at)
    if (!isFailure && everRefunded > refunded) refunded = everRefunded
  }
  return refunded - failedBy(Number.POSITIVE_INFINITY)
}

async function isPosted({ sql }: Payment, key: string): Promise<boolean> {
  const rows = await sql`select from idempotency where scope = 'stripe' and key = ${key}`
  return rows.length > 0
}

/** Stripe tells again what it got no good answer to, for three days. */
function tellAgain(): ConsoleError {
  return new ConsoleError('unavailable', 'What this is about was not told yet')
}
