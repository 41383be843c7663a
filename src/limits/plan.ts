import type { LimitValues } from '@/config/entries.ts'
import {
  type Bucket,
  type Delta,
  type LeaseSet,
  requestSize,
  type Take,
  tokenCostUs,
  tokenSize,
} from '@/limits/buckets/bucket.ts'

/** What the limits need to know of a caller; accounts' Caller is one. */
interface LimitedCaller {
  accountId: number
  keyId: number
  accountLimits: LimitValues
  keyLimits: LimitValues
}

/** What holds for everybody who has no limits of their own. */
export interface DefaultLimitValues {
  account: LimitValues
  key: LimitValues
  /** Of each account on each single model; usually not limited. */
  accountModel?: LimitValues | undefined
  /** Of each model, all accounts together; usually not limited. */
  model?: LimitValues | undefined
}

/** A request that asks to be let in. */
export interface LimitedRequest {
  /** The request id. A second take with the same id while the first one's lease stands is the same take. */
  id: string
  caller: LimitedCaller
  defaults: DefaultLimitValues
  /** The model's id, not an alias. */
  model: string
  /** Estimate of the prompt and the output allowance; the request's end corrects it. */
  tokens: number
  /** How many of those are a guess: output that the caller set no limit to. None unless said. */
  guessedTokens?: number
}

/** Whose limit it is. */
export type LimitScope = 'key' | 'account' | 'account-model' | 'model'

/** What is limited: requests and tokens per minute, requests at once. */
export const LIMIT_KINDS = ['requests', 'tokens', 'concurrent'] as const
/** What a limit is on. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** A limit as headers, errors and the console speak of it. */
export interface LimitName {
  readonly scope: LimitScope
  readonly kind: LimitKind
}

/** A bucket that knows which limit it is. */
export interface PlannedBucket extends Bucket {
  readonly name: LimitName
  /** Units per minute, as configured. */
  readonly limit: number
}

/** A lease set that knows which limit it is. */
export interface PlannedLease extends LeaseSet {
  readonly name: LimitName
}

/** What one script call can take: everything that shares a hash tag. */
export interface Slot extends Take {
  readonly buckets: readonly PlannedBucket[]
  readonly leases: readonly PlannedLease[]
  /** Those of its leases. */
  readonly leaseKeys: readonly string[]
  /** What the markers of its adjustments start with; one for each hash tag. */
  readonly markerPrefix: string
}

/** Everything that one request takes, in the order in which it is asked for. */
export interface Plan {
  readonly id: string
  /** The account's slot and, if models are limited, the model's: in a cluster that is on another node. */
  readonly slots: readonly Slot[]
}

/** The buckets and leases of a request. `namespace` comes first in every key. */
export function planLimits(request: LimitedRequest, namespace: string): Plan {
  const slots: Slot[] = []
  for (const shape of shapesOf(request, namespace)) slots.push(fill(shape, request))
  return { id: request.id, slots }
}

/** A slot without what differs from request to request: its token buckets cost nothing yet. */
type SlotShape = Omit<Slot, 'id'>

/** What was worked out for a caller, as long as its limits and everybody's stay what they are. */
interface Shapes {
  readonly defaults: DefaultLimitValues
  readonly namespace: string
  readonly byModel: Map<string, readonly SlotShape[]>
}

const known = new WeakMap<LimitedCaller, Shapes>()

function shapesOf({ caller, defaults, model }: LimitedRequest, namespace: string): readonly SlotShape[] {
  let shapes = known.get(caller)
  if (shapes === undefined || shapes.defaults !== defaults || shapes.namespace !== namespace) {
    shapes = { defaults, namespace, byModel: new Map() }
    known.set(caller, shapes)
  }
  const name = isLimited(defaults.accountModel) || isLimited(defaults.model) ? model : ''
  let found = shapes.byModel.get(name)
  if (found === undefined) {
    found = [accountShape(caller, defaults, model, namespace)]
    if (isLimited(defaults.model)) found = [...found, modelShape(model, defaults.model, namespace)]
    shapes.byModel.set(name, found)
  }
  return found
}

function fill({ buckets, leases, leaseKeys, markerPrefix }: SlotShape, request: LimitedRequest): Slot {
  const filled: PlannedBucket[] = []
  for (const bucket of buckets) filled.push(bucket.name.kind === 'tokens' ? costing(bucket, request) : bucket)
  return { id: request.id, buckets: filled, leases, leaseKeys, markerPrefix }
}

/** The share of a bucket that a guess takes at most: it must neither be too large for the bucket nor lock others out. */
const GUESS_SHARE = 4

function costing(
  { key, name, limit, burstUs }: PlannedBucket,
  { tokens, guessedTokens = 0 }: LimitedRequest,
): PlannedBucket {
  const guess = Math.min(guessedTokens, Math.floor(limit / GUESS_SHARE))
  return { key, costUs: tokenCostUs(limit, tokens - guessedTokens + guess), burstUs, name, limit }
}

