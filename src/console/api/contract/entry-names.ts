import type { EntryKind } from '@/db/schema.ts'

/** What people call a kind of entry: on pages, receipts and statements. The one value of a contract that pages take. */
export const ENTRY_NAMES: Readonly<Record<EntryKind, string>> = {
  usage: 'Request',
  usage_trueup: 'Request, corrected',
  usage_refund: 'Request, refunded',
  topup: 'Top-up',
  refund: 'Refund',
  chargeback: 'Chargeback',
  trial: 'Trial credit',
  promo: 'Redeemed code',
  goodwill: 'Goodwill',
  expiry: 'Credit expired',
  write_off: 'Written off',
  adjustment: 'Adjustment',
  debit: 'Debit',
}
