import type { Call } from './caller.ts'
import { CAPPED, PAYERS, TIGHT } from './plan.ts'
import { isGood } from './upstream.ts'
import type { View } from './view.ts'
import { isConversation } from './wire.ts'

/** Within which what was decided elsewhere has reached a running stream, on a machine whose timers are not late. */
const OUT_MS = 3_500
/** How long it may be felt that something was broken, where timers are not late: a process that stops takes five seconds, what was away is looked for again. */
const AFTERMATH_MS = 10_000
/** Where a timer is so late, or an upstream takes so long for an answer that is no stream, the timeouts of a channel may be met. */
const TOO_LATE_MS = 250
const TOO_SLOW_MS = 1_250

/** Who was served beyond its limits or after it was out, and who was not served though it must be. */
export function findWrongService(view: View): string[] {
  return [
    ...wrongLimits(view),
    ...admittedTooLate(view),
    ...wentAstray(view),
    ...neverEnded(view),
    ...notServed(view),
  ]
}

/** Of the payer with limits: what reached the upstream, and what certainly ran at once. */
function wrongLimits(view: View): string[] {
  const { calls, limits, disturbances, beganAt } = view.story
  const { gateways, workers, hasRedis } = view.world.shape
  const own = calls.filter(({ plan, isReplay }) => plan.payer === TIGHT && !isReplay)
  const ended = Math.max(beganAt, ...own.map(({ endedAt }) => endedAt))
  const breaks = disturbances.filter(({ what }) =>
    hasRedis ? what.endsWith('redis') || what === 'freeze' : what === 'kill' || what === 'stop',
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

/** Whose key or account is out when the request is sent is not served; a running stream soon ends. */
function admittedTooLate(view: View): string[] {
  const outMs = view.late(OUT_MS)
  return view.story.calls.flatMap(({ plan, sentAt, endedAt, status, isReplay, received }) => {
    const last = received.at(-1)?.at ?? 0
    return view.bans(plan).flatMap(({ from, to }) => {
      if (isReplay || endedAt > to) return []
      if (sentAt > from)
        return status === 200 ? [`${plan.name}: admitted after its key or account was out`] : []
      if (last < from + outMs || !view.isCalm(from - outMs, last)) return []
      return [`${plan.name}: still served ${(last - from).toFixed(0)} ms after its key or account was out`]
    })
  })
}

/** What goes to a channel that is not in the file. */
function wentAstray(view: View): string[] {
  return [...Map.groupBy(view.story.calls, ({ plan }) => plan)].flatMap(([plan, sent]) => {
    const files = view.files(plan, Math.min(...sent.map(({ sentAt }) => sentAt)))
    return view
      .attempts(plan)
      .filter(({ channel }) => files.every(({ shut }) => shut === channel))
      .map(({ channel }) => `${plan.name}: went to ${channel}, which was not there`)
  })
}

/** What runs in the background ends, whatever becomes of its process. */
function neverEnded(view: View): string[] {
  return view.story.calls
    .filter(({ endedAt }) => !Number.isFinite(endedAt))
    .map(({ plan, requestId }) => `${plan.name}, request ${requestId}: still runs in the background`)
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
  const { lates } = view.story
  const { payer, key, surface, model, streamed, script, leavesAfter } = plan
  const isRich = PAYERS[payer]?.creditNano === PAYERS[0].creditNano && !(payer === CAPPED && key === 0)
  const isOut = view.bans(plan).some(({ askedAt }) => askedAt < endedAt)
  const isOff = isConversation(surface) && view.files(plan, sentAt).some(({ off }) => off === model)
  const isCalm = view.isCalm(sentAt - view.late(AFTERMATH_MS), endedAt)
  const isSlow =
    lates.some(({ from, to }) => to - from > TOO_LATE_MS && to > sentAt && from < endedAt) ||
    (!streamed && view.attempts(plan).some(each => each.endedAt - each.at > TOO_SLOW_MS))
  return (
    isRich && !isOut && !isOff && isGood(script.behaviour) && leavesAfter === undefined && isCalm && !isSlow
  )
}
