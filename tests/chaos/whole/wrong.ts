import { runStore } from '@/exchange/idempotency/store.ts'
import { ledgerStore } from '@/ledger/store.ts'
import type { Call, CallPlan } from './caller.ts'
import { CAPPED, PAYERS, TIGHT } from './plan.ts'
import { type Disturbance, LATE_TIMES, type Story } from './story.ts'
import type { Attempt } from './upstream.ts'
import { PROMPT_TOKENS } from './wire.ts'
import { ratesOf, type World } from './world.ts'

/** What has come was in a checkpoint after so long, on a machine whose timers are not late. */
const CHECKPOINT_MS = 3_000
/** Within which what was decided elsewhere has reached a running stream, on such a machine. */
const REVOKED_MS = 3_500
/** A process that is killed so soon after an answer's end may not have charged it. */
const SETTLED_MS = 2_000
/** Gateways follow a change of prices within this. */
const FOLLOWED_MS = 40_000

/** What was charged and given back under one id. */
interface Charge {
  id: string
  accountId: number
  charged: bigint
  refunded: bigint
  budgetKeyId: number | undefined
}

interface Due {
  least: bigint
  most: bigint
}

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
  const wrong: string[] = []
  const unclaimed = new Map(charges)
  const byId = Map.groupBy(
    story.calls.filter(({ requestId }) => requestId !== undefined),
    ({ requestId }) => requestId ?? '',
  )
  for (const [id, calls] of byId) {
    const charge = charges.get(id)
    unclaimed.delete(id)
    wrong.push(...view.wrongCharge(id, calls, charge?.charged ?? 0n, charge?.refunded ?? 0n))
  }
  wrong.push(...view.wrongAnonymous([...unclaimed.values()]))
  const errands = Map.groupBy(
    story.calls.filter(({ plan }) => plan.idempotent),
    ({ plan }) => plan,
  )
  for (const [plan, calls] of errands) wrong.push(...view.wrongErrand(plan, calls, charges))
  wrong.push(...(await wrongBalances(world, story, [...charges.values()], view)))
  wrong.push(...view.wrongLimits(), ...view.admittedTooLate())
  wrong.push(...(await wrongReceipts(world, story, charges, view)))
  const left = await ledgerStore(fleet.database).notGivenBack(await runStore(fleet.database).takenOver())
  for (const { id, accountId, amountNano } of left) {
    if (isGivenBack && accounts.includes(accountId))
      wrong.push(`dead run ${id}: ${amountNano} not given back`)
  }
  return wrong
}

/** What each call may have cost, from what was seen outside of the gateways. */
class View {
  readonly #world: World
  readonly #story: Story

  constructor(world: World, story: Story) {
    this.#world = world
    this.#story = story
  }

  attempts({ name }: CallPlan): readonly Attempt[] {
    return this.#world.upstream.attempts.get(name) ?? []
  }

