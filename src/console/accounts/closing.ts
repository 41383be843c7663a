import type { Account } from '@/accounts/account.ts'
import { accountStore } from '@/accounts/store.ts'
import { rawSqlOf, type Transaction } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { JsonObject } from '@/json/json.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { linkStore } from '../sign-in/link-store.ts'
import { sessionStore } from '../sign-in/session-store.ts'
import { lockAdministrators, type StoredUser, userStore } from '../sign-in/user-store.ts'

/**
 * The end of an account: nothing is asked with its keys any more and nobody signs in for it, and what was is kept, since
 * the books have to be: entries, receipts, the audit log. What is left of its balance is posted out by a person who says
 * where it went.
 */

type Where = Pick<Console, 'database'>

/** What is done to an account, and why. */
interface ClosingOrder {
  id: number
  reason: string
}

/**
 * Closes an account: its keys are revoked, its running answers end, its holder is signed out for good.
 * @throws Refusal for one that is closed, or whose holder administers
 */
export function closeAccount(where: Where, actor: Actor, order: ClosingOrder): Promise<Account> {
  return change(where, actor, order, 'account.close', async (tx, user) => {
    if (user !== undefined) {
      refuseAdministrator(user)
      await sessionStore(tx).endAll(user.id)
      await userStore(tx).change(user.id, { status: 'disabled', resetRequestedAt: null })
    }
    const closed = await accountStore({ orm: tx }).closeAccount(order.id)
    await linkStore(tx).revoke(closed.email, ['invite', 'password_reset', 'signup'])
    return closed
  })
}

/** Makes a closed account active again: its holder can sign in, and has to make new keys. */
export function reopenAccount(where: Where, actor: Actor, order: ClosingOrder): Promise<Account> {
  return change(where, actor, order, 'account.reopen', async (tx, user) => {
    const reopened = await accountStore({ orm: tx }).reopenAccount(order.id)
    if (user !== undefined) await userStore(tx).change(user.id, { status: 'active' })
    return reopened
  })
}

/**
 * Forgets who the holder of a closed account was: the address, the way to sign in with where it was used from, links, what
 * the keys were called. The books stay, under the account's number.
 * @throws Refusal for one that is open or has a balance
 */
export function eraseHolder(where: Where, actor: Actor, order: ClosingOrder): Promise<Account> {
  return change(where, actor, order, 'account.erase', async (tx, user) => {
    const accounts = accountStore({ orm: tx })
    const { email } = await accounts.findAccount(order.id)
    const erased = await accounts.eraseHolder(order.id)
    await linkStore(tx).forget(email)
    if (user !== undefined) {
      refuseAdministrator(user)
      await userStore(tx).remove(user.id)
    }
    return erased
  })
}

/** Where the rest of a balance goes, by the kinds of the ledger. */
type PayOut =
  /** Paid back to the holder. */
  | 'refund'
  /** Kept by the operator. */
  | 'debit'
  /** A debt that nobody will pay. */
  | 'write_off'

/**
 * Posts all that is left of a closed account out of it, so that its balance is 0.
 * @throws Refusal for an account that is open, or whose last requests still run
 */
export async function payOut(
  where: Where,
  actor: Actor,
  { id, reason, as }: ClosingOrder & { as: PayOut },
): Promise<{ entry_id: string; balance: string }> {
  return administer(where, actor, async tx => {
    const sql = rawSqlOf(tx)
    // Before the account, as whatever posts an entry does.
    const [wallet] = await sql<{ balance: bigint; pending: bigint }[]>`
      select credits - debits as balance, pending from ledger_lock_wallet(${id})`
    const { balance = 0n, pending = 0n } = wallet ?? {}
    const account = await accountStore({ orm: tx }).lockAccount(id)
    if (account.status !== 'closed') throw new Refusal(`Account ${id} is not closed`)
    if (pending > 0n) throw new Refusal('Its last requests are still running: try again in a minute')
    if (balance === 0n) throw new Refusal('Nothing is left')
    if (balance < 0n !== (as === 'write_off')) {
      throw new Refusal(
        balance < 0n ? 'It is in debt: that is written off' : 'It has credit: say where it goes',
      )
    }
    const { entryId, balanceNano } = await postEntry(sql, {
      id: Bun.randomUUIDv7(),
      accountId: id,
      kind: as,
      amountNano: -balance,
      reason,
    })
    const result = { entry_id: entryId, balance: formatMoney(balanceNano) }
    const after = { ...result, as, reason }
    const act = {
      action: 'account.pay-out',
      target: `account ${id}`,
      before: { balance: formatMoney(balance) },
      after,
    }
    return { result, act }
  })
}

/** @throws Refusal: who administers must be asked for by an owner, who takes the role away */
export function refuseAdministrator({ role }: Pick<StoredUser, 'role'>): void {
  if (role !== null) throw new Refusal('Its holder is an administrator: take away that role first')
}

/** Locked in the order in which a link is accepted, so that nobody becomes a holder or an administrator meanwhile. */
function change(
  where: Where,
  actor: Actor,
  { id, reason }: ClosingOrder,
  action: string,
  work: (tx: Transaction, user: StoredUser | undefined) => Promise<Account>,
): Promise<Account> {
  return administer(where, actor, async tx => {
    await lockAdministrators(tx)
    const before = await accountStore({ orm: tx }).lockAccount(id)
    const after = await work(tx, await userStore(tx).findByAccount(id))
    const act = {
      action,
      target: `account ${id}`,
      before: shown(before),
      after: { ...shown(after), reason },
    }
    return { result: after, act }
  })
}

function shown({ status, balanceNano, closeRequestedAt }: Account): JsonObject {
  const asked = closeRequestedAt === undefined ? {} : { close_requested_at: closeRequestedAt.toISOString() }
  return { status, balance: formatMoney(balanceNano), ...asked }
}
