import { rawSqlOf } from '@/db/connect.ts'
import { chargeLost, LOST_AT_ONCE, type LostCharge, postEntry } from '@/ledger/store.ts'
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
export async function chargeLostOnes(
  where: Pick<Console, 'database'>,
  actor: Actor,
  order: LostOrder,
): Promise<LostCharge[]> {
  const all: LostCharge[] = []
  for (;;) {
    const found = await chargeSome(where, actor, order, all.at(-1)?.id ?? BEFORE_ALL)
    all.push(...found)
    if (found.length < LOST_AT_ONCE) return all.filter(movesMoney)
  }
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

const movesMoney = ({ chargedNano }: LostCharge) => chargedNano !== 0n

function chargeSome(
  where: Pick<Console, 'database'>,
  actor: Actor,
  { reason, isWrittenOff }: LostOrder,
  after: string,
): Promise<LostCharge[]> {
  return administer(where, actor, async tx => {
    const sql = rawSqlOf(tx)
    const found = await chargeLost(sql, after)
    const charges = found.filter(movesMoney)
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
    const told = {
      requests: charges.length,
      charged: formatMoney(total),
      written_off: isWrittenOff,
      reason,
    }
    const act = { action: 'ledger.charge_lost', target: 'ledger', before: null, after: told }
    return { result: found, act: charges.length === 0 ? undefined : act }
  })
}
