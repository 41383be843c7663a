import type { Clock } from '@/clock/clock.ts'
import type { Place } from '@/clock/roll.ts'
import { type Delta, LEASE_TTL_US } from '@/limits/buckets/bucket.ts'
import type { GuardedBuckets } from '@/limits/buckets/guarded-bucket.ts'
import type { LocalBuckets } from '@/limits/buckets/local-bucket.ts'
import type { LimitLease } from './answer.ts'
import { inGroups } from './in-groups.ts'
import { markerKey, type Plan, type Slot } from './plan.ts'

const LEASE_TTL_MS = LEASE_TTL_US / 1_000

/** How far a slot's buckets move when it is over. */
export type Correction = (slot: Slot) => readonly Delta[]

const NONE: Correction = () => []

interface Owed {
  readonly plan: Plan
  readonly correction: Correction
  /** When Redis has freed them by itself, as the clock's `elapsed` says it. */
  readonly untilMs: number
}

/** The slots that requests of this process hold, here and in Redis: one list for both, so that neither drifts. */
export class OpenLeases {
  readonly #local: LocalBuckets
  readonly #shared: GuardedBuckets | undefined
  readonly #clock: Pick<Clock, 'elapsed'>
  /** By id; a place is emptied when it is given back, for the reason that clock/roll.ts has. So are the owed ones. */
  readonly #open = new Map<string, Place<LimitLease>>()
  /** What is over but may still hold slots in Redis, or stand there uncorrected. */
  readonly #owed = new Map<string, Place<Owed>>()

  constructor(local: LocalBuckets, shared: GuardedBuckets | undefined, clock: Pick<Clock, 'elapsed'>) {
    this.#local = local
    this.#shared = shared
    this.#clock = clock
  }

  get all(): readonly LimitLease[] {
    return [...this.#open.values()].flatMap(({ item }) => item ?? [])
  }

  /** Held here as well, whoever counted it: the buckets of this process may have to go on from it. */
  add(lease: LimitLease): void {
    this.#open.set(lease.id, { item: lease })
    if (lease.countedBy === 'process') return
    const ids = [lease.id]
    for (const { leaseKeys } of lease.plan.slots) for (const key of leaseKeys) this.#local.renew(key, ids)
  }

  /** False if it was released before. Redis is told by `releaseInRedis`. */
  remove(lease: LimitLease): boolean {
    const place = this.#open.get(lease.id)
    if (place === undefined) return false
    place.item = undefined
    this.#open.delete(lease.id)
    for (const { leaseKeys } of lease.plan.slots) this.#local.release(leaseKeys, lease.id)
    return true
  }

  /**
   * Frees the slots of something that is over, and corrects its buckets in the same call. What did not arrive is told
   * again with each renewal while Redis may still hold it, and counts once. Never throws.
   */
  async releaseInRedis(plan: Plan, correction: Correction = NONE): Promise<void> {
    const shared = this.#shared
    if (shared === undefined) return
    this.#owed.set(plan.id, { item: { plan, correction, untilMs: this.#clock.elapsed() + LEASE_TTL_MS } })
    await this.#tell(shared, plan, correction)
  }

  async #tell(shared: GuardedBuckets, plan: Plan, correction: Correction): Promise<void> {
    if (shared.isAway) return
    const calls = plan.slots.map(slot => {
      const deltas = correction(slot)
      if (deltas.length === 0) return shared.buckets.release(slot.leaseKeys, plan.id)
      const adjustment = { markerKey: markerKey(slot, plan.id), buckets: deltas }
      return shared.buckets.finish(adjustment, slot.leaseKeys, plan.id)
    })
    const results = await Promise.allSettled(calls)
    if (results.every(({ status }) => status === 'fulfilled')) this.#forgive(plan.id)
  }

  /**
   * Puts off the expiry of all that is open, by one call for each lease set. What Redis lost, or did not see because
   * it was away, stands there again afterwards. Never throws.
   */
  async renewAll(): Promise<void> {
    const members = this.#idsByKey()
    for (const [key, ids] of members) this.#local.renew(key, ids)
    const shared = this.#shared
    if (shared === undefined) return
    await this.#releaseOwed(shared)
    await inGroups([...members], ([key, ids]) => {
      // What was released while earlier calls were under way must not come to life again.
      const open = ids.filter(id => this.#open.has(id))
      return open.length === 0 || shared.isAway ? undefined : shared.buckets.renew(key, open)
    })
  }

  async #releaseOwed(shared: GuardedBuckets): Promise<void> {
    const now = this.#clock.elapsed()
    const owed = [...this.#owed.values()].flatMap(({ item }) => item ?? [])
    for (const { plan, untilMs } of owed) if (untilMs <= now) this.#forgive(plan.id)
    if (shared.isAway) return
    await inGroups(owed, ({ plan, correction, untilMs }) =>
      untilMs <= now ? undefined : this.#tell(shared, plan, correction),
    )
  }

  #forgive(id: string): void {
    const place = this.#owed.get(id)
    if (place === undefined) return
    place.item = undefined
    this.#owed.delete(id)
  }

  #idsByKey(): Map<string, string[]> {
    const members = new Map<string, string[]>()
    for (const { id, plan } of this.all) {
      for (const key of plan.slots.flatMap(({ leaseKeys }) => leaseKeys)) {
        const ids = members.get(key)
        if (ids === undefined) members.set(key, [id])
        else ids.push(id)
      }
    }
    return members
  }
}
