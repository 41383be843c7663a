import { type Delta, WINDOW_US } from '@/limits/buckets/bucket.ts'
import type { GuardedBuckets } from '@/limits/buckets/guarded-bucket.ts'
import { inGroups } from './in-groups.ts'
import { markerKey, type Slot } from './plan.ts'

/** What one slot's buckets moved by without Redis. */
interface SlotArrears {
  readonly markerKey: string
  readonly sinceUs: number
  lastUs: number
  readonly moves: Map<string, { deltaUs: number; readonly burstUs: number }>
}

/**
 * What was let in, and given back, while Redis could not be told. It is told afterwards: otherwise its buckets would
 * have filled up meanwhile, and every short outage would let the same limit in twice.
 */
export class Arrears {
  readonly #nowUs: () => number
  /** By slot; still being added to. */
  #open = new Map<string, SlotArrears>()
  /** Told, but not known to have arrived. The marker makes telling again harmless. */
  readonly #told = new Set<SlotArrears>()

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  add(slot: Slot, deltas: readonly Delta[]): void {
    if (deltas.length === 0) return
    const now = this.#nowUs()
    const arrears = this.#open.get(slot.markerPrefix) ?? this.#newArrears(slot, now)
    arrears.lastUs = now
    const bursts = new Map(slot.buckets.map(({ key, burstUs }) => [key, burstUs]))
    for (const { key, deltaUs } of deltas) {
      const move = arrears.moves.get(key) ?? { deltaUs: 0, burstUs: bursts.get(key) ?? WINDOW_US }
      move.deltaUs += deltaUs
      arrears.moves.set(key, move)
    }
  }

  /** Tells Redis everything. Never throws; what did not arrive is told again the next time. */
  async tell(shared: GuardedBuckets): Promise<void> {
    for (const arrears of this.#open.values()) this.#told.add(arrears)
    this.#open = new Map()
    await inGroups([...this.#told], async arrears => {
      const moves = [...arrears.moves].map(([key, move]) => ({ key, ...move }))
      await shared.buckets.catchUp(arrears.markerKey, this.#nowUs() - arrears.sinceUs, moves)
      this.#told.delete(arrears)
    })
  }

  /** Forgets what is a full window old: by now the buckets would be full again in any case. */
  sweep(): void {
    const now = this.#nowUs()
    const isOld = ({ lastUs }: SlotArrears) => lastUs + WINDOW_US <= now
    for (const [key, arrears] of this.#open) if (isOld(arrears)) this.#open.delete(key)
    for (const arrears of this.#told) if (isOld(arrears)) this.#told.delete(arrears)
  }

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#told.size === 0
  }

  #newArrears(slot: Slot, now: number): SlotArrears {
    const arrears = {
      markerKey: markerKey(slot, crypto.randomUUID()),
      sinceUs: now,
      lastUs: now,
      moves: new Map(),
    }
    this.#open.set(slot.markerPrefix, arrears)
    return arrears
  }
}
