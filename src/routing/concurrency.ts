import type { Channel } from '@/upstream/channel.ts'

/**
 * The exchanges that run on each channel in this process, by request id: taking or giving back twice is the same as
 * once, so whoever cleans up needs to know nothing.
 */
export class Concurrency {
  readonly #running = new Map<number, Set<string>>()
  #total = 0
  readonly #processes: () => number

  /**
   * `processes` share a channel's `max_concurrent` evenly, at least one each. Where load is not even some of it goes
   * unused; in return no attempt has to ask anybody else.
   */
  constructor(processes: () => number) {
    this.#processes = processes
  }

  /** Takes a place on the channel. False if all are taken; true without another if the request has one there. */
  acquire(channel: Pick<Channel, 'id' | 'maxConcurrent'>, requestId: string): boolean {
    const running = this.#running.get(channel.id)
    if (running?.has(requestId)) return true
    if (this.isFull(channel)) return false
    if (running === undefined) this.#running.set(channel.id, new Set([requestId]))
    else running.add(requestId)
    this.#total += 1
    return true
  }

  release(channel: Pick<Channel, 'id'>, requestId: string): void {
    const running = this.#running.get(channel.id)
    if (!running?.delete(requestId)) return
    this.#total -= 1
    if (running.size === 0) this.#running.delete(channel.id)
  }

  /** Exchanges that run on the channel now. */
  running(channel: Pick<Channel, 'id'>): number {
    return this.#running.get(channel.id)?.size ?? 0
  }

  /** Exchanges that run on all channels together. */
  get total(): number {
    return this.#total
  }

  isFull(channel: Pick<Channel, 'id' | 'maxConcurrent'>): boolean {
    const { maxConcurrent } = channel
    if (maxConcurrent === undefined) return false
    return this.running(channel) >= Math.max(1, Math.floor(maxConcurrent / Math.max(1, this.#processes())))
  }
}