  /** Price lists by which it may be charged: a request is, by those that held when it began. */
  #lists(plan: CallPlan, sentAt: number): number[] {
    const { lists } = this.#world
    const begun = this.attempts(plan).at(-1)?.at ?? sentAt
    return lists
      .filter(({ from }, index) => {
        const until = lists[index + 1]?.from ?? Number.POSITIVE_INFINITY
        return from <= begun && until + FOLLOWED_MS >= sentAt
      })
      .map(({ list }) => list)
  }

  #cost({ surface }: CallPlan, list: number, input: number, output: number): bigint {
    const { input: inputNano, output: outputNano, picture } = ratesOf(list)
    if (surface === 'images') return BigInt(picture)
    return BigInt(input * inputNano + output * outputNano)
  }

  /** The most that anything that was done for it can have cost. */
  most(plan: CallPlan, sentAt: number): bigint {
    const attempts = this.attempts(plan)
    if (attempts.length === 0) return 0n
    const sent = Math.max(...attempts.map(each => each.sent))
    const costs = this.#lists(plan, sentAt).map(list => this.#cost(plan, list, inputBound(plan), sent))
    return costs.reduce(larger, 0n)
  }

  /** Whether a process was killed that may have had it. */
  killOf({ gateway, sentAt, endedAt }: Call): Disturbance | undefined {
    return this.#story.disturbances.find(
      each =>
        each.gateway === gateway &&
        each.what !== 'stop' &&
        each.at >= sentAt &&
        each.at <= endedAt + SETTLED_MS,
    )
  }

  wrongCharge(id: string, calls: readonly Call[], charged: bigint, refunded: bigint): string[] {
    const whole = calls.find(({ isWhole }) => isWhole)
    const first = calls.find(({ isReplay }) => !isReplay) ?? calls[0]
    if (first === undefined) return []
    const { plan } = first
    const wrong: string[] = []
    const say = (what: string) => wrong.push(`${plan.name}, request ${id}: ${what}`)
    if (whole !== undefined) {
      const dues = this.#wholeDues(plan, Math.min(...calls.map(({ sentAt }) => sentAt)))
      if (!dues.some(({ least, most }) => charged >= least && charged <= most)) {
        const due = dues.map(({ least, most }) => (least === most ? `${least}` : `${least} to ${most}`))
        say(`a whole answer was charged ${charged}, due ${due.join(' or ')}`)
      }
    } else {
      const most = first.status === 200 ? this.most(plan, first.sentAt) : 0n
      const least = plan.idempotent || first.status !== 200 ? 0n : this.#leastOfCut(first)
      if (charged < least || charged > most)
        say(`charged ${charged} with ${first.status}, due ${least} to ${most}`)
    }
    const asked = this.#story.refunds.get(id) ?? 0n
    if (!plan.idempotent && refunded !== asked) say(`refunded ${refunded}, asked ${asked}`)
    if (refunded > charged) say(`refunded ${refunded} of ${charged}`)
    const bodies = new Set(calls.filter(({ isWhole }) => isWhole).map(({ body }) => withoutKeepalives(body)))
    if (bodies.size > 1) say(`${bodies.size} different answers`)
    return wrong
  }

  #wholeDues(plan: CallPlan, sentAt: number): Due[] {
    const wholes = this.attempts(plan).filter(({ isWhole }) => isWhole)
    return this.#lists(plan, sentAt).flatMap(list =>
      wholes.map(({ sent, isReported }) => {
        const least = this.#cost(plan, list, isReported ? PROMPT_TOKENS : 0, sent)
        const most = isReported ? least : this.#cost(plan, list, inputBound(plan), sent)
        return { least, most }
      }),
    )
  }

  #late(ms: number): number {
    return ms + LATE_TIMES * this.#story.lateMs
  }

  /** What the caller had got; of a process that was killed, at its last checkpoint before that. */
  #leastOfCut(call: Call): bigint {
    const { plan, sentAt, received } = call
    const kill = this.killOf(call)
    const known = kill === undefined ? Number.POSITIVE_INFINITY : kill.at - this.#late(CHECKPOINT_MS)
    const isCheckpointed = !this.#story.disturbances.some(
      ({ what, at }) =>
        what.endsWith('postgres') && kill !== undefined && at >= sentAt - SETTLED_MS && at <= kill.at,
    )
    const tokens = received.findLast(({ at }) => at <= known)?.tokens ?? 0
    if (tokens === 0 || !isCheckpointed) return 0n
    return this.#lists(plan, sentAt)
      .map(list => this.#cost(plan, list, 0, tokens))
      .reduce(smaller)
  }

  /** Charges whose ids no caller has heard of: each is of a call that got no head. */
  wrongAnonymous(charges: readonly Charge[]): string[] {
    const wrong: string[] = []
    for (const [payer, { accountId }] of this.#story.payers.entries()) {
      const found = charges.filter(charge => charge.accountId === accountId && charge.charged > 0n)
      const calls = this.#story.calls.filter(({ plan }) => plan.payer === payer)
      const rooms = [...Map.groupBy(calls, ({ plan }) => plan)].flatMap(([plan, sent]) => {
        const most = this.most(plan, sent[0]?.sentAt ?? 0)
        // Each attempt at a request under a key may be a run of its own.
        const anonymous = plan.idempotent
          ? this.attempts(plan).length
          : sent.filter(({ status }) => status === undefined).length
        return Array.from({ length: anonymous }, () => most)
      })
      rooms.sort(descending)
      for (const [index, { id, charged }] of found
        .sort((a, b) => descending(a.charged, b.charged))
        .entries()) {
        if (charged > (rooms[index] ?? 0n)) {
          wrong.push(`payer ${payer}: ${charged} charged of nobody, request ${id}`)
        }
      }
    }
    return wrong
  }

  wrongErrand(plan: CallPlan, calls: readonly Call[], charges: ReadonlyMap<string, Charge>): string[] {
    const wrong: string[] = []
    const isKilled = calls.some(call => this.killOf(call) !== undefined)
    const whole = calls.filter(({ isWhole }) => isWhole)
    const ids = new Set(whole.map(({ requestId }) => requestId))
    const attempts = this.attempts(plan)
    if (ids.size > 1 && !isKilled)
      wrong.push(`${plan.name}: ${ids.size} whole answers, ${[...ids].join(' and ')}`)
    const wholeAt = Math.min(...whole.map(({ endedAt }) => endedAt))
    const late = attempts.filter(({ at }) => at > wholeAt)
    if (late.length > 0 && !isKilled) wrong.push(`${plan.name}: ran again after its whole answer`)
    const known = new Set(calls.map(({ requestId }) => requestId ?? ''))
    const paid = [...known].reduce(
      (sum, id) => sum + (charges.get(id)?.charged ?? 0n) - (charges.get(id)?.refunded ?? 0n),
      0n,
    )
    const sentAt = Math.min(...calls.map(call => call.sentAt))
    const most = attempts.reduce((sum, { sent }) => {
      const costs = this.#lists(plan, sentAt).map(list => this.#cost(plan, list, inputBound(plan), sent))
      return sum + costs.reduce(larger, 0n)
    }, 0n)
    if (paid > most) wrong.push(`${plan.name}: its runs were charged ${paid}, at most ${most}`)
    return wrong
  }

  /** How far below zero an account, or below its cap a key, may end: by all that ran at one time. */
  overrun(isOf: (call: Call) => boolean): bigint {
    const calls = this.#story.calls.filter(isOf)
    return calls
      .map(({ sentAt }) =>
        calls
          .filter(call => call.sentAt <= sentAt && call.endedAt >= sentAt)
          .reduce((sum, call) => sum + this.most(call.plan, call.sentAt), 0n),
      )
      .reduce(larger, 0n)
  }

  /** Of the payer with limits: what reached the upstream, and what certainly ran at once. */
  wrongLimits(): string[] {
    const { calls, limits, disturbances, beganAt } = this.#story
    const { gateways, workers, hasRedis } = this.#world.shape
    const own = calls.filter(({ plan, isReplay }) => plan.payer === TIGHT && !isReplay)
    const ended = Math.max(beganAt, ...own.map(({ endedAt }) => endedAt))
    const breaks = disturbances.filter(({ what }) =>
      hasRedis ? what.endsWith('redis') : what === 'kill' || what === 'stop',
    )
    const bursts = 1 + breaks.length * gateways * workers
    const most = limits.requests * ((ended - beganAt) / 60_000 + bursts)
    const admitted = new Set(own.filter(({ status }) => status === 200).map(({ requestId }) => requestId))
      .size
    const wrong: string[] = []
    if (admitted > most)
      wrong.push(`${admitted} requests of ${limits.requests} a minute, at most ${most.toFixed(1)}`)
    const spans = own
      .filter(({ status, plan }) => status === 200 && !plan.idempotent)
      .flatMap(call => {
        const [first] = this.attempts(call.plan)
        const last = this.attempts(call.plan).at(-1)
        const killedAt = this.#story.disturbances.find(({ gateway }) => gateway === call.gateway)?.at
        const end = Math.min(last?.endedAt ?? 0, call.endedAt, killedAt ?? Number.POSITIVE_INFINITY)
        return first === undefined ? [] : [{ from: first.at, to: end }]
      })
    const atOnce = Math.max(
      0,
      ...spans.map(({ from }) => spans.filter(each => each.from <= from && each.to > from).length),
    )
    const places = limits.concurrent * (1 + breaks.length) + (breaks.length > 0 ? gateways * workers : 0)
    if (atOnce > places) wrong.push(`${atOnce} at once of ${limits.concurrent}, at most ${places}`)
    return wrong
  }

  /** Whoever was revoked or suspended when the request was sent is not served; a running stream soon ends. */
  admittedTooLate(): string[] {
    const { calls, revoked, suspended, disturbances } = this.#story
    const revokedMs = this.#late(REVOKED_MS)
    return calls.flatMap(call => {
      const { plan, sentAt, status, isReplay, received } = call
      const revokedAt = plan.key === 1 ? revoked.get(plan.payer) : undefined
      const isOut =
        (revokedAt !== undefined && sentAt > revokedAt) ||
        suspended.some(({ payer, from, to }) => payer === plan.payer && sentAt > from && call.endedAt < to)
      const wrong: string[] = []
      if (isOut && status === 200 && !isReplay)
        wrong.push(`${plan.name}: admitted after its key or account was out`)
      const last = received.at(-1)?.at ?? 0
      const isCalm = !disturbances.some(
        ({ at }) => revokedAt !== undefined && at > revokedAt - revokedMs && at < last,
      )
      if (
        revokedAt !== undefined &&
        isCalm &&
        !isReplay &&
        sentAt < revokedAt &&
        last > revokedAt + revokedMs
      ) {
        wrong.push(`${plan.name}: still served ${(last - revokedAt).toFixed(0)} ms after its key was revoked`)
      }
      return wrong
    })
  }
}

