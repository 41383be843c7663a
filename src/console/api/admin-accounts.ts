import type { Account } from '@/accounts/account.ts'
import { accountStore } from '@/accounts/store.ts'
import type { Transaction } from '@/db/connect.ts'
import { formatMoney, parseMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import {
  type AccountChange,
  assertAccount,
  changeAccount,
  postByHand,
  statusOf,
} from '../accounts/account-changes.ts'
import { accountRow } from '../accounts/account-rows.ts'
import { closeAccount, eraseHolder, payOut, reopenAccount } from '../accounts/closing.ts'
import { limitChangesOf, limitsRow } from '../accounts/key-rows.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, invalid } from '../failure.ts'
import { readExpiry } from '../moments.ts'
import { readAmount } from '../money/amount.ts'
import { entryPage } from '../money/entries.ts'
import { downloadEntries, printStatement, readStatements } from '../money/statements.ts'
import { cursorId, cursorOf, readPage } from '../paging.ts'
import { handOver, type IssuedLink, linkMakerOf, makeLink } from '../sign-in/links.ts'
import type { SignedIn } from '../sign-in/sessions.ts'
import { userStore } from '../sign-in/user-store.ts'
import { type Account as AccountRow, adminAccountRoutes, type NewAccount } from './contract/admin-accounts.ts'
import type { MadeLink } from './contract/admin-links.ts'
import { actorOf, type Call, controller, type Incoming, type Listener } from './controller.ts'
import { keyPage } from './keys.ts'

/** What administrators see and change of accounts. */
export function adminAccountsApi(console: Console, listener: Listener) {
  const { database, lookups } = console
  const accounts = accountStore(database)
  const users = userStore(database.orm)

  async function rowOf(account: Account): Promise<AccountRow> {
    return accountRow(account, await users.findByAccount(account.id))
  }

  async function change(call: Incoming<SignedIn>, made: AccountChange): Promise<AccountRow> {
    await assertAccount(console, made.id)
    return rowOf(await changeAccount(console, actorOf(call), made))
  }

  async function post(
    side: 'credit' | 'debit',
    {
      params,
      body: { amount, reason, once },
      ...call
    }: Call<(typeof adminAccountRoutes)[`POST /api/admin/accounts/:id/${typeof side}`]>,
    expiresAt?: Date,
  ) {
    await assertAccount(console, params.id)
    const posting = { accountId: params.id, side, amountNano: readAmount(amount), reason, once, expiresAt }
    return postByHand(console, actorOf(call), posting)
  }

  async function end(
    work: typeof closeAccount,
    {
      params: { id },
      body: { reason },
      ...call
    }: Call<(typeof adminAccountRoutes)[`POST /api/admin/accounts/:id/close`]>,
  ): Promise<AccountRow> {
    await assertAccount(console, id)
    return rowOf(await work(console, actorOf(call), { id, reason }))
  }

  /** Answers about an account, which has to be there. */
  function about<Asked extends { params: { id: number } }, Answer>(
    answer: (asked: Asked) => Answer | Promise<Answer>,
  ): (asked: Asked) => Promise<Answer> {
    return async asked => {
      await assertAccount(console, asked.params.id)
      return answer(asked)
    }
  }

  return controller('console-admin-accounts', console, listener, adminAccountRoutes, {
    'GET /api/admin/accounts': async ({ query }) => {
      const { status, asks_to_close: asksToClose, in_debt: inDebt } = query
      const search = query.search?.trim() || undefined
      const part = { before: cursorId(query), search, status, asksToClose, inDebt }
      const read = (limit: number) => accounts.searchAccounts({ ...part, limit })
      const { rows, next } = await readPage(query, read, cursorOf)
      const owners = await users.findOfAccounts(rows.map(({ id }) => id))
      return { items: rows.map(account => accountRow(account, owners.get(account.id))), next }
    },
    'POST /api/admin/accounts': async ({ body, ...call }) => {
      if (body.invite === true && body.password === undefined) {
        throw invalid('password', 'Who makes a link gives the own password')
      }
      const { account, ...link } = await createAccount(console, call, body)
      return { account: await rowOf(account), ...link }
    },
    'GET /api/admin/accounts/:id': about(async ({ params }) => rowOf(await accounts.findAccount(params.id))),
    'POST /api/admin/accounts/:id/invite': about(({ params, ...call }) => inviteTo(console, call, params.id)),
    'POST /api/admin/accounts/:id/credit': call =>
      post('credit', call, readExpiry(call.body.expires_at, console.clock.now())),
    'POST /api/admin/accounts/:id/debit': call => post('debit', call),
    'POST /api/admin/accounts/:id/suspend': ({ params: { id }, body: { reason }, ...call }) =>
      change(call, {
        id,
        reason,
        action: 'account.suspend',
        shown: statusOf,
        work: store => store.suspendAccount(id),
      }),
    'POST /api/admin/accounts/:id/resume': ({ params: { id }, body: { reason }, ...call }) =>
      change(call, {
        id,
        reason,
        action: 'account.resume',
        shown: statusOf,
        work: store => store.resumeAccount(id),
      }),
    'POST /api/admin/accounts/:id/close': call => end(closeAccount, call),
    'POST /api/admin/accounts/:id/reopen': call => end(reopenAccount, call),
    'POST /api/admin/accounts/:id/erase': call => end(eraseHolder, call),
    'POST /api/admin/accounts/:id/pay-out': about(({ params: { id }, body, ...call }) =>
      payOut(console, actorOf(call), { id, ...body }),
    ),
    'PATCH /api/admin/accounts/:id/limits': ({ params: { id }, body: { revision, ...limits }, ...call }) =>
      change(call, {
        id,
        revision,
        action: 'account.limits',
        shown: account => limitsRow(account.limits),
        work: store => store.changeLimits(id, limitChangesOf(limits)),
      }),
    'PUT /api/admin/accounts/:id/models': ({ params: { id }, body: { revision, models }, ...call }) =>
      change(call, {
        id,
        revision,
        action: 'account.models',
        shown: account => ({ models: [...account.models] }),
        work: store => store.setModels(id, resolve(console, models)),
      }),
    'GET /api/admin/accounts/:id/keys': about(({ params, query }) => keyPage(console, params.id, query)),
    'GET /api/admin/accounts/:id/entries': about(({ signedIn: { user }, params, query }) =>
      lookups.pass(user.accountId, () => entryPage(database, params.id, query)),
    ),
    'GET /api/admin/accounts/:id/entries.csv': about(({ signedIn: { user }, params, query }) =>
      lookups.pass(user.accountId, () => downloadEntries(console, params.id, query.month)),
    ),
    'GET /api/admin/accounts/:id/statements': about(async ({ signedIn: { user }, params }) => ({
      items: await lookups.pass(user.accountId, () => readStatements(database, params.id)),
    })),
    'GET /api/admin/accounts/:id/statements/:month': about(({ signedIn: { user }, params }) =>
      lookups.pass(user.accountId, () => printStatement(console, params.id, params.month)),
    ),
  })
}

async function createAccount(
  console: Console,
  call: Incoming<SignedIn>,
  body: NewAccount,
): Promise<{ account: Account; url: string | null; expires_at: string | null; mailed: boolean }> {
  const { trialCredit } = await loadDefaults(console.database)
  const credit = parseMoney(body.credit ?? trialCredit)
  if (credit === undefined) throw invalid('credit', 'This is no amount, as in 5.00')
  const models = resolve(console, body.models ?? [])
  const made = await administer(console, actorOf(call), async tx => {
    const account = await accountStore({ orm: tx }).createAccount({
      email: body.email,
      creditNano: credit,
      onTrial: body.credit === undefined,
      models,
    })
    const link =
      body.invite === true ? await inviteHolder(console, tx, account, call.signedIn.user.id) : undefined
    const after = { email: account.email, credit: formatMoney(credit), models, invited: link !== undefined }
    const act = { action: 'account.create', target: `account ${account.id}`, before: null, after }
    return { result: { account, link }, act }
  })
  const { account, link } = made
  if (link === undefined) return { account, url: null, expires_at: null, mailed: false }
  return { account, ...(await handOver(console, account.email, 'invite', link)) }
}

/** A link for an account that nobody signs in for yet. */
async function inviteTo(console: Console, call: Incoming<SignedIn>, id: number): Promise<MadeLink> {
  const account = await accountStore(console.database).findAccount(id)
  if ((await userStore(console.database.orm).findByAccount(id)) !== undefined) {
    throw new ConsoleError('refused', 'Somebody signs in for this account already')
  }
  if (account.status === 'closed') throw new ConsoleError('refused', 'This account is closed')
  const { email } = account
  const link = await administer(console, actorOf(call), async tx => ({
    result: await inviteHolder(console, tx, account, call.signedIn.user.id),
    act: { action: 'account.invite', target: `account ${id}`, before: null, after: { email } },
  }))
  return handOver(console, email, 'invite', link)
}

/** Whoever accepts it signs in for the account, with no role. */
function inviteHolder(
  console: Console,
  tx: Transaction,
  { email }: Account,
  madeBy: number,
): Promise<IssuedLink> {
  return makeLink(linkMakerOf(console), tx, { kind: 'invite', email, role: null, madeBy })
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