function accountShape(
  caller: LimitedCaller,
  defaults: DefaultLimitValues,
  model: string,
  namespace: string,
): SlotShape {
  const shape = new ShapeBuilder(namespace, `{a${caller.accountId}}`)
  shape.add('key', `:k${caller.keyId}`, withDefaults(caller.keyLimits, defaults.key))
  shape.add('account', '', withDefaults(caller.accountLimits, defaults.account))
  if (isLimited(defaults.accountModel)) shape.add('account-model', `:m:${model}`, defaults.accountModel)
  return shape.build()
}

function modelShape(model: string, limits: LimitValues, namespace: string): SlotShape {
  const shape = new ShapeBuilder(namespace, `{m:${model}}`)
  shape.add('model', '', limits)
  return shape.build()
}

class ShapeBuilder {
  readonly #namespace: string
  readonly #tag: string
  readonly #buckets: PlannedBucket[] = []
  readonly #leases: PlannedLease[] = []

  constructor(namespace: string, tag: string) {
    this.#namespace = namespace
    this.#tag = tag
  }

  add(scope: LimitScope, path: string, limits: LimitValues): void {
    const { requestsPerMinute, tokensPerMinute, concurrentRequests, ...rest } = limits
    rest satisfies Record<string, never>
    const key = `${this.#namespace}rl:${this.#tag}${path}`
    if (requestsPerMinute !== undefined) {
      const size = requestSize(requestsPerMinute)
      const name = { scope, kind: 'requests' } as const
      this.#buckets.push({ key: `${key}:rpm`, name, limit: requestsPerMinute, ...size })
    }
    if (tokensPerMinute !== undefined) {
      const size = tokenSize(tokensPerMinute, 0)
      const name = { scope, kind: 'tokens' } as const
      this.#buckets.push({ key: `${key}:tpm`, name, limit: tokensPerMinute, ...size })
    }
    this.#leases.push({
      key: `${this.#namespace}cc:${this.#tag}${path}`,
      name: { scope, kind: 'concurrent' },
      limit: concurrentRequests ?? Number.POSITIVE_INFINITY,
    })
  }

  build(): SlotShape {
    const markerPrefix = `${this.#namespace}adj:${this.#tag}`
    const leaseKeys = this.#leases.map(({ key }) => key)
    return { buckets: this.#buckets, leases: this.#leases, leaseKeys, markerPrefix }
  }
}

function withDefaults(own: LimitValues, defaults: LimitValues): LimitValues {
  return {
    requestsPerMinute: own.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: own.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrentRequests: own.concurrentRequests ?? defaults.concurrentRequests,
  }
}

function isLimited(limits: LimitValues | undefined): limits is LimitValues {
  if (limits === undefined) return false
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits
  return requestsPerMinute !== undefined || tokensPerMinute !== undefined || concurrentRequests !== undefined
}

/** The bucket that could not hold this request even when full. */
export function neverFits(plan: Plan): PlannedBucket | undefined {
  for (const { buckets } of plan.slots) {
    for (const bucket of buckets) if (bucket.costUs > bucket.burstUs) return bucket
  }
  return undefined
}

/**
 * One process's share of a plan, in one slot, for buckets that know no slots: every unit costs `processes` times as
 * much time. What is larger than the share fits when the share is full, and is paid off afterwards: a Redis that is
 * away must not refuse for good what it would have let in.
 */
export function shareOf(plan: Plan, processes: number): Take {
  const [only] = plan.slots
  if (processes === 1 && plan.slots.length === 1 && only !== undefined) return only
  return {
    id: plan.id,
    buckets: plan.slots.flatMap(({ buckets }) =>
      buckets.map(({ key, costUs, burstUs }) => {
        const cost = costUs * processes
        return { key, costUs: cost, burstUs: Math.max(burstUs, cost) }
      }),
    ),
    leases: plan.slots.flatMap(({ leases }) =>
      leases.map(({ key, limit }) => ({ key, limit: Math.max(1, Math.floor(limit / processes)) })),
    ),
  }
}

/** Remembers what was done once to a slot's buckets. */
export function markerKey(slot: Slot, id: string): string {
  return `${slot.markerPrefix}:${id}`
}

/** How far a bucket moves when the request turns out to have used `tokens`; undefined gives back all it took. */
export function correctionUs({ name, limit, costUs }: PlannedBucket, tokens: number | undefined): number {
  if (tokens === undefined) return -costUs
  return name.kind === 'tokens' ? tokenCostUs(limit, tokens) - costUs : 0
}

/** The corrections of a slot's buckets that move at all; without `tokens` they give back all it took. */
export function corrections(slot: Slot, tokens?: number): Delta[] {
  const deltas: Delta[] = []
  for (const bucket of slot.buckets) {
    const deltaUs = correctionUs(bucket, tokens)
    if (deltaUs !== 0) deltas.push({ key: bucket.key, deltaUs })
  }
  return deltas
}

/** Everything a slot takes. */
export function debits(slot: Slot): Delta[] {
  return slot.buckets.map(({ key, costUs }) => ({ key, deltaUs: costUs }))
}
