import { pick, type Random, randomOf } from '#tests/support/random.ts'
import type { CallPlan } from './caller.ts'
import { BEHAVIOURS } from './upstream.ts'
import { isConversation, SURFACES } from './wire.ts'

/** What runs: gateways, workers of each, and whether they share a Redis. */
export const SHAPES = [
  { gateways: 1, workers: 1, hasRedis: false },
  { gateways: 2, workers: 1, hasRedis: true },
  { gateways: 1, workers: 2, hasRedis: true },
] as const
export type Shape = (typeof SHAPES)[number]

export function shapeOf(seed: number): Shape {
  return SHAPES[seed % SHAPES.length] ?? SHAPES[0]
}

/** Who pays, in nano, and what is special about it. */
export const PAYERS = [
  { creditNano: 10n ** 10n },
  /** For a handful of answers. */
  { creditNano: 3_000_000n },
  { creditNano: 100_000_000n, onTrial: true },
  /** Its first key may spend so much. */
  { creditNano: 10n ** 10n, capNano: 4_000_000n },
  { creditNano: 10n ** 10n, limits: { requests_per_minute: 8, concurrent_requests: 2 } },
  /** Its account may be closed, and nothing else is done to it. */
  { creditNano: 10n ** 10n },
] as const
export const CAPPED = 3
export const TIGHT = 4
export const CLOSING = 5

export const MODELS = ['chat', 'responses', 'messages', 'gemini'] as const
/** One for each model, and the one that is the other way for all of them. */
export const CHANNELS = [...MODELS, 'other'] as const
/** How many price lists there are to change between. */
export const PRICE_LISTS = 4

/** Money for a payer, or from one. */
export interface Move {
  do: 'credit' | 'debit' | 'top-up' | 'redeem'
  payer: number
  amountNano: number
}

/** Of an answer that came whole, the `which`th of those there are then. */
export interface Refund {
  do: 'refund'
  which: number
  amountNano: number
}

/** Of a payer's second key, its account or its limits. */
export type Change =
  | { do: 'revoke' | 'suspend' | 'resume' | 'close'; payer: number }
  | { do: 'limits'; payer: number; requests: number; concurrent: number }

/** What of the file changes. */
export interface Catalog {
  /** Which prices it has. */
  list: number
  /** A model that it does not have for everybody. */
  off: string | undefined
  /** A channel that it does not have. */
  shut: string | undefined
}

/** The file is applied again. */
type Reapply = { do: 'apply' } & Catalog

export type Act = Move | Refund | Change | Reapply

export interface Fault {
  do: (typeof FAULTS)[number]
  gateway: number
  /** Not before some stream has had a checkpoint or two. */
  isLate: boolean
}

const EVERYWHERE = ['kill', 'kill', 'stop', 'freeze', 'crash-postgres', 'pause-postgres'] as const
const WITH_REDIS = ['kill-redis', 'flush-redis', 'pause-redis'] as const
const WITH_WORKERS = ['kill-worker', 'kill-worker', 'kill-worker'] as const
const FAULTS = [...EVERYWHERE, ...WITH_REDIS, ...WITH_WORKERS] as const

export type Step = { do: 'call'; call: CallPlan } | Act | Fault | { do: 'wait'; events: number }

const STEPS = 60
/** Streams that take long begin here for the most part, and faults come behind. */
const LONG_STEPS = 15

/** What a seed does, one step after the other. Calls and faults go on beside the next steps. */
export function planOf(seed: number, { hasRedis, workers, gateways }: Shape): Step[] {
  const random = randomOf(seed)
  const faults = [...EVERYWHERE, ...(hasRedis ? WITH_REDIS : []), ...(workers > 1 ? WITH_WORKERS : [])]
  const faultAt = new Set(Array.from({ length: 1 + random(3) }, () => 15 + random(STEPS - 20)))
  const steps: Step[] = []
  let suspended: number | undefined
  for (let index = 0; index < STEPS; index += 1) {
    if (faultAt.has(index)) {
      const fault = pick(faults, random)
      const isLate = random(2) === 0 || fault === 'freeze'
      steps.push({ do: fault, gateway: random(gateways), isLate })
      continue
    }
    const kind = random(10)
    if (kind < 6)
      steps.push({ do: 'call', call: callOf(`s${seed}-${index}`, index < LONG_STEPS ? 2 : 8, random) })
    else if (kind < 8) steps.push({ do: 'wait', events: 1 + random(80) })
    else if (suspended !== undefined) {
      steps.push({ do: 'resume', payer: suspended })
      suspended = undefined
    } else {
      const act = actOf(random)
      steps.push(act)
      if (act.do === 'suspend') suspended = act.payer
    }
  }
  if (suspended !== undefined) steps.push({ do: 'resume', payer: suspended })
  return steps
}

/** @param longOf one in so many streams takes several checkpoints */
function callOf(name: string, longOf: number, random: Random): CallPlan {
  const surface = random(6) === 0 ? pick(SURFACES.slice(4), random) : pick(SURFACES.slice(0, 4), random)
  const streamed = isConversation(surface) && random(4) > 0
  const isLong = streamed && random(longOf) === 0
  const events = isLong ? 150 : 4 + random(40)
  const each = pick([5, 10, 10, 40], random)
  const background = surface === 'responses' && !streamed && random(2) === 0
  const idempotent = !background && random(4) === 0
  return {
    name,
    payer: random(PAYERS.length),
    key: random(3) === 0 ? 1 : 0,
    surface,
    model: pick(MODELS, random),
    streamed,
    background,
    most: random(2) === 0 ? undefined : pick([100, 600, 3000], random),
    script: {
      events,
      each,
      paceMs: isLong ? 80 : 5 + random(40),
      behaviour: random(3) === 0 ? pick(BEHAVIOURS, random) : 'good',
    },
    leavesAfter: random(4) === 0 ? 1 + random(events * 150) : undefined,
    idempotent,
    twice: idempotent && random(2) === 0,
  }
}

function actOf(random: Random): Act {
  const payer = random(CLOSING)
  const amountNano = 1_000 * (1 + random(2_000))
  switch (random(12)) {
    case 0:
      return { do: 'credit', payer, amountNano }
    case 1:
      return { do: 'debit', payer, amountNano }
    case 2:
      return { do: 'top-up', payer, amountNano }
    case 3:
      return { do: 'redeem', payer, amountNano }
    case 4:
    case 5:
      return { do: 'refund', which: random(100), amountNano: 1_000 * (1 + random(200)) }
    case 6:
      return { do: 'revoke', payer }
    case 7:
      return { do: 'suspend', payer }
    case 8:
      return { do: 'limits', payer: TIGHT, requests: 6 + random(20), concurrent: 1 + random(4) }
    case 9:
      return { do: 'close', payer: CLOSING }
    default: {
      const off = random(4) === 0 ? pick(MODELS, random) : undefined
      const shut = random(3) === 0 ? pick(CHANNELS, random) : undefined
      return { do: 'apply', list: random(PRICE_LISTS), off, shut }
    }
  }
}
