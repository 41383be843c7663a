import { runStore } from '@/exchange/idempotency/store.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { wrongBudget, wrongReceipts, wrongWallets } from './books.ts'
import { type Charge, findWrongCharges } from './charges.ts'
import { findWrongService } from './service.ts'
import type { Story } from './story.ts'
import { View } from './view.ts'
import type { World } from './world.ts'

/**
 * What is not as it must be, by what callers, the upstream and the administrator know.
 *
 * @param isGivenBack whether there was time to give back what dead runs were charged
 */
export async function findWrong(world: World, story: Story, isGivenBack: boolean): Promise<string[]> {
  const { fleet } = world
  const { sql } = fleet.database
  const accounts = story.payers.map(({ accountId }) => accountId)
  const rows = await sql<
    { id: string; account_id: bigint; charged: bigint; refunded: bigint; budget: bigint | null }[]
  >`
    select coalesce(case when kind = 'usage_refund' then ref end, id::text) as id, account_id,
      -coalesce(sum(amount) filter (where kind <> 'usage_refund'), 0)::bigint as charged,
      coalesce(sum(amount) filter (where kind = 'usage_refund'), 0)::bigint as refunded, max(budget_key_id) as budget
    from entry where account_id = any (${accounts}::bigint[]) and kind in ('usage', 'usage_trueup', 'usage_refund')
    group by 1, 2`
  const charges = new Map(
    rows.map(({ id, account_id, charged, refunded, budget }): [string, Charge] => [
      id,
      {
        id,
        accountId: Number(account_id),
        charged,
        refunded,
        budgetKeyId: budget === null ? undefined : Number(budget),
      },
    ]),
  )
  const view = new View(world, story)
  const wrong = [
    ...findWrongCharges(view, charges),
    ...(await wrongWallets(view, [...charges.values()])),
    ...(await wrongBudget(view, [...charges.values()])),
    ...findWrongService(view),
    ...(await wrongReceipts(view, charges)),
  ]
  const left = await ledgerStore(fleet.database).notGivenBack(await runStore(fleet.database).takenOver())
  for (const { id, accountId, amountNano } of left) {
    if (isGivenBack && accounts.includes(accountId))
      wrong.push(`dead run ${id}: ${amountNano} not given back`)
  }
  return wrong
}
