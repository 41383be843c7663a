import { PAID_OUT } from './acts.ts'
import type { Charge } from './charges.ts'
import { CAPPED, PAYERS } from './plan.ts'
import type { View } from './view.ts'

/** Each wallet is what was given less what was charged, nothing is set aside. */
export async function wrongWallets(view: View, charges: readonly Charge[]): Promise<string[]> {
  const { world, story } = view
  const { database } = world.fleet
  const wrong: string[] = []
  const wallets = await database.sql<
    { account_id: bigint; balance: bigint; pending: bigint; holds: bigint; paid_out: bigint }[]
  >`
    select account_id, credits - debits as balance, pending, (select count(*) from hold h where h.account_id = w.account_id) as holds,
      (select coalesce(-sum(amount), 0)::bigint from entry e where e.account_id = w.account_id and reason = ${PAID_OUT}) as paid_out
    from wallet w where account_id = any (${story.payers.map(({ accountId }) => accountId)}::bigint[])`
  for (const [payer, { accountId }] of story.payers.entries()) {
    const found = wallets.find(({ account_id }) => Number(account_id) === accountId)
    const paidOut = found?.paid_out ?? 0n
    const charged = net(charges.filter(charge => charge.accountId === accountId))
    const due = (story.given[payer] ?? 0n) - charged - paidOut
    if (found?.balance !== due) wrong.push(`payer ${payer}: balance ${found?.balance}, due ${due}`)
    if (found?.pending !== 0n || found.holds !== 0n) {
      wrong.push(`payer ${payer}: ${found?.pending} are still set aside in ${found?.holds} holds`)
    }
    // Nothing was running any more when it was paid out; what a process has left behind may be posted later.
    const isEven =
      paidOut > 0n && !story.calls.some(call => call.plan.payer === payer && view.isTakenOver(call))
    const overrun = isEven ? 0n : view.overrun(({ plan }) => plan.payer === payer)
    const least = -(story.taken[payer] ?? 0n) - overrun
    if ((found?.balance ?? 0n) < least)
      wrong.push(`payer ${payer}: balance ${found?.balance}, at least ${least}`)
  }
  return wrong
}

/** The budget of the capped key is what it was charged, and nobody else's charges are counted by it. */
export async function wrongBudget(view: View, charges: readonly Charge[]): Promise<string[]> {
  const { world, story } = view
  const { database } = world.fleet
  const wrong: string[] = []
  const keyId = story.payers[CAPPED]?.keys[0].id ?? 0
  const [budget] = await database.sql<{ spent: bigint; pending: bigint }[]>`
    select spent, pending from key_budget where key_id = ${keyId}`
  const spent = net(charges.filter(({ budgetKeyId }) => budgetKeyId === keyId))
  if ((budget?.spent ?? 0n) !== spent || (budget?.pending ?? 0n) !== 0n) {
    wrong.push(`the capped key: ${JSON.stringify(budget, String)}, due ${spent}`)
  }
  const most = PAYERS[CAPPED].capNano + view.overrun(({ plan }) => plan.payer === CAPPED && plan.key === 0)
  if (spent > most) wrong.push(`the capped key: spent ${spent}, at most ${most}`)
  const byId = new Map(story.calls.map(call => [call.requestId, call]))
  for (const { id, budgetKeyId, charged } of charges) {
    const call = byId.get(id)
    if (call === undefined || charged === 0n) continue
    const { payer, key } = call.plan
    const isCounted = budgetKeyId !== undefined
    const isCapped = payer === CAPPED && key === 0
    // What is posted when the hold is gone has the name of its key, with a cap or without.
    const isNamed = view.isTakenOver(call) && budgetKeyId === story.payers[payer]?.keys[key]?.id
    if (isCounted !== isCapped && !isNamed) wrong.push(`request ${id}: counted by the cap of ${budgetKeyId}`)
  }
  return wrong
}

function net(charges: readonly Charge[]): bigint {
  return charges.reduce((sum, { charged, refunded }) => sum + charged - refunded, 0n)
}

/** Each whole answer has a stored result that says what was charged, but where its process was killed. */
export async function wrongReceipts(view: View, charges: ReadonlyMap<string, Charge>): Promise<string[]> {
  const { calls } = view.story
  const { database } = view.world.fleet
  const whole = calls.filter(call => call.isWhole && !call.isReplay && view.killOf(call) === undefined)
  const rows = await database.sql<{ id: string; cost_nano: bigint | null; end_state: string }[]>`
    select id, cost_nano, end_state from exchange where id = any (${whole.map(({ requestId }) => requestId ?? '')}::uuid[])`
  const results = new Map(rows.map(row => [row.id, row]))
  return whole.flatMap(({ requestId = '', plan }) => {
    const result = results.get(requestId)
    const charged = charges.get(requestId)?.charged ?? 0n
    if (result?.end_state === 'complete' && (result.cost_nano ?? 0n) === charged) return []
    return [
      `${plan.name}, request ${requestId}: charged ${charged}, its result is ${JSON.stringify(result, String)}`,
    ]
  })
}
