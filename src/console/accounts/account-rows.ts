import type { Account } from '@/accounts/account.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Account as AccountRow } from '../api/contract/admin-accounts.ts'
import { revisionOf } from '../revision.ts'
import type { StoredUser } from '../sign-in/user-store.ts'
import { limitsRow } from './key-rows.ts'

/** Another one whenever an administrator has changed the account's limits or models. */
export function accountRevision({ limits, models }: Account): string {
  return revisionOf({ limits: limitsRow(limits), models: [...models] })
}

/** What an account has, and whether it is served. */
export function standingRow(account: Account) {
  return {
    status: account.status,
    on_trial: account.onTrial,
    balance: formatMoney(account.balanceNano),
    held: formatMoney(account.pendingNano),
    available: formatMoney(account.availableNano),
  }
}

/** An account as administrators see it. */
export function accountRow(account: Account, user: StoredUser | undefined): AccountRow {
  return {
    id: account.id,
    email: account.email,
    ...standingRow(account),
    limits: limitsRow(account.limits),
    models: [...account.models],
    created_at: account.createdAt.toISOString(),
    close_requested_at: account.closeRequestedAt?.toISOString() ?? null,
    user: user === undefined ? null : { id: user.id, role: user.role, status: user.status },
    revision: accountRevision(account),
  }
}
