import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { standingRow } from '../accounts/account-rows.ts'
import { readLimits } from '../accounts/limit-readings.ts'
import { findUnpaid } from '../accounts/unpaid-requests.ts'
import { csv, csvResponse } from '../csv.ts'
import type { Console } from '../deployment.ts'
import { keyLabels } from '../key-labels.ts'
import { dayBeside, inZone, zoneOf } from '../moments.ts'
import { readRange, readUsage, USAGE_CSV_HEADINGS, usageCsvRows } from '../requests/usage.ts'
import { sumUsage, type UsageDimension } from '../requests/usage-totals.ts'
import type { SignedIn } from '../sign-in/sessions.ts'
import { type Usage, usageRoutes } from './contract/usage.ts'
import { controller, type Listener } from './controller.ts'

/** An account holder's balance, spending and limits. */
export function usageApi(console: Console, listener: Listener) {
  const { database, clock, catalog } = console
  const accounts = accountStore(database)

  return controller('console-usage', console, listener, usageRoutes, {
    'GET /api/overview': async ({ signedIn, query }) => {
      const now = clock.now()
      const { accountId } = signedIn.user
      const [account, { today, month, refusedAt }, expiring] = await Promise.all([
        accounts.findAccount(accountId),
        lookBack(console, accountId, inZone(now, zoneOf(query.zone))),
        ledgerStore(database).expiringCredit(accountId),
      ])
      return {
        account_id: account.id,
        email: account.email,
        ...standingRow(account),
        expiring: expiring.flatMap(({ remainderNano, grant: { expiresAt } }) =>
          expiresAt === undefined
            ? []
            : [{ amount: formatMoney(remainderNano), expires_at: expiresAt.toISOString() }],
        ),
        refused_at: refusedAt?.toISOString() ?? null,
        spent_today: formatMoney(today),
        spent_30_days: formatMoney(month),
        limits: await readLimits(database, catalog.defaults(), account, new Date(now)),
      }
    },
    'GET /api/usage': call => usageOf(console, call, call.signedIn.user.accountId),
    'GET /api/usage.csv': call => usageFile(console, call, call.signedIn.user.accountId),
  })
}

interface UsageCall {
  signedIn: SignedIn
  query: Parameters<typeof readRange>[0] & { by?: UsageDimension }
}

/** What an account used, or all of them. */
export function usageOf(
  console: Console,
  { signedIn, query }: UsageCall,
  accountId: number | undefined,
): Promise<Usage> {
  const by = query.by ?? 'model'
  const range = readRange(query, console.clock.now())
  return console.lookups.pass(signedIn.user.accountId, () =>
    readUsage(console.database, { ...range, by, accountId }, ids => namesOf(console, by, ids)),
  )
}

/** What an account used, or all of them, as a file. */
export async function usageFile(
  console: Console,
  call: UsageCall,
  accountId: number | undefined,
): Promise<Response> {
  const rows = usageCsvRows(await usageOf(console, call, accountId), console.catalog.defaults().currency)
  return csvResponse('usage.csv', csv(USAGE_CSV_HEADINGS, rows))
}

/** What people call the ids of a dimension. */
async function namesOf(
  { database, catalog }: Console,
  by: UsageDimension,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const accounts = accountStore(database)
  switch (by) {
    case 'model':
      return new Map(ids.map(id => [id, id === '' ? 'Unknown' : (catalog.find(id)?.displayName ?? id)]))
    case 'channel':
      return new Map(ids.map(id => [id, id === '' ? 'No channel' : id]))
    case 'service_tier':
      return new Map(ids.map(id => [id, id === '' ? 'Standard' : id]))
    case 'key': {
      const labels = keyLabels(await keyStore(database).findKeyNames(ids.map(Number)))
      return new Map([...labels].map(([id, label]) => [String(id), label]))
    }
    case 'account': {
      const found = await Promise.all(ids.map(id => accounts.findAccount(Number(id))))
      return new Map(found.map(({ id, email }) => [String(id), email]))
    }
  }
}

/** What an account's requests cost today and in 30 days, and when the last one was refused that credit did not pay for. */
async function lookBack({ database, lookups }: Console, accountId: number, now: Temporal.ZonedDateTime) {
  const edges = [-29, 0, 1].map(days => dayBeside(now, days).epochMilliseconds)
  const dayAgo = new Date(now.epochMilliseconds - 86_400_000)
  // One after the other, as a lookup has one connection.
  const { sums, refusedAt } = await lookups.pass(accountId, async () => ({
    sums: await sumUsage(database, { accountId, edges, by: 'account' }),
    refusedAt: await findUnpaid(database, accountId, dayAgo),
  }))
  const spent = (of: typeof sums) => of.reduce((total, { spend }) => total + spend, 0n)
  return { today: spent(sums.filter(({ place }) => place === 1)), month: spent(sums), refusedAt }
}
