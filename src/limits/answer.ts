import type { TakeResult } from '@/limits/buckets/bucket.ts'
import type { LimitKind, LimitName, LimitScope, Plan, PlannedBucket, PlannedLease } from './plan.ts'

/** How one limit stands, as headers tell it. */
export interface LimitState {
  readonly scope: LimitScope
  readonly kind: LimitKind
  /** As configured: per minute, or at once. */
  readonly limit: number
  readonly remaining: number
  /** Until nothing is used of it; 0 for `concurrent`, which knows no such time. */
  readonly resetMs: number
}

/** A request that was let in. Ends in exactly one `end` or `refund`. */
export interface LimitLease {
  readonly id: string
  readonly plan: Plan
  /** Who counted it. `nobody`: Redis was away and the operator wants no limits then. */
  readonly countedBy: 'redis' | 'process' | 'nobody'
  /** Number of processes the limits were shared among; 1 unless Redis was away. */
  readonly share: number
}

/** A request that was let in, and how its limits stand after it. */
export interface LimitGrant {
  readonly allowed: true
  readonly lease: LimitLease
  readonly limits: readonly LimitState[]
  /** Counted without the Redis that should have counted it; for operators only. */
  readonly degraded: boolean
}

/** A request that was not let in. Nothing of its limits was taken. */
export interface LimitRefusal {
  readonly allowed: false
  /** The limit that refused. Undefined: limits cannot be counted, and the operator wants nobody in then (a 503). */
  readonly bucket: LimitName | undefined
  readonly retryAfterMs: number
  /** True: the request is larger than the whole bucket, so that no wait helps (a 400). */
  readonly never: boolean
  readonly limits: readonly LimitState[]
  readonly degraded: boolean
}

/** Whether a request may begin. */
export type LimitAnswer = LimitGrant | LimitRefusal

/** Buckets and leases in the order of the take that was made of them. */
export interface Limited {
  readonly buckets: readonly PlannedBucket[]
  readonly leases: readonly PlannedLease[]
}

/** How each limit stands after a take; `share` is how many processes divide it. */
export function limitStates({ buckets, leases }: Limited, result: TakeResult, share: number): LimitState[] {
  const states: LimitState[] = []
  let index = 0
  for (const { name, limit, burstUs } of buckets) {
    const levelUs = result.levelsUs[index++] ?? 0
    const remaining = Math.max(0, Math.floor(((burstUs - levelUs) * limit) / burstUs / share))
    states.push({ scope: name.scope, kind: name.kind, limit, remaining, resetMs: Math.ceil(levelUs / 1_000) })
  }
  index = 0
  for (const { name, limit } of leases) {
    const held = result.held[index++] ?? 0
    if (limit === Number.POSITIVE_INFINITY) continue
    const remaining = Math.max(0, Math.max(1, Math.floor(limit / share)) - held)
    states.push({ scope: name.scope, kind: name.kind, limit, remaining, resetMs: 0 })
  }
  return states
}

/** What a take that was refused says by itself. */
export function refusal(
  { buckets, leases }: Limited,
  { refusedBy, retryAfterUs }: TakeResult,
): Omit<LimitRefusal, 'limits' | 'degraded'> {
  const refusing = [...buckets, ...leases][refusedBy ?? 0]
  return {
    allowed: false,
    bucket: refusing?.name,
    retryAfterMs: Math.ceil(retryAfterUs / 1_000),
    never: false,
  }
}

/** Of two refusals of one request the one that it has to wait for. */
export function longerOf<Refused extends LimitRefusal | undefined>(one: Refused, other: Refused): Refused {
  return (other?.retryAfterMs ?? 0) > (one?.retryAfterMs ?? 0) ? other : one
}
