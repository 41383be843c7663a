import type { EntryKind, GrantKind } from '@/db/schema.ts'

/** The exchange that money is moved for. */
export interface ExchangeReference {
  /** The request id, a UUIDv7: also the id of the hold and of the entry. */
  id: string
  accountId: number
  keyId: number
}

/** Asks to set money aside for an exchange before it runs. */
export interface HoldRequest extends ExchangeReference {
  /** What to set aside; above 0. */
  amountNano: bigint
  /** The version of the prices that the exchange is charged by. */
  priceVersion: number
  /** When the hold is settled at its last checkpoint whatever its owner does, counted by the database from now. */
  lifetimeMs: number
}

/** Asks to set more aside for an exchange that runs. */
export interface ExtendRequest extends ExchangeReference {
  /** What is to be set aside in all, the present amount included: repeating a request changes nothing. */
  amountNano: bigint
}

/** Why a hold, or more of one, is denied. */
export type DenialReason =
  /** The request costs more than the account has. */
  | 'credit_exhausted'
  /** It would fit if the account's own running requests were over. */
  | 'credit_reserved'
  /** The request costs more than is left of the key's cap. */
  | 'key_budget_exhausted'
  | 'account_suspended'
  /** Or expired, or of another account. */
  | 'key_revoked'
  /** Extend only: the hold was ended without its owner. */
  | 'hold_expired'

/** What may still be set aside, after the answer it comes with. */
interface Affordable {
  /** Of the account: its balance and overdraft, without what is set aside. */
  availableNano: bigint
  /** The same within the key's budget; undefined for a key without a cap. */
  keyAvailableNano: bigint | undefined
  /** When the key's budget starts anew; undefined: never, or the key has no cap. */
  resetsAt: Date | undefined
}

/** The answer to a hold or to its extension; refused ones changed nothing. */
export type HoldResult = Affordable & ({ granted: true } | { granted: false; reason: DenialReason })

/** Asks to charge what an exchange used and to end its hold. Repeating it changes nothing. */
export interface Settlement extends ExchangeReference {
  /** What the exchange costs: `costPico` rounded up. 0 releases the hold. */
  costNano: bigint
  /** The exact cost, in 1e-12. */
  costPico: bigint
}

/** What became of a hold. */
export interface SettleResult {
  /**
   * `settled`: the hold is gone, the cost is posted. `trued_up`: the hold had expired; what its owner's death left
   * uncharged, or charged too much, is posted. `duplicate`: it was settled before, nothing changed. `journaled`: the
   * database is away; it is safe on disk and will be posted. `refused`: the database does not take it, which is an
   * operator's to mend; it is kept there with the reason, tried again, and told by the audit.
   */
  outcome: 'settled' | 'trued_up' | 'duplicate' | 'journaled' | 'refused'
  /** What this call took out of the wallet; below 0 if it gave back. */
  chargedNano: bigint
  /** How much of it was not set aside. */
  overrunNano: bigint
  /** Undefined while the database is away, or refuses. */
  availableNano: bigint | undefined
}

/** A running exchange that must end. */
export interface Stop {
  id: string
  reason: 'key_revoked' | 'account_suspended' | 'hold_expired'
}

/** A hold that was ended in the place of an owner that is gone, and what was charged for it. */
export interface Reaped {
  id: string
  accountId: number
  chargedNano: bigint
}

/** Kinds that somebody posts; the others follow from exchanges and from the calendar. */
type PostingKind = Exclude<EntryKind, 'usage' | 'usage_trueup' | 'expiry'>

/** A movement of money that is no exchange's: a payment, a gift, a correction. */
export interface Posting {
  /** UUIDv7. The same id and kind again changes nothing. */
  id: string
  accountId: number
  kind: PostingKind
  /** Above 0 into the wallet, below 0 out of it. */
  amountNano: bigint
  /** The payment's id; for `usage_refund` the id of the request. */
  ref?: string
  /** Required for what a person decides: chargeback, adjustment, debit, write_off. */
  reason?: string
  /** When what is left of this credit is taken away. */
  expiresAt?: Date | undefined
  /** An id from outside, under which this is posted once, whatever `id` says. */
  idempotency?: { scope: string; key: string } | undefined
}

/** What became of an entry without a hold. */
export interface Posted {
  entryId: string
  /** False: it was there already. */
  posted: boolean
  balanceNano: bigint
}

/** What redeem codes give, and for how long. */
export interface CodeTerms {
  /** What one use is worth; above 0. */
  amountNano: bigint
  /** How many accounts may use each code. */
  uses: number
  /** Until when it can be redeemed; undefined: for ever, or as long as its credit lasts. */
  expiresAt?: Date | undefined
  /** When what is left of its credit is taken away; undefined: never. */
  creditExpiresAt?: Date | undefined
}

/** What became of a redeem code; only `redeemed` moved money now. */
export interface Redeemed {
  result: 'redeemed' | 'already_redeemed' | 'used_up' | 'expired' | 'revoked' | 'unknown'
  amountNano: bigint
  balanceNano: bigint
}

/** How an account stands: what it has, how much of that is set aside, and what it may still spend, overdraft included. */
export interface Balance {
  balanceNano: bigint
  pendingNano: bigint
  availableNano: bigint
}

/** Credit with its terms. */
export interface Grant {
  entryId: string
  entryKind: EntryKind
  /** The number of its entry in its account. */
  seq: number
  kind: GrantKind
  amountNano: bigint
  /** What had been taken out of the wallet by then. */
  debitsBeforeNano: bigint
  /** Lower is used first, among grants that expire together. */
  priority: number
  expiresAt: Date | undefined
  /** It has expired, and what was left of it then is taken. */
  isClosed: boolean
  /** What of it went back to its payer. */
  returns: readonly Return[]
}

/** A refund of a payment, or a dispute about it. */
export interface Return {
  /** The number of its entry in its account. */
  seq: number
  amountNano: bigint
  /** What had been taken out of the wallet by then. */
  debitsBeforeNano: bigint
}