async function wrongBalances(
  { fleet: { database } }: World,
  story: Story,
  charges: readonly Charge[],
  view: View,
): Promise<string[]> {
  const wrong: string[] = []
  const net = (some: readonly Charge[]) =>
    some.reduce((sum, { charged, refunded }) => sum + charged - refunded, 0n)
  const wallets = await database.sql<
    { account_id: bigint; balance: bigint; pending: bigint; holds: bigint }[]
  >`
    select account_id, credits - debits as balance, pending, (select count(*) from hold h where h.account_id = w.account_id) as holds
    from wallet w where account_id = any (${story.payers.map(({ accountId }) => accountId)}::bigint[])`
  for (const [payer, { accountId }] of story.payers.entries()) {
    const found = wallets.find(({ account_id }) => Number(account_id) === accountId)
    const due = (story.given[payer] ?? 0n) - net(charges.filter(charge => charge.accountId === accountId))
    if (found?.balance !== due) wrong.push(`payer ${payer}: balance ${found?.balance}, due ${due}`)
    if (found?.pending !== 0n || found.holds !== 0n) {
      wrong.push(`payer ${payer}: ${found?.pending} are still set aside in ${found?.holds} holds`)
    }
    const least = -(story.taken[payer] ?? 0n) - view.overrun(({ plan }) => plan.payer === payer)
    if ((found?.balance ?? 0n) < least)
      wrong.push(`payer ${payer}: balance ${found?.balance}, at least ${least}`)
  }
  const keyId = story.payers[CAPPED]?.keys[0].id ?? 0
  const [budget] = await database.sql<{ spent: bigint; pending: bigint }[]>`
    select spent, pending from key_budget where key_id = ${keyId}`
  const spent = net(charges.filter(({ budgetKeyId }) => budgetKeyId === keyId))
  if ((budget?.spent ?? 0n) !== spent || (budget?.pending ?? 0n) !== 0n) {
    wrong.push(`the capped key: ${JSON.stringify(budget, String)}, due ${spent}`)
  }
  const most = PAYERS[CAPPED].capNano + view.overrun(({ plan }) => plan.payer === CAPPED && plan.key === 0)
  if (spent > most) wrong.push(`the capped key: spent ${spent}, at most ${most}`)
  const byKey = new Map(
    story.calls.map(({ requestId, plan }) => [requestId, plan.payer === CAPPED && plan.key === 0]),
  )
  for (const { id, budgetKeyId, charged } of charges) {
    const isCapped = byKey.get(id)
    if (charged > 0n && isCapped !== undefined && isCapped !== (budgetKeyId !== undefined)) {
      wrong.push(`request ${id}: counted by the cap of ${budgetKeyId}`)
    }
  }
  return wrong
}

/** Each whole answer has a stored result that says what was charged, but where its process was killed. */
async function wrongReceipts(
  { fleet: { database } }: World,
  { calls }: Story,
  charges: ReadonlyMap<string, Charge>,
  view: View,
): Promise<string[]> {
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

/** No count of a prompt is above its bytes: those of the script and its name, and the words around them. */
function inputBound(plan: CallPlan): number {
  return 100 + JSON.stringify(plan).length / 4
}

function withoutKeepalives(body: string): string {
  return body.replaceAll(': keepalive\n\n', '')
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function descending(one: bigint, other: bigint): number {
  return one > other ? -1 : 1
}
