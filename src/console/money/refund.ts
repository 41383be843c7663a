import { rawSqlOf } from '@/db/connect.ts'
import { readReceipt } from '@/ledger/receipt.ts'
import { postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { readAmount } from './amount.ts'

interface RefundOrder {
  requestId: string
  amount: string
  reason: string
  /** Two of one request with the same are one. */
  once?: string | undefined
}

/**
 * Gives back what a request was charged, or a part of that, and writes it down.
 * @throws Refusal for more than it was charged, with what was given back before
 */
export async function refundRequest(
  console: Console,
  actor: Actor,
  { requestId, amount, reason, once }: RefundOrder,
): Promise<{ entry_id: string; balance: string }> {
  const ref = requestId.toLowerCase()
  const receipt = await readReceipt(console.database, ref)
  if (receipt === undefined) throw notFound('request')
  const amountNano = readAmount(amount)
  const { accountId } = receipt
  return administer(console, actor, async tx => {
    const { entryId, posted, balanceNano } = await postEntry(rawSqlOf(tx), {
      id: Bun.randomUUIDv7(),
      accountId,
      kind: 'usage_refund',
      amountNano,
      ref,
      reason,
      idempotency: once === undefined ? undefined : { scope: `console:refund:${ref}`, key: once },
    })
    const balance = formatMoney(balanceNano)
    const before = { account_id: accountId, balance: formatMoney(balanceNano - amountNano) }
    const after = {
      account_id: accountId,
      balance,
      amount: formatMoney(amountNano),
      entry_id: entryId,
      reason,
    }
    const act = { action: 'request.refund', target: `request ${ref}`, before, after }
    return { result: { entry_id: entryId, balance }, act: posted ? act : undefined }
  })
}
