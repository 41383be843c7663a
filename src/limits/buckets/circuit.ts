import type { Clock } from '@/clock/clock.ts'
import { RedisTimeout } from '@/redis/redis.ts'

/** How Redis is asked whether it is back, and who is told that it is gone or back. */
interface CircuitOptions {
  clock: Clock
  /** Resolves if Redis does its work again. */
  probe: () => Promise<unknown>
  onOpen: (reason: unknown) => void
  onClose: () => void
}

const ERRORS_TO_OPEN = 3

/** Often enough to be back within a second of Redis, with what its client needs to connect. */
const PROBE_MS = 250

/**
 * Whether Redis is worth asking. Opens on three errors in a row, or on the first command that timed out while nothing
 * at all was heard; while other commands are answered, one that is late says only that there are many. Closes when a
 * probe succeeds.
 */
export class Circuit {
  readonly #options: CircuitOptions
  #stopProbing: (() => void) | undefined
  #probing = false
  #errors = 0
  #replies = 0
  #underWay = 0

  constructor(options: CircuitOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#stopProbing !== undefined
  }

  /** Calls that have no answer yet. */
  get underWay(): number {
    return this.#underWay
  }

  call<Value>(work: () => Promise<Value>): Promise<Value> {
    const repliesBefore = this.#replies
    this.#underWay++
    return work().then(
      value => {
        this.#underWay--
        this.#replies++
        this.#errors = 0
        return value
      },
      error => {
        this.#underWay--
        this.#failed(error, repliesBefore)
        throw error
      },
    )
  }

  open(reason: unknown): void {
    if (this.isOpen) return
    this.#stopProbing = this.#options.clock.every(PROBE_MS, () => void this.#probe())
    this.#options.onOpen(reason)
  }

  /** Ends the probing. */
  stop(): void {
    this.#stopProbing?.()
    this.#stopProbing = undefined
  }

  #failed(error: unknown, repliesBefore: number): void {
    const isTimeout = error instanceof RedisTimeout
    if (!isTimeout) this.#errors++
    const isSilent = isTimeout && this.#replies === repliesBefore
    if (isSilent || this.#errors >= ERRORS_TO_OPEN) this.open(error)
  }

  async #probe(): Promise<void> {
    if (this.#probing) return
    this.#probing = true
    const works = await this.#options.probe().then(
      () => true,
      () => false,
    )
    this.#probing = false
    if (!works || !this.isOpen) return
    this.stop()
    this.#errors = 0
    this.#options.onClose()
  }
}
