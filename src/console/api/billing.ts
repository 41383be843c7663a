import { accountStore } from '@/accounts/store.ts'
import { hashCode } from '@/ledger/redeem-code.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { formatMoney, parseMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/defaults.ts'
import { csv, csvResponse } from '../csv.ts'
import type { Console } from '../deployment.ts'
import { boundsOf, entriesOfMonth, entryPage, entryRow, readStatements } from '../entries.ts'
import { invalid, notFound } from '../failure.ts'
import { readBytes } from '../json-body.ts'
import { beginCheckout, receiveWebhook } from '../payments.ts'
import { statementPage } from '../statement-page.ts'
import { readUsage } from '../usage.ts'
import { billingRoutes } from './contract/billing.ts'
import { controller, type Listener } from './controller.ts'
import { namesOf } from './usage.ts'

const CSV_HEADINGS = ['time', 'number', 'kind', 'amount', 'balance', 'reference', 'reason', 'id']
const MAX_WEBHOOK_BYTES = 1024 * 1024

/** An account holder's money. */
export function billingApi(console: Console, listener: Listener) {
  const { database } = console

  return controller('console-billing', console, listener, billingRoutes, {
    'GET /api/billing/entries': ({ signedIn, query }) =>
      entryPage(database.orm, signedIn.user.accountId, query),
    'GET /api/billing/entries.csv': async ({ signedIn, query }) => {
      const entries = await entriesOfMonth(database.orm, signedIn.user.accountId, query.month)
      const rows = entries
        .map(entryRow)
        .map(row => [
          row.created_at,
          row.seq,
          row.kind,
          row.amount,
          row.balance_after,
          row.ref,
          row.reason,
          row.id,
        ])
      return csvResponse(`entries-${query.month}.csv`, csv(CSV_HEADINGS, rows))
    },
    'POST /api/billing/redeem': async ({ signedIn, body }) => {
      const { accountId } = signedIn.user
      console.throttle.take(['redeem', String(accountId)])
      // What cannot be a code is one that nobody made.
      const hash = hashCode(body.code) ?? new Uint8Array(32)
      const { result, amountNano, balanceNano } = await ledgerStore(database).redeem(
        Bun.randomUUIDv7(),
        hash,
        accountId,
      )
      return { result, amount: formatMoney(amountNano), balance: formatMoney(balanceNano) }
    },
    'POST /api/billing/checkout': async ({ signedIn, body }) => {
      const amountNano = parseMoney(body.amount)
      if (amountNano === undefined) throw invalid('amount', 'This is no amount, as in 20.00')
      const { accountId, email } = signedIn.user
      return { url: await beginCheckout(console, { accountId, email, amountNano }) }
    },
    'GET /api/billing/statements': async ({ signedIn }) => ({
      items: await readStatements(database, signedIn.user.accountId),
    }),
    'GET /api/billing/statements/:month': async ({ signedIn, params }) => {
      const { accountId } = signedIn.user
      const statements = await readStatements(database, accountId)
      const statement = statements.find(({ month }) => month === params.month)
      if (statement === undefined) throw notFound('statement')
      const range = { ...boundsOf(params.month), bucket: 'day', by: 'model', accountId } as const
      const [account, entries, usage, { currency }] = await Promise.all([
        accountStore(database, console.random).findAccount(accountId),
        entriesOfMonth(database.orm, accountId, params.month),
        readUsage(database, range, ids => namesOf(console, 'model', ids)),
        loadDefaults(database),
      ])
      return statementPage({
        email: account.email,
        accountId,
        currency,
        statement,
        entries,
        models: usage.series.map(({ name, requests, spend }) => ({
          name,
          requests: requests.reduce((sum, count) => sum + count, 0),
          spend: formatMoney(spend.reduce((sum, amount) => sum + (parseMoney(amount) ?? 0n), 0n)),
        })),
        printedAt: new Date(console.clock.now()).toISOString().slice(0, 16).replace('T', ' '),
      })
    },
    'POST /api/stripe/webhook': async ({ request }) => {
      const payload = new TextDecoder().decode(await readBytes(request, MAX_WEBHOOK_BYTES))
      const { posted } = await receiveWebhook(console, payload, request.headers.get('stripe-signature'))
      return { received: true as const, posted }
    },
  })
}
