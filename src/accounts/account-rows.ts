import { type SQL, sql } from 'drizzle-orm'
import type { LimitValues } from '@/config/entries.ts'
import { account, accountModel, type apiKey, type wallet } from '@/db/schema.ts'
import type { Account, ApiKey, KeyRecord, LimitChanges, SpendCap } from './account.ts'

/** The models that were given to the account of a row. */
export const GIVEN_MODELS: SQL<string[]> = sql<
  string[]
>`array(select ${accountModel.modelId} from ${accountModel}
  where ${accountModel.accountId} = ${account.id} order by 1)`

/** An account with its money and the models that were given to it. */
export function toAccount(
  row: typeof account.$inferSelect,
  money: typeof wallet.$inferSelect | null,
  models: readonly string[],
): Account {
  const balanceNano = money === null ? 0n : money.credits - money.debits
  return {
    id: row.id,
    email: row.email,
    status: row.status,
    balanceNano,
    pendingNano: money?.pending ?? 0n,
    availableNano: balanceNano + (money === null ? 0n : money.overdraft - money.pending),
    onTrial: row.onTrial,
    limits: toLimits(row),
    models,
    storeAllowed: row.storeAllowed,
    closeRequestedAt: row.closeRequestedAt ?? undefined,
    createdAt: row.createdAt,
  }
}

/** A key as its owner sees it. */
export function toApiKey(row: typeof apiKey.$inferSelect): ApiKey {
  return {
    id: row.id,
    accountId: row.accountId,
    name: row.name,
    lookup: row.lookup,
    models: row.models ?? undefined,
    expiresAt: row.expiresAt ?? undefined,
    allowIps: row.allowIps ?? undefined,
    cap: toCap(row),
    limits: toLimits(row),
    storeAllowed: row.storeAllowed,
    revokedAt: row.revokedAt ?? undefined,
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt ?? undefined,
  }
}

/** A key beside its account and that one's models. */
interface KeyRow {
  key: typeof apiKey.$inferSelect
  account: typeof account.$inferSelect
  models: string[]
}

/** A key with what its calls are judged by. */
export function toKeyRecord({ key, account: owner, models }: KeyRow): KeyRecord {
  return {
    revoked: key.status === 'revoked',
    caller: {
      accountId: owner.id,
      keyId: key.id,
      accountStatus: owner.status,
      onTrial: owner.onTrial,
      accountLimits: toLimits(owner),
      keyLimits: toLimits(key),
      keyModels: key.models ?? undefined,
      accountModels: models,
      allowIps: key.allowIps ?? undefined,
      storeAllowed: owner.storeAllowed && key.storeAllowed,
      expiresAt: key.expiresAt ?? undefined,
    },
  }
}

/** The columns that the changes name. */
export function limitColumns(changes: LimitChanges): LimitChanges {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
}

function toLimits(row: { [Name in keyof LimitValues]: number | null }): LimitValues {
  return {
    requestsPerMinute: row.requestsPerMinute ?? undefined,
    tokensPerMinute: row.tokensPerMinute ?? undefined,
    concurrentRequests: row.concurrentRequests ?? undefined,
  }
}

function toCap(row: Pick<typeof apiKey.$inferSelect, 'capNano' | 'capPeriod'>): SpendCap | undefined {
  if (row.capNano === null || row.capPeriod === null) return undefined
  return { amountNano: row.capNano, period: row.capPeriod }
}
