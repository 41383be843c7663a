import type { Account } from '@/accounts/account.ts'
import { type AccountStore, accountStore } from '@/accounts/store.ts'
import { rawSqlOf } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { refuseOverwriting } from '../revision.ts'
import { accountRevision } from './account-rows.ts'

type Where = Pick<Console, 'database'>

/** What is changed about an account, and what the log is told of it. */
export interface AccountChange {
  id: number
  /** As the log names it. */
  action: string
  /** What the change is about, for the log. */
  shown(account: Account): JsonObject
  work(store: AccountStore): Promise<Account>
  reason?: string
  /** What it was made from. */
  revision?: string | undefined
}

/**
 * Changes an account, and writes down what it was before and after.
 * @throws Refusal where there is no such account
 */
export async function changeAccount(
  where: Where,
  actor: Actor,
  { id, action, shown, work, reason, revision }: AccountChange,
): Promise<Account> {
  return administer(where, actor, async tx => {
    const store = accountStore({ orm: tx })
    const before = await store.lockAccount(id)
    refuseOverwriting('account', accountRevision(before), revision)
    const after = await work(store)
    const why = reason === undefined ? {} : { reason }
    return {
      result: after,
      act: { action, target: `account ${id}`, before: shown(before), after: { ...shown(after), ...why } },
    }
  })
}

interface HandPosting {
  accountId: number
  side: 'credit' | 'debit'
  /** Above 0. */
  amountNano: bigint
  reason: string
  /** When what is left of this credit is taken away; undefined: never. */
  expiresAt?: Date | undefined
  /** Two of one account and side with the same are one. */
  once?: string | undefined
}

/**
 * Posts an entry by hand and writes it down.
 * @throws Refusal where there is no such account
 */
export function postByHand(
  where: Where,
  actor: Actor,
  { accountId, side, reason, expiresAt, once, ...posting }: HandPosting,
): Promise<{ entry_id: string; balance: string }> {
  const amountNano = side === 'credit' ? posting.amountNano : -posting.amountNano
  return administer(where, actor, async tx => {
    const { entryId, posted, balanceNano } = await postEntry(rawSqlOf(tx), {
      id: Bun.randomUUIDv7(),
      accountId,
      kind: side === 'credit' ? 'topup' : 'debit',
      amountNano,
      reason,
      expiresAt,
      idempotency: once === undefined ? undefined : { scope: `console:${side}:${accountId}`, key: once },
    })
    const balance = formatMoney(balanceNano)
    const before = { balance: formatMoney(balanceNano - amountNano) }
    const ends = expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() }
    const after = { balance, amount: formatMoney(amountNano), entry_id: entryId, reason, ...ends }
    const act = { action: `account.${side}`, target: `account ${accountId}`, before, after }
    return { result: { entry_id: entryId, balance }, act: posted ? act : undefined }
  })
}

/** As the log shows whether an account is served. */
export function statusOf({ status }: Account): JsonObject {
  return { status }
}

/** @throws ConsoleError `not_found`, where the store would say that the request is refused */
export async function assertAccount({ database }: Where, id: number): Promise<void> {
  const [account] = await accountStore(database).searchAccounts({ before: id + 1, limit: 1 })
  if (account?.id !== id) throw notFound('account')
}
