import { insist } from '#tests/support/insist.ts'
import { hashCode, mintCode } from '@/ledger/redeem-code.ts'
import { createCodes, ledgerStore, postEntry } from '@/ledger/store.ts'
import type { Act, Change, Move, Refund } from './plan.ts'
import type { Story } from './story.ts'
import type { World } from './world.ts'

/** Why an entry was posted that takes out what a closed account had left. */
export const PAID_OUT = 'what was left'

/** Does what an administrator or a payer does, and notes what it must come to. Tells what was answered. */
export async function act(world: World, story: Story, step: Act): Promise<string> {
  switch (step.do) {
    case 'apply':
      await world.applyFile(step)
      return 'sent'
    case 'refund':
      return refund(world, story, step)
    case 'credit':
    case 'debit':
    case 'top-up':
    case 'redeem':
      return move(world, story, step)
    case 'revoke':
    case 'suspend':
    case 'resume':
    case 'close':
    case 'limits':
      return change(world, story, step)
  }
}

async function refund(world: World, { calls, refunds }: Story, step: Refund): Promise<string> {
  const whole = calls.filter(({ isWhole, isReplay, plan }) => isWhole && !isReplay && !plan.idempotent)
  const id = whole[step.which % Math.max(1, whole.length)]?.requestId
  if (id === undefined) return 'nothing to refund'
  const { status, text } = await post(world, `/api/admin/requests/${id}/refund`, step.amountNano)
  if (status !== 200) return `${status} ${text}`
  refunds.set(id, (refunds.get(id) ?? 0n) + BigInt(step.amountNano))
  return `${status} ${id}`
}

/** What moves money is sent more than once at once, as if an answer had been lost. */
async function post(
  { administer }: World,
  path: string,
  nano: number,
): Promise<{ status: number; text: string }> {
  const body = { amount: (nano / 1e9).toFixed(9), reason: 'a simulation', once: crypto.randomUUID() }
  const [answer] = await Promise.all([administer('POST', path, body), administer('POST', path, body)])
  return answer
}

async function move(world: World, story: Story, step: Move): Promise<string> {
  const { payer, amountNano: nano } = step
  const { accountId = 0 } = story.payers[payer] ?? {}
  const amountNano = BigInt(nano)
  const { database } = world.fleet
  if (step.do === 'top-up') {
    const name = crypto.randomUUID()
    const idempotency = { scope: 'stripe', key: `cs_${name}` } as const
    const posting = { accountId, kind: 'topup', amountNano, ref: `pi_${name}`, idempotency } as const
    const pay = () => insist(() => postEntry(database.sql, { ...posting, id: Bun.randomUUIDv7() }))
    await Promise.all([pay(), pay(), pay()])
  } else if (step.do === 'redeem') {
    const code = hashCode(mintCode())
    await insist(() => createCodes(database.sql, [code], { amountNano, uses: 2 }))
    const redeem = () => insist(() => ledgerStore(database).redeem(Bun.randomUUIDv7(), code, accountId))
    await Promise.all([redeem(), redeem()])
  } else {
    done(step, await post(world, `/api/admin/accounts/${accountId}/${step.do}`, nano))
  }
  const given = step.do === 'debit' ? -amountNano : amountNano
  story.given[payer] = (story.given[payer] ?? 0n) + given
  if (given < 0n) story.taken[payer] = (story.taken[payer] ?? 0n) - given
  return 'done'
}

async function change(world: World, story: Story, step: Change): Promise<string> {
  const { payer } = step
  const { accountId = 0, keys } = story.payers[payer] ?? {}
  const path = `/api/admin/accounts/${accountId}`
  const reason = 'a simulation'
  const askedAt = performance.now()
  const ban = (key?: number) =>
    story.bans.push({ payer, key, askedAt, from: performance.now(), to: Number.POSITIVE_INFINITY })
  switch (step.do) {
    case 'revoke':
      done(step, await world.administer('POST', `/api/admin/keys/${keys?.[1].id}/revoke`))
      ban(1)
      return 'done'
    case 'suspend':
      done(step, await world.administer('POST', `${path}/suspend`, { reason }))
      ban()
      return 'done'
    case 'resume': {
      const suspension = story.bans.findLast(each => each.payer === payer && each.key === undefined)
      if (suspension !== undefined) suspension.to = askedAt
      return done(step, await world.administer('POST', `${path}/resume`, { reason }))
    }
    case 'close': {
      const answer = await world.administer('POST', `${path}/close`, { reason })
      // It may have been done when the answer got lost.
      if (!answer.text.includes('is closed')) done(step, answer)
      ban()
      return (await payOut(world, story, payer)).text
    }
    case 'limits': {
      const { requests, concurrent } = step
      const { limits } = story
      limits.requests = Math.max(requests, limits.requests)
      limits.concurrent = Math.max(concurrent, limits.concurrent)
      const body = { requests_per_minute: requests, concurrent_requests: concurrent }
      return done(step, await world.administer('PATCH', `${path}/limits`, body))
    }
  }
}

/** Posts out what is left of a closed account, which is refused while its last requests run. */
export function payOut(
  { administer }: World,
  { payers }: Story,
  payer: number,
): Promise<{ status: number; text: string }> {
  const body = { as: 'debit', reason: PAID_OUT }
  return administer('POST', `/api/admin/accounts/${payers[payer]?.accountId}/pay-out`, body)
}

/** @throws Error if it was not done */
function done({ do: what }: { do: string }, { status, text }: { status: number; text: string }): string {
  if (status !== 200) throw new Error(`${what}: ${status} ${text}`)
  return 'done'
}
