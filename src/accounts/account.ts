import type { LimitValues } from '@/config/entries.ts'
import type { AccountStatus, CapPeriod } from '@/db/schema.ts'

/** New values of limits: undefined leaves one as it is, null puts it back to the deployment's default. */
export type LimitChanges = { [Name in keyof LimitValues]?: number | null }

/** Who pays. */
export interface Account {
  id: number
  email: string
  status: AccountStatus
  /** What was put in less what was taken out, in nano units; below zero after an overrun. */
  balanceNano: bigint
  /** What running exchanges have set aside of it. */
  pendingNano: bigint
  /** What the next exchange may set aside. */
  availableNano: bigint
  /** True while nothing was ever paid for. */
  onTrial: boolean
  limits: LimitValues
  /** Models given explicitly, beside those that every account has; in order of id. */
  models: readonly string[]
  /** Whether content may be kept where a caller asks for it. */
  storeAllowed: boolean
  /** Since when its holder asks for it to be closed; undefined: they do not. */
  closeRequestedAt: Date | undefined
  createdAt: Date
}

/** A key as lists show it; nothing here lets anybody in. */
export interface ApiKey {
  id: number
  accountId: number
  name: string
  /** The characters after `sk-`, by which its owner can tell it. */
  lookup: string
  models: readonly string[] | undefined
  expiresAt: Date | undefined
  allowIps: readonly string[] | undefined
  cap: SpendCap | undefined
  limits: LimitValues
  /** False: nothing that this key asks is kept. */
  storeAllowed: boolean
  revokedAt: Date | undefined
  createdAt: Date
  /** To the minute. */
  lastUsedAt: Date | undefined
}

/** Most that a key may spend in each period. */
export interface SpendCap {
  amountNano: bigint
  period: CapPeriod
}

/** Who is calling: what every later decision about a request needs to know of its account and key. */
export interface Caller {
  accountId: number
  keyId: number
  /** Not `active` is refused with 403, after the key itself was found good. */
  accountStatus: AccountStatus
  onTrial: boolean
  accountLimits: LimitValues
  keyLimits: LimitValues
  /** The key's own list; undefined narrows nothing. */
  keyModels: readonly string[] | undefined
  /** Models given to the account explicitly, beside those that every account has. */
  accountModels: readonly string[]
  /** Addresses and ranges the key may be used from; undefined is anywhere (net/ip-range.ts). */
  allowIps: readonly string[] | undefined
  /** Whether content may be kept where the request asks for it: neither account nor key forbids it. */
  storeAllowed: boolean
  expiresAt: Date | undefined
}

/** What is stored about a presented key. */
export interface KeyRecord {
  revoked: boolean
  caller: Caller
}
