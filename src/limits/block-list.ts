import { SLOT_WAIT_US } from '@/limits/buckets/bucket.ts'
import { type LimitRefusal, longerOf } from './answer.ts'
import type { Plan } from './plan.ts'

interface Block {
  /** Instant at which something that costs nothing would fit; what costs more fits that much later. */
  readonly freeAtUs: number
  /** Instant at which the store is asked again in any case. */
  readonly untilUs: number
  readonly refusal: LimitRefusal
}

/** Limits that an operator raises, and tokens given back elsewhere, are seen after this time. */
const MAX_BLOCK_US = 1_000_000
/** Slots come free at any moment. */
const SLOT_BLOCK_US = 100_000
const MAX_BLOCKS = 10_000

/** Limits known to be used up, so that a caller who does not stop costs no call to Redis. */
export class BlockList {
  readonly #nowUs: () => number
  readonly #blocks = new Map<string, Block>()

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** The refusal that asking would bring. */
  find(plan: Plan): LimitRefusal | undefined {
    if (this.#blocks.size === 0) return undefined
    const now = this.#nowUs()
    let longest: LimitRefusal | undefined
    for (const { buckets, leases } of plan.slots) {
      for (const { key, costUs } of buckets) longest = longerOf(longest, this.#refusalOf(key, costUs, now))
      for (const { key } of leases) longest = longerOf(longest, this.#refusalOf(key, 0, now))
    }
    return longest
  }

  addBucket(key: string, costUs: number, retryAfterUs: number, refusal: LimitRefusal): void {
    const now = this.#nowUs()
    const untilUs = now + Math.min(retryAfterUs, MAX_BLOCK_US)
    this.#add(key, { freeAtUs: now + retryAfterUs - costUs, untilUs, refusal })
  }

  addLease(key: string, refusal: LimitRefusal): void {
    const now = this.#nowUs()
    this.#add(key, { freeAtUs: now + SLOT_WAIT_US, untilUs: now + SLOT_BLOCK_US, refusal })
  }

  /** Something was given back. */
  forget(keys: Iterable<string>): void {
    for (const key of keys) this.#blocks.delete(key)
  }

  /** Slots were given back. */
  forgetLeases(plan: Plan): void {
    for (const { leaseKeys } of plan.slots) this.forget(leaseKeys)
  }

  sweep(): void {
    const now = this.#nowUs()
    for (const [key, { untilUs }] of this.#blocks) if (untilUs <= now) this.#blocks.delete(key)
  }

  #add(key: string, block: Block): void {
    if (this.#blocks.size >= MAX_BLOCKS) this.#blocks.clear()
    this.#blocks.set(key, block)
  }

  #refusalOf(key: string, costUs: number, now: number): LimitRefusal | undefined {
    const block = this.#blocks.get(key)
    if (block === undefined || block.untilUs <= now) return undefined
    const waitUs = block.freeAtUs + costUs - now
    return waitUs > 0 ? { ...block.refusal, retryAfterMs: Math.ceil(waitUs / 1_000) } : undefined
  }
}
