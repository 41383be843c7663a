import type { Call, CallPlan } from './caller.ts'
import { inputBound, larger, SETTLED_MS, type View } from './view.ts'
import { PROMPT_TOKENS } from './wire.ts'

/** What has come was in a checkpoint after so long, on a machine whose timers are not late. */
const CHECKPOINT_MS = 3_000

/** What was charged and given back under one id. */
export interface Charge {
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

/** Charges that are not as they must be: of each request, of nobody's, and of each request that was repeated under its key. */
export function findWrongCharges(view: View, charges: ReadonlyMap<string, Charge>): string[] {
  const { calls } = view.story
  const wrong: string[] = []
  const unclaimed = new Map(charges)
  const byId = Map.groupBy(
    calls.filter(({ requestId }) => requestId !== undefined),
    ({ requestId }) => requestId ?? '',
  )
  for (const [id, own] of byId) {
    const charge = charges.get(id)
    unclaimed.delete(id)
    wrong.push(...wrongCharge(view, id, own, charge))
  }
  wrong.push(...wrongAnonymous(view, [...unclaimed.values()]))
  const errands = Map.groupBy(
    calls.filter(({ plan }) => plan.idempotent),
    ({ plan }) => plan,
  )
  for (const [plan, own] of errands) wrong.push(...wrongErrand(view, plan, own, charges))
  return wrong
}

function wrongCharge(
  view: View,
  id: string,
  calls: readonly Call[],
  { charged, refunded }: Pick<Charge, 'charged' | 'refunded'> = { charged: 0n, refunded: 0n },
): string[] {
  const whole = calls.find(({ isWhole }) => isWhole)
  const first = calls.find(({ isReplay }) => !isReplay) ?? calls[0]
  if (first === undefined) return []
  const { plan } = first
  const wrong: string[] = []
  const say = (what: string) => wrong.push(`${plan.name}, request ${id}: ${what}`)
  if (whole !== undefined) {
    const dues = wholeDues(view, plan, Math.min(...calls.map(({ sentAt }) => sentAt)))
    if (!dues.some(({ least, most }) => charged >= least && charged <= most)) {
      const due = dues.map(({ least, most }) => (least === most ? `${least}` : `${least} to ${most}`))
      say(`a whole answer was charged ${charged}, due ${due.join(' or ')}`)
    }
  } else {
    const most = first.status === 200 || isUntold(view, first) ? view.most(plan, first.sentAt) : 0n
    const least = plan.idempotent || first.status !== 200 ? 0n : leastOfCut(view, first)
    if (charged < least || charged > most)
      say(`charged ${charged} with ${first.status}, due ${least} to ${most}`)
  }
  const asked = view.story.refunds.get(id) ?? 0n
  if (!plan.idempotent && refunded !== asked) say(`refunded ${refunded}, asked ${asked}`)
  if (refunded > charged) say(`refunded ${refunded} of ${charged}`)
  const bodies = new Set(calls.filter(({ isWhole }) => isWhole).map(({ body }) => withoutKeepalives(body)))
  if (bodies.size > 1) say(`${bodies.size} different answers`)
  return wrong
}

function wholeDues(view: View, plan: CallPlan, sentAt: number): Due[] {
  const wholes = view.attempts(plan).filter(({ isWhole }) => isWhole)
  return view.lists(plan, sentAt).flatMap(list =>
    wholes.map(({ sent, isReported }) => {
      const least = view.cost(plan, list, isReported ? PROMPT_TOKENS : 0, sent)
      const most = isReported ? least : view.cost(plan, list, inputBound(plan), sent)
      return { least, most }
    }),
  )
}

/** Whether nobody could tell its caller that a film was ordered, since the database did not say whether it has the job. */
function isUntold(view: View, { plan, status = 0, sentAt, endedAt }: Call): boolean {
  return plan.surface === 'videos' && status >= 500 && !view.isCalm(sentAt, endedAt)
}

/** What the caller had got, or a film that is made, whoever asks for it; of a process that was killed, at its last checkpoint before that. */
function leastOfCut(view: View, call: Call): bigint {
  const { plan, sentAt, received } = call
  const costs = (tokens: number) =>
    view
      .lists(plan, sentAt)
      .map(list => view.cost(plan, list, 0, tokens))
      .reduce(smaller)
  if (plan.surface === 'videos') return view.attempts(plan).at(-1)?.isGood === true ? costs(0) : 0n
  const kill = view.killOf(call)
  const known = kill === undefined ? Number.POSITIVE_INFINITY : kill.at - view.late(CHECKPOINT_MS)
  const isCheckpointed = !view.story.disturbances.some(
    ({ what, at }) =>
      what.endsWith('postgres') && kill !== undefined && at >= sentAt - SETTLED_MS && at <= kill.at,
  )
  const tokens = received.findLast(({ at }) => at <= known)?.tokens ?? 0
  if (tokens === 0 || !isCheckpointed) return 0n
  return costs(tokens)
}

/** Charges whose ids no caller has heard of: each is of a call that got no head. */
function wrongAnonymous(view: View, charges: readonly Charge[]): string[] {
  const wrong: string[] = []
  for (const [payer, { accountId }] of view.story.payers.entries()) {
    const found = charges.filter(charge => charge.accountId === accountId && charge.charged > 0n)
    const calls = view.story.calls.filter(({ plan }) => plan.payer === payer)
    const rooms = [...Map.groupBy(calls, ({ plan }) => plan)].flatMap(([plan, sent]) => {
      const most = view.most(plan, sent[0]?.sentAt ?? 0)
      // Each attempt at a request under a key may be a run of its own.
      const anonymous = plan.idempotent
        ? view.attempts(plan).length
        : sent.filter(({ status }) => status === undefined).length
      return Array.from({ length: anonymous }, () => most)
    })
    rooms.sort(descending)
    for (const [index, { id, charged }] of found.sort((a, b) => descending(a.charged, b.charged)).entries()) {
      if (charged > (rooms[index] ?? 0n)) {
        wrong.push(`payer ${payer}: ${charged} charged of nobody, request ${id}`)
      }
    }
  }
  return wrong
}

function wrongErrand(
  view: View,
  plan: CallPlan,
  calls: readonly Call[],
  charges: ReadonlyMap<string, Charge>,
): string[] {
  const wrong: string[] = []
  const isTakenOver = calls.some(call => view.isTakenOver(call))
  const whole = calls.filter(({ isWhole }) => isWhole)
  const ids = new Set(whole.map(({ requestId }) => requestId))
  const attempts = view.attempts(plan)
  if (ids.size > 1 && !isTakenOver)
    wrong.push(`${plan.name}: ${ids.size} whole answers, ${[...ids].join(' and ')}`)
  const wholeAt = Math.min(...whole.map(({ endedAt }) => endedAt))
  const late = attempts.filter(({ at }) => at > wholeAt)
  if (late.length > 0 && !isTakenOver) wrong.push(`${plan.name}: ran again after its whole answer`)
  const known = new Set(calls.map(({ requestId }) => requestId ?? ''))
  const paid = [...known].reduce(
    (sum, id) => sum + (charges.get(id)?.charged ?? 0n) - (charges.get(id)?.refunded ?? 0n),
    0n,
  )
  const sentAt = Math.min(...calls.map(call => call.sentAt))
  const most = attempts.reduce((sum, { sent }) => {
    const costs = view.lists(plan, sentAt).map(list => view.cost(plan, list, inputBound(plan), sent))
    return sum + costs.reduce(larger, 0n)
  }, 0n)
  if (paid > most) wrong.push(`${plan.name}: its runs were charged ${paid}, at most ${most}`)
  return wrong
}

function withoutKeepalives(body: string): string {
  return body.replaceAll(': keepalive\n\n', '')
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function descending(one: bigint, other: bigint): number {
  return one > other ? -1 : 1
}
