import type { Account } from '@/accounts/account.ts'
import { type AccountStore, accountStore } from '@/accounts/store.ts'
import { rawSqlOf, type Transaction } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney, parseMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/defaults.ts'
import { accountRow } from '../account-rows.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { entryPage } from '../entries.ts'
import { ConsoleError, invalid, notFound } from '../failure.ts'
import { limitChangesOf, limitsRow } from '../key-rows.ts'
import { linkMakerOf, mailLink, makeLink } from '../links.ts'
import { cursorId, limitOf, pageOf } from '../paging.ts'
import type { SignedIn } from '../sessions.ts'
import { readRange, readUsage } from '../usage.ts'
import { userStore } from '../user-store.ts'
import { type Account as AccountRow, adminAccountRoutes } from './contract/admin-accounts.ts'
import { actorOf, controller, type Incoming, type Listener } from './controller.ts'
import { keyPage, shown } from './keys.ts'
import { logPage, oneReceipt, tailOf } from './requests.ts'
import { namesOf } from './usage.ts'

/** What administrators see and change of accounts, and of all requests. */
export function adminAccountsApi(console: Console, listener: Listener) {
  const { database } = console
  const accounts = accountStore(database, console.random)
  const users = userStore(database.orm)

  async function rowOf(account: Account): Promise<AccountRow> {
    return accountRow(account, await users.findByAccount(account.id))
  }

  /** Changes an account and says what it was before and after. */
  async function change(
    call: Incoming<SignedIn>,
    id: number,
    action: string,
    shownOf: (account: Account) => JsonObject,
    work: (store: AccountStore) => Promise<Account>,
    reason?: string,
  ): Promise<AccountRow> {
    await assertAccount(accounts, id)
    const changed = await administer(console, actorOf(call), async tx => {
      const store = accountStore({ orm: tx }, console.random)
      const before = await store.findAccount(id)
      const after = await work(store)
      const why = reason === undefined ? {} : { reason }
      return {
        result: after,
        act: {
          action,
          target: `account ${id}`,
          before: shownOf(before),
          after: { ...shownOf(after), ...why },
        },
      }
    })
    return rowOf(changed)
  }

  /** Posts an entry and writes it down. */
  async function post(call: Incoming<SignedIn>, id: number, sign: bigint, amount: string, reason: string) {
    await assertAccount(accounts, id)
    const nano = parseMoney(amount)
    if (nano === undefined || nano <= 0n) throw invalid('amount', 'This is no amount above 0, as in 5.00')
    const entryId = Bun.randomUUIDv7()
    const kind = sign > 0n ? 'topup' : 'debit'
    return administer(console, actorOf(call), async tx => {
      const { balanceNano } = await postEntry(rawSqlOf(tx), {
        id: entryId,
        accountId: id,
        kind,
        amountNano: sign * nano,
        reason,
      })
      const balance = formatMoney(balanceNano)
      const before = { balance: formatMoney(balanceNano - sign * nano) }
      const after = { balance, amount: formatMoney(sign * nano), entry_id: entryId, reason }
      const action = sign > 0n ? 'account.credit' : 'account.debit'
      return {
        result: { entry_id: entryId, balance },
        act: { action, target: `account ${id}`, before, after },
      }
    })
  }

  return controller('console-admin-accounts', console, listener, adminAccountRoutes, {
    'GET /api/admin/accounts': async ({ query }) => {
      const limit = limitOf(query)
      const search = query.search?.trim()
      const found = await accounts.searchAccounts({
        before: cursorId(query),
        limit: limit + 1,
        ...(search === undefined || search === '' ? {} : { search }),
        ...(query.status === undefined ? {} : { status: query.status }),
      })
      const owners = await users.findOfAccounts(found.map(({ id }) => id))
      const itemOf = (account: Account) => accountRow(account, owners.get(account.id))
      return pageOf(found, limit, itemOf, ({ id }) => String(id))
    },
    'POST /api/admin/accounts': async ({ body, ...call }) => {
      const { trialCredit } = await loadDefaults(database)
      const credit = parseMoney(body.credit ?? trialCredit)
      if (credit === undefined) throw invalid('credit', 'This is no amount, as in 5.00')
      const models = resolve(console, body.models ?? [])
      const { account, url } = await administer(console, actorOf(call), async tx => {
        const made = await accountStore({ orm: tx }, console.random).createAccount({
          email: body.email,
          creditNano: credit,
          onTrial: body.credit === undefined,
          models,
        })
        const link = body.invite === true ? await inviteHolder(console, tx, made) : null
        const after = { email: made.email, credit: formatMoney(credit), models, invited: link !== null }
        const act = { action: 'account.create', target: `account ${made.id}`, before: null, after }
        return { result: { account: made, url: link }, act }
      })
      if (url !== null) await mailLink(console, account.email, 'invite', url)
      return { account: await rowOf(account), url }
    },
    'GET /api/admin/accounts/:id': async ({ params }) => {
      await assertAccount(accounts, params.id)
      return rowOf(await accounts.findAccount(params.id))
    },
    'POST /api/admin/accounts/:id/invite': async ({ params, ...call }) => {
      await assertAccount(accounts, params.id)
      const account = await accounts.findAccount(params.id)
      if ((await users.findByAccount(account.id)) !== undefined) {
        throw new ConsoleError('refused', 'Somebody signs in for this account already')
      }
      const url = await administer(console, actorOf(call), async tx => ({
        result: await inviteHolder(console, tx, account),
        act: {
          action: 'account.invite',
          target: `account ${account.id}`,
          before: null,
          after: { email: account.email },
        },
      }))
      return { url, mailed: await mailLink(console, account.email, 'invite', url) }
    },
    'POST /api/admin/accounts/:id/credit': ({ params, body, ...call }) =>
      post(call, params.id, 1n, body.amount, body.reason),
    'POST /api/admin/accounts/:id/debit': ({ params, body, ...call }) =>
      post(call, params.id, -1n, body.amount, body.reason),
    'POST /api/admin/accounts/:id/suspend': ({ params, body, ...call }) =>
      change(
        call,
        params.id,
        'account.suspend',
        statusOf,
        store => store.suspendAccount(params.id),
        body.reason,
      ),
    'POST /api/admin/accounts/:id/resume': ({ params, body, ...call }) =>
      change(
        call,
        params.id,
        'account.resume',
        statusOf,
        store => store.resumeAccount(params.id),
        body.reason,
      ),
    'PATCH /api/admin/accounts/:id/limits': ({ params, body, ...call }) =>
      change(
        call,
        params.id,
        'account.limits',
        ({ limits }) => limitsRow(limits),
        store => store.changeLimits(params.id, limitChangesOf(body)),
      ),
    'PUT /api/admin/accounts/:id/models': ({ params, body, ...call }) =>
      change(
        call,
        params.id,
        'account.models',
        ({ models }) => ({ models: [...models] }),
        store => store.setModels(params.id, resolve(console, body.models)),
      ),
    'GET /api/admin/accounts/:id/keys': async ({ params, query }) => {
      await assertAccount(accounts, params.id)
      return keyPage(console, params.id, query)
    },
    'GET /api/admin/accounts/:id/entries': async ({ params, query }) => {
      await assertAccount(accounts, params.id)
      return entryPage(database.orm, params.id, query)
    },
    'POST /api/admin/keys/:id/revoke': async ({ params, ...call }) => {
      const before = await accounts.findKeyById(params.id)
      if (before === undefined) throw notFound('key')
      const key = await administer(console, actorOf(call), async tx => ({
        result: await accountStore({ orm: tx }, console.random).revokeKey(params.id),
        act: {
          action: 'key.revoke',
          target: `key ${params.id}`,
          before: { account_id: before.accountId, revoked: before.revokedAt !== undefined },
          after: { account_id: before.accountId, revoked: true },
        },
      }))
      return shown(console, key)
    },
    'PATCH /api/admin/keys/:id/limits': async ({ params, body, ...call }) => {
      const before = await accounts.findKeyById(params.id)
      if (before === undefined) throw notFound('key')
      const key = await administer(console, actorOf(call), async tx => {
        const store = accountStore({ orm: tx }, console.random)
        const after = await store.changeKeyLimits(params.id, limitChangesOf(body))
        return {
          result: after,
          act: {
            action: 'key.limits',
            target: `key ${params.id}`,
            before: limitsRow(before.limits),
            after: limitsRow(after.limits),
          },
        }
      })
      return shown(console, key)
    },

    'GET /api/admin/usage': ({ query }) => {
      const by = query.by ?? 'model'
      const range = readRange(query, console.clock.now())
      const scope = { ...range, by, accountId: query.account_id }
      return readUsage(database, scope, ids => namesOf(console, by, ids))
    },
    'GET /api/admin/requests': ({ query }) =>
      logPage(console, query, { accountId: query.account_id, channel: query.channel }, true),
    'GET /api/admin/requests/:id': ({ params }) => oneReceipt(console, params.id, undefined, true),
    'GET /api/admin/live/requests': async call => tailOf(console, call, undefined, true),
  })
}

/** @throws ConsoleError `not_found`, where the store would say that the request is refused */
async function assertAccount(accounts: AccountStore, id: number): Promise<void> {
  const [account] = await accounts.searchAccounts({ before: id + 1, limit: 1 })
  if (account?.id !== id) throw notFound('account')
}

/** Whoever accepts it signs in for the account, with no role. */
function inviteHolder(console: Console, tx: Transaction, { email }: Account): Promise<string> {
  return makeLink(linkMakerOf(console), tx, { kind: 'invite', email, role: null })
}

function statusOf({ status }: Account): JsonObject {
  return { status }
}

/** The ids behind names of models. */
function resolve({ catalog }: Console, names: readonly string[]): string[] {
  const ids = names.map(name => {
    const model = catalog.find(name)
    if (model === undefined) throw invalid('models', `There is no model "${name}"`)
    return model.id
  })
  return [...new Set(ids)]
}
