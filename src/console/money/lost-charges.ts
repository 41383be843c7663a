import { rawSqlOf } from '@/db/connect.ts'
import { chargeLost, type LostCharge, postEntry } from '@/ledger/store.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'

/** What is to become of charges that were lost. */
interface LostOrder {
  reason: string
  /** Each is given back at once: the books tell of both, and the account pays nothing. */
  isWrittenOff: boolean
}

/** Charges what requests cost by their results and were not charged, and writes it down. */
export function chargeLostOnes(
  where: Pick<Console, 'database'>,
  actor: Actor,
  { reason, isWrittenOff }: LostOrder,
): Promise<LostCharge[]> {
  return administer(where, actor, async tx => {
    const sql = rawSqlOf(tx)
    const charges = await chargeLost(sql)
    for (const { id: ref, accountId, chargedNano: amountNano } of charges) {
      if (!isWrittenOff || amountNano < 0n) continue
      await postEntry(sql, {
        id: Bun.randomUUIDv7(),
        accountId,
        kind: 'usage_refund',
        amountNano,
        ref,
        reason,
      })
    }
    const total = charges.reduce((sum, { chargedNano }) => sum + chargedNano, 0n)
    const after = {
      requests: charges.length,
      charged: formatMoney(total),
      written_off: isWrittenOff,
      reason,
    }
    const act = { action: 'ledger.charge_lost', target: 'ledger', before: null, after }
    return { result: charges, act: charges.length === 0 ? undefined : act }
  })
}
