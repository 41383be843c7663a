import { hashCode } from '@/ledger/redeem-code.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { readAmount } from '../money/amount.ts'
import { readCreditNotice, setCreditNotice } from '../money/credit-notices.ts'
import { entryPage } from '../money/entries.ts'
import { beginCheckout, receiveWebhook } from '../money/payments.ts'
import { downloadEntries, printStatement, readStatements } from '../money/statements.ts'
import { billingRoutes } from './contract/billing.ts'
import { controller, type Listener } from './controller.ts'
import { readBytes } from './json-body.ts'

const MAX_WEBHOOK_BYTES = 1024 * 1024

/** An account holder's money. */
export function billingApi(console: Console, listener: Listener) {
  const { database, lookups } = console

  return controller('console-billing', console, listener, billingRoutes, {
    'GET /api/billing/entries': ({ signedIn: { user }, query }) =>
      lookups.pass(user.accountId, () => entryPage(database, user.accountId, query)),
    'GET /api/billing/entries.csv': ({ signedIn: { user }, query }) =>
      lookups.pass(user.accountId, () => downloadEntries(console, user.accountId, query.month)),
    'POST /api/billing/redeem': async ({ signedIn, body }) => {
      const { accountId } = signedIn.user
      console.throttle.take(['redeem', String(accountId)])
      const { result, amountNano, balanceNano } = await ledgerStore(database).redeem(
        Bun.randomUUIDv7(),
        hashCode(body.code),
        accountId,
      )
      return { result, amount: formatMoney(amountNano), balance: formatMoney(balanceNano) }
    },
    'POST /api/billing/checkout': async ({ signedIn, body }) => {
      const amountNano = readAmount(body.amount)
      const { accountId, email } = signedIn.user
      return { url: await beginCheckout(console, { accountId, email, amountNano }) }
    },
    'GET /api/billing/notice': async ({ signedIn }) => {
      const belowNano = await readCreditNotice(database.orm, signedIn.user.accountId)
      return { below: belowNano === undefined ? null : formatMoney(belowNano) }
    },
    'PUT /api/billing/notice': async ({ signedIn, body }) => {
      const belowNano = body.below === null ? undefined : readAmount(body.below, 'below')
      if (belowNano !== undefined && (await entryOf(console)).smtp === undefined) {
        throw new ConsoleError('refused', 'This console sends no mail: ask an administrator to set it up')
      }
      await setCreditNotice(database.orm, signedIn.user.accountId, belowNano)
      return { below: belowNano === undefined ? null : formatMoney(belowNano) }
    },
    'GET /api/billing/statements': async ({ signedIn: { user } }) => ({
      items: await lookups.pass(user.accountId, () => readStatements(database, user.accountId)),
    }),
    'GET /api/billing/statements/:month': ({ signedIn: { user }, params }) =>
      lookups.pass(user.accountId, () => printStatement(console, user.accountId, params.month)),
    'POST /api/stripe/webhook': async ({ request }) => {
      const payload = new TextDecoder().decode(await readBytes(request, MAX_WEBHOOK_BYTES))
      const { posted } = await receiveWebhook(console, payload, request.headers.get('stripe-signature'))
      return { received: true as const, posted }
    },
  })
}
