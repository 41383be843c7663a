import type { Call } from './caller.ts'
import { CAPPED, PAYERS, TIGHT } from './plan.ts'
import { isGood } from './upstream.ts'
import type { View } from './view.ts'
import { isConversation } from './wire.ts'

/** Within which what was decided elsewhere has reached a running stream, on a machine whose timers are not late. */
const REVOKED_MS = 3_500
/** How long it may be felt that something was broken, where timers are not late: a process that stops takes five seconds, what was away is looked for again. */
const AFTERMATH_MS = 10_000
/** Where a timer is so late, or an upstream takes so long for an answer that is no stream, the timeouts of a channel may be met. */
const TOO_LATE_MS = 250
const TOO_SLOW_MS = 1_250

/** Who was served beyond its limits or after it was out, and who was not served though it must be. */
export function findWrongService(view: View): string[] {
  return [...wrongLimits(view), ...admittedTooLate(view), ...notServed(view)]
}

/** Of the payer with limits: what reached the upstream, and what certainly ran at once. */
function wrongLimits(view: View): string[] {
  const { calls, limits, disturbances, beganAt } = view.story
  const { gateways, workers, hasRedis } = view.world.shape
  const own = calls.filter(({ plan, isReplay }) => plan.payer === TIGHT && !isReplay)
  const ended = Math.max(beganAt, ...own.map(({ endedAt }) => endedAt))
  const breaks = disturbances.filter(({ what }) =>
    hasRedis ? what.endsWith('redis') : what === 'kill' || what === 'stop',
  )
  const bursts = 1 + breaks.length * gateways * workers
  const most = limits.requests * ((ended - beganAt) / 60_000 + bursts)
  const admitted = new Set(own.filter(({ status }) => status === 200).map(({ requestId }) => requestId)).size
  const wrong: string[] = []
  if (admitted > most)
    wrong.push(`${admitted} requests of ${limits.requests} a minute, at most ${most.toFixed(1)}`)
  const spans = own
    .filter(({ status, plan }) => status === 200 && !plan.idempotent)
    .flatMap(call => {
      const [first] = view.attempts(call.plan)
      const last = view.attempts(call.plan).at(-1)
      const killedAt = view.story.disturbances.find(({ gateway }) => gateway === call.gateway)?.at
      const end = Math.min(last?.endedAt ?? 0, call.endedAt, killedAt ?? Number.POSITIVE_INFINITY)
      // The gateway has ended it before we hear of that.
      return first === undefined ? [] : [{ from: first.at, to: end - view.late(0) }]
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
function admittedTooLate(view: View): string[] {
  const { calls, revoked, suspended, disturbances } = view.story
  const revokedMs = view.late(REVOKED_MS)
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

/** What nothing is in the way of comes whole, or is refused with the time at which to come back. */
function notServed(view: View): string[] {
  return view.story.calls
    .filter(call => !call.isWhole && isToBeServed(view, call))
    .filter(({ status, hasRetryAfter }) => !(hasRetryAfter && (status === 429 || status === 503)))
    .filter(({ status, plan }) => !(plan.idempotent && status === 409))
    .map(
      ({ plan, status, requestId, body }) =>
        `${plan.name}, request ${requestId}: not served, ${status} ${body.slice(0, 300)}`,
    )
}

/** Its payer is rich, it asks for what there is, the upstream answers, and nobody leaves and nothing is broken meanwhile. */
function isToBeServed(view: View, { plan, sentAt, endedAt }: Call): boolean {
  const { revoked, suspended, disturbances, lates } = view.story
  const { payer, key, surface, model, streamed, script, leavesAfter } = plan
  const isRich = PAYERS[payer]?.creditNano === PAYERS[0].creditNano && !(payer === CAPPED && key === 0)
  const isOut = (key === 1 && revoked.has(payer)) || suspended.some(each => each.payer === payer)
  const isOff = isConversation(surface) && view.files(plan, sentAt).some(({ off }) => off === model)
  const isCalm = !disturbances.some(({ at }) => at > sentAt - view.late(AFTERMATH_MS) && at < endedAt)
  const isSlow =
    lates.some(({ from, to }) => to - from > TOO_LATE_MS && to > sentAt && from < endedAt) ||
    (!streamed && view.attempts(plan).some(each => each.endedAt - each.at > TOO_SLOW_MS))
  return (
    isRich && !isOut && !isOff && isGood(script.behaviour) && leavesAfter === undefined && isCalm && !isSlow
  )
}
